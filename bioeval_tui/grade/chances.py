"""The chance of a medal on other test rows: the board's entries scored anew, too, where their predictions are kept.

Beside its true value every score has an error, and the best score of a board has won by a good value *and* a lucky
error (the winner's curse). So true values are estimated first: each score is drawn to the board's median by as much as
its own error explains its distance (empirical Bayes, with a variance for each entry; Efron 2010, Large-Scale Inference,
1.1 and 1.3), together with entries that err alike. Then the scores on other rows are drawn: true value, its remaining
uncertainty, and the error of new rows, which all entries share. If only the submission is scored anew, the board keeps the luck that it had with its rows, and so
did the submission: how much of an error all entries share is then not known but taken to be 0.7, and true values come
from one distribution with heavy tails (Student's t, by EM). docs/validation.md has the calibration of both.
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
_LUCK = 0.5
"""So much of an error's variance is taken off an entry's squared distance; all of it would draw most entries to the median."""
_ALIKE = 0.5
"""Entries that err together are alike: their true values are correlated by so much of the correlation of their errors. Were
they independent, what five such entries have in common would be taken for five coincidences."""
_LEAST_SHARE = 0.05
"""The variance of true values is at least this share of that of the errors."""
_SHARED = 0.7
"""How much of an error's variance is due to the rows alone, where predictions of others are not kept."""
_TAILS = 4.0
"""Degrees of freedom of the true values there."""
_DOUBT = 0.05
"""Weight of all entries being equal there, since nothing shows how rivals differ."""


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
    shares = []
    for part in np.array_split(counts.astype(np.float32), max(1, len(counts) // DRAWS)):
        total = np.einsum("ij,ij->i", part @ pairs, part, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares.append(np.einsum("ij,ij->i", part @ won, part, dtype=np.float64) / total)
    return np.concatenate(shares)


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
    if moving == 1:
        return _alone(scores, errors[:, 0], entries, random)
    covariance = np.atleast_2d(np.cov((errors - errors.mean(axis=1, keepdims=True)).T))
    variance = np.diag(covariance)
    centre = np.median(scores)
    away = scores - centre
    typical = _LEAST_SPREAD * float(np.median(away[-entries:] ** 2))
    spread = np.sqrt(np.maximum(np.maximum(away**2, typical) - _LUCK * variance, _LEAST_SHARE * variance))
    correlation = covariance / np.sqrt(np.outer(variance, variance) + 1e-300)
    np.fill_diagonal(correlation, 1.0)
    prior = np.outer(spread, spread) * (_ALIKE * correlation + (1 - _ALIKE) * np.eye(moving))
    share = prior @ np.linalg.inv(prior + covariance + 1e-12 * np.eye(moving))
    left = prior - share @ prior
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    true = centre + share @ away
    true = true + random.normal(size=errors.shape) @ (vectors * np.sqrt(np.clip(values, 0, None))).T
    anew = true + errors
    return _medals((anew[:, 1:] > anew[:, :1]).sum(axis=1), entries)


def _alone(
    scores: Floats, errors: Floats, entries: int, random: np.random.Generator
) -> tuple[float, float, float]:
    """Return the chances if only the first has other rows: its place among the others, with what they share unknown."""
    variance = float(errors.var(ddof=1))
    own, centre = (1 - _SHARED) * variance, np.median(scores[1:])
    away = scores - centre
    weights, spread = np.ones(len(scores)), max(float(np.median(away**2)) * 2 - own, 0.1 * own)
    for _ in range(30):
        share = spread / weights / (spread / weights + own)
        squares = (share * away) ** 2 + share * own
        weights = (_TAILS + 1) / (_TAILS + squares / spread)
        spread = max(float((weights * squares).mean()), 0.02 * own)
    share = spread / weights[0] / (spread / weights[0] + own)
    unknown = np.sqrt(share * own + _SHARED * variance)
    anew = centre + share * away[0] + errors + random.normal(size=len(errors)) * unknown
    return _medals((scores[None, 1:] > anew[:, None]).sum(axis=1), entries, _DOUBT)


def _medals(better: NDArray[np.int64], entries: int, doubt: float = 0.0) -> tuple[float, float, float]:
    """Return the share of draws with each medal, given how many entries were better; in doubt, all entries are equal."""
    reached = [
        (1 - doubt) * (float((better < place).sum()) + 0.5) / (len(better) + 1)
        + doubt * place / (entries + 1)
        for place in medal_places(entries)
    ]
    gold, silver, bronze = np.diff([0.0, *np.maximum.accumulate(reached)])
    return float(gold), float(silver), float(bronze)
