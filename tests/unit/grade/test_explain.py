"""Error analyses: what they show for each kind of prediction, and what they never reveal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bioeval_tui.errors import InputError
from bioeval_tui.grade.explain.disclosure import FEWEST, STEP
from bioeval_tui.grade.explain.explain import attempts, explain
from bioeval_tui.grade.explanation import Section, bar_text, table
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


def views(tasks: Any, path: Path, **options: Any) -> dict[str, Section]:
    ready = TaskGrading(tasks.registry.get_task("lab/numbers"))
    return {section.title: section for section in explain(ready, path, **options)}


def numbers(tasks: Any, **columns: Any) -> tuple[Path, Any, Any]:
    random = np.random.default_rng(4)
    true = random.normal(size=ROWS).round(3)
    guess = (true + 0.5 + random.normal(size=ROWS) / 10).round(3)
    guess[7] = true[7] + 40
    return given(tasks, {"metric": "mean_absolute_error"}, true, guess, **columns), true, guess


def test_residuals_show_the_bias_and_with_answers_the_worst_row(tasks: Any) -> None:
    path, true, _ = numbers(tasks)
    found = views(tasks, path, show_answers=True)
    residuals = dict(found["residuals of y, predicted − true"].rows)
    assert float(residuals["50% quantile"]) == pytest.approx(0.5, abs=0.1)
    worst = found["worst rows"].rows[0]
    assert worst[0] == "r7"
    assert (float(worst[2]), float(worst[3])) == (
        pytest.approx(true[7], abs=1e-3),
        pytest.approx(40, abs=1e-3),
    )


def test_an_explanation_names_no_private_row_and_shows_no_single_value(tasks: Any) -> None:
    """Predictions that are made up so that each error tells which row it is of."""
    true = np.random.default_rng(4).normal(size=ROWS).round(3)
    guess = true * 0 + np.arange(ROWS) * 1000
    found = views(tasks, given(tasks, {"metric": "mean_absolute_error"}, true, guess))
    texts = [cell for section in found.values() for row in section.rows for cell in row]
    assert not {text for text in texts if text.startswith("r")}
    assert not {f"{value:.5g}" for value in guess - true} & set(texts)
    assert "--show-answers" in found["the task keeps its answers private"].note


def test_private_class_counts_are_rounded_and_small_classes_hidden(tasks: Any) -> None:
    """Three rows are called a class that nothing else is called: what they are must not be told."""
    true = ["odd"] * 3 + ["benign"] * 46 + ["odd"] * 28 + ["rare"] * 3
    guess = ["odd"] * 3 + ["benign"] * 77
    found = views(tasks, given(tasks, {"metric": "f1_macro"}, true, guess))
    rows = found["classes of y"].rows
    assert [row[0] for row in rows] == ["benign", "odd"]
    assert rows[1][2:] == ("–", "–", "–")
    confusion = found["confusion: true by row, predicted by column"]
    assert confusion.columns == ("", "benign")
    counts = [int(cell) for row in (*rows, *confusion.rows) for cell in row[1:2]]
    assert not any(count % STEP for count in counts)


def test_thresholds_that_identify_few_rows_are_left_out(tasks: Any) -> None:
    true = [1] * 40 + [0] * 40
    guess = [0.9] * (FEWEST - 1) + [0.2] * (ROWS - FEWEST + 1)
    found = views(tasks, given(tasks, {"metric": "roc_auc"}, true, guess))
    assert "confusion at 0.5" not in found
    assert [row[0] for row in found["calibration of y"].rows] == [str(ROWS - FEWEST + 1)]


def test_probabilities_have_thresholds_confusion_and_calibration(tasks: Any) -> None:
    random = np.random.default_rng(2)
    true = (random.random(ROWS) < 0.4).astype(int)
    guess = np.clip(0.2 + 0.5 * true + random.normal(size=ROWS) / 8, 0, 1).round(4)
    found = views(tasks, given(tasks, {"metric": "roc_auc"}, true, guess))
    rows = found["confusion at 0.5"].rows
    assert [row[0] for row in rows] == ["true 0", "true 1"]
    assert sum(int(cell) for row in rows for cell in row[1:]) == pytest.approx(ROWS, abs=2 * STEP)
    assert sum(int(row[0]) for row in found["calibration of y"].rows) == ROWS
    assert "sensitivity + specificity is greatest at" in found["thresholds of y"].note


def test_labels_have_every_class_and_their_confusion(tasks: Any) -> None:
    true = ["benign"] * 50 + ["odd"] * 30
    guess = ["benign"] * 45 + ["odd"] * 35
    found = views(tasks, given(tasks, {"metric": "f1_macro"}, true, guess))
    assert found["classes of y"].rows[0][:3] == ("benign", "50", "0.9")
    confusion = {row[0]: row[1:] for row in found["confusion: true by row, predicted by column"].rows}
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


def test_groups_of_a_public_column_have_scores_and_small_ones_only_with_answers(tasks: Any) -> None:
    sites = ["north"] * 40 + ["south"] * (ROWS - 40 - 2) + ["tiny"] * 2
    path, *_ = numbers(tasks, secret=sites)
    public = tasks.registry.get_task("lab/numbers").public_dir
    lines = [f"r{n},{site}" for n, site in enumerate(sites)]
    (public / "test.csv").write_text("\n".join(["id,site", *lines]) + "\n")
    (public / "sample_submission.csv").unlink()
    closed = views(tasks, path, by="site")["score of y by site"]
    assert [row[:2] for row in closed.rows] == [("north", "40"), ("south", "38")]
    assert closed.note == f"1 group of fewer than {FEWEST} rows not shown"
    assert len(views(tasks, path, by="site", show_answers=True)["score of y by site"].rows) == 3
    with pytest.raises(
        InputError, match=r"no public table .* has a column `secret` for these rows; there are site"
    ):
        views(tasks, path, by="secret")
    assert views(tasks, path, by="secret", show_answers=True)["score of y by secret"].rows


def test_a_custom_graders_score_is_explained_by_the_shared_columns(tasks: Any) -> None:
    code = "def grade(submission, answers):\n    return 0.5\n"
    answers = "id,y\n" + "".join(f"r{n},{n}\n" for n in range(ROWS))
    tasks.add(code=code, answers=answers)
    path = tasks.submit("id,y\n" + "".join(f"r{n},{n + 1}\n" for n in reversed(range(ROWS))))
    assert dict(views(tasks, path)["residuals of y, predicted − true"].rows)["mean (bias)"] == "1"


def test_proteingym_has_a_score_for_each_split_and_for_each_of_its_folds(tasks: Any) -> None:
    """As it is prepared: `data.csv` names the folds `fold_…`, submissions their predictions `fitness_score_fold_…`."""
    splits = ("fold_random_5", "fold_modulo_5")
    folds = "".join(f"{n},{n % 5},{n % 4}\n" for n in range(ROWS))
    code = "def grade(submission, answers):\n    return 0.5\n"
    answers = "id,fitness_score\n" + "".join(f"{n},{n}\n" for n in range(ROWS))
    tasks.add(code=code, answers=answers, config={"data_source": {"type": "proteingym-dms"}})
    public = tasks.registry.get_task("lab/numbers").public_dir
    (public / "data.csv").write_text(f"id,{','.join(splits)}\nWT,-1,-1\n{folds}")
    names = ",".join(f"fitness_score_{split}" for split in splits)
    found = views(tasks, tasks.submit(f"id,{names}\n" + "".join(f"{n},{n},{-n}\n" for n in range(ROWS))))
    assert [row[2] for row in found["Spearman's rho of each split"].rows] == ["1", "-1"]
    assert [row[0] for row in found["score of fitness_score_fold_random_5 by fold_random_5"].rows] == list(
        "01234"
    )
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
            var=pd.DataFrame({"panel": ["few"] * 2 + ["many"] * 10}, index=[f"g{n}" for n in range(12)]),
            layers={"prediction": values},
        )
        file.write_h5ad(path)
    ready = TaskGrading(tasks.registry.get_task("lab/cells"))
    found = {section.title: section.rows for section in explain(ready, tmp_path / "guess.h5ad")}
    assert found["mean squared error by type"] == (("B", "10", "1"), ("T", "10", "1"))
    assert found["mean squared error by panel"] == (("many", "10", "1"),)


def test_attempts_show_the_best_so_far_and_the_medal_thresholds() -> None:
    found = attempts([0.5, 0.4, 0.7], False, [("gold", 0.9)], "ada")
    assert found.title == "score by attempt of ada"
    assert [row[2] for row in found.rows] == ["0.5", "0.5", "0.7"]
    assert found.note == "gold begins at 0.9"
    assert [row[2] for row in attempts([0.5, 0.4, 0.7], True, [], None).rows] == ["0.5", "0.4", "0.4"]


def test_a_section_is_aligned_text_and_can_be_read_from_json() -> None:
    found = table("counts", ("name", "rows"), [("a", 5), ("long name", 10)], bar=1, note="a note")
    assert found.lines() == [
        "counts", "  name       rows", "  a             5  ████████████", "  long name    10  ████████████████████████", "  a note",
    ]  # fmt: skip
    assert Section.from_dict(found.to_dict()) == found
    with pytest.raises(ValueError, match="rows of different lengths"):
        Section.from_dict({"title": "x", "columns": ["a"], "rows": [["1", "2"]]})
    assert bar_text(0.0001) == "▏"
