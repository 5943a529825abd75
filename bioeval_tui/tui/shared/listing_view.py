"""Rows of a table, sorted and filtered; what is shown is `visible`. Keys and search words are made once a row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Key = tuple[int, float, str]
"""Rank (what is missing comes last), number, text."""


class Column(NamedTuple):
    """A column: its heading, its width in cells, whether it is right-aligned, and when it is left out."""

    name: str
    width: int
    numeric: bool = False
    spare: int = 0
    """The order in which columns are left out if there is no room: higher first."""


def fit(columns: Sequence[Column], width: int, least: int = 16) -> list[Column]:
    """Return the columns that fit, one cell apart; the first gets the remaining width (`least` at least)."""
    kept = list(columns)
    while len(kept) > 2 and least + sum(column.width + 1 for column in kept[1:]) > width:
        droppable = [column for column in kept[1:] if column.spare]
        if not droppable:
            break
        kept.remove(max(droppable, key=lambda column: column.spare))
    room = max(1, width - sum(column.width + 1 for column in kept[1:]))
    return [kept[0]._replace(width=room), *kept[1:]]


def text_key(text: str) -> Key:
    """Return the key of a text: alphabetical, empty ones last."""
    return (0 if text else 1, 0.0, text.lower())


def number_key(value: float | None, *, most_first: bool = True) -> Key:
    """Return the key of a number, the greatest first unless told otherwise; missing ones last."""
    if value is None:
        return (1, 0.0, "")
    return (0, -value if most_first else value, "")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Item]):
    item: Item
    keys: tuple[Key, ...]
    words: str


class Sorting(NamedTuple):
    """Which column a table is sorted by, and whether reversed."""

    column: int
    reverse: bool = False


class Listing(Generic[Item]):
    """Items with a sort order and a filter.

    Args:
        columns: the table's columns; their number is the number of keys.
        keys: a sort key for each column.
        words: the text in which the filter's words are looked for.
        identity: what tells items apart across refreshes.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        keys: Callable[[Item], tuple[Key, ...]],
        words: Callable[[Item], str],
        identity: Callable[[Item], Hashable],
        sorting: Sorting = Sorting(0),  # noqa: B008 - an immutable value
    ) -> None:
        self.columns = tuple(columns)
        self.sorting = sorting
        self.filter = ""
        self.items: list[Item] = []
        self.visible: list[Item] = []
        self._keys = keys
        self._words = words
        self.identity = identity
        self._entries: list[_Entry[Item]] = []

    def fill(self, items: Iterable[Item]) -> None:
        """Add the items of a refresh; the same objects as before are not processed again."""
        known = {id(entry.item): entry for entry in self._entries}
        self.items = list(items)
        self._entries = [
            known.get(id(item)) or _Entry(item, self._keys(item), self._words(item).lower())
            for item in self.items
        ]
        self.arrange()

    def arrange(self) -> None:
        """Filter and sort; every word of the filter must be found."""
        wanted = self.filter.lower().split()
        kept = [entry for entry in self._entries if all(word in entry.words for word in wanted)]
        column = self.sorting.column
        kept.sort(key=lambda entry: entry.keys[column], reverse=self.sorting.reverse)
        self.visible = [entry.item for entry in kept]

    def sort_by(self, column: int) -> None:
        """Sort by a column; sorting by the same column again reverses the order."""
        column %= len(self.columns)
        again = column == self.sorting.column
        self.sorting = Sorting(column, not self.sorting.reverse if again else False)
        self.arrange()

    def reverse(self) -> None:
        """Reverse the order."""
        self.sorting = self.sorting._replace(reverse=not self.sorting.reverse)
        self.arrange()

    def search(self, text: str) -> None:
        """Show only items in which every word is found."""
        self.filter = text
        self.arrange()

    def place_of(self, identity: Hashable) -> int | None:
        """Return the position of the item with this identity; None if it is not shown."""
        return next((at for at, item in enumerate(self.visible) if self.identity(item) == identity), None)
