"""Maps, their entries, and pairs."""

from __future__ import annotations

from collections.abc import Iterable

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions import operators
from bioeval_tui.evaluate.assertions.expressions.comparison import equal, key_of, ordered, set_of
from bioeval_tui.evaluate.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import Function, raw
from bioeval_tui.evaluate.assertions.expressions.values import (
    MapEntry,
    MapKey,
    OrderedSet,
    Pair,
    Triple,
    Value,
    value_of,
)

Map = dict[str | MapKey, Value]


@kotlin("Map<E, V>.get(key: E): V?")
def get(budget: Budget, values: Map, key: Value) -> Value:
    return values.get(key_of(key, budget))


@kotlin("Map<E, V>.getValue(key: E): V")
def get_value(budget: Budget, values: Map, key: Value) -> Value:
    found = key_of(key, budget)
    if found not in values:
        raise ExpressionError("the map has no such key")
    return values[found]


@kotlin("Map<E, V>.getOrDefault(key: E, defaultValue: V): V")
def get_or_default(budget: Budget, values: Map, key: Value, default: Value) -> Value:
    return values.get(key_of(key, budget), default)


@kotlin("Map<E, V>.getOrElse(key: E, defaultValue: () -> V): V")
def get_or_else(budget: Budget, values: Map, key: Value, default: Function) -> Value:
    found = values.get(key_of(key, budget))
    return default() if found is None else found


@kotlin("Map<E, *>.containsKey(key: E): Boolean", "Map<E, *>.contains(key: E): Boolean")
def contains_key(budget: Budget, values: Map, key: Value) -> bool:
    return operators.contains(values, key, budget)


@kotlin("Map<*, E>.containsValue(value: E): Boolean")
def contains_value(budget: Budget, values: Map, value: Value) -> bool:
    return any(equal(item, value, budget) for item in values.values())


@kotlin("Map<K, *>.keys: Set<K>")
def keys(budget: Budget, values: Map) -> OrderedSet:
    budget.hold(2 * CELL * len(values))
    return OrderedSet(dict.fromkeys(values))


@kotlin("Map<*, V>.values: Collection<V>")
def values_(budget: Budget, values: Map) -> list[Value]:
    return budget.collect(values.values())


@kotlin("Map<K, V>.entries: Set<Entry<K, V>>")
def entries(budget: Budget, values: Map) -> OrderedSet:
    return set_of(raw(values), budget)


@kotlin("Map<K, V>.filter(predicate: (Entry<K, V>) -> Boolean): Map<K, V>")
def filter_(budget: Budget, values: Map, predicate: Function) -> Map:
    return _kept(budget, (entry for entry in raw(values) if predicate.test(entry)))


@kotlin("Map<K, V>.filterNot(predicate: (Entry<K, V>) -> Boolean): Map<K, V>")
def filter_not(budget: Budget, values: Map, predicate: Function) -> Map:
    return _kept(budget, (entry for entry in raw(values) if not predicate.test(entry)))


@kotlin("Map<K, V>.filterKeys(predicate: (K) -> Boolean): Map<K, V>")
def filter_keys(budget: Budget, values: Map, predicate: Function) -> Map:
    return _kept(budget, (entry for entry in raw(values) if predicate.test(entry.key)))


@kotlin("Map<K, V>.filterValues(predicate: (V) -> Boolean): Map<K, V>")
def filter_values(budget: Budget, values: Map, predicate: Function) -> Map:
    return _kept(budget, (entry for entry in raw(values) if predicate.test(entry.value)))


@kotlin("Map<K, V>.mapValues(transform: (Entry<K, V>) -> R): Map<K, R>")
def map_values(budget: Budget, values: Map, transform: Function) -> Map:
    return _kept(budget, (MapEntry(entry.key, transform(entry)) for entry in raw(values)))


@kotlin("Map<K, V>.mapKeys(transform: (Entry<K, V>) -> R): Map<R, V>")
def map_keys(budget: Budget, values: Map, transform: Function) -> Map:
    return _kept(budget, (MapEntry(transform(entry), entry.value) for entry in raw(values)))


@kotlin("Map<K, V>?.orEmpty(): Map<K, V>")
def or_empty(_: Budget, values: Map | None) -> Map:
    return values or {}


@kotlin("Map<K, V>.toMap(): Map<K, V>", "Map<K, V>.toMutableMap(): Map<K, V>")
def to_map(_: Budget, values: Map) -> Map:
    return values


@kotlin("Entry<K, *>.key: K")
def key(_: Budget, entry: MapEntry) -> Value:
    return entry.key


@kotlin("Entry<K, V>.toPair(): Pair<K, V>")
def to_pair(_: Budget, entry: MapEntry) -> Pair:
    return Pair(entry.key, entry.value)


@kotlin("Pair<A, *>.first: A", "Triple<A, *, *>.first: A")
def first(_: Budget, pair: Pair) -> Value:
    return pair.first


@kotlin("Pair<*, B>.second: B", "Triple<*, B, *>.second: B")
def second(_: Budget, pair: Pair) -> Value:
    return pair.second


@kotlin("Pair<T, T>.toList(): List<T>")
def to_list(_: Budget, pair: Pair) -> list[Value]:
    return [pair.first, pair.second]


@kotlin("Triple<T, T, T>.toList(): List<T>")
def triple_to_list(_: Budget, triple: Triple) -> list[Value]:
    return [triple.first, triple.second, triple.third]


@kotlin("Map<C, V>.toSortedMap(): Map<C, V>")
def to_sorted_map(budget: Budget, values: Map) -> Map:
    return dict(ordered(((value_of(key), (key, item)) for key, item in values.items()), budget))


@kotlin("Flow<Pair<A, B>>.unzip(): Pair<List<A>, List<B>>")
def unzip(budget: Budget, values: Value) -> Pair:
    pairs = budget.collect(raw(values))
    return Pair([pair.first for pair in pairs], [pair.second for pair in pairs])


@kotlin("Triple<*, *, D>.third: D")
def third(_: Budget, triple: Triple) -> Value:
    return triple.third


def _kept(budget: Budget, chosen: Iterable[MapEntry]) -> Map:
    result: Map = {}
    for entry in budget.each(chosen):
        budget.hold(2 * CELL)
        result[key_of(entry.key, budget)] = entry.value
    return result
