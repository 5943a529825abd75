"""Prompts can be left out of a recording; 429s slow the requests down."""

from __future__ import annotations

import json
from pathlib import Path

from bioeval_tui.evaluation.conversation.plan import Emitter
from bioeval_tui.evaluation.engine.pace import Cut, Pace, tell_paces
from bioeval_tui.record import events
from bioeval_tui.record.recorder import Recorder
from tests.unit.evaluation.conversation.fakes import where

GENERATION = (
    {"systemPrompt": "Patient: Ada"},
    {
        "request": {
            "function": {"name": "look"},
            "arguments": {"at": "it"},
            "context": "Patient: Ada",
        }
    },
    {"output": "Patient: Ada"},
    {"content": "Patient: Ada", "summaryDirection": "x"},
)


ANSWER = {
    "message": 2,
    "turn": 1,
    "role": "assistant",
    "speaker": "a",
    "content": "Done.",
    "generation": GENERATION,
}


async def test_without_prompts_only_function_calls_are_recorded(tmp_path: Path) -> None:
    seen: list[events.RunEvent] = []
    recorder = Recorder(tmp_path / "run.jsonl", keep_prompts=False)
    emitter = Emitter("run", recorder, on_event=seen.append).of("withheld", 1)
    emitter.emit(events.MessageDelta, message=2, generation=GENERATION[:1])
    emitter.emit(events.MessageDelta, message=2, text="Done.")
    emitter.emit(events.MessageCompleted, **ANSWER)
    await recorder.aclose()
    delta, kept = map(json.loads, (tmp_path / "run.jsonl").read_bytes().splitlines())
    assert delta["text"] == "Done."
    assert kept["generation"] == [
        {"request": {"function": {"name": "look"}, "arguments": {"at": "it"}}}
    ]
    assert b"Ada" not in (tmp_path / "run.jsonl").read_bytes()
    assert [event.generation for event in seen if event.kind == "message_completed"] == [GENERATION]


async def test_by_default_every_event_is_recorded(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.jsonl")
    event = Emitter("run", recorder).of("withheld", 1).emit(events.MessageCompleted, **ANSWER)
    await recorder.aclose()
    assert (tmp_path / "run.jsonl").read_bytes() == events.write_event(event)


def test_a_429_slows_requests_to_the_peer_that_sent_it() -> None:
    agent, models = Pace(8), Pace(8)
    paces = {"agent": agent, "evaluator": models, "judge": models}
    failed = events.RequestFailed(
        **where(peer="agent", request_attempt=1, error="429", status=429, wait_ms=2000)
    )
    assert tell_paces(paces, failed) == Cut(8, 4, 2.0)
    assert tell_paces(paces, failed.model_copy(update={"status": 500})) is None
    assert (agent.allowed, models.allowed) == (4, 8)
    for role, allowed in (("user", 4.0), ("assistant", 4.25)):
        said = {"message": 2, "turn": 1, "role": role, "speaker": "a", "content": "Done."}
        tell_paces(paces, events.MessageCompleted(**where(**said)))
        assert agent.allowed == allowed, "an answer of the agent gives a part of a place back"
