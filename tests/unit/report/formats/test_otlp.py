"""Runs exported as OpenTelemetry traces, read with OTLP's published protobuf types."""

from __future__ import annotations

import base64
import json
import re
from datetime import timedelta
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from bioeval_tui.evaluation.engine.span_receiver import decode
from bioeval_tui.formats import AgentSpan, RunResult
from bioeval_tui.record import events
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.result import load_run, result_of
from tests.documents import document_of
from tests.unit.report.recorded import GOLDEN, Recorded, Talk

ANSWER, SPAN = "22" * 8, "33" * 8


def read(line: str) -> TracesData:
    """Read a line strictly: a field that OTLP does not have is an error."""
    as_base64 = re.sub(
        r'"(traceId|spanId|parentSpanId)": "([0-9a-f]*)"',
        lambda found: f'"{found[1]}": "{base64.b64encode(bytes.fromhex(found[2])).decode()}"',
        line,
    )
    parsed = json_format.Parse(as_base64, TracesData())
    assert isinstance(parsed, TracesData)
    return parsed


def spans_of(data: TracesData) -> list[Span]:
    return [
        span
        for resource in data.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def attributes(owner: Any) -> dict[str, Any]:
    return {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in owner.attributes
    }


def traced(run: Recorded, *told: events.EventBase) -> RunResult:
    loaded = result_of(apply_all(RunState(), [*run.events(), *told]))  # type: ignore[list-item]
    assert loaded is not None
    return loaded


def test_each_conversation_is_one_trace_of_connected_spans() -> None:
    run = load_run(GOLDEN)
    lines = document_of("otlp", run).splitlines()
    assert len(lines) == len(run.state.conversations)
    for line, talk in zip(lines, run.state.conversations.values(), strict=True):
        spans = spans_of(read(line))
        assert len({span.trace_id for span in spans}) == 1
        known = {span.span_id for span in spans}
        assert len(known) == len(spans)
        assert [span.name for span in spans if span.parent_span_id not in known] == [spans[0].name]
        answers = [span for span in spans if span.name == "invoke_agent"]
        told = [message for message in talk.messages if message.role == "assistant"]
        assert len(answers) == len(told)
        for span, message in zip(answers, told, strict=True):
            took = timedelta(
                microseconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1000
            )
            assert abs(took / timedelta(milliseconds=1) - (message.latency_ms or 0)) < 0.01
            assert (
                message.text
                in json.loads(attributes(span)["gen_ai.output.messages"])[0]["parts"][0]["content"]
            )
        calls = [span for span in spans if span.name.startswith("execute_tool")]
        assert len(calls) == sum(
            "request" in event for message in told for event in message.generation
        )


def test_scores_are_events_with_the_standard_attributes() -> None:
    run = traced(Recorded(withheld=[Talk(tasks=(0.25,), holds=(True, None))]))
    (talk,) = run.state.conversations.values()
    (line,) = document_of("otlp", run).splitlines()
    scored = {}
    for event in spans_of(read(line))[0].events:
        said = attributes(event)
        assert event.name == "gen_ai.evaluation.result"
        own = {name for name in said if name.startswith("gen_ai.")}
        assert own <= {
            value for value in vars(gen_ai_attributes).values() if isinstance(value, str)
        }
        scored[said["bioeval.kind"], said["gen_ai.evaluation.name"]] = said
    assert talk.verdict is not None
    title = talk.verdict.tasks[0].title
    assert scored["task", title]["gen_ai.evaluation.score.value"] == 0.25
    assert scored["task", title]["gen_ai.evaluation.score.label"] == "fail"
    checks = [scored["assertion", check.title] for check in talk.final_checks.values()]
    assert [check.get("gen_ai.evaluation.score.label") for check in checks] == ["pass", None]
    assert checks[1]["error.type"] == "not_measured"
    assert next(key for key in scored if key[0] == "composite") == ("composite", "score")


def test_the_agents_own_spans_are_exported_unchanged() -> None:
    told = AgentSpan(
        trace_id="11" * 16, span_id=SPAN, parent_id=ANSWER, name="execute_tool lookUp",
        kind="client", service="helper",
        scope="lib", start_ns=1_700_000_000_000_000_001, end_ns=1_700_000_000_000_000_999,
        status="error",
        status_message="no", attributes={"n": 9007199254740993, "x": 1.0, "ok": True,
            "many": ["a", {"b": 2}]},
        events=({"name": "exception", "time_ns": 1_700_000_000_000_000_500,
                "attributes": {"exception.type": "E"}},),
        links=({"trace_id": "44" * 16, "span_id": "55" * 8, "attributes": {"k": "v"}},),
    )  # fmt: skip
    base = Recorded(withheld=[Talk()])
    where: dict[str, Any] = {
        "run_id": base.run_id,
        "seq": 0,
        "condition": "withheld",
        "trial": 1,
        "attempt": 1,
    }
    at = base.events()[-1].at
    run = traced(base, events.SpansReceived(**where, at=at, message=2, spans=(told,)))
    (line,) = document_of("otlp", run).splitlines()
    read(line)
    found, invalid = decode(line.encode(), is_json=True)
    (span,) = (one for one in found if one.service == "helper")
    assert invalid == 0
    own_link = {
        "trace_id": told.trace_id,
        "span_id": SPAN,
        "attributes": {"bioeval.link": "as told"},
    }
    assert span == told.model_copy(
        update={"trace_id": found[0].trace_id, "links": (own_link, *told.links)}
    )
