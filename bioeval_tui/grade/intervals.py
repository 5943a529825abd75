"""Intervals of a submission's score, and its chances of a medal on other test rows.

Declared metrics are resampled by `resampling`. The published ProteinGym grader is the mean of
Spearman's correlations for three ways to split into folds: rows are drawn for all three at once.
Any other grader with code is called on resampled tables, if the user asks for it, with new row ids,
so that a row drawn twice is two rows.

For a medal, the board's entries are scored anew, too, where their predictions are kept. Beside its
true value every score has an error, and the best score of a board has won by a good value *and* a
lucky error (the winner's curse). So true values are drawn first, given all scores, the covariance
of their errors, and a prior that is the board's own density of scores: a true value is likely to
lie where many entries do (empirical Bayes; Efron, Empirical Bayes deconvolution estimates,
Biometrika 2016). The error of other rows, which all entries share, is added to each draw. If only
the submission is scored anew, the board keeps the luck that it had with its rows, and so did the
submission: how much of an error all entries share is then not known but taken to be a half.
docs/validation.md has the calibration of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.base.errors import InvalidSubmissionError
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.grade import TaskGrading, grading_of
from bioeval_tui.grade.leaderboard import Leaderboard, medal_places
from bioeval_tui.grade.metrics import METRICS
from bioeval_tui.grade.resampling import (
    FEWEST_ROWS,
    RESAMPLES,
    CannotResampleError,
    Draws,
    drawn,
    drawn_concordances,
    draws,
    mean_percentiles,
    resample,
    spearman_influence,
)
from bioeval_tui.grade.scorers import H5AD, CodeScorer
from bioeval_tui.grade.tables import read_exactly
from bioeval_tui.grade.task_report import Uncertainty, rows_words, to_score

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bioeval_tui.grade.metrics import Metric
    from bioeval_tui.grade.tasks.task import Task


CODE_LIMIT_S = 60.0
"""Default time limit for calling a grader with code on resampled rows, in seconds."""

FEWEST_CALLS = 200
"""Minimum number of calls of a grader with code for an interval."""

PREDICTIONS = "predictions.csv.gz"
"""The predictions of a board's entries: a column `id`, and one for each entry, of its name."""

NOT_ASKED = (
    "its grader is code, which is called on resampled rows only if you ask for it (--intervals all)"
)
_PROTEINGYM_SPLITS = 3


def measure_uncertainty(
    ready: TaskGrading, path: Path, *, call_code: bool = False, time_limit_s: float = CODE_LIMIT_S
) -> Uncertainty:
    """Return the uncertainty of a valid submission's score; if it has none, `why_not` says why.

    Args:
        ready: the task, ready to grade.
        path: the submission.
        call_code: also call a grader with code, 2,000 times or for `time_limit_s`.
        time_limit_s: how long resampling may take.
    """
    rows = ready.coverage(path)
    if rows is not None and rows.scored < rows.expected:
        words = rows_words(*rows)
        return Uncertainty(why_not=f"{words}: rows that a file picks say nothing about the others")
    try:
        drawn = _draws(ready, path, call_code, time_limit_s)
    except (CannotResampleError, InvalidSubmissionError, OSError) as error:
        return Uncertainty(why_not=clean_line(str(error), 300))
    except Exception as error:  # a grader with code may raise anything
        return Uncertainty(
            why_not=f"resampling failed: {type(error).__name__}: {clean_line(str(error), 200)}"
        )
    return replace(drawn_uncertainty(drawn, ready.board), **_chances(ready, path, drawn))


def score_uncertainty(submission: Path, task: Task, *, call_code: bool = False) -> Uncertainty:
    """Return the uncertainty of a valid submission's score, computed in this process; see
    `measure_uncertainty`.

    Raises:
        NotGradedError: (a ValueError) the task is not prepared, or its leaderboard cannot be used.
    """
    return measure_uncertainty(grading_of(task), Path(submission), call_code=call_code)


def drawn_uncertainty(drawn: Draws, board: Leaderboard) -> Uncertainty:
    """Return the interval of resampled scores and its places."""
    low, high = drawn.ends
    places = [board.rank(end).position for end in (low, high)]
    best, worst = places if board.is_lower_better else reversed(places)
    return Uncertainty(
        low=round(low, 5),
        high=round(high, 5),
        place_best=best,
        place_worst=worst,
        rows=drawn.rows,
        method=drawn.method,
    )


def _chances(ready: TaskGrading, path: Path, found: Draws) -> dict[str, Any]:
    """Return the chances of medals, and whether the board's entries were scored on the same
    resampled rows.
    """
    board = ready.board
    sign = -1.0 if board.is_lower_better else 1.0
    rivals = None if isinstance(ready.scorer, CodeScorer) else load_rivals(ready)
    if rivals is not None:
        drawn = np.column_stack([rivals.score(path), rivals.drawn])
        defined = np.asarray(np.isfinite(drawn).all(axis=1))
        known = drawn[1:][defined[1:]]
        if len(known) > len(drawn) / 2:
            chances = medal_chances(drawn[0], known, len(board.ascending))
            return {**_named(chances), "board_scored_anew": True}
    own = float(ready.scorer.score(path))
    scores = sign * np.concatenate([[own], board.ascending])
    return _named(medal_chances(scores, sign * found.scores[:, None], len(board.ascending)))


def _named(chances: tuple[float, float, float]) -> dict[str, Any]:
    return {
        name: round(chance, 4)
        for name, chance in zip(("gold", "silver", "bronze"), chances, strict=True)
    }


class Rivals:
    """The entries of a board whose predictions are kept: their scores on the test rows and on
    resamples of these.

    `drawn` has the shape (1 + draws, entries); its first row are all rows, drawn once. Higher is
    better.
    """

    def __init__(self, scorer: Any, predictions: pd.DataFrame) -> None:
        self._scorer = scorer
        pairs = [scorer.column_pairs(predictions, name) for name in predictions.columns[1:]]
        true = np.asarray(pairs[0][0])
        kind = scorer.spec.metric.kind
        split = kind == "probability"
        strata = [np.arange(len(true))]
        if split:
            strata = [np.flatnonzero(true == value) for value in np.unique(true)]
        self._counts = np.vstack(
            [np.ones((1, len(true)), np.int64), drawn_counts(len(true), strata)]
        )
        self.drawn = np.column_stack([self._score(pair) for pair in pairs])

    def score(self, path: Path) -> NDArray[np.float64]:
        """Return the scores of a submission on the same rows, shape (1 + draws,)."""
        return self._score(self._scorer.pairs(path)[0])

    def _score(self, pair: tuple[Any, Any]) -> NDArray[np.float64]:
        metric = self._scorer.spec.metric
        event = self._scorer.event if metric.kind == "survival" else None
        return drawn_scores(metric, np.asarray(pair[0]), np.asarray(pair[1]), event, self._counts)


def load_rivals(ready: TaskGrading) -> Rivals | None:
    """Return the entries of the board in use if `predictions.csv.gz` beside it has them all; loaded
    once.
    """
    if ready.rivals is None:
        task = ready.task
        file = task.folder / PREDICTIONS
        if file.is_file() and task.board_in_use() == task.folder / "leaderboard.csv":
            table = read_exactly(file)
            if set(table.columns[1:]) == {entry.team for entry in task.board_entries()}:
                ready.rivals = Rivals(ready.scorer, table)
    if isinstance(ready.rivals, Rivals):
        return ready.rivals
    return None


def _draws(ready: TaskGrading, path: Path, call_code: bool, time_limit_s: float) -> Draws:
    scorer: Any = ready.scorer
    if not isinstance(scorer, CodeScorer):
        drawn: Draws = scorer.draws(path)
        return drawn
    if path.suffix.lower() == H5AD:
        raise CannotResampleError("its grader is code that reads h5ad files itself")
    if (ready.task.data_source or {}).get("type") == "proteingym-dms":
        by_folds = _proteingym_draws(scorer, path)
        if by_folds is not None:
            return by_folds
    if not call_code:
        raise CannotResampleError(NOT_ASKED)
    return _code_draws(scorer, path, time_limit_s)


def _proteingym_draws(scorer: CodeScorer, path: Path) -> Draws | None:
    """Draw for Spearman's correlation, or its mean over three splits; None if the grader computes
    something else.
    """
    submission, answers = scorer.frames(path)
    if "id" not in submission.columns or "id" not in answers.columns or len(answers.columns) != 2:
        return None
    target = next(str(name) for name in answers.columns if name != "id")
    # Insertions and deletions have one column, of the target's name; substitutions one for each
    # split.
    splits = 1 if target in submission.columns else _PROTEINGYM_SPLITS
    if len(submission.columns) <= splits:
        return None
    merged = submission[submission.iloc[:, 0] != "WT"].merge(
        answers, on="id", suffixes=("", " of answers")
    )
    columns = (
        [merged[target]] if splits == 1 else [merged.iloc[:, place + 1] for place in range(splits)]
    )
    true = merged.iloc[:, -1].to_numpy(np.float64)
    pairs = [(true, column.to_numpy(np.float64)) for column in columns]
    spearman = METRICS["spearman"]
    score = float(np.mean([spearman.function(*pair) for pair in pairs]))
    if not np.isfinite(score) or to_score(score) != to_score(scorer.score(path)):
        return None
    if len(true) < FEWEST_ROWS:
        raise CannotResampleError(f"{len(true)} test rows are too few, {FEWEST_ROWS} are needed")
    of_splits = f" on the mean over {splits} splits" * (splits > 1)
    if len(true) > RESAMPLES:
        influence = np.mean([spearman_influence(*pair) for pair in pairs], axis=0)
        method = f"bootstrap of the rows' influence{of_splits} (saddlepoint)"
        return drawn(mean_percentiles([influence]) + score, method, len(true))
    found = draws(spearman, pairs)
    return replace(found, method=found.method + f", for {splits} splits at once" * (splits > 1))


def _code_draws(scorer: CodeScorer, path: Path, time_limit_s: float) -> Draws:
    submission, answers = scorer.frames(path)
    if not hasattr(answers, "columns"):
        raise CannotResampleError("its answers are not a table")
    name = _id_column(submission, answers)
    aligned = submission.set_index(name).loc[answers[name]].reset_index()[list(submission.columns)]
    rows = len(answers)
    if rows < FEWEST_ROWS:
        raise CannotResampleError(f"{rows} test rows are too few, {FEWEST_ROWS} are needed")
    whole = answers[name].dtype.kind in "iu"
    ids = (
        np.arange(rows) if whole else np.array([f"r{row:09d}" for row in range(rows)], dtype=object)
    )

    def once(drawn: Any) -> float:
        tables = (
            frame.iloc[drawn].assign(**{name: ids}).reset_index(drop=True)
            for frame in (aligned, answers)
        )
        try:
            return float(scorer.call(*tables))
        except Exception:  # undefined on these rows, such as those of one class
            return float("nan")

    as_handed_in = to_score(scorer.score(path))
    if to_score(once(np.arange(rows))) != as_handed_in:
        raise CannotResampleError("its grader's score depends on the ids of the rows")
    random = np.random.default_rng(0)
    scores = resample(rows, [np.arange(rows)], once, random, time_limit_s, fewest=FEWEST_CALLS)
    return drawn(scores, f"bootstrap, {len(scores):,} calls of the grader on resampled rows", rows)


def _id_column(submission: pd.DataFrame, answers: pd.DataFrame) -> str:
    """Return the column that names the rows: the first with different values, the same in both
    tables.
    """
    for name in answers.columns:
        if (
            name in submission.columns
            and len(submission) == len(answers)
            and answers[name].is_unique
            and set(answers[name]) == set(submission[name])
        ):
            return str(name)
    raise CannotResampleError("the submission and the answers have no column of ids in common")


# The method was chosen on 120 fits of models other than those with which
# `scripts/validate-statistics medals` tests it (docs/validation.md).
DRAWS = 200
_EACH = 2
"""So many true values are drawn for each draw of rows."""
_SWEEPS = 6
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


def drawn_counts(rows: int, strata: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return how often each row is drawn, shape (200, rows), when each stratum is drawn from
    separately.
    """
    random = np.random.default_rng(0)
    counts = np.zeros((DRAWS, rows), dtype=np.int64)
    for part in strata:
        counts[:, part] = random.multinomial(len(part), np.full(len(part), 1 / len(part)), DRAWS)
    return counts


def drawn_scores(
    metric: Metric,
    true: Any,
    guess: Any,
    event: NDArray[np.float64] | None,
    counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the metric on rows drawn `counts` times, shape (draws,), higher is better; NaN where
    it is undefined.
    """
    sign = -1.0 if metric.lower_is_better else 1.0
    if event is not None:
        return sign * drawn_concordances(true, guess, event, counts)
    rows = np.arange(len(true))
    drawn = (np.repeat(rows, each) for each in counts)
    return sign * np.array([float(metric.function(true[each], guess[each])) for each in drawn])


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
        return _medals((scores[1:] > anew[:, None]).sum(axis=1), entries, _DOUBT)
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
    weights: NDArray[np.float64],
    points: NDArray[np.float64],
    step: float,
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Return a value near one of the points for each row of `weights`, logarithms of how likely
    each point is.
    """
    sums = np.exp(weights - weights.max(axis=1, keepdims=True)).cumsum(axis=1)
    places = (sums < random.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)
    drawn: NDArray[np.float64] = points[places] + random.uniform(-0.5, 0.5, len(sums)) * step
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
