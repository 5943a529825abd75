"""The chances of a medal on other test rows, by `medal_chances`, which `intervals.py` calls.

Beside its true value every score has an error, and the best score of a board has won by a good
value *and* a lucky error (the winner's curse). So true values are drawn first, given all scores,
the covariance of their errors, and a prior that is the board's own density of scores: a true value
is likely to lie where many entries do (empirical Bayes; Efron, Empirical Bayes deconvolution
estimates, Biometrika 2016). The error of other rows, which all entries share, is added to each
draw. If only the submission is scored anew, the board keeps the luck that it had with its rows, and
so did the submission: how much of an error all entries share is then not known but taken to be a
half. docs/validation.md has the calibration of both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bioeval_tui.grade.leaderboard import medal_places

# The method was chosen on 120 fits of models other than those with which
# `scripts/validate-statistics medals` tests it (docs/validation.md).
_EACH = 2
"""So many true values are drawn for each draw of rows."""

_SWEEPS = 6
"""So often each true value is drawn anew, given the others (Gibbs sampling)."""

_STEPS = np.linspace(-4, 4, 25)
"""Where a true value may lie, in standard errors from its score; anywhere between two of them is as
likely.
"""

_TOGETHER = 0.05
"""How far all true values together may be from the scores: its variance is so much of that of a
difference, since the prior lies where the scores do.
"""

_DEGREES = 8
"""Of freedom of the errors' covariance, which is itself estimated."""

_SHARED = 0.5
"""How much of an error's variance is due to the rows alone, where predictions of others are not
kept.
"""

_DOUBT = 0.05
"""Weight of all entries being equal there, since nothing shows how rivals differ."""


def medal_chances(
    scores: NDArray[np.float64], drawn: NDArray[np.float64], entries: int
) -> tuple[float, float, float]:
    """Return the chances of gold, silver and bronze of the first of `scores` on other rows; none is
    0 or 1.

    Args:
        scores: of the submission, then of the board's entries, higher is better, shape (1 +
            entries,).
        drawn: their scores on the same resampled rows, shape (draws, 1 + entries); or the
            submission's alone, shape (draws, 1): then the board stays as it is.
        entries: of the board.
    """
    random = np.random.default_rng(0)
    errors = np.tile(drawn - drawn.mean(axis=0), (_EACH, 1))
    if drawn.shape[1] == 1:
        anew = _own_true_scores(scores, errors[:, 0], random) + errors[:, 0]
        board = np.sort(scores[1:])  # each draw against each of a million entries takes 4 GB
        better = len(board) - np.searchsorted(board, anew, side="right")
        return _medals(better, entries, _DOUBT)
    anew = _true_scores(scores, errors, random) + errors
    return _medals((anew[:, 1:] > anew[:, :1]).sum(axis=1), entries)


def _true_scores(
    scores: NDArray[np.float64], errors: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Return true values given the scores and their errors, of the shape (draws, entries) of
    `errors`, by Gibbs sampling.
    """
    draws, count = errors.shape
    # what all entries share changes no place
    relative = errors - errors.mean(axis=1, keepdims=True)
    covariance = np.cov(relative.T)
    typical = float(covariance.trace()) / count + 1e-30
    precision = np.linalg.inv(covariance + typical * (_TOGETHER / count + 1e-3 * np.eye(count)))
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-6 * typical))
    points = scores[:, None] + spread[:, None] * _STEPS
    step = spread * (_STEPS[1] - _STEPS[0])
    prior = [
        np.log(_density(*each, scores))
        for each in zip(points, np.maximum(np.median(spread), step), strict=True)
    ]
    true: NDArray[np.float64] = scores + relative[random.permutation(draws)]
    pull = (scores - true) @ precision
    certain: NDArray[np.float64] = random.chisquare(_DEGREES, (draws, 1)) / _DEGREES
    for entry in [*range(count)] * _SWEEPS:
        own, error = precision[entry, entry], -spread[entry] * _STEPS
        others = pull[:, entry] - own * (scores[entry] - true[:, entry])
        weights = prior[entry] - certain * (own * error**2 / 2 + others[:, None] * error)
        new = _draw_values(weights, points[entry], step[entry], random)
        pull += np.outer(true[:, entry] - new, precision[entry])
        true[:, entry] = new
    return true


def _own_true_scores(
    scores: NDArray[np.float64], errors: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Return true values of the first score on rows whose luck the others keep, shape (draws,)."""
    variance = float(errors.var(ddof=1))
    spread = float(np.sqrt((1 - _SHARED) * variance + 1e-30))
    points = scores[0] + spread * _STEPS
    weights = np.log(_density(points, spread, scores)) - _STEPS**2 / 2
    true = _draw_values(
        np.tile(weights, (len(errors), 1)), points, spread * (_STEPS[1] - _STEPS[0]), random
    )
    return true + random.normal(0, float(np.sqrt(_SHARED * variance)), len(errors))


def _density(
    points: NDArray[np.float64], width: float, scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how dense the board's scores are at these points: each counts as a curve of this width
    (Student's t, 3 degrees of freedom).
    """
    density: NDArray[np.float64] = ((1 + ((points[:, None] - scores) / width) ** 2 / 3) ** -2).sum(
        axis=1
    )
    return density


def _draw_values(
    log_weights: NDArray[np.float64],
    points: NDArray[np.float64],
    step: float,
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Return a value for each row of `log_weights`, drawn near one of the points.

    Args:
        log_weights: logarithms of how likely each point is, up to a constant a row, shape (draws,
            points).
        points: where a value may lie, rising by `step`, shape (points,).
        step: between two points.
        random: draws the points, then the places around them.
    """
    # Less the largest, so that no row consists of zeros.
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    sums = weights.cumsum(axis=1)
    drawn_sums = random.random((len(sums), 1)) * sums[:, -1:]
    # How many sums are below the one that was drawn is the number of the point that reaches it.
    places = (sums < drawn_sums).sum(axis=1)
    # Each point stands for all values nearer to it than to another (`_STEPS`).
    offsets = random.uniform(-0.5, 0.5, len(sums)) * step
    drawn: NDArray[np.float64] = points[places] + offsets
    return drawn


def _medals(
    better: NDArray[np.int64], entries: int, doubt: float = 0.0
) -> tuple[float, float, float]:
    """Return the share of draws with each medal, given how many entries were better; in doubt, all
    entries are equal.

    Each outcome that there is counts half a draw more (Jeffreys), so that none has a chance of 0.
    """
    places = medal_places(entries)
    widths = np.diff([0, *places, entries + 1])
    counts = np.diff([0, *((better < place).sum() for place in places), len(better)]) + 0.5 * (
        widths > 0
    )
    gold, silver, bronze, _ = (1 - doubt) * counts / counts.sum() + doubt * widths / (entries + 1)
    return float(gold), float(silver), float(bronze)
