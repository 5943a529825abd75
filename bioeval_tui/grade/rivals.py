"""The entries of a board whose predictions are kept beside it: their scores on the same resampled
rows as a submission's.

`intervals.py` calls `load_rivals` for the chances of medals: these show how much of a submission's
luck with its rows the others had, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.grade.resampling import drawn_concordances
from bioeval_tui.grade.tables import read_exactly

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bioeval_tui.grade.grade import TaskGrading
    from bioeval_tui.grade.metrics import Metric


_PREDICTIONS = "predictions.csv.gz"
"""The predictions of a board's entries: a column `id`, and one for each entry, of its name."""

DRAWS = 200
"""So often rows are drawn. 200 and the numbers of `chances.py` were chosen together."""


def load_rivals(ready: TaskGrading) -> Rivals | None:
    """Return the entries of the board in use if `predictions.csv.gz` beside it has them all; loaded
    once.
    """
    if ready.rivals is None:
        task = ready.task
        file = task.folder / _PREDICTIONS
        if file.is_file() and task.board_in_use() == task.folder / "leaderboard.csv":
            table = read_exactly(file)
            if set(table.columns[1:]) == {entry.team for entry in task.board_entries()}:
                ready.rivals = Rivals(ready.scorer, table)
    if isinstance(ready.rivals, Rivals):
        return ready.rivals
    return None


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
            [np.ones((1, len(true)), np.int64), _drawn_counts(len(true), strata)]
        )
        self.drawn = np.column_stack([self._score(pair) for pair in pairs])

    def score(self, path: Path) -> NDArray[np.float64]:
        """Return the scores of a submission on the same rows, shape (1 + draws,)."""
        return self._score(self._scorer.pairs(path)[0])

    def _score(self, pair: tuple[Any, Any]) -> NDArray[np.float64]:
        metric = self._scorer.spec.metric
        event = self._scorer.event if metric.kind == "survival" else None
        return _drawn_scores(metric, np.asarray(pair[0]), np.asarray(pair[1]), event, self._counts)


def _drawn_counts(rows: int, strata: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return how often each row is drawn, shape (200, rows), when each stratum is drawn from
    separately.
    """
    random = np.random.default_rng(0)
    counts = np.zeros((DRAWS, rows), dtype=np.int64)
    for part in strata:
        counts[:, part] = random.multinomial(len(part), np.full(len(part), 1 / len(part)), DRAWS)
    return counts


def _drawn_scores(
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
