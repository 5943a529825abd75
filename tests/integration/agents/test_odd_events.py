"""An agent's odd events: they fail no expression that does not look at them, and what can be read of a call is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

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
        (calling('{"drug": "warfarin"}'), 'evaluation.functionCalls.all { it.args["drug"] == "warfarin" }'),
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
