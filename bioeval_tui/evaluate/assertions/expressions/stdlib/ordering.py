"""Order: sorted, sortedBy, max, min and their variants."""

from __future__ import annotations

from collections.abc import Iterable

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.comparison import order, ordered, require_alike
from bioeval_tui.evaluate.assertions.expressions.limits import Budget
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import Function, each, raw
from bioeval_tui.evaluate.assertions.expressions.values import Char, Long, Value, type_name

_EMPTY = "there are no elements"
_COMPARABLE = (int, Long, float, str, Char, bool)


@kotlin("Iterable.sorted(): List")
def sorted_(budget: Budget, values: Value) -> list[Value]:
    return ordered(((_comparable(item), item) for item in raw(values)), budget)


@kotlin("Iterable.sortedDescending(): List")
def sorted_descending(budget: Budget, values: Value) -> list[Value]:
    return ordered(((_comparable(item), item) for item in raw(values)), budget, descending=True)


@kotlin("Iterable.sortedBy(selector: Fn1): List")
def sorted_by(budget: Budget, values: Value, selector: Function) -> list[Value]:
    return ordered(((selector(item), item) for item in raw(values)), budget)


@kotlin("Iterable.sortedByDescending(selector: Fn1): List")
def sorted_by_descending(budget: Budget, values: Value, selector: Function) -> list[Value]:
    return ordered(((selector(item), item) for item in raw(values)), budget, descending=True)


@kotlin("Iterable|String.max(): T")
def max_(budget: Budget, values: Value) -> Value:
    return _required(_extreme(budget, ((item, item) for item in each(budget, values)), 1))


@kotlin("Iterable|String.min(): T")
def min_(budget: Budget, values: Value) -> Value:
    return _required(_extreme(budget, ((item, item) for item in each(budget, values)), -1))


@kotlin("Iterable|String.maxOrNull(): T?")
def max_or_null(budget: Budget, values: Value) -> Value:
    return _second(_extreme(budget, ((item, item) for item in each(budget, values)), 1))


@kotlin("Iterable|String.minOrNull(): T?")
def min_or_null(budget: Budget, values: Value) -> Value:
    return _second(_extreme(budget, ((item, item) for item in each(budget, values)), -1))


@kotlin("Iterable|Map|String.maxBy(selector: Fn1): T")
def max_by(budget: Budget, values: Value, selector: Function) -> Value:
    return _required(_extreme(budget, ((selector(item), item) for item in each(budget, values)), 1))


@kotlin("Iterable|Map|String.minBy(selector: Fn1): T")
def min_by(budget: Budget, values: Value, selector: Function) -> Value:
    return _required(_extreme(budget, ((selector(item), item) for item in each(budget, values)), -1))


@kotlin("Iterable|Map|String.maxByOrNull(selector: Fn1): T?")
def max_by_or_null(budget: Budget, values: Value, selector: Function) -> Value:
    return _second(_extreme(budget, ((selector(item), item) for item in each(budget, values)), 1))


@kotlin("Iterable|Map|String.minByOrNull(selector: Fn1): T?")
def min_by_or_null(budget: Budget, values: Value, selector: Function) -> Value:
    return _second(_extreme(budget, ((selector(item), item) for item in each(budget, values)), -1))


@kotlin("Iterable|Map|String.maxOf(selector: Fn1): T")
def max_of(budget: Budget, values: Value, selector: Function) -> Value:
    return max_(budget, budget.collect(map(selector, raw(values))))


@kotlin("Iterable|Map|String.minOf(selector: Fn1): T")
def min_of(budget: Budget, values: Value, selector: Function) -> Value:
    return min_(budget, budget.collect(map(selector, raw(values))))


@kotlin("Iterable|Map|String.maxOfOrNull(selector: Fn1): T?")
def max_of_or_null(budget: Budget, values: Value, selector: Function) -> Value:
    return max_or_null(budget, budget.collect(map(selector, raw(values))))


@kotlin("Iterable|Map|String.minOfOrNull(selector: Fn1): T?")
def min_of_or_null(budget: Budget, values: Value, selector: Function) -> Value:
    return min_or_null(budget, budget.collect(map(selector, raw(values))))


@kotlin("maxOf(vararg values: Any): T")
def greatest(budget: Budget, values: tuple[Value, ...]) -> Value:
    return max_(budget, list(values))


@kotlin("minOf(vararg values: Any): T")
def least(budget: Budget, values: tuple[Value, ...]) -> Value:
    return min_(budget, list(values))


def _extreme(budget: Budget, pairs: Iterable[tuple[Value, Value]], sign: int) -> tuple[Value, Value] | None:
    """Return the first (key, value) with the greatest (`sign` 1) or least (-1) key; NaN wins both ways."""
    best: tuple[Value, Value] | None = None
    for pair in pairs:
        _comparable(pair[0])
        if best is None:
            best = pair
            continue
        require_alike(best[0], pair[0])
        is_nan, has_nan = pair[0] != pair[0], best[0] != best[0]
        if is_nan > has_nan or (not has_nan and order(pair[0], best[0], budget) == sign):
            best = pair
    return best


def _comparable(value: Value) -> Value:
    if value is None:
        raise ExpressionError("null has no order; filter nulls out first, or use a default with ?:")
    if type(value) not in _COMPARABLE:
        raise ExpressionError(f"{type_name(value)} has no order; use sortedBy, maxByOrNull and their like")
    return value


def _required(pair: tuple[Value, Value] | None) -> Value:
    if pair is None:
        raise ExpressionError(_EMPTY)
    return pair[1]


def _second(pair: tuple[Value, Value] | None) -> Value:
    return None if pair is None else pair[1]
