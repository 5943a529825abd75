"""A streamed answer ends with its end marker, or was cut off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from bioeval_tui.protocols import Delta, Generation, Reply
from tests.unit.evaluation.conversation.fakes import FakeAgent, FakeEvaluator, Stage, job

LOOK = {"request": {"function": {"name": "look"}, "arguments": {}}}


class Streaming(FakeAgent):
    """Answers with these pieces, and tells which of its streams were closed."""

    def __init__(self, *pieces: Delta | Generation | Reply) -> None:
        super().__init__()
        self.pieces = pieces
        self.streams_closed = 0

    async def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
        self.received.append(content)
        try:
            for piece in self.pieces:
                yield piece
        finally:
            self.streams_closed += 1


async def answered(*pieces: Delta | Generation | Reply) -> tuple[Streaming, Stage, Any]:
    """Hold a conversation of one message with such an agent."""
    agent = Streaming(*pieces)
    stage = Stage(job(), agents={"withheld": agent}, options={"conditions": ("withheld",)})
    stage.evaluators["withheld"] = FakeEvaluator([])
    state = await stage.run()
    (talk,) = state.conversations.values()
    return agent, stage, talk


async def test_an_answer_without_its_end_is_not_retried_and_its_stream_is_closed() -> None:
    agent, stage, talk = await answered(Delta("The reminder "))
    assert len(agent.received) == agent.streams_closed == 1, (
        "the agent may have acted on the message"
    )
    (failed,) = stage.sink.of("request_failed")
    assert "the answer ended without its end marker" in failed.error
    assert talk.ended.fault == "agent"


async def test_a_stream_is_closed_as_soon_as_the_whole_answer_is_there() -> None:
    agent, stage, _ = await answered(Reply("Done.", 0.0, 1.0), Delta("more"))
    assert agent.streams_closed == len(agent.received)
    assert [message.content for message in stage.sink.of("message_completed")][1] == "Done."
    assert "more" not in "".join(delta.text for delta in stage.sink.of("message_delta"))


async def test_tool_calls_without_text_are_recorded_and_nothing_is_recorded_for_nothing() -> None:
    _, stage, _ = await answered(Generation(LOOK), Reply("", 0.0, 1.0))
    assert [
        (delta.text, delta.generation)
        for delta in stage.sink.of("message_delta")
        if delta.message == 2
    ] == [("", (LOOK,))]
