"""A table of a listing: headings and keys sort it, a filter leaves out rows, and the cursor stays
on its item.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from rich.cells import cell_len
from textual import on
from textual.content import Content
from textual.message import Message

from bioeval_tui.base.text import plural
from bioeval_tui.tui.shared.cells import Cell
from bioeval_tui.tui.shared.list_table import Listing, ListTable, Sorting, TableHead, name_widths
from bioeval_tui.tui.shared.rows_widget import Heights, RowList

if TYPE_CHECKING:
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.shared.program import Program

Item = TypeVar("Item")


class SortedTable(ListTable, Generic[Item]):
    """The items of a listing, a row each. Its order is kept as the preference `kept_as`.

    `cells` is called with an item and the first column's width, and returns the row's cells by
    column name. With `whole`, names that are too long go on below.

    Posts `Changed` when rows were drawn.
    """

    class Changed(Message):
        """Other rows are shown, in another order, or with other values."""

    def __init__(
        self,
        rows: RowList,
        listing: Listing[Item],
        cells: Callable[[Item, int], Mapping[str, Cell | Content]],
        kept_as: str,
        least: int = 16,
        enough: int = 0,
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(rows, listing.columns, least, enough)
        self.listing = listing
        self._cells_of = cells
        self._kept_as = kept_as
        self._lines: Heights | Callable[[int], Heights] = self._heights if whole else 1
        self._drawn: list[Item] = []
        """The items in the order of the rows."""
        self._wished: Hashable = None
        self._first_sorting = self._wished_sorting = listing.sorting

    @property
    def looked_at(self) -> Item | None:
        """The item under the cursor, even before messages about a move are handled."""
        at = self.rows.cursor
        if at < len(self._drawn):
            return self._drawn[at]
        return None

    @property
    def services(self) -> AppServices:
        """What the application does for its screens."""
        return cast("Program", self.app).services

    # Rows

    def draw(self, identity: Hashable = None) -> None:
        """Draw the rows in their order; the cursor stays on its item, or goes to the one with this
        identity.
        """
        listing, looked_at, rows = self.listing, self.looked_at, self.rows
        if identity is None and looked_at is not None:
            identity = listing.identity(looked_at)
        drawn = self._drawn = listing.visible
        self.show(
            len(drawn),
            lambda at, width: self._cells_of(drawn[at], width),
            listing.sorting,
            self._lines,
        )
        place = self.find_place(identity)
        if place is None:
            place = min(rows.cursor, max(0, len(drawn) - 1))
        if place != rows.cursor:
            rows.move_to(place)
        self.post_message(self.Changed())

    def find_place(self, identity: Hashable) -> int | None:
        """Return where the cursor goes that is on this item: to the one that was selected, as soon
        as that is there; None if neither is shown.
        """
        if self._wished is not None:
            place = self.listing.place_of(self._wished)
            if place is not None:
                self._wished = None
                return place
        if identity is None:
            return None
        return self.listing.place_of(identity)

    def select(self, identity: Hashable) -> None:
        """Put the cursor on an item, at once or when it has been loaded."""
        self._wished = identity
        self.draw()

    def search(self, text: str) -> str:
        """Show only rows in which every word is found; return how many there are."""
        self.listing.search(text)
        self.draw()
        return plural(len(self.listing.visible), "row")

    def filter_notes(self) -> list[Cell]:
        """Return what a title says of the filter: nothing without one."""
        listing = self.listing
        if not listing.filter:
            return []
        return [Cell(f"{len(listing.visible):,} shown: “{listing.filter}”", "warn")]

    # Heights

    def set_least(self, least: int) -> None:
        """Give the first column another least width, in cells, with which other columns may have
        room; the rows follow with the next `draw`.
        """
        if least != self._least:
            self._least = least
            self._head.refresh()
            self.call_after_refresh(self._sort_by_shown)

    def _heights(self, width: int) -> Heights:
        """Return how many lines each row has in so many cells."""
        rooms = name_widths(self.fitting(width))
        lines = [
            [_count_lines(text, rooms[column.name]) for text in self.listing.texts(at)]
            for at, column in enumerate(self.columns)
            if column.name in rooms
        ]
        heights = [max(row) for row in zip(*lines, strict=True)]
        if max(heights, default=1) > 1:
            return heights
        return 1

    def line_count(self, width: int) -> int:
        """Return how many lines the table has in so many cells, with its heading."""
        heights = self._heights(width - 3)  # padding and scrollbar
        return 1 + (heights * self.rows.row_count if isinstance(heights, int) else sum(heights))

    # Order

    @property
    def column_names(self) -> Sequence[str | int]:
        """What stands for the columns where the sorting is kept."""
        return [column.name for column in self.columns]

    def restore(self) -> None:
        """Sort as the user did last."""
        names = self.column_names
        match self.services.preferences.get(self._kept_as):
            case [str() | int() as name, bool(reverse)] if name in names:
                self._wished_sorting = Sorting(names.index(name), reverse)
                self.listing.sorting = self._wished_sorting

    @on(TableHead.Laid)
    def _sort_by_shown(self) -> None:
        """Sort as wished, or as at first while that column has no room: a list that is sorted by
        what nobody sees looks shuffled.
        """
        sorting = self._wished_sorting
        if sorting.column not in self.shown:
            sorting = self._first_sorting
        if sorting != self.listing.sorting:
            self.listing.sorting = sorting
            self.listing.arrange()
            self.draw()

    @on(TableHead.Picked)
    def _head_picked(self, event: TableHead.Picked) -> None:
        self._sort_by(event.column)

    def action_sort(self, by: int) -> None:
        """Sort by another column."""
        shown, column = self.shown, self.listing.sorting.column
        at = shown.index(column) if column in shown else 0
        self._sort_by(shown[(at + by) % len(shown)])

    def _sort_by(self, column: int) -> None:
        self.listing.sort_by(column)
        self._sorted()

    def action_reverse(self) -> None:
        """Reverse the order."""
        self.listing.reverse()
        self._sorted()

    def _sorted(self) -> None:
        self._wished_sorting = self.listing.sorting
        self.draw()
        column, reverse = self.listing.sorting
        self.services.preferences.keep(self._kept_as, [self.column_names[column], reverse])


def _count_lines(text: str, room: int) -> int:
    if cell_len(text) <= room:
        return 1
    return len(Content(text).wrap(room))
