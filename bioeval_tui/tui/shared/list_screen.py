"""The base of the jobs, runs and benchmarks screens: a table that is refreshed, filtered and
sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from textual import on
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.tui.shared.base import AtRest, RefreshedScreen, unreadable
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.line_widgets import FilterLine
from bioeval_tui.tui.shared.list_table import Listing
from bioeval_tui.tui.shared.output import Copied, tabbed
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.sorted_table import SortedTable

Item = TypeVar("Item")
TIMES_MOVE_S = 10.0
"""How often rows are drawn anew because they say how long ago something was, in seconds."""
LONGEST_NAME = 48
"""Up to this width, in cells, names in the first column are whole before other columns get room."""


class ListScreen(RefreshedScreen, Generic[Item]):
    """A table on the left, the selected row's details on the right.

    Subclasses load the items, draw a row's cells and follow the cursor.
    """

    REFRESH_S: ClassVar[float] = 1.0
    """Interval of reloading while the screen is visible; 0 for never."""
    NEEDS_ROWS: ClassVar[frozenset[str]] = frozenset({"filter", "sort", "reverse"})
    LEAST: ClassVar[int] = 16
    LOADING: ClassVar[str] = "Reading…"
    AUTO_FOCUS = ""
    SIDE: ClassVar[int] = 40
    """Least width of the side.

    It is beside the table only where the table keeps all its columns, otherwise below.
    """
    DEFAULT_CSS = """
    ListScreen {
        & #body { height: 1fr; display: none; layout: horizontal; }
        & #side { border-left: solid $line; }
        &.-filled #body { display: block; }
        &.-narrow #body { layout: vertical; }
        &.-narrow #side { height: 1fr; border-left: none; border-top: solid $line; }
        &.-short #side { display: none; }
    }
    """

    def __init__(self, listing: Listing[Item], rows: RowList) -> None:
        super().__init__()
        self.listing = listing
        self.table: SortedTable[Item] = SortedTable(
            rows,
            listing,
            lambda item, _: self.cells(item),
            f"{self.NAME.lower()}.sorting",
            self.LEAST,
            whole=True,
        )
        # where the side goes depends on the names in the table, too
        self.HORIZONTAL_BREAKPOINTS = []
        self.at_rest: AtRest = AtRest(self, self._rests)
        self.loaded = False
        self.failure = ""
        self.exact = False
        """Whether times are shown exactly, on screens that have a key for it."""

    @property
    def looked_at(self) -> Item | None:
        """The item under the cursor."""
        return self.table.looked_at

    # For subclasses

    async def load(self) -> Sequence[Item]:
        """Return the items as they are now."""
        raise NotImplementedError

    def cells(self, item: Item) -> Mapping[str, Cell | Content]:
        """Return a row's cells by column name."""
        raise NotImplementedError

    def compose_side(self) -> Iterable[Widget]:
        """Yield the widgets beside the table."""
        return ()

    def look(self, item: Item | None) -> None:
        """Follow the cursor."""

    def notes(self) -> list[Cell]:
        """Return the title's notes."""
        return []

    def state(self) -> Cell:
        """Return the status at the right end of the title."""
        return Cell("")

    def empty(self) -> list[Cell]:
        """Return the text of an empty screen: what to do first."""
        return []

    # Life

    def compose_body(self) -> Iterable[Widget]:
        """Lay out the error line, table, side pane and filter."""
        yield Static(id="trouble", markup=False)
        yield Static(id="notice", markup=False)
        with Container(id="body"):
            yield self.table
            with Container(id="side"):
                yield from self.compose_side()
        yield FilterLine("text to look for", self.table.search, self.table.rows.focus)

    def on_mount(self) -> None:
        """Restore the sorting, and load."""
        kept = self.bioeval.services.preferences
        self.exact = kept.get(f"{self.NAME.lower()}.exact") is True
        self.table.restore()
        self.redraw()
        self.refresh_items()
        if self.REFRESH_S:
            self.refresh_every(self.REFRESH_S)
        self.set_interval(TIMES_MOVE_S, self._move_times)

    def on_resize(self) -> None:
        """Lay out for the new size."""
        self._lay_out()

    def _lay_out(self) -> None:
        """Give the side what the table does not need: at most 45 % of the width beside it, half of
        the height below it.
        """
        width, height = self.size
        wide = width >= self.table.least_width + self.SIDE
        self.set_class(wide, "-wide")
        self.set_class(not wide, "-narrow")
        beside = max(self.SIDE, min(width * 45 // 100, width - self.table.least_width))
        self.query_one("#side").styles.width = beside if wide else "100%"
        below = not wide and not self.has_class("-short")
        self.table.styles.height = (
            min(self.table.line_count(width), height // 2 - 1) if below else "1fr"
        )

    def _move_times(self) -> None:
        """Redraw relative times."""
        if self.is_in_view and self.listing.items:
            self.table.rows.refresh()
            self.look(self.looked_at)

    def on_screen_resume(self) -> None:
        """Bring the items up to date when the screen is shown again."""
        if not self.is_mounted:
            return
        if self.focused is None and self.listing.items:
            self.table.rows.focus()
        if self.REFRESH_S:
            self.refresh_items()

    async def load_items(self) -> None:
        """Load the items, and draw the changes."""
        try:
            items = await self.load()
        except (BioevalError, OSError) as error:
            failure = str(error) or type(error).__name__
            changed = failure != self.failure
            self.failure = failure
        else:
            same = list(map(id, items)) == list(map(id, self.listing.items))
            changed = bool(self.failure) or not self.loaded or not same
            self.failure = ""
            if changed:
                self.listing.fill(items)
        self.loaded = True
        if changed:
            self.redraw()

    # Drawing

    def redraw(self) -> None:
        """Refresh everything; the cursor stays on its item."""
        self.table.set_least(max(self.LEAST, min(LONGEST_NAME, self.listing.first_width)))
        self.table.draw()

    @on(SortedTable.Changed)
    def _changed(self) -> None:
        """Draw what depends on the rows."""
        filled = bool(self.listing.items)
        self.set_class(filled, "-filled")
        self._lay_out()
        self.look(self.looked_at)
        self.show_words()
        self.refresh_bindings()
        if filled and self.focused is None and self.is_current:
            self.table.rows.focus()

    def show_words(self) -> None:
        """Update the title and, without rows, the notice."""
        listing = self.listing
        notes, failure = [], ""
        if listing.items:
            notes, failure = self.notes(), self.failure
        if notes and listing.sorting.column not in self.table.shown:
            notes.append(Cell(f"by {listing.columns[listing.sorting.column].name}", "quiet"))
        self.title_bar.say((self.NAME,), [*notes, *self.table.filter_notes()], self.state())
        self.show_trouble(failure)
        if self.failure:
            self.show_notice(unreadable(self.failure))
        elif self.loaded:
            self.show_notice(self.empty())
        else:
            self.show_notice([Cell(self.LOADING, "strong")])

    # Keys

    @on(RowList.Highlighted)
    def _moved(self, event: RowList.Highlighted) -> None:
        if event.rows is self.table.rows:
            self.at_rest.moved()

    def _rests(self) -> None:
        self.look(self.looked_at)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Sorting, filtering and opening need rows."""
        if action in self.NEEDS_ROWS:
            return bool(self.listing.items)
        return True

    def action_filter(self) -> None:
        """Open the line for the filter."""
        self.query_one(FilterLine).open(self.listing.filter)

    def action_sort(self, by: int) -> None:
        """Sort by another column."""
        self.table.action_sort(by)

    def action_reverse(self) -> None:
        """Reverse the order."""
        self.table.action_reverse()

    def action_exact(self) -> None:
        """Show times exactly, or how long ago they were."""
        self.exact = not self.exact
        self.keep("exact", self.exact)
        self.redraw()

    def keep(self, name: str, value: Any) -> None:
        """Save a setting of this screen."""
        self.bioeval.services.preferences.keep(f"{self.NAME.lower()}.{name}", value)

    def item_name(self, item: Item) -> tuple[str, str]:
        """Return a description of an item's identifier and the identifier, for copying."""
        raise NotImplementedError

    def copies(self) -> Sequence[Copied]:
        """The selected row's identifier, and the rows shown."""
        item, rows = self.looked_at, self.listing.visible
        if item is None:
            return ()
        what, name = self.item_name(item)
        every = f"the rows that are shown ({len(rows):,}), separated by tabs"
        return (
            Copied(f"{what} {name}", lambda: name),
            Copied("this row, separated by tabs", lambda: self._tabbed([item])),
            Copied(every, lambda: self._tabbed(rows)),
        )

    def _tabbed(self, items: Sequence[Item]) -> str:
        names = [column.name for column in self.listing.columns if column.name]

        def values(item: Item) -> list[str]:
            cells = self.cells(item)
            return [
                cell.text if isinstance(cell, Cell) else cell.plain
                for cell in (cells[name] for name in names)
            ]

        return tabbed([names, *map(values, items)])

    async def action_back(self) -> None:
        """Clear the filter; without one, go back."""
        if self.listing.filter:
            self.query_one(FilterLine).drop()
        else:
            await self.bioeval.action_go_back()
