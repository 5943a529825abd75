"""The medal table: graded submissions as they arrive, and the card of the one looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from time import monotonic

from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.errors import BioevalError
from bioeval_tui.record.reviews import mark_of
from bioeval_tui.text import plural
from bioeval_tui.tui.live.panel_widget import Drawn
from bioeval_tui.tui.medals import medals_view
from bioeval_tui.tui.medals.medal_card_widget import MedalCard
from bioeval_tui.tui.medals.medal_groups_view import GROUP_COLUMNS, MIN_NAME, group_cells, groups
from bioeval_tui.tui.medals.medal_table_view import MedalTable
from bioeval_tui.tui.medals.medals_keys import MEDAL_KEYS, GroupRows, MedalRows, MedalsKeys
from bioeval_tui.tui.review.review_view import marked
from bioeval_tui.tui.services import MedalRow
from bioeval_tui.tui.shared.ask_line_widget import AskLine
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.list_table_widget import ListTable
from bioeval_tui.tui.shared.listing_view import Sorting
from bioeval_tui.tui.shared.tones import paint

FRAME_S = 0.05
SHARE = 10
"""A redrawing while rows stream in is followed by a pause of this many times what it took."""
SLICE_S = 0.008
"""How long rows are taken in before the screen gets its turn."""


class MedalsScreen(MedalsKeys):
    """Submissions, their medals, and where each stands."""

    NAME = "Medals"
    ABOUT = (
        "Graded submissions: medal, score, percentile on the leaderboard, and what the next medal needs. "
        "Invalid is the file's fault; not graded is ours."
    )
    BINDINGS = MEDAL_KEYS
    DEFAULT_CSS = """
    MedalsScreen {
        & #notice { height: 1fr; content-align: center middle; text-align: center; padding: 0 2; }
        & #body { height: 1fr; display: none; }
        & #groups { display: none; }
        & MedalCard { width: 50; border-left: solid $line; display: none; }
        & #totals { height: 2; padding: 0 2; display: none; }
        & #trouble { height: auto; max-height: 3; padding: 0 2; color: $text-warning; background: $warning-muted; display: none; }
        &.-filled #body, &.-filled #totals { display: block; }
        &.-filled #notice { display: none; }
        &.-wide MedalCard { display: block; }
        &.-grouped #medals, &.-grouped MedalCard { display: none; }
        &.-grouped #groups { display: block; }
        &.-short #totals { display: none; }
    }
    """

    def __init__(self, source: Callable[[], AsyncIterator[MedalRow | None]]) -> None:
        super().__init__()
        self._source = source
        self.table = MedalTable()
        self.rows = MedalRows()
        self.group_rows = GroupRows()
        self._listing = ListTable(self.rows, medals_view.COLUMNS, medals_view.MIN_TASK)
        self._listing.id = "medals"
        self._grouping = ListTable(self.group_rows, GROUP_COLUMNS, MIN_NAME)
        self._grouping.id = "groups"
        self._redraw_planned = False
        self._pause = FRAME_S
        self._done = False
        self._watching = False
        self._failure = ""

    def compose_body(self) -> Iterable[Widget]:
        """Table, card, totals."""
        yield Static(id="trouble", markup=False)
        yield Static(id="notice", markup=False)
        with Horizontal(id="body"):
            with Vertical():
                yield self._listing
                yield self._grouping
            yield MedalCard()
        totals = Drawn()
        totals.id = "totals"
        yield totals
        yield AskLine("filter", "words of task, agent or medal", id="filter")

    def on_mount(self) -> None:
        """Restore sorting and columns, and begin to take in rows."""
        kept = self.bioeval.services.preferences
        match kept.get("medals.sorting"):
            case [int(column), bool(reverse)] if 0 <= column < len(medals_view.COLUMNS):
                self.table.sorting = Sorting(column, reverse)
        match kept.get("medals.hidden"):
            case [*names] if all(isinstance(name, str) for name in names):
                self.hidden = frozenset(names)
        self.query_one("#totals", Drawn).draw(self._totals)
        self.redraw()
        self.run_worker(self._take(self._source()), group="medals", exit_on_error=False)

    async def _take(self, rows: AsyncIterator[MedalRow | None]) -> None:
        """Take in what there is; what is written later is followed in a worker that has no end."""
        began = monotonic()
        try:
            async for row in rows:
                if row is None:
                    self._watching = True
                    self._all_taken()
                    self.run_worker(self._take(rows), group="feed", exit_on_error=False)
                    return
                self._done = False
                self.table.add(row)
                self._redraw_soon()
                if monotonic() - began > SLICE_S:
                    await asyncio.sleep(0)
                    began = monotonic()
        except (BioevalError, OSError) as error:
            self._failure = str(error) or type(error).__name__
        except asyncio.CancelledError:
            if isinstance(rows, AsyncGenerator):
                await rows.aclose()  # and with it who grades
            raise
        self._watching = False
        self._all_taken()

    @property
    def is_grading(self) -> bool:
        """Whether submissions are still to come that this screen waits for."""
        return not self._done and not self._watching

    def action_stop(self) -> None:
        """Stop the grading; what is graded by now stays."""
        self.workers.cancel_group(self, "medals")
        self.is_stopped = True
        self._all_taken()

    def action_again(self) -> None:
        """Grade from the start what was stopped."""
        before, self.table = self.table, MedalTable()
        self.table.sorting, self.table.filter = before.sorting, before.filter
        self.looked_at, self.marks = None, {}
        self.is_stopped = self._done = False
        self.redraw()
        self.refresh_bindings()
        self.run_worker(self._take(self._source()), group="medals", exit_on_error=False)

    def _all_taken(self) -> None:
        """Draw what is there by now, and what reviewers say of it."""
        self._done = True
        self.redraw()
        self.refresh_bindings()
        self._read_marks()

    def _redraw_soon(self) -> None:
        """Redraw the first row at once, later ones at most once a frame, and more seldom as the table grows."""
        if len(self.table.entries) == 1:
            self.redraw()
        elif not self._redraw_planned:
            self._redraw_planned = True
            self.set_timer(self._pause, self._redraw_planned_one)

    def _redraw_planned_one(self) -> None:
        self._redraw_planned = False
        if not self._done:
            self.redraw()

    # Drawing

    def redraw(self) -> None:
        """Bring everything into step with the table; the cursor stays on its row once it was moved."""
        began = monotonic()
        self.table.arrange()
        self.show_rows()
        self._pause = max(FRAME_S, SHARE * (monotonic() - began))

    def show_rows(self) -> None:
        """Draw the rows as they are arranged."""
        table = self.table
        filled = bool(table.entries)
        if filled != self.has_class("-filled"):
            self.set_class(filled, "-filled")
            self.refresh_bindings()
        columns = [column for column in medals_view.COLUMNS if column.name not in self.hidden]
        self._listing.set_columns(columns)
        place = next(
            (at for at, c in enumerate(columns) if c is medals_view.COLUMNS[table.sorting.column]), -1
        )
        self._listing.show(len(table.visible), self._cells, Sorting(place, table.sorting.reverse))
        if self.grouped:
            self.groups = groups(table.visible)
            self._grouping.show(len(self.groups), self._group_cells, Sorting(-1))
        at = table.place_of(self.looked_at) if self.rows.steered else 0
        if at != self.rows.cursor:
            self.rows.move_to(at)
        self.looked_at = self.entry_at(at)
        self.show_card()
        self._fit_totals()
        self._show_words()
        if filled and self.focused is None:
            self.focus_rows()

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

    def on_screen_resume(self) -> None:
        """Show what reviewers say, now and whenever the table is come back to."""
        if self.table.entries:
            self._read_marks()

    def _read_marks(self) -> None:
        self.run_worker(self._take_marks(), group="marks", exit_on_error=False)

    async def _take_marks(self) -> None:
        rows = [entry.row for entry in self.table.entries if entry.row.folder is not None]
        if not rows:
            return
        try:
            found = await self.bioeval.services.marks(rows)
        except (BioevalError, OSError) as error:
            self.tell(f"The reviews could not be read: {error}", bad=True)
            return
        marks = {id(row): opinions for row, opinions in zip(rows, found, strict=True) if opinions}
        if marks != self.marks:
            self.marks = marks
            self.show_rows()

    def _group_cells(self, index: int, width: int) -> Mapping[str, Cell]:
        return group_cells(self.groups[index])

    def show_card(self) -> None:
        """Show the card of the row that is looked at."""
        row = self.looked_at.row if self.looked_at else None
        self.query_one(MedalCard).show(row, self.marks.get(id(row)) if row else None)

    def _show_words(self) -> None:
        count = len(self.table.entries)
        shown = len(self.table.visible)
        notes = [
            Cell(plural(count, "report"), "quiet"),
            Cell(plural(self.table.totals().agents, "agent"), "quiet"),
        ]
        if self.table.filter:
            notes.append(Cell(f"{shown:,} shown: “{self.table.filter}”", "warn"))
        ended = Cell("■ stopped, the rest is not graded", "warn") if self.is_stopped else Cell("✓ all graded")
        done = Cell("● watching", "quiet") if self._watching else ended
        state = done if self._done and not self._failure else Cell("● grading…", "busy")
        self.title_bar.say(
            (self.NAME, "by agent") if self.grouped else (self.NAME,),
            notes if count else (),
            Cell("! stopped", "bad") if self._failure else state,
        )
        trouble = self.query_one("#trouble", Static)
        trouble.display = bool(self._failure)
        trouble.update(Content(f"! Grading stopped: {self._failure}"))
        self.query_one("#notice", Static).update(self._notice())

    def _notice(self) -> Content:
        if not self._done:
            return Content.styled("Waiting for the first graded submission…", "bold")
        if self.is_stopped:
            return Content.styled("Grading was stopped before the first submission was done", "bold")
        return Content.assemble(
            ("Nothing is graded yet\n\n", "bold"),
            ("bioeval-tui grade SUBMISSIONS.jsonl --output-dir DIR grades files;\n", "$quiet"),
            ("bioeval-tui medals REPORT.json shows what was graded before.", "$quiet"),
        )

    def on_resize(self) -> None:
        """Another width, other lines."""
        self.call_after_refresh(self._fit_totals)

    def _fit_totals(self) -> None:
        totals = self.query_one("#totals", Drawn)
        totals.styles.height = len(medals_view.totals_lines(self.table.totals(), self.size.width - 4))
        totals.refresh()

    def _totals(self, width: int) -> Content:
        lines = medals_view.totals_lines(self.table.totals(), width)
        return Content("\n").join([paint(*line).truncate(width, ellipsis=True) for line in lines])
