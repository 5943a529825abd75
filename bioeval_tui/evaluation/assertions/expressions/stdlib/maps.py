"""Creating collections and ranges; maps, their entries, pairs and triples."""

from __future__ import annotations

from collections.abc import Iterator

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions import operators
from bioeval_tui.evaluation.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluation.assertions.expressions.operators import equal, key_of, ordered, set_of
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin, library
from bioeval_tui.evaluation.assertions.expressions.stdlib.ordering import to_sorted_set
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import (
    Function,
    Map,
    map_of,
    not_negative,
    raw,
)
from bioeval_tui.evaluation.assertions.expressions.stdlib.transforming import to_map
from bioeval_tui.evaluation.assertions.expressions.values import (
    MapEntry,
    OrderedSet,
    Pair,
    Sequence,
    Triple,
    Value,
    value_of,
    whole_range,
)


@kotlin("generateSequence(seed: T, nextFunction: (T) -> T?): Sequence<T>")
def generate_sequence(budget: Budget, seed: Value, following: Function) -> Sequence:
    def elements() -> Iterator[Value]:
        value = seed
        while value is not None:
            budget.step()
            yield value
            value = following(value)

    return Sequence(elements)


@kotlin("IntProgression.step(step: Int): IntProgression")
def step(_: Budget, values: range, size: int) -> range:
    if size <= 0:
        raise ExpressionError(f"step is {size}, but must be positive")
    return range(values.start, values.stop, size if values.step > 0 else -size)


@kotlin("Map<E, V>.getValue(key: E): V")
def get_value(budget: Budget, values: Map, key: Value) -> Value:
    found = key_of(key, budget)
    if found not in values:
        raise ExpressionError("the map has no such key")
    return values[found]


@kotlin("Map<E, V>.getOrElse(key: E, defaultValue: () -> V): V")
def get_or_else(budget: Budget, values: Map, key: Value, default: Function) -> Value:
    found = values.get(key_of(key, budget))
    return default() if found is None else found


@kotlin("Map<*, E>.containsValue(value: E): Boolean")
def contains_value(budget: Budget, values: Map, value: Value) -> bool:
    return any(equal(item, value, budget) for item in values.values())


@kotlin("Map<K, *>.keys: Set<K>")
def keys(budget: Budget, values: Map) -> OrderedSet:
    budget.hold(2 * CELL * len(values))
    return OrderedSet(dict.fromkeys(values))


@kotlin("Map<K, V>.filter(predicate: (Entry<K, V>) -> Boolean): Map<K, V>")
def filter_(budget: Budget, values: Map, predicate: Function) -> Map:
    return map_of(budget, filter(predicate.test, raw(values)))


@kotlin("Map<K, V>.filterNot(predicate: (Entry<K, V>) -> Boolean): Map<K, V>")
def filter_not(budget: Budget, values: Map, predicate: Function) -> Map:
    return map_of(budget, (entry for entry in raw(values) if not predicate.test(entry)))


@kotlin("Map<K, V>.filterKeys(predicate: (K) -> Boolean): Map<K, V>")
def filter_keys(budget: Budget, values: Map, predicate: Function) -> Map:
    return map_of(budget, (entry for entry in raw(values) if predicate.test(entry.key)))


@kotlin("Map<K, V>.filterValues(predicate: (V) -> Boolean): Map<K, V>")
def filter_values(budget: Budget, values: Map, predicate: Function) -> Map:
    return map_of(budget, (entry for entry in raw(values) if predicate.test(entry.value)))


@kotlin("Map<K, V>.mapValues(transform: (Entry<K, V>) -> R): Map<K, R>")
def map_values(budget: Budget, values: Map, transform: Function) -> Map:
    return map_of(budget, (MapEntry(entry.key, transform(entry)) for entry in raw(values)))


@kotlin("Map<K, V>.mapKeys(transform: (Entry<K, V>) -> R): Map<R, V>")
def map_keys(budget: Budget, values: Map, transform: Function) -> Map:
    return map_of(budget, (MapEntry(transform(entry), entry.value) for entry in raw(values)))


@kotlin("Map<C, V>.toSortedMap(): Map<C, V>")
def to_sorted_map(budget: Budget, values: Map) -> Map:
    return dict(ordered(((value_of(key), (key, item)) for key, item in values.items()), budget))


@kotlin("Flow<Pair<A, B>>.unzip(): Pair<List<A>, List<B>>")
def unzip(budget: Budget, values: Value) -> Pair:
    pairs = budget.collect(raw(values))
    return Pair([pair.first for pair in pairs], [pair.second for pair in pairs])


@kotlin("sortedMapOf(vararg pairs: Pair<C, V>): Map<C, V>")
def sorted_map_of(budget: Budget, pairs: tuple[Pair, ...]) -> Map:
    return to_sorted_map(budget, to_map(budget, list(pairs)))


@kotlin("List|MutableList(size: Int, init: (Int) -> T): List<T>")
def list_by(budget: Budget, size: int, init: Function) -> list[Value]:
    return budget.collect(init(place) for place in range(not_negative(size, "size")))


library(
    {
        "listOf|mutableListOf|arrayListOf(vararg elements: T): List<T>": lambda budget, items: budget.collect(
            items
        ),
        "emptyList(): List<T>": lambda _: [],
        "listOfNotNull(vararg elements: T?): List<T>": lambda budget, items: budget.collect(
            item for item in items if item is not None
        ),
        "setOf|mutableSetOf|linkedSetOf(vararg elements: T): Set<T>": lambda budget, items: set_of(
            items, budget
        ),
        "emptySet(): Set<T>": lambda _: OrderedSet({}),
        "mapOf|mutableMapOf|linkedMapOf(vararg pairs: Pair<K, V>): Map<K, V>": lambda budget, pairs: to_map(
            budget, list(pairs)
        ),
        "emptyMap(): Map<K, V>": lambda _: {},
        "sortedSetOf(vararg elements: C): Set<C>": lambda budget, items: to_sorted_set(budget, list(items)),
        "sequenceOf(vararg elements: T): Sequence<T>": lambda _, items: Sequence(lambda: items),
        "Pair(first: A, second: B): Pair<A, B>": lambda _, first, second: Pair(first, second),
        "A.to(that: B): Pair<A, B>": lambda _, first, second: Pair(first, second),
        "Triple(first: A, second: B, third: D): Triple<A, B, D>": lambda _, *items: Triple(*items),
        "Int.until(to: Int): IntRange": lambda _, start, end: operators.span("..<", start, end),
        "Long.until(to: Long): LongRange": lambda _, start, end: operators.span("..<", start, end),
        "Int.rangeTo(other: Int): IntRange": lambda _, start, end: operators.span("..", start, end),
        "Long.rangeTo(other: Long): LongRange": lambda _, start, end: operators.span("..", start, end),
        "Int.downTo(to: Int): IntProgression": lambda _, start, end: whole_range(start, end - 1, -1),
        "Map<E, V>.get(key: E): V?": lambda budget, values, key: values.get(key_of(key, budget)),
        "Map<E, V>.getOrDefault(key: E, defaultValue: V): V": lambda budget, values, key, default: values.get(
            key_of(key, budget), default
        ),
        "Map<E, *>.containsKey|contains(key: E): Boolean": lambda budget, values, key: operators.contains(
            values, key, budget
        ),
        "Map<*, V>.values: Collection<V>": lambda budget, values: budget.collect(values.values()),
        "Map<K, V>.entries: Set<Entry<K, V>>": lambda budget, values: set_of(raw(values), budget),
        "Map<K, V>?.orEmpty(): Map<K, V>": lambda _, values: values or {},
        "Map<K, V>.toMap|toMutableMap(): Map<K, V>": lambda _, values: values,
        "Entry<K, *>.key: K": lambda _, entry: entry.key,
        "Entry<K, V>.toPair(): Pair<K, V>": lambda _, entry: Pair(entry.key, entry.value),
        "Pair<A, *>|Triple<A, *, *>.first: A": lambda _, pair: pair.first,
        "Pair<*, B>|Triple<*, B, *>.second: B": lambda _, pair: pair.second,
        "Pair<T, T>.toList(): List<T>": lambda _, pair: [pair.first, pair.second],
        "Triple<T, T, T>.toList(): List<T>": lambda _, triple: [triple.first, triple.second, triple.third],
        "Triple<*, *, D>.third: D": lambda _, triple: triple.third,
    }
)
