"""Intervals of scores agree with plain resampling, contain the true score, and are left out where
impossible.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bioeval_tui.grade.grade import TaskGrading
from bioeval_tui.grade.intervals import measure_uncertainty
from bioeval_tui.grade.resampling import CannotResampleError, drawn_concordances, draws
from bioeval_tui.grading import TaskReport, Uncertainty
from bioeval_tui.grading.metrics import METRICS
from tests.simulations import scoring

ENDS = (0.025, 0.5, 0.975)


def predictions(kind: str, rows: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(3)
    true = random.normal(size=rows)
    if kind == "probability":
        true = (random.random(rows) < 0.3).astype(float)
        return true, 1 / (1 + np.exp(1 - 2 * true + random.normal(size=rows))), None
    if kind == "label":
        true = random.integers(0, 4, rows)
        return true, np.where(random.random(rows) < 0.7, true, random.integers(0, 4, rows)), None
    if kind == "survival":
        true = random.exponential(size=rows)
        return true, true + random.normal(size=rows) / 2, (random.random(rows) < 0.6).astype(float)
    return true, true + random.normal(size=rows), None


@pytest.mark.parametrize(
    ("name", "rows", "decimals"),
    [
        ("mean_absolute_error", 200, 9), ("rmse", 200, 9), ("log_loss", 200, 9),
        ("accuracy", 200, 9), ("f1_macro", 200, 9),
        ("matthews", 200, 9), ("concordance_index", 60, 9), ("roc_auc", 4000, 9),
        ("spearman", 4000, 9), ("pearson", 4000, 9), ("r2", 4000, 9),
        # with as many ties as predictions of few decimals have
        ("concordance_index", 60, 0), ("roc_auc", 4000, 1), ("spearman", 4000, 0),
    ],
)  # fmt: skip
def test_every_shortcut_agrees_with_plain_resampling(name: str, rows: int, decimals: int) -> None:
    """A fifth of the interval's width is what 400 plain draws leave open."""
    metric = METRICS[name]
    true, guess, event = predictions(metric.kind, rows)
    guess = np.round(guess, decimals)
    random = np.random.default_rng(5)
    stratified = metric.kind in ("label", "probability") and name not in ("accuracy", "log_loss")
    strata = (
        [np.flatnonzero(true == value) for value in np.unique(true)]
        if stratified
        else [np.arange(rows)]
    )
    plain = []
    for _ in range(400):
        at = np.concatenate([part[random.integers(0, len(part), len(part))] for part in strata])
        plain.append(metric.function(true[at], guess[at], *([] if event is None else [event[at]])))
    found = np.quantile(draws(metric, [(true, guess)], event).scores, ENDS)
    expected = np.quantile(plain, ENDS)
    assert found == pytest.approx(expected, abs=0.2 * (expected[2] - expected[0]))


@pytest.mark.parametrize("kinds", [2, 3, 20])
def test_the_concordance_of_drawn_rows_is_that_of_the_metric_with_any_ties(kinds: int) -> None:
    random = np.random.default_rng(kinds)
    rows = 12
    true, guess = (random.integers(0, kinds, rows).astype(float) for _ in range(2))
    event = (random.random(rows) < 0.6).astype(float)
    counts = random.multinomial(rows, np.full(rows, 1 / rows), 50)
    at = [np.repeat(np.arange(rows), times) for times in counts]
    expected = [
        METRICS["concordance_index"].function(true[own], guess[own], event[own]) for own in at
    ]
    found = drawn_concordances(true, guess, event, counts)
    assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_the_same_file_has_the_same_interval_every_time() -> None:
    true, guess, _ = predictions("probability", 100)
    first, second = (draws(METRICS["roc_auc"], [(true, guess)]).scores for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize(
    ("name", "rows"), [("mean_absolute_error", 200), ("roc_auc", 2500), ("spearman", 2500)]
)
def test_the_interval_contains_the_true_score_in_most_test_sets(name: str, rows: int) -> None:
    """A small part of `scripts/validate-statistics scores`; 120 sets of 95 % leave five percent
    either way open.
    """
    assert 0.89 <= scoring.coverage(name, 120, rows) <= 1.0


def test_too_few_rows_have_no_interval() -> None:
    with pytest.raises(CannotResampleError, match="9 test rows are too few, 10 are needed"):
        draws(METRICS["mse"], [(np.arange(9.0), np.arange(9.0))])


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("accuracy", 10),
        ("f1_macro", 30),
        ("matthews", 30),
        ("cohen_kappa", 30),
        ("roc_auc", 30),
        ("brier", 10),
    ],
)
def test_perfect_predictions_are_not_certain(name: str, rows: int) -> None:
    true = np.arange(rows) % 2
    found = draws(
        METRICS[name], [(true, true.astype(float) if name in ("roc_auc", "brier") else true)]
    )
    low, high = found.ends
    assert 0.05 < high - low < 0.5
    assert (low if name == "brier" else 1 - high) == 0
    with pytest.raises(CannotResampleError, match="test rows are too few"):
        draws(METRICS[name], [(true[: rows - 1], true[: rows - 1])])


def test_a_mean_over_classes_needs_two_rows_of_each() -> None:
    true = (np.arange(40) < 1).astype(int)
    with pytest.raises(CannotResampleError, match="a class has fewer than two test rows"):
        draws(METRICS["f1_macro"], [(true, true)])
    assert draws(METRICS["accuracy"], [(true, true)]).ends[0] < 1


def test_an_area_needs_five_rows_of_each_class() -> None:
    guess = np.random.default_rng(1).normal(size=60)
    with pytest.raises(CannotResampleError, match="one of the classes has fewer than 5 rows"):
        draws(METRICS["roc_auc"], [(np.arange(60) < 4, guess)])
    low, high = draws(METRICS["roc_auc"], [(np.arange(60) < 5, guess)]).ends
    assert high - low > 0.2


def test_exact_predictions_of_numbers_have_no_interval() -> None:
    with pytest.raises(CannotResampleError, match="says nothing of other rows"):
        draws(METRICS["mean_absolute_error"], [(np.arange(20.0), np.arange(20.0))])


# Of submissions
# --------------------------------------------------------------------------------------


def numbers(tasks: Any, rows: int = 60, **more: Any) -> Path:
    """Add a task of so many rows, and return a submission for it."""
    random = np.random.default_rng(1)
    true = random.normal(size=rows).round(4)
    guess = (true + random.normal(size=rows)).round(4)
    ids = [f"row{n}" for n in range(rows)]
    tasks.add(
        answers="id,y\n" + "".join(f"{i},{y}\n" for i, y in zip(ids, true, strict=True)), **more
    )
    lines = [f"{i},{y}\n" for i, y in zip(ids, guess, strict=True)]
    return tasks.submit("id,y\n" + "".join(reversed(lines)))


def sure(tasks: Any, path: Path, **options: Any) -> tuple[Uncertainty, TaskReport]:
    ready = TaskGrading(tasks.registry.get_task("lab/numbers"))
    report = ready.grade(path)
    assert isinstance(report, TaskReport)
    return measure_uncertainty(ready, path, **options), report


def test_a_score_has_an_interval_and_the_chance_of_each_medal_and_place(tasks: Any) -> None:
    found, report = sure(tasks, numbers(tasks, scores=[0.6, 0.7, 0.8, 0.9, 1.0]))
    assert found.low is not None
    assert found.high is not None
    assert report.score is not None
    assert found.low < report.score < found.high
    assert found.rows == 60
    assert 0 < (found.gold or 0) < 1
    assert (found.gold or 0) + (found.silver or 0) + (found.bronze or 0) <= 1
    assert (found.place_best or 0) < (found.place_worst or 0) <= 6
    read = TaskReport.from_dict(report.to_dict() | {"uncertainty": found.to_dict()})
    assert read.uncertainty == found
    assert list(read.to_dict())[:-2] == list(report.to_dict())[:-1], (
        "the published keys stay as they are"
    )


CODE = (
    "def grade(submission, answers):\n    both = submission.merge(answers, on='id')\n    return"
    " (both.y_x - both.y_y).abs().mean()\n"
)


QUICK_CODE = """
def grade(submission, answers):
    known = dict(zip(answers.id, answers.y))
    errors = [abs(y - known[row]) for row, y in zip(submission.id, submission.y)]
    return sum(errors) / len(errors)
"""
"""As CODE, in a twentieth of the time: it is called thousands of times."""


@pytest.mark.long
def test_a_custom_grader_is_resampled_only_when_asked_and_agrees_with_its_metric(
    tasks: Any,
) -> None:
    path = numbers(tasks, code=QUICK_CODE)
    without, _ = sure(tasks, path)
    assert "only if you ask" in without.why_not
    found, _ = sure(tasks, path, call_code=True, time_limit_s=600.0)
    assert "calls of the grader" in found.method
    tasks.add(
        "lab/other", answers=(tasks.data / "lab/numbers/prepared/private/answers.csv").read_text()
    )
    declared = measure_uncertainty(TaskGrading(tasks.registry.get_task("lab/other")), path)
    assert (found.low, found.high) == (
        pytest.approx(declared.low, abs=0.02),
        pytest.approx(declared.high, abs=0.02),
    )


def test_a_slow_custom_grader_has_no_interval(tasks: Any) -> None:
    path = numbers(tasks, code="import time\n" + CODE)
    found, _ = sure(tasks, path, call_code=True, time_limit_s=0.001)
    assert found.interval_words == "no interval: resampling took longer than 0.001 s"


def test_a_grader_that_reads_its_ids_is_not_resampled(tasks: Any) -> None:
    code = CODE.replace("return ", "return both.id.str.len().max() + ")
    found, _ = sure(tasks, numbers(tasks, code=code), call_code=True)
    assert "score depends on the ids of the rows" in found.why_not


def test_proteingym_scores_are_resampled_over_all_three_splits(tasks: Any) -> None:
    random = np.random.default_rng(2)
    true = random.normal(size=80).round(4)
    code = (
        "from scipy.stats import spearmanr\ndef grade(submission, answers):\n    both ="
        " submission[submission.iloc[:, 0] != 'WT'].merge(answers, on='id', how='inner')\n   "
        " return sum(spearmanr(both.iloc[:, n], both.iloc[:, 4])[0] for n in (1, 2, 3)) / 3\n"
    )
    rows = [(f"m{n}", *(y + random.normal(size=3)).round(4)) for n, y in enumerate(true)]
    tasks.add(
        code=code,
        answers="id,fitness\n" + "".join(f"m{n},{y}\n" for n, y in enumerate(true)),
        config={"data_source": {"type": "proteingym-dms", "benchmark_id": "X"}},
    )
    path = tasks.submit("id,a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    found, report = sure(tasks, path)
    assert "for 3 splits at once" in found.method
    assert found.low is not None
    assert found.low < (report.score or 0) < (found.high or 0)


def test_proteingym_with_insertions_has_one_column_and_an_interval(tasks: Any) -> None:
    """Its graders take a column of the answers' name, which merging gives an ending."""
    random = np.random.default_rng(2)
    true = random.normal(size=80).round(4)
    code = (
        "from scipy.stats import spearmanr\n"
        "def grade(submission, answers):\n"
        "    both = submission.merge(answers, on='id', suffixes=('_pred', '_true'))\n"
        "    return spearmanr(both['fitness_score_pred'], both['fitness_score_true'])[0]\n"
    )

    def table(values: Any) -> str:
        return "id,fitness_score\n" + "".join(f"{n},{y}\n" for n, y in enumerate(values))

    config = {"data_source": {"type": "proteingym-dms", "benchmark_id": "X_indels"}}
    tasks.add(code=code, answers=table(true), config=config)
    found, report = sure(tasks, tasks.submit(table((true + random.normal(size=80)).round(4))))
    assert found.low is not None, found.why_not
    assert found.low < (report.score or 0) < (found.high or 0)
    assert "splits" not in found.method
