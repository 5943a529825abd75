"""`scorer.itemsPerRequest`: how many criteria a judge is asked about in one request, from the job
to what is recorded, printed, counted and limited.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.settings import Settings
from bioeval_tui.record.events import ConversationScored, TranscriptScored, Warned
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import recording_path
from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.forked import completed
from tests.integration.program import environment
from tests.servers import openai_server as srv
from tests.servers.models import record_in

TASKS = [
    {"task": "Get a reminder", "acceptanceCriteria": "ALPHA: it is set"},
    {"task": "Learn the price", "acceptanceCriteria": "BETA: a price is named"},
    {"task": "Hear the weather", "acceptanceCriteria": "GAMMA: it is told", "only": "supplied"},
]
RUBRIC = [
    {"criterion": "ALPHA: says that it is set", "points": 5},
    {"criterion": "BETA: names a price", "points": 3},
    {"criterion": "GAMMA: tells the weather", "points": 2},
]
WORDS = ("ALPHA", "BETA", "GAMMA")


def is_about(body: dict[str, Any]) -> tuple[int, ...]:
    """Return which tasks the schema of a request allows."""
    schema = body["response_format"]["json_schema"]["schema"]["properties"]["tasks"]["items"]
    return tuple(schema["properties"]["task"]["enum"])


def scored(body: dict[str, Any], scores: dict[int, float]) -> srv.Answer:
    """Answer with these scores, and 1 for every other task; with 0 where nothing was said."""
    record = record_in(body["messages"][0]["content"])
    named = next((m.message for m in record if m.role == "assistant" and m.content), 0)
    listed = [
        {
            "task": task, "asked": 3, "messages": [named], "reason": "Seen.",
            "score": scores.get(task, 1) if named else 0,
        }
        for task in is_about(body)
    ]  # fmt: skip
    return srv.say_json({"tasks": listed, "tone": 0.5})


@dataclass
class World:
    """A server that is agent and judge; `fails` may answer a request about some tasks instead."""

    folder: Path
    fails: Callable[[tuple[int, ...], dict[str, Any]], srv.Answer | None] = lambda tasks, body: None
    url: str = ""
    server: srv.OpenAIServer | None = None
    asked: list[tuple[tuple[int, ...], str]] = field(default_factory=list)
    """Which tasks each request of the judge was about, and its whole text."""
    under_way: int = 0
    most_under_way: int = 0

    def answer(self, body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            return srv.say("It is set for nine.")
        tasks = is_about(body)
        self.asked.append((tasks, "\n".join(each["content"] for each in body["messages"])))
        usual = scored(body, {task: task % 2 for task in tasks})
        return self._slowly(self.fails(tasks, body) or usual)

    def _slowly(self, answer: srv.Answer) -> srv.Answer:
        async def answered(
            server: srv.OpenAIServer, request: web.Request, body: dict[str, Any]
        ) -> web.StreamResponse:
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            try:
                await asyncio.sleep(0.02)
                return await answer(server, request, body)
            finally:
                self.under_way -= 1

        return answered

    @property
    def groups(self) -> list[tuple[int, ...]]:
        return [tasks for tasks, _ in self.asked]

    async def call(self, *arguments: str) -> Any:
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": self.url, "BIOEVAL_AGENT_API_KEY": "k"}
        env = {
            **environment(self.folder / "data"), **keys, "BIOEVAL_LONGEST_WAIT_S": "0.001",
        }  # fmt: skip
        return await asyncio.to_thread(completed, *arguments, cwd=self.folder, env=env)

    def write(self, items: int | None, **parts: Any) -> None:
        scorer = {"kind": "llm", "model": "stand-in", **parts.pop("scorer", {})}
        if items is not None:
            scorer["itemsPerRequest"] = items
        job = {
            "target": {
                "user": "ada", "chatbot": "bot", "protocol": "openai", "model": "agent-1",
                "url": self.url,
            },
            "aspirationalAverage": 60_000,
            "maxTurns": 4,
            "facts": ["She lives in Sydney"],
            "evaluator": {"kind": "scripted", "lines": [{"say": "All three, please."}]},
            "scorer": scorer,
            "tasks": TASKS,
            **parts,
        }  # fmt: skip
        (self.folder / "job.yml").write_text(json.dumps(job))

    async def run(self, items: int | None, *options: str, **parts: Any) -> Any:
        self.write(items, **parts)
        self.asked.clear()
        return await self.call(
            "run", "job.yml", "--headless", "--graph", "none", "--write-json", "out.json", *options
        )

    async def forecast(self, *options: str) -> dict[str, Any]:
        done = await self.call("run", "job.yml", "--dry-run", "--json", *options)
        (estimate,) = json.loads(done.stdout)
        return dict(estimate)

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text())["runs"][-1]
        return found

    @property
    def path(self) -> Path:
        settings = Settings(data_dir_override=str(self.folder / "data"))
        return recording_path(settings.runs_dir, self.result["run_id"])

    @property
    def verdicts(self) -> list[TranscriptScored]:
        events = read_recording(self.path).events
        return [event for event in events if isinstance(event, TranscriptScored)]

    @property
    def scores(self) -> list[ConversationScored]:
        events = read_recording(self.path).events
        return [event for event in events if isinstance(event, ConversationScored)]

    @property
    def warnings(self) -> list[Warned]:
        return [event for event in read_recording(self.path).events if isinstance(event, Warned)]


@pytest.fixture
async def world(tmp_path: Path) -> Any:
    made = World(tmp_path)
    async with srv.OpenAIServer(otherwise=made.answer) as server:
        made.url, made.server = server.url, server
        yield made


async def test_each_task_is_judged_in_a_request_of_its_own_and_alone(world: World) -> None:
    done = await world.run(1)
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    assert sorted(world.groups) == [(1,), (1,), (2,), (2,), (3,)], "task 3 counts in one condition"
    for (task,), text in world.asked:
        shown = [word for word in WORDS if word in text]
        assert shown == [WORDS[task - 1]], "no other criterion is in the request"
        assert f"Score only task {task} (" in text
    withheld, supplied = world.verdicts
    assert [[task.task for task in one.tasks] for one in (withheld, supplied)] == [
        [1, 2],
        [1, 2, 3],
    ]
    assert [task.score for task in supplied.tasks] == [1, 0, 1]
    assert [len(one.verdicts) for one in (withheld, supplied)] == [1, 1]
    usage = srv.completion({})["usage"]
    assert supplied.tokens_in == 3 * usage["prompt_tokens"]
    name = "stand-in (one criterion a request)"
    assert {one.judge for one in world.verdicts} == {name}
    assert world.result["judge"] == name
    for kind in ("md", "html"):
        assert name in document_of(kind, load_run(world.path))


@pytest.mark.parametrize(
    ("items", "groups"),
    [
        (None, [(1, 2, 3)]),
        (1, [(1,), (2,), (3,)]),
        (2, [(1, 2), (3,)]),
        (3, [(1, 2, 3)]),
        (4, [(1, 2, 3)]),
    ],
)
async def test_of_a_rubric_at_most_so_many_items_are_in_a_request(
    world: World, items: int | None, groups: list[tuple[int, ...]]
) -> None:
    done = await world.run(items, "--condition", "supplied", rubric=RUBRIC)
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    assert sorted(world.groups) == groups
    for tasks, text in world.asked:
        assert [word for word in WORDS if word in text] == [WORDS[task - 1] for task in tasks]
        whole = "Score the conversation. Answer with the JSON object alone."
        assert (whole in text) is (len(groups) == 1), "undivided, it is the request of before"
    (verdict,) = world.verdicts
    assert [task.score for task in verdict.tasks] == [1, 0, 1]
    (scored,) = world.scores
    parts = {part.name: part.value for part in scored.parts}
    assert parts["task"] == pytest.approx(0.7), "7 of 10 points"


async def test_a_job_that_asks_about_nothing_a_request_is_refused(world: World) -> None:
    world.write(0)
    done = await world.call("check", "job.yml")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "itemsPerRequest" in done.stdout + done.stderr


async def test_a_criterion_without_a_verdict_is_named_and_never_0(world: World) -> None:
    refused = srv.refuse("I would rather not.")
    world.fails = lambda tasks, body: refused if tasks == (2,) else None
    done = await world.run(1, "--condition", "supplied")
    assert done.returncode == ExitCode.NOT_MEASURED, done.stdout
    (verdict,) = world.verdicts
    assert not verdict.tasks
    assert verdict.error is not None
    assert "task 2" in verdict.error
    (scored,) = world.scores
    assert scored.score is None
    assert "task 2" in scored.reason
    assert "task 2" in done.stdout
    usage = srv.completion({})["usage"]
    assert verdict.tokens_in is not None
    assert verdict.tokens_in >= 3 * usage["prompt_tokens"], "what was answered was paid for"
    # Judged again, every criterion is asked about again, and the conversation has its score.
    world.fails = lambda tasks, body: None
    world.asked.clear()
    again = await world.call("runs", "rescore", world.result["run_id"])
    assert again.returncode == ExitCode.OK, again.stdout + again.stderr
    assert sorted(world.groups) == [(1,), (2,), (3,)]
    assert load_run(world.path).conversations[0].score is not None


async def test_where_one_of_several_verdicts_lacks_a_criterion_the_others_count(
    world: World,
) -> None:
    bad = srv.say("Well done.")
    world.fails = lambda tasks, body: bad if (tasks, body["seed"]) == ((2,), 8) else None
    done = await world.run(1, "--condition", "supplied", scorer={"repeats": 3, "seed": 7})
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    (verdict,) = world.verdicts
    assert [task.score for task in verdict.tasks] == [1, 0, 1]
    assert len(verdict.verdicts) == 2
    assert verdict.judge == "stand-in × 3 (one criterion a request)"
    warned = " ".join(w.message for w in world.warnings)
    assert "one of the 3 verdicts is missing" in warned
    assert "stand-in #2, task 2 gave no usable verdict, twice" in warned


async def test_unreadable_answers_are_asked_for_again_by_the_one_rule(world: World) -> None:
    first: set[tuple[int, ...]] = set()

    def fails(tasks: tuple[int, ...], body: dict[str, Any]) -> srv.Answer | None:
        if tasks in first:
            return None
        first.add(tasks)
        return srv.status(503) if tasks == (1,) else srv.say("Well done.")

    world.fails = fails
    done = await world.run(1, "--condition", "supplied")
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    assert sorted(world.groups) == [(1,), (1,), (2,), (2,), (3,), (3,)]


async def test_the_forecast_counts_each_request_and_is_kept(world: World) -> None:
    world.write(1)
    forecast = await world.forecast()
    judge = forecast["roles"]["judge"]
    assert judge["calls"] == 2 + 3
    assert judge["options"]["itemsPerRequest"] == 1
    words = (await world.call("run", "job.yml", "--dry-run")).stdout
    assert "itemsPerRequest 1" in words
    await world.run(1)
    assert len(world.asked) == judge["calls"]
    world.write(2)
    assert (await world.forecast())["roles"]["judge"]["calls"] == 1 + 2
    world.write(None)
    assert (await world.forecast())["roles"]["judge"]["calls"] == 1 + 1


async def test_the_example_of_the_docs_counts_without_any_server(world: World) -> None:
    page = Path(__file__).parents[3] / "docs" / "scoring.md"
    section = page.read_text("utf-8").partition("## How many criteria a request asks about")[2]
    example = section.partition("```yaml\n")[2].partition("```")[0]
    counted = []
    for text in (example, example.replace(", itemsPerRequest: 1", "")):
        (world.folder / "job.yml").write_text(text)
        counted.append((await world.forecast())["roles"]["judge"]["calls"])
    assert counted == [4, 2]
    assert "counts four requests to the judge for two\nconversations" in section


async def test_a_limit_of_calls_ends_the_batch_between_the_requests_of_a_verdict(
    world: World,
) -> None:
    # Two messages of the agent, so that two of the three requests are left.
    done = await world.run(1, "--condition", "supplied", "--max-calls", "4")
    assert done.returncode != ExitCode.OK
    assert len(world.asked) == 2
    assert all(not verdict.tasks for verdict in world.verdicts)
    assert "the limit is 4" in done.stdout + done.stderr
    resumed = await world.call(
        "runs", "resume", world.result["run_id"], "--headless", "--max-calls", "100"
    )
    assert resumed.returncode == ExitCode.OK, resumed.stdout + resumed.stderr
    assert [task.score for task in world.verdicts[-1].tasks] == [1, 0, 1]
    assert world.verdicts[-1].judge == "stand-in (one criterion a request)"


@pytest.mark.parametrize(("concurrency", "most"), [(1, 4), (2, 2), (3, 3)])
async def test_as_many_requests_as_the_batch_allows_are_under_way_at_once(
    world: World, concurrency: int, most: int
) -> None:
    done = await world.run(
        1, "--concurrency", str(concurrency), "--repeat", "3", rubric=[*RUBRIC, *RUBRIC]
    )
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    assert world.most_under_way <= most
    assert len(world.asked) == 2 * 3 * 6


async def test_the_exam_is_held_in_the_same_way_and_another_way_is_not_remembered(
    world: World,
) -> None:
    exam = {"exam": True}
    no_task = [{**task, "passAbove": 0.99} for task in TASKS[:2]]
    await world.run(1, "--condition", "supplied", scorer=exam, tasks=no_task)
    assert sorted(world.groups) == sorted([(1,), (2,)] * 4), "three controls and a conversation"
    await world.run(1, "--condition", "supplied", scorer=exam, tasks=no_task)
    assert len(world.asked) == 2, "remembered"
    await world.run(None, "--condition", "supplied", scorer=exam, tasks=no_task)
    assert world.groups == [(1, 2)] * 4, "another judge, examined anew"


async def test_judged_again_in_another_way_it_is_another_question(world: World) -> None:
    await world.run(None, "--condition", "supplied")
    (recorded,) = world.verdicts
    world.write(1)
    world.asked.clear()
    again = await world.call("runs", "rescore", world.result["run_id"], "--job", "job.yml")
    assert again.returncode == ExitCode.OK, again.stdout + again.stderr
    assert sorted(world.groups) == [(1,), (2,), (3,)]
    # Known before only of a run that is judged again: what the server calls the agent's model.
    family = "the judge stand-in is of the same model family as the agent (stand-in)"
    assert family in again.stderr
    tested = await world.call("judge-test", world.result["run_id"], "--dry-run")
    assert f"note: {family}" in tested.stderr
    run = load_run(world.path)
    assert run.brief.judge == "stand-in (one criterion a request)"
    assert run.conversations[0].verdict is not None
    assert run.conversations[0].verdict.question != recorded.question


async def test_a_prompt_of_the_jobs_own_is_asked_about_one_task_too(world: World) -> None:
    (world.folder / "eval").mkdir()
    (world.folder / "eval" / "score.jinja").write_text(
        "{% for task in config.tasks %}- {{ task.task }}: {{ task.acceptanceCriteria }}\n"
        "{% endfor %}{{ example }}\n<<<{{ boundary }}\n{% for message in transcript %}"
        "{{ message | as_json }}\n{% endfor %}{{ boundary }}>>>"
    )
    done = await world.run(1, "--condition", "supplied")
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    assert sorted(world.groups) == [(1,), (2,), (3,)]
    for (task,), text in world.asked:
        assert re.findall(r'"task": (\d)', text) == [str(task)], "the example has this task alone"


@pytest.mark.parametrize("items", [None, 1])
async def test_a_judge_test_says_how_many_verdicts_differ_one_at_a_time(
    world: World, items: int | None
) -> None:
    await world.run(items)
    # Alone, task 2 is judged otherwise.
    world.fails = lambda tasks, body: scored(body, {2: 0} if tasks == (2,) else {})
    run = world.result["run_id"]
    options = ("judge-test", run, "--json")
    usual = json.loads((await world.call(*options, "--dry-run")).stdout)
    forecast = json.loads((await world.call(*options, "--one-at-a-time", "--dry-run")).stdout)
    world.asked.clear()
    done = await world.call(*options)
    assert len(world.asked) == usual["calls"]
    assert "one-at-a-time" not in json.loads(done.stdout)["changes"], "only if it is asked for"
    world.asked.clear()
    done = await world.call(*options, "--one-at-a-time")
    assert len(world.asked) == forecast["calls"] <= forecast["most_calls"]
    added = {None: 2 + 3, 1: 2}[items]
    assert forecast["calls"] == usual["calls"] + added
    found = json.loads(done.stdout)["changes"]["one-at-a-time"]
    assert (found["items"], found["flip_rate"]) == (5, pytest.approx(0.4)), "task 2, both times"
    assert found["shift"] < 0, "from all at once to one at a time, however the job asks"
    assert "each asked up to 8 times" in done.stderr


async def test_a_judge_test_needs_a_model_for_what_only_a_model_is_asked(world: World) -> None:
    tasks = [{**task, "rules": [{"pattern": "nine"}]} for task in TASKS]
    await world.run(None, tasks=tasks)
    run = world.result["run_id"]
    for option in (["--one-at-a-time"], ["--reword"], ["--reworded", "job.yml"]):
        done = await world.call("judge-test", run, "--rules", *option)
        assert done.returncode == ExitCode.BAD_INPUT
        assert f"{option[0]} is for a model as judge" in done.stderr
