"""Declared metrics against scikit-learn, SciPy and definitions written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from sklearn import metrics as reference

from bioeval_tui.grading.metrics import METRICS

NUMBERS: dict[str, Callable[..., float]] = {
    "mean_absolute_error": reference.mean_absolute_error,
    "median_absolute_error": reference.median_absolute_error,
    "mse": reference.mean_squared_error,
    "rmse": reference.root_mean_squared_error,
    "r2": reference.r2_score,
    "pearson": lambda true, guess: stats.pearsonr(true, guess).statistic,
    "spearman": lambda true, guess: stats.spearmanr(true, guess).statistic,
    "kendall": lambda true, guess: stats.kendalltau(true, guess).statistic,
}
PROBABILITIES: dict[str, Callable[..., float]] = {
    "roc_auc": reference.roc_auc_score,
    "average_precision": reference.average_precision_score,
    "log_loss": reference.log_loss,
    "brier": reference.brier_score_loss,
}
LABELS: dict[str, Callable[..., float]] = {
    "accuracy": reference.accuracy_score,
    "balanced_accuracy": reference.balanced_accuracy_score,
    "f1_macro": lambda true, guess: reference.f1_score(
        true, guess, average="macro", zero_division=0
    ),
    "f1_micro": lambda true, guess: reference.f1_score(
        true, guess, average="micro", zero_division=0
    ),
    "f1_weighted": lambda true, guess: reference.f1_score(
        true, guess, average="weighted", zero_division=0
    ),
    "matthews": reference.matthews_corrcoef,
    "cohen_kappa": reference.cohen_kappa_score,
}


def both_ways(name: str, true: Any, guess: Any) -> float:
    """The metric's value, which must not depend on whether the truth was made ready before."""
    metric = METRICS[name]
    value = float(metric.function(true, guess))
    function, ready = metric.ready(true)
    assert float(function(ready, guess)) == value or math.isnan(value)
    return value


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_metrics_of_numbers_equal_scikit_learns(name: str, decimals: int) -> None:
    random = np.random.default_rng(decimals)
    true = random.normal(scale=3, size=300).round(decimals)
    guess = (true + random.normal(size=300)).round(decimals)
    assert both_ways(name, true, guess) == pytest.approx(NUMBERS[name](true, guess), rel=1e-12)


@pytest.mark.parametrize("name", PROBABILITIES)
@pytest.mark.parametrize("decimals", [1, 2, 12])
def test_metrics_of_probabilities_equal_scikit_learns(name: str, decimals: int) -> None:
    random = np.random.default_rng(decimals)
    true = random.integers(0, 2, 400).astype(float)
    guess = np.clip(true * 0.2 + random.random(400) * 0.8, 0, 1).round(decimals)
    assert both_ways(name, true, guess) == pytest.approx(
        PROBABILITIES[name](true, guess), rel=1e-12
    )


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("classes", [2, 5])
def test_metrics_of_labels_equal_scikit_learns(name: str, classes: int) -> None:
    random = np.random.default_rng(classes)
    true = random.integers(0, classes, 200)
    guess = np.where(random.random(200) < 0.6, true, random.integers(0, classes + 1, 200))
    if name == "balanced_accuracy":
        guess = np.minimum(guess, classes - 1)
    assert both_ways(name, true, guess) == pytest.approx(LABELS[name](true, guess), rel=1e-12)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=2, max_size=40))
def test_roc_auc_is_the_share_of_pairs_in_order(rows: list[tuple[int, int]]) -> None:
    true, guess = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    pairs = [(p > n) + 0.5 * (p == n) for p in guess[true == 1] for n in guess[true == 0]]
    value = both_ways("roc_auc", true, guess)
    if pairs:
        assert value == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    else:
        assert math.isnan(value)


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 4), st.booleans()), min_size=2, max_size=25
    )
)
def test_concordance_counts_every_comparable_pair(rows: list[tuple[int, int, bool]]) -> None:
    agreed, comparable = 0.0, 0
    for time, guess, event in rows:
        for other_time, other_guess, other_event in rows:
            if event and (time < other_time or (time == other_time and not other_event)):
                comparable += 1
                agreed += (other_guess > guess) + 0.5 * (other_guess == guess)
    time_, guess_, event_ = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    value = METRICS["concordance_index"].function(time_, guess_, event_)
    if comparable:
        assert value == pytest.approx(agreed / comparable, abs=1e-12)
    else:
        assert math.isnan(value)


@pytest.mark.parametrize("name", ["pearson", "spearman", "r2"])
def test_an_undefined_metric_is_nan(name: str) -> None:
    constant, varied = np.full(5, 2.0), np.arange(5.0)
    assert math.isnan(both_ways(name, constant, varied if name != "r2" else constant))


@pytest.mark.parametrize("rows", [1, 2, 3, 6, 10])
@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 1e-3, 2.0])
def test_what_is_constant_is_so_though_its_mean_is_rounded(value: float, rows: int) -> None:
    """Without that, R² is −8e33 and a correlation is one of rounding errors."""
    constant, varied = np.full(rows, value), np.arange(float(rows))
    for name, true, guess in (
        ("r2", constant, varied),
        ("r2", constant, constant),
        ("pearson", constant, varied),
        ("pearson", varied, constant),
        ("spearman", constant, varied),
        ("spearman", varied, constant),
    ):
        assert math.isnan(METRICS[name].function(true, guess)), name


def test_a_metric_has_short_names(tasks: Any) -> None:
    task = tasks.registry.get_task(tasks.add(grader={"name": "x", "metric": "mae", "target": "y"}))
    assert task.grader.spec.metric is METRICS["mean_absolute_error"]
