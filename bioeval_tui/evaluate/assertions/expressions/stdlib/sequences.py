"""What collections, ranges, maps and texts have in common: elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.limits import Budget
from bioeval_tui.evaluate.assertions.expressions.values import (
    INT_MAX,
    INT_MIN,
    Char,
    Entry,
    Interval,
    OrderedSet,
    Value,
    type_name,
    value_of,
    whole,
)


class Function(Protocol):
    """A lambda of the expression."""

    def __call__(self, *values: Value) -> Value:
        """Return the value of its body."""

    def test(self, *values: Value) -> bool:
        """Return the value of its body, which must be a Boolean."""


def raw(value: Value) -> Iterable[Value]:
    """Return the elements of a collection or range, the characters of a text, the entries of a map."""
    match value:
        case list() | OrderedSet():
            return value
        case range():
            small = min(value.start, value.stop) >= INT_MIN and max(value.start, value.stop) <= INT_MAX
            return value if small else map(whole, value)
        case str():
            return map(Char, value)
        case dict():
            return (Entry(value_of(key), item) for key, item in value.items())
        case Interval(Char() as start, end):
            return (Char(chr(code)) for code in range(ord(start), ord(end) + 1))
    raise ExpressionError(f"{type_name(value)} has no elements to go through")


def each(budget: Budget, value: Value) -> Iterator[Value]:
    """Yield the elements of `value`, one step each."""
    return budget.each(raw(value))


def listed(budget: Budget, value: Value) -> list[Value]:
    """Return the elements as a list; a list is returned as it is."""
    return value if type(value) is list else budget.collect(raw(value))


def size(value: Value) -> int:
    """Return the number of elements."""
    if type(value) is Interval:
        return sum(1 for _ in raw(value))
    if type(value) is range and abs(value.stop - value.start) > 2**40:
        raise ExpressionError("this range has too many elements to count")
    return len(value)


def same_kind(budget: Budget, value: Value, items: Iterable[Value]) -> Value:
    """Return `items` as a text if they come from a text, as a list else."""
    kept = budget.collect(items)
    return "".join(kept) if type(value) is str else kept


def part(budget: Budget, value: Value, start: int, end: int) -> Value:
    """Return elements `start` to before `end` of a sequence, both within it."""
    if type(value) is str:
        budget.build_text(max(0, end - start))
        return value[start:end]
    source: Sequence[Value] = value if type(value) in (list, range) else listed(budget, value)
    return budget.collect(raw(source[start:end]))


def not_negative(count: int, name: str) -> int:
    """Return `count`, or raise the error of Kotlin for a negative one."""
    if count < 0:
        raise ExpressionError(f"{name} is {count}, but must not be negative")
    return count
