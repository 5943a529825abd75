"""What makes collections, ranges and pairs."""

from __future__ import annotations

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.comparison import set_of
from bioeval_tui.evaluate.assertions.expressions.limits import Budget
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib import transforming
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import Function, not_negative
from bioeval_tui.evaluate.assertions.expressions.values import Key, OrderedSet, Pair, Value, whole_range


@kotlin(
    "listOf(vararg elements: Any?): List",
    "emptyList(): List",
    "mutableListOf(vararg elements: Any?): List",
    "arrayListOf(vararg elements: Any?): List",
)
def list_of(budget: Budget, elements: tuple[Value, ...] = ()) -> list[Value]:
    return budget.collect(elements)


@kotlin("listOfNotNull(vararg elements: Any?): List")
def list_of_not_null(budget: Budget, elements: tuple[Value, ...]) -> list[Value]:
    return budget.collect(item for item in elements if item is not None)


@kotlin("setOf(vararg elements: Any?): Set", "emptySet(): Set", "mutableSetOf(vararg elements: Any?): Set")
def set_of_(budget: Budget, elements: tuple[Value, ...] = ()) -> OrderedSet:
    return set_of(elements, budget)


@kotlin("mapOf(vararg pairs: Pair): Map", "emptyMap(): Map", "mutableMapOf(vararg pairs: Pair): Map")
def map_of(budget: Budget, pairs: tuple[Pair, ...] = ()) -> dict[str | Key, Value]:
    return transforming.to_map(budget, list(pairs))


@kotlin("List(size: Int, init: Fn1): List")
def list_by(budget: Budget, size: int, init: Function) -> list[Value]:
    return budget.collect(init(place) for place in range(not_negative(size, "size")))


@kotlin("Pair(first: Any?, second: Any?): Pair", "Any?.to(that: Any?): Pair")
def pair(_: Budget, first: Value, second: Value) -> Pair:
    return Pair(first, second)


@kotlin("Integer.until(to: Integer): Range")
def until(_: Budget, start: int, end: int) -> range:
    return whole_range(start, int(end))


@kotlin("Integer.downTo(to: Integer): Range")
def down_to(_: Budget, start: int, end: int) -> range:
    return whole_range(start, int(end) - 1, -1)


@kotlin("Integer.rangeTo(other: Integer): Range")
def range_to(_: Budget, start: int, end: int) -> range:
    return whole_range(start, int(end) + 1)


@kotlin("Range.step(step: Integer): Range")
def step(_: Budget, values: range, size: int) -> range:
    if size <= 0:
        raise ExpressionError(f"step is {size}, but must be positive")
    return range(values.start, values.stop, int(size) if values.step > 0 else -int(size))
