"""Maps, their entries, and pairs."""

from __future__ import annotations

from collections.abc import Iterable

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions import operators
from bioeval_tui.evaluation.assertions.expressions.comparison import equal, key_of, ordered, set_of
from bioeval_tui.evaluation.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin, library
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import Function, raw
from bioeval_tui.evaluation.assertions.expressions.values import (
    MapEntry,
    MapKey,
    OrderedSet,
    Pair,
    Value,
    value_of,
)

Map = dict[str | MapKey, Value]


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


@kotlin("Entry<K, *>.key: K")
def key(_: Budget, entry: MapEntry) -> Value:
    return entry.key


@kotlin("Map<C, V>.toSortedMap(): Map<C, V>")
def to_sorted_map(budget: Budget, values: Map) -> Map:
    return dict(ordered(((value_of(key), (key, item)) for key, item in values.items()), budget))


@kotlin("Flow<Pair<A, B>>.unzip(): Pair<List<A>, List<B>>")
def unzip(budget: Budget, values: Value) -> Pair:
    pairs = budget.collect(raw(values))
    return Pair([pair.first for pair in pairs], [pair.second for pair in pairs])


def _kept(budget: Budget, chosen: Iterable[MapEntry]) -> Map:
    result: Map = {}
    for entry in budget.each(chosen):
        budget.hold(2 * CELL)
        result[key_of(entry.key, budget)] = entry.value
    return result


library(
    {
        "Map<E, V>.get(key: E): V?": lambda budget, values, key: values.get(key_of(key, budget)),
        "Map<*, V>.values: Collection<V>": lambda budget, values: budget.collect(values.values()),
        "Map<K, V>.entries: Set<Entry<K, V>>": lambda budget, values: set_of(raw(values), budget),
        "Map<K, V>?.orEmpty(): Map<K, V>": lambda _, values: values or {},
        ("Map<K, V>.toMap(): Map<K, V>", "Map<K, V>.toMutableMap(): Map<K, V>"): lambda _, values: values,
        "Entry<K, V>.toPair(): Pair<K, V>": lambda _, entry: Pair(entry.key, entry.value),
        ("Pair<A, *>.first: A", "Triple<A, *, *>.first: A"): lambda _, pair: pair.first,
        ("Pair<*, B>.second: B", "Triple<*, B, *>.second: B"): lambda _, pair: pair.second,
        "Pair<T, T>.toList(): List<T>": lambda _, pair: [pair.first, pair.second],
        "Triple<T, T, T>.toList(): List<T>": lambda _, triple: [triple.first, triple.second, triple.third],
        "Triple<*, *, D>.third: D": lambda _, triple: triple.third,
    }
)
