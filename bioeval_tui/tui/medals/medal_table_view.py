"""Graded submissions as they arrive: sorted, filtered and counted.

Sort keys are plain numbers, one list a column, made when the column is first sorted by; ties fall back on
an order by name that is kept as rows come in. So 100,000 rows are sorted or filtered within a third of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui.tui.medals.medals_view import COLUMNS, MEDALS, Standing, Totals, standing
from bioeval_tui.tui.shared.listing_view import Sorting

if TYPE_CHECKING:
    from bioeval_tui.tui.items import MedalRow

TASK, MEDAL = 0, 2
_RANK: dict[Standing, float] = {name: 1000.0 * rank for rank, name in enumerate(MEDALS)}


class Entry(NamedTuple):
    """A row and its standing."""

    row: MedalRow
    standing: Standing

    @property
    def domain(self) -> str:
        """The task's domain; without one, the part of its id before the slash."""
        return self.row.domain or self.row.task_id.partition("/")[0]


@dataclass(slots=True)
class Tally:
    """Counts that grow with every row."""

    by: dict[Standing, int] = field(default_factory=lambda: dict.fromkeys(MEDALS, 0))
    rows: int = 0
    above_median: int = 0
    beats_human: int = 0
    valid: int = 0
    percentiles: float = 0.0
    agents: set[str] = field(default_factory=set)

    def add(self, entry: Entry) -> None:
        """Count one row."""
        self.rows += 1
        self.by[entry.standing] += 1
        self.agents.add(entry.row.agent)
        report = entry.row.report
        if report is None or entry.standing == "invalid":
            return
        self.above_median += report.above_median
        self.beats_human += bool(report.beats_human)
        if report.leaderboard_percentile is not None:
            self.valid += 1
            self.percentiles += report.leaderboard_percentile

    def totals(self) -> Totals:
        """Return the counts so far, and the averages."""
        ended = self.valid + self.by["invalid"] + self.by["not_graded"]
        average = self.percentiles / self.valid if self.valid else None
        zeros = self.percentiles / ended if ended else None
        return Totals(
            self.rows,
            self.by,
            self.above_median,
            self.beats_human,
            self.valid,
            average,
            zeros,
            len(self.agents),
        )


class MedalTable:
    """Rows, sorted and filtered. `visible` has the shown rows in order; call `arrange` after `add`."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.visible: list[Entry] = []
        self.sorting = Sorting(MEDAL)
        self.filter = ""
        self._tally = Tally()
        self._names: list[str] = []
        self._by_name: list[int] = []
        self._words: list[str] = []
        self._keys: dict[int, list[float]] = {}

    def add(self, row: MedalRow) -> None:
        """Add one row."""
        entry = Entry(row, standing(row))
        self.entries.append(entry)
        self._names.append(f"{row.task_id} {row.agent}".lower())
        self._tally.add(entry)

    def put(self, rows: Mapping[int, MedalRow]) -> None:
        """Replace rows, which are found by identity; call `arrange` afterwards."""
        before, self.entries, self._tally, self._keys = self.entries, [], Tally(), {}
        self._names, self._by_name, self._words = [], [], []
        for entry in before:
            self.add(rows.get(id(entry.row), entry.row))

    def arrange(self) -> None:
        """Filter and sort. All words of the filter must be found; equal rows are ordered by name."""
        known = len(self._by_name)
        self._by_name.extend(range(known, len(self.entries)))
        if known < len(self.entries):
            self._by_name.sort(key=self._names.__getitem__)
        kept = self._matching()
        column, reverse = self.sorting
        text = _TEXTS.get(COLUMNS[column].name)
        if text is not None:
            kept.sort(key=lambda at: text(self.entries[at]).lower(), reverse=reverse)
        elif column != TASK:
            kept.sort(key=self._column(column).__getitem__, reverse=reverse)
        elif reverse:
            kept.reverse()
        entries = self.entries
        self.visible = [entries[at] for at in kept]

    def sort_by(self, column: int) -> None:
        """Sort by a column, best or first letter on top; sorting by the same column again reverses the order."""
        column %= len(COLUMNS)
        self.sorting = Sorting(column, column == self.sorting.column and not self.sorting.reverse)
        self.arrange()

    def reverse(self) -> None:
        """Reverse the order."""
        self.sorting = self.sorting._replace(reverse=not self.sorting.reverse)
        self.arrange()

    def search(self, text: str) -> None:
        """Show only rows in which every word is found: in task, domain, agent, medal or file."""
        self.filter = text
        self.arrange()

    def place_of(self, entry: Entry | None) -> int:
        """Return the current position of an entry; 0 if it is not shown."""
        return next((at for at, other in enumerate(self.visible) if other is entry), 0)

    def totals(self) -> Totals:
        """Return counts and averages over all rows, filtered or not."""
        return self._tally.totals()

    def read_words(self) -> None:
        """Prepare the search, which is half the work of the first search in 100,000 rows."""
        for entry in self.entries[len(self._words) :]:
            row = entry.row
            text = f"{row.task_id} {row.domain} {row.agent} {MEDALS[entry.standing].text} {row.file}"
            self._words.append(text.lower())

    def _matching(self) -> list[int]:
        wanted = self.filter.lower().split()
        if not wanted:
            return self._by_name[:]
        self.read_words()
        words = self._words
        kept = self._by_name
        for word in wanted:
            kept = [at for at in kept if word in words[at]]
        return kept

    def _column(self, column: int) -> list[float]:
        """Return the column's sort keys, the best smallest, by the number of the entry."""
        keys = self._keys.setdefault(column, [])
        key = _KEYS[COLUMNS[column].name]
        keys.extend(key(entry) for entry in self.entries[len(keys) :])
        return keys


def _medal(entry: Entry) -> float:
    report = entry.row.report
    return _RANK[entry.standing] - (report.leaderboard_percentile or 0.0 if report else 0.0)


def _best_first(value: float | None) -> float:
    return inf if value is None or value != value else -value


def _score(entry: Entry) -> float:
    report = entry.row.report
    return _best_first(report.score if report and entry.standing != "invalid" else None)


def _percentile(entry: Entry) -> float:
    report = entry.row.report
    return _best_first(report.leaderboard_percentile if report and entry.standing != "invalid" else None)


def _above_median(entry: Entry) -> float:
    report = entry.row.report
    if report is None or entry.standing == "invalid":
        return 2000.0
    return (0.0 if report.above_median else 1000.0) - (report.leaderboard_percentile or 0.0)


def _beats_human(entry: Entry) -> float:
    beats = entry.row.report.beats_human if entry.row.report else None
    return 2.0 if beats is None else 0.0 if beats else 1.0


def _next_medal(entry: Entry) -> float:
    report = entry.row.report
    if report is None or report.extra is None or report.extra.score_needed is None or report.score is None:
        return inf
    return abs(report.extra.score_needed - report.score)


def _width(entry: Entry) -> float:
    """Narrow intervals first."""
    found = entry.row.report.uncertainty if entry.row.report else None
    return inf if found is None or found.low is None or found.high is None else found.high - found.low


_TEXTS: dict[str, Callable[[Entry], str]] = {
    "agent": lambda entry: entry.row.agent,
    "domain": lambda entry: entry.domain,
    "file": lambda entry: entry.row.file,
}
_KEYS: dict[str, Callable[[Entry], float]] = {
    "medal": _medal,
    "score": _score,
    "95 % interval": _width,
    "pctl": _percentile,
    "> median": _above_median,
    "> human": _beats_human,
    "next medal": _next_medal,
}
