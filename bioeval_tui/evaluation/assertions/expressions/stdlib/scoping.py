"""Functions of any value: let, run, with, also, apply, takeIf, toString, equals."""

from __future__ import annotations

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.limits import Budget
from bioeval_tui.evaluation.assertions.expressions.operators import equal, to_text
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin, library
from bioeval_tui.evaluation.assertions.expressions.stdlib.sequences import Function
from bioeval_tui.evaluation.assertions.expressions.values import Record, Value


@kotlin("T.let(block: (T) -> R): R", "T.run(block: T.() -> R): R", "with(receiver: T, block: T.() -> R): R")
def let(_: Budget, value: Value, block: Function) -> Value:
    return block(value)


@kotlin("requireNotNull|checkNotNull(value: T?): T")
def require_not_null(_: Budget, value: Value) -> Value:
    if value is None:
        raise ExpressionError("this is null, which is not allowed here")
    return value


@kotlin("T.also(block: (T) -> Unit): T", "T.apply(block: T.() -> Unit): T")
def also(_: Budget, value: Value, block: Function) -> Value:
    block(value)
    return value


@kotlin("T.takeIf(predicate: (T) -> Boolean): T?")
def take_if(_: Budget, value: Value, predicate: Function) -> Value:
    return value if predicate.test(value) else None


@kotlin("T.takeUnless(predicate: (T) -> Boolean): T?")
def take_unless(_: Budget, value: Value, predicate: Function) -> Value:
    return None if predicate.test(value) else value


@kotlin("Resource|ObjectContext.infoString(): String")
def info_string(budget: Budget, record: Record) -> str:
    text = {
        name: to_text(record[name], budget)
        for name in ("id", "name", "description", "context")
        if name in record
    }
    if record.kind == "Resource":
        labels = ":".join(to_text(label, budget) for label in record["labels"])
        shown = f"{labels} {{id='{text['id']}', name='{text['name']}', description='{text['description']}'}}"
    else:
        resources = ", ".join(info_string(budget, item) for item in record["resources"])
        functions = ", ".join(to_text(item["name"], budget) for item in record["functions"])
        shown = (
            f"ObjectContext(context='{text['context']}', resources=[{resources}], functions=[{functions}])"
        )
    budget.build_text(len(shown))
    return shown


library(
    {
        "T.toString(): String": lambda budget, value: to_text(value, budget),
        "Any.equals(other: Any?): Boolean": lambda budget, left, right: equal(left, right, budget),
        "run(block: () -> R): R": lambda _, block: block(),
        "Boolean.not(): Boolean": lambda _, value: not value,
        "Boolean.and(other: Boolean): Boolean": lambda _, left, right: left and right,
        "Boolean.or(other: Boolean): Boolean": lambda _, left, right: left or right,
        "Boolean.xor(other: Boolean): Boolean": lambda _, left, right: left != right,
        "MessageRole|TaskType.name: String": lambda _, value: str.__str__(value),
        "MessageRole|TaskType.ordinal: Int": lambda _, value: value.ordinal,
    }
)
