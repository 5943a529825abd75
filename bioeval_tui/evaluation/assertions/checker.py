"""Check one assertion of any kind; an outcome is a value, never an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from bioeval_tui.errors import BioevalError, ExpressionError, QueryError
from bioeval_tui.evaluation.assertions.expressions import (
    Expression,
    Limits,
    Part,
    evaluate,
    explain,
    parse,
    scope,
)
from bioeval_tui.evaluation.assertions.expressions.values import LimitError
from bioeval_tui.evaluation.assertions.tool_calls import check_tool_calls, equal
from bioeval_tui.evaluation.job.models import (
    Assertion,
    CypherAssertion,
    ExpressionAssertion,
    MedalAssertion,
    ToolCallsAssertion,
)
from bioeval_tui.evaluation.seams import AssertionView, CheckResult, KnowledgeGraph, PeerError
from bioeval_tui.text import clean_line, compact_json, shorten

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
            _message("user", f"Question {turn}", user_ms if turn else 0),
            _message("assistant", "Answer", 900),
        ]
    if signoff:
        transcript.append(_message("user", _SIGNOFF, user_ms))
    evaluation = {"transcript": transcript, "done": True, "job": {"evaluator": {"signoff": _SIGNOFF}}}
    try:
        return evaluate(condition, scope(_CONTEXT, evaluation), _LIMITS)
    except LimitError:
        raise
    except ExpressionError:
        return None


def _message(role: str, content: str, took_ms: int) -> dict[str, Any]:
    return {"role": role, "content": content, "timeTakenMillis": took_ms, "events": []}


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


GradeMedal = Callable[[MedalAssertion, Mapping[str, str]], Awaitable[CheckResult]]
"""Grades the file of a medal assertion, given the state of the files that were there before the conversation."""

CYPHER_TIMEOUT_S = 10.0
MOST_COMPARED = 4
"""Maximum number of conditions joined by && and || whose values are shown."""
LONGEST_SHOWN = 100
"""Maximum number of characters of a shown value; of longer lists and objects, only the size is shown."""


class Checker:
    """Checks assertions with a graph and a function that grades files.

    Without a graph, Cypher is not measured and `no_graph` says why; likewise `grade_medal` for medals.
    """

    def __init__(
        self, graph: KnowledgeGraph | None, no_graph: str = "", grade_medal: GradeMedal | None = None
    ) -> None:
        self._graph = graph
        self._no_graph = no_graph or "no knowledge graph is configured"
        self._grade_medal = grade_medal

    async def __call__(self, assertion: Assertion, view: AssertionView) -> CheckResult:
        """Return the outcome. An invalid assertion fails with its error; if the graph is unavailable, it is not measured."""
        match assertion:
            case ExpressionAssertion():
                # An expression may take a while on a large state; the event loop must not.
                return await asyncio.to_thread(check_expression, assertion.expression, view)
            case CypherAssertion():
                return await self._cypher(assertion)
            case ToolCallsAssertion():
                return await asyncio.to_thread(check_tool_calls, assertion.tool_calls, view)
            case MedalAssertion():
                if self._grade_medal is None:
                    return CheckResult(None, error="grading is not available here")
                return await self._grade_medal(assertion, view.files_before)

    async def _cypher(self, assertion: CypherAssertion) -> CheckResult:
        expected = assertion.expected
        if self._graph is None:
            return CheckResult(None, expected=expected, error=self._no_graph, fault="none")
        try:
            result = await self._graph.query(assertion.cypher, timeout_s=CYPHER_TIMEOUT_S)
        except QueryError as error:
            return CheckResult(False, expected=expected, error=clean_line(str(error)))
        except PeerError as error:
            return CheckResult(None, expected=expected, error=clean_line(str(error)))
        if len(result.rows) != 1 or not result.rows[0]:
            error_text = f"the query returned {len(result.rows)} rows; an assertion needs exactly one"
            return CheckResult(False, expected=expected, error=error_text)
        observed = result.rows[0][0]
        passed, warning = compare(observed, expected)
        why = None if passed else f"the query returned {_shown(observed)}, expected {_shown(expected)}"
        return CheckResult(passed, observed, expected, warning=warning, why=why)


def check_expression(text: str, view: AssertionView) -> CheckResult:
    """Evaluate a condition; anything but true or false is an error, as it would be in Kotlin."""
    try:
        context = dict(view.object_context) if view.object_context is not None else None
        names = scope(context, dict(view.evaluation))
        value = evaluate(parsed(text), names)
    except ExpressionError as error:
        return CheckResult(False, error=_error_text(error))
    if not isinstance(value, bool):
        return CheckResult(
            False, value, error="the expression is not true or false; compare it with something"
        )
    return CheckResult(value, value, True, why=None if value else _compared(explain(parsed(text), names)))


def _compared(parts: Sequence[Part]) -> str | None:
    """Return the values that the failed conditions compared, such as `objectContext.resources.size is 0`.

    A list too long to be shown is followed by the element that decided.
    """
    missed = [part for part in parts if part.value is not True][:MOST_COMPARED]
    values = dict.fromkeys(text for part in missed for text in _values(part))
    return shorten(clean_line("; ".join(values)), 400) or None


def _values(part: Part) -> list[str]:
    sides = [(text, value, _shown(value)) for text, value in part.sides or ((part.text, part.value),)]
    parts = [f"{text} is {shown}" for text, _, shown in sides]
    if (deciding := part.deciding) and any(
        isinstance(value, list) and shown == _size(value) for _, value, shown in sides
    ):
        shown = deciding.parts[:MOST_COMPARED]
        if deciding.how == "none":
            parts.append(f"none meets {' or '.join(inner.text for inner in shown)}")
        else:
            why = ", ".join(each for inner in shown for each in _values(inner))
            parts.append(f"number {deciding.number} {deciding.how}: {why}")
    return parts


def _shown(value: Any) -> str:
    """Return a value on one line; a long list or object as its size."""
    text = clean_line(compact_json(value), 1_000)
    long = len(text) > LONGEST_SHOWN
    return _size(value) if long and isinstance(value, list | dict) else shorten(text, LONGEST_SHOWN)


def _size(value: list[Any] | dict[str, Any]) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else f"an object of {len(value)} parts"


def holds_on_nothing(assertion: Assertion) -> bool:
    """Return whether an assertion is an invariant: declared as one, or true for an empty state.

    A Cypher assertion is one if it expects 0, false, null, or an empty text or list.
    """
    if assertion.invariant:
        return True
    if isinstance(assertion, CypherAssertion):
        return not assertion.expected
    if isinstance(assertion, ExpressionAssertion):
        return bool(check_expression(assertion.expression, _NOTHING).passed)
    if isinstance(assertion, ToolCallsAssertion):
        return bool(check_tool_calls(assertion.tool_calls, _NOTHING).passed)
    return False


_NOTHING = AssertionView(
    {"context": "", "resources": [], "functions": []},
    {
        "transcript": [],
        "functionCalls": [],
        "events": [],
        "failureCount": 0,
        "done": False,
        "model": "",
        "sessionId": "",
        "job": {"target": {"tellsToolCalls": True}},
    },
)


@lru_cache(maxsize=512)
def parsed(text: str) -> Expression:
    """Parse once; a job's expressions are evaluated after every turn."""
    return parse(text)


def _error_text(error: BioevalError) -> str:
    column = getattr(error, "column", 0)
    return clean_line(str(error)) + (f" (column {column})" if column else "")
