"""Leaderboard entries are reproducible: training one again gives its score."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bioeval_tui.grade.grade import leaderboard_of
from bioeval_tui.grading import Registry, Task, grade_submission
from bioeval_tui.grading.metrics import METRICS

from .conftest import ROOT, SHIPPED, SHIPPED_IDS

TOLERANCE = 0.005
"""What another processor or another build of BLAS may change."""


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    """The modules of scripts/train-leaderboards: `plans` with `scoring` and `survival` beside
    it.
    """
    names = ("plans", "scoring", "survival", "models", "features", "boards")
    sys.path.insert(0, str(ROOT / "scripts" / "train-leaderboards"))
    try:
        import plans

        yield plans
    finally:
        sys.path.pop(0)
        for name in names:
            sys.modules.pop(name, None)


def held(task: Task) -> pd.Series[float]:
    """Return the scores of the board and of its reference, by name."""
    both = [pd.read_csv(path) for path in (task.leaderboard, task.folder / "reference.csv")]
    return pd.concat(both).set_index("teamName")["score"]


def test_constant_models_are_not_on_leaderboards_and_the_linear_model_is_the_reference(
    shipped: Registry,
) -> None:
    """All settings of a method are tuned on the training data: each enters once, and none is
    without a source.
    """
    methods = (SHIPPED / "METHODS.md").read_text(encoding="utf-8")
    for task_id in SHIPPED_IDS:
        task = shipped.get_task(task_id)
        teams = list(pd.read_csv(task.leaderboard)["teamName"])
        assert not [
            team for team in teams if team.startswith(("dummy", "mean", "median", "constant"))
        ]
        assert task.reference is not None
        assert task.reference.team.startswith(("ridge", "logistic", "cox"))
        settings: dict[str, set[str]] = {}
        for team in teams:
            label, _, _ = team.partition(" / ")
            method = " ".join(word for word in label.split() if "=" not in word)
            settings.setdefault(method, set()).add(label)
            assert f"| {re.sub(' (on residuals|by event)$', '', method)} |" in methods
        assert len(settings) == len(teams), task_id


def test_the_plain_linear_reference_earns_no_medal(shipped: Registry) -> None:
    """A board on which a straight line wins is not worth beating."""
    for task_id in SHIPPED_IDS:
        task = shipped.get_task(task_id)
        assert task.reference is not None
        assert leaderboard_of(task).rank(float(task.reference.score)).medal is None, task_id


CSV_TASKS = [
    "oncology/breast-cancer",
    "chemistry/solubility",
    "obstetrics/fetal-heart",
    "oncology/recurrence",
]


def test_every_task_has_a_training_plan(script: Any) -> None:
    assert sorted(plan.task for plan in script.PLANS) == SHIPPED_IDS


@pytest.mark.parametrize("task_id", CSV_TASKS)
@pytest.mark.long
def test_the_first_entry_can_be_reproduced(
    script: Any, shipped: Registry, task_id: str, tmp_path: Path
) -> None:
    task = shipped.get_task(task_id)
    plan = next(plan for plan in script.PLANS if plan.task == task_id)
    board = held(task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        submissions = plan.submissions(task.public_dir)
        _, team, submission = next(submissions)
    path = tmp_path / "submission.csv"
    submission.to_csv(path, index=False)
    assert grade_submission(path, task).score == pytest.approx(board[team], abs=TOLERANCE), team


def test_single_cell_entries_can_be_reproduced(script: Any, shipped: Registry) -> None:
    import anndata

    task = shipped.get_task("single-cell/pbmc-gene-panel")
    plan = next(plan for plan in script.PLANS if plan.task == task.id)
    board = held(task)
    truth = anndata.read_h5ad(task.answers).X.toarray()
    _, team, predicted = next(plan.submissions(task.public_dir))
    assert METRICS["rmse"].function(truth.ravel(), predicted.ravel()) == pytest.approx(
        board[team], abs=TOLERANCE
    )


@pytest.mark.parametrize(
    "name", ["roc_auc", "average_precision", "mean_absolute_error", "rmse", "r2", "f1_macro"]
)
def test_scoring_by_scikit_learn_agrees_with_the_programs_metrics(script: Any, name: str) -> None:
    import scoring

    generator = np.random.default_rng(3)
    kind = METRICS[name].kind
    truth = generator.integers(0, 2, 200) if kind != "number" else generator.normal(size=200)
    guess = (
        generator.integers(0, 2, 200) if kind == "label" else generator.normal(size=200).round(1)
    )
    theirs = scoring.METRICS[name](truth, guess)
    integers = kind == "label"
    ours = METRICS[name].function(
        truth if integers else truth.astype(float), guess if integers else guess.astype(float)
    )
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_the_concordance_index_agrees_with_the_programs_metric(script: Any) -> None:
    import scoring

    generator = np.random.default_rng(4)
    time, event = generator.integers(1, 40, 150).astype(float), generator.integers(0, 2, 150)
    guess = generator.normal(size=150).round(1)
    ours = METRICS["concordance_index"].function(time, guess, event)
    assert ours == pytest.approx(scoring.concordance_index(time, event, guess), rel=1e-12)


def test_martingale_residuals_sum_to_zero_and_fall_with_time(script: Any) -> None:
    import survival

    time, event = np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 1, 0, 1, 1])
    residuals = survival.martingale_residuals(time, event)
    assert residuals.sum() == pytest.approx(0)
    assert residuals[0] == pytest.approx(1 - 1 / 5)
    assert residuals[2] == pytest.approx(-(1 / 5 + 1 / 4))


def test_the_cox_model_finds_a_known_hazard(script: Any) -> None:
    import survival

    generator = np.random.default_rng(5)
    matrix = generator.normal(size=(4000, 2))
    time = generator.exponential(1 / np.exp(matrix @ [1.0, -0.5]))
    censored_at = generator.exponential(2.0, size=4000)
    outcome = np.column_stack([np.minimum(time, censored_at), time <= censored_at])
    model = survival.CoxRidge(penalty=0.01).fit(matrix, outcome)
    assert model.beta_ == pytest.approx([1.0, -0.5], abs=0.08)
