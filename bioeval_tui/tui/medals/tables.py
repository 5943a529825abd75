"""The two tables of the medals screen: the submissions, as they are graded, and their agents."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.units import DASH, number1
from bioeval_tui.base.widths import padded
from bioeval_tui.grade.submissions import UNKNOWN_AGENT
from bioeval_tui.grade.tally import Tally
from bioeval_tui.record.reviews import reviewed_mark
from bioeval_tui.report.agents import (
    AgentEntry,
    AgentStanding,
    agent_entry,
    agents_in_order,
    mean_percentile,
    of_known_agents,
    percentiles_known,
    standings,
)
from bioeval_tui.report.sentences import rank_words
from bioeval_tui.statistics.estimates import grouped
from bioeval_tui.tui.medals import medals_view
from bioeval_tui.tui.medals.medals_view import Entry, MedalTable, medal_cell, next_medal
from bioeval_tui.tui.review_view import with_mark
from bioeval_tui.tui.shared.cells import Cell, Tone, paint
from bioeval_tui.tui.shared.list_table import Column, ListTable
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.sorted_table import SortedTable
from bioeval_tui.tui.shared.wrapped_lines import DrawnPanel

if TYPE_CHECKING:
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.tui.grading_items import MedalRow
    from bioeval_tui.tui.shared.base import BaseScreen


INTERVALS_S = 0.5
"""Interval of redraws while confidence intervals are computed, in seconds."""


class Submissions(SortedTable[Entry]):
    """One row a submission."""

    KEYS: ClassVar[str] = "medals/submissions"
    listing: MedalTable

    def __init__(self) -> None:
        super().__init__(
            RowList("~medal-rows"),
            MedalTable(),
            self._cells,
            "medals.sorting",
            medals_view.MIN_TASK,
            medals_view.TASK_WIDTH,
        )
        self.id = "medals"
        self.marks: dict[int, Opinions] = {}
        """The reviews of each row, by the row's identity."""

    @property
    def opinions(self) -> Opinions | None:
        """The reviews of the selected submission."""
        if self.looked_at:
            return self.marks.get(id(self.looked_at.row))
        return None

    @property
    def column_names(self) -> Sequence[str | int]:
        """What stands for the columns where the sorting is kept: their places."""
        return range(len(self.columns))

    def _tell(self, sentence: str) -> None:
        self.app.notify(sentence, severity="warning", markup=False)

    # Columns

    def fitting(self, width: int) -> list[Column]:
        """Return the columns that fit; agents have the room that the next medal does not need."""
        columns = super().fitting(width)
        names = [column.name for column in columns]
        if "next medal" in names:
            agent, medal = names.index("agent"), names.index("next medal")
            spare = columns[medal].width - medals_view.NEXT_WIDTH
            more = min(spare, self.listing.agent_width - columns[agent].width)
            if more > 0:
                columns[agent] = columns[agent]._replace(width=columns[agent].width + more)
                columns[medal] = columns[medal]._replace(width=columns[medal].width - more)
        return columns

    @property
    def _agent_room(self) -> int:
        columns = self.fitting(self._head.size.width - 1)
        return next(column.width for column in columns if column.name == "agent")

    # Rows

    def clear(self) -> None:
        """Remove every row; sorting and filter stay."""
        self.listing.fill(())
        self.marks = {}

    def put(self, rows: Mapping[int, MedalRow]) -> None:
        """Put rows in the places of others, known by their identity; the cursor and the reviews
        stay with them.
        """
        at = self.looked_at
        self.listing.put(rows)
        self.marks |= {id(row): self.marks[old] for old, row in rows.items() if old in self.marks}
        self.draw(id(rows.get(id(at.row), at.row)) if at is not None else None)

    def redraw(self) -> None:
        """Filter, sort and draw."""
        self.listing.arrange()
        self.draw()

    def find_place(self, identity: Hashable) -> int:
        """Return where the cursor goes: only one that was moved stays on its row, if that is
        shown.
        """
        if not self.rows.user_moved:
            return 0
        return super().find_place(identity) or 0

    def _cells(self, entry: Entry, width: int) -> Mapping[str, Cell]:
        row = entry.row
        cells = medals_view.row_cells(row)
        cells["agent"] = cells["agent"]._replace(text=self.listing.whose(row, self._agent_room))
        if cell_len(row.task_id) > width:
            # Its own name says more than its domain.
            name = row.task_id.rpartition("/")[2]
            if cell_len(name) + 2 <= width:
                name = f"…/{name}"
            cells["task"] = Cell(name)
        if opinions := self.marks.get(id(row)):
            cells["medal"] = with_mark(
                cells["medal"], medals_view.file_mark(row), reviewed_mark(opinions)
            )
        return cells

    # Reviews and intervals

    @work(group="marks")
    async def read_marks(self) -> None:
        """Read the reviews, in the background."""
        rows = [entry.row for entry in self.listing.entries if entry.row.folder is not None]
        if not rows:
            return
        try:
            services = self.services
            opinions_of = await services.in_thread(lambda: services.review_desk.marks(rows))
        except (BioevalError, OSError) as error:
            self._tell(f"Could not read the reviews: {error}")
            return
        marks = {
            id(row): opinions for row, opinions in zip(rows, opinions_of, strict=True) if opinions
        }
        if marks != self.marks:
            self.marks = marks
            self.draw()

    @work(group="intervals", exclusive=True)
    async def read_intervals(self) -> None:
        """Resample the scores in the background."""
        rows = [entry.row for entry in self.listing.entries]
        if not rows:
            return
        waiting: dict[int, MedalRow] = {}
        began = monotonic()
        try:
            async with aclosing(self.services.benchmarks.intervals(rows)) as intervals:
                async for row, sure in intervals:
                    assert row.report is not None
                    waiting[id(row)] = replace(row, report=replace(row.report, uncertainty=sure))
                    if monotonic() - began > INTERVALS_S:
                        self.put(waiting)
                        waiting, began = {}, monotonic()
        except (BioevalError, OSError) as error:
            self._tell(f"Could not compute the intervals of the scores: {error}")
        if waiting:
            self.put(waiting)

    # Order

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without rows, or behind the agents, there is nothing to sort."""
        return bool(self.listing.entries) and self.display


FRAME_S = 0.05
SHARE = 10
"""After a redraw while rows stream in, wait for this many times its duration."""
SLICE_S = 0.008
"""How long rows are added before control returns to the screen, in seconds."""


class GradedFeed:
    """Grades, or reads reports, in a worker of the screen; calls `taken` once the existing rows are
    in.
    """

    def __init__(
        self, screen: BaseScreen, submissions: Submissions, taken: Callable[[], None]
    ) -> None:
        self._screen = screen
        self._submissions = submissions
        self._taken = taken
        self._rows: Callable[[], AsyncIterator[MedalRow | None]] | None = None
        self.samples = False
        """Whether the shown submissions are the samples."""
        self.is_stopped = False
        """Whether the user stopped the grading."""
        self.is_done = False
        """Whether nothing is being taken in."""
        self.failure = ""
        """Why the grading stopped by itself."""
        self._watching = False
        self._redraw_planned = False
        self._pause = FRAME_S

    @property
    def is_grading(self) -> bool:
        """Whether submissions are still to come that the screen waits for."""
        return not self.is_done and not self._watching

    @property
    def reading(self) -> tuple[int, int] | None:
        """How many results of reports were read, and of how many; None while none is read."""
        if self.is_done:
            return None
        return self._screen.bioeval.services.reading

    @property
    def state(self) -> Cell:
        """The state for the title."""
        if self.failure:
            return Cell("! stopped", "bad")
        if reading := self.reading:
            done, total = reading
            return Cell(f"● reading {done:,} of {total:,}", "busy")
        if not self.is_done:
            return Cell("● grading…", "busy")
        if self._watching:
            return Cell("● watching", "quiet")
        if self.is_stopped:
            return Cell("■ stopped before the rest was graded", "warn")
        if self._submissions.listing.entries:
            return Cell("■ all graded")
        return Cell("")

    def start(self, rows: Callable[[], AsyncIterator[MedalRow | None]] | None = None) -> None:
        """Take rows in: these, or those that the session shows."""
        self._rows = rows
        self.start_again()

    def start_again(self) -> None:
        """Take in what was taken in last, from the start; a list's rows are known by their keys and
        stay.
        """
        self.is_stopped = self.is_done = False
        self.failure = ""
        if self._rows is None:
            rows = self._screen.bioeval.services.medals()
            self._submissions.clear()
        else:
            rows = self._rows()
        self._screen.run_worker(self._take(rows, watching=self._watching), group="medals")

    def finish(self) -> None:
        """Draw the rows so far; nothing more is awaited."""
        self.is_done = True
        self._submissions.redraw()
        self._taken()

    def stop(self) -> None:
        """Stop grading; finished results are kept."""
        self._screen.workers.cancel_group(self._screen, "medals")
        self.is_stopped = True
        self.finish()

    async def _take(self, rows: AsyncIterator[MedalRow | None], *, watching: bool = False) -> None:
        """Add the existing rows, then follow new reports in a worker without end; others may be
        followed already.
        """
        began = monotonic()
        try:
            async for row in rows:
                if row is None:
                    self._watching = True
                    self.finish()
                    self._screen.run_worker(self._take(rows), group="feed")
                    return
                self.is_done = False
                self._submissions.listing.add(row)
                self._redraw_soon()
                if monotonic() - began > SLICE_S:
                    await asyncio.sleep(0)
                    began = monotonic()
        except (BioevalError, OSError) as error:
            self.failure = str(error) or type(error).__name__
        except asyncio.CancelledError:
            if isinstance(rows, AsyncGenerator):
                await rows.aclose()  # and with it who grades
            raise
        self._watching = watching
        self.finish()

    def _redraw_soon(self) -> None:
        """Redraw the first row at once, later ones at most once a frame, and more seldom as the
        table grows.
        """
        if len(self._submissions.listing.entries) == 1:
            self._redraw()
        elif not self._redraw_planned:
            self._redraw_planned = True
            self._screen.set_timer(self._pause, self._redraw)

    def _redraw(self) -> None:
        self._redraw_planned = False
        if not self.is_done:
            began = monotonic()
            self._submissions.redraw()
            self._pause = max(FRAME_S, SHARE * (monotonic() - began))


GROUP_COLUMNS: tuple[Column, ...] = (
    Column("agent, domain", 0),
    Column("reports", 8, True),
    Column("● gold", 7, True),
    Column("◐ silver", 9, True),
    Column("◔ bronze", 9, True),
    Column("– none", 7, True, 4),
    Column("invalid", 8, True, 3),
    Column("not graded", 11, True, 6),
    Column("> median", 9, True, 5),
    Column("pctl valid", 10, True),
    Column("pctl all", 8, True),
    Column("any medal", len("100.0 % [73.5, 100.0]"), True, 2),
    Column("rank", len("10–12"), False, 1),
)
MIN_NAME = 14


class Group(NamedTuple):
    """An agent's totals, in one domain or, without one, in all."""

    agent: str
    domain: str | None
    totals: Tally
    percentile: float | None
    """The mean percentile over tasks, invalid and not graded submissions as 0."""
    percentile_graded: float | None
    """The mean percentile over tasks of valid submissions."""

    @classmethod
    def of(
        cls, agent: str, domain: str | None, entries: Sequence[Entry], *, ranked: bool = True
    ) -> Group:
        """Return the group of these submissions; `ranked` says whether any agent's percentiles are
        known.
        """
        tally = Tally.of(entry.row.report for entry in entries)
        own = agent_entries(entries) if ranked else []
        means = (mean_percentile(own, others_as_zero=zero) for zero in (True, False))
        return cls(agent, domain, tally, *means)

    @property
    def words(self) -> str:
        """The filter that shows only these rows."""
        if self.domain is None:
            return self.agent
        return f"{self.agent} {self.domain}"


def groups(entries: Iterable[Entry]) -> list[Group]:
    """Return every agent in the order of their comparison, and at the end the submissions of no
    known agent; its domains by name, if there are several.
    """
    everything = list(entries)
    compared = agent_entries(everything)
    known = of_known_agents(compared)
    ranked = percentiles_known(known or compared)
    by_agent = grouped((entry.row.agent, entry) for entry in everything)
    order = agents_in_order(known)
    if UNKNOWN_AGENT in by_agent:
        order.append(UNKNOWN_AGENT)
    found: list[Group] = []
    for agent in order:
        domains = grouped((entry.domain, entry) for entry in by_agent[agent])
        parts = [
            Group.of(agent, domain, domains[domain], ranked=ranked) for domain in sorted(domains)
        ]
        found.append(Group.of(agent, None, by_agent[agent], ranked=ranked))
        if len(parts) > 1:
            found += parts
    return found


def agent_entries(table: Iterable[Entry]) -> list[AgentEntry]:
    """Return the submissions in the form that the statistics of agents need."""
    return [agent_entry(entry.row.agent, entry.row.task_id, entry.row.report) for entry in table]


def submission_lines(group: Group, submissions: Iterable[Entry]) -> list[list[Cell]]:
    """Return a line for each of a group's submissions: medal, task, score and place, or why it has
    none.
    """
    lines: list[list[Cell]] = [[Cell(f"submissions of {group.words}", "quiet")]]
    own = [
        entry
        for entry in submissions
        if entry.row.agent == group.agent and group.domain in (None, entry.domain)
    ]
    room = min(28, max((cell_len(entry.row.task_id) for entry in own), default=0))
    places = [f"place {entry.row.report.place_words} " for entry in own if entry.row.report]
    place_room = max(map(cell_len, places), default=0) + 1
    for entry in own:
        row, report = entry.row, entry.row.report
        medal = medal_cell(row)
        line = [
            Cell(padded(medal.text, 13), medal.tone),
            Cell(f"{padded(row.task_id, room)} "),
        ]
        if report is not None and entry.standing != "invalid":
            place = report.place_words and f"place {report.place_words} "
            line += [Cell(f"{padded(report.score_words, 20)} ", "strong")]
            line += [Cell(padded(place, place_room))]
        lines.append([*line, next_medal(row)])
    return lines


def _rank_words(standing: AgentStanding) -> str:
    if standing.rank is None:
        return DASH
    return rank_words(standing.rank).removeprefix("rank ")


def group_cells(group: Group, standing: AgentStanding | None) -> dict[str, Cell]:
    """Return a group's cells by the names of the columns; `standing` is the agent's, once it is
    known.
    """
    totals, by = group.totals, group.totals.by
    name = f"   {group.domain or '–'}"
    tone: Tone = "plain"
    medal = rank = ""
    if group.domain is None:
        name, tone = group.agent, "strong"
        medal = rank = "…" if group.agent != UNKNOWN_AGENT else DASH
        if standing is not None:
            medal, rank = standing.medal_words, _rank_words(standing)
    if totals.partial or totals.in_doubt:
        name += " !"

    def count(number: int, shade: Tone) -> Cell:
        if number:
            return Cell(f"{number:,}", shade)
        return Cell("·", "quiet")

    return {
        "agent, domain": Cell(name, tone),
        "reports": Cell(f"{totals.submissions:,}", tone),
        "● gold": count(by["gold"], "gold"),
        "◐ silver": count(by["silver"], "silver"),
        "◔ bronze": count(by["bronze"], "bronze"),
        "– none": count(by["none"], "plain"),
        "invalid": count(by["invalid"], "bad"),
        "not graded": count(by["not_graded"], "warn"),
        "> median": count(totals.above_median, "plain"),
        "pctl valid": Cell(number1(group.percentile_graded), "plain"),
        "pctl all": Cell(number1(group.percentile), tone),
        "any medal": Cell(medal),
        "rank": Cell(rank),
    }


class Agents(ListTable):
    """The submissions shown, by agent and domain. Posts `Opened` for the row that was chosen."""

    class Opened(Message):
        """An agent, or one of its domains, was chosen."""

        def __init__(self, group: Group) -> None:
            super().__init__()
            self.group = group

    DEFAULT_CSS = """
    Agents {
        & RowList { height: auto; max-height: 50%; }
        & DrawnPanel { height: 1fr; border-top: solid $line; }
    }
    """

    def __init__(self) -> None:
        super().__init__(RowList("~group-rows"), GROUP_COLUMNS, MIN_NAME)
        self.id = "groups"
        self._groups: list[Group] = []
        self._submissions: Sequence[Entry] = ()
        self._chosen_ones = DrawnPanel()
        self._standings: dict[str, AgentStanding] = {}
        """The standings of the agents over tasks, as far as they have been computed."""

    def compose(self) -> ComposeResult:
        """The table, and the submissions of the selected agent below it."""
        yield from super().compose()
        yield self._chosen_ones

    def on_mount(self) -> None:
        """Draw the submissions of the selected agent."""
        self._chosen_ones.draw(self._draw_submissions)

    def draw(self, submissions: Sequence[Entry]) -> None:
        """Draw the totals of these submissions."""
        self._groups, self._submissions = groups(submissions), submissions
        self.show(len(self._groups), self._cells, None)
        self._chosen_ones.refresh()

    @on(RowList.Highlighted)
    def _moved(self) -> None:
        self._chosen_ones.refresh()

    def _draw_submissions(self, width: int) -> Content:
        if self.rows.cursor >= len(self._groups):
            return Content("")
        lines = submission_lines(self._groups[self.rows.cursor], self._submissions)
        return Content("\n").join([paint(*line).truncate(width, ellipsis=True) for line in lines])

    @work(exclusive=True)
    async def rank(self, submissions: Sequence[Entry]) -> None:
        """Compare the agents beside the screen: with many of them it takes a moment."""
        ranked = await asyncio.to_thread(
            lambda: standings(of_known_agents(agent_entries(submissions)))
        )
        self._standings = {one.agent: one for one in ranked.agents}
        self.draw(submissions)

    def _cells(self, index: int, width: int) -> Mapping[str, Cell]:
        group = self._groups[index]
        return group_cells(group, self._standings.get(group.agent))

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        if event.index < len(self._groups):
            self.post_message(self.Opened(self._groups[event.index]))
