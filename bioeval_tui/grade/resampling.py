"""The distribution of a metric over resampled rows: the scores on other, similar test rows.

Shares, bounded means, ROC AUC and what is computed from counts of right and wrong labels have an
interval of some width also where every row is right: `bioeval_tui.statistics.intervals` makes it.
For other metrics rows are drawn with replacement 2,000 times and the metric is computed each time.
Means of unbounded losses need no drawing: their percentiles come from the saddlepoint
approximation, with a relative error of about 1 / rows, corrected for skewness (BCa; Efron 1987).
With more than `LARGE` rows Spearman's and Pearson's correlation and R² are replaced by the mean of
the rows' influence, also with an error of about 1 / rows. Percentiles are widened like Student's t
for so many rows (Hesterberg 2015).

Sources: Davison and Hinkley, Bootstrap Methods and their Application (1997), 2.7, 3.2 and 9.5;
Davison and Hinkley, Saddlepoint approximations in resampling methods, Biometrika 75 (1988); DeLong
and others, Biometrics 44 (1988).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.grade.metrics import Metric, OfCounts, average_ranks, deviations, log_losses
from bioeval_tui.statistics.intervals import (
    FEWEST,
    FEWEST_CURVED,
    FEWEST_UNITS,
    TAIL,
    UNIT,
    Bounds,
    Z,
    percentiles,
    share_ends,
    share_interval,
    special,
    t_quantile,
)
from bioeval_tui.statistics.means import quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 2_000
FEWEST_ROWS = FEWEST_UNITS
"""With fewer test rows there is no interval, because they do not represent other rows."""

LARGE = 2_000
"""Up to this many rows, every metric other than a mean is computed again for each draw."""

TIME_LIMIT_S = 20.0
"""Time limit for all draws."""

_MOST_PAIRS = 4_000
"""With more rows, no table of all their pairs is made, which takes 128 MB with this many."""
_UNDEFINED = 0.02
"""Maximum share of draws for which a metric may be undefined."""

_TILTS = 64
_REACH = 4.5
"""Range of the saddlepoint approximation, in standard errors to either side. How many of its
intervals hold the truth, `scripts/validate-statistics scores` counts.
"""

_NOTHING = 1e-12
"""A spread below this share of the mean is a rounding error: all values are the same."""
_VANISHED = 1e-9
"""A curvature below this share of the variance is a rounding error, and counts as 0."""
_LEAST = 1e-300
"""Instead of 0 or a rounding error below it, so that a root can be taken and divided by."""

_PROBABILITIES = (np.arange(RESAMPLES) + 0.5) / RESAMPLES

_STEP = 1e-4
"""A part of a row, added to a cell of a table to see what it changes."""


class CannotResampleError(Exception):
    """There is no interval; the message is the reason."""


def require_rows(rows: int) -> None:
    """Raise unless there are enough test rows to resample."""
    if rows < FEWEST_ROWS:
        raise CannotResampleError(f"{rows} test rows are too few, {FEWEST_ROWS} are needed")


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Scores on resampled rows, shape (2000,), ascending, with the 95 % interval and a description
    of the method.
    """

    scores: Floats
    method: str
    rows: int
    ends: tuple[float, float]


def drawn(scores: Floats, method: str, rows: int, skew: float = 0.0) -> Draws:
    """Return resampled scores with their interval: percentiles, widened for few rows; `skew` is
    BCa's acceleration.

    Raises:
        CannotResampleError: all scores are the same.
    """
    low, high = (float(each) for each in quantiles(scores, percentiles(rows, skew)))
    if not high > low:
        raise CannotResampleError(
            "every draw of these rows scores the same, which says nothing of other rows"
        )
    return Draws(scores, method, rows, (low, high))


def _share_draws(share: float, n: float, bounds: Bounds, rows: int, method: str) -> Draws:
    """Return the scores that a share of an effective number of rows makes credible."""
    low, high = bounds
    half = _PROBABILITIES[: RESAMPLES // 2]
    least, most = share_ends(share, n, half)
    scores = low + np.concatenate([least, most[::-1]]) * (high - low)
    interval = share_interval(share, n, bounds)
    return Draws(scores, method, rows, (interval.low, interval.high))


def draws(metric: Metric, pairs: Sequence[tuple[Any, Any]], event: Floats | None = None) -> Draws:
    """Return the distribution of a metric, averaged over targets, when the same rows are drawn for
    all of them.

    Args:
        metric: the metric.
        pairs: truth and prediction of each target, each of shape (rows,), aligned; codes of classes
            for labels. Ranks are accepted as the truth of a rank correlation, a mask as that of ROC
            AUC.
        event: for survival, 1 if the event was observed.

    The same input gives the same result.

    Raises:
        CannotResampleError: too few rows, it takes too long, or the metric is undefined on too many
            draws.
    """
    rows = len(pairs[0][0])
    require_rows(rows)
    random = np.random.default_rng(0)
    if metric.name in _ROW_LOSSES:
        return _mean_draws(metric, pairs)
    score = metric.function
    if (metric.name == "roc_auc" or isinstance(score, OfCounts)) and rows < FEWEST_CURVED:
        raise CannotResampleError(
            f"{rows} test rows are too few, {FEWEST_CURVED} are needed for this metric"
        )
    if isinstance(score, OfCounts) and len(pairs) == 1:
        return _confusion_draws(score, *pairs[0])
    if metric.name == "roc_auc" and len(pairs) == 1:
        return _auc_draws(np.asarray(pairs[0][0]) > 0, pairs[0][1])
    if (
        metric.name == "concordance_index"
        and len(pairs) == 1
        and event is not None
        and rows <= _MOST_PAIRS
    ):
        return _pair_draws(*pairs[0], event, random)
    if rows > LARGE and metric.name in _INFLUENCE:
        return _influence_draws(metric, pairs)
    extra = () if event is None else (event,)
    strata = _classes(metric, pairs)

    def once(drawn: NDArray[np.int64]) -> float:
        more = [values[drawn] for values in extra]
        return float(
            np.mean([metric.function(true[drawn], guess[drawn], *more) for true, guess in pairs])
        )

    scores = resample(strata, once, random, TIME_LIMIT_S)
    return drawn(scores, _words(len(scores), "rows", len(strata) > 1), rows)


def resample(
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
    values = []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([part[random.integers(0, len(part), len(part))] for part in strata])
        values.append(once(drawn))
        if time.monotonic() > deadline:
            break
    if len(values) < fewest:
        raise CannotResampleError(f"resampling took longer than {time_limit_s:g} s")
    scores = np.array(values)
    known = scores[np.isfinite(scores)]
    if len(known) < (1 - _UNDEFINED) * len(scores):
        raise CannotResampleError("the metric is undefined on too many resamples")
    return np.sort(known)


def _words(count: int, unit: str, stratified: bool = False) -> str:
    words = f"bootstrap, {count:,} resamples of {unit}"
    if stratified:
        return f"{words}, stratified by class"
    return words


def _classes(metric: Metric, pairs: Sequence[tuple[Any, Any]]) -> list[NDArray[np.int64]]:
    """Return the rows of each class where the metric needs all classes; else all rows as one
    stratum.
    """
    true = pairs[0][0]
    if len(pairs) > 1 or metric.kind not in ("probability", "label"):
        return [np.arange(len(true))]
    return [np.flatnonzero(true == value) for value in np.unique(true)]


# Means
# -------------------------------------------------------------------------------------------------


_ROW_LOSSES: dict[str, Callable[[Any, Any], Floats]] = {
    "mean_absolute_error": lambda true, guess: np.abs(true - guess),
    "mse": lambda true, guess: (true - guess) ** 2,
    "rmse": lambda true, guess: (true - guess) ** 2,
    "brier": lambda true, guess: ((true > 0) - guess) ** 2,
    "log_loss": log_losses,
    "accuracy": lambda true, guess: (true == guess).astype(np.float64),
    "f1_micro": lambda true, guess: (true == guess).astype(np.float64),
}


def _mean_draws(metric: Metric, pairs: Sequence[tuple[Any, Any]]) -> Draws:
    losses = [_ROW_LOSSES[metric.name](true, guess) for true, guess in pairs]
    return row_loss_draws(metric.name, losses)


def row_loss_draws(name: str, losses: Sequence[Floats]) -> Draws:
    """Return the distribution of a metric that is a mean of `losses`, shape (rows,) for each target
    (`rmse`: its root).
    """
    rows = len(losses[0])
    if name in ("accuracy", "f1_micro", "brier"):
        mean = np.mean(losses, axis=0)
        if ((mean == 0) | (mean == 1)).all():
            return _share_draws(float(mean.mean()), rows, UNIT, rows, "exact (Clopper-Pearson)")
        error = max(float(mean.std(ddof=1)) / np.sqrt(rows), 1e-9)
        return _effective(float(mean.mean()), error, UNIT, rows, rows - 1, rows)
    if name == "rmse":
        if len(losses) == 1:
            roots = np.sqrt(np.maximum(0, mean_percentiles([losses[0]])))
            return drawn(roots, _BY_SADDLEPOINT, rows, _skew(losses[0]))
        # The mean of several roots, each taken as linear about its mean.
        means = [np.sqrt(each.mean()) for each in losses]
        losses = [
            root + (each - root**2) / (2 * root) if root else each
            for root, each in zip(means, losses, strict=True)
        ]
    whole = np.mean(losses, axis=0)
    return drawn(mean_percentiles([whole]), _BY_SADDLEPOINT, rows, _skew(whole))


def _skew(values: Floats) -> float:
    """Return BCa's acceleration of a mean, which is its bias as well."""
    away = values - values.mean()
    spread = float(away @ away)
    return float((away**3).sum()) / (6 * spread**1.5) if spread > 1e-300 else 0.0


def _effective(
    value: float, error: float, bounds: Bounds, rows: int, degrees: float, most: float
) -> Draws:
    """Return the scores that a value with such an error makes credible; it counts as `most` rows at
    most.
    """
    low, high = bounds
    share = (value - low) / (high - low)
    effective = share * (1 - share) * ((high - low) / error) ** 2
    effective *= (Z / t_quantile(1 - TAIL, degrees)) ** 2
    if effective:
        most = min(most, effective)
    return _share_draws(share, most, bounds, rows, _BY_SHARE)


_BY_SHARE = "effective number of rows (Clopper-Pearson)"
_BY_SADDLEPOINT = "percentiles of the bootstrap of a mean (saddlepoint)"


def mean_percentiles(strata: Sequence[Floats]) -> Floats:
    """Return 2,000 evenly spaced percentiles of Σ mean of resampled values, drawn separately in
    each stratum.

    By the saddlepoint approximation in Barndorff-Nielsen's form; see the module's sources. With K
    the cumulant generating function of the sum about its centre, each tilt t belongs to the sum
    s = centre + K′(t), and the share of sums below s is about Φ(z), where

        r = sign(t) √(2 (t K′(t) − K(t))),  z = r + log(t √K″(t) / r) / r
    """
    centres = [values.mean() for values in strata]
    spread = np.sqrt(sum(values.var() / len(values) for values in strata))
    centre = float(sum(centres))
    if not spread > _NOTHING * max(1.0, abs(centre)):
        return np.full(RESAMPLES, centre)
    tilts = np.linspace(-_REACH, _REACH, _TILTS) / spread  # an even number: never 0
    cumulants, sums, curvatures = np.zeros(_TILTS), np.full(_TILTS, centre), np.zeros(_TILTS)
    for values, mean in zip(strata, centres, strict=True):
        size, deviations = len(values), values - mean
        squares = deviations * deviations
        for n, tilt in enumerate(tilts):
            exponents = deviations * (tilt / size)
            top = exponents.max()  # taken out of exp, which would overflow
            weights = np.exp(exponents - top)
            total = weights.sum()
            tilted_mean = weights @ deviations / total
            cumulants[n] += size * (top + np.log(total / size))
            sums[n] += tilted_mean
            variance = weights @ squares / total - tilted_mean * tilted_mean
            curvatures[n] += max(0.0, variance) / size
    # If one value outweighs all others, the curvature vanishes: use the ends of the possible range.
    inside = curvatures > _VANISHED * spread**2
    tilts, cumulants, sums, curvatures = (
        each[inside] for each in (tilts, cumulants, sums, curvatures)
    )
    r_squared = 2 * (tilts * (sums - centre) - cumulants)
    r = np.sign(tilts) * np.sqrt(np.maximum(r_squared, _LEAST))
    z = r + np.log(tilts * np.sqrt(curvatures) / r) / r
    order = np.argsort(sums)
    # `interp` needs z in ascending order, and the approximation need not rise everywhere.
    rising = np.maximum.accumulate(z[order])
    percentiles: Floats = np.interp(special().ndtri(_PROBABILITIES), rising, sums[order])
    return percentiles


# Large numbers of rows
# ---------------------------------------------------------------------------------


def _influence_draws(metric: Metric, pairs: Sequence[tuple[Any, Any]]) -> Draws:
    parts = [_INFLUENCE[metric.name](np.asarray(true), guess) for true, guess in pairs]
    rows = len(pairs[0][0])
    score = np.mean([float(metric.function(true, guess)) for true, guess in pairs])
    influence = np.mean(parts, axis=0)
    return drawn(
        mean_percentiles([influence]) + score,
        "bootstrap of the rows' influence (saddlepoint)",
        rows,
    )


def _auc_draws(positive: Any, guess: Floats) -> Draws:
    """Return the area's scores from its variance by DeLong and others, with Welch and
    Satterthwaite's degrees of freedom.

    Few rows are out of order near 1, so the area counts as three times as many rows at most as one
    of 1/2 would, and as exactly so many if none is.
    """
    higher, lower = guess[positive], guess[~positive]
    m, n = len(higher), len(lower)
    if min(m, n) < FEWEST:
        raise CannotResampleError(f"one of the classes has fewer than {FEWEST} rows")
    won = _won(higher, lower)
    parts = float(won.var(ddof=1) / m), float(_won(lower, higher).var(ddof=1) / n)
    variance, half = sum(parts), 3 * m * n / (m + n)
    if variance < 1e-18:
        return _share_draws(float(won.mean()), half, UNIT, m + n, _BY_SHARE)
    degrees = variance**2 / (parts[0] ** 2 / (m - 1) + parts[1] ** 2 / (n - 1))
    return _effective(float(won.mean()), np.sqrt(variance), UNIT, m + n, degrees, 3 * half)


def _won(values: Floats, others: Floats) -> Floats:
    ordered = np.sort(others)
    sides = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    won: Floats = sides / (2 * len(others))
    return won


def spearman_influence(true: Floats, guess: Floats) -> Floats:
    """Return each row's influence on Spearman's rho, ties by mean rank, shape (rows,); their mean
    is 0.
    """
    size = len(true)
    u, v = ((average_ranks(values) - 0.5) / size for values in (true, guess))
    spread_u, spread_v = u.var(), v.var()
    rho = np.mean((u - 0.5) * (v - 0.5)) / np.sqrt(spread_u * spread_v)

    def carried(ranks: Floats, weights: Floats) -> Floats:
        # Mean weight of the rows above each row, ties half: a row's influence on the ranks of all
        # others.
        order = np.argsort(ranks, kind="stable")
        ordered = ranks[order]
        sums = np.concatenate(([0.0], np.cumsum(weights[order])))
        left = sums[np.searchsorted(ordered, ranks, "left")]
        right = sums[np.searchsorted(ordered, ranks, "right")]
        above: Floats = (sums[-1] - (left + right) / 2) / size
        return above

    product = _centred(u * v + carried(u, v) + carried(v, u))
    square_u = _centred(u * u + 2 * carried(u, u))
    square_v = _centred(v * v + 2 * carried(v, v))
    influence: Floats = product / np.sqrt(spread_u * spread_v) - rho / 2 * (
        square_u / spread_u + square_v / spread_v
    )
    return influence


def _pearson_influence(true: Floats, guess: Floats) -> Floats:
    a, b = deviations(true), deviations(guess)
    a, b = a / a.std(), b / b.std()
    return _centred(a * b - np.mean(a * b) / 2 * (a * a + b * b))


def _r2_influence(true: Floats, guess: Floats) -> Floats:
    error, away = (true - guess) ** 2, (true - true.mean()) ** 2
    return _centred(-error / away.mean() + error.mean() / away.mean() ** 2 * away)


def _centred(values: Floats) -> Floats:
    away: Floats = values - values.mean()
    return away


_INFLUENCE: dict[str, Callable[[Any, Any], Floats]] = {
    "spearman": spearman_influence,
    "pearson": _pearson_influence,
    "r2": _r2_influence,
}


# Labels and survival
# -----------------------------------------------------------------------------------


def _confusion_draws(metric: OfCounts, true: Any, guess: Any) -> Draws:
    """Return the scores of a table of true and predicted classes, from its change with each cell
    (the delta method).

    The error is that of the table with one more wrong row, which may be any, so that it is never 0.

    The score's share of its range is taken for that of right rows among as many rows, all alike, as
    have its variance: n = share (1 − share) / variance. `_effective` does the same for means.
    """
    size = int(max(true.max(), guess.max())) + 1
    table = (
        np.bincount(true * size + guess, minlength=size * size)
        .reshape(size, size)
        .astype(np.float64)
    )
    wrong = np.outer(table.sum(axis=1), table.sum(axis=0))
    np.fill_diagonal(wrong, 0)
    if not wrong.any():
        raise CannotResampleError("all rows are of one class")
    smallest = float(table.sum(axis=1).min())
    if metric.mean_of_classes and smallest < 2:
        raise CannotResampleError("a class has fewer than two test rows, which cannot vary")

    def table_score(cells: Floats) -> float:
        return metric.score(np.diagonal(cells), cells.sum(axis=1), cells.sum(axis=0))

    smooth = table + wrong / wrong.sum()  # one wrong row, spread over all cells where it may be
    slopes = np.zeros_like(table)
    for at in zip(*np.nonzero(smooth), strict=True):
        more, less = smooth.copy(), smooth.copy()
        step = min(_STEP, smooth[at] / 2)
        more[at] += step
        less[at] -= step
        slopes[at] = (table_score(more) - table_score(less)) / (2 * step)
    rows = len(true)
    low, high = metric.bounds
    variance = float((smooth * slopes**2).sum()) - float((smooth * slopes).sum()) ** 2 / rows
    share = (table_score(smooth) - low) / (high - low)
    if not (variance > 0 and 0 < share < 1):
        raise CannotResampleError(
            "the score of these rows does not vary, which says nothing of other rows"
        )
    effective_rows = share * (1 - share) * (high - low) ** 2 / variance
    # A mean over classes is known no better than the smallest class.
    degrees = smallest if metric.mean_of_classes else rows - 1
    # Fewer rows widen the interval like Student's t.
    effective_rows *= (Z / t_quantile(1 - TAIL, degrees)) ** 2
    return _share_draws(
        (table_score(table) - low) / (high - low), effective_rows, metric.bounds, rows, _BY_SHARE
    )


def _pair_draws(true: Floats, guess: Floats, event: Floats, random: np.random.Generator) -> Draws:
    rows = len(true)
    shares = drawn_concordances(
        true, guess, event, random.multinomial(rows, np.full(rows, 1 / rows), RESAMPLES)
    )
    known = shares[np.isfinite(shares)]
    if len(known) < (1 - _UNDEFINED) * RESAMPLES:
        raise CannotResampleError("too many resamples have no comparable pair")
    return drawn(np.sort(known), _words(RESAMPLES, "rows"), rows)


_AT_ONCE = 200
"""How many draws are multiplied with the table of pairs in one piece."""


def drawn_concordances(
    true: NDArray[np.float64],
    guess: NDArray[np.float64],
    event: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the concordance index on rows drawn `counts` times, from a table of comparable pairs
    and their order.
    """
    happened = event > 0
    # row i before row j
    comparable = happened[:, None] & (
        (true[:, None] < true) | ((true[:, None] == true) & ~happened)
    )
    won = np.where(comparable, (guess > guess[:, None]) + 0.5 * (guess == guess[:, None]), 0.0)
    pairs, won = comparable.astype(np.float32), won.astype(np.float32)
    shares = []
    for part in np.array_split(counts.astype(np.float32), max(1, len(counts) // _AT_ONCE)):
        total = np.einsum("ij,ij->i", part @ pairs, part, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares.append(np.einsum("ij,ij->i", part @ won, part, dtype=np.float64) / total)
    return np.concatenate(shares)
