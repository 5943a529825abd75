"""Arithmetic, comparison and membership as Kotlin defines them; equality, order, keys and text of
values.

A value can share its parts many times over (`listOf(x, x)` nested thirty times is 2^30 leaves in
thirty lists), so everything that goes through a whole value counts every leaf against the budget.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions.regex import Regex
from bioeval_tui.expressions.values import (
    CELL,
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    NUMBERS,
    Budget,
    Char,
    ClosedRange,
    EnumValue,
    Indexed,
    Long,
    MapEntry,
    MapKey,
    OrderedSet,
    Pair,
    Record,
    RegexMatch,
    Sequence,
    Triple,
    Value,
    integer,
    original_value,
    type_name,
    whole_range,
)

_FLOAT: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def arithmetic(symbol: str, left: Value, right: Value, budget: Budget) -> Value:
    """Return `left symbol right` for `+ - * / %`.

    Raises:
        ExpressionError: the operator does not take these operands.
    """
    if type(left) in NUMBERS and type(right) in NUMBERS:
        return _numbers(symbol, left, right)
    if symbol == "+":
        return _plus(left, right, budget)
    if symbol == "-":
        return _minus(left, right, budget)
    raise _unfit(symbol, left, right)


def compare(symbol: str, left: Value, right: Value, budget: Budget) -> bool:
    """Return `left symbol right` for `< > <= >=`."""
    if float in (type(left), type(right)) and {type(left), type(right)} <= set(NUMBERS):
        return _BY_VALUE[symbol](left, right)  # NaN is neither less nor greater
    return _BY_VALUE[symbol](order(left, right, budget), 0)


_BY_VALUE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def equals(left: Value, right: Value, budget: Budget) -> bool:
    """Return `left == right`. Two doubles are compared by value, everything else as `Any?`."""
    if type(left) is float and type(right) is float:
        return left == right
    return equal(left, right, budget)


def same(left: Value, right: Value, budget: Budget) -> bool:
    """Return `left === right`; not defined for strings and collections, whose identity is
    unreliable.

    Raises:
        ExpressionError: the values are strings or collections.
    """
    if left is None or right is None or type(left) is Record:
        return left is right
    if type(left) in (*NUMBERS, bool, Char, EnumValue):
        return equal(left, right, budget)
    raise ExpressionError(
        "=== compares identities, which strings and collections don't have; write =="
    )


def contains(container: Value, value: Value, budget: Budget) -> bool:
    """Return `value in container`.

    Raises:
        ExpressionError: the container has no elements, or elements of another type.
    """
    match container:
        case str():
            if type(value) is Regex:
                return value.search(container, 0, budget) is not None
            budget.read_text(len(container))
            return type(value) in (str, Char, EnumValue) and str(value) in str(container)
        case range():
            return type(value) in (int, Long) and int(value) in container
        case ClosedRange(start, end):
            if value is None or (type(start) is Char and type(value) is not Char):
                return False
            return compare("<=", start, value, budget) and compare("<=", value, end, budget)
        case OrderedSet(keys) | dict(keys) if type(container) in (OrderedSet, dict):
            return map_key(value, budget) in keys
        case list():
            return any(equal(item, value, budget) for item in container)
        case Sequence():
            return any(equal(item, value, budget) for item in budget.each(container.elements()))
    raise _unfit("in", value, container)


def span(symbol: str, start: Value, end: Value) -> Value:
    """Return `start..end`, or `start..<end`.

    Raises:
        ExpressionError: the ends have no common order.
    """
    if type(start) is int and type(end) is int:
        return whole_range(start, end + (symbol == ".."))
    if {type(start), type(end)} <= {int, Long}:
        return ClosedRange(Long(start), Long(int(end) - (symbol == "..<")))
    if type(start) is type(end) and type(start) in (float, str, Char) and symbol == "..":
        return ClosedRange(start, end)
    raise _unfit(symbol, start, end)


def negate(value: Value) -> Value:
    """Return `-value`.

    Raises:
        ExpressionError: the value is not a number.
    """
    if type(value) is float:
        return -value
    if type(value) in (int, Long):
        # 2147483648 is a Long, -2147483648 an Int: the smallest one can be written.
        if type(value) is Long and value == -INT_MIN:
            return INT_MIN
        return integer(-value, long=type(value) is Long)
    raise ExpressionError(f"- works on numbers, not on {type_name(value)}")


def clamped_integer(value: Value, *, long: bool) -> int:
    """Return a number as Int or Long: doubles are truncated and clamped, integers wrap around."""
    if type(value) is not float:
        return integer(value, long=long)
    if math.isnan(value):
        return integer(0, long=long)
    low, high = (LONG_MIN, LONG_MAX) if long else (INT_MIN, INT_MAX)
    return integer(int(min(max(value, low), high)), long=long)


def _numbers(symbol: str, left: Value, right: Value) -> Value:
    if float in (type(left), type(right)):
        left, right = float(left), float(right)
        if symbol in _FLOAT:
            return _FLOAT[symbol](left, right)
        if symbol == "/":
            return _divide(left, right)
        return _remainder(left, right)
    long = Long in (type(left), type(right))
    if symbol in _FLOAT:
        return integer(int(_FLOAT[symbol](int(left), int(right))), long=long)
    if right == 0:
        raise ExpressionError("division by zero")
    # Towards 0, as on the JVM; Python's `//` goes towards minus infinity.
    quotient = abs(left) // abs(right)
    if (left < 0) != (right < 0):
        quotient = -quotient
    if symbol == "/":
        return integer(quotient, long=long)
    return integer(left - quotient * right, long=long)


def _divide(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or left != left:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _remainder(left: float, right: float) -> float:
    if right == 0 or math.isinf(left) or left != left or right != right:
        return math.nan
    return math.fmod(left, right)


def _plus(left: Value, right: Value, budget: Budget) -> Value:
    if type(left) in (str, EnumValue) or (left is None and type(right) is str):
        first, second = to_text(left, budget), to_text(right, budget)
        budget.build_text(len(first) + len(second))
        return first + second
    if type(left) is Char and type(right) in (str, int):
        if type(right) is str:
            return str(left) + right
        return Char(chr((ord(left) + right) % 65536))
    if type(left) is dict:
        return _merged(left, right, budget)
    if type(left) in (list, OrderedSet, range):
        added = right if type(right) in (list, OrderedSet, range) else [right]
        budget.hold(CELL * (len(left) + len(added)))
        budget.step(len(left) + len(added))
        if type(left) is OrderedSet:
            return ordered_set([*left, *added], budget)
        return [*left, *added]
    raise _unfit("+", left, right)


def _merged(left: dict[object, Value], right: Value, budget: Budget) -> Value:
    """Return Kotlin's `map + map` or `map + pair`: a new map, in which the right one's values win.

    Raises:
        ExpressionError: the right side is neither.
    """
    if type(right) is Pair:
        right = {map_key(right.first, budget): right.second}
    if type(right) is not dict:
        raise _unfit("+", left, right)
    most = len(left) + len(right)
    budget.hold(2 * CELL * most)  # each entry has two cells: its key and its value
    budget.step(most)
    return {**left, **right}


def _minus(left: Value, right: Value, budget: Budget) -> Value:
    if type(left) is Char and type(right) in (int, Char):
        if type(right) is int:
            return Char(chr((ord(left) - right) % 65536))
        return ord(left) - ord(right)
    if type(left) not in (list, OrderedSet, range, dict):
        raise _unfit("-", left, right)
    taken = right if type(right) in (list, OrderedSet, range) else [right]
    if type(left) is list and taken is not right:  # list - element takes the first one only
        for place, item in enumerate(left):
            if equal(item, right, budget):
                budget.collect(left)
                return left[:place] + left[place + 1 :]
        return left
    keys = {map_key(item, budget) for item in budget.each(taken)}
    if type(left) is dict:
        budget.hold(2 * CELL * len(left))
        return {key: item for key, item in left.items() if key not in keys}
    kept = budget.collect(item for item in left if map_key(item, budget) not in keys)
    if type(left) is OrderedSet:
        return ordered_set(kept, budget)
    return kept


def _unfit(symbol: str, left: Value, right: Value) -> ExpressionError:
    problem = f"{symbol} does not work on {type_name(left)} and {type_name(right)}"
    if None in (left, right):
        problem += "; null is not allowed here, give a default with ?:"
    return ExpressionError(problem)


_PARTS: dict[type, tuple[str, ...]] = {
    Pair: ("first", "second"),
    Triple: ("first", "second", "third"),
    MapEntry: ("key", "value"),
    Indexed: ("index", "value"),
    ClosedRange: ("start", "end"),
}


def equal(left: Value, right: Value, budget: Budget) -> bool:
    """Return whether two values are equal as `Any?`, part by part.

    Values of different types are not.
    """
    budget.step()
    if left is None or right is None:
        return left is right
    kind = type(left)
    if kind is EnumValue or type(right) is EnumValue:
        return isinstance(left, str) and isinstance(right, str) and str(left) == str(right)
    if kind is not type(right):
        return False
    if kind is str:
        budget.read_text(len(left))
        return bool(left == right)
    if kind is float:  # as objects: NaN is equal to itself, 0.0 is not -0.0
        return (left != left and right != right) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if kind is list:
        return len(left) == len(right) and all(
            equal(a, b, budget) for a, b in zip(left, right, strict=True)
        )
    if kind is OrderedSet:
        return _same_keys(left.keys, right.keys, budget)
    if kind is dict:
        return _same_keys(left, right, budget) and all(
            equal(item, right[key], budget) for key, item in left.items()
        )
    if kind is Record:
        return bool(left.kind == right.kind and left.components == right.components) and all(
            equal(left[name], right[name], budget) for name in left.components
        )
    if kind in _PARTS:
        return all(
            equal(getattr(left, part), getattr(right, part), budget)  # names from the table above
            for part in _PARTS[kind]
        )
    return bool(left == right)


def order(left: Value, right: Value, budget: Budget) -> int:
    """Return -1, 0 or 1 if `left` is less than, equal to or greater than `right`.

    NaN is the greatest.

    Raises:
        ExpressionError: the values have no common order.
    """
    budget.step()
    kinds = {type(left), type(right)}
    if kinds <= {int, Long, float}:
        if left != left or right != right:
            return int(left != left) - int(right != right)
    elif kinds == {EnumValue}:
        return int(left.ordinal > right.ordinal) - int(left.ordinal < right.ordinal)
    elif kinds <= {str, EnumValue} or kinds == {Char}:
        budget.read_text(min(len(left), len(right)))
    elif kinds != {bool}:
        if None in (left, right):
            raise ExpressionError("null has no order; filter nulls out or give a default with ?:")
        raise ExpressionError(f"cannot order {type_name(left)} and {type_name(right)}")
    return int(left > right) - int(left < right)


def nullable_order(left: Value, right: Value, budget: Budget) -> int:
    """Return the order of two values, null first."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    return order(left, right, budget)


def ordered(
    pairs: Iterable[tuple[Value, Value]], budget: Budget, *, descending: bool = False
) -> list[Value]:
    """Return the values of (key, value) pairs sorted by key, null first; the sort is stable."""

    def compare_keys(left: tuple[Value, Value], right: tuple[Value, Value]) -> int:
        return nullable_order(left[0], right[0], budget)

    rows = budget.collect(pairs)
    # Two lists exist at the same time; `reverse` keeps the sort stable.
    budget.hold(CELL * len(rows))
    return [value for _, value in sorted(rows, key=cmp_to_key(compare_keys), reverse=descending)]


def map_key(value: Value, budget: Budget) -> str | MapKey:
    """Return `value` as a key of a map or set: 1, 1L, 1.0, true and "1" stay different."""
    if isinstance(value, str) and type(value) is not Char:
        budget.read_text(len(value))
        return value
    return MapKey(_frozen(value, budget), value)


def ordered_set(values: Iterable[Value], budget: Budget) -> OrderedSet:
    """Return the distinct `values`, in order of first occurrence."""
    keys: dict[str | MapKey, None] = {}
    for value in values:
        budget.hold(2 * CELL)
        keys.setdefault(map_key(value, budget))
    return OrderedSet(keys)


def to_text(value: Value, budget: Budget) -> str:
    """Return what Kotlin's `toString()` gives."""
    kind = type(value)
    budget.step()
    if kind in (str, Char, EnumValue):
        return str(value)
    if kind is float:
        return _double_text(value)
    if kind is list:
        return join((to_text(item, budget) for item in value), budget)
    if kind is OrderedSet:
        return join((to_text(item, budget) for item in value), budget)
    if kind is dict:
        parts = (
            f"{to_text(original_value(key), budget)}={to_text(item, budget)}"
            for key, item in value.items()
        )
        return join(parts, budget, ends="{}")
    if kind is Record:
        parts = (f"{key}={to_text(value[key], budget)}" for key in value.components)
        return str(value.kind) + join(parts, budget, ends="()")
    if kind in (Pair, Triple):
        return join(
            (to_text(getattr(value, part), budget) for part in _PARTS[kind]), budget, ends="()"
        )
    if kind is MapEntry:
        return join(
            (to_text(value.key, budget), to_text(value.value, budget)), budget, "=", ends=""
        )
    if kind is ClosedRange:
        return join(
            (to_text(value.start, budget), to_text(value.end, budget)), budget, "..", ends=""
        )
    if kind is range:
        return _range_text(value)
    return _plain_text(value, budget)


def join(parts: Iterable[str], budget: Budget, separator: str = ", ", ends: str = "[]") -> str:
    """Join texts between two brackets (`ends`); the result counts against the budget."""
    kept = []
    for part in parts:
        budget.build_text(len(part) + len(separator))
        budget.hold(CELL)
        kept.append(part)
    return ends[:1] + separator.join(kept) + ends[1:]


def _plain_text(value: Value, budget: Budget) -> str:
    match value:
        case None:
            return "null"
        case bool():
            if value:
                return "true"
            return "false"
        case Indexed():
            return f"IndexedValue(index={value.index}, value={to_text(value.value, budget)})"
        case RegexMatch():
            return value.value
        case Regex():
            return value.pattern
        case int():
            return str(int(value))
    return type_name(value)


def _range_text(value: range) -> str:
    last = value[-1] if value else value.stop - (1 if value.step > 0 else -1)
    if value.step == 1:
        return f"{value.start}..{last}"
    if value.step < 0:
        return f"{value.start} downTo {last} step {-value.step}"
    return f"{value.start}..{last} step {value.step}"


def _double_text(value: float) -> str:
    """Write a double as Java does: `1.0`, `1.0E10`, `NaN`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        if value > 0:
            return "Infinity"
        return "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        if "e" not in text:
            return text
        return f"{value:f}"
    sign, digits, exponent = _digits(value)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(value: float) -> tuple[str, str, int]:
    mantissa, _, exponent = repr(abs(value)).partition("e")
    before, _, after = mantissa.partition(".")
    digits = (before + after).lstrip("0")
    power = int(exponent or 0)
    if before != "0":
        power += len(before) - 1
    else:
        power += len(digits) - len(before + after)
    return "-" if value < 0 else "", digits.rstrip("0") or "0", power


def _same_keys(left: dict[Any, Any], right: dict[Any, Any], budget: Budget) -> bool:
    budget.step(len(left))
    return len(left) == len(right) and all(key in right for key in left)


def _frozen(value: Value, budget: Budget) -> tuple[Any, ...]:
    budget.step()
    budget.hold(CELL)
    kind = type(value)
    if kind is int or kind is Long:
        return (kind.__name__, int(value))
    if kind is float:
        return ("float", "NaN" if value != value else value, math.copysign(1, value))
    if kind in (str, Char, EnumValue):
        budget.read_text(len(value))
        return ("Char" if kind is Char else "str", str(value))
    if kind is list:
        return ("list", tuple(_frozen(item, budget) for item in value))
    if kind is OrderedSet:
        return ("set", frozenset(_frozen(item, budget) for item in value))
    if kind is dict:
        return (
            "map",
            frozenset(
                (_frozen(original_value(key), budget), _frozen(item, budget))
                for key, item in value.items()
            ),
        )
    if kind is Record:
        return (value.kind, *((name, _frozen(value[name], budget)) for name in value.components))
    if kind in _PARTS:
        return (kind.__name__, *(_frozen(getattr(value, part), budget) for part in _PARTS[kind]))
    return (kind.__name__, value if kind in (bool, range, type(None)) else id(value))
