"""Spans of an agent with the real OpenTelemetry SDK and its OTLP exporter belong to the right
turn.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.evaluation.engine.span_receiver import receive_spans
from bioeval_tui.peers.traces import Traceparent, Traces
from bioeval_tui.record.spans import meaning_of
from tests.servers.traced_agent import TracedAgent
from tests.servers.whole_runs import WholeRun, hold


def job(turns: int) -> str:
    lines = "\n".join(f"    - say: This is line {number}." for number in range(2, turns + 1))
    return f"""
target: {{user: ada, chatbot: helper}}
aspirationalAverage: 3000
maxTurns: {2 * turns + 2}
greetings: [Hello]
tasks: []
facts: [Nothing]
evaluator:
  kind: scripted
  lines:
{lines}
scorer: {{kind: rules}}
assertions:
  - name: each turn makes one note of what was said
    toolCalls:
      calls: [note]
      turn: each
"""


async def traced_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: int, at_once: int
) -> WholeRun:
    traces = Traces()
    async with receive_spans(0, traces) as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "helper")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        async with TracedAgent(answer_s=0) as agent:
            return await hold(
                job(turns), tmp_path, agent_url=agent.url, otlp=0, traces=traces,
                trials=at_once // 2, parallel=True, concurrency=at_once,
            )  # fmt: skip


def check_every_span(run: WholeRun, turns: int) -> None:
    for talk in run.state.conversations.values():
        answers = [message for message in talk.messages if message.role == "assistant"]
        assert len(answers) == turns
        for answer in answers:
            before = talk.message(answer.message - 1)
            assert before is not None
            assert answer.traceparent is not None
            root, tool, model = sorted(answer.spans, key=lambda span: span.start_ns)
            ids = Traceparent(*answer.traceparent.split("-")[1:3])
            assert {span.trace_id for span in answer.spans} == {ids.trace_id}
            assert [root.parent_id, tool.parent_id] == [ids.span_id, root.span_id]
            assert meaning_of(tool).arguments == {"said": before.text, "session": talk.session_id}
            assert (meaning_of(model).model, meaning_of(model).tokens_in) == ("small", 12)
            assert root.service == "helper"
            assert len([event for event in answer.generation if "request" in event]) == 1
        assert [check.status for check in talk.final_checks.values()] == ["passed"]
        assert [warning for warning in talk.warnings if warning.code != "blocked"] == []


async def test_spans_of_eight_concurrent_conversations_are_at_their_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await traced_run(tmp_path, monkeypatch, turns=3, at_once=8)
    assert len(run.state.conversations) == 8
    check_every_span(run, turns=3)
    assert not [warning for warning in run.state.warnings if warning.code == "spans"]


@pytest.mark.long
async def test_spans_of_two_hundred_turns_are_at_their_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await traced_run(tmp_path, monkeypatch, turns=25, at_once=8)
    assert len(run.of("message_completed")) == 2 * 200 + 8, "each conversation ends with a sign-off"
    check_every_span(run, turns=25)
