"""Elements → other elements: filter, map, flatMap, group, associate, fold."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluation.assertions.expressions.operators import key_of, set_of, to_text
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import (
    Function,
    Map,
    each,
    many,
    map_of,
    raw,
    same_kind,
)
from bioeval_tui.evaluation.assertions.expressions.values import (
    Grouping,
    MapEntry,
    OrderedSet,
    Pair,
    Sequence,
    Value,
    type_name,
)


@kotlin("Items<T>.filter(predicate: (T) -> Boolean): Same<T>")
def filter_(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(budget, values, lambda: (item for item in raw(values) if predicate.test(item)))


@kotlin("Items<T>.filterNot(predicate: (T) -> Boolean): Same<T>")
def filter_not(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(budget, values, lambda: (item for item in raw(values) if not predicate.test(item)))


@kotlin("Items<T>.filterIndexed(predicate: (Int, T) -> Boolean): Same<T>")
def filter_indexed(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(
        budget,
        values,
        lambda: (item for place, item in enumerate(raw(values)) if predicate.test(place, item)),
    )


@kotlin("Flow<*>.filterIsInstance(): Many<R>")
def filter_is_instance(budget: Budget, values: Value, fits: Function) -> Value:
    """Filter by the call's type argument, which the evaluator passes as `fits`."""
    return many(budget, values, lambda: filter(fits, raw(values)))


@kotlin("Flow<T?>.filterNotNull(): Many<T>")
def filter_not_null(budget: Budget, values: Value) -> Value:
    return many(budget, values, lambda: (item for item in raw(values) if item is not None))


@kotlin("Each<T>.map(transform: (T) -> R): Many<R>")
def map_(budget: Budget, values: Value, transform: Function) -> Value:
    return many(budget, values, lambda: map(transform, raw(values)))


@kotlin("Items<T>.mapIndexed(transform: (Int, T) -> R): Many<R>")
def map_indexed(budget: Budget, values: Value, transform: Function) -> Value:
    return many(budget, values, lambda: (transform(place, item) for place, item in enumerate(raw(values))))


@kotlin("Items<T>.mapIndexedNotNull(transform: (Int, T) -> R?): Many<R>")
def map_indexed_not_null(budget: Budget, values: Value, transform: Function) -> Value:
    results = map_indexed(budget, values, transform)
    return filter_not_null(budget, results)


@kotlin("Each<T>.mapNotNull(transform: (T) -> R?): Many<R>")
def map_not_null(budget: Budget, values: Value, transform: Function) -> Value:
    return many(
        budget,
        values,
        lambda: (result for result in map(transform, each(budget, values)) if result is not None),
    )


@kotlin("Each<T>.flatMap(transform: (T) -> Flow<R>): Many<R>")
def flat_map(budget: Budget, values: Value, transform: Function) -> Value:
    return flatten(budget, map_(budget, values, transform))


@kotlin("Items<T>.flatMapIndexed(transform: (Int, T) -> Flow<R>): Many<R>")
def flat_map_indexed(budget: Budget, values: Value, transform: Function) -> Value:
    return flatten(budget, map_indexed(budget, values, transform))


@kotlin("Flow<Flow<T>>.flatten(): Many<T>")
def flatten(budget: Budget, values: Value) -> Value:
    return many(budget, values, lambda: (item for inner in each(budget, values) for item in raw(inner)))


@kotlin("Items<T>.runningFold|scan(initial: R, operation: (R, T) -> R): List<R>")
def running_fold(budget: Budget, values: Value, initial: Value, operation: Function) -> list[Value]:
    return budget.collect(accumulate(raw(values), operation, initial=initial))


@kotlin("Items<T>.runningReduce(operation: (T, T) -> T): List<T>")
def running_reduce(budget: Budget, values: Value, operation: Function) -> list[Value]:
    return budget.collect(accumulate(raw(values), operation))


@kotlin("List<T>.foldRight(initial: R, operation: (T, R) -> R): R")
def fold_right(budget: Budget, values: list[Value], initial: Value, operation: Function) -> Value:
    result = initial
    for item in budget.each(reversed(values)):
        result = operation(item, result)
    return result


@kotlin("Items<T>.foldIndexed(initial: R, operation: (Int, R, T) -> R): R")
def fold_indexed(budget: Budget, values: Value, initial: Value, operation: Function) -> Value:
    result = initial
    for place, item in enumerate(each(budget, values)):
        result = operation(place, result, item)
    return result


@kotlin("Items<T>.fold(initial: R, operation: (R, T) -> R): R")
def fold(budget: Budget, values: Value, initial: Value, operation: Function) -> Value:
    result = initial
    for item in each(budget, values):
        result = operation(result, item)
    return result


@kotlin("Items<T>.reduce(operation: (T, T) -> T): T")
def reduce(budget: Budget, values: Value, operation: Function) -> Value:
    items = each(budget, values)
    for result in items:
        return fold(budget, budget.collect(items), result, operation)
    raise ExpressionError("there are no elements to reduce")


@kotlin("Items<T>.reduceOrNull(operation: (T, T) -> T): T?")
def reduce_or_null(budget: Budget, values: Value, operation: Function) -> Value:
    items = budget.collect(raw(values))
    return fold(budget, items[1:], items[0], operation) if items else None


@kotlin("Items<T>.reduceIndexed(operation: (Int, T, T) -> T): T")
def reduce_indexed(budget: Budget, values: Value, operation: Function) -> Value:
    items = each(budget, values)
    for result in items:
        for place, item in enumerate(items, 1):
            result = operation(place, result, item)
        return result
    raise ExpressionError("there are no elements to reduce")


@kotlin(
    "Items<T>.groupBy(keySelector: (T) -> K): Map<K, List<T>>",
    "Items<T>.groupBy(keySelector: (T) -> K, valueTransform: (T) -> V): Map<K, List<V>>",
)
def group_by(budget: Budget, values: Value, selector: Any, transform: Function | None = None) -> Map:
    groups: Map = {}
    for item in each(budget, values):
        budget.hold(2 * CELL)
        group = groups.setdefault(key_of(selector(item), budget), [])
        group.append(item if transform is None else transform(item))
    return groups


@kotlin("Flow<T>.partition(predicate: (T) -> Boolean): Pair<List<T>, List<T>>")
def partition(budget: Budget, values: Value, predicate: Function) -> Pair:
    chosen: tuple[list[Value], list[Value]] = ([], [])
    for item in budget.collect(raw(values)):
        chosen[0 if predicate.test(item) else 1].append(item)
    return Pair(*chosen)


@kotlin("Items<T>.associate(transform: (T) -> Pair<K, V>): Map<K, V>")
def associate(budget: Budget, values: Value, transform: Function) -> Map:
    return to_map(budget, list(map(transform, each(budget, values))))


@kotlin(
    "Items<T>.associateBy(keySelector: (T) -> K): Map<K, T>",
    "Items<T>.associateBy(keySelector: (T) -> K, valueTransform: (T) -> V): Map<K, V>",
)
def associate_by(budget: Budget, values: Value, selector: Function, transform: Any = None) -> Map:
    change = transform or (lambda item: item)
    return map_of(budget, (MapEntry(selector(item), change(item)) for item in raw(values)))


@kotlin("Items<T>.associateWith(valueSelector: (T) -> V): Map<T, V>")
def associate_with(budget: Budget, values: Value, selector: Function) -> Map:
    return map_of(budget, (MapEntry(item, selector(item)) for item in raw(values)))


@kotlin("Flow<Pair<K, V>>.toMap(): Map<K, V>")
def to_map(budget: Budget, values: Value) -> Map:
    def entry(item: Value) -> MapEntry:
        if type(item) is not Pair:
            raise ExpressionError(f'a map needs pairs such as "a" to 1, not {type_name(item)}')
        return MapEntry(item.first, item.second)

    return map_of(budget, map(entry, raw(values)))


@kotlin("Flow<T>.distinct(): Many<T>")
def distinct(budget: Budget, values: Value) -> Value:
    return many(budget, values, lambda: set_of(each(budget, values), budget))


@kotlin("Flow<T>.distinctBy(selector: (T) -> K): Many<T>")
def distinct_by(budget: Budget, values: Value, selector: Function) -> Value:
    kept: Map = {}
    for item in each(budget, values):
        budget.hold(2 * CELL)
        kept.setdefault(key_of(selector(item), budget), item)
    return many(budget, values, kept.values)


@kotlin("Items<T>.groupingBy(keySelector: (T) -> K): Grouping<T, K>")
def grouping_by(_: Budget, values: Value, selector: Function) -> Grouping:
    return Grouping(values, selector)


@kotlin("Grouping<T, K>.eachCount(): Map<K, Int>")
def each_count(budget: Budget, grouping: Grouping) -> Map:
    groups = group_by(budget, grouping.elements, grouping.key)
    return {key: len(items) for key, items in groups.items()}


@kotlin(
    "Items<T>.toList(): List<T>",
    "Map<K, V>.toList(): List<Pair<K, V>>",
    "Flow<T>.toMutableList|asIterable(): List<T>",
    "String.toCharArray(): List<Char>",
)
def to_list(budget: Budget, values: Value) -> list[Value]:
    if type(values) is dict:
        return budget.collect(Pair(entry.key, entry.value) for entry in raw(values))
    return budget.collect(raw(values))


@kotlin("Each<T>.asSequence(): Sequence<T>")
def as_sequence(_: Budget, values: Value) -> Value:
    return values if type(values) is Sequence else Sequence(lambda: raw(values))


@kotlin("Items<T>.toSet(): Set<T>", "Flow<T>.toMutableSet|toHashSet(): Set<T>")
def to_set(budget: Budget, values: Value) -> OrderedSet:
    return set_of(each(budget, values), budget)


@kotlin(
    "Flow<T>.joinToString(separator: String = _, prefix: String = _, postfix: String = _, limit: Int = _, "
    "truncated: String = _, transform: (T) -> String = _): String"
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
