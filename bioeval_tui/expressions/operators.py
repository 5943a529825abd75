"""The operators of expressions, as Kotlin defines them: arithmetic, comparison, membership, ranges.

`evaluator` calls one function for each operator. Whether two values are equal, or which is greater,
is decided in `comparing.py`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions.comparing import equal, map_key, order, ordered_set
from bioeval_tui.expressions.regex import Regex
from bioeval_tui.expressions.text_forms import to_text
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
    Long,
    OrderedSet,
    Pair,
    Record,
    Sequence,
    Value,
    integer,
    type_name,
    whole_range,
)


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


_FLOAT: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


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


def _unfit(symbol: str, left: Value, right: Value) -> ExpressionError:
    problem = f"{symbol} does not work on {type_name(left)} and {type_name(right)}"
    if None in (left, right):
        problem += "; null is not allowed here, give a default with ?:"
    return ExpressionError(problem)
