"""Conversations as OpenTelemetry traces: a line of OTLP's JSON (`TracesData`) for each, as its file
exporter writes them.

A conversation is a span with its scores as events `gen_ai.evaluation.result`. Its children are its
turns, whose children are the user's message and the answer; the answer contains its tool calls and
the agent's own spans.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bioeval_tui import __version__
from bioeval_tui.formats import (
    AgentSpan,
    Asked,
    ConversationResult,
    MessageState,
    RunResult,
    compact_json,
    grouped,
    paired,
    reason_of,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTERNAL, _CLIENT = 1, 3
_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_STATUS = {"ok": 1, "error": 2}
_LABELS = {"passed": "pass", "failed": "fail"}
_VALUES = {"passed": 1.0, "failed": 0.0}
Span = dict[str, Any]


def write_runs(runs: Sequence[RunResult], asked: Asked | None) -> Iterator[str]:
    """Yield a line for each conversation."""
    for run in runs:
        for talk in run.conversations:
            data = _ConversationTrace(run, talk).data()
            yield json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


class _ConversationTrace:
    """The trace of one conversation.

    Ids are derived from the run's id, so exporting again gives the same ids.
    """

    def __init__(self, run: RunResult, talk: ConversationResult) -> None:
        self.run = run
        self.talk = talk
        self.name = f"{talk.condition}/{talk.trial}"
        self.trace_id = self._id("trace", 16)
        self.began = talk.started_at or run.started.at
        self.sent = {
            message.message: message.text
            for message in talk.sent_messages
            if message.role == "user"
        }
        source = run.brief.source
        self.times: dict[str, str] = {}
        if source is not None and source.times == "unknown":
            self.times["bioeval.times"] = "unknown"

    def data(self) -> dict[str, Any]:
        """Return the line."""
        own = [self._conversation(), *self._turns()]
        resources = [
            _resource(
                {"service.name": "bioeval-tui", "service.version": __version__},
                {"bioeval-tui": own},
            )
        ]
        services: dict[str, dict[str, list[Span]]] = {}
        for message in self.talk.messages:
            for span in message.spans:
                services.setdefault(span.service, {}).setdefault(span.scope, []).append(
                    self._moved_span(span, message)
                )
        resources += [
            _resource({"service.name": name or None}, scopes) for name, scopes in services.items()
        ]
        return {"resourceSpans": resources}

    def _conversation(self) -> Span:
        talk, started = self.talk, self.run.started
        last = max((_ended(message) for message in talk.messages), default=self.began)
        ended = talk.ended
        failed = ""
        if ended is not None and ended.reason == "agent_failed":
            failed = ended.detail or ended.reason
        return self._span(
            "conversation",
            f"conversation {self.name}",
            "",
            self.began,
            talk.ended_at or last,
            {
                "gen_ai.conversation.id": talk.session_id,
                "gen_ai.agent.name": started.agent,
                "bioeval.run.id": started.run_id,
                "bioeval.job": started.job_name,
                "bioeval.condition": self.talk.condition,
                "bioeval.trial": self.talk.trial,
                "bioeval.case": talk.case and talk.case.name,
                "bioeval.evaluator": self.run.brief.evaluator,
                "bioeval.end_reason": talk.end_reason,
                "bioeval.fault": talk.fault,
                **self.times,
            },
            events=[*self._scores(talk.ended_at or last)],
            error=failed,
        )

    def _scores(self, at: datetime) -> Iterator[Span]:
        """Yield the conversation's scores according to the semantic conventions."""
        score, verdict = self.talk.scored, self.talk.verdict
        if score is not None:
            yield _evaluation(score.at, "score", "composite", score.score, why=score.reason)
            for part in score.parts:
                yield _evaluation(score.at, part.name, "part", part.value, why=part.reason)
        if verdict is not None:
            for task in verdict.tasks:
                label = _LABELS.get(task.outcome, "")
                quotes = [item.quote for item in task.evidence]
                more: dict[str, Any] = {"bioeval.judge": verdict.judge, "bioeval.evidence": quotes}
                yield _evaluation(
                    verdict.at,
                    task.title,
                    "task",
                    task.score if task.measured else None,
                    label,
                    reason_of(task),
                    more,
                )
            if verdict.error:
                yield _evaluation(verdict.at, "tasks", "task", None, why=verdict.error)
        for check in self.talk.final_checks.values():
            label = _LABELS.get(check.status, "")
            value = _VALUES.get(check.status)
            more = {"bioeval.weight": check.weight}
            yield _evaluation(
                check.at or at, check.title, "assertion", value, label, check.reason, more
            )

    def _turns(self) -> Iterator[Span]:
        for turn, messages in grouped(
            (message.turn, message) for message in self.talk.messages
        ).items():
            span = self._span(
                f"turn {turn}",
                f"turn {turn}",
                self._id("conversation"),
                messages[0].started_at,
                max(map(_ended, messages)),
                {"bioeval.turn": turn},
            )
            yield span
            for message in messages:
                yield from self._message(message, span["spanId"])

    def _message(self, message: MessageState, parent: str) -> Iterator[Span]:
        is_answer = message.role == "assistant"
        words = json.dumps(
            [{"role": message.role, "parts": [{"type": "text", "content": message.text}]}],
            ensure_ascii=False,
        )
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.agent.name": message.speaker,
            "gen_ai.conversation.id": self.talk.session_id,
            "gen_ai.request.model": None,
            "gen_ai.response.model": None,
            "gen_ai.usage.input_tokens": message.tokens[0],
            "gen_ai.usage.output_tokens": message.tokens[1],
            "gen_ai.response.finish_reasons": ["length"] if message.cut_off else None,
            "gen_ai.output.messages": words,
            "bioeval.message": message.message,
            "bioeval.role": message.role,
            "bioeval.latency_ms": message.latency_ms,
            "bioeval.first_token_ms": message.first_token_ms,
            "bioeval.waited_ms": message.waited_ms or None,
            "bioeval.operator": message.operator or None,
            "bioeval.signs_off": message.signs_off or None,
            "bioeval.sent": _told_if_false(is_answer or message.message in self.sent),
            "bioeval.done": _told_if_false(message.done),
            **self.times,
        }
        name = message.speaker
        if is_answer:
            name = "invoke_agent"
            attributes |= {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": self.run.started.agent,
                "gen_ai.request.model": self.run.started.model,
                "gen_ai.response.model": self.run.brief.served_model,
            }
            asked = self.sent.get(message.message - 1)
            if asked is not None:
                parts = [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
                attributes["gen_ai.input.messages"] = json.dumps(parts, ensure_ascii=False)
        events = [
            _event(
                f.at,
                "request_failed",
                {
                    "error.type": str(f.status or "error"),
                    "bioeval.error": f.error,
                    "bioeval.counted": f.counted,
                },
            )
            for f in message.failures
        ]
        events += [
            _event(
                f.at,
                "fact_disclosed",
                {"bioeval.fact": f.fact, "bioeval.text": f.text, "bioeval.asked": f.asked},
            )
            for f in message.facts
        ]
        own = self._answer_id(message)
        span = self._span(
            "", name, parent, message.started_at, _ended(message), attributes, events, span_id=own
        )
        yield span
        # The agent's own spans are written as they came: a call that one of them reported would be
        # there twice.
        reported = [event for event in message.generation if "span" not in event]
        for number, (request, result) in enumerate(paired(reported), start=1):
            if request is not None:
                yield self._call(message, number, request, result)

    def _call(
        self,
        message: MessageState,
        number: int,
        request: Mapping[str, Any],
        result: tuple[Any, bool] | None,
    ) -> Span:
        """Return a call that the protocol reported: its time is unknown, so it is placed at the end
        of the answer.
        """
        name, at = str(request["function"].get("name") or "unknown"), _ended(message)
        written, failed = None, ""
        if result is not None:
            output, is_error = result
            written = compact_json(output)
            if is_error:
                failed = "failed"
        return self._span(
            f"call {message.message}/{number}",
            f"execute_tool {name}",
            self._answer_id(message),
            at,
            at,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": request.get("id"),
                "gen_ai.tool.call.arguments": compact_json(request.get("arguments") or {}),
                "gen_ai.tool.call.result": written,
                "bioeval.times": "unknown",
            },
            error=failed,
        )

    def _answer_id(self, message: MessageState) -> str:
        """Return the span id of a message; for an answer, the one sent to the agent, so that its
        spans become children.
        """
        if message.traceparent is not None:
            return message.traceparent.split("-")[2]
        return self._id(f"message {message.message}")

    def _moved_span(self, span: AgentSpan, message: MessageState) -> Span:
        """Return a span of the agent, moved to this trace, with a link to its original trace."""
        link = {
            "traceId": span.trace_id,
            "spanId": span.span_id,
            "attributes": _attributes({"bioeval.link": "as told"}),
        }
        attributes = dict(span.attributes)
        if span.span_id in message.late_spans:
            attributes["bioeval.late"] = True
        made: Span = {
            "traceId": self.trace_id,
            "spanId": span.span_id,
            "parentSpanId": span.parent_id,
            "name": span.name,
            "kind": _KINDS.get(span.kind, 0),
            "startTimeUnixNano": str(span.start_ns),
            "endTimeUnixNano": str(span.end_ns),
            "attributes": _attributes(attributes),
            "events": [
                {
                    "name": str(e.get("name", "")),
                    "timeUnixNano": str(e.get("time_ns") or 0),
                    "attributes": _attributes(e.get("attributes") or {}),
                }
                for e in span.events
            ],
            "links": [
                link,
                *(
                    {
                        "traceId": str(k.get("trace_id", "")),
                        "spanId": str(k.get("span_id", "")),
                        "attributes": _attributes(k.get("attributes") or {}),
                    }
                    for k in span.links
                ),
            ],
            "status": {"code": _STATUS.get(span.status, 0), "message": span.status_message},
        }
        return made

    def _span(
        self,
        identity: str,
        name: str,
        parent: str,
        began: datetime,
        ended: datetime,
        attributes: Mapping[str, Any],
        events: Sequence[Span] = (),
        *,
        error: str = "",
        span_id: str = "",
    ) -> Span:
        ids = {"traceId": self.trace_id, "spanId": span_id or self._id(identity)}
        if parent:
            ids["parentSpanId"] = parent
        status: dict[str, Any] = {}
        if error:
            status = {"code": _STATUS["error"], "message": error}
        return {
            **ids,
            "name": name,
            "kind": _CLIENT if name == "invoke_agent" else _INTERNAL,
            "startTimeUnixNano": _ns(began),
            "endTimeUnixNano": _ns(max(began, ended)),
            "attributes": _attributes(attributes),
            "events": list(events),
            "status": status,
        }

    def _id(self, what: str, size: int = 8) -> str:
        """Return an id of that many bytes, in hexadecimal."""
        words = f"{self.run.run_id}/{self.name}/{self.talk.attempt}/{what}"
        return hashlib.sha256(words.encode()).hexdigest()[: 2 * size]


def _evaluation(
    at: datetime,
    name: str,
    kind: str,
    value: float | None,
    label: str = "",
    why: str = "",
    more: Mapping[str, Any] | None = None,
) -> Span:
    attributes = {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": None if value is None else float(value),
        "gen_ai.evaluation.score.label": label or None,
        "gen_ai.evaluation.explanation": why or None,
        "error.type": "not_measured" if value is None else None,
        "bioeval.kind": kind,
        **(more or {}),
    }
    return _event(at, "gen_ai.evaluation.result", attributes)


def _event(at: datetime, name: str, attributes: Mapping[str, Any]) -> Span:
    return {"timeUnixNano": _ns(at), "name": name, "attributes": _attributes(attributes)}


def _resource(attributes: Mapping[str, Any], scopes: Mapping[str, list[Span]]) -> dict[str, Any]:
    scope_spans = [
        {"scope": {"name": name} if name else {}, "spans": spans} for name, spans in scopes.items()
    ]
    return {"resource": {"attributes": _attributes(attributes)}, "scopeSpans": scope_spans}


def _told_if_false(flag: bool) -> bool | None:
    """Return False where a flag does not hold; None, which is not written, where it does."""
    if flag:
        return None
    return False


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": _any_value(value)}
        for key, value in values.items()
        if value is not None
    ]


def _any_value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int() if -(2**63) <= value < 2**63:
            return {"intValue": str(value)}
        case float() if math.isfinite(value):
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case Mapping():
            return {"kvlistValue": {"values": _attributes(value)}}
        case Iterable():
            return {"arrayValue": {"values": [_any_value(item) for item in value]}}
        case None:
            return {}
        case _:
            return {"stringValue": str(value)}


def _ended(message: MessageState) -> datetime:
    took = message.latency_ms if message.role == "assistant" else message.thought_ms
    return message.started_at + timedelta(milliseconds=took or 0.0)


def _ns(at: datetime) -> str:
    """Return nanoseconds since 1970 as text: protobuf's JSON has 64-bit numbers so."""
    return str((at - _EPOCH) // timedelta(microseconds=1) * 1000)
