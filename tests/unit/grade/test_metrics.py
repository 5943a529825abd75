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


def of_labels_by_definition(true: list[int], guess: list[int]) -> dict[str, float]:
    """Return what each metric on labels is, from counts of single classes."""
    rows, classes = len(true), sorted({*true, *guess})
    right = {c: sum(a == b == c for a, b in zip(true, guess, strict=True)) for c in classes}
    there = {c: true.count(c) for c in classes}
    named = {c: guess.count(c) for c in classes}
    f1 = {c: 2 * right[c] / (there[c] + named[c]) for c in classes}
    recalls = [right[c] / there[c] for c in classes if there[c]]
    agreed = sum(right.values()) / rows
    by_chance = sum(there[c] * named[c] for c in classes) / rows**2
    spread = (1 - sum(n * n for n in named.values()) / rows**2) * (
        1 - sum(n * n for n in there.values()) / rows**2
    )
    return {
        "accuracy": agreed,
        "balanced_accuracy": sum(recalls) / len(recalls),
        "f1_macro": sum(f1.values()) / len(f1),
        "f1_micro": agreed,
        "f1_weighted": sum(f1[c] * there[c] for c in classes) / rows,
        "matthews": (agreed - by_chance) / math.sqrt(spread) if spread else 0.0,
        "cohen_kappa": (agreed - by_chance) / (1 - by_chance) if by_chance < 1 else math.nan,
    }


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_metrics_of_few_labels_are_as_defined(rows: list[tuple[int, int]]) -> None:
    """A class may occur once, only in the truth, or only in the prediction."""
    true, guess = (list(column) for column in zip(*rows, strict=True))
    for name, value in of_labels_by_definition(true, guess).items():
        found = METRICS[name].function(np.array(true), np.array(guess))
        assert found == pytest.approx(value, abs=1e-12, nan_ok=True), name


@pytest.mark.parametrize(
    ("true", "guess", "loss"),
    [(1, 0.5, math.log(2)), (0, 0.5, math.log(2)), (1, 1.0, 0.0), (0, 0.0, 0.0),
        (1, 0.0, -math.log(np.finfo(float).eps)), (0, 1.0, -math.log(np.finfo(float).eps))],
)  # fmt: skip
def test_the_loss_of_a_certain_mistake_is_bounded(true: int, guess: float, loss: float) -> None:
    found = METRICS["log_loss"].function(np.array([float(true)]), np.array([guess]))
    assert found == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize(
    ("true", "guess", "precision"),
    [
        ([1], [0.5], 1.0), ([0], [0.5], math.nan), ([1, 0], [0.9, 0.1], 1.0),
        ([1, 0], [0.1, 0.9], 0.5), ([1, 0], [0.5, 0.5], 0.5), ([1, 1, 0], [0.9, 0.1, 0.5], 5 / 6),
        ([0, 1, 1], [0.9, 0.5, 0.5], 2 / 3),
    ],
)  # fmt: skip
def test_the_average_precision_of_few_rows_is_as_defined(
    true: list[float], guess: list[float], precision: float
) -> None:
    found = both_ways("average_precision", np.array(true, dtype=float), np.array(guess))
    assert found == pytest.approx(precision, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "r2"])
@pytest.mark.parametrize("turned", [False, True])
def test_two_rows_in_order_have_a_correlation_of_1(name: str, turned: bool) -> None:
    true = np.array([1.0, 2.0])
    wanted = -1.0 if turned else 1.0
    if name == "r2":
        wanted = -3.0 if turned else 1.0
    assert both_ways(name, true, true[::-1] if turned else true) == pytest.approx(wanted)


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


@pytest.mark.parametrize("size", [5e-324, 1e-163, 1.4e-162, 1e-100, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "roc_auc", "average_precision"])
def test_a_correlation_does_not_depend_on_the_size_of_the_predictions(
    name: str, size: float
) -> None:
    """The squares of tiny numbers are 0: 0.31 was 1.0."""
    random = np.random.default_rng(1)
    true = random.normal(size=200)
    guess = np.where(true + 2 * random.normal(size=200) > 0, 1.0, -1.0)
    guess[random.integers(200)] *= 2
    truth = true if METRICS[name].kind == "number" else (true > 0).astype(float)
    usual = METRICS[name].function(truth, guess)
    assert 0 < usual < 0.9
    assert METRICS[name].function(truth, guess * size) == pytest.approx(usual, rel=1e-12)


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
