"""Order: sorted, sortedBy, sortedWith, max, min and their variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key, partial
from typing import Any

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.limits import Budget
from bioeval_tui.evaluation.assertions.expressions.operators import nullable_order, order, ordered, set_of
from bioeval_tui.evaluation.assertions.expressions.signatures import RUNTIME, kotlin, library
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import Function, each, many, raw
from bioeval_tui.evaluation.assertions.expressions.values import Comparator, OrderedSet, Value, type_name

_EMPTY = "there are no elements"


@kotlin("Items<C>.toSortedSet(): Set<C>")
def to_sorted_set(budget: Budget, values: Value) -> OrderedSet:
    return set_of(ordered(((_comparable(item), item) for item in raw(values)), budget), budget)


@kotlin("compareBy(vararg selectors: (T) -> Comparable?): Comparator<T>")
def compare_by(budget: Budget, selectors: tuple[Function, ...]) -> Comparator:
    def compare(left: Value, right: Value) -> int:
        results = (nullable_order(select(left), select(right), budget) for select in selectors)
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


def _sorted(
    budget: Budget, values: Value, selector: Callable[[Value], Value] | None = None, *, descending: bool
) -> Value:
    key = selector or _comparable
    pairs = ((key(item), item) for item in raw(values))
    return many(budget, values, lambda: ordered(pairs, budget, descending=descending))


def _arranged(budget: Budget, values: Value, compare: Callable[[Value, Value], int]) -> list[Value]:
    return sorted(budget.collect(raw(values)), key=cmp_to_key(compare))


def _comparable(value: Value) -> Value:
    if value is None:
        raise ExpressionError("null has no order; filter nulls out first, or use a default with ?:")
    if type(value) not in RUNTIME["Comparable"]:
        raise ExpressionError(f"{type_name(value)} has no order; use sortedBy, maxByOrNull or similar")
    return value


def _found(found: list[Value], required: bool) -> Value:
    if required and not found:
        raise ExpressionError(_EMPTY)
    return found[0] if found else None


def _extreme(budget: Budget, pairs: Iterable[tuple[Value, Value]], sign: int, required: bool) -> Value:
    """Return the first value whose key is the greatest (`sign` 1) or least (-1); NaN wins both ways."""
    best: list[tuple[Value, Value]] = []
    for pair in pairs:
        _comparable(pair[0])
        is_nan, has_nan = pair[0] != pair[0], bool(best) and best[0][0] != best[0][0]
        if not best or is_nan > has_nan or (not has_nan and order(pair[0], best[0][0], budget) == sign):
            best = [pair]
    return _found([value for _, value in best], required)


def _of(budget: Budget, values: Value, *, sign: int, required: bool) -> Value:
    return _extreme(budget, ((item, item) for item in each(budget, values)), sign, required)


def _by(budget: Budget, values: Value, selector: Function, *, sign: int, required: bool) -> Value:
    return _extreme(budget, ((selector(item), item) for item in each(budget, values)), sign, required)


def _of_results(budget: Budget, values: Value, selector: Function, *, sign: int, required: bool) -> Value:
    return _of(budget, budget.collect(map(selector, raw(values))), sign=sign, required=required)


def _with(budget: Budget, values: Value, comparator: Comparator, *, sign: int, required: bool) -> Value:
    first = comparator if sign < 0 else reversed_(budget, comparator)
    return _found(_arranged(budget, values, first.compare), required)


def _among(budget: Budget, first: Value, others: tuple[Value, ...] | Value, *, sign: int) -> Value:
    more = others if type(others) is tuple else (others,)
    return _of(budget, [first, *more], sign=sign, required=True)


@kotlin("Flow<T>.sortedWith(comparator: Comparator<T>): Many<T>")
def sorted_with(budget: Budget, values: Value, comparator: Comparator) -> Value:
    return many(budget, values, lambda: _arranged(budget, values, comparator.compare))


@kotlin("Flow<T>.sortedWith(comparator: (T, T) -> Int): Many<T>")
def sorted_with_lambda(budget: Budget, values: Value, comparator: Function) -> Value:
    return many(budget, values, lambda: _arranged(budget, values, comparator))


for _ending, _descending in (("", False), ("Descending", True)):
    _compute = partial(_sorted, descending=_descending)
    library({f"Flow<C>.sorted{_ending}(): Many<C>": _compute})
    library({f"Flow<T>.sortedBy{_ending}(selector: (T) -> Comparable?): Many<T>": _compute})
for _name, _sign in (("max", 1), ("min", -1)):
    for _ending, _null in (("", ""), ("OrNull", "?")):
        _how: dict[str, Any] = {"sign": _sign, "required": not _null}
        library(
            {
                f"Flow<C>.{_name}{_ending}(): C{_null}": partial(_of, **_how),
                f"String.{_name}{_ending}(): Char{_null}": partial(_of, **_how),
                f"Each<T>.{_name}By{_ending}(selector: (T) -> C): T{_null}": partial(_by, **_how),
                f"Each<T>.{_name}Of{_ending}(selector: (T) -> C): C{_null}": partial(_of_results, **_how),
                f"Flow<T>.{_name}With{_ending}(comparator: Comparator<T>): T{_null}": partial(_with, **_how),
            }
        )
    _compute = partial(_among, sign=_sign)
    library({f"{_name}Of(a: C, vararg others: C): C": _compute, f"{_name}(a: N, b: N): N": _compute})
