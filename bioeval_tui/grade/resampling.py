"""The distribution of a metric over resampled rows: the scores on other, similar test rows.

Rows are drawn with replacement 2,000 times and the metric is computed each time. Metrics that are means over rows
(errors and losses) need no drawing: their percentiles come from the saddlepoint approximation, with a relative error of
about 1 / rows. With more than `LARGE` rows ROC AUC, Spearman's and Pearson's correlation and R² are replaced by the
mean of the rows' influence, also with an error of about 1 / rows.

Sources: Davison and Hinkley, Bootstrap Methods and their Application (1997), 2.7, 3.2 and 9.5; Davison and Hinkley,
Saddlepoint approximations in resampling methods, Biometrika 75 (1988); DeLong and others, Biometrics 44 (1988).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.grade.metrics import Metric, average_ranks, counts_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 2_000
FEWEST_ROWS = 10
"""With fewer test rows there is no interval, because they do not represent other rows."""

LARGE = 2_000
"""Up to this many rows, every metric other than a mean is computed again for each draw."""

TIME_LIMIT_S = 20.0
"""Time limit for all draws."""

_MOST_PAIRS = 4_000
_UNDEFINED = 0.02
"""Maximum share of draws for which a metric may be undefined."""

_TILTS = 64
_REACH = 4.5
"""Range of the saddlepoint approximation, in standard errors to either side."""

_PROBABILITIES = (np.arange(RESAMPLES) + 0.5) / RESAMPLES


class CannotResampleError(Exception):
    """There is no interval; the message is the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Scores on resampled rows, shape (2000,), ascending, and a description of the method."""

    scores: Floats
    method: str
    rows: int


def draws(metric: Metric, pairs: Sequence[tuple[Any, Any]], event: Floats | None = None) -> Draws:
    """Return the distribution of a metric, averaged over targets, when the same rows are drawn for all of them.

    Args:
        metric: the metric.
        pairs: truth and prediction of each target, each of shape (rows,), aligned; codes of classes for labels. Ranks
            are accepted as the truth of a rank correlation, a mask as that of ROC AUC.
        event: for survival, 1 if the event was observed.

    The same input gives the same result.

    Raises:
        CannotResampleError: too few rows, it takes too long, or the metric is undefined on too many draws.
    """
    rows = len(pairs[0][0])
    if rows < FEWEST_ROWS:
        raise CannotResampleError(f"{rows} test rows are too few, {FEWEST_ROWS} are needed")
    random = np.random.default_rng(0)
    if metric.name in _ROW_LOSSES:
        return _of_means(metric, pairs)
    if metric.kind == "label" and len(pairs) == 1 and counts_metric(metric.name) is not None:
        return _of_confusion(metric, *pairs[0], random)
    if metric.name == "concordance_index" and len(pairs) == 1 and event is not None and rows <= _MOST_PAIRS:
        return _of_comparable_pairs(*pairs[0], event, random)
    if rows > LARGE and metric.name in _INFLUENCE:
        return _of_influence(metric, pairs)
    extra = () if event is None else (event,)
    strata = _classes(metric, pairs)

    def once(drawn: NDArray[np.int64]) -> float:
        more = [values[drawn] for values in extra]
        return float(np.mean([metric.function(true[drawn], guess[drawn], *more) for true, guess in pairs]))

    scores = resample(rows, strata, once, random, TIME_LIMIT_S)
    return Draws(scores, _words(len(scores), "rows", len(strata) > 1), rows)


def resample(
    rows: int,
    strata: Sequence[NDArray[np.int64]],
    once: Callable[[NDArray[np.int64]], float],
    random: np.random.Generator,
    time_limit_s: float,
    fewest: int = RESAMPLES,
) -> Floats:
    """Draw rows 2,000 times, from each of `strata` as many as it has; return the sorted scores.

    Args:
        once: the score of the rows of these positions, shape (rows,); NaN where it is undefined.
        fewest: the number of draws required within `time_limit_s`; if omitted, all 2,000.

    Raises:
        CannotResampleError: it took too long, or the score was undefined too often.
    """
    deadline = time.monotonic() + time_limit_s
    found = []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([part[random.integers(0, len(part), len(part))] for part in strata])
        found.append(once(drawn))
        if time.monotonic() > deadline:
            break
    if len(found) < fewest:
        raise CannotResampleError(f"resampling took longer than {time_limit_s:g} s")
    scores = np.array(found)
    known = scores[np.isfinite(scores)]
    if len(known) < (1 - _UNDEFINED) * len(scores):
        raise CannotResampleError("the metric is undefined on too many resamples")
    return np.sort(known)


def _words(count: int, unit: str, stratified: bool = False) -> str:
    return f"bootstrap, {count:,} resamples of {unit}" + (", stratified by class" if stratified else "")


def _classes(metric: Metric, pairs: Sequence[tuple[Any, Any]]) -> list[NDArray[np.int64]]:
    """Return the rows of each class where the metric needs all classes; else all rows as one stratum."""
    true = pairs[0][0]
    if len(pairs) > 1 or metric.kind not in ("probability", "label"):
        return [np.arange(len(true))]
    return [np.flatnonzero(true == value) for value in np.unique(true)]


# Means -------------------------------------------------------------------------------------------------


def _log_losses(true: Floats, guess: Floats) -> Floats:
    epsilon = np.finfo(np.float64).eps
    p = np.clip(guess, epsilon, 1.0 - epsilon)
    losses: Floats = -np.where(true > 0, np.log(p), np.log1p(-p))
    return losses


_ROW_LOSSES: dict[str, Callable[[Any, Any], Floats]] = {
    "mean_absolute_error": lambda true, guess: np.abs(true - guess),
    "mse": lambda true, guess: (true - guess) ** 2,
    "rmse": lambda true, guess: (true - guess) ** 2,
    "brier": lambda true, guess: ((true > 0) - guess) ** 2,
    "log_loss": _log_losses,
    "accuracy": lambda true, guess: (true == guess).astype(np.float64),
    "f1_micro": lambda true, guess: (true == guess).astype(np.float64),
}


def _of_means(metric: Metric, pairs: Sequence[tuple[Any, Any]]) -> Draws:
    losses = [_ROW_LOSSES[metric.name](true, guess) for true, guess in pairs]
    return of_row_losses(metric.name, losses)


def of_row_losses(name: str, losses: Sequence[Floats]) -> Draws:
    """Return the distribution of a metric that is a mean of `losses`, shape (rows,) for each target (`rmse`: its root)."""
    rows = len(losses[0])
    if name in ("accuracy", "f1_micro") and len(losses) == 1:
        from scipy.stats import binom  # half of what loading a grader takes; means alone need it

        scores = binom.ppf(_PROBABILITIES, rows, losses[0].mean()) / rows
        return Draws(np.asarray(scores, np.float64), "exact percentiles of the bootstrap (binomial)", rows)
    if name == "rmse":
        if len(losses) == 1:
            return Draws(np.sqrt(np.maximum(0, mean_percentiles([losses[0]]))), _EXACT, rows)
        # The mean of several roots, each taken as linear about its mean.
        roots = [np.sqrt(each.mean()) for each in losses]
        losses = [
            root + (each - root**2) / (2 * root) if root else each
            for root, each in zip(roots, losses, strict=True)
        ]
    return Draws(mean_percentiles([np.mean(losses, axis=0)]), _EXACT, rows)


_EXACT = "percentiles of the bootstrap of a mean (saddlepoint)"


def mean_percentiles(strata: Sequence[Floats]) -> Floats:
    """Return 2,000 evenly spaced percentiles of Σ mean of resampled values, drawn separately in each stratum.

    By the saddlepoint approximation in Barndorff-Nielsen's form; see the module's sources.
    """
    centres = [values.mean() for values in strata]
    spread = np.sqrt(sum(values.var() / len(values) for values in strata))
    centre = float(sum(centres))
    if not spread > 1e-12 * max(1.0, abs(centre)):
        return np.full(RESAMPLES, centre)
    tilts = np.linspace(-_REACH, _REACH, _TILTS) / spread  # an even number: never 0
    generating, at, curvature = np.zeros(_TILTS), np.full(_TILTS, centre), np.zeros(_TILTS)
    for values, mean in zip(strata, centres, strict=True):
        size, away = len(values), values - mean
        squares = away * away
        for n, tilt in enumerate(tilts):
            exponent = away * (tilt / size)
            top = exponent.max()
            weights = np.exp(exponent - top)
            total = weights.sum()
            first = weights @ away / total
            generating[n] += size * (top + np.log(total / size))
            at[n] += first
            curvature[n] += max(0.0, weights @ squares / total - first * first) / size
    # If one value outweighs all others, the curvature vanishes: use the ends of the possible range.
    inside = curvature > 1e-9 * spread**2
    tilts, generating, at, curvature = (each[inside] for each in (tilts, generating, at, curvature))
    root = np.sign(tilts) * np.sqrt(np.maximum(2 * (tilts * (at - centre) - generating), 1e-300))
    z = root + np.log(tilts * np.sqrt(curvature) / root) / root
    order = np.argsort(at)
    from scipy.special import ndtri  # as above

    percentiles: Floats = np.interp(ndtri(_PROBABILITIES), np.maximum.accumulate(z[order]), at[order])
    return percentiles


# Large numbers of rows ---------------------------------------------------------------------------------


def _of_influence(metric: Metric, pairs: Sequence[tuple[Any, Any]]) -> Draws:
    parts = [_INFLUENCE[metric.name](np.asarray(true), guess) for true, guess in pairs]
    rows = len(pairs[0][0])
    if metric.name == "roc_auc" and len(parts) > 1:
        raise CannotResampleError(f"the targets have different classes, and more than {LARGE:,} rows")
    score = np.mean([float(metric.function(true, guess)) for true, guess in pairs])
    strata = parts[0] if len(parts) == 1 else [np.mean([part[0] for part in parts], axis=0)]
    method = "bootstrap of the rows' influence (saddlepoint)" + (
        ", stratified by class" if len(strata) > 1 else ""
    )
    return Draws(mean_percentiles(strata) + score, method, rows)


def _auc_influence(true: Any, guess: Floats) -> list[Floats]:
    """Return how far each positive, and each negative, lifts the area: its share of won pairs less the mean."""
    positive = true > 0
    higher, lower = guess[positive], guess[~positive]
    won, lost = _won(higher, lower), _won(lower, higher)
    return [won - won.mean(), lost.mean() - lost]


def _won(values: Floats, others: Floats) -> Floats:
    ordered = np.sort(others)
    sides = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    won: Floats = sides / (2 * len(others))
    return won


def spearman_influence(true: Floats, guess: Floats) -> list[Floats]:
    """Return each row's influence on Spearman's rho, ties by mean rank, shape (rows,); their mean is 0."""
    size = len(true)
    u, v = ((average_ranks(values) - 0.5) / size for values in (true, guess))
    spread_u, spread_v = u.var(), v.var()
    rho = np.mean((u - 0.5) * (v - 0.5)) / np.sqrt(spread_u * spread_v)

    def carried(ranks: Floats, weights: Floats) -> Floats:
        # Mean weight of the rows above each row, ties half: a row's influence on the ranks of all others.
        order = np.argsort(ranks, kind="stable")
        ordered = ranks[order]
        sums = np.concatenate(([0.0], np.cumsum(weights[order])))
        left = sums[np.searchsorted(ordered, ranks, "left")]
        right = sums[np.searchsorted(ordered, ranks, "right")]
        above: Floats = (sums[-1] - (left + right) / 2) / size
        return above

    def centred(values: Floats) -> Floats:
        away: Floats = values - values.mean()
        return away

    product = centred(u * v + carried(u, v) + carried(v, u))
    square_u = centred(u * u + 2 * carried(u, u))
    square_v = centred(v * v + 2 * carried(v, v))
    influence: Floats = product / np.sqrt(spread_u * spread_v) - rho / 2 * (
        square_u / spread_u + square_v / spread_v
    )
    return [influence]


def _pearson_influence(true: Floats, guess: Floats) -> list[Floats]:
    a, b = (true - true.mean()) / true.std(), (guess - guess.mean()) / guess.std()
    influence: Floats = a * b - np.mean(a * b) / 2 * (a * a + b * b)
    return [influence - influence.mean()]


def _r2_influence(true: Floats, guess: Floats) -> list[Floats]:
    error, away = (true - guess) ** 2, (true - true.mean()) ** 2
    influence: Floats = -error / away.mean() + error.mean() / away.mean() ** 2 * away
    return [influence - influence.mean()]


_INFLUENCE: dict[str, Callable[[Any, Any], list[Floats]]] = {
    "roc_auc": _auc_influence,
    "spearman": spearman_influence,
    "pearson": _pearson_influence,
    "r2": _r2_influence,
}


# Labels and survival -----------------------------------------------------------------------------------


def _of_confusion(metric: Metric, true: Any, guess: Any, random: np.random.Generator) -> Draws:
    """Draw whole tables of true and predicted classes, because rows of one cell are interchangeable."""
    size = int(max(true.max(), guess.max())) + 1
    table = np.bincount(true * size + guess, minlength=size * size).reshape(size, size)
    score = counts_metric(metric.name)
    assert score is not None
    drawn = np.zeros((RESAMPLES, size, size))
    for place, cells in enumerate(table):
        if cells.sum():
            drawn[:, place] = random.multinomial(cells.sum(), cells / cells.sum(), RESAMPLES)
    scores = np.array(
        [score(np.diagonal(one), one.sum(axis=1), one.sum(axis=0)) for one in drawn], dtype=np.float64
    )
    known = scores[np.isfinite(scores)]
    if len(known) < (1 - _UNDEFINED) * RESAMPLES:
        raise CannotResampleError("the metric is undefined on too many resamples")
    return Draws(np.sort(known), _words(RESAMPLES, "rows", stratified=True), len(true))


def _of_comparable_pairs(true: Floats, guess: Floats, event: Floats, random: np.random.Generator) -> Draws:
    """Draw rows for the concordance index, from a table of comparable pairs and their order."""
    happened = event > 0
    comparable = happened[:, None] & (
        (true[:, None] < true) | ((true[:, None] == true) & ~happened)
    )  # row i before row j
    won = np.where(comparable, (guess > guess[:, None]) + 0.5 * (guess == guess[:, None]), 0.0)
    pairs, won = comparable.astype(np.float32), won.astype(np.float32)
    rows, scores = len(true), []
    for _ in range(10):
        counts = random.multinomial(rows, np.full(rows, 1 / rows), RESAMPLES // 10).astype(np.float32)
        total = np.einsum("ij,ij->i", counts @ pairs, counts, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            scores.append(np.einsum("ij,ij->i", counts @ won, counts, dtype=np.float64) / total)
    found = np.concatenate(scores)
    known = found[np.isfinite(found)]
    if len(known) < (1 - _UNDEFINED) * RESAMPLES:
        raise CannotResampleError("too many resamples have no comparable pair")
    return Draws(np.sort(known), _words(RESAMPLES, "rows"), rows)
