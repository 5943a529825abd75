"""Numbers: conversions, bounds, bits; and what works on any value: toString, let, also, takeIf."""

from __future__ import annotations

import math
import re

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions import operators
from bioeval_tui.evaluate.assertions.expressions.comparison import equal, order, require_alike, to_text
from bioeval_tui.evaluate.assertions.expressions.limits import Budget
from bioeval_tui.evaluate.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluate.assertions.expressions.stdlib.sequences import Function
from bioeval_tui.evaluate.assertions.expressions.values import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    Interval,
    Long,
    Value,
    integer,
)

_WHOLE = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_DOUBLE = re.compile(
    r"\s*[+-]?(?:NaN|Infinity|(?:[0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,6})?[fFdD]?)\s*",
    re.ASCII,
)


@kotlin("Number.toInt(): Int")
def to_int(_: Budget, number: Value) -> int:
    return operators.to_integer(number, long=False)


@kotlin("Number.toLong(): Long")
def to_long(_: Budget, number: Value) -> int:
    return operators.to_integer(number, long=True)


@kotlin("Number.toDouble(): Double")
def to_double(_: Budget, number: Value) -> float:
    return float(number)


@kotlin("String.toIntOrNull(): Int?")
def text_to_int_or_null(_: Budget, text: str) -> int | None:
    if not _WHOLE.fullmatch(text) or not INT_MIN <= (number := int(text)) <= INT_MAX:
        return None
    return number


@kotlin("String.toLongOrNull(): Long?")
def text_to_long_or_null(_: Budget, text: str) -> Long | None:
    if not _WHOLE.fullmatch(text) or not LONG_MIN <= (number := int(text)) <= LONG_MAX:
        return None
    return Long(number)


@kotlin("String.toDoubleOrNull(): Double?")
def text_to_double_or_null(_: Budget, text: str) -> float | None:
    return float(text.strip().rstrip("fFdD")) if _DOUBLE.fullmatch(text) else None


@kotlin("String.toInt(): Int")
def text_to_int(budget: Budget, text: str) -> Value:
    return _number(text_to_int_or_null(budget, text), "toInt")


@kotlin("String.toLong(): Long")
def text_to_long(budget: Budget, text: str) -> Value:
    return _number(text_to_long_or_null(budget, text), "toLong")


@kotlin("String.toDouble(): Double")
def text_to_double(budget: Budget, text: str) -> Value:
    return _number(text_to_double_or_null(budget, text), "toDouble")


@kotlin("Number.coerceIn(minimumValue: Number, maximumValue: Number): T")
def coerce_in(budget: Budget, number: Value, low: Value, high: Value) -> Value:
    require_alike(low, high)
    if low > high:
        raise ExpressionError(
            f"coerceIn({to_text(low, budget)}, {to_text(high, budget)}): the range is empty"
        )
    return coerce_at_most(budget, coerce_at_least(budget, number, low), high)


@kotlin("Number.coerceIn(range: Range|ClosedRange): T")
def coerce_in_range(budget: Budget, number: Value, bounds: Value) -> Value:
    if type(bounds) is Interval:
        return coerce_in(budget, number, bounds.start, bounds.end)
    if not bounds:
        raise ExpressionError("coerceIn of an empty range")
    return coerce_in(budget, number, bounds[0], bounds[-1])


@kotlin("Number.coerceAtLeast(minimumValue: Number): T")
def coerce_at_least(_: Budget, number: Value, low: Value) -> Value:
    require_alike(number, low)
    return low if number < low else number


@kotlin("Number.coerceAtMost(maximumValue: Number): T")
def coerce_at_most(_: Budget, number: Value, high: Value) -> Value:
    require_alike(number, high)
    return high if number > high else number


@kotlin("Number.absoluteValue: Number")
def absolute_value(_: Budget, number: Value) -> Value:
    return abs(number) if type(number) is float else integer(abs(number), long=type(number) is Long)


@kotlin("abs(x: Number): Number")
def absolute(budget: Budget, number: Value) -> Value:
    return absolute_value(budget, number)


@kotlin("Double.isNaN(): Boolean")
def is_nan(_: Budget, number: float) -> bool:
    return math.isnan(number)


@kotlin("Double.isFinite(): Boolean")
def is_finite(_: Budget, number: float) -> bool:
    return math.isfinite(number)


@kotlin("Double.roundToInt(): Int")
def round_to_int(_: Budget, number: float) -> int:
    if math.isnan(number):
        raise ExpressionError("NaN cannot be rounded")
    return operators.to_integer(
        math.floor(number + 0.5) * 1.0 if math.isfinite(number) else number, long=False
    )


@kotlin("Number.compareTo(other: Number): Int", "Boolean.compareTo(other: Boolean): Int")
def compare_to(budget: Budget, left: Value, right: Value) -> int:
    return order(left, right, budget)


@kotlin("Integer.mod(other: Integer): Integer")
def mod(_: Budget, left: int, right: int) -> int:
    if right == 0:
        raise ExpressionError("division by zero")
    return integer(left % right, long=Long in (type(left), type(right)))


@kotlin("Integer.and(other: Integer): Integer")
def bits_and(_: Budget, left: int, right: int) -> int:
    return integer(left & right, long=Long in (type(left), type(right)))


@kotlin("Integer.or(other: Integer): Integer")
def bits_or(_: Budget, left: int, right: int) -> int:
    return integer(left | right, long=Long in (type(left), type(right)))


@kotlin("Integer.xor(other: Integer): Integer")
def bits_xor(_: Budget, left: int, right: int) -> int:
    return integer(left ^ right, long=Long in (type(left), type(right)))


@kotlin("Integer.shl(bitCount: Int): Integer")
def shift_left(_: Budget, number: int, bits: int) -> int:
    return integer(number << (bits & _bits_mask(number)), long=type(number) is Long)


@kotlin("Integer.shr(bitCount: Int): Integer")
def shift_right(_: Budget, number: int, bits: int) -> int:
    return integer(number >> (bits & _bits_mask(number)), long=type(number) is Long)


@kotlin("Integer.ushr(bitCount: Int): Integer")
def unsigned_shift_right(_: Budget, number: int, bits: int) -> int:
    mask = _bits_mask(number)
    return integer((number & ((1 << (mask + 1)) - 1)) >> (bits & mask), long=type(number) is Long)


@kotlin("Any?.toString(): String")
def to_string(budget: Budget, value: Value) -> str:
    return to_text(value, budget)


@kotlin("Any?.equals(other: Any?): Boolean")
def equals(budget: Budget, left: Value, right: Value) -> bool:
    return equal(left, right, budget)


@kotlin("Any?.let(block: Fn1): T")
def let(_: Budget, value: Value, block: Function) -> Value:
    return block(value)


@kotlin("Any?.also(block: Fn1): T")
def also(_: Budget, value: Value, block: Function) -> Value:
    block(value)
    return value


@kotlin("Any?.takeIf(predicate: Fn1): T?")
def take_if(_: Budget, value: Value, predicate: Function) -> Value:
    return value if predicate.test(value) else None


@kotlin("Any?.takeUnless(predicate: Fn1): T?")
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


def _bits_mask(number: int) -> int:
    return 63 if type(number) is Long else 31


def _number(value: Value, name: str) -> Value:
    if value is None:
        raise ExpressionError(f"{name}: this text is not such a number; {name}OrNull gives null instead")
    return value
