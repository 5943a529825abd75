"""Agents and their domains: medals, averages and ranks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from bioeval_tui.report.agents import Standing, standings
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live.panel_widget import DrawnPanel
from bioeval_tui.tui.medals.medal_groups_view import (
    GROUP_COLUMNS,
    MIN_NAME,
    Group,
    entries,
    group_cells,
    groups,
    submission_lines,
)
from bioeval_tui.tui.shared.list_table_widget import ListTable, TableHead
from bioeval_tui.tui.shared.listing_view import Sorting
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import paint

if TYPE_CHECKING:
    from bioeval_tui.tui.medals.medal_table_view import Entry
    from bioeval_tui.tui.shared.cells_view import Cell


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
        self.run_worker(self._rank(submissions), exclusive=True)

    async def _rank(self, submissions: Sequence[Entry]) -> None:
        found = await asyncio.to_thread(standings, entries(submissions))
        self._standings = {one.agent: one for one in found.agents}
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
