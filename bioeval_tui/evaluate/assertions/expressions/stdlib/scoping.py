"""Functions of any value: let, run, with, also, apply, takeIf, toString, equals."""

from __future__ import annotations

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.comparison import equal, to_text
from bioeval_tui.evaluate.assertions.expressions.limits import Budget
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import Function
from bioeval_tui.evaluate.assertions.expressions.values import EnumValue, Record, Value


@kotlin("T.toString(): String")
def to_string(budget: Budget, value: Value) -> str:
    return to_text(value, budget)


@kotlin("Any.equals(other: Any?): Boolean")
def equals(budget: Budget, left: Value, right: Value) -> bool:
    return equal(left, right, budget)


@kotlin("T.let(block: (T) -> R): R", "T.run(block: T.() -> R): R", "with(receiver: T, block: T.() -> R): R")
def let(_: Budget, value: Value, block: Function) -> Value:
    return block(value)


@kotlin("requireNotNull(value: T?): T", "checkNotNull(value: T?): T")
def require_not_null(_: Budget, value: Value) -> Value:
    if value is None:
        raise ExpressionError("this is null, which is not allowed here")
    return value


@kotlin("run(block: () -> R): R")
def run(_: Budget, block: Function) -> Value:
    return block()


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


@kotlin("Boolean.not(): Boolean")
def not_(_: Budget, value: bool) -> bool:
    return not value


@kotlin("Boolean.and(other: Boolean): Boolean")
def and_(_: Budget, left: bool, right: bool) -> bool:
    return left and right


@kotlin("Boolean.or(other: Boolean): Boolean")
def or_(_: Budget, left: bool, right: bool) -> bool:
    return left or right


@kotlin("Boolean.xor(other: Boolean): Boolean")
def xor(_: Budget, left: bool, right: bool) -> bool:
    return left != right


@kotlin("MessageRole.name: String", "TaskType.name: String")
def name(_: Budget, value: EnumValue) -> str:
    return str.__str__(value)


@kotlin("MessageRole.ordinal: Int", "TaskType.ordinal: Int")
def ordinal(_: Budget, value: EnumValue) -> int:
    return value.ordinal


@kotlin("Resource.infoString(): String", "ObjectContext.infoString(): String")
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
