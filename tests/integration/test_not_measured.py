"""A wrong URL, key or service: not measured, exit code 3, and what to set."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bioeval_tui.protocols import PeerError
from bioeval_tui.report.result import load_run
from bioeval_tui.tui.runs.runs_view import preview
from tests.integration.program import run_job
from tests.servers.agents import rest_agent
from tests.unit.peers.agents.raw_server import http, raw_server

ADDRESS = "give the agent's address with --agent-url, BIOEVAL_AGENT_URL or target.url"
KEY = "set BIOEVAL_AGENT_API_KEY to the key that the agent expects"
JOB = {
    "target": {"user": "u", "chatbot": "b"},
    "evaluator": {"kind": "scripted", "lines": [{"say": "Hello"}]},
    "scorer": {"kind": "rules"},
    "tasks": [{"task": "Ask", "rules": [{"pattern": "x"}]}],
    "facts": [],
    "aspirationalAverage": 1000,
}


async def answering(writer: asyncio.StreamWriter, number: int) -> None:
    writer.write(http(b'{"sessionId": 12345}'))


def status(code: int, **more: Any) -> web.Response:
    return web.Response(status=code, **more)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: status(401, text="no key"), KEY),
        (lambda: status(403), KEY),
        (lambda: status(404), ADDRESS),
        (lambda: status(302, headers={"Location": "/login"}), ADDRESS),
        (lambda: web.Response(text="<html>Sign in</html>", content_type="text/html"), ADDRESS),
        (lambda: web.json_response([12345]), ADDRESS),
        (lambda: web.Response(), ADDRESS),
    ],
    ids=["401", "403", "404", "302", "html", "no text", "empty"],
)
@pytest.mark.parametrize("at", ["session", "first answer"])
async def test_a_server_that_is_not_an_agent_is_not_measured(
    answer: Any, said: str, at: str, tmp_path: Path
) -> None:
    keys: list[str | None] = []

    async def reply(request: web.Request) -> web.Response:
        keys.append(request.headers.get("X-API-KEY"))
        opens = request.path.endswith("/sessions")
        return web.json_response({"sessionId": "s"}) if opens and at != "session" else answer()

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", reply)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        done = await run_job(tmp_path, JOB, "--agent-url", url)
    finally:
        await runner.cleanup()
    assert done.returncode == 3, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["score"] is None
    reason = result["conditions"]["withheld"]["reason"]
    assert said in reason
    assert "start the agent" not in done.stderr
    assert "could not be reached" not in result["answer"]["why"]
    assert "<html" not in reason
    (recording,) = (tmp_path / "data" / "runs").glob("*.jsonl")
    run = load_run(recording)
    ways = run.conversation("withheld", 1).ways
    assert said in ways[0]
    assert all(f"what you can do: {way}" in done.stderr for way in ways)
    assert run.answer.next[0].words == f"{ways[0]}, then run it again"
    assert preview(run).ways == ways[1:], "the answer says the first"
    assert set(keys) == {"treehorn"}, "what the published client sends when it is told no key"


async def test_a_session_id_that_is_not_text_is_refused() -> None:
    async with raw_server(answering) as seen:
        agent = rest_agent(seen.url, user="u", chatbot="b", model="m")
        with pytest.raises(
            PeerError, match="opened a session whose sessionId is not text"
        ) as caught:
            await agent.open()
        await agent.aclose()
    assert caught.value.unusable


async def test_an_agent_that_failed_is_not_told_to_report_its_tool_calls(tmp_path: Path) -> None:
    """Which calls it made in the answer that failed is unknown, and no setting of the job could say
    it.
    """
    (tmp_path / "broken.py").write_text(
        "def answer(message, conversation):\n    if conversation.messages[1:]:\n        raise"
        " ValueError('no JSON')\n    return 'Hi'\n"
    )
    job = JOB | {
        "target": {**JOB["target"], "protocol": "python", "function": "broken:answer"},
        "greetings": ["Hi"],
        "assertions": [{"toolCalls": {"mustCall": ["lookUp"]}}],
    }
    done = await run_job(tmp_path, job, "--code", ".")
    assert done.returncode == 3, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert "the agent failed before it reported a tool call" in result["answer"]["why"]
    assert "tellsToolCalls" not in done.stdout + done.stderr
