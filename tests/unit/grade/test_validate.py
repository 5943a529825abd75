"""Validation names everything that is wrong with a file, and where."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import sparse

from bioeval_tui.base.errors import InputError
from bioeval_tui.grade.answers import MetricSpec
from bioeval_tui.grade.grade import TaskGrading
from bioeval_tui.grade.h5ad import H5adScorer
from bioeval_tui.grade.metrics import METRICS
from bioeval_tui.grade.outcomes import NotGradedError
from bioeval_tui.grading import Registry, grade_submission, load_leaderboard

ANSWERS = "id,y\n" + "".join(f"p{n},{n}.5\n" for n in range(8))


def findings(tasks, text: str, **task: object) -> list[str]:
    task_id = tasks.add(**{"answers": ANSWERS, **task})
    grading = TaskGrading(tasks.registry.get_task(task_id))
    return [problem.message for problem in grading.examine(tasks.submit(text))]


def test_a_valid_file_has_no_findings_in_any_order_of_rows_and_columns(tasks) -> None:
    rows = ANSWERS.splitlines()
    swapped = [",".join(reversed(row.split(","))) for row in [rows[0], *reversed(rows[1:])]]
    assert findings(tasks, "\n".join(swapped)) == []


def test_every_finding_is_reported_at_once(tasks) -> None:
    text = "id,y\np0,1\np0,2\np2,x\np3,\np4,inf\np99,1\n"
    assert findings(tasks, text) == [
        "4 ids are missing: p1, p5, p6, p7",
        "1 id is not expected: p99",
        "1 id occurs more than once: p0",
        "the file has 6 rows where 8 are expected",
        "column `y` must contain numbers, found `x` in line 4",
        "column `y` has no value (NaN) in line 5",
        "column `y` is infinite in line 6",
    ]


@pytest.mark.parametrize(
    ("last", "count", "more"),
    [
        ("p5,1\np6,x\np7,\n", 2, ""),
        ("p5,inf\np6,x\np7,\n", 3, ""),
        ("p5,inf\np6,x\np7,\np7,1\n", 5, "and 2 more"),
        ("p5,1\np6,x\np7,\np7,1\n", 4, "and 1 more"),
    ],
)
def test_three_findings_are_the_reason_of_an_invalid_file_and_others_are_counted(
    tasks, last: str, count: int, more: str
) -> None:
    file = tasks.submit("id,y\n" + "".join(f"p{n},1\n" for n in range(5)) + last)
    task = tasks.registry.get_task(tasks.add(answers=ANSWERS))
    found = [problem.message for problem in TaskGrading(task).examine(file)]
    assert len(found) == count, found
    report = grade_submission(file, task)
    assert report.extra.error == "; ".join(filter(None, (*found[:3], more)))


def test_only_the_first_five_examples_are_named(tasks) -> None:
    assert findings(tasks, "id,y\np0,1\n")[0] == "7 ids are missing: p1, p2, p3, p4, p5, … (2 more)"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "the file is empty"),
        ("name,y\np0,1\n", "column `id` is missing; the file has name, y"),
        ("id,Y\np0,1\n", "column `y` is missing; the file has id, Y"),
        ("id,y\n,1\n", "column `id` has no id in line 2"),
        (
            'id,y\np0,1\n\n"p1,1\n',
            "submission.csv is not a CSV file: the quote that opens in line 4 is never closed",
        ),
        (
            "id,y\n\np0,1\np1,1,2\n",
            "submission.csv is not a CSV file: line 4 has 3 fields where 2 are expected",
        ),
        (
            'id,y\n"p\n0",1\np1,1,2\n',
            "submission.csv is not a CSV file: line 4 has 3 fields where 2 are expected",
        ),
        ("id,y\np0,1,2,3\np1\n", "line 2 has more fields than the header has columns"),
        ("id,y\n\np0,1,2,3\np1\n", "line 3 has more fields than the header has columns"),
        (
            "p0,0.5\np1,1.5\n",
            "column `id` is missing; the file has p0, 0.5; its first line has values: is the header"
            " line missing?",
        ),
        ("p0,0.5\np1,1.5\n", "column `y` is missing; the file has p0, 0.5"),
        (
            "id,y\np0,1e999\np1,x\np2,-1e400\n",
            "column `y` has a number beyond 1.8e+308, the greatest, `1e999` in line 2; lines 2, 4",
        ),
        ("id,y\np0,1e999\np1,x\n", "column `y` must contain numbers, found `x` in line 3"),
        ("id,y\n\n  \np0,1\n\np1,x\n", "must contain numbers, found `x` in line 6"),
        ("id,y\r\n\r\n\r\np0,1\r\np1,\r\n", "has no value (NaN) in line 5"),
        ('id,y,note\np0,1,"two\n\nlines"\np1,x,\n', "must contain numbers, found `x` in line 5"),
        ('id,y\n"p0",1\n\np1,inf\n', "column `y` is infinite in line 4"),
        ("id,y\n\n,1\n\n,2\n", "column `id` has no id in lines 3, 5"),
    ],
)
def test_each_kind_of_invalid_csv_has_its_own_message(tasks, text: str, finding: str) -> None:
    found = findings(tasks, text)
    whole = [message for message in found if message == finding]
    assert whole or any(finding in message for message in found), found


def test_labels_without_a_value_are_named_by_the_lines_of_the_file(tasks) -> None:
    grader = {"name": "a", "metric": "accuracy", "id": "id", "target": "y"}
    found = findings(tasks, "id,y\n\na,x\n\nb,\n", answers="id,y\na,x\nb,y\n", grader=grader)
    assert found == ["column `y` has no value in line 5"]


def test_a_leaderboard_is_named_by_the_lines_of_its_file(tmp_path: Path) -> None:
    board = tmp_path / "leaderboard.csv"
    for text, reason in (
        ("score\n\n0.5\n\nx\n", "line 5: score `x` is not a number"),
        ("score,by\n\n0.5,a\n0.4,b,c\n", "cannot be read: line 4 has 3 fields where 2 are"),
    ):
        board.write_text(text)
        with pytest.raises(InputError, match=reason):
            load_leaderboard(board, "lab/task")


def test_text_that_is_not_utf_8_names_the_line(tasks) -> None:
    task_id = tasks.add(answers=ANSWERS)
    path = tasks.submissions / "latin.csv"
    path.write_bytes(b"id,y\np0,1\np1,\xff\n")
    grading = TaskGrading(tasks.registry.get_task(task_id))
    assert "is not UTF-8 text: byte 14, line 3" in grading.examine(path)[0].message


def test_probabilities_outside_0_to_1_are_named_for_a_log_loss(tasks) -> None:
    answers = "id,y\na,0\nb,1\nc,1\n"
    grader = {"name": "ll", "metric": "log_loss", "id": "id", "target": "y"}
    found = findings(tasks, "id,y\na,0.5\nb,1.5\nc,-1\n", answers=answers, grader=grader)
    assert found == ["column `y` is outside 0 to 1 in lines 3, 4"]


@pytest.mark.parametrize("metric", ["log_loss", "brier"])
@pytest.mark.parametrize(
    "rows", ["a,0\nb,1\nc,1\n", "c,1\nb,1\na,0\n"], ids=["as the answers", "reversed"]
)
def test_a_probability_may_be_exactly_0_or_1(tasks, metric: str, rows: str) -> None:
    task = tasks.add(
        answers="id,y\na,0\nb,1\nc,1\n",
        grader={"name": "g", "metric": metric, "id": "id", "target": "y"},
    )
    file = tasks.submit(f"id,y\n{rows}")
    assert TaskGrading(tasks.registry.get_task(task)).examine(file) == []
    report = grade_submission(file, tasks.registry.get_task(task))
    assert (report.valid_submission, report.score) == (True, pytest.approx(0.0, abs=1e-12))


def test_escape_sequences_in_a_file_do_not_reach_the_findings(tasks) -> None:
    found = findings(tasks, "id,y\np0,\x1b]52;c;aGk=\x07\n")
    assert all("\x1b" not in message for message in found)


def test_numeric_and_text_ids_are_compared_as_text_when_a_stray_one_is_text(tasks) -> None:
    answers = "id,y\n1,1\n2,2\n3,3\n"
    assert findings(tasks, "id,y\n1,1\n2,2\nthree,3\n", answers=answers) == [
        "1 id is missing: 3",
        "1 id is not expected: three",
    ]


def test_files_for_a_custom_grader_are_compared_with_the_sample_submission(tasks) -> None:
    code = "def grade(submission, answers):\n    return float(submission['y'].mean())\n"
    found = findings(tasks, "id\np0\np1\n", code=code)
    assert found == [
        "column `y` is missing; the file has id",
        "the file has 2 rows where the sample submission has 8",
        "6 ids are missing: p2, p3, p4, p5, p6, … (1 more)",
    ]


# h5ad
# --------------------------------------------------------------------------------------------------

CELLS = [f"cell{n}" for n in range(12)]
GENES = [f"gene{n}" for n in range(5)]


def write(
    path: Path, values: object, cells: list[str], genes: list[str], where: str = "layers"
) -> Path:
    table = anndata.AnnData(obs=pd.DataFrame(index=cells), var=pd.DataFrame(index=genes))
    if where == "layers":
        table.layers["prediction"] = values
    elif where == "obs":
        table.obs["kind"] = values
    elif where == "obsm":
        table.obsm["embedding"] = values
    else:
        table.X = values
    table.write_h5ad(path)
    return path


class H5ad:
    """A task on h5ad files; `grade` scores a file, `findings` examines it."""

    def __init__(
        self, folder: Path, metric: str, h5ad: dict[str, object], truth: object, where: str
    ) -> None:
        private = folder / "data" / "cells" / "task" / "prepared" / "private"
        task = folder / "tasks" / "cells" / "task"
        private.mkdir(parents=True)
        task.mkdir(parents=True)
        write(private / "answers.h5ad", truth, CELLS, GENES, where)
        names = {
            "answers": "private/answers.h5ad",
            "sample_submission": "public/sample_submission.h5ad",
        }
        dataset = {key: f"cells/task/prepared/{name}" for key, name in names.items()}
        grader = {"name": metric, "metric": metric, "h5ad": h5ad}
        config = {"id": "cells/task", "name": "Cells", "dataset": dataset, "grader": grader}
        (task / "config.yaml").write_text(yaml.safe_dump(config))
        scores = "".join(f"t{n},{n / 10}\n" for n in range(11))
        (task / "leaderboard.csv").write_text("teamName,score\n" + scores)
        self.task = Registry([folder / "tasks"], folder / "data").get_task("cells/task")
        self.folder = folder

    def findings(self, path: Path) -> list[str]:
        return [problem.message for problem in TaskGrading(self.task).examine(path)]


RANDOM = np.random.default_rng(3)
TRUTH = RANDOM.normal(size=(12, 5)).astype(np.float32)


@pytest.fixture
def layers(tmp_path: Path) -> H5ad:
    return H5ad(tmp_path, "rmse", {"layers": "prediction"}, TRUTH, "layers")


@pytest.mark.parametrize("form", ["dense", "csr", "csc", "compressed"])
def test_cells_and_genes_are_aligned_by_name_dense_and_sparse(
    tmp_path: Path, layers: H5ad, form: str
) -> None:
    cells, genes = RANDOM.permutation(12), RANDOM.permutation(5)
    guess = TRUTH + 0.5
    moved = guess[np.ix_(cells, genes)]
    values = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}.get(form, np.asarray)(moved)
    path = write(
        tmp_path / "guess.h5ad", values, [CELLS[i] for i in cells], [GENES[i] for i in genes]
    )
    if form == "compressed":
        anndata.read_h5ad(path).write_h5ad(path, compression="gzip")
    assert layers.findings(path) == []
    assert grade_submission(path, layers.task).score == 0.5


def test_sparse_against_sparse_counts_the_zeros(tmp_path: Path) -> None:
    truth = sparse.random(12, 5, 0.3, format="csr", random_state=1, dtype=np.float32)
    guess = sparse.random(12, 5, 0.3, format="csr", random_state=2, dtype=np.float32)
    task = H5ad(tmp_path, "mean_absolute_error", {"X": True}, truth, "X").task
    path = write(tmp_path / "guess.h5ad", guess, CELLS, GENES, "X")
    expected = np.abs(truth.toarray().astype(float) - guess.toarray().astype(float)).mean()
    assert grade_submission(path, task).score == round(float(expected), 5)


@pytest.mark.parametrize("of_guess", ["uint8", "uint32", "int8", "float32"])
@pytest.mark.parametrize("of_truth", ["uint8", "uint32", "int8", "float32"])
def test_counts_have_the_same_error_in_whatever_type_they_are_stored(
    tmp_path: Path, of_truth: str, of_guess: str
) -> None:
    """Of unsigned numbers, 3 − 5 is 254, and of one byte, 16 times 16 is 0."""
    truth, guess = RANDOM.integers(0, 40, (2, 12, 5))
    answers = write(
        tmp_path / "answers.h5ad", sparse.csr_matrix(truth.astype(of_truth)), CELLS, GENES, "X"
    )
    path = write(
        tmp_path / "guess.h5ad", sparse.csr_matrix(guess.astype(of_guess)), CELLS, GENES, "X"
    )
    scorer = H5adScorer(MetricSpec(METRICS["mse"], h5ad=("X", "X")), answers)
    expected = pytest.approx(((truth - guess) ** 2).mean())
    assert scorer.score(path) == expected
    assert scorer.cell_losses(scorer.values(path)).mean() == expected, "of which intervals are made"


def test_a_label_that_is_infinite_is_found_by_line(tasks) -> None:
    answers = "id,y\n" + "".join(f"p{n},{n % 3}\n" for n in range(8))
    grader = {"name": "x", "metric": "accuracy", "id": "id", "target": "y"}
    assert findings(tasks, answers.replace("p1,1", "p1,inf"), answers=answers, grader=grader) == [
        "column `y` is infinite in line 3"
    ]


def test_names_that_do_not_match_are_reported(tmp_path: Path, layers: H5ad) -> None:
    path = write(tmp_path / "guess.h5ad", TRUTH, ["stranger", *CELLS[1:]], ["G", "H", *GENES[2:]])
    assert layers.findings(path) == [
        "1 cell is missing: cell0",
        "1 cell is not expected: stranger",
        "2 genes are missing: gene0, gene1",
        "2 genes are not expected: G, H",
    ]


def test_names_that_look_the_same_are_said_to_have_a_blank_too_many(
    tmp_path: Path, layers: H5ad
) -> None:
    names = [f"{name} " for name in GENES[:2]]
    path = write(tmp_path / "guess.h5ad", TRUTH, ["cell0\u200b", *CELLS[1:]], [*names, *GENES[2:]])
    assert layers.findings(path) == [
        "1 cell is missing: cell0",
        "1 cell is not expected: cell0\u200b; it differs from a missing one only by a blank or a"
        " quote, such as `cell0␣`",
        "2 genes are missing: gene0, gene1",
        "2 genes are not expected: gene0, gene1; they differ from missing ones only by a blank or a"
        " quote, such as `gene0 `",
    ]


def test_nan_is_invalid_and_its_cells_are_named(tmp_path: Path, layers: H5ad) -> None:
    values = TRUTH.copy()
    values[3, 1] = values[7, 0] = np.nan
    path = write(tmp_path / "guess.h5ad", values, CELLS, GENES)
    sentence = (
        "layers prediction has 2 values that are NaN or infinite, in cells 4, 8 (counted from 1)"
    )
    assert layers.findings(path) == [sentence]
    report = grade_submission(path, layers.task)
    assert report.extra is not None
    assert report.extra.error == sentence


def test_a_missing_layer_names_what_is_there(tmp_path: Path, layers: H5ad) -> None:
    path = write(tmp_path / "guess.h5ad", TRUTH, CELLS, GENES, "obsm-not")
    assert layers.findings(path) == ["`layers` key `prediction` is missing; the file has nothing"]


def test_a_truncated_file_or_one_that_is_not_h5ad_is_reported(tmp_path: Path, layers: H5ad) -> None:
    path = write(tmp_path / "guess.h5ad", TRUTH, CELLS, GENES)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    cut = f"it is cut off, with {len(data) // 2:,} of {len(data):,} bytes"
    assert layers.findings(path) == [f"guess.h5ad is not a readable h5ad file: {cut}"]
    path.write_text("id,y\n")
    assert layers.findings(path) == [
        "guess.h5ad is not a readable h5ad file: it is not an HDF5 file"
    ]
    path.write_text("")
    assert layers.findings(path) == ["the file is empty"]


def test_a_link_to_the_answers_is_refused(tmp_path: Path, layers: H5ad) -> None:
    import h5py

    path = write(tmp_path / "guess.h5ad", TRUTH, CELLS, GENES)
    with h5py.File(path, "r+") as file:
        del file["layers/prediction"]
        file["layers/prediction"] = h5py.ExternalLink(
            str(layers.task.answers), "/layers/prediction"
        )
    assert "is a link; links are not followed" in layers.findings(path)[0]
    assert grade_submission(path, layers.task).valid_submission is False


def test_labels_of_cells_are_scored_by_name(tmp_path: Path) -> None:
    labels = ["T", "B", "NK"] * 4
    task = H5ad(tmp_path, "accuracy", {"obs": "kind"}, labels, "obs")
    order = RANDOM.permutation(12)
    guess = [labels[i] if i else "B" for i in order]
    path = write(tmp_path / "guess.h5ad", guess, [CELLS[i] for i in order], GENES, "obs")
    assert task.findings(path) == []
    assert grade_submission(path, task.task).score == round(11 / 12, 5)


def test_an_embedding_of_another_width_is_reported(tmp_path: Path) -> None:
    task = H5ad(tmp_path, "rmse", {"obsm": "embedding"}, TRUTH, "obsm")
    path = write(tmp_path / "guess.h5ad", TRUTH[:, :3], CELLS, GENES, "obsm")
    assert task.findings(path) == ["obsm embedding has shape (12, 3); 5 columns are expected"]


@pytest.mark.parametrize(
    "metric", ["mse", "rmse", "mean_absolute_error", "median_absolute_error", "r2"]
)
def test_numbers_of_cells_are_scored_by_name(tmp_path: Path, metric: str) -> None:
    truth = np.arange(12, dtype=np.float32)
    task = H5ad(tmp_path, metric, {"obs": "kind"}, truth, "obs")
    order = RANDOM.permutation(12)
    path = write(
        tmp_path / "guess.h5ad", truth[order] + 0.5, [CELLS[i] for i in order], GENES, "obs"
    )
    assert task.findings(path) == []
    expected = {"mse": 0.25, "r2": round(1 - 0.25 / np.var(np.arange(12.0)), 5)}.get(metric, 0.5)
    assert grade_submission(path, task.task).score == expected


def test_numbers_of_cells_that_are_missing_or_infinite_are_named_by_their_cell(
    tmp_path: Path,
) -> None:
    task = H5ad(tmp_path, "mse", {"obs": "kind"}, np.arange(12.0), "obs")
    guess = np.arange(12.0)
    guess[[0, 4]], guess[11] = np.nan, np.inf
    path = write(tmp_path / "guess.h5ad", guess, CELLS, GENES, "obs")
    assert task.findings(path) == [
        "column `kind` has no value (NaN) in cells 1, 5 (counted from 1)",
        "column `kind` is infinite in cell 12 (counted from 1)",
    ]
    assert grade_submission(path, task.task).valid_submission is False


def test_a_label_of_a_cell_that_is_missing_is_named_by_its_cell(tmp_path: Path) -> None:
    labels = ["T", "B", "NK"] * 4
    task = H5ad(tmp_path, "accuracy", {"obs": "kind"}, labels, "obs")
    guess = pd.Categorical([None, *labels[1:]])
    path = write(tmp_path / "guess.h5ad", guess, CELLS, GENES, "obs")
    assert task.findings(path) == ["column `kind` has no value in cell 1 (counted from 1)"]


def test_answers_with_a_cell_without_a_number_are_the_task_s_fault(tmp_path: Path) -> None:
    task = H5ad(tmp_path, "mse", {"obs": "kind"}, [np.nan, *range(11)], "obs")
    path = write(tmp_path / "guess.h5ad", np.arange(12.0), CELLS, GENES, "obs")
    wrong = r"the answers don.t match the grader: column `kind` has no value \(NaN\) in cell 1 "
    with pytest.raises(NotGradedError, match=wrong):
        grade_submission(path, task.task)


GRADER_OF_H5AD = """
import h5py


def grade(submission, answers):
    with h5py.File(submission) as given, h5py.File(answers) as true:
        return abs(given["layers/prediction"][()] - true["layers/prediction"][()]).mean()
"""


def test_a_link_behind_a_damaged_part_is_not_followed_by_a_grader_with_code(
    tmp_path: Path, layers: H5ad
) -> None:
    import h5py

    folder = layers.task.folder
    (folder / "grade.py").write_text(GRADER_OF_H5AD)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["grader"] = {"name": "error", "grade_fn": "grade:grade", "is_lower_better": True}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    task = Registry([tmp_path / "tasks"], tmp_path / "data").get_task("cells/task")
    path = write(tmp_path / "guess.h5ad", TRUTH + 1, CELLS, GENES)
    assert grade_submission(path, task).score == 1
    with h5py.File(path, "r+") as file:
        del file["layers/prediction"]
        file["layers/prediction"] = h5py.ExternalLink(str(task.answers), "/layers/prediction")
        place = h5py.h5o.get_info(file.create_dataset("a part", data=[1]).id).addr
    data = bytearray(path.read_bytes())
    data[place] = 0xFF  # the version of the header: this part can no longer be opened
    path.write_bytes(data)
    report = grade_submission(path, task)
    assert not report.valid_submission
    assert report.extra is not None
    assert report.extra.error is not None
    assert "is not a readable h5ad file" in report.extra.error
