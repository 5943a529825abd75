"""The medal table's keys: what each does, and when it applies."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType

from bioeval_tui.report.formats.registry import Format
from bioeval_tui.text import home_relative, plural
from bioeval_tui.tui.medals import medals_view
from bioeval_tui.tui.medals.medal_table_view import Entry, MedalTable
from bioeval_tui.tui.shared import export_view
from bioeval_tui.tui.shared.ask_line_widget import AskLine
from bioeval_tui.tui.shared.at_rest import AtRest
from bioeval_tui.tui.shared.base import BaseScreen
from bioeval_tui.tui.shared.list_table_widget import TableHead
from bioeval_tui.tui.shared.rows_widget import RowList

if TYPE_CHECKING:
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.tui.medals.medal_groups_view import Group

MEDAL_KEYS: list[BindingType] = [
    Binding("C", "stop", "stop", tooltip="Stop grading; what is graded by now stays"),
    Binding("C", "again", "grade again", tooltip="Grade from the start what was stopped"),
    Binding("slash", "filter", "filter", key_display="/", tooltip="Show rows with these words only"),
    Binding("left", "sort(-1)", "sort", key_display="← →", tooltip="Sort by the column before"),
    Binding("right", "sort(1)", "sort", show=False, tooltip="Sort by the next column"),
    Binding("r", "reverse", "reverse", tooltip="Sort the other way round"),
    Binding("g", "group", "by agent", tooltip="Totals and medals by agent and domain"),
    Binding("g", "ungroup", "every row", tooltip="Every submission again"),
    Binding("v", "review", "review", tooltip="Accept the grading, or mark submissions, of the rows shown"),
    Binding("d", "doctor", "doctor", tooltip="Everything that is wrong with this file"),
    Binding("c", "columns", "columns", tooltip="Choose the columns that are shown"),
    Binding("x", "export", "export", tooltip="Write the rows that are shown"),
    Binding("y", "copy", "copy", tooltip="Copy this row"),
    Binding("escape", "back", "back", tooltip="Clear the filter, then go back"),
]
MOST_REVIEWED = 1000
"""So many rows go into one queue of reviews."""
NEEDS_ROWS = frozenset({"filter", "export", "copy"})
FLAT_ONLY = frozenset({"sort", "reverse", "columns", "group"})


class MedalRows(RowList):
    """The table's rows; enter opens the card."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "card", tooltip="Open the card of this submission")
    ]


class GroupRows(RowList):
    """Agents and their domains; enter shows their submissions."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "submissions", tooltip="Show these submissions only")
    ]


class MedalsKeys(BaseScreen):
    """Actions of the medal table; `MedalsScreen` adds what is seen."""

    table: MedalTable
    rows: MedalRows
    group_rows: GroupRows

    def __init__(self) -> None:
        super().__init__()
        self.at_rest: AtRest = AtRest(self, self._rests)
        self.looked_at: Entry | None = None
        self.marks: dict[int, Opinions] = {}
        """What reviewers say of a row, by the row's identity."""
        self.is_stopped = False
        """Whether somebody stopped the grading."""
        self.grouped = False
        self.groups: list[Group] = []
        self.hidden: frozenset[str] = medals_view.HIDDEN_AT_FIRST

    @property
    def is_grading(self) -> bool:
        """Whether submissions are still to come that this screen waits for."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Arrange and draw."""
        raise NotImplementedError

    def show_rows(self) -> None:
        """Draw the rows as they are arranged."""
        raise NotImplementedError

    def show_card(self) -> None:
        """Show the card of the row that is looked at."""
        raise NotImplementedError

    def focus_rows(self) -> None:
        """Give the focus to the rows that are seen."""
        (self.group_rows if self.grouped else self.rows).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """An empty table has nothing to sort; only a file that is at fault has findings."""
        if action in NEEDS_ROWS:
            return bool(self.table.entries)
        if action in FLAT_ONLY:
            return bool(self.table.entries) and not self.grouped
        if action == "stop":
            return self.is_grading
        if action == "again":
            return self.is_stopped
        if action == "ungroup":
            return self.grouped
        if action == "review":
            entry = self.looked_at
            return not self.grouped and entry is not None and entry.row.folder is not None
        if action == "doctor":
            entry = self.looked_at
            return not self.grouped and entry is not None and entry.standing == "invalid"
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
            from bioeval_tui.tui.medals.medal_detail import MedalDetail

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
        self.show_rows()
        self._settle()

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
        """Sort the other way round."""
        self.table.turn_round()
        self._sorted()

    def _sorted(self) -> None:
        self.show_rows()
        self.bioeval.services.keep("medals.sorting", list(self.table.sorting))

    def action_columns(self) -> None:
        """Choose the columns."""
        from bioeval_tui.tui.shared.columns import ColumnsDialog

        names = [column.name for column in medals_view.COLUMNS]
        self.app.push_screen(ColumnsDialog(names, self.hidden), self._columns_chosen)

    def _columns_chosen(self, hidden: frozenset[str] | None) -> None:
        if hidden is not None and hidden != self.hidden:
            self.hidden = hidden
            self.bioeval.services.keep("medals.hidden", sorted(hidden))
            self.show_rows()

    # Taking away

    def action_copy(self) -> None:
        """Copy the row under the cursor, values separated by tabs."""
        values: list[object]
        if self.grouped:
            group = self.groups[self.group_rows.cursor]
            values = [group.agent, group.domain or "", *group.totals.by.values(), group.totals.average]
        elif self.looked_at is not None:
            values = list(medals_view.exported(self.looked_at.row))
        else:
            return
        self.bioeval.copy_text("\t".join("" if value is None else str(value) for value in values), "this row")

    def action_export(self) -> None:
        """Ask for the format, then write the rows that are shown."""
        from bioeval_tui.tui.shared.export import ExportDialog

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
        except OSError as error:
            self.tell(
                f"The table could not be written to {home_relative(folder)}: {error.strerror}", bad=True
            )
            return
        self.tell(f"Saved {plural(len(self.table.visible), 'row')} in {home_relative(path)}")

    def action_review(self) -> None:
        """Review the rows that are shown, from the one under the cursor on."""
        from bioeval_tui.tui.review.review import ReviewScreen
        from bioeval_tui.tui.review.review_items import ReviewSource

        at = self.table.place_of(self.looked_at)
        entries = [*self.table.visible[at:], *self.table.visible[:at]][:MOST_REVIEWED]
        rows = tuple(entry.row for entry in entries if entry.row.folder is not None)
        self.app.push_screen(ReviewScreen(ReviewSource(rows=rows)))

    def action_doctor(self) -> None:
        """Say everything that is wrong with the file of this row."""
        if self.looked_at is not None:
            from bioeval_tui.tui.medals.findings import examine

            examine(self.bioeval, self.looked_at.row)

    async def action_back(self) -> None:
        """Clear the filter, then go from agents to submissions, then back."""
        if self.table.filter:
            self.query_one("#filter", AskLine).clear()
            self._search("")
        elif self.grouped:
            self._group(False)
        else:
            await self.bioeval.action_go_back()
