"""What an expression gave, as JSON."""

from __future__ import annotations

from bioeval_tui.expressions.text_forms import to_text
from bioeval_tui.expressions.values import (
    CELL,
    Budget,
    Char,
    EnumValue,
    Indexed,
    Long,
    MapEntry,
    MapKey,
    OrderedSet,
    Pair,
    Record,
    Sequence,
    Triple,
    Value,
    decode_units,
)


def to_json(value: Value, budget: Budget) -> Value:
    """Return `value` as JSON: sets and pairs as lists, ranges and others as text, NaN as "NaN"."""
    budget.step()
    budget.hold(CELL)
    kind = type(value)
    if value is None or kind in (bool, int):
        return value
    if kind is Long:
        return int(value)
    if kind is float:
        if value - value == 0:
            return value
        return to_text(value, budget)
    if kind in (str, Char, EnumValue):
        budget.build_text(len(value))
        return decode_units(str(value))
    if kind in (list, OrderedSet, Sequence):
        items = value.elements() if kind is Sequence else value
        return [to_json(item, budget) for item in budget.each(items)]
    if kind is dict or kind is Record:
        return {_key(key, budget): to_json(item, budget) for key, item in value.items()}
    if kind is Pair:
        return [to_json(value.first, budget), to_json(value.second, budget)]
    if kind is Triple:
        return [to_json(part, budget) for part in (value.first, value.second, value.third)]
    if kind is MapEntry:
        return {"key": to_json(value.key, budget), "value": to_json(value.value, budget)}
    if kind is Indexed:
        return {"index": value.index, "value": to_json(value.value, budget)}
    return decode_units(to_text(value, budget))


def _key(key: str | MapKey, budget: Budget) -> str:
    text = to_text(key.value, budget) if isinstance(key, MapKey) else key
    budget.build_text(len(text))
    return decode_units(text)
