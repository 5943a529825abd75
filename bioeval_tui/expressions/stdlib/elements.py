"""Functions on collections and texts that find or count elements, add them up, or return a part of
them, joined or by index: any, first, contains, sum; take, zip, chunked; plus, minus, union; get.

`transforming.py` has those that make other elements. The types that only declarations have (`Each`,
`Items`, `Flow`; `Same` and `Many` as results) are explained in `kotlin_types.py` and
`signatures.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import dropwhile, islice, pairwise, takewhile
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import operators
from bioeval_tui.expressions.comparing import equal, ordered_set
from bioeval_tui.expressions.evaluator import element
from bioeval_tui.expressions.signatures import kotlin, library
from bioeval_tui.expressions.stdlib.iteration import (
    Function,
    each,
    listed,
    many,
    not_negative,
    part,
    raw,
    same_kind,
)
from bioeval_tui.expressions.values import (
    NUMBERS,
    Budget,
    ClosedRange,
    Indexed,
    OrderedSet,
    Pair,
    Sequence,
    Value,
    decode_units,
    encode_units,
    type_name,
)


def _matching(budget: Budget, values: Value, predicate: Function | None) -> Iterator[Value]:
    return (item for item in each(budget, values) if predicate is None or predicate.test(item))


@kotlin("Each<T>.any(predicate: (T) -> Boolean = _): Boolean")
def any_(budget: Budget, values: Value, predicate: Function | None = None) -> bool:
    return next((True for _ in _matching(budget, values, predicate)), False)


@kotlin("Each<T>.count(predicate: (T) -> Boolean = _): Int")
def count(budget: Budget, values: Value, predicate: Function | None = None) -> int:
    if predicate is not None or type(values) in (ClosedRange, Sequence):
        return sum(1 for _ in _matching(budget, values, predicate))
    if type(values) is range and abs(values.stop - values.start) > 2**40:
        raise ExpressionError("this range has too many elements to count")
    return len(values)


@kotlin("Items<T>.first(predicate: (T) -> Boolean = _): T")
def first(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    for item in _matching(budget, values, predicate):
        return item
    raise _nothing(predicate)


@kotlin(
    "Items<T>.firstOrNull(predicate: (T) -> Boolean = _): T?",
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
    first = first_not_null_of_or_null(budget, values, transform)
    if first is None:
        raise ExpressionError("every element gives null")
    return first


@kotlin("Items<T>.last(predicate: (T) -> Boolean = _): T")
def last(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    return first(budget, _backwards(budget, values), predicate)


@kotlin(
    "Items<T>.lastOrNull(predicate: (T) -> Boolean = _): T?",
    "Items<T>.findLast(predicate: (T) -> Boolean): T?",
)
def last_or_null(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    return first_or_null(budget, _backwards(budget, values), predicate)


@kotlin("Items<T>.single(predicate: (T) -> Boolean = _): T")
def single(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    matching = list(islice(_matching(budget, values, predicate), 2))
    if not matching:
        raise _nothing(predicate)
    if len(matching) > 1:
        raise ExpressionError("there is more than one element")
    return matching[0]


@kotlin("Items<T>.singleOrNull(predicate: (T) -> Boolean = _): T?")
def single_or_null(budget: Budget, values: Value, predicate: Function | None = None) -> Value:
    matching = list(islice(_matching(budget, values, predicate), 2))
    if len(matching) == 1:
        return matching[0]
    return None


@kotlin("Collection<E>.containsAll(elements: Collection<E>): Boolean")
def contains_all(budget: Budget, values: Value, elements: Value) -> bool:
    return all(operators.contains(values, item, budget) for item in each(budget, elements))


@kotlin("Flow<E>.indexOf(element: E): Int")
def index_of(budget: Budget, values: Value, wanted: Value) -> int:
    return _place(budget, enumerate(raw(values)), lambda item: equal(item, wanted, budget))


@kotlin("List<E>.lastIndexOf(element: E): Int")
def last_index_of(budget: Budget, values: list[Value], wanted: Value) -> int:
    return _place(
        budget, _numbered_backwards(budget, values), lambda item: equal(item, wanted, budget)
    )


@kotlin("Items<T>.indexOfFirst(predicate: (T) -> Boolean): Int")
def index_of_first(budget: Budget, values: Value, predicate: Function) -> int:
    return _place(budget, enumerate(raw(values)), predicate.test)


@kotlin("Items<T>.indexOfLast(predicate: (T) -> Boolean): Int")
def index_of_last(budget: Budget, values: Value, predicate: Function) -> int:
    return _place(budget, _numbered_backwards(budget, values), predicate.test)


@kotlin("Items<T>.sumOf(selector: (T) -> N): N", "Items<T>.sumBy(selector: (T) -> Int): Int")
def sum_of(budget: Budget, values: Value, selector: Function) -> Value:
    return _total(budget, map(selector, each(budget, values)))


@kotlin("Flow<N>.average(): Double")
def average(budget: Budget, values: Value) -> float:
    items = listed(budget, values)
    total = 0.0
    # one after the other, as Kotlin adds: `sum` of Python 3.12 is more exact
    for item in budget.each(items):
        if type(item) not in NUMBERS:
            raise ExpressionError(f"average works on numbers, not on {type_name(item)}")
        total += item
    if items:
        return total / len(items)
    return math.nan


@kotlin("IntProgression.last: Int", "ClosedRange<T>.last|endInclusive: T")
def range_end(_: Budget, values: Value) -> Value:
    if type(values) is ClosedRange:
        return values.end
    if values:
        return values[-1]
    return values.stop - (1 if values.step > 0 else -1)


def _total(budget: Budget, items: Iterable[Value]) -> Value:
    total: Value = None
    for item in items:
        if type(item) not in NUMBERS:
            raise ExpressionError(f"only numbers can be summed, not {type_name(item)}")
        total = item if total is None else operators.arithmetic("+", total, item, budget)
    if total is None:
        return 0
    return total


def _backwards(budget: Budget, values: Value) -> Value:
    if type(values) is range:
        return values[::-1]
    if isinstance(values, str):
        budget.build_text(len(values))
        return values[::-1]
    return listed(budget, values)[::-1]


def _place(
    budget: Budget, numbered: Iterable[tuple[int, Value]], fits: Callable[[Value], bool]
) -> int:
    return next((place for place, item in budget.each(numbered) if fits(item)), -1)


def _numbered_backwards(budget: Budget, values: Value) -> Iterable[tuple[int, Value]]:
    numbered: list[tuple[int, Value]] = list(enumerate(listed(budget, values)))
    return numbered[::-1]


def _nothing(predicate: Function | None) -> ExpressionError:
    return ExpressionError("there is no such element" if predicate else "there are no elements")


@kotlin("Items<T>.take(n: Int): Same<T>")
def take(budget: Budget, values: Value, n: int) -> Value:
    not_negative(n, "n")
    if type(values) in (list, range, str):
        return part(budget, values, 0, min(n, len(values)))
    return many(budget, values, lambda: islice(raw(values), n))


@kotlin("Items<T>.drop(n: Int): Same<T>")
def drop(budget: Budget, values: Value, n: int) -> Value:
    not_negative(n, "n")
    if type(values) in (list, range, str):
        return part(budget, values, min(n, len(values)), len(values))
    return many(budget, values, lambda: islice(raw(values), n, None))


@kotlin("List<T>|String.takeLast(n: Int): Same<T>")
def take_last(budget: Budget, values: Value, n: int) -> Value:
    return part(budget, values, len(values) - min(not_negative(n, "n"), len(values)), len(values))


@kotlin("List<T>|String.dropLast(n: Int): Same<T>")
def drop_last(budget: Budget, values: Value, n: int) -> Value:
    return part(budget, values, 0, len(values) - min(not_negative(n, "n"), len(values)))


@kotlin("Items<T>.takeWhile(predicate: (T) -> Boolean): Same<T>")
def take_while(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(budget, values, lambda: takewhile(predicate.test, raw(values)))


@kotlin("Items<T>.dropWhile(predicate: (T) -> Boolean): Same<T>")
def drop_while(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(budget, values, lambda: dropwhile(predicate.test, raw(values)))


@kotlin(
    "List<T>.takeLastWhile(predicate: (T) -> Boolean): List<T>",
    "String.takeLastWhile(predicate: (Char) -> Boolean): String",
)
def take_last_while(budget: Budget, values: Value, predicate: Function) -> Value:
    return part(budget, values, _last_while(budget, values, predicate), len(values))


@kotlin(
    "List<T>.dropLastWhile(predicate: (T) -> Boolean): List<T>",
    "String.dropLastWhile(predicate: (Char) -> Boolean): String",
)
def drop_last_while(budget: Budget, values: Value, predicate: Function) -> Value:
    return part(budget, values, 0, _last_while(budget, values, predicate))


def _last_while(budget: Budget, values: Value, predicate: Function) -> int:
    """Return the index from which all elements satisfy the predicate."""
    items = budget.collect(raw(values))
    return len(items) - sum(1 for _ in takewhile(predicate.test, reversed(items)))


@kotlin("List<T>.subList(fromIndex: Int, toIndex: Int): List<T>")
def sub_list(budget: Budget, values: list[Value], start: int, end: int) -> Value:
    if not 0 <= start <= end <= len(values):
        raise ExpressionError(
            f"subList({start}, {end}) is out of bounds for a list of {len(values)}"
        )
    return part(budget, values, start, end)


@kotlin("List<T>.slice(indices: Iterable<Int>): List<T>")
def slice_(budget: Budget, values: list[Value], indices: Value) -> Value:
    return budget.collect(element(values, place, budget) for place in raw(indices))


@kotlin("Iterable<T>.reversed(): List<T>", "List<T>.asReversed(): List<T>")
def reversed_(budget: Budget, values: Value) -> list[Value]:
    return budget.collect(raw(values))[::-1]


@kotlin("String.reversed(): String")
def reversed_text(budget: Budget, text: str) -> str:
    budget.build_text(len(text))
    return encode_units(decode_units(text)[::-1])


@kotlin(
    "Flow<T>.zip(other: Flow<R>): Many<Pair<T, R>>",
    "String.zip(other: String): List<Pair<Char, Char>>",
    "Flow<T>.zip(other: Flow<R>, transform: (T, R) -> V): Many<V>",
)
def zip_(
    budget: Budget, values: Value, other: Value, transform: Callable[..., Value] = Pair
) -> Value:
    return many(budget, values, lambda: map(transform, raw(values), raw(other)))


@kotlin(
    "Items<T>.zipWithNext(): Many<Pair<T, T>>",
    "Items<T>.zipWithNext(transform: (T, T) -> R): Many<R>",
)
def zip_with_next(budget: Budget, values: Value, transform: Callable[..., Value] = Pair) -> Value:
    return many(budget, values, lambda: (transform(a, b) for a, b in pairwise(raw(values))))


@kotlin("Items<T>.withIndex(): Many<IndexedValue<T>>")
def with_index(budget: Budget, values: Value) -> Value:
    return many(
        budget, values, lambda: (Indexed(place, item) for place, item in enumerate(raw(values)))
    )


@kotlin(
    "Flow<T>.chunked(size: Int, transform: (List<T>) -> R): Many<R>",
    "String.chunked(size: Int, transform: (String) -> R): List<R>",
    "Flow<T>.chunked(size: Int): Many<List<T>>",
    "String.chunked(size: Int): List<String>",
)
def chunked(budget: Budget, values: Value, size: int, transform: Any = None) -> Value:
    return windowed(budget, values, size, size, True, transform)


@kotlin(
    "Flow<T>.windowed(size: Int, step: Int = _, partialWindows: Boolean = _): Many<List<T>>",
    "String.windowed(size: Int, step: Int = _, partialWindows: Boolean = _): List<String>",
    "Flow<T>.windowed(size: Int, step: Int = _, partialWindows: Boolean = _, transform: (List<T>)"
    " -> R): Many<R>",
    "String.windowed(size: Int, step: Int = _, partialWindows: Boolean = _, transform: (String) ->"
    " R): List<R>",
)
def windowed(
    budget: Budget,
    values: Value,
    size: int,
    step: int = 1,
    partial: bool = False,
    transform: Any = None,
) -> Value:
    if size < 1 or step < 1:
        raise ExpressionError("size and step must be greater than 0")
    items = values if isinstance(values, range | str) else listed(budget, values)
    end = len(items) if partial else len(items) - size + 1
    windows = budget.collect(
        part(budget, items, start, min(start + size, len(items)))
        for start in range(0, max(0, end), step)
    )
    if transform is not None:
        return many(budget, values, lambda: map(transform, windows))
    if type(values) is Sequence:
        return Sequence(lambda: windows)
    return windows


@kotlin(
    "List<T>.plus(elements: Iterable<T> / element: T): List<T>",
    "Set<T>.plus(elements: Iterable<T> / element: T): Set<T>",
    "Map<K, V>.plus(pair: Pair<K, V> / map: Map<K, V>): Map<K, V>",
    "String.plus(other: Any?): String",
    "N.plus(other: N): N",
)
def plus(budget: Budget, values: Value, other: Value) -> Value:
    return operators.arithmetic("+", values, other, budget)


@kotlin(
    "List<E>.minus(elements: Iterable<E> / element: E): List<E>",
    "Set<E>.minus(elements: Iterable<E> / element: E): Set<E>",
    "Map<E, V>.minus(keys: Iterable<E> / key: E): Map<E, V>",
    "N.minus(other: N): N",
)
def minus(budget: Budget, values: Value, other: Value) -> Value:
    return operators.arithmetic("-", values, other, budget)


@kotlin("Iterable<T>.union(other: Iterable<T>): Set<T>")
def union(budget: Budget, values: Value, other: Value) -> OrderedSet:
    return ordered_set([*each(budget, values), *each(budget, other)], budget)


@kotlin("Iterable<T>.intersect(other: Iterable<T>): Set<T>")
def intersect(budget: Budget, values: Value, other: Value, wanted: bool = True) -> OrderedSet:
    others = ordered_set(each(budget, other), budget)
    mine = ordered_set(each(budget, values), budget)
    return OrderedSet({key: None for key in mine.keys if (key in others.keys) is wanted})


@kotlin("Iterable<T>.subtract(other: Iterable<T>): Set<T>")
def subtract(budget: Budget, values: Value, other: Value) -> OrderedSet:
    return intersect(budget, values, other, wanted=False)


@kotlin("List<T>.get|elementAt(index: Int): T", "String.get|elementAt(index: Int): Char")
def get(budget: Budget, values: Value, index: int) -> Value:
    return element(values, index, budget)


@kotlin("Flow<T>.elementAt(index: Int): T")
def element_at(budget: Budget, values: Value, index: int) -> Value:
    if index >= 0:
        for element in islice(each(budget, values), index, None):
            return element
    raise ExpressionError(f"index {index} is out of bounds")


@kotlin(
    "List<T>.getOrNull|elementAtOrNull(index: Int): T?",
    "String.getOrNull|elementAtOrNull(index: Int): Char?",
)
def get_or_null(budget: Budget, values: Value, index: int) -> Value:
    if 0 <= index < len(values):
        return element(values, index, budget)
    return None


@kotlin(
    "List<T>.getOrElse|elementAtOrElse(index: Int, defaultValue: (Int) -> T): T",
    "String.getOrElse(index: Int, defaultValue: (Int) -> Char): Char",
)
def get_or_else(budget: Budget, values: Value, index: int, default: Function) -> Value:
    if 0 <= index < len(values):
        return element(values, index, budget)
    return default(index)


@kotlin(
    "List<T>.ifEmpty(defaultValue: () -> List<T>): List<T>",
    "Set<T>.ifEmpty(defaultValue: () -> Set<T>): Set<T>",
    "Map<K, V>.ifEmpty(defaultValue: () -> Map<K, V>): Map<K, V>",
    "String.ifEmpty(defaultValue: () -> T): T",
)
def if_empty(_: Budget, values: Value, default: Function) -> Value:
    return values or default()


library(
    {
        "Each<T>.none(predicate: (T) -> Boolean = _): Boolean": lambda *given: not any_(*given),
        "Each<T>.all(predicate: (T) -> Boolean): Boolean": lambda budget, values, predicate: all(
            map(predicate.test, each(budget, values))
        ),
        "Collection<*>|Map<*, *>.size: Int": lambda _, values: len(values),
        "Collection<*>|IntProgression|Map<*, *>|CharSequence.isEmpty(): Boolean": (
            lambda _, values: not values
        ),
        "ClosedRange<*>.isEmpty(): Boolean": lambda budget, values: operators.compare(
            ">", values.start, values.end, budget
        ),
        "Collection<*>|Map<*, *>|CharSequence.isNotEmpty(): Boolean": lambda _, values: bool(
            values
        ),
        "Collection<*>?|Map<*, *>?|CharSequence?.isNullOrEmpty(): Boolean": lambda _, values: (
            not values
        ),
        "Flow<E>.contains(element: E): Boolean": lambda budget, values, item: operators.contains(
            values, item, budget
        ),
        "Flow<N>.sum(): N": lambda budget, values: _total(budget, each(budget, values)),
        "IndexedValue<*>.index: Int": lambda _, indexed: indexed.index,
        "Entry<*, V>|IndexedValue<V>.value: V": lambda _, entry: entry.value,
        "IntProgression.first: Int": lambda _, values: values.start,
        "ClosedRange<T>.first|start: T": lambda _, values: values.start,
        "Char.code: Int": lambda _, char: ord(char),
        "List<T>?.orEmpty(): List<T>": lambda _, values: values or [],
        "Set<T>?.orEmpty(): Set<T>": lambda _, values: values or OrderedSet({}),
        "List<*>|String.lastIndex: Int": lambda _, values: len(values) - 1,
        "Collection<*>|String.indices: IntRange": lambda _, values: range(len(values)),
    }
)
