"""The text of values: what Kotlin's `toString()` and templates write, down to the digits of
doubles.

Every leaf and every character counts against the budget, for the reason that `comparing.py` gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from bioeval_tui.expressions.regex import Regex
from bioeval_tui.expressions.values import (
    CELL,
    PARTS,
    Budget,
    Char,
    ClosedRange,
    EnumValue,
    Indexed,
    MapEntry,
    OrderedSet,
    Pair,
    Record,
    RegexMatch,
    Triple,
    Value,
    original_value,
    type_name,
)


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
            (to_text(getattr(value, part), budget) for part in PARTS[kind]), budget, ends="()"
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
            return str(value)
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
