"""Equality, order and keys of values, as Kotlin defines them for `Any?` and `Comparable`.

Operators (`operators.py`) and the functions of `stdlib` that sort, group or look for a value call
them. A value can share its parts many times over (`listOf(x, x)` nested thirty times is 2^30 leaves
in thirty lists), so everything that goes through a whole value counts every leaf against the
budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cmp_to_key
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions.values import (
    CELL,
    PARTS,
    Budget,
    Char,
    EnumValue,
    Long,
    MapKey,
    OrderedSet,
    Record,
    Value,
    original_value,
    type_name,
)


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
    if kind in PARTS:
        return all(
            equal(getattr(left, part), getattr(right, part), budget)  # names from the table above
            for part in PARTS[kind]
        )
    return bool(left == right)


def _same_keys(left: dict[Any, Any], right: dict[Any, Any], budget: Budget) -> bool:
    budget.step(len(left))
    return len(left) == len(right) and all(key in right for key in left)


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
    if kind in PARTS:
        return (kind.__name__, *(_frozen(getattr(value, part), budget) for part in PARTS[kind]))
    return (kind.__name__, value if kind in (bool, range, type(None)) else id(value))


def ordered_set(values: Iterable[Value], budget: Budget) -> OrderedSet:
    """Return the distinct `values`, in order of first occurrence."""
    keys: dict[str | MapKey, None] = {}
    for value in values:
        budget.hold(2 * CELL)
        keys.setdefault(map_key(value, budget))
    return OrderedSet(keys)
