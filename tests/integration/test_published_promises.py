"""What embabel-agent-eval documents and does not do, or does differently on purpose.

The rows are those of the published README read beside its code: withholding, seeds, the retried
greeting; and those where this program differs: setups before each condition, jobs without
assertions or tasks, latency, expressions, seeds in each condition, `expected`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from bioeval_tui.base.errors import JobError
from bioeval_tui.graphs.embedded import available
from bioeval_tui.jobs.loading import job_from_data
from bioeval_tui.jobs.models import EvaluationJob
from tests.servers import openai_server as srv
from tests.servers.models import StandIns
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import hold, with_models

needs_graph = pytest.mark.skipif(bool(available()), reason=str(available()))
FACT = "The user lives in Sydney"
JOB = f"""
target: {{user: ada, chatbot: bot}}
aspirationalAverage: 60000
maxTurns: 8
greetings: [Hello, Hi, Hey]
evaluator:
  kind: scripted
  lines: [{{say: "Please make a note."}}]
scorer: {{kind: rules}}
facts: ["{FACT}"]
"""
TASKS = 'tasks: [{task: Have a note made, rules: [{pattern: "made a note"}]}]\n'
ASSERTIONS = "assertions: [{expression: evaluation.done}]\n"
SEEDS = """
seeds:
  - text: Ada takes warfarin.
  - conversation: [{content: My name is Ada}, {role: assistant, content: Hello Ada}]
"""


@dataclass
class Agent(RestAgentServer):
    """An agent with a knowledge service.

    `calls` is what it was asked, in order; its first answers can be bad ones.
    """

    calls: list[tuple[str, str]] = field(default_factory=list)
    bad_answers: int = 0
    bad_answer_s: float = 0.0

    def routes(self, app: web.Application) -> None:
        super().routes(app)
        app.router.add_put("/api/v1/graphs", self._graph)
        app.router.add_put("/api/v1/graphs/{graph}/documents", self._document)

    async def _session(self, request: web.Request) -> web.Response:
        self.calls.append(("session", ""))
        return await super()._session(request)

    async def _message(self, request: web.Request) -> web.Response:
        self.calls.append(("message", (await request.json())["message"]["content"]))
        if self.bad_answers:
            self.bad_answers -= 1
            await asyncio.sleep(self.bad_answer_s)  # the peer's own time, not the test's
            return web.Response(status=503)
        return await super()._message(request)

    async def _graph(self, request: web.Request) -> web.Response:
        return web.Response(text="ready")

    async def _document(self, request: web.Request) -> web.Response:
        self.calls.append(("text", (await request.json())["text"]))
        return web.json_response({})


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with Agent(answer_s=0) as running:
        yield running


def script() -> EvaluationJob:
    tasks = [{"task": "Have a note made"}]
    lines = [{"say": "Please make a note."}]
    return job_from_data(
        {
            "target": {"user": "ada", "chatbot": "bot"},
            "aspirationalAverage": 1,
            "facts": [FACT],
            "tasks": tasks,
            "evaluator": {"kind": "scripted", "lines": lines},
        }
    )


async def test_the_facts_are_withheld_in_the_first_conversation(
    agent: Agent, tmp_path: Path
) -> None:
    text = JOB.replace("kind: scripted", "kind: llm").replace("kind: rules", "kind: llm") + TASKS
    models = StandIns(script())
    async with srv.OpenAIServer(otherwise=models) as server:
        await hold(
            text, tmp_path, settings=with_models(server.url), agent_url=agent.url, graph="none"
        )
    told = [FACT in prompt for prompt in models.evaluator_prompts]
    assert told == [False, False, True, True]
    assert [FACT in prompt for prompt in models.judge_prompts] == [True, True], (
        "the judge always knows"
    )


async def test_seeds_are_applied_in_each_condition_after_its_session_exists(
    agent: Agent, tmp_path: Path
) -> None:
    settings = {"knowledge_url": agent.url}
    run = await hold(
        JOB + TASKS + SEEDS, tmp_path, settings=settings, agent_url=agent.url, graph="none"
    )
    greeting = run.of("conversation_started")[0].greeting
    one = [
        ("session", ""),
        ("text", "Ada takes warfarin."),
        ("message", "My name is Ada"),
        ("message", greeting),
        ("message", "Please make a note."),
    ]
    assert agent.calls == one * 2
    assert [(seed.condition, seed.what, seed.applied) for seed in run.of("seed_applied")] == [
        ("withheld", "text", True),
        ("withheld", "conversation", False),
        ("supplied", "text", True),
        ("supplied", "conversation", False),
    ]
    assert "1 given assistant messages could not be recorded" in run.of("seed_applied")[1].detail
    assert "1 of 2 seeds only partly applied" in " ".join(run.result["warnings"])
    for held in run.result["conditions"].values():
        assert held["messages"][0]["content"] == greeting
        assert len(held["latencies"]) == 2


async def test_the_greeting_is_retried(agent: Agent, tmp_path: Path) -> None:
    agent.bad_answers = 2
    run = await hold(JOB + TASKS + ASSERTIONS, tmp_path, agent_url=agent.url, graph="none")
    greeting = run.of("conversation_started")[0].greeting
    assert agent.calls[1:4] == [("message", greeting)] * 3
    # all parts are 1; two failures cost 0.5
    assert run.state.scores() == {"withheld": 0.5, "supplied": 1.0}


@needs_graph
async def test_setups_run_before_each_condition(agent: Agent, tmp_path: Path) -> None:
    text = JOB + TASKS + 'setups: [{cypher: "CREATE (:Marker)"}]\n'
    text += 'assertions: [{cypher: "MATCH (m:Marker) RETURN count(m)", expected: 1}]\n'
    run = await hold(text, tmp_path, agent_url=agent.url, graph="embedded")
    assert [setup.condition for setup in run.of("setup_applied")] == ["withheld", "supplied"]
    seen = {c: held["assertions"][0]["observed"] for c, held in run.result["conditions"].items()}
    assert seen == {"withheld": 1, "supplied": 2}


@pytest.mark.parametrize(
    ("parts", "left_out", "score"),
    [
        (TASKS, {"assertion"}, 1.0),
        ("tasks: []\n" + ASSERTIONS, {"task"}, 1.0),
        ("tasks: []\n", {"task", "assertion"}, 1.0),
    ],
)
async def test_a_score_without_assertions_or_tasks_leaves_that_part_out(
    agent: Agent, tmp_path: Path, parts: str, left_out: set[str], score: float
) -> None:
    run = await hold(JOB + parts, tmp_path, agent_url=agent.url, graph="none")
    for held in run.result["conditions"].values():
        assert {name for name, part in held["parts"].items() if part["left_out"]} == left_out
        assert held["score"] == score
        assert "the job has no" in held["reason"]
    assert "NaN" not in run.path.read_text(encoding="utf-8")


async def test_latency_is_that_of_the_successful_attempt(agent: Agent, tmp_path: Path) -> None:
    agent.bad_answers, agent.bad_answer_s = 1, 0.4
    run = await hold(JOB + TASKS, tmp_path, agent_url=agent.url, graph="none")
    first, second = [e for e in run.of("message_started", "withheld") if e.message == 2]
    answered = next(e for e in run.of("message_completed", "withheld") if e.message == 2)
    assert answered.waited_ms >= 400, "the failed attempt and the wait after it"
    # Two clocks tell the time of events and of latencies: allow for what they differ by.
    assert answered.latency_ms <= (answered.at - second.at).total_seconds() * 1000 + 5
    assert (second.at - first.at).total_seconds() * 1000 >= 395
    scored = run.of("conversation_scored", "withheld")[0]
    latencies = [entry["latency_ms"] for entry in run.result["conditions"]["withheld"]["latencies"]]
    assert scored.average_latency_ms == pytest.approx(sum(latencies) / len(latencies))


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ('Runtime.getRuntime().exec("id") == null', "unknown name Runtime"),
        ('java.io.File("/etc/passwd").readText() == ""', "the classes of Java are not available"),
        ("objectContext.javaClass == null", "classes are tested with `is`"),
        ("run { while (true) { } }", ""),
    ],
)
async def test_expressions_are_a_safe_subset_and_the_rest_is_refused_before_anything_is_sent(
    agent: Agent, tmp_path: Path, expression: str, says: str
) -> None:
    text = JOB + TASKS + f"assertions:\n  - expression: '{expression}'\n"
    with pytest.raises(JobError) as refused:
        await hold(text, tmp_path, agent_url=agent.url, graph="none")
    (problem,) = refused.value.problems
    assert problem.field == "assertions[0].expression"
    assert (problem.line, problem.column > 0) == (text.count("\n"), True)
    assert says in problem.message
    assert agent.calls == []


@needs_graph
@pytest.mark.parametrize(
    ("query", "expected", "passed", "warned"),
    [
        ("RETURN 1.0", "1", True, False),
        ("RETURN 1", "1.0", True, False),
        ("RETURN '1'", "1", True, True),
        ("RETURN true", "'true'", True, True),
        ("RETURN 1", "true", False, False),
        ("RETURN 'one'", "one", True, False),
        ("RETURN ['a', 'b']", "[a, b]", True, False),
        ("RETURN null", "null", True, False),
        ("RETURN 2", "1", False, False),
    ],
)
async def test_expected_is_compared_by_value_and_type_not_as_text(
    agent: Agent, tmp_path: Path, query: str, expected: str, passed: bool, warned: bool
) -> None:
    text = JOB + TASKS + f'assertions: [{{cypher: "{query} AS it", expected: {expected}}}]\n'
    run = await hold(text, tmp_path, agent_url=agent.url, graph="embedded")
    for held in run.result["conditions"].values():
        (check,) = held["assertions"]
        assert (check["status"] == "passed", check["warning"] is not None) == (passed, warned), (
            check
        )
