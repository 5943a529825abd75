"""What the functions on collections and texts share: how a value is iterated, each element counted
against the budget, and of which kind the result is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions.comparing import map_key
from bioeval_tui.expressions.values import (
    CELL,
    Budget,
    Char,
    ClosedRange,
    Long,
    MapEntry,
    MapKey,
    OrderedSet,
    Sequence,
    Value,
    original_value,
    type_name,
)

Map = dict[str | MapKey, Value]


class Function(Protocol):
    """A lambda of the expression."""

    def __call__(self, *values: Value) -> Value:
        """Return the value of its body."""

    def test(self, *values: Value) -> bool:
        """Return the value of its body, which must be a Boolean."""


def raw(value: Value) -> Iterable[Value]:
    """Return the elements of a collection or range, the characters of a text, the entries of a map.

    Raises:
        ExpressionError: the value cannot be iterated.
    """
    match value:
        case list() | OrderedSet() | range():
            return value
        case str():
            return map(Char, value)
        case dict():
            return (MapEntry(original_value(key), item) for key, item in value.items())
        case Sequence():
            return value.elements()
        case ClosedRange(Char() as start, end):
            return (Char(chr(code)) for code in range(ord(start), ord(end) + 1))
        case ClosedRange(Long() as start, end):
            return map(Long, range(start, end + 1))
    raise ExpressionError(f"{type_name(value)} cannot be iterated")


def each(budget: Budget, value: Value) -> Iterator[Value]:
    """Yield the elements of `value`, one step each."""
    return budget.each(raw(value))


def listed(budget: Budget, value: Value) -> list[Value]:
    """Return the elements as a list; a list is returned as it is."""
    if type(value) is list:
        return value
    return budget.collect(raw(value))


def many(budget: Budget, value: Value, make: Callable[[], Iterable[Value]]) -> Any:
    """Apply `make` to the elements of `value`: return a sequence for a sequence, otherwise a
    list.
    """
    if type(value) is Sequence:
        return Sequence(lambda: budget.each(make()))
    return budget.collect(make())


def same_kind(budget: Budget, value: Value, make: Callable[[], Iterable[Value]]) -> Any:
    """Apply `make` to the elements of `value`: return a text for a text, otherwise the same as
    `many`.
    """
    made = many(budget, value, make)
    if isinstance(value, str):
        return "".join(made)
    return made


def map_of(budget: Budget, entries: Iterable[Value]) -> Map:
    """Return the map of the entries; of two with the same key, the later value."""
    result: Map = {}
    for entry in budget.each(entries):
        budget.hold(2 * CELL)
        result[map_key(entry.key, budget)] = entry.value
    return result


def part(budget: Budget, value: Value, start: int, end: int) -> Any:
    """Return the elements of a list, range or text from `start` up to but excluding `end`; both
    must be within bounds.
    """
    if isinstance(value, str):
        budget.build_text(max(0, end - start))
        return value[start:end]
    return budget.collect(value[start:end])


def not_negative(count: int, name: str) -> int:
    """Return `count`, or raise the error of Kotlin for a negative one."""
    if count < 0:
        raise ExpressionError(f"{name} is {count}, but must not be negative")
    return count
