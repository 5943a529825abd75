"""Order: sorted, sortedBy, sortedWith, max, min and their variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.comparison import order, ordered, set_of
from bioeval_tui.evaluation.assertions.expressions.limits import Budget
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import Function, each, many, raw
from bioeval_tui.evaluation.assertions.expressions.values import (
    Char,
    Comparator,
    EnumValue,
    Long,
    OrderedSet,
    Value,
    type_name,
)

_EMPTY = "there are no elements"
_COMPARABLE = (int, Long, float, str, Char, bool, EnumValue)


@kotlin("Flow<C>.sorted(): Many<C>")
def sorted_(budget: Budget, values: Value) -> Value:
    return many(budget, values, lambda: ordered(((_comparable(item), item) for item in raw(values)), budget))


@kotlin("Flow<C>.sortedDescending(): Many<C>")
def sorted_descending(budget: Budget, values: Value) -> Value:
    pairs = ((_comparable(item), item) for item in raw(values))
    return many(budget, values, lambda: ordered(pairs, budget, descending=True))


@kotlin("Items<C>.toSortedSet(): Set<C>")
def to_sorted_set(budget: Budget, values: Value) -> OrderedSet:
    return set_of(ordered(((_comparable(item), item) for item in raw(values)), budget), budget)


@kotlin("Flow<T>.sortedBy(selector: (T) -> Comparable?): Many<T>")
def sorted_by(budget: Budget, values: Value, selector: Function) -> Value:
    return many(budget, values, lambda: ordered(((selector(item), item) for item in raw(values)), budget))


@kotlin("Flow<T>.sortedByDescending(selector: (T) -> Comparable?): Many<T>")
def sorted_by_descending(budget: Budget, values: Value, selector: Function) -> Value:
    pairs = ((selector(item), item) for item in raw(values))
    return many(budget, values, lambda: ordered(pairs, budget, descending=True))


@kotlin("Flow<T>.sortedWith(comparator: Comparator<T>): Many<T>")
def sorted_with(budget: Budget, values: Value, comparator: Comparator) -> Value:
    return many(budget, values, lambda: _arranged(budget, values, comparator.compare))


@kotlin("Flow<T>.sortedWith(comparator: (T, T) -> Int): Many<T>")
def sorted_with_lambda(budget: Budget, values: Value, comparator: Function) -> Value:
    return many(budget, values, lambda: _arranged(budget, values, comparator))


@kotlin("Flow<T>.maxWith(comparator: Comparator<T>): T")
def max_with(budget: Budget, values: Value, comparator: Comparator) -> Value:
    return min_with(budget, values, reversed_(budget, comparator))


@kotlin("Flow<T>.minWith(comparator: Comparator<T>): T")
def min_with(budget: Budget, values: Value, comparator: Comparator) -> Value:
    arranged = _arranged(budget, values, comparator.compare)
    if not arranged:
        raise ExpressionError(_EMPTY)
    return arranged[0]


@kotlin("Flow<T>.maxWithOrNull(comparator: Comparator<T>): T?")
def max_with_or_null(budget: Budget, values: Value, comparator: Comparator) -> Value:
    return next(iter(_arranged(budget, values, lambda a, b: comparator.compare(b, a))), None)


@kotlin("Flow<T>.minWithOrNull(comparator: Comparator<T>): T?")
def min_with_or_null(budget: Budget, values: Value, comparator: Comparator) -> Value:
    return next(iter(_arranged(budget, values, comparator.compare)), None)


@kotlin("compareBy(vararg selectors: (T) -> Comparable?): Comparator<T>")
def compare_by(budget: Budget, selectors: tuple[Function, ...]) -> Comparator:
    def compare(left: Value, right: Value) -> int:
        results = (_nullable_order(budget, select(left), select(right)) for select in selectors)
        return next((result for result in results if result), 0)

    return Comparator(compare)


@kotlin("Comparator(comparison: (T, T) -> Int): Comparator<T>")
def comparator_of(_: Budget, comparison: Function) -> Comparator:
    return Comparator(comparison)


@kotlin("compareByDescending(selector: (T) -> Comparable?): Comparator<T>")
def compare_by_descending(budget: Budget, selector: Function) -> Comparator:
    return reversed_(budget, compare_by(budget, (selector,)))


@kotlin("Comparator<T>.thenBy(selector: (T) -> Comparable?): Comparator<T>")
def then_by(budget: Budget, first: Comparator, selector: Function) -> Comparator:
    second = compare_by(budget, (selector,))
    return Comparator(lambda a, b: first.compare(a, b) or second.compare(a, b))


@kotlin("Comparator<T>.thenByDescending(selector: (T) -> Comparable?): Comparator<T>")
def then_by_descending(budget: Budget, first: Comparator, selector: Function) -> Comparator:
    second = compare_by_descending(budget, selector)
    return Comparator(lambda a, b: first.compare(a, b) or second.compare(a, b))


@kotlin("Comparator<T>.reversed(): Comparator<T>")
def reversed_(_: Budget, comparator: Comparator) -> Comparator:
    return Comparator(lambda a, b: comparator.compare(b, a))


@kotlin("naturalOrder(): Comparator<C>")
def natural_order(budget: Budget) -> Comparator:
    return Comparator(lambda a, b: order(a, b, budget))


@kotlin("reverseOrder(): Comparator<C>")
def reverse_order(budget: Budget) -> Comparator:
    return Comparator(lambda a, b: order(b, a, budget))


@kotlin("Flow<C>.max(): C", "String.max(): Char")
def max_(budget: Budget, values: Value) -> Value:
    return _required(_extreme(budget, ((item, item) for item in each(budget, values)), 1))


@kotlin("Flow<C>.min(): C", "String.min(): Char")
def min_(budget: Budget, values: Value) -> Value:
    return _required(_extreme(budget, ((item, item) for item in each(budget, values)), -1))


@kotlin("Flow<C>.maxOrNull(): C?", "String.maxOrNull(): Char?")
def max_or_null(budget: Budget, values: Value) -> Value:
    return _second(_extreme(budget, ((item, item) for item in each(budget, values)), 1))


@kotlin("Flow<C>.minOrNull(): C?", "String.minOrNull(): Char?")
def min_or_null(budget: Budget, values: Value) -> Value:
    return _second(_extreme(budget, ((item, item) for item in each(budget, values)), -1))


@kotlin("Each<T>.maxBy(selector: (T) -> C): T")
def max_by(budget: Budget, values: Value, selector: Function) -> Value:
    return _required(_extreme(budget, ((selector(item), item) for item in each(budget, values)), 1))


@kotlin("Each<T>.minBy(selector: (T) -> C): T")
def min_by(budget: Budget, values: Value, selector: Function) -> Value:
    return _required(_extreme(budget, ((selector(item), item) for item in each(budget, values)), -1))


@kotlin("Each<T>.maxByOrNull(selector: (T) -> C): T?")
def max_by_or_null(budget: Budget, values: Value, selector: Function) -> Value:
    return _second(_extreme(budget, ((selector(item), item) for item in each(budget, values)), 1))


@kotlin("Each<T>.minByOrNull(selector: (T) -> C): T?")
def min_by_or_null(budget: Budget, values: Value, selector: Function) -> Value:
    return _second(_extreme(budget, ((selector(item), item) for item in each(budget, values)), -1))


@kotlin("Each<T>.maxOf(selector: (T) -> C): C")
def max_of(budget: Budget, values: Value, selector: Function) -> Value:
    return max_(budget, budget.collect(map(selector, raw(values))))


@kotlin("Each<T>.minOf(selector: (T) -> C): C")
def min_of(budget: Budget, values: Value, selector: Function) -> Value:
    return min_(budget, budget.collect(map(selector, raw(values))))


@kotlin("Each<T>.maxOfOrNull(selector: (T) -> C): C?")
def max_of_or_null(budget: Budget, values: Value, selector: Function) -> Value:
    return max_or_null(budget, budget.collect(map(selector, raw(values))))


@kotlin("Each<T>.minOfOrNull(selector: (T) -> C): C?")
def min_of_or_null(budget: Budget, values: Value, selector: Function) -> Value:
    return min_or_null(budget, budget.collect(map(selector, raw(values))))


@kotlin("maxOf(a: C, vararg others: C): C", "max(a: N, b: N): N")
def greatest(budget: Budget, first: Value, others: Value) -> Value:
    return max_(budget, [first, *(others if type(others) is tuple else (others,))])


@kotlin("minOf(a: C, vararg others: C): C", "min(a: N, b: N): N")
def least(budget: Budget, first: Value, others: Value) -> Value:
    return min_(budget, [first, *(others if type(others) is tuple else (others,))])


def _arranged(budget: Budget, values: Value, compare: Callable[[Value, Value], int]) -> list[Value]:
    return sorted(budget.collect(raw(values)), key=cmp_to_key(compare))


def _nullable_order(budget: Budget, left: Value, right: Value) -> int:
    if left is None or right is None:
        return (left is not None) - (right is not None)
    return order(left, right, budget)


def _extreme(budget: Budget, pairs: Iterable[tuple[Value, Value]], sign: int) -> tuple[Value, Value] | None:
    """Return the first (key, value) with the greatest (`sign` 1) or least (-1) key; NaN wins both ways."""
    best: tuple[Value, Value] | None = None
    for pair in pairs:
        _comparable(pair[0])
        if best is None:
            best = pair
            continue
        is_nan, has_nan = pair[0] != pair[0], best[0] != best[0]
        if is_nan > has_nan or (not has_nan and order(pair[0], best[0], budget) == sign):
            best = pair
    return best


def _comparable(value: Value) -> Value:
    if value is None:
        raise ExpressionError("null has no order; filter nulls out first, or use a default with ?:")
    if type(value) not in _COMPARABLE:
        raise ExpressionError(f"{type_name(value)} has no order; use sortedBy, maxByOrNull or similar")
    return value


def _required(pair: tuple[Value, Value] | None) -> Value:
    if pair is None:
        raise ExpressionError(_EMPTY)
    return pair[1]


def _second(pair: tuple[Value, Value] | None) -> Value:
    return None if pair is None else pair[1]
