"""Functions that query elements: any, all, count, first, find, contains, sums, indexes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions import operators
from bioeval_tui.evaluation.assertions.expressions.comparison import equal
from bioeval_tui.evaluation.assertions.expressions.limits import Budget
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import Function, each, listed, raw, size
from bioeval_tui.evaluation.assertions.expressions.values import (
    Char,
    ClosedRange,
    Value,
    type_name,
)


def _matching(budget: Budget, values: Value, predicate: Function | None) -> Iterator[Value]:
    return (item for item in each(budget, values) if predicate is None or predicate.test(item))


@kotlin("Each<T>.any(predicate: (T) -> Boolean = none): Boolean")
def any_(budget: Budget, values: Value, predicate: Function | None = None) -> bool:
    return next((True for _ in _matching(budget, values, predicate)), False)


@kotlin("Each<T>.none(predicate: (T) -> Boolean = none): Boolean")
def none(budget: Budget, values: Value, predicate: Function | None = None) -> bool:
    return not any_(budget, values, predicate)


@kotlin("Each<T>.all(predicate: (T) -> Boolean): Boolean")
def all_(budget: Budget, values: Value, predicate: Function) -> bool:
    return all(predicate.test(item) for item in each(budget, values))


@kotlin("Each<T>.count(predicate: (T) -> Boolean = none): Int")
def count(budget: Budget, values: Value, predicate: Function | None = None) -> int:
    if predicate is None:
        return size(budget, values)
    return sum(1 for _ in _matching(budget, values, predicate))


@kotlin("Collection<*>.size: Int", "Map<*, *>.size: Int")
def size_(_: Budget, values: Value) -> int:
    return len(values)


@kotlin(
    "Collection<*>.isEmpty(): Boolean",
    "IntProgression.isEmpty(): Boolean",
    "Map<*, *>.isEmpty(): Boolean",
    "CharSequence.isEmpty(): Boolean",
)
def is_empty(_: Budget, values: Value) -> bool:
    return not values


@kotlin("ClosedRange<*>.isEmpty(): Boolean")
def is_empty_interval(budget: Budget, values: ClosedRange) -> bool:
    return operators.compare(">", values.start, values.end, budget)


@kotlin(
    "Collection<*>.isNotEmpty(): Boolean",
    "Map<*, *>.isNotEmpty(): Boolean",
    "CharSequence.isNotEmpty(): Boolean",
)
def is_not_empty(_: Budget, values: Value) -> bool:
    return bool(values)


@kotlin(
    "Collection<*>?.isNullOrEmpty(): Boolean",
    "Map<*, *>?.isNullOrEmpty(): Boolean",
    "CharSequence?.isNullOrEmpty(): Boolean",
)
def is_null_or_empty(_: Budget, values: Value) -> bool:
    return not values


@kotlin("Items<T>.first(predicate: (T) -> Boolean = none): T")
def first(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    for item in _matching(budget, values, predicate):
        return item
    raise _nothing(predicate)


@kotlin(
    "Items<T>.firstOrNull(predicate: (T) -> Boolean = none): T?",
    "Items<T>.find(predicate: (T) -> Boolean): T?",
)
def first_or_null(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    return next(_matching(budget, values, predicate), None)


@kotlin("Each<T>.firstNotNullOfOrNull(transform: (T) -> R?): R?")
def first_not_null_of_or_null(budget: Budget, values: Value, transform: Function) -> Value:
    results = map(transform, each(budget, values))
    return next((result for result in results if result is not None), None)


@kotlin("Each<T>.firstNotNullOf(transform: (T) -> R?): R")
def first_not_null_of(budget: Budget, values: Value, transform: Function) -> Value:
    found = first_not_null_of_or_null(budget, values, transform)
    if found is None:
        raise ExpressionError("every element gives null")
    return found


@kotlin("Items<T>.last(predicate: (T) -> Boolean = none): T")
def last(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    for item in _matching(budget, _backwards(budget, values), predicate):
        return item
    raise _nothing(predicate)


@kotlin(
    "Items<T>.lastOrNull(predicate: (T) -> Boolean = none): T?",
    "Items<T>.findLast(predicate: (T) -> Boolean): T?",
)
def last_or_null(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    return next(_matching(budget, _backwards(budget, values), predicate), None)


@kotlin("Items<T>.single(predicate: (T) -> Boolean = none): T")
def single(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    found = list(islice(_matching(budget, values, predicate), 2))
    if len(found) == 1:
        return found[0]
    raise _nothing(predicate) if not found else ExpressionError("there is more than one element")


@kotlin("Items<T>.singleOrNull(predicate: (T) -> Boolean = none): T?")
def single_or_null(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    found = list(islice(_matching(budget, values, predicate), 2))
    return found[0] if len(found) == 1 else None


@kotlin("Flow<E>.contains(element: E): Boolean")
def contains(budget: Budget, values: Value, element: Value) -> bool:
    return operators.contains(values, element, budget)


@kotlin("Collection<E>.containsAll(elements: Collection<E>): Boolean")
def contains_all(budget: Budget, values: Value, elements: Value) -> bool:
    return all(operators.contains(values, item, budget) for item in each(budget, elements))


@kotlin("Flow<E>.indexOf(element: E): Int")
def index_of(budget: Budget, values: Value, element: Value) -> int:
    return next(_places(budget, enumerate(raw(values)), element), -1)


@kotlin("List<E>.lastIndexOf(element: E): Int")
def last_index_of(budget: Budget, values: list[Value], element: Value) -> int:
    return next(_places(budget, reversed(list(enumerate(values))), element), -1)


@kotlin("Items<T>.indexOfFirst(predicate: (T) -> Boolean): Int")
def index_of_first(budget: Budget, values: Value, predicate: Function) -> int:
    return next((place for place, item in enumerate(each(budget, values)) if predicate.test(item)), -1)


@kotlin("Items<T>.indexOfLast(predicate: (T) -> Boolean): Int")
def index_of_last(budget: Budget, values: Value, predicate: Function) -> int:
    items = listed(budget, values)
    places = range(len(items) - 1, -1, -1)
    return next((place for place in budget.each(places) if predicate.test(items[place])), -1)


@kotlin("Flow<N>.sum(): N")
def sum_(budget: Budget, values: Value) -> Value:
    return _total(budget, each(budget, values))


@kotlin(
    "Items<T>.sumOf(selector: (T) -> N): N",
    "Items<T>.sumBy(selector: (T) -> Int): Int",
)
def sum_of(budget: Budget, values: Value, selector: Function) -> Value:
    return _total(budget, map(selector, each(budget, values)))


@kotlin("Flow<N>.average(): Double")
def average(budget: Budget, values: Value) -> float:
    items = listed(budget, values)
    if not items:
        return math.nan
    total = 0.0
    for item in budget.each(items):
        if type(item) not in operators.NUMBERS:
            raise ExpressionError(f"average works on numbers, not on {type_name(item)}")
        total += item
    return total / len(items)


def _total(budget: Budget, items: Iterable[Value]) -> Value:
    total: Value = None
    for item in items:
        if type(item) not in operators.NUMBERS:
            raise ExpressionError(f"only numbers can be summed, not {type_name(item)}")
        total = item if total is None else operators.arithmetic("+", total, item, budget)
    return 0 if total is None else total


def _backwards(budget: Budget, values: Value) -> Value:
    if type(values) is range:
        return values[::-1]
    if isinstance(values, str):
        budget.build_text(len(values))
        return values[::-1]
    return listed(budget, values)[::-1]


def _places(budget: Budget, numbered: Iterable[tuple[int, Value]], element: Value) -> Iterator[int]:
    return (place for place, item in budget.each(numbered) if equal(item, element, budget))


def _nothing(predicate: Function | None) -> ExpressionError:
    return ExpressionError("there is no such element" if predicate else "there are no elements")


@kotlin("IndexedValue<*>.index: Int")
def index(_: Budget, value: Value) -> int:
    return int(value.index)


@kotlin("Entry<*, V>.value: V", "IndexedValue<T>.value: T")
def value_(_: Budget, value: Value) -> Value:
    return value.value


@kotlin("IntProgression.first: Int", "ClosedRange<T>.first: T", "ClosedRange<T>.start: T")
def range_start(_: Budget, values: Value) -> Value:
    return values.start


@kotlin("IntProgression.last: Int", "ClosedRange<T>.last: T", "ClosedRange<T>.endInclusive: T")
def range_end(_: Budget, values: Value) -> Value:
    if type(values) is ClosedRange:
        return values.end
    return values[-1] if values else values.stop - (1 if values.step > 0 else -1)


@kotlin("Char.code: Int")
def code(_: Budget, value: Char) -> int:
    return ord(value)
