"""Elements → other elements and maps: sorted, filter, map, flatMap, group, associate, fold; maps,
pairs and ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key, partial
from itertools import accumulate, chain
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import operators
from bioeval_tui.expressions.comparing import (
    equal,
    map_key,
    nullable_order,
    order,
    ordered,
    ordered_set,
)
from bioeval_tui.expressions.signatures import RUNTIME, kotlin, library
from bioeval_tui.expressions.stdlib.iteration import (
    Function,
    Map,
    each,
    many,
    map_of,
    not_negative,
    raw,
    same_kind,
)
from bioeval_tui.expressions.text_forms import to_text
from bioeval_tui.expressions.values import (
    CELL,
    Budget,
    Comparator,
    Grouping,
    MapEntry,
    OrderedSet,
    Pair,
    Sequence,
    Triple,
    Value,
    original_value,
    type_name,
    whole_range,
)

_EMPTY = "there are no elements"


@kotlin("Items<C>.toSortedSet(): Set<C>")
def to_sorted_set(budget: Budget, values: Value) -> OrderedSet:
    return ordered_set(ordered(((_comparable(item), item) for item in raw(values)), budget), budget)


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
    budget: Budget,
    values: Value,
    selector: Callable[[Value], Value] | None = None,
    *,
    descending: bool,
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
        raise ExpressionError(
            f"{type_name(value)} has no order; use sortedBy, maxByOrNull or similar"
        )
    return value


def _found(matching: list[Value], required: bool) -> Value:
    if required and not matching:
        raise ExpressionError(_EMPTY)
    if matching:
        return matching[0]
    return None


def _extreme(
    budget: Budget, pairs: Iterable[tuple[Value, Value]], sign: int, required: bool
) -> Value:
    """Return the first value whose key is the greatest (`sign` 1) or least (-1); NaN wins both
    ways.
    """
    best: list[tuple[Value, Value]] = []
    for pair in pairs:
        _comparable(pair[0])
        is_nan, has_nan = pair[0] != pair[0], bool(best) and best[0][0] != best[0][0]
        if (
            not best
            or is_nan > has_nan
            or (not has_nan and order(pair[0], best[0][0], budget) == sign)
        ):
            best = [pair]
    return _found([value for _, value in best], required)


def _best(budget: Budget, values: Value, *, sign: int, required: bool) -> Value:
    return _extreme(budget, ((item, item) for item in each(budget, values)), sign, required)


def _best_selected(
    budget: Budget, values: Value, selector: Function, *, sign: int, required: bool
) -> Value:
    return _extreme(
        budget, ((selector(item), item) for item in each(budget, values)), sign, required
    )


def _best_result(
    budget: Budget, values: Value, selector: Function, *, sign: int, required: bool
) -> Value:
    return _best(budget, budget.collect(map(selector, raw(values))), sign=sign, required=required)


def _best_compared(
    budget: Budget, values: Value, comparator: Comparator, *, sign: int, required: bool
) -> Value:
    first = comparator if sign < 0 else reversed_(budget, comparator)
    return _found(_arranged(budget, values, first.compare), required)


def _among(budget: Budget, first: Value, others: tuple[Value, ...] | Value, *, sign: int) -> Value:
    more = others if type(others) is tuple else (others,)
    return _best(budget, [first, *more], sign=sign, required=True)


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
                f"Flow<C>.{_name}{_ending}(): C{_null}": partial(_best, **_how),
                f"String.{_name}{_ending}(): Char{_null}": partial(_best, **_how),
                f"Each<T>.{_name}By{_ending}(selector: (T) -> C): T{_null}": partial(
                    _best_selected, **_how
                ),
                f"Each<T>.{_name}Of{_ending}(selector: (T) -> C): C{_null}": partial(
                    _best_result, **_how
                ),
                f"Flow<T>.{_name}With{_ending}(comparator: Comparator<T>): T{_null}": partial(
                    _best_compared, **_how
                ),
            }
        )
    _compute = partial(_among, sign=_sign)
    library(
        {f"{_name}Of(a: C, vararg others: C): C": _compute, f"{_name}(a: N, b: N): N": _compute}
    )


@kotlin("Items<T>.filter(predicate: (T) -> Boolean): Same<T>")
def filter_(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(budget, values, lambda: (item for item in raw(values) if predicate.test(item)))


@kotlin("Items<T>.filterNot(predicate: (T) -> Boolean): Same<T>")
def filter_not(budget: Budget, values: Value, predicate: Function) -> Value:
    return same_kind(
        budget, values, lambda: (item for item in raw(values) if not predicate.test(item))
    )


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
    return many(
        budget, values, lambda: (transform(place, item) for place, item in enumerate(raw(values)))
    )


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
    return many(
        budget, values, lambda: chain.from_iterable(raw(inner) for inner in each(budget, values))
    )


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
    if items:
        return fold(budget, items[1:], items[0], operation)
    return None


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
def group_by(
    budget: Budget, values: Value, selector: Any, transform: Function | None = None
) -> Map:
    groups: Map = {}
    for item in each(budget, values):
        budget.hold(2 * CELL)
        group = groups.setdefault(map_key(selector(item), budget), [])
        group.append(item if transform is None else transform(item))
    return groups


@kotlin("Flow<T>.partition(predicate: (T) -> Boolean): Pair<List<T>, List<T>>")
def partition(budget: Budget, values: Value, predicate: Function) -> Pair:
    chosen: list[Value] = []
    others: list[Value] = []
    for item in budget.collect(raw(values)):
        if predicate.test(item):
            chosen.append(item)
        else:
            others.append(item)
    return Pair(chosen, others)


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
    return many(budget, values, lambda: ordered_set(each(budget, values), budget))


@kotlin("Flow<T>.distinctBy(selector: (T) -> K): Many<T>")
def distinct_by(budget: Budget, values: Value, selector: Function) -> Value:
    kept: Map = {}
    for item in each(budget, values):
        budget.hold(2 * CELL)
        kept.setdefault(map_key(selector(item), budget), item)
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
    if type(values) is Sequence:
        return values
    return Sequence(lambda: raw(values))


@kotlin("Items<T>.toSet(): Set<T>", "Flow<T>.toMutableSet|toHashSet(): Set<T>")
def to_set(budget: Budget, values: Value) -> OrderedSet:
    return ordered_set(each(budget, values), budget)


@kotlin(
    "Flow<T>.joinToString(separator: String = _, prefix: String = _, postfix: String = _, limit:"
    " Int = _, truncated: String = _, transform: (T) -> String = _): String"
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
        # The text in the result, and its place in the list until then.
        budget.build_text(len(parts[-1]) + len(separator))
        budget.hold(CELL)
    budget.build_text(len(prefix) + len(postfix))
    return prefix + separator.join(parts) + postfix


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
    own_key = map_key(key, budget)
    if own_key not in values:
        raise ExpressionError("the map has no such key")
    return values[own_key]


@kotlin("Map<E, V>.getOrElse(key: E, defaultValue: () -> V): V")
def get_or_else(budget: Budget, values: Map, key: Value, default: Function) -> Value:
    value = values.get(map_key(key, budget))
    if value is None:
        return default()
    return value


@kotlin("Map<*, E>.containsValue(value: E): Boolean")
def contains_value(budget: Budget, values: Map, value: Value) -> bool:
    return any(equal(item, value, budget) for item in values.values())


@kotlin("Map<K, *>.keys: Set<K>")
def keys(budget: Budget, values: Map) -> OrderedSet:
    budget.hold(2 * CELL * len(values))
    return OrderedSet(dict.fromkeys(values))


@kotlin("Map<K, V>.filter(predicate: (Entry<K, V>) -> Boolean): Map<K, V>")
def filter_map(budget: Budget, values: Map, predicate: Function) -> Map:
    return map_of(budget, filter(predicate.test, raw(values)))


@kotlin("Map<K, V>.filterNot(predicate: (Entry<K, V>) -> Boolean): Map<K, V>")
def filter_map_not(budget: Budget, values: Map, predicate: Function) -> Map:
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
    return dict(
        ordered(((original_value(key), (key, item)) for key, item in values.items()), budget)
    )


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
        "listOf|mutableListOf|arrayListOf(vararg elements: T): List<T>": lambda budget, items: (
            budget.collect(items)
        ),
        "emptyList(): List<T>": lambda _: [],
        "listOfNotNull(vararg elements: T?): List<T>": lambda budget, items: budget.collect(
            item for item in items if item is not None
        ),
        "setOf|mutableSetOf|linkedSetOf(vararg elements: T): Set<T>": lambda budget, items: (
            ordered_set(items, budget)
        ),
        "emptySet(): Set<T>": lambda _: OrderedSet({}),
        "mapOf|mutableMapOf|linkedMapOf(vararg pairs: Pair<K, V>): Map<K, V>": (
            lambda budget, pairs: to_map(budget, list(pairs))
        ),
        "emptyMap(): Map<K, V>": lambda _: {},
        "sortedSetOf(vararg elements: C): Set<C>": lambda budget, items: to_sorted_set(
            budget, list(items)
        ),
        "sequenceOf(vararg elements: T): Sequence<T>": lambda _, items: Sequence(lambda: items),
        "Pair(first: A, second: B): Pair<A, B>": lambda _, first, second: Pair(first, second),
        "A.to(that: B): Pair<A, B>": lambda _, first, second: Pair(first, second),
        "Triple(first: A, second: B, third: D): Triple<A, B, D>": lambda _, *items: Triple(*items),
        "Int.until(to: Int): IntRange": lambda _, start, end: operators.span("..<", start, end),
        "Long.until(to: Long): LongRange": lambda _, start, end: operators.span("..<", start, end),
        "Int.rangeTo(other: Int): IntRange": lambda _, start, end: operators.span("..", start, end),
        "Long.rangeTo(other: Long): LongRange": lambda _, start, end: operators.span(
            "..", start, end
        ),
        "Int.downTo(to: Int): IntProgression": lambda _, start, end: whole_range(
            start, end - 1, -1
        ),
        "Map<E, V>.get(key: E): V?": lambda budget, values, key: values.get(map_key(key, budget)),
        "Map<E, V>.getOrDefault(key: E, defaultValue: V): V": lambda budget, values, key, default: (
            values.get(map_key(key, budget), default)
        ),
        "Map<E, *>.containsKey|contains(key: E): Boolean": lambda budget, values, key: (
            operators.contains(values, key, budget)
        ),
        "Map<*, V>.values: Collection<V>": lambda budget, values: budget.collect(values.values()),
        "Map<K, V>.entries: Set<Entry<K, V>>": lambda budget, values: ordered_set(
            raw(values), budget
        ),
        "Map<K, V>?.orEmpty(): Map<K, V>": lambda _, values: values or {},
        "Map<K, V>.toMap|toMutableMap(): Map<K, V>": lambda _, values: values,
        "Entry<K, *>.key: K": lambda _, entry: entry.key,
        "Entry<K, V>.toPair(): Pair<K, V>": lambda _, entry: Pair(entry.key, entry.value),
        "Pair<A, *>|Triple<A, *, *>.first: A": lambda _, pair: pair.first,
        "Pair<*, B>|Triple<*, B, *>.second: B": lambda _, pair: pair.second,
        "Pair<T, T>.toList(): List<T>": lambda _, pair: [pair.first, pair.second],
        "Triple<T, T, T>.toList(): List<T>": lambda _, triple: [
            triple.first,
            triple.second,
            triple.third,
        ],
        "Triple<*, *, D>.third: D": lambda _, triple: triple.third,
    }
)
