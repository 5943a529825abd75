"""The chance of a medal on other test rows: the board's entries scored anew, too, where their predictions are kept.

Beside its true value every score has an error, and the best score of a board has won by a good value *and* a lucky
error (the winner's curse). So true values are estimated first: each score is drawn to the board's median by as much as
its own error explains its distance (empirical Bayes, with a variance for each entry; Efron 2010, Large-Scale Inference,
1.1 and 1.3). Then the scores on other rows are drawn: true value, its remaining uncertainty, and the error of new rows,
which all entries share. docs/validation.md has its calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.grade.medals import medal_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bioeval_tui.grade.metrics import Metric

    Floats = NDArray[np.float64]

DRAWS = 200
_LEAST_SPREAD = 0.3
"""Entries nearer to the median than this share of the typical squared distance count as so far away."""
_LEAST_SHARE = 0.05
"""The variance of true values is at least this share of that of the errors."""


def drawn_counts(rows: int, strata: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return how often each row is drawn, shape (200, rows), when each stratum is drawn from separately."""
    random = np.random.default_rng(0)
    counts = np.zeros((DRAWS, rows), dtype=np.int64)
    for part in strata:
        counts[:, part] = random.multinomial(len(part), np.full(len(part), 1 / len(part)), DRAWS)
    return counts


def scores_of(
    metric: Metric, true: Any, guess: Any, event: Floats | None, counts: NDArray[np.int64]
) -> Floats:
    """Return the metric on rows drawn `counts` times, shape (draws,), higher is better; NaN where it is undefined."""
    sign = -1.0 if metric.lower_is_better else 1.0
    if event is not None:
        return sign * concordance_of(true, guess, event, counts)
    rows = np.arange(len(true))
    drawn = (np.repeat(rows, each) for each in counts)
    return sign * np.array([float(metric.function(true[each], guess[each])) for each in drawn])


def concordance_of(true: Floats, guess: Floats, event: Floats, counts: NDArray[np.int64]) -> Floats:
    """Return the concordance index on rows drawn `counts` times, from a table of comparable pairs and their order."""
    happened = event > 0
    comparable = happened[:, None] & (
        (true[:, None] < true) | ((true[:, None] == true) & ~happened)
    )  # row i before row j
    won = np.where(comparable, (guess > guess[:, None]) + 0.5 * (guess == guess[:, None]), 0.0)
    pairs, won = comparable.astype(np.float32), won.astype(np.float32)
    found = []
    for part in np.array_split(counts.astype(np.float32), max(1, len(counts) // DRAWS)):
        total = np.einsum("ij,ij->i", part @ pairs, part, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append(np.einsum("ij,ij->i", part @ won, part, dtype=np.float64) / total)
    return np.concatenate(found)


def medal_chances(scores: Floats, drawn: Floats, entries: int) -> tuple[float, float, float]:
    """Return the chances of gold, silver and bronze of the first of `scores` on other rows; none is 0 or 1.

    Args:
        scores: of the submission, then of the board's entries, higher is better, shape (1 + entries,).
        drawn: their scores on the same resampled rows, shape (draws, 1 + entries); or the submission's alone, shape
            (draws, 1): then the board stays as it is.
        entries: of the board.
    """
    random = np.random.default_rng(0)
    errors = drawn - drawn.mean(axis=0)
    moving = drawn.shape[1]
    shared = errors.mean(axis=1, keepdims=True) if moving > 1 else 0.0
    covariance = np.atleast_2d(np.cov((errors - shared).T))
    variance = np.diag(covariance)
    centre = np.median(scores if moving > 1 else scores[1:])
    away = scores - centre
    typical = _LEAST_SPREAD * float(np.median(away[-entries:] ** 2))
    spread = np.maximum(np.maximum(away[:moving] ** 2, typical) - variance, _LEAST_SHARE * variance)
    tiny = 1e-12 * np.eye(moving)
    share = np.diag(spread) @ np.linalg.inv(np.diag(spread) + covariance + tiny)
    left = np.diag(spread) - share @ np.diag(spread)
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    true = centre + share @ away[:moving]
    true = true + random.normal(size=errors.shape) @ (vectors * np.sqrt(np.clip(values, 0, None))).T
    anew = np.tile(scores, (len(errors), 1))
    anew[:, :moving] = true + errors
    better = (anew[:, 1:] > anew[:, :1]).sum(axis=1)
    reached = [(float((better < place).sum()) + 0.5) / (len(anew) + 1) for place in medal_places(entries)]
    gold, silver, bronze = np.diff([0.0, *np.maximum.accumulate(reached)])
    return float(gold), float(silver), float(bronze)
