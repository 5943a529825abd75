"""The tool calls of an agent, for every protocol: how they are recorded and read.

A call is the event `{"request": {"function": {"name"}, "arguments": {}, "id"?}}`, as the published
REST API has it; its result is `{"output", "id"?, "error"?}`. A call that only a span reports has
its id as `span`; without arguments, `argumentsTold` is false. Arguments that are no JSON object
stay as they are, `argumentsRead` is false, and the call has failed: no tool can have run with them.
A result belongs to the call with its id; one without belongs to the oldest call of its message that
has no result yet. What this program answered in place of a tool that is to fail has `injected`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bioeval_tui.base.peer_limits import MAX_EVENT_TEXT
from bioeval_tui.base.text import (
    clean_line,
    clean_value,
    excess_of,
    join_names,
    parse_json,
    shorten,
)

UNREAD = "the arguments of this call are not a JSON object"
"""The result of a call whose arguments cannot be read, if no other is reported."""
OWN_ID = "unnamed-"
"""How an id begins that was made here, for a call that was reported without one."""
_IN_EVENT = ("request", "arguments")
"""Where a call's arguments stand in its event, which is no deeper than a peer's JSON may be."""
_RESULTS = ("output", "result", "response")
INJECTED = "injected"
"""The key of a result that says how this program made the call fail; agents' own events lose it."""
InjectedFailure = Literal["timeout", "truncated", "wrong_type", "delayed"]
"""How a tool of the job is made to fail."""
INJECTED_FAILURES: tuple[InjectedFailure, ...] = get_args(InjectedFailure)
_INJECTED_WORDS: dict[InjectedFailure, str] = {
    "timeout": "timed out",
    "truncated": "was cut off",
    "wrong_type": "was of a wrong type",
    "delayed": "was late",
}
REPORTED = "error"
"""The failure of a call whose result is an error that nobody injected."""


@dataclass(slots=True)
class ToolCall:
    """One call.

    `turn` is the user's message (from 1) that it answers, `message` the agent's; `told` is true if
    it has a result.

    `arguments_told` is false if a span reported only the call's name, `arguments_read` if they are
    no JSON object.
    """

    turn: int
    message: int
    name: str
    arguments: Any
    has_result: bool = False
    result: Any = None
    failed: bool = False
    arguments_told: bool = True
    arguments_read: bool = True
    failure: str | None = None
    """How it failed (`call_failure`)."""


def parse_arguments(written: str) -> Any:
    """Return the arguments of a tool call: an object, or the text itself if it is no JSON object or
    exceeds the limits.

    Models call a tool without parameters with an empty text or `null`, too.
    """
    try:
        read = parse_json(written) if written.strip() else None
    except ValueError:
        return written
    if read is None:
        return {}
    if not isinstance(read, Mapping) or excess_of(read, _IN_EVENT):
        return written
    return read


def call_event(name: str, arguments: Any, call_id: str = "") -> dict[str, Any]:
    """Return a call as stored in the recording; arguments that are not an object are under the key
    `arguments`.

    They stand for arguments that cannot be read.
    """
    if arguments is None:
        arguments = {}
    is_read = isinstance(arguments, Mapping)
    given = dict(arguments) if is_read else {"arguments": arguments}
    request: dict[str, Any] = {"function": {"name": clean_line(name, 200)}, "arguments": given}
    if not is_read:
        request["argumentsRead"] = False
    if call_id:
        request["id"] = clean_line(call_id, 200)
    made: dict[str, Any] = clean_value({"request": request}, MAX_EVENT_TEXT)
    return made


def result_event(
    output: Any, call_id: str = "", *, failed: bool = False, injected: str = ""
) -> dict[str, Any]:
    """Return a call's result as the recording keeps it; `injected` says how this program made the
    call fail.
    """
    event: dict[str, Any] = {"output": output}
    if call_id:
        event["id"] = clean_line(call_id, 200)
    if failed:
        event["error"] = True
    if injected:
        event[INJECTED] = injected
    made: dict[str, Any] = clean_value(event, MAX_EVENT_TEXT)
    return made


def request_of(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the request of an event that is a call, else None."""
    request = event.get("request")
    if isinstance(request, Mapping) and isinstance(request.get("function"), Mapping):
        return request
    return None


def _read_arguments(request: Mapping[str, Any]) -> Any:
    """Return a call's arguments, an object; a text if they cannot be read.

    REST agents and imported files may send them as text.
    """
    given = request.get("arguments") or {}
    if request.get("argumentsRead") is False and isinstance(given, Mapping):
        given = given.get("arguments")
        if isinstance(given, str):
            return given
        return json.dumps(given, default=str)
    if isinstance(given, str):
        return parse_arguments(given)
    if isinstance(given, Mapping):
        return given
    return json.dumps(given, default=str)


def readable_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event as assertions see it: a call's arguments are always an object, as
    `call_event` writes them.
    """
    request = request_of(event)
    if request is None or isinstance(request.get("arguments"), Mapping):
        return dict(event)
    given = _read_arguments(request)
    if isinstance(given, Mapping):
        return {**event, "request": {**request, "arguments": given}}
    return {
        **event,
        "request": {**request, "arguments": {"arguments": given}, "argumentsRead": False},
    }


def result_of(event: Mapping[str, Any]) -> tuple[Any, bool] | None:
    """Return an event's result, and whether the call failed; None without a result."""
    result = next((event[key] for key in _RESULTS if key in event), None)
    if result is None and not any(key in event for key in _RESULTS):
        return None
    return result, bool(event.get("error") or event.get("isError"))


def injected_failure(event: Mapping[str, Any] | None) -> InjectedFailure | None:
    """Return how this program made a call fail, by the event of its result; None if it did not.

    Files may have events of any shape, so that only known names count.
    """
    told = None if event is None else event.get(INJECTED)
    return next((how for how in INJECTED_FAILURES if how == told), None)


def call_failure(request: Mapping[str, Any] | None, event: Mapping[str, Any] | None) -> str | None:
    """Return how a call failed, as expressions see it: as the job made it fail, or `error` if its
    result is one; None if it did not.
    """
    if injected := injected_failure(event):
        return injected
    result = call_result(request, event)
    if result is not None and result[1]:
        return REPORTED
    return None


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that the job made fail; `call` is its number among those of its message, from 1."""

    call: int
    tool: str
    how: InjectedFailure


def injected_failures(events: Iterable[Mapping[str, Any]]) -> list[FailedCall]:
    """Return the tool calls of one message that the job made fail, in order."""
    failed = []
    for number, (request, event) in enumerate(paired_events(events), start=1):
        if how := injected_failure(event):
            name = "a tool" if request is None else str(request["function"].get("name", ""))
            failed.append(FailedCall(number, name, how))
    return failed


def injected_words(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return how the job made tools fail in one message, a short sentence for each tool."""
    by_tool: dict[str, list[InjectedFailure]] = {}
    for failed in injected_failures(events):
        by_tool.setdefault(failed.tool, []).append(failed.how)
    said = []
    for tool, ways in by_tool.items():
        times = f" {len(ways)} times" if len(ways) > 1 else ""
        how = join_names([_INJECTED_WORDS[way] for way in dict.fromkeys(ways)])
        said.append(clean_line(f"the job made {tool} fail{times}: its answer {how}", 300))
    return said


def paired(
    events: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any] | None, tuple[Any, bool] | None]]:
    """Yield each call of one message with its result, and results without a call, in the order of
    the calls.

    A call whose arguments cannot be read has failed, whatever its result.
    """
    for request, event in paired_events(events):
        yield request, call_result(request, event)


def call_result(
    request: Mapping[str, Any] | None, event: Mapping[str, Any] | None
) -> tuple[Any, bool] | None:
    """Return the result of a call, given its event, and whether the call failed; None without a
    result.
    """
    result = None if event is None else result_of(event)
    if request is not None and isinstance(_read_arguments(request), str):
        return (result[0] if result else UNREAD), True
    return result


def paired_events(
    events: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    """Yield each call of one message with the event of its result, and such events without a call,
    in the order of the calls.
    """
    pairs: list[list[Any]] = []
    waiting: dict[int, None] = {}
    # The calls without a result, by their place in `pairs`.
    by_id: dict[str, deque[int]] = {}
    for event in events:
        request = request_of(event)
        if request is not None:
            waiting[len(pairs)] = None
            by_id.setdefault(repr(request.get("id")), deque()).append(len(pairs))
            pairs.append([request, None])
        if result_of(event) is None:
            continue
        call_id = event.get("id")
        chosen = None
        if call_id is None:
            chosen = next(iter(waiting), None)
        else:
            for places in (by_id.get(repr(call_id)), by_id.get(repr(None))):
                while places and chosen is None:
                    place = places.popleft()
                    if place in waiting:
                        chosen = place
        if chosen is None:
            pairs.append([None, event])
        else:
            pairs[chosen][1] = event
            del waiting[chosen]
    for request, event_of_result in pairs:
        yield request, event_of_result


def transcript_calls(transcript: Sequence[Mapping[str, Any]]) -> list[ToolCall]:
    """Return every call in a transcript as assertions see it (`role`, `events`), in order."""
    calls: list[ToolCall] = []
    turn = 0
    for number, message in enumerate(transcript, start=1):
        if message.get("role") == "user":
            turn += 1
            continue
        for request, event in paired_events(message.get("events") or ()):
            if request is None:
                continue
            call = ToolCall(
                turn, number, str(request["function"].get("name", "")), _read_arguments(request)
            )
            call.failure = call_failure(request, event)
            call.arguments_told = request.get("argumentsTold") is not False
            call.arguments_read = not isinstance(call.arguments, str)
            if (result := call_result(request, event)) is not None:
                call.has_result, (call.result, call.failed) = True, result
            calls.append(call)
    return calls


def tool_calls_text(asked: Mapping[str, Any]) -> str:
    """Return the conditions of a job's `toolCalls` assertion as a short text."""
    parts = []
    if asked.get("calls") is not None:
        listed = ", ".join(map(_expected_text, asked["calls"])) or "no call"
        parts.append(f"{asked.get('match') or 'strict'}: {listed}")
    for key, words in (("mustCall", "must call"), ("mustNotCall", "must not call")):
        if asked.get(key):
            parts.append(f"{words} {', '.join(map(_expected_text, asked[key]))}")
    if asked.get("order"):
        parts.append(" before ".join(map(str, asked["order"])))
    most = asked.get("maxCalls") or {}
    if not isinstance(most, Mapping):
        most = {"*": most}
    for name, number in most.items():
        calls = "call" if number == 1 else "calls"  # `plural` needs a number; a recording may lie
        limit = f"at most {number} {calls}"
        if name != "*":
            limit += f" of {name}"
        parts.append(limit)
    if asked.get("noErrors"):
        parts.append("no errors")
    turn = asked.get("turn")
    where = ""
    if turn == "each":
        where = " in each turn"
    elif turn is not None:
        where = f" in turn {turn}"
    return clean_line("; ".join(parts) + where, 300)


def call_text(name: str, arguments: Any) -> str:
    """Return a call on one line, such as `createReminder(dose=5)`; arguments are sorted, because
    protocols give them no order.
    """
    if isinstance(arguments, Mapping):
        listed = sorted(arguments.items(), key=lambda item: str(item[0]))[:20]
        given = ", ".join(f"{key}={shorten(_sorted_json(value), 80)}" for key, value in listed)
    else:
        given = shorten(_sorted_json(arguments), 80)
    return clean_line(f"{name}({given})", 400)


def _sorted_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def _expected_text(call: Any) -> str:
    if not isinstance(call, Mapping):
        return str(call)
    name, arguments = str(call.get("name")), call.get("arguments")
    shown = name if arguments is None else call_text(name, arguments)
    may_have_more = arguments is not None and call.get("compare") != "exact"
    if may_have_more:
        separator = ", " if arguments else ""
        # Instead of the closing bracket; or of the sign at which a long call was cut off.
        shown = f"{shown[:-1]}{separator}…)"
    if call.get("where"):
        return f"{shown} where {call['where']}"
    return shown
