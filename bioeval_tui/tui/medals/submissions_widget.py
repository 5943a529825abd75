"""The table of graded submissions: sorted and filtered, with their reviews; the cursor stays on its submission."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.binding import BindingType
from textual.message import Message

from bioeval_tui.errors import BioevalError
from bioeval_tui.record.reviews import mark_of
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.medals import medals_view
from bioeval_tui.tui.medals.medals_view import Entry, MedalTable
from bioeval_tui.tui.review_view import marked
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.list_table import ListTable, Sorting, TableHead
from bioeval_tui.tui.shared.rows_widget import RowList

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bioeval_tui.grade.task_report import Uncertainty
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.items import MedalRow
    from bioeval_tui.tui.shared.base import BaseScreen
    from bioeval_tui.tui.shared.program import Program

INTERVALS_S = 0.5
"""Interval of redraws while confidence intervals are computed, in seconds."""


class MedalRows(RowList):
    """The table's rows; enter opens the card."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~medal-rows")


class Submissions(ListTable):
    """One row a submission. Posts `Changed` when the rows, or what is known of them, have changed."""

    KEYS: ClassVar[str] = "medals/submissions"

    class Changed(Message):
        """Other rows are shown, in another order, or with other values."""

    def __init__(self) -> None:
        super().__init__(MedalRows(), medals_view.COLUMNS, medals_view.MIN_TASK, medals_view.TASK_WIDTH)
        self.id = "medals"
        self.table = MedalTable()
        self.looked_at: Entry | None = None
        """The submission under the cursor."""
        self.marks: dict[int, Opinions] = {}
        """The reviews of each row, by the row's identity."""

    @property
    def opinions(self) -> Opinions | None:
        """The reviews of the selected submission."""
        return self.marks.get(id(self.looked_at.row)) if self.looked_at else None

    def restore(self) -> None:
        """Apply the saved sorting."""
        kept = self._services.preferences
        match kept.get("medals.sorting"):
            case [int(column), bool(reverse)] if 0 <= column < len(medals_view.COLUMNS):
                self.table.sorting = Sorting(column, reverse)

    @property
    def _services(self) -> AppServices:
        return cast("Program", self.app).services

    def _tell(self, sentence: str) -> None:
        self.app.notify(sentence, severity="warning", markup=False)

    # Rows

    def clear(self) -> None:
        """Remove every row; sorting and filter stay."""
        before, self.table = self.table, MedalTable()
        self.table.sorting, self.table.filter = before.sorting, before.filter
        self.looked_at, self.marks = None, {}

    def put(self, rows: Mapping[int, MedalRow]) -> None:
        """Put rows in the places of others, known by their identity; the cursor and the reviews stay with them."""
        at = self.looked_at
        self.table.put(rows)
        if at is not None:
            row = rows.get(id(at.row), at.row)
            self.looked_at = next((entry for entry in self.table.entries if entry.row is row), None)
        self.marks |= {id(row): self.marks[old] for old, row in rows.items() if old in self.marks}
        self.redraw()

    def redraw(self) -> None:
        """Filter, sort and draw; a cursor that was moved stays on its row."""
        self.table.arrange()
        self.draw()

    def draw(self) -> None:
        """Draw the rows in their order."""
        table = self.table
        self.show(len(table.visible), self._cells, table.sorting)
        at = table.place_of(self.looked_at) if self.rows.user_moved else 0
        if at != self.rows.cursor:
            self.rows.move_to(at)
        self._look_at(at)
        self.post_message(self.Changed())

    @on(RowList.Highlighted)
    def _moved(self, event: RowList.Highlighted) -> None:
        self._look_at(event.index)

    def _look_at(self, index: int) -> None:
        visible = self.table.visible
        self.looked_at = visible[index] if index < len(visible) else None

    def _cells(self, index: int, width: int) -> Mapping[str, Cell]:
        row = self.table.visible[index].row
        cells = medals_view.row_cells(row)
        if len(row.task_id) > width:
            # Its own name says more than its domain.
            name = row.task_id.rpartition("/")[2]
            cells["task"] = Cell(f"…/{name}" if len(name) + 2 <= width else name)
        if opinions := self.marks.get(id(row)):
            cells["medal"] = marked(cells["medal"], medals_view.graded_as(row), mark_of(opinions))
        return cells

    def search(self, text: str) -> None:
        """Show only rows with these words."""
        self.table.filter = text
        self.redraw()

    # Reviews and intervals

    def read_marks(self) -> None:
        """Read the reviews, in the background."""
        self._take_marks()

    @work(group="marks")
    async def _take_marks(self) -> None:
        rows = [entry.row for entry in self.table.entries if entry.row.folder is not None]
        if not rows:
            return
        try:
            opinions_of = await self._services.marks(rows)
        except (BioevalError, OSError) as error:
            self._tell(f"Could not read the reviews: {error}")
            return
        marks = {id(row): opinions for row, opinions in zip(rows, opinions_of, strict=True) if opinions}
        if marks != self.marks:
            self.marks = marks
            self.draw()

    def read_intervals(self) -> None:
        """Resample the scores in the background."""
        self._take_intervals()

    @work(group="intervals", exclusive=True)
    async def _take_intervals(self) -> None:
        rows = [entry.row for entry in self.table.entries]
        if not rows:
            return
        waiting: dict[int, MedalRow] = {}
        began = monotonic()
        arriving = self._services.intervals(rows)
        try:
            async with aclosing(cast("AsyncGenerator[tuple[MedalRow, Uncertainty]]", arriving)) as intervals:
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
        return bool(self.table.entries) and self.display

    @on(TableHead.Picked)
    def _head_picked(self, event: TableHead.Picked) -> None:
        self._sort_by(event.column)

    def action_sort(self, by: int) -> None:
        """Sort by another column."""
        self._sort_by(self.table.sorting.column + by)

    def _sort_by(self, column: int) -> None:
        self.table.sort_by(column)
        self._sorted()

    def action_reverse(self) -> None:
        """Reverse the order."""
        self.table.reverse()
        self._sorted()

    def _sorted(self) -> None:
        self.draw()
        self._services.keep("medals.sorting", list(self.table.sorting))


FRAME_S = 0.05
SHARE = 10
"""After a redraw while rows stream in, wait for this many times its duration."""
SLICE_S = 0.008
"""How long rows are added before control returns to the screen, in seconds."""


class GradedFeed:
    """Grades, or reads reports, in a worker of the screen; calls `taken` once the existing rows are in."""

    def __init__(self, screen: BaseScreen, submissions: Submissions, taken: Callable[[], None]) -> None:
        self._screen = screen
        self._submissions = submissions
        self._taken = taken
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
    def state(self) -> Cell:
        """The state for the title."""
        if self.failure:
            return Cell("! stopped", "bad")
        if not self.is_done:
            return Cell("● grading…", "busy")
        if self._watching:
            return Cell("● watching", "quiet")
        if self.is_stopped:
            return Cell("■ stopped before the rest was graded", "warn")
        return Cell("■ all graded" if self._submissions.table.entries else "")

    def start(self) -> None:
        """Take rows in."""
        self.is_stopped = self.is_done = False
        self._screen.run_worker(self._take(self._screen.bioeval.services.medals()), group="medals")

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

    async def _take(self, rows: AsyncIterator[MedalRow | None]) -> None:
        """Add the existing rows, then follow new reports in a worker without end."""
        began = monotonic()
        try:
            async for row in rows:
                if row is None:
                    self._watching = True
                    self.finish()
                    self._screen.run_worker(self._take(rows), group="feed")
                    return
                self.is_done = False
                self._submissions.table.add(row)
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
        self._watching = False
        self.finish()

    def _redraw_soon(self) -> None:
        """Redraw the first row at once, later ones at most once a frame, and more seldom as the table grows."""
        if len(self._submissions.table.entries) == 1:
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
