"""Numbers and their conversions; scope functions: let, run, takeIf."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import operators
from bioeval_tui.expressions.comparing import equal, order
from bioeval_tui.expressions.signatures import kotlin, library
from bioeval_tui.expressions.stdlib.iteration import Function
from bioeval_tui.expressions.text_forms import to_text
from bioeval_tui.expressions.values import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    Budget,
    ClosedRange,
    Long,
    Record,
    Value,
    integer,
)

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_DOUBLE = re.compile(
    r"\s*[+-]?(?:NaN|Infinity"
    r"|(?:[0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,6})?[fFdD]?)\s*",
    re.ASCII,
)


@kotlin("String.toIntOrNull(): Int?")
def text_to_int(_: Budget, text: str) -> int | None:
    if _WHOLE.fullmatch(text) and INT_MIN <= int(text) <= INT_MAX:
        return int(text)
    return None


@kotlin("String.toLongOrNull(): Long?")
def text_to_long(_: Budget, text: str) -> Long | None:
    if _WHOLE.fullmatch(text) and LONG_MIN <= int(text) <= LONG_MAX:
        return Long(text)
    return None


@kotlin("String.toDoubleOrNull(): Double?")
def text_to_double(_: Budget, text: str) -> float | None:
    if _DOUBLE.fullmatch(text):
        return float(text.strip().rstrip("fFdD"))
    return None


@kotlin("String.toInt(radix: Int): Int")
def text_to_int_of(_: Budget, text: str, radix: int) -> Value:
    digits = _DIGITS[: radix if 2 <= radix <= 36 else 0]
    number = INT_MAX + 1
    if re.fullmatch(rf"[+-]?[{digits or '-'}]{{1,40}}", text.lower()):
        number = int(text, radix)
    return _number(number if INT_MIN <= number <= INT_MAX else None, "toInt")


@kotlin("Int|Long.toString(radix: Int): String")
def to_string_of(_: Budget, number: int, radix: int) -> str:
    if not 2 <= radix <= 36:
        raise ExpressionError(f"radix {radix} is not in 2..36")
    digits, rest = "", abs(int(number))
    while rest or not digits:
        rest, digit = divmod(rest, radix)
        digits = _DIGITS[digit] + digits
    return "-" * (number < 0) + digits


@kotlin("N.coerceIn(minimumValue: N, maximumValue: N): N")
def coerce_in(budget: Budget, number: Value, low: Value, high: Value) -> Value:
    if low > high:
        raise ExpressionError(
            f"coerceIn({to_text(low, budget)}, {to_text(high, budget)}): the range is empty"
        )
    return coerce_at_most(budget, coerce_at_least(budget, number, low), high)


@kotlin("N.coerceIn(range: ClosedRange<N>): N")
def coerce_in_range(budget: Budget, number: Value, bounds: Value) -> Value:
    if type(bounds) is ClosedRange:
        return coerce_in(budget, number, bounds.start, bounds.end)
    if not bounds:
        raise ExpressionError("coerceIn of an empty range")
    return coerce_in(budget, number, bounds[0], bounds[-1])


@kotlin("N.coerceAtLeast(minimumValue: N): N")
def coerce_at_least(_: Budget, number: Value, low: Value) -> Value:
    if number < low:
        return low
    return number


@kotlin("N.coerceAtMost(maximumValue: N): N")
def coerce_at_most(_: Budget, number: Value, high: Value) -> Value:
    if number > high:
        return high
    return number


@kotlin("N.absoluteValue: N")
def absolute_value(_: Budget, number: Value) -> Value:
    if type(number) is float:
        return abs(number)
    return integer(abs(number), long=type(number) is Long)


@kotlin("Double.pow(x: Double / n: Int): Double")
def pow_(_: Budget, number: float, power: float) -> float:
    try:
        return math.pow(number, power)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


@kotlin(
    "N.compareTo(other: Number): Int",
    "Boolean.compareTo(other: Boolean): Int",
    "Char.compareTo(other: Char): Int",
    "MessageRole.compareTo(other: MessageRole): Int",
)
def compare_to(budget: Budget, left: Value, right: Value) -> int:
    return order(left, right, budget)


@kotlin(
    "Int.mod(other: Int): Int",
    "Long.mod(other: Long): Long",
    "Long.mod(other: Int): Int",
    "Int.mod(other: Long): Long",
)
def mod(_: Budget, left: int, right: int) -> int:
    if right == 0:
        raise ExpressionError("division by zero")
    return integer(left % right, long=type(right) is Long)


def unsigned_shift_right(_: Budget, number: int, bits: int) -> int:
    mask = _bits_mask(number)
    return integer((number & ((1 << (mask + 1)) - 1)) >> (bits & mask), long=type(number) is Long)


def _shift_left(_: Budget, number: int, bits: int) -> int:
    return integer(number << (bits & _bits_mask(number)), long=type(number) is Long)


def _shift_right(_: Budget, number: int, bits: int) -> int:
    return integer(number >> (bits & _bits_mask(number)), long=type(number) is Long)


def _bits_mask(number: int) -> int:
    if type(number) is Long:
        return 63
    return 31


def _bits(change: Callable[[int, int], int]) -> Callable[[Budget, int, int], int]:
    """Return `change` as a function whose result has the type of the first number."""
    return lambda _, number, other: integer(change(number, other), long=type(number) is Long)


def _finite(change: Callable[[float], float]) -> Callable[[Budget, float], float]:
    """Return `change` as a function that leaves NaN and infinities as they are."""

    def changed(_: Budget, number: float) -> float:
        if math.isfinite(number):
            return float(change(number))
        return number

    return changed


def _number(value: Value, name: str) -> Value:
    if value is None:
        raise ExpressionError(
            f"{name}: this string is not a number of this kind; {name}OrNull gives null instead"
        )
    return value


def _rounded(number: float, *, long: bool) -> int:
    if math.isnan(number):
        raise ExpressionError("NaN cannot be rounded")
    whole = float(math.floor(number + 0.5)) if math.isfinite(number) else number
    return operators.clamped_integer(whole, long=long)


library(
    {
        "Number.toInt(): Int": lambda _, number: operators.clamped_integer(number, long=False),
        "Number.toLong(): Long": lambda _, number: operators.clamped_integer(number, long=True),
        "Number.toDouble(): Double": lambda _, number: float(number),
        "String.toInt(): Int": lambda budget, text: _number(text_to_int(budget, text), "toInt"),
        "String.toLong(): Long": lambda budget, text: _number(text_to_long(budget, text), "toLong"),
        "String.toDouble(): Double": lambda budget, text: _number(
            text_to_double(budget, text), "toDouble"
        ),
        "round(x: Double): Double": _finite(round),
        "floor(x: Double): Double": _finite(math.floor),
        "ceil(x: Double): Double": _finite(math.ceil),
        "Int.and(other: Int): Int": _bits(operator.and_),
        "Int.or(other: Int): Int": _bits(operator.or_),
        "Int.xor(other: Int): Int": _bits(operator.xor),
        "Long.and(other: Long): Long": _bits(operator.and_),
        "Long.or(other: Long): Long": _bits(operator.or_),
        "Long.xor(other: Long): Long": _bits(operator.xor),
        "Int.shl(bitCount: Int): Int": _shift_left,
        "Int.shr(bitCount: Int): Int": _shift_right,
        "Int.ushr(bitCount: Int): Int": unsigned_shift_right,
        "Long.shl(bitCount: Int): Long": _shift_left,
        "Long.shr(bitCount: Int): Long": _shift_right,
        "Long.ushr(bitCount: Int): Long": unsigned_shift_right,
        "abs(x: N): N": absolute_value,
        "Double.isNaN(): Boolean": lambda _, number: math.isnan(number),
        "Double.isFinite(): Boolean": lambda _, number: math.isfinite(number),
        "Double.roundToInt(): Int": lambda _, number: _rounded(number, long=False),
        "Double.roundToLong(): Long": lambda _, number: _rounded(number, long=True),
        "sqrt(x: Double): Double": lambda _, number: math.sqrt(number) if number >= 0 else math.nan,
        "Double.isInfinite(): Boolean": lambda _, number: math.isinf(number),
        "N.times(other: N): N": lambda budget, left, right: operators.arithmetic(
            "*", left, right, budget
        ),
        "N.div(other: N): N": lambda budget, left, right: operators.arithmetic(
            "/", left, right, budget
        ),
        "N.rem(other: N): N": lambda budget, left, right: operators.arithmetic(
            "%", left, right, budget
        ),
    }
)


@kotlin(
    "T.let(block: (T) -> R): R",
    "T.run(block: T.() -> R): R",
    "with(receiver: T, block: T.() -> R): R",
)
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
    if predicate.test(value):
        return value
    return None


@kotlin("T.takeUnless(predicate: (T) -> Boolean): T?")
def take_unless(_: Budget, value: Value, predicate: Function) -> Value:
    if predicate.test(value):
        return None
    return value


@kotlin("Resource|ObjectContext.infoString(): String")
def info_string(budget: Budget, record: Record) -> str:
    text = {
        name: to_text(record[name], budget)
        for name in ("id", "name", "description", "context")
        if name in record
    }
    if record.kind == "Resource":
        labels = ":".join(to_text(label, budget) for label in record["labels"])
        shown = (
            f"{labels} {{id='{text['id']}', name='{text['name']}',"
            f" description='{text['description']}'}}"
        )
    else:
        resources = ", ".join(info_string(budget, item) for item in record["resources"])
        functions = ", ".join(to_text(item["name"], budget) for item in record["functions"])
        shown = (
            f"ObjectContext(context='{text['context']}', resources=[{resources}],"
            f" functions=[{functions}])"
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
