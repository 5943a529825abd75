"""A provider that objects to what is said in a conversation: no gate leaves that conversation
out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.program import run_job
from tests.servers import openai_server as srv

TRIALS = 12
"""One lost conversation in so many is within a gate's allowance, if the fault is a model's own."""
GATE = ("--repeat", str(TRIALS), "--fail-under", "withheld:0.9", "--no-exam")
AZURE = {
    "code": "content_filter",
    "type": None,
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}
FILTERS = {
    "refusal": srv.refuse("I cannot help with that."),
    "finish": srv.say("", finish="content_filter"),
    "half an answer": srv.say('{"tone": 1, "ta', finish="content_filter"),
    "Google's finish": srv.say("", finish="content_filter: PROHIBITED_CONTENT"),
    "Anthropic's finish": srv.say("", finish="refusal"),
    "Azure's status": srv.status(400, "The response was filtered", error=AZURE),
    "OpenAI's status": srv.status(400, "Invalid prompt", error={"code": "invalid_prompt"}),
    "DeepSeek's words": srv.status(
        400, "Content Exists Risk", error={"type": "invalid_request_error"}
    ),
    "Alibaba's code": srv.status(
        400, "Input data may be bad", error={"code": "data_inspection_failed"}
    ),
    "xAI's words": srv.status(403, "Content violates usage guidelines.", error={"code": "403"}),
    "in a stream": srv.raw(
        'data: {"error": {"code": "content_filter", "message": "no"}}\n\n', "text/event-stream"
    ),
}
"""How providers say so."""
OTHER = {
    "only talk": srv.say("I think they did well."),
    "another status": srv.status(404, "no such model"),
}
"""How a model fails of its own."""


def job(url: str) -> dict[str, Any]:
    return {
        "target": {
            "user": "u",
            "chatbot": "b",
            "protocol": "openai",
            "model": "agent-1",
            "url": url,
        },
        "evaluator": {"kind": "llm", "model": "user-1"},
        "scorer": {"model": "judge-1"},
        "tasks": [{"task": "Learn the dose"}],
        "facts": [],
        "maxTurns": 4,
        "aspirationalAverage": 60_000,
    }


def served(objecting: str, objects: srv.Answer) -> srv.OpenAIServer:
    """Serve agent, user and judge; the `objecting` model answers the agent's last conversation with
    `objects`.
    """
    conversations: list[str] = []
    given = {"score": 1, "reason": "It says so.", "messages": [2], "asked": 0}
    verdict = srv.say_json({"tone": 1, "tasks": [{"task": 1, **given}]})

    def answer(body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            if all(message["role"] != "assistant" for message in body["messages"]):
                conversations.append("")
            odd = " Bananas!" if len(conversations) == TRIALS else ""
            return srv.say("The dose is 5 mg." + odd)
        asked = json.dumps(body["messages"])
        if body["model"] == objecting and "Bananas" in asked:
            return objects
        return verdict if body["model"] == "judge-1" else srv.say("What is the dose?")

    return srv.OpenAIServer(otherwise=answer)


async def gated(folder: Path, objecting: str, objects: srv.Answer) -> Any:
    async with served(objecting, objects) as server:
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url, "BIOEVAL_AGENT_API_KEY": "k"}
        return await run_job(folder, job(server.url), *GATE, **keys)


def who_objects_how() -> list[Any]:
    """Return each filter with the judge, and one of each kind with the user, which is read by the
    same client: in a message, by its finish, by a status and in a stream.
    """
    first, *others = ("refusal", "finish", "OpenAI's status", "in a stream")
    of_user = [
        ("user-1", first),
        *(pytest.param("user-1", name, marks=pytest.mark.long) for name in others),
    ]
    return [*(("judge-1", name) for name in FILTERS), *of_user]


@pytest.mark.parametrize(("objecting", "name"), who_objects_how())
async def test_a_conversation_that_a_provider_objects_to_is_in_no_allowance(
    objecting: str, name: str, tmp_path: Path
) -> None:
    done = await gated(tmp_path, objecting, FILTERS[name])
    assert done.returncode == 3, done.stdout + done.stderr
    trials = json.loads(done.stdout)["conditions"]["withheld"]["trials"]
    faults = [trial["fault"] for trial in trials]
    assert faults == ["none"] * (TRIALS - 1) + ["unclear"]


@pytest.mark.parametrize("name", OTHER)
async def test_a_judges_own_failure_is(name: str, tmp_path: Path) -> None:
    done = await gated(tmp_path, "judge-1", OTHER[name])
    assert done.returncode == 0, done.stdout + done.stderr
