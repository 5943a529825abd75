"""A leaderboard as a sorted array, the one function that ranks a score on it, and the medals that
places earn.

`medal_places` is the rule of Kaggle's progression system, as BioML-bench applies it; `rank` applies
it to a score.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.grade.csv_lines import lines_of_rows, why_not_csv
from bioeval_tui.grade.formats import other_format
from bioeval_tui.grade.published_tables import read_as_published
from bioeval_tui.grade.score_numbers import better_words, numpy_round

if TYPE_CHECKING:
    from numpy.typing import NDArray


class MedalPlaces(NamedTuple):
    """The last place, counting from 1, that still earns each medal."""

    gold: int
    silver: int
    bronze: int


def medal_places(entries: int) -> MedalPlaces:
    """Return the last place of each medal on a leaderboard with `entries` rows.

    Places are not disjoint: on small boards gold, silver and bronze may share one place, and the
    better medal wins.

    Raises:
        ValueError: `entries` is below 1.
    Source: https://www.kaggle.com/progression
    """
    if entries < 1:
        raise ValueError("a leaderboard needs at least one entry")
    if entries < 100:
        return MedalPlaces(
            max(1, int(0.1 * entries)), max(1, int(0.2 * entries)), max(1, int(0.4 * entries))
        )
    if entries < 250:
        return MedalPlaces(10, int(0.2 * entries), int(0.4 * entries))
    gold = 10 + int(0.002 * entries)
    if entries < 1000:
        return MedalPlaces(gold, 50, 100)
    return MedalPlaces(gold, int(0.05 * entries), int(0.1 * entries))


SMALL_BOARD = 50
"""Leaderboards with fewer entries get a warning, because a single entry changes their thresholds.
"""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The place of a score on a leaderboard; `score` None means that there is no valid score.

    Thresholds are scores. `position` counts from 1: one more than the entries strictly better.
    `beaten` is the number of entries strictly worse, and `percentile` their share × 100, one
    decimal.
    """

    score: float | None
    is_lower_better: bool
    size: int
    gold_threshold: float
    silver_threshold: float
    bronze_threshold: float
    median_threshold: float
    medal: str | None = None
    above_median: bool = False
    percentile: float | None = None
    position: int | None = None
    beaten: int | None = None
    next_medal: str | None = None
    score_needed: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that the published `rank_score` returns, in its order."""
        return {
            "gold_medal": self.medal == "gold",
            "silver_medal": self.medal == "silver",
            "bronze_medal": self.medal == "bronze",
            "above_median": self.above_median,
            "gold_threshold": self.gold_threshold,
            "silver_threshold": self.silver_threshold,
            "bronze_threshold": self.bronze_threshold,
            "median_threshold": self.median_threshold,
            "leaderboard_percentile": self.percentile,
            "leaderboard_size": self.size,
        }


def rank(score: float | None, ascending: NDArray[np.float64], is_lower_better: bool) -> Ranking:
    """Return thresholds, medal, percentile and place of `score` on a board.

    Args:
        score: the score to rank, or None.
        ascending: all scores of the board, shape (entries,), sorted ascending, all finite.
        is_lower_better: the direction of the metric.

    A threshold is the score at the last place of its medal; reaching it earns the medal, while
    "above median" is strict. Takes O(log entries).

    Raises:
        ValueError: the board is empty.
    """
    size = len(ascending)
    best_first = ascending if is_lower_better else ascending[::-1]
    gold, silver, bronze = (float(best_first[place - 1]) for place in medal_places(size))
    median = float((ascending[(size - 1) // 2] + ascending[size // 2]) / 2)
    if score is None:
        return Ranking(None, is_lower_better, size, gold, silver, bronze, median)
    below, up_to = bisect_left(ascending, score), bisect_right(ascending, score)
    better, worse = (below, size - up_to) if is_lower_better else (size - up_to, below)
    medal = next_medal = None
    needed: float | None = None
    sign = -1.0 if is_lower_better else 1.0  # times it, the greater score is the better one
    for name, threshold in (("bronze", bronze), ("silver", silver), ("gold", gold)):
        if sign * score >= sign * threshold:
            medal = name
        elif next_medal is None or threshold == needed:
            # On a small board one place may earn several medals: the best of them counts.
            next_medal, needed = name, threshold
    return Ranking(
        score=score,
        is_lower_better=is_lower_better,
        size=size,
        gold_threshold=gold,
        silver_threshold=silver,
        bronze_threshold=bronze,
        median_threshold=median,
        medal=medal,
        above_median=bool(sign * score > sign * median),
        percentile=numpy_round(worse / size * 100, 1),
        position=better + 1,
        beaten=worse,
        next_medal=next_medal,
        score_needed=needed,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Leaderboard:
    """A leaderboard that is ready to rank scores: `ascending` has an array of shape (entries,);
    `warnings` are added to every report.

    `origin` says in one line where it comes from, and how many entries it has.
    """

    ascending: NDArray[np.float64]
    is_lower_better: bool
    warnings: tuple[str, ...] = ()
    self_trained: bool = False
    origin: str = ""

    def rank(self, score: float | None) -> Ranking:
        """Rank `score`; see `rank`."""
        return rank(score, self.ascending, self.is_lower_better)

    def best_first(self) -> NDArray[np.float64]:
        """Return all scores, best first."""
        if self.is_lower_better:
            return self.ascending
        return self.ascending[::-1]


def guess_direction(file_order: NDArray[np.float64]) -> bool:
    """Return whether lower is better, by the published rule: the first row is better than the
    last.
    """
    return bool(file_order[0] < file_order[-1])


def build_leaderboard(
    file_order: NDArray[np.float64],
    is_lower_better: bool | None,
    *,
    self_trained: bool = False,
    partial: bool = False,
) -> Leaderboard:
    """Return the leaderboard of scores in file order, shape (entries,), with warnings about
    anything doubtful.

    Raises:
        ValueError: no row has a score.
    """
    scores = np.asarray(file_order, dtype=np.float64)
    # An infinite threshold could not be written into a report: JSON has no such number.
    known = scores[np.isfinite(scores)]
    if not len(known):
        raise ValueError("the leaderboard has no entries")
    warnings = []
    if missing := int(np.isnan(scores).sum()):
        warnings.append(f"{plural(missing, 'leaderboard row')} without a score left out")
    if infinite := int(np.isinf(scores).sum()):
        rows = plural(infinite, "leaderboard row")
        warnings.append(f"{rows} with an infinite score left out")
    steps = np.diff(known)
    falls, rises = bool((steps < 0).any()), bool((steps > 0).any())
    lower = guess_direction(known) if is_lower_better is None else is_lower_better
    if is_lower_better is None and not (falls or rises):
        what = "is tied throughout"
        if len(known) == 1:
            what = "has one entry"
        warnings.append(f"direction guessed as higher is better: the leaderboard {what}")
    if falls and rises:
        guessed = ""
        if is_lower_better is None:
            better = better_words(lower)
            guessed = f"; direction guessed as {better} from its first and last row"
        warnings.append(f"the leaderboard was not sorted and has been sorted{guessed}")
    elif is_lower_better is not None and (falls if lower else rises):
        warnings.append("the leaderboard was worst first and has been reversed")
    if len(known) < SMALL_BOARD:
        entries = plural(len(known), "entry", "entries")
        warnings.append(f"the leaderboard has only {entries}: one more can change the medals")
    places = medal_places(len(known))
    if places.gold == places.bronze:
        warnings.append("gold, silver and bronze are all first place on a leaderboard this small")
    elif places.gold == places.silver:
        warnings.append("gold and silver are both first place on a leaderboard this small")
    if self_trained:
        warnings.append(
            "the leaderboard is self-trained: made by models trained for this program, not by"
            " competitors"
        )
    if partial:
        warnings.append("the leaderboard is partial: not all entries of its source are in it")
    return Leaderboard(np.sort(known), lower, tuple(warnings), self_trained)


def scores_of(
    frame: Any, path: Path | str, task_id: str, lines: Sequence[int] = ()
) -> NDArray[np.float64]:
    """Return the `score` column of a leaderboard's DataFrame as an array of shape (entries,), in
    file order.

    Args:
        frame: the leaderboard.
        path: where it was read from, for sentences.
        task_id: the task that it is for.
        lines: the line of each row in the file; by default one a row, below the header.

    Raises:
        InputError: the column is missing, empty or not numeric; the sentence names task and file.
    """
    where = f"the leaderboard of {task_id} ({path})"
    if "score" not in frame.columns:
        has = ", ".join(clean_line(str(name), 40) for name in frame.columns[:10])
        raise InputError(
            f"{where} has no column `score`; it has {has}; call the column of scores `score`"
        )
    column = frame["score"]
    if not len(column):
        raise InputError(f"{where} is empty: it needs at least one row")
    if column.dtype.kind not in "iufb":
        for row, value in enumerate(column):
            try:
                float(value)
            except (TypeError, ValueError):
                shown = clean_line(str(value), 40)
                line = lines[row] if lines else row + 2
                raise InputError(f"{where}, line {line}: score `{shown}` is not a number") from None
    values: NDArray[np.float64] = column.to_numpy(dtype=np.float64)
    if not np.isfinite(values).any():
        raise InputError(f"{where} is empty: no row has a score")
    return values


def load_leaderboard(
    path: Path,
    task_id: str,
    is_lower_better: bool | None = None,
    *,
    self_trained: bool = False,
    partial: bool = False,
) -> Leaderboard:
    """Read `leaderboard.csv` (columns teamName, score, submissionDate), numbers by pandas' default
    parser.

    Raises:
        InputError: there is no such file, or it cannot be read as a leaderboard.
    """
    data = b""
    try:
        data = path.read_bytes()
        if other := other_format(data):
            raise InputError(f"the leaderboard of {task_id} ({path}) cannot be read: it is {other}")
        frame = read_as_published(path)
    except FileNotFoundError:
        raise InputError(f"the leaderboard of {task_id} is missing: {path}") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"the leaderboard of {task_id} ({path}) is empty") from None
    except (UnicodeDecodeError, OSError) as error:
        reason = clean_line(str(error), 200)
        raise InputError(
            f"the leaderboard of {task_id} ({path}) cannot be read: {reason}"
        ) from None
    except pd.errors.ParserError as error:
        raise InputError(
            f"the leaderboard of {task_id} ({path}) cannot be read: {why_not_csv(error, data)}"
        ) from None
    scores = scores_of(frame, path, task_id, lines_of_rows(data, len(frame)))
    return build_leaderboard(scores, is_lower_better, self_trained=self_trained, partial=partial)
