"""A table: a heading that sorts, rows that are filtered and drawn on demand, and the columns that
have room.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import groupby, islice
from typing import Generic, NamedTuple, TypeVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from bioeval_tui.tui.shared.cells import STYLES, Cell, left, paint, right
from bioeval_tui.tui.shared.rows_widget import Heights, RowList

Item = TypeVar("Item")
Value = TypeVar("Value")
Key = tuple[int, float, str] | float | str
"""Rank (what is missing comes last), number, text; or only one of them."""


class Column(NamedTuple):
    """A column: its heading, its width in cells, whether it is right-aligned, and when it is left
    out.
    """

    name: str
    width: int
    numeric: bool = False
    spare: int = 0
    """The order in which columns are left out if there is no room: higher first."""
    grows: bool = False
    """Whether it gets the room that the first column does not need."""


NARROW = 16
"""The width of the first column in cells below which one that grows gives it room."""


def fit(columns: Sequence[Column], width: int, least: int = 16, enough: int = 0) -> list[Column]:
    """Return the columns that fit, one cell apart; the first has at least `least` cells, unless
    there is no room beside one that grows.

    The first gets the room that is left: where a column grows, only up to `enough`.
    """
    kept = list(columns)
    while len(kept) > 2 and least + sum(column.width + 1 for column in kept[1:]) > width:
        droppable = [column for column in kept[1:] if column.spare]
        if not droppable:
            break
        kept.remove(max(droppable, key=lambda column: column.spare))
    room = width - sum(column.width + 1 for column in kept[1:])
    if grows := next((at for at, column in enumerate(kept) if at and column.grows), 0):
        both = room + kept[grows].width
        room = min(max(least, enough), max(room, min(least, NARROW, both // 2)))
        kept[grows] = kept[grows]._replace(width=max(1, both - room))
    return [kept[0]._replace(width=max(1, room)), *kept[1:]]


def name_widths(columns: Sequence[Column]) -> dict[str, int]:
    """Return the widths of the columns that say what a row is, the first and one that grows, by
    their names.
    """
    return {
        column.name: column.width for at, column in enumerate(columns) if not at or column.grows
    }


def text_key(text: str) -> Key:
    """Return the key of a text: alphabetical, empty ones last."""
    return (int(not text), 0.0, text.lower())


def number_key(value: float | None) -> Key:
    """Return the key of a number, the greatest first; missing ones last."""
    if value is None:
        return (1, 0.0, "")
    return (0, -value, "")


def _text(key: Key) -> str:
    if isinstance(key, tuple):
        return key[2]
    return str(key)


class Sorting(NamedTuple):
    """Which column a table is sorted by, and whether reversed."""

    column: int
    reverse: bool = False


class _Values(Generic[Item, Value]):
    """A value of each item, found when it is asked for, and once."""

    def __init__(self, value_of: Callable[[Item], Value]) -> None:
        self._value_of = value_of
        self._found: list[Value] = []

    def all(self, items: Sequence[Item]) -> list[Value]:
        """Return the values of these items, the first of which may be known."""
        if len(self._found) < len(items):
            self._found.extend(map(self._value_of, islice(items, len(self._found), None)))
        return self._found

    def replace(self, at: int, item: Item) -> None:
        """Take another item in the place of one."""
        if at < len(self._found):
            self._found[at] = self._value_of(item)

    def move(self, items: Sequence[Item], places: Iterable[int | None]) -> None:
        """Take other items; `places` says where each was among those before, None for a new one."""
        before = self._found
        if before:
            self._found = [
                self._value_of(item) if at is None or at >= len(before) else before[at]
                for item, at in zip(items, places, strict=True)
            ]


class Listing(Generic[Item]):
    """Items with a sort order and a filter.

    An item's keys and words are found when a column is sorted by and when something is looked for,
    so that 100,000 items are listed at once.

    Args:
        columns: the table's columns.
        keys: what each column sorts by, by its name.
        words: the text in which the filter's words are looked for.
        identity: what tells items apart across refreshes.
        ties: the column whose order items have that another sorts alike; by default, that in which
            they came.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        keys: Mapping[str, Callable[[Item], Key]],
        words: Callable[[Item], str],
        identity: Callable[[Item], Hashable],
        sorting: Sorting = Sorting(0),  # noqa: B008 - an immutable value
        ties: int | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self.sorting = sorting
        self.filter = ""
        self.items: list[Item] = []
        self.visible: list[Item] = []
        self.identity = identity
        self._key_of = keys
        self._keys = [_Values(keys[column.name]) for column in self.columns]
        self._words: _Values[Item, str] = _Values(lambda item: words(item).lower())
        self._ties = ties
        self._order: list[int] = []
        """The places of all items in the order of ties."""
        self._kept: list[int] = []
        """The places of the visible items."""

    def append(self, item: Item) -> None:
        """Add an item; call `arrange` after the last one."""
        self.items.append(item)

    def replace(self, at: int, item: Item) -> None:
        """Put another item in the place of one; call `arrange` after the last one."""
        self.items[at], self._order = item, []
        self._words.replace(at, item)
        for keys in self._keys:
            keys.replace(at, item)

    def fill(self, items: Iterable[Item]) -> None:
        """Show the items of a refresh; the same objects as before are not processed again."""
        known = {id(item): at for at, item in enumerate(self.items)}
        self.items, self._order = list(items), []
        places = [known.get(id(item)) for item in self.items]
        self._words.move(self.items, places)
        for keys in self._keys:
            keys.move(self.items, places)
        self.arrange()

    def forget_keys(self) -> None:
        """Find the keys anew, because what they depend on has changed."""
        self._keys = [_Values(self._key_of[column.name]) for column in self.columns]
        self.arrange()

    def arrange(self) -> None:
        """Filter and sort; every word of the filter must be found."""
        items = self.items
        if len(self._order) < len(items):
            self._order.extend(range(len(self._order), len(items)))
            if self._ties is not None:
                self._order.sort(key=self._keys[self._ties].all(items).__getitem__)
        kept = [*self._order]
        for word in self.filter.lower().split():
            words = self.read_words()
            kept = [at for at in kept if word in words[at]]
        column, reverse = self.sorting
        kept.sort(key=self._keys[column].all(items).__getitem__, reverse=reverse)
        self._kept = kept
        self.visible = [items[at] for at in kept]

    def sort_by(self, column: int) -> None:
        """Sort by a column; sorting by the same column again reverses the order."""
        column %= len(self.columns)
        self.sorting = Sorting(column, column == self.sorting.column and not self.sorting.reverse)
        self.arrange()

    def reverse(self) -> None:
        """Reverse the order."""
        self.sorting = self.sorting._replace(reverse=not self.sorting.reverse)
        self.arrange()

    def search(self, text: str) -> None:
        """Show only items in which every word is found."""
        self.filter = text
        self.arrange()

    def read_words(self) -> Sequence[str]:
        """Return the words of every item: half the work of the first search in 100,000 rows, which
        can be done before.
        """
        return self._words.all(self.items)

    def texts(self, column: int) -> list[str]:
        """Return the texts by which a column sorts the visible items."""
        keys = self._keys[column].all(self.items)
        return [_text(keys[at]) for at in self._kept]

    @property
    def first_width(self) -> int:
        """The width of the longest text in the first column, which sorts by its text."""
        keys = self._keys[0].all(self.items)
        return max((cell_len(_text(key)) for key in keys), default=0)

    def place_of(self, identity: Hashable) -> int | None:
        """Return the position of the item with this identity; None if it is not shown."""
        return next(
            (at for at, item in enumerate(self.visible) if self.identity(item) == identity), None
        )


CellsOf = Callable[[int, int], Mapping[str, Cell | Content]]
"""Called with a row's index and the first column's width; returns its cells by column name."""


def row_line(
    columns: Sequence[Column], cells: Mapping[str, Cell | Content], *, whole: bool = False
) -> Content:
    """Return a row: text on the left, numbers on the right of their columns.

    One and the same cell in columns next to each other stands once, on the left, across them.
    `whole` names go on below; otherwise they are cut.
    """
    names = name_widths(columns) if whole else {}
    parts: list[list[Content]] = []
    shown = [(column, cells.get(column.name, Cell(""))) for column in columns]
    for _, group in groupby(shown, key=lambda pair: id(pair[1])):
        (column, cell), *others = group
        width = column.width + sum(1 + other.width for other, _ in others)
        text = paint(cell)
        if column.name in names and text.cell_length > width:
            parts.append([left(line.rstrip(), width) for line in text.wrap(width)])
        else:
            parts.append(
                [right(text, width) if column.numeric and not others else left(text, width)]
            )
    height = max(map(len, parts))
    filled = [part + [Content(" " * part[0].cell_length)] * (height - len(part)) for part in parts]
    return Content("\n").join([Content(" ").join(line) for line in zip(*filled, strict=True)])


class TableHead(Widget):
    """The names of the columns; the sorted one carries a sign. A click sorts."""

    DEFAULT_CSS = """
    TableHead { height: 1; }
    """

    class Laid(Message):
        """The heading has another width, in which other columns may have room."""

    class Picked(Message):
        """A column's name was clicked."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self, table: ListTable) -> None:
        super().__init__()
        self._table = table
        self._sorting: Sorting | None = Sorting(0)
        self._drawn: list[Column] = []
        """The columns as they were drawn last."""

    @property
    def _fitting(self) -> list[Column]:
        # One cell less than the rows have, because of their scrollbar.
        return self._table.fitting(self.size.width - 1)

    def on_resize(self) -> None:
        """Say so."""
        self.post_message(self.Laid())

    def show(self, sorting: Sorting | None) -> None:
        """Mark the column that is sorted by, if the rows are sorted by one; other rows may have
        given the columns other widths.
        """
        if sorting != self._sorting or self._fitting != self._drawn:
            self._sorting = sorting
            self.refresh()

    def render(self) -> Content:
        """Draw the names."""
        columns = self._drawn = self._fitting
        names = {each.name: Cell(each.name, "quiet") for each in columns}
        if self._sorting is None:
            return row_line(columns, names)
        chosen, sign = (
            self._table.columns[self._sorting.column].name,
            "▴" if self._sorting.reverse else "▾",
        )
        full = any(each.name == chosen and cell_len(chosen) >= each.width for each in columns)
        names |= {chosen: Cell(chosen if full else chosen + sign, "strong")}
        line, end = row_line(columns, names), -1
        for column in columns:
            end += column.width + 1
            if full and column.name == chosen:  # in the space between two columns
                return Content.assemble(line[:end], (sign, STYLES["strong"]), line[end + 1 :])
        return line

    def on_click(self, event: events.Click) -> None:
        """Report the clicked column."""
        at = 0
        for column in self._fitting:
            if at <= event.x <= at + column.width:
                index = [known.name for known in self._table.columns].index(column.name)
                self.post_message(self.Picked(index))
                return
            at += column.width + 1


class ListTable(Vertical):
    """Heading and rows. The rows are given, so that a screen can name what enter does."""

    DEFAULT_CSS = """
    ListTable { width: 1fr; padding: 0 1; & RowList { height: 1fr; scrollbar-gutter: stable; } }
    """

    def __init__(
        self, rows: RowList, columns: Sequence[Column], least: int = 16, enough: int = 0
    ) -> None:
        super().__init__()
        self.rows = rows
        self.columns, self._least, self._enough = tuple(columns), least, enough
        self._head = TableHead(self)
        rows.show_blurred_cursor()

    def fitting(self, width: int) -> list[Column]:
        """Return the columns that fit into so many cells."""
        return fit(self.columns, width, self._least, self._enough)

    @property
    def shown(self) -> list[int]:
        """The places of the columns that have room; all of them before the table has a size."""
        width = self._head.size.width - 1
        if width <= 0:
            return list(range(len(self.columns)))
        names = {column.name for column in self.fitting(width)}
        return [at for at, column in enumerate(self.columns) if column.name in names]

    @property
    def least_width(self) -> int:
        """The width at which every column is shown, with the padding and the scrollbar."""
        return self._least + sum(column.width + 1 for column in self.columns[1:]) + 3

    def compose(self) -> ComposeResult:
        """Heading above rows."""
        yield self._head
        yield self.rows

    def show(
        self,
        count: int,
        cells: CellsOf,
        sorting: Sorting | None,
        lines: Heights | Callable[[int], Heights] = 1,
    ) -> None:
        """Show `count` rows; if they have several `lines`, names that are too long go on below.

        `sorting` is None if no column says their order.
        """

        def painter(index: int, width: int) -> Content:
            columns = self.fitting(width)
            return row_line(columns, cells(index, columns[0].width), whole=lines != 1)

        self._head.show(sorting)
        self.rows.set_rows(count, painter, lines=lines)
