"""The maximum that `--dry-run` prints is one: the worst agent, user and judge come near to it, and
never beyond.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bioeval_tui.record.events import AnswersUnused
from tests.command import call
from tests.servers import openai_server as srv
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import WholeRun, hold, with_models

JOB = """
target: {user: ada, chatbot: bot, TARGET}
aspirationalAverage: 60000
maxTurns: 8
evaluator: {kind: llm, model: user-1, maxTokens: 500, maxMessageLength: 60}
scorer: {kind: llm, model: JUDGES, repeats: REPEATS, maxTokens: 500, userFaults: true, \
sentinels: SENTINELS}
facts: []
tasks: [TASKS]
seeds: [{conversation: [{content: An earlier message.}]}]
"""
TOOLS = "tools: [{name: now, answer: noon}]"
ATTEMPTS = 4
REFUSABLE = ("temperature", "stream_options", "max_tokens", "stream")


def too_long(body: dict[str, Any]) -> srv.Answer:
    return srv.say("Please do remind me of all of my many pills at nine o'clock, and at ten.")


def void(body: dict[str, Any]) -> srv.Answer:
    return srv.say("As an AI language model, I cannot set reminders.")


def good(body: dict[str, Any]) -> srv.Answer:
    return srv.say("Remind me at nine, please.")


USER = (too_long, void, too_long, good)
"""Each form of a message is asked for twice, in its role and out of it."""


@dataclass
class Worst:
    """Models that refuse every option that can be left out, fail as often as they are asked again,
    and answer badly.
    """

    rounds: int = 1
    tasks: int = 2
    """How many tasks a judge has to score; a single one is asked for twice, of others each is asked
    for alone at last.
    """
    asked: Counter[str] = field(default_factory=Counter)
    _refused: set[tuple[str, str]] = field(default_factory=set)
    _failed: Counter[str] = field(default_factory=Counter)
    _said: Counter[str] = field(default_factory=Counter)

    def __call__(self, body: dict[str, Any]) -> srv.Answer:
        model = body["model"]
        self.asked[model] += 1
        if refused := self._refuse(model, body):
            return refused
        # A judge is asked several things at once, so that its failures are counted for each of
        # them.
        asked = f"{model} {body['messages'][-1]['content']}" if model.startswith("judge") else model
        if self._failed[asked] < ATTEMPTS - 1:
            self._failed[asked] += 1
            return srv.status(503) if self._failed[asked] % 2 or model != "user-1" else srv.say("")
        if model == "agent-1":
            return self._agent(model)
        self._failed[asked] = 0
        if model == "user-1":
            self._said[model] += 1
            return USER[(self._said[model] - 1) % len(USER)](body)
        return self._judge(body["messages"][-1]["content"])

    def _refuse(self, model: str, body: dict[str, Any]) -> srv.Answer | None:
        shape = str((body.get("response_format") or {}).get("type", ""))
        present = [option for option in REFUSABLE if body.get(option)] + [shape] * bool(shape)
        present += ["temperature"] * (body.get("temperature") == 0)
        present += ["system"] * any(message["role"] == "system" for message in body["messages"])
        for option in present:
            if (model, option) not in self._refused:
                self._refused.add((model, option))
                if option == "max_tokens":
                    return srv.status(400, "Use 'max_completion_tokens' instead of 'max_tokens'.")
                if option == "system":
                    return srv.status(400, "System role not supported")
                return srv.refuse_option("response_format" if option == shape else option)
        return None

    def _agent(self, model: str) -> srv.Answer:
        self._said[model] += 1
        if self._said[model] % self.rounds:
            return srv.call_tool("now", {})
        self._failed[model] = 0
        return srv.say("I made a note of it.")

    def _judge(self, asked: str) -> srv.Answer:
        # Without a system role, the instructions stand before the question.
        if re.search(r"(?:^|\n\n)List", asked):
            return srv.say_json({"faults": []})
        if alone := re.search(r"(?:^|\n\n)Score only task (\d+)", asked):
            return scored(int(alone[1]))
        return (
            scored(1) if self.tasks == 1 and "could not be used" in asked else srv.say("Well done.")
        )


def scored(task: int) -> srv.Answer:
    """Answer with the verdict on one task."""
    return srv.say_json({"tasks": [{"task": task, "score": 0, "reason": "so", "evidence": []}]})


@dataclass
class Failing(RestAgentServer):
    """Fails as often as it is asked again, and breaks the connection once at the last message of
    each conversation.
    """

    asked: int = 0
    failed: int = 0
    last: int = 5
    """How many messages a conversation has, with the seed."""

    async def _message(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked += 1
        if self.failed < ATTEMPTS - 1:
            self.failed += 1
            return web.Response(status=503)
        self.failed = 0
        self.received.append(body)
        said = sum(each["sessionId"] == body["sessionId"] for each in self.received)
        if said == self.last and int(body["sessionId"][1:]) % 2:
            assert request.transport is not None
            request.transport.abort()
        message = {"content": "I made a note of it.", "role": "assistant"}
        return web.json_response({"sessionId": body["sessionId"], "message": message, "events": []})


def job(**given: str) -> str:
    """Return the job with these values."""
    text = JOB
    usual = {"JUDGES": "judge-1", "REPEATS": "1", "SENTINELS": "false", "TARGET": "protocol: rest"}
    for name, value in (usual | given).items():
        text = text.replace(name, value)
    return text


def forecast(
    text: str, folder: Path, models: str, monkeypatch: pytest.MonkeyPatch, *options: str
) -> dict[str, Any]:
    """Return what `--dry-run` says of a run."""
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(folder / "forecast"))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", models)
    monkeypatch.setenv("BIOEVAL_LONGEST_WAIT_S", "0.001")
    path = folder / "forecast.yml"
    path.write_text(text, encoding="utf-8")
    done = call("run", path, "--dry-run", "--json", *options, catch_exceptions=False)
    (run,) = json.loads(done.stdout)
    return dict(run)


async def held(text: str, folder: Path, models: str, most: int, **spec: Any) -> WholeRun:
    """Hold the run with its own maximum as its limit, which must not stop it."""
    settings = with_models(models, longest_wait_s=0.001)
    run = await hold(text, folder, settings=settings, graph="none", max_calls=most, **spec)
    assert run.state.ended is not None
    assert run.state.ended.status == "completed", run.state.ended.detail
    return run


def near(asked: int, most: int) -> None:
    """Fail unless so many calls are nearly the maximum, and not more."""
    assert asked <= most
    assert asked >= 0.85 * most


@pytest.mark.parametrize("tasks", [1, 5])
async def test_the_worst_agent_user_and_judge_come_near_to_the_maximum(
    tasks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Worst(tasks=tasks)
    text = job(TASKS=", ".join(f"{{task: Get reminder {number}}}" for number in range(tasks)))
    async with srv.OpenAIServer(otherwise=models) as server, Failing() as agent:
        expected = forecast(text, tmp_path, server.url, monkeypatch, "--agent-url", agent.url)
        run = await held(text, tmp_path, server.url, expected["most_calls"], agent_url=agent.url)
    roles = {name: role["most_calls"] for name, role in expected["roles"].items()}
    assert agent.asked == roles["agent"] == 2 * 2 * 5 * ATTEMPTS
    near(models.asked["user-1"], roles["evaluator"])
    near(models.asked["judge-1"], roles["judge"])
    assert expected["roles"]["judge"]["calls"] == 2 * 2, "a verdict and a list of faults"
    assert all(
        talk.verdict is not None and not talk.verdict.error
        for talk in run.state.conversations.values()
    )


async def test_a_panel_repeats_and_sentinels_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Worst()
    text = job(
        TASKS="{task: a}, {task: b}", JUDGES="[judge-1, judge-2]", REPEATS="2", SENTINELS="true"
    )
    async with srv.OpenAIServer(otherwise=models) as server, RestAgentServer(answer_s=0.0) as agent:
        expected = forecast(text, tmp_path, server.url, monkeypatch, "--agent-url", agent.url)
        await held(text, tmp_path, server.url, expected["most_calls"], agent_url=agent.url)
    for number in (1, 2):
        role = expected["roles"][f"judge {number}"]
        assert role["calls"] == (2 + 24) * (2 + (number == 1))
        assert models.asked[f"judge-{number}"] <= role["most_calls"]
        # Requests that are under way together share the failures of this server.
        assert models.asked[f"judge-{number}"] >= 2 * role["calls"]


@pytest.mark.parametrize("items", [1, 2])
async def test_a_judge_that_is_asked_about_few_tasks_at_once_is_counted(
    items: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Worst()
    text = job(TASKS="{task: a}, {task: b}, {task: c}, {task: d}, {task: e}, {task: f}")
    text = text.replace("sentinels:", f"itemsPerRequest: {items}, sentinels:")
    async with srv.OpenAIServer(otherwise=models) as server, RestAgentServer(answer_s=0.0) as agent:
        expected = forecast(text, tmp_path, server.url, monkeypatch, "--agent-url", agent.url)
        await held(text, tmp_path, server.url, expected["most_calls"], agent_url=agent.url)
    judge = expected["roles"]["judge"]
    assert judge["calls"] == 2 * (6 // items + 1), "verdicts and lists of faults"
    assert models.asked["judge-1"] <= judge["most_calls"]
    assert models.asked["judge-1"] >= 2 * judge["calls"]


@pytest.mark.parametrize(
    ("tools", "rounds"), [("", 1), (f", {TOOLS}", 20)], ids=["no tools", "tools"]
)
async def test_the_rounds_of_a_models_tool_calls_are_counted(
    tools: str, rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Worst(rounds)
    target = f"protocol: openai, model: agent-1, temperature: 0, maxTokens: 90, url: URL{tools}"
    async with srv.OpenAIServer(otherwise=models) as server:
        text = job(TASKS="{task: a}", TARGET=target.replace("URL", f"'{server.url}'"))
        expected = forecast(text, tmp_path, server.url, monkeypatch)
        await held(text, tmp_path, server.url, expected["most_calls"])
    most = expected["roles"]["agent"]["most_calls"]
    assert models.asked["agent-1"] <= most / 2, (
        "half of it is for conversations that are held again"
    )
    near(models.asked["agent-1"], most // 2)


async def test_requests_that_wait_for_others_of_ours_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = job(TASKS="{task: a, rules: [{pattern: x}]}").replace(
        "kind: llm, model: judge-1", "kind: rules"
    )
    text = text.replace("kind: llm, model: user-1", "kind: scripted, lines: [{say: a}]").replace(
        ", userFaults: true", ""
    )
    async with RestAgentServer(at_once=1) as agent:
        alone, four = (
            forecast(
                text,
                tmp_path,
                "http://127.0.0.1:1",
                monkeypatch,
                "--agent-url",
                agent.url,
                *options,
            )
            for options in ((), ("--concurrency", "4"))
        )
    per_message = four["roles"]["agent"]["most_calls"] // (2 * four["roles"]["agent"]["calls"])
    assert alone["roles"]["agent"]["most_calls"] == 2 * alone["roles"]["agent"]["calls"] * ATTEMPTS
    assert per_message > ATTEMPTS


async def test_the_cases_of_a_run_are_counted_each_with_its_own_rubric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"items": [{"criterion": f"item {number}", "points": 1} for number in range(n)]}
        for n in (1, 4)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = (
        job(TASKS="").replace("userFaults: true, ", "")
        + 'cases: cases.jsonl\nrubric: ["{{ case.items }}"]\n'
    )
    models = Worst()
    async with srv.OpenAIServer(otherwise=models) as server, Failing() as agent:
        expected = forecast(text, tmp_path, server.url, monkeypatch, "--agent-url", agent.url)
        await held(text, tmp_path, server.url, expected["most_calls"], agent_url=agent.url)
    assert expected["conversations"] == 4
    judge = expected["roles"]["judge"]
    assert judge["calls"] == 4
    assert judge["most_calls"] == 2 * (2 * ATTEMPTS + 5) + 2 * (6 * ATTEMPTS + 5)
    near(models.asked["judge-1"], judge["most_calls"] - 2 * 4)


async def test_every_request_of_a_seed_counts_for_the_limit(tmp_path: Path) -> None:
    text = job(TASKS="{task: a, rules: [{pattern: x}]}").replace(
        "kind: llm, model: judge-1", "kind: rules"
    )
    text = text.replace("kind: llm, model: user-1", "kind: scripted, lines: [{say: a}]").replace(
        ", userFaults: true", ""
    )
    async with Failing() as agent:
        run = await hold(
            text,
            tmp_path,
            agent_url=agent.url,
            graph="none",
            max_calls=2,
            settings={"longest_wait_s": 0.001},
        )
    assert agent.asked == 2
    assert run.state.ended is not None
    assert run.state.ended.detail == "the limit is reached: 2 calls made, the limit is 2"
    assert not [event for event in run.events if isinstance(event, AnswersUnused)]
