"""Check one assertion of any kind; an outcome is a value, never an exception.

Calls that an agent does not report are not measured. Only the job knows whether "none reported"
means "none made" (`target.tellsToolCalls`), or the protocol if the tools are the job's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

from bioeval_tui.base.errors import BioevalError, ExpressionError, InvalidQueryError, QueryError
from bioeval_tui.base.text import clean_line, compact_json, plural, shorten
from bioeval_tui.evaluation.asserted_conditions import parse_where
from bioeval_tui.expressions import Expression, Part, evaluate, explain, parse, scope
from bioeval_tui.jobs.models import (
    Assertion,
    CallConfig,
    CypherAssertion,
    ExpressionAssertion,
    FhirAssertion,
    MedalAssertion,
    ToolCallsAssertion,
    ToolCallsConfig,
)
from bioeval_tui.peers.seams import (
    AssertionView,
    CheckResult,
    KnowledgeGraph,
    PatientRecords,
    PeerError,
    Rows,
)
from bioeval_tui.record.events import Fault
from bioeval_tui.record.tool_calls import (
    REPORTED,
    ToolCall,
    call_text,
    result_of,
    tool_calls_text,
    transcript_calls,
)


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
            if value:
                return "true"
            return "false"
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
"""Grades the file of a medal assertion, given the state of the files that were there before the
conversation.
"""


def only_value(found: Rows) -> Any:
    """Return the first value of a query's only row, which is what an assertion compares.

    Raises:
        QueryError: there is no row, or there are several.
    """
    if len(found.rows) != 1 or not found.rows[0]:
        raise QueryError(
            f"the query returned {len(found.rows)} rows; an assertion needs exactly one"
        )
    return found.rows[0][0]


CYPHER_TIMEOUT_S = FHIR_TIMEOUT_S = 10.0
MOST_COMPARED = 4
"""Maximum number of conditions joined by && and || whose values are shown."""
LONGEST_SHOWN = 100
"""Maximum number of characters of a shown value; of longer lists and objects, only the size is
shown.
"""


class Checker:
    """Checks assertions with a graph, patients' records and a function that grades files.

    Without a graph, Cypher is not measured and `no_graph` says why; likewise `grade_medal` for
    medals. `records_fault` is who is to blame if the records cannot be read.
    """

    def __init__(
        self,
        graph: KnowledgeGraph | None,
        no_graph: str = "",
        grade_medal: GradeMedal | None = None,
        records: PatientRecords | None = None,
        records_fault: Fault = "infrastructure",
    ) -> None:
        self._records = records
        self._records_fault = records_fault
        self._graph = graph
        self._no_graph = no_graph or "no knowledge graph is configured"
        self._grade_medal = grade_medal

    async def __call__(self, assertion: Assertion, view: AssertionView) -> CheckResult:
        """Return the outcome.

        An invalid assertion fails with its error; if the graph is unavailable, it is not measured.
        """
        match assertion:
            case ExpressionAssertion():
                # An expression may take a while on a large state; the event loop must not.
                return await asyncio.to_thread(check_expression, assertion.expression, view)
            case CypherAssertion():
                return await self._cypher(assertion)
            case FhirAssertion():
                return await self._fhir(assertion)
            case ToolCallsAssertion():
                return await asyncio.to_thread(check_tool_calls, assertion.tool_calls, view)
            case MedalAssertion():
                if self._grade_medal is None:
                    return CheckResult(
                        None, error="grading is not available here", fault="infrastructure"
                    )
                return await self._grade_medal(assertion, view.files_before)

    async def _cypher(self, assertion: CypherAssertion) -> CheckResult:
        expected = assertion.expected
        if self._graph is None:
            return CheckResult(None, expected=expected, error=self._no_graph, fault="none")
        try:
            result = await self._graph.query(assertion.cypher, timeout_s=CYPHER_TIMEOUT_S)
            observed = only_value(result)
        except QueryError as error:
            return CheckResult(False, expected=expected, error=clean_line(str(error)))
        except PeerError as error:
            away = clean_line(str(error))
            return CheckResult(None, expected=expected, error=away, fault="infrastructure")
        passed, warning = compare(observed, expected)
        if passed:
            return CheckResult(True, observed, expected, warning=warning)
        why = f"the query returned {_shown(observed)}, expected {_shown(expected)}"
        return CheckResult(False, observed, expected, warning=warning, why=why)

    async def _fhir(self, assertion: FhirAssertion) -> CheckResult:
        expected = assertion.expected
        if self._records is None:
            why = "the job names no FHIR server"
            return CheckResult(None, expected=expected, error=why, fault="none")
        try:
            found = await self._records.look_up(
                assertion.fhir, assertion.path, timeout_s=FHIR_TIMEOUT_S
            )
        except InvalidQueryError as error:
            # The job's mistake: no agent can pass it, nor may one be charged with it.
            return CheckResult(None, expected=expected, error=_error_text(error), fault="none")
        except QueryError as error:
            return CheckResult(False, expected=expected, error=_error_text(error))
        except PeerError as error:
            away = clean_line(str(error))
            return CheckResult(None, expected=expected, error=away, fault=self._records_fault)
        values: Any = list(found.values)
        noted = f"the server remarks: {found.note}" if found.note else None
        if isinstance(expected, list) or len(values) > 1:
            observed = values
        else:
            observed = values[0] if values else None
        passed, warning = compare(observed, expected)
        warning = "; ".join(filter(None, (warning, noted))) or None
        if passed:
            return CheckResult(True, observed, expected, warning=warning)
        shown = f"found {_shown(observed)}" if values else "found nothing"
        why = f"the path {shown}, expected {_shown(expected)}"
        return CheckResult(False, observed, expected, warning=warning, why=why)


def check_expression(text: str, view: AssertionView) -> CheckResult:
    """Evaluate a condition; anything but true or false is an error, as it would be in Kotlin."""
    try:
        context = dict(view.object_context) if view.object_context is not None else None
        names = scope(context, dict(view.evaluation))
        value = evaluate(parse(text), names)
    except ExpressionError as error:
        return CheckResult(False, error=_error_text(error))
    if not isinstance(value, bool):
        return CheckResult(
            False, value, error="the expression is not true or false; compare it with something"
        )
    if value:
        return CheckResult(True, True, True)
    return CheckResult(False, False, True, why=_compared_values(explain(parse(text), names)))


def _compared_values(parts: Sequence[Part]) -> str | None:
    """Return the values that the failed conditions compared, such as `objectContext.resources.size
    is 0`.

    A list too long to be shown is followed by the element that decided.
    """
    missed = [part for part in parts if part.value is not True][:MOST_COMPARED]
    values = dict.fromkeys(chain.from_iterable(map(_values, missed)))
    return shorten(clean_line("; ".join(values)), 400) or None


def _values(part: Part) -> list[str]:
    sides = [
        (text, value, _shown(value)) for text, value in part.sides or ((part.text, part.value),)
    ]
    parts = [f"{text} is {shown}" for text, _, shown in sides]
    if (deciding := part.deciding) and any(
        isinstance(value, list) and shown == _size(value) for _, value, shown in sides
    ):
        shown = deciding.parts[:MOST_COMPARED]
        if deciding.how == "none":
            parts.append(f"none meets {' or '.join(inner.text for inner in shown)}")
        else:
            why = ", ".join(chain.from_iterable(map(_values, shown)))
            parts.append(f"number {deciding.number} {deciding.how}: {why}")
    return parts


def _shown(value: Any) -> str:
    """Return a value on one line; a long list or object as its size."""
    text = clean_line(compact_json(value), 1_000)
    long = len(text) > LONGEST_SHOWN
    if long and isinstance(value, list | dict):
        return _size(value)
    return shorten(text, LONGEST_SHOWN)


def _size(value: list[Any] | dict[str, Any]) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"an object of {plural(len(value), 'part')}"


def holds_on_nothing(assertion: Assertion) -> bool:
    """Return whether an assertion is an invariant: declared as one, or true for an empty state.

    One in Cypher or FHIRPath is one if it expects 0, false, null, or an empty text or list.
    """
    if assertion.invariant:
        return True
    match assertion:
        case CypherAssertion() | FhirAssertion():
            return not assertion.expected
        case ExpressionAssertion():
            return bool(check_expression(assertion.expression, _NOTHING).passed)
        case ToolCallsAssertion():
            return bool(check_tool_calls(assertion.tool_calls, _NOTHING).passed)
        case MedalAssertion():
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


def _error_text(error: BioevalError) -> str:
    column = getattr(error, "column", 0)
    if column:
        return f"{clean_line(str(error))} (column {column})"
    return clean_line(str(error))


NOT_TOLD = (
    "the agent reported no tool calls; if it reports every call it makes, set"
    " target.tellsToolCalls: true"
)
FAILED_FIRST = "the agent failed before it reported a tool call"
NO_ARGUMENTS = (
    "the spans of {} do not contain its arguments; many instrumentations record them only if asked"
    " to, such as with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
)
NO_RESULTS = "the agent reported no results of its calls, so it is unknown whether one failed"
MOST_SHOWN = 50


def equal(left: Any, right: Any) -> bool:
    """Compare numbers by value, lists and maps item by item, the rest by type and value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)


def check_tool_calls(asked: ToolCallsConfig, view: AssertionView) -> CheckResult:
    """Return whether the reported calls meet the assertion; a failed result says what was called
    instead.
    """
    transcript: Sequence[Mapping[str, Any]] = view.evaluation.get("transcript") or ()
    calls = transcript_calls(transcript)
    expected = tool_calls_text(asked.model_dump(mode="json", by_alias=True))
    if (missing := _not_reported(asked, view, calls, transcript)) is not None:
        fault: Fault = "none"
        if missing == FAILED_FIRST:
            fault = "agent"
        return CheckResult(None, expected=expected, error=missing, fault=fault)
    scopes = _scopes(asked.turn, calls, transcript)
    looked_at = list(chain.from_iterable(some for _, some in scopes))
    observed = [_call_line(call, asked.turn) for call in looked_at[:MOST_SHOWN]]
    if len(looked_at) > MOST_SHOWN:
        observed.append(f"… {plural(len(looked_at) - MOST_SHOWN, 'more call')}")

    def result(passed: bool | None, error: str | None = None) -> CheckResult:
        return CheckResult(passed, observed, expected, error=error, fault="none")

    silent = next((call.name for call in looked_at if not call.arguments_told), None)
    if silent is not None and _asks_for_arguments(asked):
        return result(None, NO_ARGUMENTS.format(clean_line(silent, 100)))
    try:
        wrong: list[str] = []
        for place, some in scopes:
            wrong += [f"{place}{what}" for what in _wrong(asked, some)]
    except ExpressionError as error:
        return result(False, clean_line(str(error)))
    if wrong:
        return result(False, clean_line("; ".join(wrong), 2_000))
    if asked.no_errors and looked_at and not any(call.has_result for call in looked_at):
        return result(None, NO_RESULTS)
    return result(True)


def _not_reported(
    asked: ToolCallsConfig,
    view: AssertionView,
    calls: Sequence[ToolCall],
    transcript: Sequence[Mapping[str, Any]],
) -> str | None:
    """Return why it is not known which calls were made; None if it is."""
    if not (calls or _tells(view.evaluation) or _reports_results(transcript)):
        if view.agent_failed:
            return FAILED_FIRST
        return NOT_TOLD
    untraced = [turn for turn in view.untraced_turns if asked.turn in (None, "each", turn)]
    if not untraced:
        return None
    turns = ", ".join(map(str, untraced))
    if len(untraced) > 1:
        return f"the spans of turns {turns} did not all come, so a call may be missing"
    return f"the spans of turn {turns} did not all come, so a call may be missing"


def _scopes(
    turn: int | str | None, calls: list[ToolCall], transcript: Sequence[Mapping[str, Any]]
) -> list[tuple[str, list[ToolCall]]]:
    """Return the calls to look at together, each with where they were made: in one turn, each turn,
    or all.
    """
    if turn is None:
        return [("", calls)]
    last = max(
        (at for at, one in enumerate(transcript) if one.get("role") == "assistant"), default=-1
    )
    # The sign-off after the last answer is not a turn: it is not sent to the agent.
    turns = sum(message.get("role") == "user" for message in transcript[: last + 1])
    if turn == "each":
        wanted = [(one, f"turn {one}: ") for one in range(1, turns + 1)]
    elif int(turn) <= turns:
        wanted = [(int(turn), f"turn {turn}: ")]
    else:
        wanted = [(int(turn), f"turn {turn}, which did not take place: ")]
    return [(place, [call for call in calls if call.turn == one]) for one, place in wanted]


def _tells(evaluation: Mapping[str, Any]) -> bool:
    """Return whether "none reported" means "none made"."""
    job = evaluation.get("job")
    if not isinstance(job, Mapping):
        return False
    target = job.get("target")
    return isinstance(target, Mapping) and bool(target.get("tellsToolCalls") or target.get("tools"))


def _asks_for_arguments(asked: ToolCallsConfig) -> bool:
    expected = (*(asked.calls or ()), *asked.must_call, *asked.must_not_call)
    return any(call.arguments is not None or call.where is not None for call in expected)


def _reports_results(transcript: Sequence[Mapping[str, Any]]) -> bool:
    listed = chain.from_iterable(message.get("events") or () for message in transcript)
    return any(result_of(event) is not None for event in listed)


def _wrong(asked: ToolCallsConfig, calls: list[ToolCall]) -> list[str]:
    """Return each unmet condition as a short text. Raises `ExpressionError`."""
    wrong: list[str] = []
    if asked.calls is not None:
        wrong += _sequence(asked.match, asked.calls, calls)
    for wanted in asked.must_call:
        if not any(_fits(wanted, call) for call in calls):
            near = [call for call in calls if call.name == wanted.name]
            instead = f"; it called {_list_calls(calls)}"
            if near:
                instead = f", but {_list_calls(near)}"
            wrong.append(f"{_text(wanted)} was not called{instead}")
    for wanted in asked.must_not_call:
        bad = [call for call in calls if _fits(wanted, call) or _may_match(wanted, call)]
        if bad:
            wrong.append(f"{_text(wanted)} was called: {_list_calls(bad)}")
    wrong += _order(asked.order, [call for call in calls if call.arguments_read])
    for name, most in asked.max_calls.items():
        some = [call for call in calls if name in ("*", call.name)]
        if len(some) > most:
            whose = "" if name == "*" else f" of {name}"
            wrong.append(f"{plural(len(some), 'call')}{whose}, at most {most}: {_list_calls(some)}")
    if asked.no_errors:
        wrong += [
            f"{call_text(call.name, call.arguments)} failed: {_result(call)}"
            for call in calls
            if call.failure == REPORTED  # what the job made fail is no mistake of the agent
        ]
    return wrong


def _sequence(
    match: str,
    wanted: Sequence[CallConfig],
    calls: list[ToolCall],
) -> list[str]:
    if match == "strict":
        for number, (one, call) in enumerate(zip(wanted, calls, strict=False), start=1):
            if not _fits(one, call):
                return [
                    f"call {number} is {call_text(call.name, call.arguments)}, not {_text(one)}"
                ]
        if len(wanted) > len(calls):
            return [f"{_text(wanted[len(calls)])} was not called after {_list_calls(calls)}"]
        extra = calls[len(wanted) :]
        if extra:
            return [f"more was called than that: {_list_calls(extra)}"]
        return []
    pairs = _match_up([[_fits(one, call) for call in calls] for one in wanted], len(calls))
    missing = [one for number, one in enumerate(wanted) if number not in pairs]
    extra = [call for number, call in enumerate(calls) if number not in pairs.values()]
    wrong = []
    if missing and match != "subset":
        wrong.append(f"not called: {', '.join(map(_text, missing))}; called: {_list_calls(calls)}")
    if extra and match != "superset":
        wrong.append(f"more was called than that: {_list_calls(extra)}")
    return wrong


def _match_up(fits: list[list[bool]], columns: int) -> dict[int, int]:
    """Return a maximum matching of rows and columns (augmenting paths)."""
    row_of: dict[int, int] = {}

    def place(row: int) -> bool:
        # Without recursion: an agent may make thousands of calls.
        came: dict[int, tuple[int, int | None]] = {}
        waiting: list[tuple[int, int | None]] = [(row, None)]
        while waiting:
            current, through = waiting.pop()
            for column in range(columns):
                if not fits[current][column] or column in came:
                    continue
                came[column] = (current, through)
                if column in row_of:
                    waiting.append((row_of[column], column))
                    continue
                at: int | None = column
                while at is not None:
                    owner, before = came[at]
                    row_of[at] = owner
                    at = before
                return True
        return False

    for row in range(len(fits)):
        place(row)
    return {row: column for column, row in row_of.items()}


def _order(names: Sequence[str], calls: list[ToolCall]) -> list[str]:
    first = {
        name: next((at for at, call in enumerate(calls) if call.name == name), None)
        for name in names
    }
    missing = [name for name in names if first[name] is None]
    if missing:
        return [f"not called, so in no order: {', '.join(missing)}; called: {_list_calls(calls)}"]
    for one, other in pairwise(names):
        if (first[one] or 0) > (first[other] or 0):
            return [f"{other} was called before {one}: {_list_calls(calls)}"]
    return []


def _fits(wanted: CallConfig, call: ToolCall) -> bool:
    if call.name != wanted.name or not call.arguments_read:
        return False
    given = call.arguments
    if not isinstance(given, Mapping):
        given = {"arguments": given}
    if wanted.arguments is not None:
        made = given
        if set(made) == {"arguments"} and len(wanted.arguments) == 1:
            # A span may have the only argument without its name.
            made = {next(iter(wanted.arguments)): made["arguments"]}
        if wanted.compare == "exact" and set(made) != set(wanted.arguments):
            return False
        if not all(
            key in made and equal(made[key], value) for key, value in wanted.arguments.items()
        ):
            return False
    if wanted.where is None:
        return True
    seen = {"function": call.name, "args": dict(given), "failure": call.failure}
    evaluation = {"functionCalls": [seen]}
    try:
        result = evaluate(_where(wanted.where), scope(None, evaluation))
    except ExpressionError as error:
        shown = call_text(call.name, call.arguments)
        raise ExpressionError(
            f"where {wanted.where}: {error.message}, of {shown}", wanted.where
        ) from None
    return result is True


def _may_match(forbidden: CallConfig, call: ToolCall) -> bool:
    """Return whether a call whose arguments cannot be read is forbidden with any arguments."""
    return (
        not call.arguments_read
        and call.name == forbidden.name
        and forbidden.arguments is None
        and forbidden.where is None
    )


@lru_cache(maxsize=512)
def _where(text: str) -> Expression:
    return parse_where(text)


def _text(wanted: CallConfig) -> str:
    return tool_calls_text({"mustCall": [wanted.model_dump(mode="json")]}).removeprefix(
        "must call "
    )


def _list_calls(calls: Sequence[ToolCall]) -> str:
    if not calls:
        return "nothing"
    listed = ", ".join(call_text(call.name, call.arguments) for call in calls[:5])
    if len(calls) > 5:
        return f"{listed} and {len(calls) - 5} more"
    return listed


def _call_line(call: ToolCall, turn: object) -> str:
    line = call_text(call.name, call.arguments)
    if call.failed:
        line = f"{line} failed: {_result(call)}"
    if isinstance(turn, int):
        return line
    return f"turn {call.turn}: {line}"


def _result(call: ToolCall) -> str:
    return clean_line(str(call.result), 200)
