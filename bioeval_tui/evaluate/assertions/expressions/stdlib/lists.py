"""Parts and arrangements of sequences: take, drop, reversed, zip, chunked, set operations, elements by place."""

from __future__ import annotations

from itertools import islice, pairwise

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions import operators
from bioeval_tui.evaluate.assertions.expressions.comparison import set_of
from bioeval_tui.evaluate.assertions.expressions.evaluator import element
from bioeval_tui.evaluate.assertions.expressions.limits import Budget
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import (
    Function,
    each,
    listed,
    not_negative,
    part,
    raw,
)
from bioeval_tui.evaluate.assertions.expressions.values import (
    Char,
    Indexed,
    OrderedSet,
    Pair,
    Value,
    from_units,
    to_units,
)


@kotlin("Iterable|String.take(n: Int): T")
def take(budget: Budget, values: Value, n: int) -> Value:
    not_negative(n, "n")
    if type(values) in (list, range, str):
        return part(budget, values, 0, min(n, len(values)))
    return budget.collect(islice(raw(values), n))


@kotlin("Iterable|String.drop(n: Int): T")
def drop(budget: Budget, values: Value, n: int) -> Value:
    not_negative(n, "n")
    items = values if type(values) in (list, range, str) else listed(budget, values)
    return part(budget, items, min(n, len(items)), len(items))


@kotlin("List|String.takeLast(n: Int): T")
def take_last(budget: Budget, values: Value, n: int) -> Value:
    return part(budget, values, len(values) - min(not_negative(n, "n"), len(values)), len(values))


@kotlin("List|String.dropLast(n: Int): T")
def drop_last(budget: Budget, values: Value, n: int) -> Value:
    return part(budget, values, 0, len(values) - min(not_negative(n, "n"), len(values)))


@kotlin("Iterable|String.takeWhile(predicate: Fn1): T")
def take_while(budget: Budget, values: Value, predicate: Function) -> Value:
    items = values if type(values) is str else listed(budget, values)
    return part(budget, items, 0, _prefix(budget, items, predicate))


@kotlin("Iterable|String.dropWhile(predicate: Fn1): T")
def drop_while(budget: Budget, values: Value, predicate: Function) -> Value:
    items = values if type(values) is str else listed(budget, values)
    return part(budget, items, _prefix(budget, items, predicate), len(items))


@kotlin("List.subList(fromIndex: Int, toIndex: Int): List")
def sub_list(budget: Budget, values: list[Value], start: int, end: int) -> Value:
    if not 0 <= start <= end <= len(values):
        raise ExpressionError(f"subList({start}, {end}) does not fit a list of {len(values)}")
    return part(budget, values, start, end)


@kotlin("List.slice(indices: Range): List")
def slice_(budget: Budget, values: list[Value], indices: range) -> Value:
    return budget.collect(element(values, place, budget) for place in indices)


@kotlin("Iterable.reversed(): List", "List.asReversed(): List")
def reversed_(budget: Budget, values: Value) -> list[Value]:
    return budget.collect(raw(values))[::-1]


@kotlin("String.reversed(): String")
def reversed_text(budget: Budget, text: str) -> str:
    budget.build_text(len(text))
    return to_units(from_units(text)[::-1])


@kotlin("Iterable|String.zip(other: Iterable|String): List")
def zip_(budget: Budget, values: Value, other: Value) -> list[Pair]:
    return budget.collect(Pair(a, b) for a, b in zip(raw(values), raw(other), strict=False))


@kotlin("Iterable.zip(other: Iterable, transform: Fn2): List")
def zip_with(budget: Budget, values: Value, other: Value, transform: Function) -> list[Value]:
    return budget.collect(transform(a, b) for a, b in zip(raw(values), raw(other), strict=False))


@kotlin("Iterable|String.zipWithNext(): List")
def zip_with_next(budget: Budget, values: Value) -> list[Pair]:
    return budget.collect(Pair(a, b) for a, b in pairwise(raw(values)))


@kotlin("Iterable|String.zipWithNext(transform: Fn2): List")
def zip_with_next_by(budget: Budget, values: Value, transform: Function) -> list[Value]:
    return budget.collect(transform(a, b) for a, b in pairwise(raw(values)))


@kotlin("Iterable|String.withIndex(): List")
def with_index(budget: Budget, values: Value) -> list[Indexed]:
    return budget.collect(Indexed(place, item) for place, item in enumerate(raw(values)))


@kotlin("Iterable|String.chunked(size: Int): List")
def chunked(budget: Budget, values: Value, size: int) -> list[Value]:
    return windowed(budget, values, size, size, True)


@kotlin("Iterable|String.windowed(size: Int, step: Int = _, partialWindows: Boolean = _): List")
def windowed(budget: Budget, values: Value, size: int, step: int = 1, partial: bool = False) -> list[Value]:
    if size < 1 or step < 1:
        raise ExpressionError("size and step must be greater than 0")
    items = values if type(values) is str else listed(budget, values)
    last = len(items) if partial else len(items) - size + 1
    return budget.collect(
        part(budget, items, start, min(start + size, len(items))) for start in range(0, max(0, last), step)
    )


@kotlin(
    "Iterable.plus(element: Any?): List", "Map.plus(element: Any): Map", "String.plus(other: Any?): String"
)
def plus(budget: Budget, values: Value, other: Value) -> Value:
    return operators.arithmetic("+", values, other, budget)


@kotlin("Iterable.minus(element: Any?): List", "Map.minus(element: Any): Map")
def minus(budget: Budget, values: Value, other: Value) -> Value:
    return operators.arithmetic("-", values, other, budget)


@kotlin("Iterable.union(other: Iterable): Set")
def union(budget: Budget, values: Value, other: Value) -> OrderedSet:
    return set_of([*each(budget, values), *each(budget, other)], budget)


@kotlin("Iterable.intersect(other: Iterable): Set")
def intersect(budget: Budget, values: Value, other: Value) -> OrderedSet:
    kept = set_of(each(budget, other), budget)
    mine = set_of(each(budget, values), budget)
    return OrderedSet({key: None for key in mine.keys if key in kept.keys})


@kotlin("Iterable.subtract(other: Iterable): Set")
def subtract(budget: Budget, values: Value, other: Value) -> OrderedSet:
    taken = set_of(each(budget, other), budget)
    mine = set_of(each(budget, values), budget)
    return OrderedSet({key: None for key in mine.keys if key not in taken.keys})


@kotlin("List|String.get(index: Int): T", "List|String.elementAt(index: Int): T")
def get(budget: Budget, values: Value, index: int) -> Value:
    return element(values, index, budget)


@kotlin("Set|Range.elementAt(index: Int): T")
def element_at(budget: Budget, values: Value, index: int) -> Value:
    return element(listed(budget, values), index, budget)


@kotlin("List|String.getOrNull(index: Int): T?", "List|String.elementAtOrNull(index: Int): T?")
def get_or_null(budget: Budget, values: Value, index: int) -> Value:
    return element(values, index, budget) if 0 <= index < len(values) else None


@kotlin("List|String.getOrElse(index: Int, defaultValue: Fn1): T")
def get_or_else(budget: Budget, values: Value, index: int, default: Function) -> Value:
    return element(values, index, budget) if 0 <= index < len(values) else default(index)


@kotlin("Collection|Map|String.ifEmpty(defaultValue: Fn0): T")
def if_empty(_: Budget, values: Value, default: Function) -> Value:
    return values or default()


@kotlin("List?.orEmpty(): List")
def or_empty(_: Budget, values: list[Value] | None) -> list[Value]:
    return values or []


@kotlin("List|String.lastIndex: Int")
def last_index(_: Budget, values: Value) -> int:
    return len(values) - 1


@kotlin("Collection|String.indices: Range")
def indices(_: Budget, values: Value) -> range:
    return range(len(values))


def _prefix(budget: Budget, items: Value, predicate: Function) -> int:
    """Return how many elements come before the first that fails."""
    for place in range(len(items)):
        budget.step()
        item = items[place]
        if not predicate.test(Char(item) if type(items) is str else item):
            return place
    return len(items)
