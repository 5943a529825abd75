"""Functions that create collections, ranges, sequences and pairs."""

from __future__ import annotations

from collections.abc import Iterator

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.comparison import set_of
from bioeval_tui.evaluation.assertions.expressions.limits import Budget
from bioeval_tui.evaluation.assertions.expressions.operators import span
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluation.assertions.expressions.stdlib import maps, ordering, transforming
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import Function, not_negative
from bioeval_tui.evaluation.assertions.expressions.values import (
    MapKey,
    OrderedSet,
    Pair,
    Sequence,
    Triple,
    Value,
    whole_range,
)


@kotlin(
    "listOf(vararg elements: T): List<T>",
    "emptyList(): List<T>",
    "mutableListOf(vararg elements: T): List<T>",
    "arrayListOf(vararg elements: T): List<T>",
)
def list_of(budget: Budget, elements: tuple[Value, ...] = ()) -> list[Value]:
    return budget.collect(elements)


@kotlin("listOfNotNull(vararg elements: T?): List<T>")
def list_of_not_null(budget: Budget, elements: tuple[Value, ...]) -> list[Value]:
    return budget.collect(item for item in elements if item is not None)


@kotlin(
    "setOf(vararg elements: T): Set<T>",
    "emptySet(): Set<T>",
    "mutableSetOf(vararg elements: T): Set<T>",
    "linkedSetOf(vararg elements: T): Set<T>",
)
def set_of_(budget: Budget, elements: tuple[Value, ...] = ()) -> OrderedSet:
    return set_of(elements, budget)


@kotlin(
    "mapOf(vararg pairs: Pair<K, V>): Map<K, V>",
    "emptyMap(): Map<K, V>",
    "mutableMapOf(vararg pairs: Pair<K, V>): Map<K, V>",
    "linkedMapOf(vararg pairs: Pair<K, V>): Map<K, V>",
)
def map_of(budget: Budget, pairs: tuple[Pair, ...] = ()) -> dict[str | MapKey, Value]:
    return transforming.to_map(budget, list(pairs))


@kotlin("sortedSetOf(vararg elements: C): Set<C>")
def sorted_set_of(budget: Budget, elements: tuple[Value, ...]) -> OrderedSet:
    return ordering.to_sorted_set(budget, list(elements))


@kotlin("sortedMapOf(vararg pairs: Pair<C, V>): Map<C, V>")
def sorted_map_of(budget: Budget, pairs: tuple[Pair, ...]) -> dict[str | MapKey, Value]:
    return maps.to_sorted_map(budget, map_of(budget, pairs))


@kotlin(
    "List(size: Int, init: (Int) -> T): List<T>",
    "MutableList(size: Int, init: (Int) -> T): List<T>",
)
def list_by(budget: Budget, size: int, init: Function) -> list[Value]:
    return budget.collect(init(place) for place in range(not_negative(size, "size")))


@kotlin("sequenceOf(vararg elements: T): Sequence<T>")
def sequence_of(_: Budget, elements: tuple[Value, ...]) -> Sequence:
    return Sequence(lambda: elements)


@kotlin("generateSequence(seed: T, nextFunction: (T) -> T?): Sequence<T>")
def generate_sequence(budget: Budget, seed: Value, following: Function) -> Sequence:
    def elements() -> Iterator[Value]:
        value = seed
        while value is not None:
            budget.step()
            yield value
            value = following(value)

    return Sequence(elements)


@kotlin("Pair(first: A, second: B): Pair<A, B>", "A.to(that: B): Pair<A, B>")
def pair(_: Budget, first: Value, second: Value) -> Pair:
    return Pair(first, second)


@kotlin("Triple(first: A, second: B, third: D): Triple<A, B, D>")
def triple(_: Budget, first: Value, second: Value, third: Value) -> Triple:
    return Triple(first, second, third)


@kotlin("Int.until(to: Int): IntRange", "Long.until(to: Long): LongRange")
def until(_: Budget, start: int, end: int) -> Value:
    return span("..<", start, end)


@kotlin("Int.rangeTo(other: Int): IntRange", "Long.rangeTo(other: Long): LongRange")
def range_to(_: Budget, start: int, end: int) -> Value:
    return span("..", start, end)


@kotlin("Int.downTo(to: Int): IntProgression")
def down_to(_: Budget, start: int, end: int) -> range:
    return whole_range(start, end - 1, -1)


@kotlin("IntProgression.step(step: Int): IntProgression")
def step(_: Budget, values: range, size: int) -> range:
    if size <= 0:
        raise ExpressionError(f"step is {size}, but must be positive")
    return range(values.start, values.stop, size if values.step > 0 else -size)
