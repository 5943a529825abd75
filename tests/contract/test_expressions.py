"""The values and error columns of documented and hostile expressions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import LimitError, Limits, caret, evaluate, parse, scope

FOLDER = Path(__file__).parent
STATE = json.loads((FOLDER / "expressions_state.json").read_text("utf-8"))
NAMES = scope(STATE["objectContext"], STATE["evaluation"])
TENTH = Limits(steps=15_000, memory=1_200_000)
"""Limits that are met in a tenth of the time that the usual ones take."""


def _cases() -> list[tuple[str, str]]:
    lines = (FOLDER / "expressions.txt").read_text("utf-8").splitlines()
    rows = [line.partition(" ⇒ ") for line in lines if line and not line.startswith("# ")]
    return [(text, wanted) for text, _, wanted in rows]


def _hostile() -> list[str]:
    """Return the hostile expressions; `⟨text×n⟩` in the file stands for `text` repeated n times."""
    found = []
    for line in (FOLDER / "expressions_hostile.txt").read_text("utf-8").splitlines():
        if not line or line.startswith("# "):
            continue
        while "⟨" in line:
            before, _, rest = line.rpartition("⟨")
            inner, _, after = rest.partition("⟩")
            piece, _, times = inner.rpartition("×")
            line = before + piece * int(times) + after
        found.append(line)
    return found


def test_expressions_have_the_documented_value_or_error_column(subtests: pytest.Subtests) -> None:
    for text, wanted in _cases():
        with subtests.test(text):
            _has_value_or_error_column(text, wanted)


def _has_value_or_error_column(text: str, wanted: str) -> None:
    if not wanted.startswith("!"):
        assert _typed(evaluate(parse(text), NAMES)) == _typed(json.loads(wanted))
        return
    column, _, message = wanted[1:].partition(" ")
    with pytest.raises(ExpressionError) as caught:
        evaluate(parse(text), NAMES)
    assert (caught.value.column, message in caught.value.message) == (int(column), True), (
        caught.value.message
    )
    assert caught.value.text == text
    assert caret(caught.value).splitlines()[1].endswith("^")


@pytest.mark.long
def test_hostile_expressions_end_in_an_error(subtests: pytest.Subtests) -> None:
    for text in _hostile():
        with subtests.test(text[:60]):
            with pytest.raises(ExpressionError) as caught:
                evaluate(parse(text), NAMES, TENTH)
            message = caught.value.message
            assert len(message) < 300
            if isinstance(caught.value, LimitError):
                assert any(word in message for word in ("steps", "MB", "longer", "time limit"))


def test_there_are_enough_documented_and_hostile_expressions() -> None:
    assert len(_cases()) >= 120
    assert len(set(_hostile())) >= 150


def _typed(value: Any) -> Any:
    """Keep 1, 1.0 and true apart."""
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    return (type(value).__name__, value)
