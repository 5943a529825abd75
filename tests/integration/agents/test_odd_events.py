"""An agent's odd events: they fail no expression that does not look at them, and what can be read
of a call is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bioeval_tui.base.peer_limits import MAX_DEPTH, MAX_VALUES
from tests.integration.program import run_job
from tests.integration.test_key_hosts import job
from tests.servers.rest_agent import RestAgentServer


class Telling(RestAgentServer):
    """A REST agent that reports these events with every answer."""

    events: list[Any]

    async def _message(self, request: web.Request) -> web.Response:
        whole = json.loads((await super()._message(request)).text or "")
        return web.json_response({**whole, "events": self.events})


def calling(arguments: Any) -> dict[str, Any]:
    return {"request": {"function": {"name": "dose"}, "arguments": arguments}}


@pytest.mark.parametrize(
    ("event", "expression"),
    [
        (calling('{"drug": "warfarin"}'),
            'evaluation.functionCalls.all { it.args["drug"] == "warfarin" }'),
        (calling(""), "evaluation.functionCalls.all { it.args.isEmpty() }"),
        (calling(None), "evaluation.functionCalls.all { it.args.isEmpty() }"),
        (calling("oops"), 'evaluation.functionCalls.all { it.args["arguments"] == "oops" }'),
        (calling(["warfarin"]), "evaluation.functionCalls.size == 2"),
        ({"request": "text"}, "evaluation.functionCalls.isEmpty()"),
        ({"request": {"function": "dose"}}, "evaluation.functionCalls.isEmpty()"),
        ({"request": ["x"], "output": 5}, "evaluation.failureCount == 0"),
        ("text", "evaluation.failureCount == 0"),
        (None, "evaluation.failureCount == 0"),
    ],
)  # fmt: skip
async def test_an_expression_is_not_failed_by_an_event_of_another_shape(
    event: Any, expression: str, tmp_path: Path
) -> None:
    async with Telling() as agent:
        agent.events = [event]
        what = {**job(agent.url), "assertions": [{"name": "as told", "expression": expression}]}
        done = await run_job(tmp_path, what, "--fail-under", "withheld:0.99")
    assert done.returncode == 0, done.stdout + done.stderr


BESIDE = 7
"""The values of an answer beside its events: its keys', and the two of its message."""


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("events", "refused"),
    [
        ([1] * (MAX_VALUES - BESIDE + 1), "answered JSON with more than 500,000 values"),
        ([[1] * 250_000, {"a": [1] * (249_996 - BESIDE)}, 1], ""),
        ([deep(MAX_DEPTH - 2), {"a": deep(MAX_DEPTH - 3)}], ""),
        ([deep(MAX_DEPTH - 1)], "answered JSON nested deeper than 64 at events[0][0]"),
    ],
    ids=["one more", "values of two kinds", "deep", "one deeper"],
)
async def test_what_stands_in_an_event_is_counted_once(
    events: list[Any], refused: str, tmp_path: Path
) -> None:
    async with Telling() as agent:
        agent.events = events
        done = await run_job(tmp_path, job(agent.url))
    assert (done.returncode == 0) is not bool(refused), done.stdout + done.stderr
    assert refused in done.stdout + done.stderr
