"""The tool calls that an agent's spans report of one answer, besides those that its protocol
reported.

`ConversationTraces` (`traces.py`) asks for them. A call that both report is told once, so the two
reports of it have to be recognised: by id, or by name and arguments.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bioeval_tui.record.agent_span import AgentSpan
from bioeval_tui.record.spans import Meaning, meaning_of, outermost
from bioeval_tui.record.tool_calls import OWN_ID, call_event, paired, result_event


def traced_calls(
    events: Sequence[Mapping[str, Any]], spans: Iterable[AgentSpan]
) -> list[dict[str, Any]]:
    """Return what spans add to the events of one answer: missing calls and missing results.

    The protocol's values take precedence. A span is the same call as a reported one if both have
    the same id, otherwise if name and arguments are equal; each reported call matches one span.
    Spans without arguments match any, and one value without a name matches a call whose only
    argument has that value. Of two nested spans for one call, the outer one counts.
    """
    reported = _Reported(events)
    calls: list[dict[str, Any]] = []
    for span, meaning in _tool_spans(spans):
        same = reported.take(meaning)
        call_id = meaning.call_id or span.span_id
        if same is not None:
            call_id = str(same[0].get("id") or "")
            if same[1] is not None or not call_id:
                continue
        else:
            given = meaning.arguments
            if not isinstance(given, Mapping):
                given = {} if given is None else {"arguments": given}
            event = call_event(meaning.tool, given, call_id)
            if meaning.arguments is None:
                event["request"]["argumentsTold"] = False
            calls.append({**event, "span": span.span_id})
        output = meaning.error or meaning.result
        if output is not None:
            result = result_event(output, call_id, failed=bool(meaning.error))
            calls.append({**result, "span": span.span_id})
    return calls


def _tool_spans(spans: Iterable[AgentSpan]) -> list[tuple[AgentSpan, Meaning]]:
    """Return the spans that are tool calls, in the order in which they began, one for each call.

    Of a span inside another one of the same tool, for example if client and server both report a
    call, the outer counts.
    """
    by_id = {span.span_id: span for span in spans}
    tools = {
        name: meaning
        for name, span in by_id.items()
        if (meaning := meaning_of(span)).kind == "tool"
    }
    outer = outermost(by_id.values(), {name: meaning.tool for name, meaning in tools.items()})
    return [(span, tools[span.span_id]) for span in sorted(outer, key=lambda span: span.start_ns)]


class _Reported:
    """The calls that the protocol reported and no span has matched yet, indexed: an answer may have
    thousands.
    """

    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        self._pairs = [
            (request, result) for request, result in paired(events) if request is not None
        ]
        self._taken: set[int] = set()
        self._places: dict[tuple[str, ...], deque[int]] = {}
        for place, (request, _) in enumerate(self._pairs):
            names = [(), *_arguments_keys(request.get("arguments") or {})]
            keys = [("any", str(request["function"].get("name")), *key) for key in names]
            call_id = request.get("id")
            if call_id and not str(call_id).startswith(OWN_ID):
                keys.append(("id", repr(call_id)))
            else:
                keys += [("without id", *key[1:]) for key in keys]
            for key in keys:
                self._places.setdefault(key, deque()).append(place)

    def take(self, meaning: Meaning) -> tuple[Mapping[str, Any], Any] | None:
        """Return the first reported call that a span stands for, with its result, and match it with
        no other span.
        """
        # Ids that differ are two calls.
        which = "without id" if meaning.call_id else "any"
        keys = [(which, meaning.tool, *key) for key in _span_keys(meaning.arguments)]
        for key in [("id", repr(meaning.call_id)), *keys]:
            places = self._places.get(key, ())
            while places:
                if (place := places.popleft()) not in self._taken:
                    self._taken.add(place)
                    return self._pairs[place]
        return None


def _arguments_keys(arguments: Any) -> list[tuple[str, ...]]:
    """Return what identifies a reported call's arguments: all of them and, if there is only one,
    its value.
    """
    keys: list[tuple[str, ...]] = [(_spelling(arguments),)]
    if isinstance(arguments, Mapping) and len(arguments) == 1:
        keys += [("value", _spelling(value)) for value in arguments.values()]
    return keys


def _span_keys(arguments: Any) -> list[tuple[str, ...]]:
    """Return what identifies a span's arguments, if it has any."""
    if arguments is None:
        return [()]
    if isinstance(arguments, Mapping):
        return [(_spelling(arguments),)]
    return [("value", _spelling(arguments))]


def _spelling(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, default=str)
