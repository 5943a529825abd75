"""The medal table: graded submissions as they arrive, and the card of the selected one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.errors import BioevalError, StorageError
from bioeval_tui.record.reviews import mark_of
from bioeval_tui.report.agents import Standing, standings
from bioeval_tui.report.conclusion import conclude_grading
from bioeval_tui.report.formats.registry import Format
from bioeval_tui.text import home_relative, plural
from bioeval_tui.tui.items import MedalRow
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live.panel_widget import DrawnPanel
from bioeval_tui.tui.medals import medals_view
from bioeval_tui.tui.medals.findings import examine
from bioeval_tui.tui.medals.medal_card_widget import MedalCard
from bioeval_tui.tui.medals.medal_detail import MedalDetail
from bioeval_tui.tui.medals.medal_groups_view import GROUP_COLUMNS, MIN_NAME, group_cells, groups
from bioeval_tui.tui.medals.medal_groups_view import entries as agent_entries
from bioeval_tui.tui.medals.medal_table_view import Entry, MedalTable
from bioeval_tui.tui.review.review_items import ReviewSource
from bioeval_tui.tui.review.review_view import marked
from bioeval_tui.tui.shared import export_view
from bioeval_tui.tui.shared.ask_line_widget import AskLine
from bioeval_tui.tui.shared.at_rest import AtRest
from bioeval_tui.tui.shared.base import BaseScreen
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.columns import ColumnsDialog
from bioeval_tui.tui.shared.copying import Copied, tabbed
from bioeval_tui.tui.shared.export import ExportDialog
from bioeval_tui.tui.shared.list_table_widget import ListTable, TableHead
from bioeval_tui.tui.shared.listing_view import Sorting
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import paint
from bioeval_tui.tui.shared.work import Tell, WorkDialog

if TYPE_CHECKING:
    from bioeval_tui.grade.uncertainty import Uncertainty
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.tui.medals.medal_groups_view import Group

FRAME_S = 0.05
SHARE = 10
"""After a redraw while rows stream in, wait for this many times its duration."""
SLICE_S = 0.008
"""How long rows are added before control returns to the screen, in seconds."""


INTERVALS_S = 0.5
"""Interval of redraws while confidence intervals are computed, in seconds."""
MOST_REVIEWED = 1000
"""Maximum number of rows in one review queue."""
NEEDS_ROWS = frozenset({"filter", "export"})
FLAT_ONLY = frozenset({"sort", "reverse", "columns", "group"})


class MedalRows(RowList):
    """The table's rows; enter opens the card."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~medal-rows")


class GroupRows(RowList):
    """Agents and their domains; enter shows their submissions."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~group-rows")


class MedalsScreen(BaseScreen):
    """Submissions, their medals and their places."""

    NAME = "Medals"
    ABOUT = (
        "Graded submissions: medal, score, percentile on the leaderboard, and what the next medal needs. "
        "Invalid means that the file is at fault; not graded means that it is not."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("medals")
    DEFAULT_CSS = """
    MedalsScreen {
        & #notice { height: 1fr; content-align: center middle; text-align: center; padding: 0 2; }
        & #body { height: 1fr; display: none; }
        & #groups { display: none; }
        & MedalCard { width: 50; border-left: solid $line; display: none; }
        & #totals { height: 2; padding: 0 2; display: none; }
        & #medal-line { height: auto; max-height: 2; padding: 0 2; text-style: bold; display: none; }
        & #trouble { height: auto; max-height: 3; padding: 0 2; color: $text-warning; background: $warning-muted; display: none; }
        &.-filled #body, &.-filled #totals { display: block; }
        &.-filled #notice { display: none; }
        &.-wide MedalCard { display: block; }
        &.-narrow.-normal.-filled #medal-line { display: block; }
        &.-narrow.-tall #body { layout: vertical; }
        &.-narrow.-tall MedalCard { display: block; width: 100%; height: 50%; border-left: none; border-top: solid $line; }
        &.-grouped #medals, &.-grouped MedalCard, &.-grouped #medal-line { display: none; }
        &.-grouped #groups { display: block; }
        &.-short #totals { display: none; }
    }
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (132, "-wide")]  # noqa: RUF012
    """The card is shown beside the table only if the table keeps all its columns."""

    def __init__(self) -> None:
        super().__init__()
        self.at_rest: AtRest = AtRest(self, self._rests)
        self.looked_at: Entry | None = None
        self.marks: dict[int, Opinions] = {}
        """The reviews of each row, by the row's identity."""
        self.samples = False
        """Whether the shown submissions are the samples."""
        self.is_stopped = False
        """Whether the user stopped the grading."""
        self.grouped = False
        self.groups: list[Group] = []
        self.standings: dict[str, Standing] = {}
        """The standings of the agents over tasks, as far as they have been computed."""
        self.hidden: frozenset[str] = medals_view.HIDDEN_AT_FIRST
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
        yield Static(id="medal-line", markup=False)
        totals = DrawnPanel()
        totals.id = "totals"
        yield totals
        yield AskLine("filter", "task, agent or medal", id="filter")

    def on_mount(self) -> None:
        """Restore sorting and columns, and begin to take in rows."""
        kept = self.bioeval.services.preferences
        match kept.get("medals.sorting"):
            case [int(column), bool(reverse)] if 0 <= column < len(medals_view.COLUMNS):
                self.table.sorting = Sorting(column, reverse)
        match kept.get("medals.hidden"):
            case [*names] if all(isinstance(name, str) for name in names):
                self.hidden = frozenset(names)
        self.query_one("#totals", DrawnPanel).draw(self._totals)
        self.redraw()
        if self.bioeval.services.has_submissions:
            self._grade()
        else:
            self._all_taken()

    def _grade(self) -> None:
        self.run_worker(self._take(self.bioeval.services.medals()), group="medals")

    def action_grade_samples(self) -> None:
        """Grade the sample submissions."""
        self.samples = True
        self._done = False
        self.redraw()
        self.refresh_bindings()
        self._grade()

    async def _take(self, rows: AsyncIterator[MedalRow | None]) -> None:
        """Add the existing rows, then follow new reports in a worker without end."""
        began = monotonic()
        try:
            async for row in rows:
                if row is None:
                    self._watching = True
                    self._all_taken()
                    self.run_worker(self._take(rows), group="feed")
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
        """Stop grading; finished results are kept."""
        self.workers.cancel_group(self, "medals")
        self.is_stopped = True
        self._all_taken()

    def action_again(self) -> None:
        """Grade again from the start."""
        before, self.table = self.table, MedalTable()
        self.table.sorting, self.table.filter = before.sorting, before.filter
        self.looked_at, self.marks = None, {}
        self.is_stopped = self._done = False
        self.redraw()
        self.refresh_bindings()
        self._grade()

    def _all_taken(self) -> None:
        """Draw the rows so far and their reviews."""
        self._done = True
        self.redraw()
        self.refresh_bindings()
        self._read_marks()
        self._read_intervals()

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
        """Refresh everything; a cursor that was moved stays on its row."""
        began = monotonic()
        self.table.arrange()
        self.show_rows()
        self._pause = max(FRAME_S, SHARE * (monotonic() - began))

    def show_rows(self) -> None:
        """Draw the rows in their order."""
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
        """Show the reviews, now and whenever the table is shown again."""
        if self.table.entries:
            self._read_marks()

    def _read_marks(self) -> None:
        self.run_worker(self._take_marks(), group="marks")

    async def _take_marks(self) -> None:
        rows = [entry.row for entry in self.table.entries if entry.row.folder is not None]
        if not rows:
            return
        try:
            found = await self.bioeval.services.marks(rows)
        except (BioevalError, OSError) as error:
            self.tell(f"Could not read the reviews: {error}", bad=True)
            return
        marks = {id(row): opinions for row, opinions in zip(rows, found, strict=True) if opinions}
        if marks != self.marks:
            self.marks = marks
            self.show_rows()

    def _group_cells(self, index: int, width: int) -> Mapping[str, Cell]:
        group = self.groups[index]
        return group_cells(group, self.standings.get(group.agent))

    def show_card(self) -> None:
        """Show the card of the row that is looked at."""
        row = self.looked_at.row if self.looked_at else None
        self.query_one(MedalCard).show(row, self.marks.get(id(row)) if row else None)
        said = conclude_grading(row.report).sentence if row and row.report else ""
        self.query_one("#medal-line", Static).update(Content(said))

    def _show_words(self) -> None:
        count = len(self.table.entries)
        shown = len(self.table.visible)
        notes = [
            *([Cell("shipped samples", "warn")] if self.samples else []),
            Cell(plural(count, "report"), "quiet"),
            Cell(plural(self.table.totals().agents, "agent"), "quiet"),
        ]
        if self.table.filter:
            notes.append(Cell(f"{shown:,} shown: “{self.table.filter}”", "warn"))
        ended = (
            Cell("■ stopped before the rest was graded", "warn")
            if self.is_stopped
            else Cell("■ all graded" if count else "")
        )
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
        looked = [("\n\n" + "\n".join(self.bioeval.services.looked), "$quiet")]
        if not self._done:
            return Content.assemble(("Waiting for the first graded submission…", "bold"), *looked)
        if self.is_stopped:
            return Content.styled("Grading was stopped before the first submission was done", "bold")
        return Content.assemble(
            ("Nothing is graded yet\n\n", "bold"),
            (
                f"{self.key('grade_samples')}  grade three sample submissions, to see what this looks like\n\n",
                "$text-accent",
            ),
            ("bioeval-tui grade SUBMISSIONS.jsonl --output-dir DIR grades files;\n", "$quiet"),
            ("bioeval-tui medals REPORT.json shows earlier results.", "$quiet"),
            *looked,
        )

    def on_resize(self) -> None:
        """Another width, other lines."""
        self.call_after_refresh(self._fit_totals)

    def _fit_totals(self) -> None:
        totals = self.query_one("#totals", DrawnPanel)
        totals.styles.height = len(medals_view.totals_lines(self.table.totals(), self.size.width - 4))
        totals.refresh()

    def _totals(self, width: int) -> Content:
        lines = medals_view.totals_lines(self.table.totals(), width)
        return Content("\n").join([paint(*line).truncate(width, ellipsis=True) for line in lines])

    # Keys

    def focus_rows(self) -> None:
        """Focus the visible rows."""
        (self.group_rows if self.grouped else self.rows).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Sorting needs rows; findings need a faulty file."""
        if action in NEEDS_ROWS:
            return bool(self.table.entries)
        if action in FLAT_ONLY:
            return bool(self.table.entries) and not self.grouped
        if action == "stop":
            return self.is_grading
        if action == "again":
            return self.is_stopped
        if action == "grade_samples":
            return self._done and not self.table.entries and not self.is_stopped and not self._failure
        if action == "ungroup":
            return self.grouped
        if action == "review":
            entry = self.looked_at
            return not self.grouped and entry is not None and entry.row.folder is not None
        if action == "validate":
            entry = self.looked_at
            return not self.grouped and entry is not None and entry.standing == "invalid"
        if action == "prepare":
            entry = self.looked_at
            return not self.grouped and self._done and entry is not None and entry.row.lacks_data
        return True

    # Looking around

    @on(RowList.Highlighted)
    def _moved(self, event: RowList.Highlighted) -> None:
        if event.rows is self.rows:
            self.looked_at = self.entry_at(event.index)
            self.at_rest.moved()

    def _rests(self) -> None:
        self.show_card()
        self.refresh_bindings()

    def entry_at(self, index: int) -> Entry | None:
        """Return the entry of a row."""
        visible = self.table.visible
        return visible[index] if index < len(visible) else None

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        if event.rows is self.group_rows:
            self._show_group(event.index)
        elif self.looked_at is not None:
            row = self.looked_at.row
            self.app.push_screen(MedalDetail(row, self.marks.get(id(row))))

    def _show_group(self, index: int) -> None:
        if index < len(self.groups):
            words = self.groups[index].words
            self.grouped = False
            self.set_class(False, "-grouped")
            self._search(words)
            self._settle()

    def action_group(self) -> None:
        """Show the totals by agent."""
        self._group(True)

    def action_ungroup(self) -> None:
        """Show every submission."""
        self._group(False)

    def _group(self, grouped: bool) -> None:
        self.grouped = grouped
        self.set_class(grouped, "-grouped")
        if grouped:
            self.run_worker(self._rank_agents(), group="ranks", exclusive=True)
        self.show_rows()
        self._settle()

    async def _rank_agents(self) -> None:
        """Compare the agents on the rows that are shown, beside the screen: with many agents it takes a moment."""
        found = await asyncio.to_thread(standings, agent_entries(self.table.visible))
        self.standings = {one.agent: one for one in found.agents}
        if self.grouped:
            self.show_rows()

    def _settle(self) -> None:
        self.refresh_bindings()
        self.call_after_refresh(self.focus_rows)

    # Filter and order

    def action_filter(self) -> None:
        """Open the line for the filter."""
        self.query_one("#filter", AskLine).open(self.table.filter)
        self.call_after_refresh(self.table.read_words)

    def _search(self, text: str) -> None:
        self.table.filter = text
        self.redraw()

    @on(AskLine.Typed)
    def _typed(self, event: AskLine.Typed) -> None:
        self._search(event.text)
        event.line.remark(plural(len(self.table.visible), "row"))

    @on(AskLine.Entered)
    def _entered(self, event: AskLine.Entered) -> None:
        event.line.close()
        self.focus_rows()

    @on(AskLine.Closed)
    def _filter_closed(self, event: AskLine.Closed) -> None:
        event.line.clear()
        self._search("")
        self.focus_rows()

    @on(TableHead.Picked)
    def _head_picked(self, event: TableHead.Picked) -> None:
        if not self.grouped:
            self._sort_by(self._places()[event.column])

    def _places(self) -> list[int]:
        """Return the numbers of the columns that are shown."""
        return [at for at, column in enumerate(medals_view.COLUMNS) if column.name not in self.hidden]

    def action_sort(self, by: int) -> None:
        """Sort by another column."""
        places = self._places()
        now = self.table.sorting.column
        at = places.index(now) if now in places else 0
        self._sort_by(places[(at + by) % len(places)])

    def _sort_by(self, column: int) -> None:
        self.table.sort_by(column)
        self._sorted()

    def action_reverse(self) -> None:
        """Reverse the order."""
        self.table.turn_round()
        self._sorted()

    def _sorted(self) -> None:
        self.show_rows()
        self.bioeval.services.keep("medals.sorting", list(self.table.sorting))

    def action_columns(self) -> None:
        """Choose the columns."""
        names = [column.name for column in medals_view.COLUMNS]
        self.app.push_screen(ColumnsDialog(names, self.hidden), self._columns_chosen)

    def _columns_chosen(self, hidden: frozenset[str] | None) -> None:
        if hidden is not None and hidden != self.hidden:
            self.hidden = hidden
            self.bioeval.services.keep("medals.hidden", sorted(hidden))
            self.show_rows()

    # Export

    def copies(self) -> Sequence[Copied]:
        """The row under the cursor and all rows that are shown, numbers unrounded; by agent, as they are shown."""
        entry, shown = self.looked_at, self.table.visible
        if self.grouped or entry is None:
            return ()
        return (
            Copied("this submission, separated by tabs", lambda: tabbed([medals_view.exported(entry.row)])),
            Copied(
                f"the submissions shown ({len(shown):,}), separated by tabs",
                lambda: tabbed([medals_view.EXPORTED, *(medals_view.exported(one.row) for one in shown)]),
            ),
        )

    def caption(self) -> str:
        """The conclusion on the selected submission."""
        return str(self.query_one("#medal-line", Static).content)

    def action_export(self) -> None:
        """Ask for the format, then write the rows that are shown."""
        folder = self.bioeval.folder
        self.app.push_screen(ExportDialog(len(self.table.visible), folder), self._export)

    def _export(self, chosen: Format | None) -> None:
        if chosen is None:
            return
        values = (medals_view.exported(entry.row) for entry in self.table.visible)
        folder: Path = self.bioeval.folder
        try:
            text = str(chosen.write("table", medals_view.EXPORTED, values))
            path = export_view.save(text, folder, "bioeval-tui-medals", chosen.endings[0], datetime.now())
        except StorageError as error:
            self.tell(f"Could not write the table: {error}", bad=True)
            return
        self.tell(f"Saved {plural(len(self.table.visible), 'row')} in {home_relative(path)}")

    def action_review(self) -> None:
        """Review the rows that are shown, from the one under the cursor on."""
        at = self.table.place_of(self.looked_at)
        entries = [*self.table.visible[at:], *self.table.visible[:at]][:MOST_REVIEWED]
        rows = tuple(entry.row for entry in entries if entry.row.folder is not None)
        self.bioeval.review(ReviewSource(rows=rows))

    def action_validate(self) -> None:
        """Show everything that is wrong with this row's file."""
        if self.looked_at is not None:
            examine(self.bioeval, self.looked_at.row)

    def action_prepare(self) -> None:
        """Prepare the task of this row, showing progress, then grade its submissions."""
        if self.looked_at is None:
            return
        task_id, services = self.looked_at.row.task_id, self.bioeval.services
        waiting = [
            e.row for e in self.table.entries if e.row.task_id == task_id and e.standing == "not_graded"
        ]

        async def work(tell: Tell) -> dict[int, MedalRow]:
            async with aclosing(cast("AsyncGenerator[str]", services.prepare(task_id))) as told:
                async for sentence in told:
                    tell(sentence)
            tell(f"grading {plural(len(waiting), 'submission')}")
            return {id(row): await services.grade(task_id, str(row.path)) for row in waiting if row.path}

        self.app.push_screen(WorkDialog(f"Preparing {task_id}", work), self._prepared)

    def _prepared(self, graded: dict[int, MedalRow] | None) -> None:
        """Put the rows that were graded now in the places of those that were not."""
        if graded:
            self._put(graded)
            self._read_intervals()

    def _put(self, rows: dict[int, MedalRow]) -> None:
        """Put rows in the places of others, known by their identity; the cursor and the reviews stay with them."""
        at = self.looked_at
        self.table.put(rows)
        if at is not None:
            row = rows.get(id(at.row), at.row)
            self.looked_at = next((entry for entry in self.table.entries if entry.row is row), None)
        self.marks |= {id(row): self.marks[old] for old, row in rows.items() if old in self.marks}
        self.redraw()
        self.refresh_bindings()

    def _read_intervals(self) -> None:
        """Resample the scores in the background."""
        self.run_worker(self._take_intervals(), group="intervals", exclusive=True)

    async def _take_intervals(self) -> None:
        rows = [entry.row for entry in self.table.entries]
        if not rows:
            return
        waiting: dict[int, MedalRow] = {}
        began = monotonic()
        found = self.bioeval.services.intervals(rows)
        try:
            async with aclosing(cast("AsyncGenerator[tuple[MedalRow, Uncertainty]]", found)) as intervals:
                async for row, sure in intervals:
                    assert row.report is not None
                    waiting[id(row)] = replace(row, report=replace(row.report, uncertainty=sure))
                    if monotonic() - began > INTERVALS_S:
                        self._put(waiting)
                        waiting, began = {}, monotonic()
        except (BioevalError, OSError) as error:
            self.tell(f"Could not compute the intervals of the scores: {error}", bad=True)
        if waiting:
            self._put(waiting)

    async def action_back(self) -> None:
        """Clear the filter, then go from agents to submissions, then back."""
        if self.table.filter:
            self.query_one("#filter", AskLine).clear()
            self._search("")
        elif self.grouped:
            self._group(False)
        else:
            await self.bioeval.action_go_back()
