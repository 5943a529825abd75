"""Commands to the engine over a real socket: accepted only with the token."""

from __future__ import annotations

import asyncio
import json

from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.intents import listen, send_intent
from bioeval_tui.record.runs import LiveInfo


async def test_a_command_with_the_token_reaches_the_engine() -> None:
    control = Control()
    acted: list[tuple[str, object, str, str]] = []
    control.on_action = lambda *action: acted.append(action)
    async with listen(control) as (port, token):
        live = LiveInfo(1, "", port, token)
        assert await send_intent(live, "pause", "withheld", sender="ada@host\x1b[2J") is None
        assert await send_intent(live, "say", "withheld", "hello") == "take over first, then say"
        assert await send_intent(live, "explode") is not None
        assert (
            await send_intent(live, "pause", "both")
            == "unknown condition; known are withheld and supplied"
        )
    assert acted[0][:2] == ("pause", "withheld")
    assert "\x1b" not in acted[0][3]
    assert control.conversation("withheld").paused
    assert not control.conversation("supplied").paused


async def test_a_wrong_token_is_refused_and_changes_nothing() -> None:
    control = Control()
    async with listen(control) as (port, _):
        assert await send_intent(LiveInfo(1, "", port, "guess"), "cancel") is not None
    assert not control.all_cancelled


async def test_malformed_input_closes_only_that_connection() -> None:
    control = Control()
    async with listen(control) as (port, token):
        for garbage in (b"\xff\xfe\n", b"[1,2]\n", b"x" * 200_000 + b"\n", b"\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(garbage)
            try:
                answer = await reader.read()
            except ConnectionResetError:  # closed before all of it was read
                answer = b""
            assert not answer or not json.loads(answer)["ok"]
            writer.close()
        assert await send_intent(LiveInfo(1, "", port, token), "resume") is None


async def test_an_engine_that_ended_is_reported_in_one_sentence() -> None:
    async with listen(Control()) as (port, token):
        pass
    answer = await send_intent(LiveInfo(1, "", port, token), "pause")
    assert answer is not None
    assert "does not answer" in answer
