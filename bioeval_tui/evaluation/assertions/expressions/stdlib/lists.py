"""Parts of sequences: take, drop, reversed, zip, chunked, set operations, elements by index."""

from __future__ import annotations

from itertools import dropwhile, islice, pairwise, takewhile
from typing import Any

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions import operators
from bioeval_tui.evaluation.assertions.expressions.comparison import set_of
from bioeval_tui.evaluation.assertions.expressions.evaluator import element
from bioeval_tui.evaluation.assertions.expressions.limits import Budget
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import (
    Function,
    each,
    many,
    not_negative,
    part,
    placed,
    raw,
    same_kind,
)
from bioeval_tui.evaluation.assertions.expressions.values import (
    Indexed,
    OrderedSet,
    Pair,
    Sequence,
    Value,
    from_units,
    to_units,
)

_NONE = object()


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


@kotlin("List<T>.takeLast(n: Int): List<T>", "String.takeLast(n: Int): String")
def take_last(budget: Budget, values: Value, n: int) -> Value:
    return part(budget, values, len(values) - min(not_negative(n, "n"), len(values)), len(values))


@kotlin("List<T>.dropLast(n: Int): List<T>", "String.dropLast(n: Int): String")
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
        raise ExpressionError(f"subList({start}, {end}) is out of bounds for a list of {len(values)}")
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
    return to_units(from_units(text)[::-1])


@kotlin("Flow<T>.zip(other: Flow<R>): Many<Pair<T, R>>", "String.zip(other: String): List<Pair<Char, Char>>")
def zip_(budget: Budget, values: Value, other: Value) -> Value:
    return many(budget, values, lambda: (Pair(a, b) for a, b in zip(raw(values), raw(other), strict=False)))


@kotlin("Flow<T>.zip(other: Flow<R>, transform: (T, R) -> V): Many<V>")
def zip_with(budget: Budget, values: Value, other: Value, transform: Function) -> Value:
    return many(budget, values, lambda: map(transform, raw(values), raw(other)))


@kotlin("Items<T>.zipWithNext(): Many<Pair<T, T>>")
def zip_with_next(budget: Budget, values: Value) -> Value:
    return many(budget, values, lambda: (Pair(a, b) for a, b in pairwise(raw(values))))


@kotlin("Items<T>.zipWithNext(transform: (T, T) -> R): Many<R>")
def zip_with_next_by(budget: Budget, values: Value, transform: Function) -> Value:
    return many(budget, values, lambda: (transform(a, b) for a, b in pairwise(raw(values))))


@kotlin("Items<T>.withIndex(): Many<IndexedValue<T>>")
def with_index(budget: Budget, values: Value) -> Value:
    return many(budget, values, lambda: (Indexed(place, item) for place, item in enumerate(raw(values))))


@kotlin(
    "Flow<T>.chunked(size: Int, transform: (List<T>) -> R): Many<R>",
    "String.chunked(size: Int, transform: (String) -> R): List<R>",
)
def chunked_by(budget: Budget, values: Value, size: int, transform: Function) -> Value:
    return windowed_by(budget, values, size, size, True, transform)


@kotlin("Flow<T>.chunked(size: Int): Many<List<T>>", "String.chunked(size: Int): List<String>")
def chunked(budget: Budget, values: Value, size: int) -> Value:
    return windowed(budget, values, size, size, True)


@kotlin(
    "Flow<T>.windowed(size: Int, step: Int = _, partialWindows: Boolean = _): Many<List<T>>",
    "String.windowed(size: Int, step: Int = _, partialWindows: Boolean = _): List<String>",
)
def windowed(budget: Budget, values: Value, size: int, step: int = 1, partial: bool = False) -> Value:
    if size < 1 or step < 1:
        raise ExpressionError("size and step must be greater than 0")
    items = placed(budget, values)
    last = len(items) if partial else len(items) - size + 1
    found = budget.collect(
        part(budget, items, start, min(start + size, len(items))) for start in range(0, max(0, last), step)
    )
    return Sequence(lambda: found) if type(values) is Sequence else found


@kotlin(
    "Flow<T>.windowed(size: Int, step: Int = _, partialWindows: Boolean = _, transform: (List<T>) -> R): Many<R>",
    "String.windowed(size: Int, step: Int = _, partialWindows: Boolean = _, transform: (String) -> R): List<R>",
)
def windowed_by(
    budget: Budget,
    values: Value,
    size: int,
    step: int = 1,
    partial: bool = False,
    transform: Any = None,
) -> Value:
    windows = windowed(budget, values, size, step, partial)
    return many(budget, values, lambda: map(transform, raw(windows)))


@kotlin(
    "List<T>.plus(elements: Iterable<T>): List<T>",
    "Set<T>.plus(elements: Iterable<T>): Set<T>",
    "List<T>.plus(element: T): List<T>",
    "Set<T>.plus(element: T): Set<T>",
    "Map<K, V>.plus(pair: Pair<K, V>): Map<K, V>",
    "Map<K, V>.plus(map: Map<K, V>): Map<K, V>",
    "String.plus(other: Any?): String",
    "N.plus(other: N): N",
)
def plus(budget: Budget, values: Value, other: Value) -> Value:
    return operators.arithmetic("+", values, other, budget)


@kotlin(
    "List<E>.minus(elements: Iterable<E>): List<E>",
    "Set<E>.minus(elements: Iterable<E>): Set<E>",
    "List<E>.minus(element: E): List<E>",
    "Set<E>.minus(element: E): Set<E>",
    "Map<E, V>.minus(keys: Iterable<E>): Map<E, V>",
    "Map<E, V>.minus(key: E): Map<E, V>",
    "N.minus(other: N): N",
)
def minus(budget: Budget, values: Value, other: Value) -> Value:
    return operators.arithmetic("-", values, other, budget)


@kotlin("Iterable<T>.union(other: Iterable<T>): Set<T>")
def union(budget: Budget, values: Value, other: Value) -> OrderedSet:
    return set_of([*each(budget, values), *each(budget, other)], budget)


@kotlin("Iterable<T>.intersect(other: Iterable<T>): Set<T>")
def intersect(budget: Budget, values: Value, other: Value) -> OrderedSet:
    kept = set_of(each(budget, other), budget)
    mine = set_of(each(budget, values), budget)
    return OrderedSet({key: None for key in mine.keys if key in kept.keys})


@kotlin("Iterable<T>.subtract(other: Iterable<T>): Set<T>")
def subtract(budget: Budget, values: Value, other: Value) -> OrderedSet:
    taken = set_of(each(budget, other), budget)
    mine = set_of(each(budget, values), budget)
    return OrderedSet({key: None for key in mine.keys if key not in taken.keys})


@kotlin(
    "List<T>.get(index: Int): T",
    "String.get(index: Int): Char",
    "List<T>.elementAt(index: Int): T",
    "String.elementAt(index: Int): Char",
)
def get(budget: Budget, values: Value, index: int) -> Value:
    return element(values, index, budget)


@kotlin("Flow<T>.elementAt(index: Int): T")
def element_at(budget: Budget, values: Value, index: int) -> Value:
    found = next(islice(each(budget, values), max(0, index), None), _NONE) if index >= 0 else _NONE
    if found is _NONE:
        raise ExpressionError(f"index {index} is out of bounds")
    return found


@kotlin(
    "List<T>.getOrNull(index: Int): T?",
    "String.getOrNull(index: Int): Char?",
    "List<T>.elementAtOrNull(index: Int): T?",
    "String.elementAtOrNull(index: Int): Char?",
)
def get_or_null(budget: Budget, values: Value, index: int) -> Value:
    return element(values, index, budget) if 0 <= index < len(values) else None


@kotlin(
    "List<T>.getOrElse(index: Int, defaultValue: (Int) -> T): T",
    "List<T>.elementAtOrElse(index: Int, defaultValue: (Int) -> T): T",
    "String.getOrElse(index: Int, defaultValue: (Int) -> Char): Char",
)
def get_or_else(budget: Budget, values: Value, index: int, default: Function) -> Value:
    return element(values, index, budget) if 0 <= index < len(values) else default(index)


@kotlin(
    "List<T>.ifEmpty(defaultValue: () -> List<T>): List<T>",
    "Set<T>.ifEmpty(defaultValue: () -> Set<T>): Set<T>",
    "Map<K, V>.ifEmpty(defaultValue: () -> Map<K, V>): Map<K, V>",
    "String.ifEmpty(defaultValue: () -> T): T",
)
def if_empty(_: Budget, values: Value, default: Function) -> Value:
    return values or default()


@kotlin("List<T>?.orEmpty(): List<T>")
def or_empty(_: Budget, values: list[Value] | None) -> list[Value]:
    return values or []


@kotlin("Set<T>?.orEmpty(): Set<T>")
def or_empty_set(_: Budget, values: OrderedSet | None) -> OrderedSet:
    return values or OrderedSet({})


@kotlin("List<*>.lastIndex: Int", "String.lastIndex: Int")
def last_index(_: Budget, values: Value) -> int:
    return len(values) - 1


@kotlin("Collection<*>.indices: IntRange", "String.indices: IntRange")
def indices(_: Budget, values: Value) -> range:
    return range(len(values))
