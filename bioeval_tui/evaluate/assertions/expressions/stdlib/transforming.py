"""Elements → other elements: filter, map, flatMap, group, associate, fold."""

from __future__ import annotations

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.comparison import key_of, set_of, to_text
from bioeval_tui.evaluate.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import Function, each, raw, same_kind
from bioeval_tui.evaluate.assertions.expressions.values import (
    Interval,
    Key,
    OrderedSet,
    Pair,
    Value,
    type_name,
)

Map = dict[str | Key, Value]


@kotlin("Iterable|String.filter(predicate: Fn1): T")
def filter_(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(budget, values, (item for item in raw(values) if predicate.test(item)))


@kotlin("Iterable|String.filterNot(predicate: Fn1): T")
def filter_not(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(budget, values, (item for item in raw(values) if not predicate.test(item)))


@kotlin("Iterable|String.filterIndexed(predicate: Fn2): T")
def filter_indexed(budget: Budget, values: Value, predicate: Function) -> Value:
    numbered = enumerate(raw(values))
    return same_kind(budget, values, (item for place, item in numbered if predicate.test(place, item)))


@kotlin("Iterable.filterNotNull(): List")
def filter_not_null(budget: Budget, values: Value) -> list[Value]:
    return budget.collect(item for item in each(budget, values) if item is not None)


@kotlin("Iterable|Map|String.map(transform: Fn1): List")
def map_(budget: Budget, values: Value, transform: Function) -> list[Value]:
    return budget.collect(map(transform, raw(values)))


@kotlin("Iterable|String.mapIndexed(transform: Fn2): List")
def map_indexed(budget: Budget, values: Value, transform: Function) -> list[Value]:
    return budget.collect(transform(place, item) for place, item in enumerate(raw(values)))


@kotlin("Iterable|Map|String.mapNotNull(transform: Fn1): List")
def map_not_null(budget: Budget, values: Value, transform: Function) -> list[Value]:
    results = map(transform, each(budget, values))
    return budget.collect(result for result in results if result is not None)


@kotlin("Iterable|Map|String.flatMap(transform: Fn1): List")
def flat_map(budget: Budget, values: Value, transform: Function) -> list[Value]:
    return budget.collect(
        item for inner in each(budget, values) for item in raw(_collection(transform(inner), "flatMap"))
    )


@kotlin("Iterable.flatten(): List")
def flatten(budget: Budget, values: Value) -> list[Value]:
    return budget.collect(
        item for inner in each(budget, values) for item in raw(_collection(inner, "flatten"))
    )


@kotlin("Iterable|String.fold(initial: Any?, operation: Fn2): T")
def fold(budget: Budget, values: Value, initial: Value, operation: Function) -> Value:
    result = initial
    for item in each(budget, values):
        result = operation(result, item)
    return result


@kotlin("Iterable|String.reduce(operation: Fn2): T")
def reduce(budget: Budget, values: Value, operation: Function) -> Value:
    items = each(budget, values)
    for result in items:
        return fold(budget, budget.collect(items), result, operation)
    raise ExpressionError("there are no elements to reduce")


@kotlin(
    "Iterable.groupBy(keySelector: Fn1): Map", "Iterable.groupBy(keySelector: Fn1, valueTransform: Fn1): Map"
)
def group_by(budget: Budget, values: Value, selector: Function, transform: Function | None = None) -> Map:
    groups: Map = {}
    for item in each(budget, values):
        budget.hold(2 * CELL)
        group = groups.setdefault(key_of(selector(item), budget), [])
        group.append(item if transform is None else transform(item))
    return groups


@kotlin("Iterable.partition(predicate: Fn1): Pair")
def partition(budget: Budget, values: Value, predicate: Function) -> Pair:
    chosen: tuple[list[Value], list[Value]] = ([], [])
    for item in budget.collect(raw(values)):
        chosen[0 if predicate.test(item) else 1].append(item)
    return Pair(*chosen)


@kotlin("Iterable|String.associate(transform: Fn1): Map")
def associate(budget: Budget, values: Value, transform: Function) -> Map:
    return to_map(budget, [transform(item) for item in each(budget, values)])


@kotlin(
    "Iterable.associateBy(keySelector: Fn1): Map",
    "Iterable.associateBy(keySelector: Fn1, valueTransform: Fn1): Map",
)
def associate_by(budget: Budget, values: Value, selector: Function, transform: Function | None = None) -> Map:
    result: Map = {}
    for item in each(budget, values):
        budget.hold(2 * CELL)
        result[key_of(selector(item), budget)] = item if transform is None else transform(item)
    return result


@kotlin("Iterable.associateWith(valueSelector: Fn1): Map")
def associate_with(budget: Budget, values: Value, selector: Function) -> Map:
    result: Map = {}
    for item in each(budget, values):
        budget.hold(2 * CELL)
        result[key_of(item, budget)] = selector(item)
    return result


@kotlin("Iterable.toMap(): Map")
def to_map(budget: Budget, values: Value) -> Map:
    result: Map = {}
    for item in each(budget, values):
        if type(item) is not Pair:
            raise ExpressionError(f'a map is made of pairs such as "a" to 1, not of {type_name(item)}')
        budget.hold(2 * CELL)
        result[key_of(item.first, budget)] = item.second
    return result


@kotlin("Iterable.distinct(): List")
def distinct(budget: Budget, values: Value) -> list[Value]:
    return budget.collect(set_of(each(budget, values), budget))


@kotlin("Iterable.distinctBy(selector: Fn1): List")
def distinct_by(budget: Budget, values: Value, selector: Function) -> list[Value]:
    kept: Map = {}
    for item in each(budget, values):
        budget.hold(2 * CELL)
        kept.setdefault(key_of(selector(item), budget), item)
    return list(kept.values())


@kotlin(
    "Iterable|Map|String.toList(): List",
    "Iterable.toMutableList(): List",
    "Iterable|Map|String.asIterable(): List",
)
def to_list(budget: Budget, values: Value) -> list[Value]:
    if type(values) is dict:
        return budget.collect(Pair(entry.key, entry.value) for entry in raw(values))
    return budget.collect(raw(values))


@kotlin("Iterable.asSequence(): T")
def as_sequence(_: Budget, values: Value) -> Value:
    return values


@kotlin("Iterable|String.toSet(): Set", "Iterable.toMutableSet(): Set")
def to_set(budget: Budget, values: Value) -> OrderedSet:
    return set_of(each(budget, values), budget)


@kotlin(
    "Iterable.joinToString(separator: String = _, prefix: String = _, postfix: String = _, limit: Int = _, "
    "truncated: String = _, transform: Fn1 = _): String"
)
def join_to_string(
    budget: Budget,
    values: Value,
    separator: str = ", ",
    prefix: str = "",
    postfix: str = "",
    limit: int = -1,
    truncated: str = "...",
    transform: Function | None = None,
) -> str:
    parts: list[str] = []
    for item in each(budget, values):
        if 0 <= limit <= len(parts):
            parts.append(truncated)
            break
        parts.append(to_text(item if transform is None else transform(item), budget))
        budget.build_text(len(parts[-1]) + len(separator))
        budget.hold(CELL)
    budget.build_text(len(prefix) + len(postfix))
    return prefix + separator.join(parts) + postfix


def _collection(value: Value, name: str) -> Value:
    if type(value) not in (list, OrderedSet, range, Interval):
        raise ExpressionError(f"{name} needs collections, not {type_name(value)}")
    return value
