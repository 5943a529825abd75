"""Error analyses: what they show for each kind of prediction, and what they never reveal."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bioeval_tui.base.errors import InputError
from bioeval_tui.grade.explaining.explain import explain, scores_so_far
from bioeval_tui.grade.explaining.groups import MOST_GROUPS, more_groups_note
from bioeval_tui.grade.explaining.sections import PRIVATE, Section, bar_text, table
from bioeval_tui.grade.grade import TaskGrading

ROWS = 80


def given(tasks: Any, grader: dict[str, Any], true: Any, guess: Any, **columns: Any) -> Path:
    """Add a task with these answers, further columns of them, and return the submission."""
    names = "".join(f",{name}" for name in columns)
    lines = [f"id,y{names}"]
    lines += [
        ",".join([f"r{n}", str(y), *(str(values[n]) for values in columns.values())])
        for n, y in enumerate(true)
    ]
    tasks.add(grader={"id": "id", "target": "y", **grader}, answers="\n".join(lines) + "\n")
    return tasks.submit("id,y\n" + "".join(f"r{n},{y}\n" for n, y in enumerate(guess)))


def views(
    tasks: Any, path: Path, *, show_answers: bool = True, **options: Any
) -> dict[str, Section]:
    ready = TaskGrading(tasks.registry.get_task("lab/numbers"))
    found = explain(ready, path, show_answers=show_answers, **options)
    return {section.title: section for section in found}


def read_by_least_squares(predictions: Any, calibrations: Any) -> Any:
    """Return what an attacker concludes from the shares of 1 in the calibrations of many made-up
    files, shape (rows,).
    """
    selected, counted = [], []
    for guess, section in zip(predictions, calibrations, strict=True):
        order, at = np.argsort(guess), 0
        for row in section.rows:
            size = int(row[0])
            selected.append(np.zeros(len(guess)))
            selected[-1][order[at : at + size]] = 1
            # as if counts were shown in steps of five
            counted.append(5 * round(float(row[2]) * size / 5))
            at += size
    return np.linalg.lstsq(np.array(selected), np.array(counted), rcond=None)[0] > 0.5


def crafted() -> dict[str, Any]:
    """Predictions for `ROWS` rows that are made up so that figures about them tell answers."""
    row = np.arange(ROWS)
    random = np.random.default_rng(5)
    return {
        **{f"constant {value}": np.full(ROWS, value) for value in (0.0, 0.5, 1.0)},
        **{f"one row, {n}": np.where(row == n, 1.0, 0.0) for n in row},
        **{f"all rows up to {n}": np.where(row <= n, 0.9, 0.1) for n in row},
        **{f"bit {n} of the row's number": (row >> n & 1).astype(float) for n in range(7)},
        **{
            f"powers of two from {n}": np.ldexp(1.0, -np.abs(row - n) % 50)
            for n in range(0, ROWS, 10)
        },
        **{f"shuffled, {n}": random.permutation(ROWS) / ROWS for n in range(60)},
    }


def numbers(tasks: Any, **columns: Any) -> tuple[Path, Any, Any]:
    random = np.random.default_rng(4)
    true = random.normal(size=ROWS).round(3)
    guess = (true + 0.5 + random.normal(size=ROWS) / 10).round(3)
    guess[7] = true[7] + 40
    return given(tasks, {"metric": "mean_absolute_error"}, true, guess, **columns), true, guess


def test_residuals_show_the_bias_and_the_worst_row(tasks: Any) -> None:
    path, true, _ = numbers(tasks)
    found = views(tasks, path)
    residuals = dict(found["residuals of y, predicted − true"].rows)
    assert float(residuals["50% quantile"]) == pytest.approx(0.5, abs=0.1)
    worst = found["worst rows"].rows[0]
    assert worst[0] == "r7"
    assert (float(worst[2]), float(worst[3])) == (
        pytest.approx(true[7], abs=1e-3),
        pytest.approx(40, abs=1e-3),
    )


KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "probabilities": ({"metric": "roc_auc"}, [0, 1] * 40),
    "labels": ({"metric": "f1_macro"}, [0, 0, 1, 1] * 20),
    "numbers": ({"metric": "mean_absolute_error"}, np.arange(ROWS) / 8),
    "survival": ({"metric": "concordance_index", "event": "event"}, np.arange(ROWS) + 1),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind != "labels")) for kind in KINDS]
)
def test_hundreds_of_made_up_files_tell_nothing_of_private_answers(tasks: Any, kind: str) -> None:
    """What is shown is the same for other answers: no count, group, order, dash or error message
    depends on them.
    """
    grader, true = KINDS[kind]
    files = crafted()
    assert len(files) >= 200
    others = np.random.default_rng(1).permutation(true)
    columns = {
        "site": ["north", "south"] * 40,
        "age": np.arange(ROWS) / 10,
        "same": [1] * ROWS,
        "y2": others,
    }
    path = given(tasks, grader, true, files["constant 0.0"], event=np.arange(ROWS) % 2)
    task = tasks.registry.get_task("lab/numbers")
    ids = [f"r{n}" for n in range(ROWS)]
    pd.DataFrame({"id": ids, **columns}).to_csv(task.public_dir / "test.csv", index=False)
    shown: list[list[Any]] = []
    for answers in (true, others):
        events = (np.asarray(answers) > np.median(answers)).astype(int)
        pd.DataFrame({"id": ids, "y": answers, "event": events}).to_csv(task.answers, index=False)
        ready = TaskGrading(task)
        shown.append([])
        ways = cycle((*columns, "id", "y", "mine", "event", "nothing"))
        for guess in files.values():
            pd.DataFrame({"id": ids, "y": guess, "mine": guess}).to_csv(path, index=False)
            for by in (None, next(ways)):
                shown[-1].append([section.to_dict() for section in explain(ready, path, by=by)])
    assert shown[0] == shown[1]
    assert all(sections == [PRIVATE.to_dict()] for sections in shown[0])


def test_the_attack_reads_every_answer_from_rounded_views_so_none_is_shown(tasks: Any) -> None:
    """Counts in steps of five and groups of eight rows do not protect answers: 200 files are
    enough.
    """
    true = np.random.default_rng(3).integers(0, 2, ROWS)
    random = np.random.default_rng(5)
    predictions = [random.permutation(ROWS) / ROWS for _ in range(200)]
    path = given(tasks, {"metric": "roc_auc"}, true, predictions[0])
    ready = TaskGrading(tasks.registry.get_task("lab/numbers"))

    def calibration(guess: Any) -> Section:
        path.write_text("id,y\n" + "".join(f"r{n},{y}\n" for n, y in enumerate(guess)))
        sections = explain(ready, path, show_answers=True)
        return next(section for section in sections if section.title.startswith("calibration"))

    assert (read_by_least_squares(predictions, map(calibration, predictions)) == true).all()


@pytest.mark.parametrize("where", ["..", "link"])
def test_answers_that_only_seem_to_be_public_are_private(tasks: Any, where: str) -> None:
    path, *_ = numbers(tasks)
    task = tasks.registry.get_task("lab/numbers")
    folder = task.public_dir.relative_to(tasks.data)
    answers = f"{folder}/../private/answers.csv"
    if where == "link":
        answers = f"{folder}/answers.csv"
        (task.public_dir / "answers.csv").symlink_to(task.answers)
    ready = TaskGrading(replace(task, answers=tasks.data / answers))
    assert explain(ready, path) == [PRIVATE]


def test_public_answers_are_explained_without_asking(tasks: Any) -> None:
    path, *_ = numbers(tasks)
    task = tasks.registry.get_task("lab/numbers")
    public = task.public_dir / "answers.csv"
    public.write_bytes(task.answers.read_bytes())
    titles = [
        section.title for section in explain(TaskGrading(replace(task, answers=public)), path)
    ]
    assert "worst rows" in titles


def test_probabilities_have_thresholds_confusion_and_calibration(tasks: Any) -> None:
    random = np.random.default_rng(2)
    true = (random.random(ROWS) < 0.4).astype(int)
    guess = np.clip(0.2 + 0.5 * true + random.normal(size=ROWS) / 8, 0, 1).round(4)
    found = views(tasks, given(tasks, {"metric": "roc_auc"}, true, guess))
    rows = found["confusion at 0.5"].rows
    assert [row[0] for row in rows] == ["true 0", "true 1"]
    assert sum(int(cell) for row in rows for cell in row[1:]) == ROWS
    assert sum(int(row[0]) for row in found["calibration of y"].rows) == ROWS
    assert "sensitivity + specificity is greatest at" in found["thresholds of y"].note


def test_labels_have_every_class_and_their_confusion(tasks: Any) -> None:
    true = ["benign"] * 50 + ["odd"] * 30
    guess = ["benign"] * 45 + ["odd"] * 35
    found = views(tasks, given(tasks, {"metric": "f1_macro"}, true, guess))
    assert found["classes of y"].rows[0] == ("benign", "50", "0.9", "1", "0.94737")
    confusion = {
        row[0]: row[1:] for row in found["confusion: true by row, predicted by column"].rows
    }
    assert confusion == {"benign": ("45", "5"), "odd": ("0", "30")}


def test_survival_errors_are_shown_by_predicted_risk(tasks: Any) -> None:
    random = np.random.default_rng(2)
    true = random.exponential(size=ROWS).round(4)
    events = (random.random(ROWS) < 0.7).astype(int)
    grader = {"metric": "concordance_index", "event": "event"}
    found = views(tasks, given(tasks, grader, true, true, event=events))
    times = [float(row[3]) for row in found["what happened, by predicted survival"].rows]
    assert times == sorted(times)
    assert dict(found["ranks of y"].rows)["concordance index"] == "1"


def test_groups_of_a_public_or_answers_column_have_scores(tasks: Any) -> None:
    sites = ["north"] * 40 + ["south"] * (ROWS - 40 - 2) + ["tiny"] * 2
    path, *_ = numbers(tasks, secret=sites)
    public = tasks.registry.get_task("lab/numbers").public_dir
    lines = [f"r{n},{site}" for n, site in enumerate(sites)]
    (public / "test.csv").write_text("\n".join(["id,site", *lines]) + "\n")
    (public / "sample_submission.csv").unlink()
    for column in ("site", "secret"):
        found = views(tasks, path, by=column)[f"score of y by {column}"]
        assert [row[:2] for row in found.rows] == [("north", "40"), ("south", "38"), ("tiny", "2")]
    with pytest.raises(
        InputError,
        match=r"no table .* has a column `nothing` for these rows; there are y, secret, site",
    ):
        views(tasks, path, by="nothing")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([n % 12 for n in range(ROWS)], [str(n) for n in range(12)]),
        ([n * 3 - 120 for n in range(ROWS)], ["-120 to -63", "-60 to -3", "0 to 57", "60 to 117"]),
        (
            [1e6 + n / 100 for n in range(ROWS)],
            ["1000000 to 1000000.19", "1000000.2 to 1000000.39", "1000000.4 to 1000000.59",
                "1000000.6 to 1000000.79"],
        ),
        (["10 mg", "9 mg"] * 40, ["10 mg", "9 mg"]),
        ([5.5, 12.0, "", 100.0] * 20, ["5.5 to 5.5", "12 to 12", "100 to 100", "no value"]),
    ],
    ids=["whole", "quarters", "close", "text", "gaps"],
)  # fmt: skip
def test_groups_of_numbers_are_in_order_of_their_values(
    tasks: Any, values: list[Any], expected: list[str]
) -> None:
    path, *_ = numbers(tasks, dose=values)
    assert [row[0] for row in views(tasks, path, by="dose")["score of y by dose"].rows] == expected


def test_a_custom_graders_score_is_explained_by_the_shared_columns(tasks: Any) -> None:
    code = "def grade(submission, answers):\n    return 0.5\n"
    answers = "id,y\n" + "".join(f"r{n},{n}\n" for n in range(ROWS))
    tasks.add(code=code, answers=answers)
    path = tasks.submit("id,y\n" + "".join(f"r{n},{n + 1}\n" for n in reversed(range(ROWS))))
    assert dict(views(tasks, path)["residuals of y, predicted − true"].rows)["mean (bias)"] == "1"


def test_proteingym_has_a_score_for_each_split_and_for_each_of_its_folds(tasks: Any) -> None:
    """As it is prepared: `data.csv` names the folds `fold_…`, submissions their predictions
    `fitness_score_fold_…`.
    """
    splits = ("fold_random_5", "fold_modulo_5")
    folds = "".join(f"{n},{n % 5},{n % 4}\n" for n in range(ROWS))
    code = "def grade(submission, answers):\n    return 0.5\n"
    answers = "id,fitness_score\n" + "".join(f"{n},{n}\n" for n in range(ROWS))
    tasks.add(code=code, answers=answers, config={"data_source": {"type": "proteingym-dms"}})
    public = tasks.registry.get_task("lab/numbers").public_dir
    (public / "data.csv").write_text(f"id,{','.join(splits)}\nWT,-1,-1\n{folds}")
    names = ",".join(f"fitness_score_{split}" for split in splits)
    found = views(
        tasks, tasks.submit(f"id,{names}\n" + "".join(f"{n},{n},{-n}\n" for n in range(ROWS)))
    )
    assert [row[2] for row in found["Spearman's rho of each split"].rows] == ["1", "-1"]
    assert [
        row[0] for row in found["score of fitness_score_fold_random_5 by fold_random_5"].rows
    ] == list("01234")
    assert len(found["score of fitness_score_fold_modulo_5 by fold_modulo_5"].rows) == 4


def test_a_sparse_truth_has_errors_by_groups_of_cells_and_genes_of_a_dense_prediction(
    tasks: Any, tmp_path: Path
) -> None:
    truth = np.zeros((24, 12))
    answers = {"answers": "lab/cells/prepared/private/answers.h5ad", "sample_submission": "none"}
    grader = {"name": "rmse", "metric": "rmse", "h5ad": {"layers": "prediction"}}
    tasks.add("lab/cells", grader=grader, config={"dataset": answers})
    for path, values in (
        (tasks.data / answers["answers"], sparse.csr_matrix(truth)),
        (tmp_path / "guess.h5ad", np.ones((24, 12))),
    ):
        file = anndata.AnnData(
            obs=pd.DataFrame({"type": ["B", "T"] * 12}, index=[f"c{n}" for n in range(24)]),
            var=pd.DataFrame(
                {"panel": ["few"] * 2 + ["many"] * 10}, index=[f"g{n}" for n in range(12)]
            ),
            layers={"prediction": values},
        )
        file.write_h5ad(path)
    ready = TaskGrading(tasks.registry.get_task("lab/cells"))
    found = {
        section.title: section.rows
        for section in explain(ready, tmp_path / "guess.h5ad", show_answers=True)
    }
    assert found["mean squared error by type"] == (("B", "12", "1"), ("T", "12", "1"))
    assert found["mean squared error by panel"] == (("few", "2", "1"), ("many", "10", "1"))
    assert explain(ready, tmp_path / "guess.h5ad", by="type") == [PRIVATE]


def test_scores_so_far_show_the_best_and_the_medal_thresholds() -> None:
    found = scores_so_far([0.5, 0.4, 0.7], False, [("gold", 0.9)], "ada")
    assert found.title == "scores so far of ada"
    assert [row[2] for row in found.rows] == ["0.5", "0.5", "0.7"]
    assert found.note == "gold begins at 0.9; the files of one batch are scored in no order"
    assert [row[2] for row in scores_so_far([0.5, 0.4, 0.7], True, [], None).rows] == [
        "0.5",
        "0.4",
        "0.4",
    ]


def test_a_section_is_aligned_text_and_can_be_read_from_json() -> None:
    found = table("counts", ("name", "rows"), [("a", 5), ("long name", 10)], bar=1, note="a note")
    assert found.lines() == [
        "counts", "  name       rows", "  a             5  ████████████",
        "  long name    10  ████████████████████████", "  a note",
    ]  # fmt: skip
    assert Section.from_dict(found.to_dict()) == found
    with pytest.raises(ValueError, match="rows of different lengths"):
        Section.from_dict({"title": "x", "columns": ["a"], "rows": [["1", "2"]]})
    assert bar_text(0.0001) == "▏"


@pytest.mark.parametrize(
    ("more", "note"), [(-1, ""), (0, ""), (1, "1 more group"), (2, "2 more groups")]
)
def test_the_groups_that_a_table_leaves_out_are_counted(more: int, note: str) -> None:
    assert more_groups_note([str(at) for at in range(MOST_GROUPS + more)]) == note
