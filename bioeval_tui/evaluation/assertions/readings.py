"""Whether a condition's result depends on `compat`: the transcript as published, or as in version 0.1 of this program."""

from __future__ import annotations

from typing import Any

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions import Expression, Limits, evaluate, scope
from bioeval_tui.evaluation.assertions.expressions.limits import LimitError

_LENGTHS = range(1, 9)
"""Number of turns of the conversations on which both readings are tried."""
_LIMITS = Limits(steps=10_000, seconds=0.05)
"""Limits for one condition; beyond them the question stays open, so that any job is checked quickly."""
_SIGNOFF = "So Long, and Thanks for All the Fish"
_CONTEXT: dict[str, Any] = {"context": "", "resources": [], "functions": []}


def depends_on_signoff(condition: Expression) -> bool:
    """Return whether a condition has a different result if the transcript lacks the sign-off."""
    return _differs(condition, {"signoff": False})


def depends_on_user_times(condition: Expression) -> bool:
    """Return whether a condition has a different result if the user's messages took no time."""
    return _differs(condition, {"user_ms": 0})


def _differs(condition: Expression, other: dict[str, Any]) -> bool:
    try:
        return any(_verdict(condition, turns) != _verdict(condition, turns, **other) for turns in _LENGTHS)
    except LimitError:
        return False


def _verdict(condition: Expression, turns: int, *, signoff: bool = True, user_ms: int = 1200) -> Any:
    """Return the condition's value for an invented conversation of `turns` turns; None if evaluating it fails."""
    transcript = []
    for turn in range(turns):
        transcript += [
            _said("user", f"Question {turn}", user_ms if turn else 0),
            _said("assistant", "Answer", 900),
        ]
    if signoff:
        transcript.append(_said("user", _SIGNOFF, user_ms))
    evaluation = {"transcript": transcript, "done": True, "job": {"evaluator": {"signoff": _SIGNOFF}}}
    try:
        return evaluate(condition, scope(_CONTEXT, evaluation), _LIMITS)
    except LimitError:
        raise
    except ExpressionError:
        return None


def _said(role: str, content: str, took_ms: int) -> dict[str, Any]:
    return {"role": role, "content": content, "timeTakenMillis": took_ms, "events": []}
