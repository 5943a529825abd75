"""The metrics that a task can declare by name.

Each takes `y_true` and `y_pred`, shape (rows,), aligned row by row, and gives one number. Those on
labels get integer codes of the classes. A metric that is undefined for its input (one class only,
constant values) gives NaN, which grading reports as an invalid submission, unless its own docstring
says what it gives instead.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui import plugins
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import join_names
from bioeval_tui.statistics.intervals import CHANGE, UNIT, Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its function, its direction and its inputs.

    `kind` is the type of predictions: `number`, `probability` (of the class 1; any score that
    orders rows is accepted unless `in_unit`), `label`, or `survival` (predicted time; needs the
    event column). `prepare` precomputes for a truth what `prepared_function` then reuses for each
    prediction.
    """

    name: str
    function: Callable[..., Any]
    lower_is_better: bool
    kind: str = "number"
    title: str = ""
    in_unit: bool = False
    prepare: Callable[[Any], Any] | None = None
    prepared_function: Callable[..., Any] | None = None

    def ready(self, y_true: Any) -> tuple[Callable[..., Any], Any]:
        """Return the function for many predictions of one truth, and its prepared truth."""
        if self.prepare is None or self.prepared_function is None:
            return self.function, y_true
        return self.prepared_function, self.prepare(y_true)


def mean_absolute_error(y_true: Floats, y_pred: Floats) -> float:
    """Mean of |true − predicted|."""
    return float(np.abs(y_true - y_pred).mean())


def median_absolute_error(y_true: Floats, y_pred: Floats) -> float:
    """Median of |true − predicted|."""
    return float(np.median(np.abs(y_true - y_pred)))


def mse(y_true: Floats, y_pred: Floats) -> float:
    """Mean squared error."""
    difference = y_true - y_pred
    return float(np.mean(difference * difference))


def rmse(y_true: Floats, y_pred: Floats) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(mse(y_true, y_pred)))


def r2(y_true: Floats, y_pred: Floats) -> float:
    """Coefficient of determination, 1 − residual / total sum of squares; NaN for a constant
    truth.
    """
    total = float(((y_true - y_true.mean()) ** 2).sum())
    # The mean of equal numbers may be another number, and the total no 0.
    if total == 0.0 or (y_true == y_true[0]).all():
        return float("nan")
    return 1.0 - float(((y_true - y_pred) ** 2).sum()) / total


def deviations(values: Floats) -> Floats:
    """Return how far values are from their mean, after a division by the power of two that makes
    the largest about 1.

    The squares of numbers such as 1e-162 are 0, so that any predictions that small would correlate
    perfectly.
    """
    scaled: Floats = np.ldexp(values, -np.frexp(np.abs(values).max())[1])
    away: Floats = scaled - scaled.mean()
    return away


def pearson(y_true: Floats, y_pred: Floats) -> np.float64:
    """Pearson's correlation; NaN if either side is constant."""
    a, b = deviations(y_true), deviations(y_pred)
    norm = np.sqrt((a @ a) * (b @ b))
    if norm == 0.0 or (y_pred == y_pred[0]).all() or (y_true == y_true[0]).all():
        return np.float64("nan")
    return np.float64(np.clip((a @ b) / norm, -1.0, 1.0))


def average_ranks(values: Floats) -> Floats:
    """Return ranks from 1, shape (rows,); tied values share their mean rank."""
    order = np.argsort(values)
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ends = np.append(starts[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((starts + ends + 1) / 2.0, ends - starts)
    return ranks


def spearman(y_true: Floats, y_pred: Floats) -> np.float64:
    """Spearman's rank correlation, ties by mean rank; NaN if either side is constant."""
    return spearman_of_ranks(average_ranks(y_true), y_pred)


def spearman_of_ranks(true_ranks: Floats, y_pred: Floats) -> np.float64:
    """Spearman's rank correlation where the truth has been ranked already."""
    return pearson(true_ranks, average_ranks(y_pred))


def kendall(y_true: Floats, y_pred: Floats) -> np.float64:
    """Kendall's tau-b."""
    from scipy.stats import kendalltau  # scipy.stats, for this metric alone

    return np.float64(kendalltau(y_true, y_pred).statistic)


def roc_auc(y_true: Floats, y_pred: Floats) -> float:
    """Area under the ROC curve for classes 0 and 1, exact with ties; NaN when only one class is
    there.
    """
    return roc_auc_of_mask(y_true > 0, y_pred)


def roc_auc_of_mask(positive: NDArray[np.bool_], y_pred: Floats) -> float:
    """Area under the ROC curve: the share of pairs in which the positive scores higher, ties count
    half.
    """
    higher, lower = np.sort(y_pred[positive]), np.sort(y_pred[~positive])
    pairs = len(higher) * len(lower)
    if not pairs:
        return float("nan")
    below = int(np.searchsorted(lower, higher, side="left").sum())
    up_to = int(np.searchsorted(lower, higher, side="right").sum())
    return (below + up_to) / (2 * pairs)


def average_precision(y_true: Floats, y_pred: Floats) -> float:
    """Σ (recallₙ − recallₙ₋₁) · precisionₙ over the distinct scores; NaN without a positive."""
    positive = y_true > 0
    if not positive.any():
        return float("nan")
    order = np.argsort(-y_pred, kind="stable")
    scores, hits = y_pred[order], np.cumsum(positive[order])
    last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
    precision = hits[last] / (last + 1.0)
    recall = hits[last] / hits[-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def log_loss(y_true: Floats, y_pred: Floats) -> float:
    """Mean negative log-likelihood of classes 0 and 1; probabilities are clipped by one float64
    epsilon.
    """
    return float(np.mean(log_losses(y_true, y_pred)))


def log_losses(y_true: Floats, y_pred: Floats) -> Floats:
    """Return each row's negative log-likelihood, shape (rows,)."""
    epsilon = np.finfo(np.float64).eps
    p = np.clip(y_pred, epsilon, 1.0 - epsilon)
    losses: Floats = -np.where(y_true > 0, np.log(p), np.log1p(-p))
    return losses


def brier(y_true: Floats, y_pred: Floats) -> float:
    """Mean squared difference of probability and class 0 or 1."""
    return mse((y_true > 0).astype(np.float64), y_pred)


def accuracy(y_true: Codes, y_pred: Codes) -> float:
    """Share of rows with the right label."""
    return float(np.mean(y_true == y_pred))


@dataclass(frozen=True, slots=True)
class OfCounts:
    """A metric on labels that depends on the counts of each class alone, and what its interval
    needs to know.
    """

    score: Callable[[Floats, Floats, Floats], float]
    """Takes what is right, true and predicted, shape (classes,) each."""
    bounds: Bounds = UNIT
    """Its least and greatest possible value."""
    mean_of_classes: bool = False
    """Whether each class counts the same, so that it is known no better than the smallest."""

    def __call__(self, y_true: Codes, y_pred: Codes) -> float:
        size = int(max(y_true.max(), y_pred.max())) + 1
        right = np.bincount(y_true[y_true == y_pred], minlength=size).astype(np.float64)
        true = np.bincount(y_true, minlength=size).astype(np.float64)
        predicted = np.bincount(y_pred, minlength=size).astype(np.float64)
        return self.score(right, true, predicted)


def _f1_per_class(right: Floats, true: Floats, predicted: Floats) -> tuple[Floats, Floats]:
    seen = (true + predicted) > 0
    right, true, predicted = right[seen], true[seen], predicted[seen]
    return 2.0 * right / (true + predicted), true


def f1_macro(right: Floats, true: Floats, predicted: Floats) -> float:
    """Mean F1 of the classes that occur in truth or prediction."""
    return float(_f1_per_class(right, true, predicted)[0].mean())


def f1_weighted(right: Floats, true: Floats, predicted: Floats) -> float:
    """F1 of each class, weighted by its share of the truth."""
    f1, weights = _f1_per_class(right, true, predicted)
    return float(np.average(f1, weights=weights))


def balanced_accuracy(right: Floats, true: Floats, predicted: Floats) -> float:
    """Mean recall of the classes in the truth."""
    return float((right[true > 0] / true[true > 0]).mean())


def matthews(right: Floats, true: Floats, predicted: Floats) -> float:
    """Matthews' correlation coefficient; 0 when it is undefined."""
    total = float(true.sum())
    covariance = right.sum() * total - true @ predicted
    spread = (total**2 - predicted @ predicted) * (total**2 - true @ true)
    if spread > 0:
        return float(covariance / np.sqrt(spread))
    return 0.0


def cohen_kappa(right: Floats, true: Floats, predicted: Floats) -> float:
    """Cohen's kappa; NaN if both sides contain only the same class."""
    total = float(true.sum())
    expected = float(true @ predicted) / total**2
    if expected == 1.0:
        return float("nan")
    return float((right.sum() / total - expected) / (1.0 - expected))


def concordance_index(y_true: Floats, y_pred: Floats, event: Floats) -> float:
    """Harrell's concordance index: share of comparable pairs in the right order, with ties in
    prediction counting half.

    `y_true` is the observed time, `event` 1 where the event happened then and 0 where the row is
    censored, `y_pred` the predicted time or any score that is higher for those who live longer. A
    pair is comparable when the shorter time ended with an event, or times are equal and only one
    did.
    """
    happened = event > 0
    order = np.lexsort((~happened, y_true))
    time, pred, happened = y_true[order], y_pred[order], happened[order]
    concordant = tied = comparable = 0
    # Rows after i have a longer time, or the same time: there, events come before censored rows.
    for i in np.flatnonzero(happened):
        later = i + 1 + int(np.searchsorted(time[i + 1 :], time[i], side="right"))
        same_censored = pred[i + 1 : later][~happened[i + 1 : later]]
        for others in (pred[later:], same_censored):
            comparable += len(others)
            concordant += int(np.count_nonzero(others > pred[i]))
            tied += int(np.count_nonzero(others == pred[i]))
    if comparable:
        return (concordant + 0.5 * tied) / comparable
    return float("nan")


_ALL = (
    Metric("mean_absolute_error", mean_absolute_error, True, title="mean absolute error"),
    Metric("median_absolute_error", median_absolute_error, True, title="median absolute error"),
    Metric("mse", mse, True, title="mean squared error"),
    Metric("rmse", rmse, True, title="root mean squared error"),
    Metric("r2", r2, False, title="R²"),
    Metric("pearson", pearson, False, title="Pearson's r"),
    Metric(
        "spearman",
        spearman,
        False,
        title="Spearman's rho",
        prepare=average_ranks,
        prepared_function=spearman_of_ranks,
    ),
    Metric("kendall", kendall, False, title="Kendall's tau"),
    Metric(
        "roc_auc",
        roc_auc,
        False,
        "probability",
        "ROC AUC",
        prepare=lambda y_true: y_true > 0,
        prepared_function=roc_auc_of_mask,
    ),
    Metric("average_precision", average_precision, False, "probability", "average precision"),
    Metric("log_loss", log_loss, True, "probability", "log loss", in_unit=True),
    Metric("brier", brier, True, "probability", "Brier score", in_unit=True),
    Metric("accuracy", accuracy, False, "label", "accuracy"),
    Metric(
        "balanced_accuracy",
        OfCounts(balanced_accuracy, mean_of_classes=True),
        False,
        "label",
        "balanced accuracy",
    ),
    Metric("f1_macro", OfCounts(f1_macro, mean_of_classes=True), False, "label", "macro F1"),
    Metric("f1_micro", accuracy, False, "label", "micro F1"),  # as every row has one label
    Metric("f1_weighted", OfCounts(f1_weighted), False, "label", "weighted F1"),
    Metric("matthews", OfCounts(matthews, CHANGE), False, "label", "Matthews' correlation"),
    Metric("cohen_kappa", OfCounts(cohen_kappa, CHANGE), False, "label", "Cohen's kappa"),
    Metric("concordance_index", concordance_index, False, "survival", "concordance index"),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every metric by its name in a config; it may also be given by one of the `ALIASES`."""

ALIASES = {
    "mae": "mean_absolute_error",
    "auroc": "roc_auc",
    "mcc": "matthews",
    "c_index": "concordance_index",
}


def find_metric(name: str) -> Metric:
    """Return the metric with this name, this program's or a plug-in's.

    Raises:
        KeyError: it does not exist (the message names the closest), or the plug-in cannot be used.
    """
    metric = METRICS.get(ALIASES.get(name, name))
    if metric is not None:
        return metric
    return _added(name)


def _added(name: str) -> Metric:
    """Return the metric of a plug-in."""
    known = [*METRICS, *(plugin.name for plugin in plugins.installed("metrics"))]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {join_names(known)}"
        raise KeyError(f"unknown metric `{name}`; {hint}")
    try:
        metric = plugins.load("metrics", name)
    except UsageError as error:
        raise KeyError(str(error)) from None
    if not isinstance(metric, Metric):
        raise KeyError(f"the plug-in `{name}` is not a bioeval_tui.grading.metrics.Metric")
    return metric
