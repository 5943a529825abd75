"""Values of expressions → JSON, and errors → two lines with a caret."""

from __future__ import annotations

import unicodedata

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.limits import CELL, Budget
from bioeval_tui.evaluation.assertions.expressions.operators import to_text
from bioeval_tui.evaluation.assertions.expressions.values import (
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
    from_units,
)
from bioeval_tui.text import clean

_WIDTH = 120


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
        return value if value - value == 0 else to_text(value, budget)
    if kind in (str, Char, EnumValue):
        budget.build_text(len(value))
        return from_units(str(value))
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
    return from_units(to_text(value, budget))


def caret(error: ExpressionError) -> str:
    """Return two lines: the line with the error, and a caret under its column.

    Control characters are shown as symbols; a long line is shortened around the column. Without a known
    column the second line is empty.
    """
    before = error.text[: max(0, error.column - 1)]
    start = before.rfind("\n") + 1
    line = error.text[start:].split("\n", 1)[0]
    place = min(len(before) - start, len(line))
    if len(line) > _WIDTH:
        cut = max(0, min(place - _WIDTH // 2, len(line) - _WIDTH))
        line, place = ("…" if cut else "") + line[cut : cut + _WIDTH], place - cut + bool(cut)
    shown = [clean(char) if char != "\t" else " " for char in line]
    gap = sum(_cells(char) for text in shown[:place] for char in text)
    return "".join(shown) + "\n" + (" " * gap + "^" if error.column else "")


def _key(key: str | MapKey, budget: Budget) -> str:
    text = to_text(key.value, budget) if isinstance(key, MapKey) else key
    budget.build_text(len(text))
    return from_units(text)


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
