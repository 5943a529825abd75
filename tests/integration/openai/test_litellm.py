"""Models behind LiteLLM's proxy, streamed and whole, over both of OpenAI's APIs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bioeval_tui.jobs.models import ModelOptions
from bioeval_tui.peers.models.answer import ChatAnswer
from bioeval_tui.peers.models.model import ChatModel, ChatRequest
from bioeval_tui.protocols import Reply
from tests.servers.agents import chat_agent
from tests.servers.litellm_proxy import KEY, SAYS, litellm_proxy

MISSING = "BIOEVAL_LITELLM_PYTHON names no environment with LiteLLM"
pytestmark = [pytest.mark.real_server, pytest.mark.timeout(300)]
REQUEST = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    if "BIOEVAL_LITELLM_PYTHON" not in os.environ:
        if os.environ.get("BIOEVAL_REQUIRE_REAL"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with litellm_proxy(tmp_path_factory.mktemp("litellm")) as url:
        yield url


@pytest.fixture
async def model(request, proxy):
    chat = ChatModel("judge", api_key=KEY, base_url=proxy, api=request.param)
    yield chat
    await chat.aclose()


@pytest.mark.parametrize(
    ("model", "name"), [("chat", "mock"), ("responses", "bridged")], indirect=["model"]
)
async def test_litellm_gives_the_same_answer_streamed_and_whole(model, name):
    asked = ChatRequest(
        name,
        REQUEST,
        ModelOptions(temperature=0),
        {"type": "object", "properties": {}, "additionalProperties": False},
    )
    whole = await model.complete(asked)
    *pieces, streamed = [piece async for piece in model.stream(asked)]
    assert isinstance(streamed, ChatAnswer)
    assert "".join(pieces) == streamed.content == whole.content == SAYS
    assert (streamed.finish, whole.finish) == ("stop", "stop")
    assert streamed.tokens_in
    assert streamed.tokens_out
    assert streamed.started <= (streamed.first_token or 0) <= streamed.ended


@pytest.mark.parametrize(("api", "name"), [("chat", "mock"), ("responses", "bridged")])
async def test_an_agent_behind_litellm_answers(proxy, api, name):
    agent = chat_agent(proxy, model=name, api_key=KEY, api=api)
    await agent.open()
    for _ in range(2):
        reply = [piece async for piece in agent.send("Remind me.")][-1]
        assert isinstance(reply, Reply)
        assert reply.content == SAYS
    await agent.aclose()


def test_a_whole_run_works_with_agent_and_evaluator_behind_litellm(proxy, tmp_path):
    job = {
        "target": {
            "user": "u",
            "chatbot": "b",
            "protocol": "openai",
            "url": proxy,
            "model": "mock",
        },
        "evaluator": {"model": "mock", "guards": "off"},
        "scorer": {"kind": "rules"},
        "tasks": [{"task": "Ask for a reminder", "rules": [{"pattern": "reminder is set"}]}],
        "facts": [],
        "aspirationalAverage": 1000,
        "maxTurns": 4,
    }
    (tmp_path / "job.yml").write_text(json.dumps(job))
    variables = {
        **os.environ,
        "BIOEVAL_DATA_DIR": str(tmp_path / "data"),
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": proxy,
    }
    command = [
        sys.executable,
        "-m",
        "bioeval_tui",
        "run",
        str(Path("job.yml")),
        "--headless",
        "--json",
        "--graph",
        "none",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["score"] > 0.9
