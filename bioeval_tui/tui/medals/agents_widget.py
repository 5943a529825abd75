"""Agents and their domains: medals, averages and ranks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from bioeval_tui.report import agents
from bioeval_tui.report.agents import Standing, standings
from bioeval_tui.report.sentences import rank_words
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.medals.medals_view import Entry, Tally, medal_cell, next_medal
from bioeval_tui.tui.shared.cells import Cell, Tone, paint
from bioeval_tui.tui.shared.list_table import Column, ListTable, Sorting, TableHead
from bioeval_tui.tui.shared.rows_widget import DrawnPanel, RowList

if TYPE_CHECKING:
    from bioeval_tui.tui.medals.medals_view import Entry
    from bioeval_tui.tui.shared.cells import Cell

GROUP_COLUMNS: tuple[Column, ...] = (
    Column("agent, domain", 0),
    Column("reports", 8, True),
    Column("● gold", 7, True),
    Column("◐ silver", 9, True),
    Column("◔ bronze", 9, True),
    Column("– none", 7, True, 2),
    Column("invalid", 8, True, 1),
    Column("not graded", 11, True, 4),
    Column("> median", 9, True, 3),
    Column("pctl valid", 10, True),
    Column("pctl all", 8, True),
    Column("any medal", 14, True, 5),
    Column("rank", 10, False, 6),
)
MIN_NAME = 14


class Group(NamedTuple):
    """An agent's totals, in one domain or, without one, in all."""

    agent: str
    domain: str | None
    totals: Tally

    @property
    def words(self) -> str:
        """The filter that shows only these rows."""
        return self.agent if self.domain is None else f"{self.agent} {self.domain}"


def groups(entries: Iterable[Entry]) -> list[Group]:
    """Return every agent, most gold first, then silver, bronze and percentile of all; its domains by name, if there are several."""
    whole: dict[str, Tally] = {}
    parts: dict[str, dict[str, Tally]] = {}
    for entry in entries:
        agent = entry.row.agent
        whole.setdefault(agent, Tally()).add(entry)
        parts.setdefault(agent, {}).setdefault(entry.domain, Tally()).add(entry)
    grouped: list[Group] = []
    for agent, totals in sorted(whole.items(), key=lambda pair: _rank(*pair)):
        grouped.append(Group(agent, None, totals))
        domains = parts[agent] if len(parts[agent]) > 1 else {}
        grouped += [Group(agent, domain, domains[domain]) for domain in sorted(domains)]
    return grouped


def _rank(agent: str, totals: Tally) -> tuple[float, ...] | tuple[float | str, ...]:
    by = totals.by
    # With invalid and not graded ones as 0: a file that cannot be scored must not lift its agent above another.
    zeros = totals.average_with_zeros or 0.0
    return (-by["gold"], -by["silver"], -by["bronze"], -zeros, -totals.valid, agent.lower())


def entries(table: Iterable[Entry]) -> list[agents.AgentEntry]:
    """Return the submissions in the form that the statistics of agents need."""
    made = []
    for entry in table:
        report = entry.row.report
        valid = report is not None and entry.standing != "invalid"
        percentile = report.leaderboard_percentile if report is not None and valid else None
        won = entry.standing in ("gold", "silver", "bronze")
        partial = report is not None and report.rows_missing > 0
        made.append(agents.AgentEntry(entry.row.agent, entry.row.task_id, percentile, won, partial))
    return made


def submission_lines(group: Group, submissions: Iterable[Entry]) -> list[list[Cell]]:
    """Return a line for each of a group's submissions: medal, task, score and place, or why it has none."""
    lines: list[list[Cell]] = [[Cell(f"submissions of {group.words}", "quiet")]]
    for entry in submissions:
        row, report = entry.row, entry.row.report
        if row.agent != group.agent or group.domain not in (None, entry.domain):
            continue
        medal = medal_cell(row)
        line = [Cell(f"{medal.text:<13}", medal.tone), Cell(f"{row.task_id:<28} ")]
        if report is not None and entry.standing != "invalid":
            place = f"place {report.place_words} " if report.place_words else ""
            line += [Cell(f"{report.score_words:<20} ", "strong"), Cell(f"{place:<22}")]
        lines.append([*line, next_medal(row)])
    return lines


def group_cells(group: Group, standing: agents.Standing | None = None) -> dict[str, Cell]:
    """Return a group's cells by the names of the columns; `standing` is the agent's, once it is known."""
    waiting = "…" if group.domain is None else ""
    totals, by = group.totals, group.totals.by
    whole = group.domain is None
    partial = " !" if totals.partial else ""
    name = Cell(group.agent, "strong") if group.domain is None else Cell(f"   {group.domain or '–'}")
    name = name._replace(text=name.text + partial)

    def count(number: int, tone: Tone) -> Cell:
        return Cell(f"{number:,}", tone) if number else Cell("·", "quiet")

    average = "–" if totals.average is None else f"{totals.average:.1f}"
    zeros = "–" if totals.average_with_zeros is None else f"{totals.average_with_zeros:.1f}"
    return {
        "agent, domain": name,
        "reports": Cell(f"{totals.rows:,}", "strong" if whole else "plain"),
        "● gold": count(by["gold"], "gold"),
        "◐ silver": count(by["silver"], "silver"),
        "◔ bronze": count(by["bronze"], "bronze"),
        "– none": count(by["none"], "plain"),
        "invalid": count(by["invalid"], "bad"),
        "not graded": count(by["not_graded"], "warn"),
        "> median": count(totals.above_median, "plain"),
        "pctl valid": Cell(average, "plain"),
        "pctl all": Cell(zeros, "strong" if whole else "plain"),
        "any medal": Cell(standing.medal_words if standing and whole else waiting),
        "rank": Cell(rank_words(standing.rank).removeprefix("rank ") if standing and whole else waiting),
    }


class GroupRows(RowList):
    """Agents and their domains; enter shows their submissions."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~group-rows")


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
        super().__init__(GroupRows(), GROUP_COLUMNS, MIN_NAME)
        self.id = "groups"
        self._groups: list[Group] = []
        self._submissions: Sequence[Entry] = ()
        self._chosen_ones = DrawnPanel()
        self._standings: dict[str, Standing] = {}
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
        self.show(len(self._groups), self._cells, Sorting(-1))
        self._chosen_ones.refresh()

    @on(RowList.Highlighted)
    def _moved(self) -> None:
        self._chosen_ones.refresh()

    def _draw_submissions(self, width: int) -> Content:
        if self.rows.cursor >= len(self._groups):
            return Content("")
        lines = submission_lines(self._groups[self.rows.cursor], self._submissions)
        return Content("\n").join([paint(*line).truncate(width, ellipsis=True) for line in lines])

    def rank(self, submissions: Sequence[Entry]) -> None:
        """Compare the agents beside the screen: with many of them it takes a moment."""
        self._rank(submissions)

    @work(exclusive=True)
    async def _rank(self, submissions: Sequence[Entry]) -> None:
        ranked = await asyncio.to_thread(standings, entries(submissions))
        self._standings = {one.agent: one for one in ranked.agents}
        self.draw(submissions)

    def _cells(self, index: int, width: int) -> Mapping[str, Cell]:
        group = self._groups[index]
        return group_cells(group, self._standings.get(group.agent))

    @on(TableHead.Picked)
    def _head_picked(self, event: TableHead.Picked) -> None:
        event.stop()  # the order of the agents is fixed

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        if event.index < len(self._groups):
            self.post_message(self.Opened(self._groups[event.index]))
