"""Compares a query's value with the expected one: numbers by value, everything else by type and value."""

from __future__ import annotations

from typing import Any


def compare(observed: Any, expected: Any) -> tuple[bool, str | None]:
    """Return whether the values are equal, and a warning if only their texts are.

    The published system compares texts, so values with equal texts pass, with the warning.
    """
    if equal(observed, expected):
        return True, None
    if kind(observed) != kind(expected) and spelling(observed) == spelling(expected):
        kinds = f"{kind(observed)} and {kind(expected)}"
        return True, f"equal only as text ({kinds}); write the expected value with its type"
    return False, None


def equal(left: Any, right: Any) -> bool:
    """Compare numbers by value, lists and maps item by item, the rest by type and value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)


def spelling(value: Any) -> str:
    """Return a scalar as the published system would print it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def kind(value: Any) -> str:
    """Return the plain name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "a list"
        case _:
            return "a map"
