"""Prompts can be left out of a recording; 429s slow the requests down."""

from __future__ import annotations

from bioeval_tui.evaluation.engine.batch import Cut, EngineSink, Pace
from bioeval_tui.record import events
from tests.unit.evaluation.conversation.fakes import ListSink, where

GENERATION = (
    {"systemPrompt": "Patient: Ada"},
    {"request": {"function": {"name": "look"}, "arguments": {"at": "it"}, "context": "Patient: Ada"}},
    {"output": "Patient: Ada"},
    {"content": "Patient: Ada", "summaryDirection": "x"},
)


def answer() -> events.MessageCompleted:
    return events.MessageCompleted(
        **where(message=2, turn=1, role="assistant", speaker="a", content="Done.", generation=GENERATION)
    )


def test_without_prompts_only_function_calls_are_recorded() -> None:
    inner = ListSink()
    sink = EngineSink(inner, keep_prompts=False)
    sink.append(events.MessageDelta(**where(message=2, generation=GENERATION[:1])))
    sink.append(events.MessageDelta(**where(message=2, text="Done.")))
    sink.append(answer())
    (delta,) = inner.of("message_delta")
    assert delta.text == "Done."
    (kept,) = inner.of("message_completed")
    assert kept.generation == ({"request": {"function": {"name": "look"}, "arguments": {"at": "it"}}},)
    assert b"Ada" not in b"".join(map(events.write_event, inner.events))


def test_by_default_every_event_is_recorded() -> None:
    inner = ListSink()
    EngineSink(inner).append(answer())
    assert inner.events == [answer()]


def test_a_429_slows_requests_to_the_peer_that_sent_it_and_is_recorded() -> None:
    agent, models = Pace(8), Pace(8)
    sink = EngineSink(ListSink(), paces={"agent": agent, "evaluator": models, "judge": models})
    said: list[tuple[str, Cut]] = []
    sink.on_cut = lambda peer, cut: said.append((peer, cut))
    failed = events.RequestFailed(
        **where(peer="agent", request_attempt=1, error="429", status=429, wait_ms=2000)
    )
    sink.append(failed)
    sink.append(failed.model_copy(update={"status": 500}))
    assert (agent.allowed, models.allowed) == (4, 8)
    assert said == [("agent", Cut(8, 4, 2.0))]


def test_the_batch_gets_what_is_left_out_of_the_recording() -> None:
    seen: list[events.RunEvent] = []
    EngineSink(ListSink(), keep_prompts=False, take=seen.append).append(answer())
    assert seen == [answer()]
