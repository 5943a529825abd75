"""Maps, their entries, and pairs."""

from __future__ import annotations

from collections.abc import Iterable

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions import operators
from bioeval_tui.evaluate.assertions.expressions.comparison import alike, equal, key_of
from bioeval_tui.evaluate.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import Function, raw
from bioeval_tui.evaluate.assertions.expressions.values import Entry, Key, OrderedSet, Pair, Value

Map = dict[str | Key, Value]


@kotlin("Map.get(key: Any?): T?")
def get(budget: Budget, values: Map, key: Value) -> Value:
    return values.get(key_of(key, budget))


@kotlin("Map.getValue(key: Any?): T")
def get_value(budget: Budget, values: Map, key: Value) -> Value:
    found = key_of(key, budget)
    if found not in values:
        raise ExpressionError("the map has no such key")
    return values[found]


@kotlin("Map.getOrDefault(key: Any?, defaultValue: Any?): T")
def get_or_default(budget: Budget, values: Map, key: Value, default: Value) -> Value:
    return values.get(key_of(key, budget), default)


@kotlin("Map.getOrElse(key: Any?, defaultValue: Fn0): T")
def get_or_else(budget: Budget, values: Map, key: Value, default: Function) -> Value:
    found = values.get(key_of(key, budget))
    return default() if found is None else found


@kotlin("Map.containsKey(key: Any?): Boolean", "Map.contains(key: Any?): Boolean")
def contains_key(budget: Budget, values: Map, key: Value) -> bool:
    return operators.contains(values, key, budget)


@kotlin("Map.containsValue(value: Any?): Boolean")
def contains_value(budget: Budget, values: Map, value: Value) -> bool:
    return any(alike(item, value) and equal(item, value, budget) for item in values.values())


@kotlin("Map.keys: Set")
def keys(budget: Budget, values: Map) -> OrderedSet:
    budget.hold(2 * CELL * len(values))
    return OrderedSet(dict.fromkeys(values))


@kotlin("Map.values: List")
def values_(budget: Budget, values: Map) -> list[Value]:
    return budget.collect(values.values())


@kotlin("Map.entries: List")
def entries(budget: Budget, values: Map) -> list[Value]:
    return budget.collect(raw(values))


@kotlin("Map.filter(predicate: Fn1): Map")
def filter_(budget: Budget, values: Map, predicate: Function) -> Map:
    return _kept(budget, (entry for entry in raw(values) if predicate.test(entry)))


@kotlin("Map.filterNot(predicate: Fn1): Map")
def filter_not(budget: Budget, values: Map, predicate: Function) -> Map:
    return _kept(budget, (entry for entry in raw(values) if not predicate.test(entry)))


@kotlin("Map.filterKeys(predicate: Fn1): Map")
def filter_keys(budget: Budget, values: Map, predicate: Function) -> Map:
    return _kept(budget, (entry for entry in raw(values) if predicate.test(entry.key)))


@kotlin("Map.filterValues(predicate: Fn1): Map")
def filter_values(budget: Budget, values: Map, predicate: Function) -> Map:
    return _kept(budget, (entry for entry in raw(values) if predicate.test(entry.value)))


@kotlin("Map.mapValues(transform: Fn1): Map")
def map_values(budget: Budget, values: Map, transform: Function) -> Map:
    return _kept(budget, (Entry(entry.key, transform(entry)) for entry in raw(values)))


@kotlin("Map.mapKeys(transform: Fn1): Map")
def map_keys(budget: Budget, values: Map, transform: Function) -> Map:
    return _kept(budget, (Entry(transform(entry), entry.value) for entry in raw(values)))


@kotlin("Map?.orEmpty(): Map")
def or_empty(_: Budget, values: Map | None) -> Map:
    return values or {}


@kotlin("Map.toMap(): Map")
def to_map(_: Budget, values: Map) -> Map:
    return values


@kotlin("Entry.key: T")
def key(_: Budget, entry: Entry) -> Value:
    return entry.key


@kotlin("Entry.toPair(): Pair")
def to_pair(_: Budget, entry: Entry) -> Pair:
    return Pair(entry.key, entry.value)


@kotlin("Pair.first: T")
def first(_: Budget, pair: Pair) -> Value:
    return pair.first


@kotlin("Pair.second: T")
def second(_: Budget, pair: Pair) -> Value:
    return pair.second


@kotlin("Pair.toList(): List")
def to_list(_: Budget, pair: Pair) -> list[Value]:
    return [pair.first, pair.second]


def _kept(budget: Budget, chosen: Iterable[Entry]) -> Map:
    result: Map = {}
    for entry in budget.each(chosen):
        budget.hold(2 * CELL)
        result[key_of(entry.key, budget)] = entry.value
    return result
