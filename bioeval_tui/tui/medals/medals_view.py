"""The medal table: graded submissions as they arrive, sorted, filtered and counted; its columns,
cells and answer.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from bioeval_tui.base.units import DASH, number1, score_text
from bioeval_tui.base.widths import told_apart
from bioeval_tui.grade.outcomes import NotGraded
from bioeval_tui.grade.report_files import supersedes
from bioeval_tui.grade.submissions import UNKNOWN_AGENT, row_names
from bioeval_tui.grade.tally import Standing, standing_of
from bioeval_tui.record.reviews import mark_words
from bioeval_tui.report.answer import Answer, answer_medals
from bioeval_tui.report.formats.registry import Format, named_format
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.list_table import Column, Key, Listing, Sorting
from bioeval_tui.tui.shared.output import tabbed

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.record.events import Mark
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.tui.grading_items import MedalRow


MEDALS: dict[Standing, Cell] = {
    "gold": Cell("● gold", "gold"),
    "silver": Cell("◐ silver", "silver"),
    "bronze": Cell("◔ bronze", "bronze"),
    "none": Cell("– none", "quiet"),
    "invalid": Cell("! invalid", "bad"),
    "not_graded": Cell("? not graded", "warn"),
}


AGENT_WIDTH = 10
"""Least width of the column of agents and files, in cells."""
NEXT_WIDTH = 17
"""Width that the next medal and its distance need, in cells."""
COLUMNS: tuple[Column, ...] = (
    Column("task", 0),
    Column("agent", AGENT_WIDTH),
    Column("medal", 12),
    Column("score", 10, True),
    Column("95 % interval", 16, True, 5),
    Column("pctl", 5, True, 1),
    Column("> median", 9, True, 3),
    Column("> human", 8, True, 4),
    Column("next medal", NEXT_WIDTH, False, 2, grows=True),
)
SCORED = ("score", "95 % interval", "pctl", "> median", "> human", "next medal")
"""Columns, side by side, that only a submission with a score fills."""
MIN_TASK, TASK_WIDTH = 18, 36
"""Minimum width of the first column, and what is enough for it, in cells."""


def medal_cell(row: MedalRow) -> Cell:
    """Return the medal; with `!` if only a part of the rows was scored, or the score is in
    doubt.
    """
    medal = MEDALS[standing_of(row.report)]
    marked = row.report is not None and (row.report.rows_missing or row.report.doubts)
    if marked:
        return medal._replace(text=f"{medal.text} !")
    return medal


def file_mark(row: MedalRow) -> Mark:
    """Return the state of the file in the reviewers' terms."""
    if row.report is not None and row.report.valid_submission:
        return "valid"
    return "invalid"


def number(value: float | None) -> str:
    """Return a score as everything shows it, with up to five decimals; a dash for None."""
    if value is None:
        return "–"
    return score_text(value)


_DECIMALS = len(".12345")
"""The width of a score's decimal point and the most decimals that it may have."""


def column_number(value: float | None) -> str:
    """Return a score for a column, with aligned decimal points."""
    text = number(value)
    if value is None:
        return text
    decimals = len(text) - len(text.partition(".")[0])
    return text + " " * (_DECIMALS - decimals)


def next_medal(row: MedalRow) -> Cell:
    """Return the next better medal and its distance, or why the submission has none."""
    report = row.report
    if report is None:
        return Cell(row.not_graded or "not graded", "warn")
    if not report.valid_submission:
        return Cell(report.why_invalid, "bad")
    if report.needed is None or report.score is None:
        return Cell("–", "quiet")
    medal, needed = report.needed
    away = needed - report.score
    sign = "+" if away >= 0 else "−"
    return Cell(f"{medal} {sign}{number(abs(away))}")


def row_cells(row: MedalRow) -> dict[str, Cell]:
    """Return a row's cells by the names of the columns; why there is no score stands across what
    would follow from one.
    """
    report = row.report
    cells = {
        "task": Cell(row.task_id),
        "agent": Cell("", "quiet" if row.agent == UNKNOWN_AGENT else "plain"),
        "medal": medal_cell(row),
    }
    if report is None or not report.valid_submission:
        return cells | dict.fromkeys(SCORED, next_medal(row))
    return cells | {
        "score": Cell(column_number(report.score), "strong"),
        "95 % interval": Cell(report.interval_words or "–", "quiet"),
        "pctl": Cell(number1(report.leaderboard_percentile)),
        "> median": _yes_cell(report.above_median),
        "> human": _yes_cell(report.beats_human),
        "next medal": next_medal(row),
    }


def row_outcome(row: MedalRow) -> TaskReport | NotGraded:
    """Return a row's report, or why it was not graded."""
    if row.report is not None:
        return row.report
    agent = row.agent if row.agent != UNKNOWN_AGENT else None
    return NotGraded(row.task_id, row.file, row.not_graded or "", agent=agent)


def rows_document(
    rows: Iterable[MedalRow],
    marks: Mapping[int, Opinions],
    chosen: Format,
    options: Sequence[str] = (),
) -> str:
    """Return a document of these rows as `medals` writes it; `marks` has the reviews of each, by
    its identity.
    """
    graded, reports, failed = [], [], []
    for row in rows:
        outcome = row_outcome(row)
        if isinstance(outcome, NotGraded):
            failed.append(outcome)
        else:
            graded.append(row)
            reports.append(outcome)
    reviews = [mark_words(marks.get(id(row), {})) for row in graded]
    return str(chosen.write("medals", reports, reviews, failed, options))


def rows_tabbed(rows: Sequence[MedalRow], marks: Mapping[int, Opinions]) -> str:
    """Return submissions as rows for a spreadsheet, numbers unrounded."""
    return tabbed(csv.reader(StringIO(rows_document(rows, marks, named_format("csv")))))


def _yes_cell(value: bool | None) -> Cell:
    if value is None:
        return Cell("–   ", "quiet")
    if value:
        return Cell("✓   ", "good")
    return Cell("✗   ", "quiet")


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


class MedalTable(Listing[Entry]):
    """Submissions, the best or first letter on top; equal ones are ordered by name.

    Call `arrange` after `add`.
    """

    def __init__(self) -> None:
        super().__init__(
            COLUMNS, _KEYS, _words, lambda entry: id(entry.row), Sorting(MEDAL), ties=TASK
        )
        self._answer: Answer | None = None
        self._names: dict[int, str] = {}
        """What each row is called, by its identity; empty after a new one."""
        self._told_apart: dict[int, Mapping[str, str]] = {}
        """How these are shown, by the width of the column."""
        self._agent_width = 0
        self._agents: set[str] = set()
        self._places: dict[tuple[str, ...], int] = {}
        """The place of each submission that can be told from others."""

    @property
    def entries(self) -> list[Entry]:
        """All submissions, in the order in which they came."""
        return self.items

    @property
    def agents(self) -> set[str]:
        """The agents that are known by name."""
        return self._agents - {UNKNOWN_AGENT}

    @property
    def answer(self) -> Answer:
        """What all rows came to, filtered or not."""
        if self._answer is None:
            self._answer = answer_medals([row_outcome(entry.row) for entry in self.entries])
        return self._answer

    def whose(self, row: MedalRow, width: int) -> str:
        """Return the agent or file of a row as it is told from the others in so many cells."""
        name = self.names[id(row)]
        if width not in self._told_apart:
            self._told_apart[width] = told_apart(self.names.values(), width)
        return self._told_apart[width][name]

    @property
    def names(self) -> Mapping[int, str]:
        """What each row is called, by its identity."""
        if not self._names:
            rows = [entry.row for entry in self.items]
            called = row_names((row.task_id, row.agent, row.file) for row in rows)
            self._names = {id(row): name or DASH for row, name in zip(rows, called, strict=True)}
            self._told_apart = {}
            self._agent_width = max(map(cell_len, called), default=0)
        return self._names

    @property
    def agent_width(self) -> int:
        """The width of the longest agent or file, in cells."""
        return self._agent_width if self.names else 0

    def add(self, row: MedalRow) -> None:
        """Add one row.

        A submission that was graded before keeps one row, that of its newest grading.
        """
        entry, at = Entry(row, standing_of(row.report)), len(self.items)
        if row.key is not None:
            at = self._places.setdefault((row.agent, *row.key), at)
        if at == len(self.items):
            self.append(entry)
            self._agents.add(row.agent)
        else:
            held = self.items[at].row
            if not supersedes(row.report, row.at, held.report, held.at):
                return
            self.replace(at, entry)
        self._answer, self._names = None, {}

    def put(self, rows: Mapping[int, MedalRow]) -> None:
        """Replace rows, which are found by identity."""
        fresh = {old: Entry(row, standing_of(row.report)) for old, row in rows.items()}
        self.fill([fresh.get(id(entry.row), entry) for entry in self.items])

    def fill(self, items: Iterable[Entry]) -> None:
        """Show these submissions instead; those that were known are not processed again."""
        super().fill(items)
        self._answer = None
        self._agents = {entry.row.agent for entry in self.items}
        self._names = {}
        self._places = {
            (entry.row.agent, *entry.row.key): at
            for at, entry in enumerate(self.items)
            if entry.row.key is not None
        }


def _words(entry: Entry) -> str:
    row = entry.row
    return f"{row.task_id} {row.domain} {row.agent} {MEDALS[entry.standing].text} {row.file}"


def _medal(entry: Entry) -> float:
    report = entry.row.report
    if report is None:
        return _RANK[entry.standing]
    return _RANK[entry.standing] - (report.leaderboard_percentile or 0.0)


def _best_first(value: float | None) -> float:
    if value is None or value != value:
        return inf
    return -value


def _valid_report(entry: Entry) -> TaskReport | None:
    """Return the report of a valid submission; None for any other."""
    if entry.standing == "invalid":
        return None
    return entry.row.report


def _score(entry: Entry) -> float:
    report = _valid_report(entry)
    if report is None:
        return inf
    return _best_first(report.score)


def _percentile(entry: Entry) -> float:
    report = _valid_report(entry)
    if report is None:
        return inf
    return _best_first(report.leaderboard_percentile)


def _above_median(entry: Entry) -> float:
    report = _valid_report(entry)
    if report is None:
        return 2000.0
    percentile = report.leaderboard_percentile or 0.0
    if report.above_median:
        return -percentile
    return 1000.0 - percentile


def _beats_human(entry: Entry) -> float:
    if entry.row.report is None:
        return 2.0
    return {True: 0.0, False: 1.0, None: 2.0}[entry.row.report.beats_human]


def _next_medal(entry: Entry) -> float:
    report = entry.row.report
    if (
        report is None
        or report.extra is None
        or report.extra.score_needed is None
        or report.score is None
    ):
        return inf
    return abs(report.extra.score_needed - report.score)


def _width(entry: Entry) -> float:
    """Narrow intervals first."""
    if entry.row.report is None:
        return inf
    uncertainty = entry.row.report.uncertainty
    if uncertainty is None or uncertainty.low is None or uncertainty.high is None:
        return inf
    return uncertainty.high - uncertainty.low


_KEYS: dict[str, Callable[[Entry], Key]] = {
    "task": lambda entry: f"{entry.row.task_id} {entry.row.agent}".lower(),
    "agent": lambda entry: entry.row.agent.lower(),
    "medal": _medal,
    "score": _score,
    "95 % interval": _width,
    "pctl": _percentile,
    "> median": _above_median,
    "> human": _beats_human,
    "next medal": _next_medal,
}
