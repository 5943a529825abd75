"""Recorded conversations judged again by a changed job: its criteria, rubric and judge; what they
were held with stays.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.wiring import rescore
from bioeval_tui.evaluation.wiring.rescore import Rescorer
from bioeval_tui.record import events
from bioeval_tui.record.importing.into_runs import import_recording
from bioeval_tui.record.overlay import read_overlay
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import overlay_path
from bioeval_tui.report.agreement import change, rated_tasks
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import RunResult, load_run
from bioeval_tui.tui.data.grading import Grading
from bioeval_tui.tui.data.reviews import ReviewDesk
from bioeval_tui.tui.review_items import NewReview, ReviewSource
from tests.command import call
from tests.documents import document_of
from tests.servers import openai_server as srv
from tests.servers.whole_runs import hold, with_models

JOB = """
target: {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL"}
aspirationalAverage: 60000
maxTurns: 12
evaluator:
  kind: scripted
  lines:
    - {say: Please remind me at nine., task: 1}
    - {say: What does it cost?, task: 2}
scorer: {kind: llm, model: judge-1}
facts: [She lives in Sydney]
tasks:
  - {task: Get a reminder for nine, acceptanceCriteria: OLDONE sets it, \
withheldCriteria: OLDASKS for the zone, rules: [{pattern: Hello}]}
  - {task: Learn what it costs, acceptanceCriteria: OLDTWO names a price, rules: [{pattern: euros}]}
"""
NEW = JOB.replace("OLDTWO names a price", "NEWTWO names a currency")


@dataclass
class World:
    """A recorded run, and a server that is agent and judge.

    `scores` are by a word of the judge's prompt, the first that it has.
    """

    folder: Path
    server: srv.OpenAIServer
    path: Path = Path()
    prompts: list[str] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=lambda: {"NEW": 0.25, "OLD": 1.0})
    answer: Callable[[str], srv.Answer | None] = lambda prompt: None

    def judge(self, body: dict[str, Any]) -> srv.Answer:
        """Answer as the agent or, with the score of the first word that stands in the prompt, as
        the judge.
        """
        if body["model"] == "agent-1":
            return srv.say("Hello. It costs nothing.")
        prompt = body["messages"][0]["content"]
        self.prompts.append(prompt)
        if (other := self.answer(prompt)) is not None:
            return other
        wanted = body["response_format"]["json_schema"]["schema"]["properties"]["tasks"]["items"][
            "properties"
        ]
        score = next(score for word, score in self.scores.items() if word in prompt)
        tasks = [
            {"task": task, "asked": 3, "messages": [2], "reason": "As it says.", "score": score}
            for task in wanted["task"]["enum"]
        ]
        return srv.say_json({"tasks": tasks, "tone": 0.5})

    @property
    def settings(self) -> Settings:
        return Settings(data_dir_override=str(self.folder / "data"), **with_models(self.server.url))

    def file(self, text: str, name: str = "new.yml") -> Path:
        path = self.folder / name
        path.write_text(text.replace("URL", self.server.url), encoding="utf-8")
        return path

    async def command(self, *arguments: object) -> Any:
        """Call a command as a user does, in a thread, because the server needs this one."""
        return await asyncio.to_thread(call, *arguments)

    async def rescore(self, *arguments: object) -> Any:
        return await self.command("runs", "rescore", self.path.stem, *arguments)

    @property
    def run(self) -> RunResult:
        return load_run(self.path)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return World(tmp_path, None)  # type: ignore[arg-type]


class held:
    """Within it, the world's server runs and its job was held once."""

    def __init__(
        self, world: World, monkeypatch: pytest.MonkeyPatch, text: str = JOB, **spec: Any
    ) -> None:
        self.world, self.monkeypatch, self.text, self.spec = world, monkeypatch, text, spec

    async def __aenter__(self) -> World:
        world = self.world
        self._server = srv.OpenAIServer(otherwise=world.judge)
        world.server = await self._server.__aenter__()
        self.monkeypatch.setenv("OPENAI_BASE_URL", world.server.url)
        done = await hold(
            self.text.replace("URL", world.server.url),
            world.folder,
            settings=with_models(world.server.url),
            graph="none",
            **self.spec,
        )
        world.path = done.path
        world.prompts.clear()
        return world

    async def __aexit__(self, *exception: Any) -> None:
        await self._server.__aexit__(*exception)


def scores_of(run: RunResult) -> dict[str, list[float | None]]:
    document = run_document(run)["conditions"]
    return {
        name: [task["score"] for task in document[name]["tasks"]]
        for name in document
        if document[name]
    }


async def test_a_changed_job_is_what_the_judge_is_asked_and_old_and_new_stand_beside_each_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        before = read_recording(world.path)
        shown = await world.rescore("--job", world.file(NEW), "--json")
        assert shown.return_value == ExitCode.OK, shown.output
        assert len(world.prompts) == 2
        assert all("NEWTWO names a currency" in prompt for prompt in world.prompts)
        assert not any("OLDTWO" in prompt for prompt in world.prompts)
        assert read_recording(world.path) == before
        assert scores_of(world.run) == {"withheld": [0.25, 0.25], "supplied": [0.25, 0.25]}
        (printed,) = json.loads(shown.stdout)
        old, new = [one for one in printed["judged_again"] if one["condition"] == "supplied"]
        assert [one["counts"] for one in (old, new)] == [False, True]
        assert [one["job"] for one in (old, new)] == [None, "new.yml"]
        assert [one["tasks"][1]["criteria"] for one in (old, new)] == [
            "OLDTWO names a price",
            "NEWTWO names a currency",
        ]
        assert old["tasks"][0]["criteria"] == new["tasks"][0]["criteria"] == "OLDONE sets it"
        assert re.fullmatch(r"[0-9a-f]{64}", old["question"])
        assert old["question"] != new["question"]
        text = (await world.command("runs", "show", world.path.stem)).stdout
        for words in (
            "criteria of new.yml", "criteria as recorded", f"asked {old['question'][:8]}",
            f"asked {new['question'][:8]}",
            "task 2: recorded “OLDTWO names a price”, in new.yml “NEWTWO names a currency”",
            "2 of 2 conversations judged again by the criteria of new.yml: the latest verdict of"
            " each counts",
        ):  # fmt: skip
            assert words in text
        for kind in ("md", "html"):
            page = document_of(kind, world.run)
            assert "criteria of new.yml" in page
            assert new["question"][:8] in page
            assert "in new.yml “NEWTWO names a currency”" in page
        recorded = load_run(world.path, as_recorded=True)
        assert scores_of(recorded)["supplied"] == [1.0, 1.0]
        assert [run_document(recorded)["judged_again"][at]["counts"] for at in (0, 1)] == [
            True,
            False,
        ]
        notes = compare(recorded, world.run).notes
        assert any("tasks" in note and "NEWTWO" in note for note in notes), notes
        gate = await world.command(
            "runs", "gate", world.path.stem, "--fail-under", "supplied.task:0.5"
        )
        assert gate.return_value == ExitCode.BELOW


async def test_a_live_verdict_and_the_same_job_again_have_the_same_documented_hash(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        (live,) = (
            e
            for e in read_recording(world.path).events
            if isinstance(e, events.TranscriptScored) and e.condition == "withheld"
        )
        await world.rescore()
        await world.rescore("--job", world.file(JOB))
        rows = [
            one for one in run_document(world.run)["judged_again"] if one["condition"] == "withheld"
        ]
        assert [one["question"] for one in rows] == [live.question] * 3
        assert [one["job"] for one in rows] == [None] * 3, "the criteria are the recorded ones"
        started = world.run.started
        asked = {
            "judge": "judge-1",
            "scorer": {"kind": "llm", "context": "tools", "temperature": 0.0},
            "prompts": {"eval/score": started.prompts["eval/score"]},
            "criteria": {
                "1": {
                    "task": "Get a reminder for nine",
                    "criteria": "OLDASKS for the zone",
                    "points": None,
                },
                "2": {
                    "task": "Learn what it costs",
                    "criteria": "OLDTWO names a price",
                    "points": None,
                },
            },
        }
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == live.question


async def test_a_resumed_run_asks_the_same_question(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch, trials=2, max_calls=6):
        done = {talk.trial for talk in world.run.conversations}
        assert done == {1}
        program = [
            sys.executable,
            "-m",
            "bioeval_tui",
            "runs",
            "resume",
            world.path.stem,
            "--headless",
        ]
        resumed = await asyncio.create_subprocess_exec(*program, stderr=asyncio.subprocess.PIPE)
        _, said = await resumed.communicate()
        assert resumed.returncode == 0, said
        questions = {
            (talk.condition, talk.verdict.question)
            for talk in world.run.conversations
            if talk.verdict
        }
        assert len(questions) == 2, "one in each condition"


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (("OLDTWO", "NEWTWO"), {"withheld", "supplied"}),
        (("OLDASKS", "NEWASKS"), {"withheld"}),
        (("OLDONE", "NEWONE"), {"supplied"}),
        (("scorer: {kind: llm", "scorer: {temperature: 0.5, kind: llm"), {"withheld", "supplied"}),
        (("model: judge-1", "model: judge-2"), {"withheld", "supplied"}),
        (("maxTurns: 12", "maxTurns: 14"), set()),
        (("pattern: euros", "pattern: dollars"), set()),
    ],
)  # fmt: skip
async def test_the_hash_says_in_which_conversations_the_question_differs(
    world: World, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str], differs: set[str]
) -> None:
    async with held(world, monkeypatch):
        await world.rescore("--job", world.file(JOB.replace(*change)))
        rows = run_document(world.run)["judged_again"]
        found = {
            name
            for name in ("withheld", "supplied")
            if len({one["question"] for one in rows if one["condition"] == name}) > 1
        }
        assert found == differs


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ([("Learn what it costs", "Learn the price")],
            "task 2 is “Learn the price” instead of “Learn what it costs”"),
        ([("for nine, accept", "for nine, only: supplied, accept")],
         "task 1 (“Get a reminder for nine”) counts in supplied only instead of counts in all"
         " conditions"),
        ([("for nine, accept", "for nine, type: question, accept")],
            "task 1 (“Get a reminder for nine”) is a question instead of a task"),
        ([("rules: [{pattern: euros}]}",
                    "rules: [{pattern: euros}]}\n  - {task: Book it, rules: [{pattern: booked}]}")],
         "task 3 (“Book it”) was not asked for"),
        ([("  - {task: Learn what it costs, acceptanceCriteria: OLDTWO names a price,"
            " rules: [{pattern: euros}]}\n", ""),
          ("    - {say: What does it cost?, task: 2}\n", "")],
          "task 2 (“Learn what it costs”) is missing"),
        ([("Get a reminder for nine", "Set an alarm"), ("Learn what it costs", "Learn the price")],
         "task 1 is “Set an alarm” instead of “Get a reminder for nine”; task 2 is “Learn the"
         " price” instead of “Learn what it costs”"),
    ],
)  # fmt: skip
async def test_a_job_with_other_tasks_is_refused_task_by_task(
    world: World, monkeypatch: pytest.MonkeyPatch, change: list[tuple[str, str]], says: str
) -> None:
    async with held(world, monkeypatch):
        text = JOB
        for old, new in change:
            assert old in text
            text = text.replace(old, new)
        for command in (("runs", "rescore"), ("judge-test",)):
            refused = await world.command(*command, world.path.stem, "--job", world.file(text))
            assert isinstance(refused.exception, UsageError)
            assert (
                str(refused.exception)
                == f"new.yml has other tasks than {world.path.stem}, whose conversations can only"
                f" be judged by other criteria: {says}"
            )
        assert world.prompts == []
        assert not overlay_path(world.path).exists()


async def test_what_the_conversations_were_held_with_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = (
        NEW.replace("She lives in Sydney", "She lives in Perth")
        .replace("user: ada", "user: eve")
        .replace("chatbot: bot", "chatbot: other")
    )
    async with held(world, monkeypatch):
        shown = await world.rescore("--job", world.file(changed))
        assert "note: new.yml has other facts than" in shown.stderr
        assert all("Sydney" in prompt and "Perth" not in prompt for prompt in world.prompts)


async def test_a_rubric_takes_the_place_of_the_tasks_everywhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rubric = (
        NEW
        + "rubric:\n  - {criterion: NEWITEM is polite, points: 3, tags: [manner]}\n  - {criterion:"
        " Is brief, points: -1}\n"
    )
    async with held(world, monkeypatch):
        world.scores = {"NEWITEM": 1.0, "OLD": 1.0}
        await world.rescore("--job", world.file(rubric))
        document = run_document(world.run)["conditions"]["supplied"]
        assert [(task["title"], task["points"]) for task in document["tasks"]] == [
            ("NEWITEM is polite", 3.0),
            ("Is brief", -1.0),
        ]
        assert document["tags"] == {"all items": pytest.approx(2 / 3), "manner": 1.0}
        text = (await world.command("runs", "show", world.path.stem)).stdout
        assert "1 NEWITEM is polite" in text
        assert "1 Get a reminder for nine" in text, "the recorded verdict stands beside it"
        page = document_of("html", world.run)
        assert "NEWITEM is polite" in page


async def test_a_rubric_of_one_condition_leaves_the_other_without_a_task_part(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rubric = JOB + "rubric:\n  - {criterion: NEWITEM is polite, points: 3, only: supplied}\n"
    async with held(world, monkeypatch):
        await world.rescore("--job", world.file(rubric))
        assert len(world.prompts) == 1
        parts = run_document(world.run)["conditions"]["withheld"]["parts"]["task"]
        assert (parts["left_out"], parts["reason"]) == (
            True,
            "every task is for the other condition only",
        )
        assert scores_of(world.run) == {"withheld": [], "supplied": [0.25]}


async def test_the_jobs_judge_is_used_its_panel_its_prompt_and_its_rules(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        (world.folder / "elsewhere").mkdir()
        file = world.file(
            NEW.replace("model: judge-1", "model: [judge-2, judge-3], repeats: 2, prompt: mine"),
            "elsewhere/new.yml",
        )
        (file.parent / "mine.jinja").write_text(
            "MYPROMPT {% for t in judged %}{{ t.criteria }}{% endfor %} {{ transcript }} {{"
            " example }}"
        )
        world.answer = lambda prompt: srv.say_json(
            {
                "tasks": [
                    {
                        "task": n,
                        "scored": "t",
                        "score": 0.5,
                        "reason": "It is so.",
                        "evidence": ["It costs nothing"],
                    }
                    for n in (1, 2)
                ]
            }
        )
        await world.rescore("--job", file)
        assert len(world.prompts) == 8
        assert all(prompt.startswith("MYPROMPT") and "NEWTWO" in prompt for prompt in world.prompts)
        (row,) = (
            one
            for one in run_document(world.run)["judged_again"]
            if one["counts"] and one["condition"] == "supplied"
        )
        assert "judge-2" in row["judge"]
        assert "× 2" in row["judge"]
        assert list(row["prompts"]) == ["mine"]
        world.prompts.clear()
        await world.rescore(
            "--job", world.file(NEW.replace("pattern: euros", "pattern: nothing")), "--rules"
        )
        assert world.prompts == []
        assert scores_of(world.run)["supplied"] == [1.0, 1.0]


TABLE = "id,what,price\na,tea,OLDPRICE one\nb,milk,OLDPRICE two\n"
CASES = JOB.replace("Learn what it costs", '"Learn what {{ case.what }} costs"').replace(
    "acceptanceCriteria: OLDTWO names a price",
    'acceptanceCriteria: "{{ case.price }} for {{ persona.name }}"',
)
CASES += "cases: {file: table.csv, id: id}\npersonas: [{name: calm}, {name: hurried}]\n"


async def test_each_case_and_persona_is_judged_by_its_own_filled_in_criteria(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.folder / "table.csv").write_text(TABLE)
    async with held(world, monkeypatch, CASES, conditions=("supplied",)):
        (world.folder / "table.csv").write_text(TABLE.replace("OLDPRICE", "NEWPRICE"))
        shown = await world.rescore("--job", world.file(CASES), "--json")
        assert shown.return_value == ExitCode.OK, shown.output
        asked = {
            re.search(r"NEWPRICE \w+ for \w+", prompt)[0]  # type: ignore[index]
            for prompt in world.prompts
        }
        assert asked == {
            f"NEWPRICE {one} for {who}" for one in ("one", "two") for who in ("calm", "hurried")
        }
        run = world.run
        criteria = [run.trial(trial).tasks[1].criteria for trial in run.trials]
        assert criteria == [
            "NEWPRICE one for calm",
            "NEWPRICE one for hurried",
            "NEWPRICE two for calm",
            "NEWPRICE two for hurried",
        ]
        assert [
            talk.case.tasks[1]["acceptanceCriteria"] for talk in run.conversations if talk.case
        ] == criteria
        assert [task.title for talk in run.conversations for task in talk.tasks][1::2] == [
            "Learn what tea costs"
        ] * 2 + ["Learn what milk costs"] * 2
        first = load_run(world.path, as_recorded=True).trial(1)
        assert first.tasks[1].criteria == "OLDPRICE one for calm"


async def test_a_case_that_is_gone_or_asks_for_something_else_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.folder / "table.csv").write_text(TABLE)
    async with held(world, monkeypatch, CASES, conditions=("supplied",)):
        (world.folder / "table.csv").write_text("id,what,price\na,tea,x\n")
        gone = await world.rescore("--job", world.file(CASES))
        assert (
            str(gone.exception)
            == "new.yml has no case b · calm and 1 more of the run; name the run's table of cases"
            " with --cases-file"
        )
        other = world.folder / "other.csv"
        other.write_text(TABLE.replace("milk", "beer"))
        refused = await world.rescore("--job", world.file(CASES), "--cases-file", other)
        assert (
            "case b · calm: task 2 is “Learn what beer costs” instead of “Learn what milk costs”"
            in str(refused.exception)
        )
        assert "case a" not in str(refused.exception)
        other.write_text(TABLE.replace("OLDPRICE", "NEWPRICE"))
        assert (
            await world.rescore("--job", world.file(CASES), "--cases-file", other)
        ).return_value == ExitCode.OK
        assert isinstance((await world.rescore("--cases-file", other)).exception, UsageError)


async def test_an_interrupted_judging_loses_nothing_counts_only_whole_and_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescore, "KEPT_FROM", 1)
    monkeypatch.setattr(rescore, "AT_ONCE", 1)
    async with held(world, monkeypatch, trials=3):
        answered: list[str] = []

        def breaks(prompt: str) -> srv.Answer | None:
            answered.append(prompt)
            return srv.status(400, "away") if len(answered) > 4 else None

        world.answer = breaks
        stopped = await world.rescore("--job", world.file(NEW))
        assert stopped.return_value == ExitCode.NOT_MEASURED
        assert {task.score for talk in world.run.conversations for task in talk.tasks} == {1.0}, (
            "the recorded ones count"
        )
        says = (
            "4 of 6 conversations judged again by the criteria of new.yml: the verdicts before them"
            " count until all"
        )
        assert says in (await world.command("runs", "show", world.path.stem)).stdout
        rows = run_document(world.run)["judged_again"]
        assert [one["counts"] for one in rows if one["recorded"]] == [True] * 4
        (listed,) = json.loads((await world.command("runs", "list", "--json")).stdout)
        assert listed["score"] == 1.0
        world.answer = lambda prompt: None
        world.prompts.clear()
        done = await world.rescore("--job", world.file(NEW))
        assert done.return_value == ExitCode.OK
        assert "4 conversations had been judged before it was interrupted" in done.stderr
        assert len(world.prompts) == 2
        assert {task.score for talk in world.run.conversations for task in talk.tasks} == {0.25}
        assert (
            sum(isinstance(e, events.CriteriaGiven) for e in read_overlay(world.path).events) == 1
        )
        world.prompts.clear()
        await world.rescore("--job", world.file(NEW))
        assert len(world.prompts) == 6, "a judging that is complete is repeated as a whole"


async def test_a_judging_that_is_cancelled_keeps_its_verdicts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescore, "AT_ONCE", 1)
    async with held(world, monkeypatch, trials=2):
        reached = asyncio.Event()

        async def never(server: srv.OpenAIServer, request: Any, body: dict[str, Any]) -> Any:
            reached.set()
            await asyncio.Event().wait()

        world.answer = lambda prompt: never if len(world.prompts) > 3 else None
        rescorer = Rescorer(world.path, world.settings, job_file=world.file(NEW))
        judging = asyncio.ensure_future(rescorer.judge_again("ada"))
        await reached.wait()
        judging.cancel()
        await asyncio.wait({judging})
        verdicts = [
            e for e in read_overlay(world.path).events if isinstance(e, events.TranscriptScored)
        ]
        assert len(verdicts) == 3
        world.answer = lambda prompt: None
        world.prompts.clear()
        await world.rescore("--job", world.file(NEW))
        assert len(world.prompts) == 1


async def test_a_judge_that_fails_when_it_goes_on_leaves_that_conversation_not_measured(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescore, "KEPT_FROM", 1)
    monkeypatch.setattr(rescore, "AT_ONCE", 1)
    async with held(world, monkeypatch):
        world.answer = lambda prompt: srv.status(400, "away") if len(world.prompts) > 1 else None
        await world.rescore("--job", world.file(NEW))
        world.answer = lambda prompt: srv.say("They did well.")
        await world.rescore("--job", world.file(NEW))
        assert sorted(str(talk.score) for talk in world.run.conversations) == ["0.5", "None"]
        world.answer = lambda prompt: None
        world.prompts.clear()
        await world.rescore("--job", world.file(NEW))
        assert len(world.prompts) == 1, "only that one is asked about again"
        assert [talk.score for talk in world.run.conversations] == [0.5, 0.5]


async def test_after_an_interruption_another_question_begins_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescore, "AT_ONCE", 1)
    async with held(world, monkeypatch):
        world.answer = lambda prompt: srv.status(400, "away") if len(world.prompts) > 1 else None
        await world.rescore("--job", world.file(NEW))
        world.answer = lambda prompt: None
        world.prompts.clear()
        await world.rescore("--job", world.file(NEW.replace("NEWTWO", "NEWTHREE")))
        assert len(world.prompts) == 2
        world.prompts.clear()
        await world.rescore()
        assert len(world.prompts) == 2
        assert scores_of(world.run)["supplied"] == [
            1.0,
            1.0,
        ], "without --job, the recorded criteria count again"


async def test_a_conversation_on_which_the_judge_fails_is_not_measured_by_the_new_criteria(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        world.answer = lambda prompt: srv.say("They did well.") if "OLDASKS" in prompt else None
        shown = await world.rescore("--job", world.file(NEW))
        assert shown.return_value == ExitCode.NOT_MEASURED
        assert "no usable verdict" in shown.stderr
        conditions = run_document(world.run)["conditions"]
        assert conditions["supplied"]["tasks"][1]["score"] == 0.25
        withheld = world.run.conversations_in("withheld")[0]
        assert (withheld.score, withheld.fault, withheld.tasks) == (None, "judge", ())
        assert "no usable verdict" in withheld.why_no_score


@pytest.mark.parametrize(
    ("weight", "unchecked", "fault"),
    [(1.0, "unclear", "unclear"), (1.0, "infrastructure", "judge"), (0.0, "unclear", "judge")],
)
async def test_a_judge_that_fails_later_does_not_cover_what_the_agent_may_have_caused(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    weight: float,
    unchecked: events.Fault,
    fault: events.Fault,
) -> None:
    async with held(world, monkeypatch):
        recorded = read_recording(world.path).events
        (scored,) = (
            one
            for one in recorded
            if one.kind == "conversation_scored" and one.condition == "withheld"
        )
        where = scored.model_dump(include={"run_id", "seq", "at", "condition", "trial", "attempt"})
        check = events.AssertionChecked(
            **where, index=0, title="state", weight=weight, after_turn=2, final=True,
            status="not_measured", observed=None, expected=True, fault=unchecked,
        )  # fmt: skip
        lines = [line for one in recorded for line in ((check, one) if one is scored else (one,))]
        world.path.write_bytes(b"".join(map(events.write_event, lines)))
        world.answer = lambda prompt: srv.say("They did well.") if "OLDASKS" in prompt else None
        await world.rescore("--job", world.file(NEW))
        assert world.run.conversations_in("withheld")[0].fault == fault


async def test_verdicts_whose_criteria_are_damaged_do_not_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        await world.rescore()
        await world.rescore("--job", world.file(NEW))
        lines = overlay_path(world.path).read_bytes().splitlines(keepends=True)
        damaged = [b"{]\n" if b'"criteria_given"' in line else line for line in lines]
        assert damaged != lines
        overlay_path(world.path).write_bytes(b"".join(damaged))
        assert scores_of(world.run)["supplied"] == [1.0, 1.0]
        assert world.run.conversations_in("supplied")[0].score == 1.0
        assert world.run.problems


async def test_a_judge_that_fails_on_everything_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        world.answer = lambda prompt: srv.say("They did well.")
        await world.rescore("--job", world.file(NEW))
        assert read_overlay(world.path).events == ()
        assert scores_of(world.run)["supplied"] == [1.0, 1.0]


def give_all(world: World, author: str, score: float) -> None:
    desk = ReviewDesk(world.settings, Grading(world.settings))
    for item in desk.queue(ReviewSource(run_ids=(world.path.stem,))):
        if item.id.key is not None and item.id.key.condition == "supplied":
            desk.give(item, NewReview("override", score=score, why="I read it", blind=True), author)


async def test_people_who_scored_a_task_by_other_criteria_do_not_score_it_by_these(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        give_all(world, "ada", 0.5)
        shown = await world.rescore("--job", world.file(NEW), "--json")
        (printed,) = json.loads(shown.stdout)
        assert printed["agreement"]["before"]["n"] == 1, "of the task whose criteria are the same"
        people = world.run.people
        assert [key.task for key in people.tasks] == [1]
        assert scores_of(world.run.apply_reviews())["supplied"] == [0.5, 0.25]
        (queued,) = (
            item
            for item in ReviewDesk(world.settings, Grading(world.settings)).queue(
                ReviewSource(run_ids=(world.path.stem,))
            )
            if item.id.key is not None and item.id.key.condition == "supplied" and item.id.task == 2
        )
        assert queued.criteria == "NEWTWO names a currency"
        assert queued.opinions == {}
        give_all(world, "ben", 0.75)
        assert [(key.task, sorted(by)) for key, by in world.run.people.tasks.items()] == [
            (1, ["ada", "ben"]),
            (2, ["ben"]),
        ]
        rated = rated_tasks([world.run])[0]
        assert {item.task: len(item.judges) for item in rated} == {1: 1, 2: 1}
        assert [item.recorded for item in rated if item.task == 2] == [None]
        recorded = load_run(world.path, as_recorded=True)
        assert [(key.task, sorted(by)) for key, by in recorded.people.tasks.items()] == [
            (1, ["ada", "ben"]),
            (2, ["ada"]),
        ]
        found = change(rated)
        assert found is not None
        assert len(found.closer.estimate.points) == 1


async def test_an_imported_recording_is_judged_by_the_job_that_is_given(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        other = world.folder / "there"
        monkeypatch.setenv("BIOEVAL_DATA_DIR", str(other))
        world.path = import_recording(
            world.path, Settings(data_dir_override=str(other)).runs_dir
        ).path
        await world.rescore("--job", world.file(NEW))
        assert len(world.prompts) == 2
        assert scores_of(world.run)["supplied"] == [0.25, 0.25]


async def test_the_rule_of_what_was_asked_for_follows_the_conversation_and_embabel_the_given_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = JOB.replace(
        "What does it cost?, task: 2", "'What does it cost?', task: 2, when: never said"
    )
    async with held(world, monkeypatch, silent, conditions=("supplied",)):
        assert world.run.conversations[0].score is None
        # The changed job's script would have asked, and its limit would have stopped the user;
        # neither held this conversation.
        await world.rescore("--job", world.file(NEW.replace("maxTurns: 12", "maxTurns: 2")))
        assert [task.kept_by for task in world.run.conversations[0].tasks] == [None, "user"]
        await world.rescore("--job", world.file(NEW + "compat: embabel\n"))
        assert [task.kept_by for task in world.run.conversations[0].tasks] == [None, None]
        assert world.run.conversations[0].score is not None


async def test_a_sensitive_job_stays_here_whichever_of_the_two_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch, JOB + "sensitive: true\n"):
        away = NEW.replace("model: judge-1", "model: judge-1, url: https://models.example.org/v1")
        refused = await world.rescore(
            "--job", world.file(away), "--allow-host", "models.example.org"
        )
        assert "only loopback is allowed" in str(refused.exception)
        assert world.prompts == []


async def test_judge_test_asks_by_the_given_criteria(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        world.scores[""] = 0.5  # the conversations that `judge-test` brings have none of the words
        await world.command(
            "judge-test", world.path.stem, "--job", world.file(NEW), "--conversations", "1"
        )
        asked = [prompt for prompt in world.prompts if "Learn what it costs" in prompt]
        assert asked
        assert all("NEWTWO" in prompt for prompt in asked)


def test_help_says_what_the_job_is_for() -> None:
    text = " ".join(call("runs", "rescore", "--help").stdout.split())
    assert "Judge by the criteria, rubric and judge of this job" in text


async def test_a_log_that_was_imported_with_a_job_is_judged_by_a_changed_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        {"role": "user", "content": "Remind me"},
        {"role": "assistant", "content": "It costs nothing."},
    ]
    async with held(world, monkeypatch):
        log = world.folder / "log.jsonl"
        log.write_text("".join(json.dumps({"messages": said, "id": n}) + "\n" for n in (1, 2)))
        taken = await world.command("runs", "import", log, "--job", world.file(JOB, "old.yml"))
        world.path = world.path.with_name(f"{taken.stdout.strip()}.jsonl")
        world.answer = lambda prompt: srv.say_json(
            {
                "tasks": [
                    {"task": n, "asked": 1, "messages": [2], "reason": "So it is.", "score": 0.5}
                    for n in (1, 2)
                ]
            }
        )
        await world.rescore("--job", world.file(NEW))
        assert all("NEWTWO" in prompt for prompt in world.prompts)
        assert [talk.score for talk in world.run.conversations] == [0.5, 0.5]
        assert [row["recorded"] for row in run_document(world.run)["judged_again"]] == [
            False,
            False,
        ]
        other = await world.rescore(
            "--job", world.file(NEW.replace("Get a reminder", "Get an alarm"))
        )
        assert "task 1 is “Get an alarm for nine” instead of “Get a reminder for nine”" in str(
            other.exception
        )


async def test_criteria_are_masked_wherever_they_are_shown(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held(world, monkeypatch):
        give_all(world, "ada", 0.5)
        await world.rescore("--job", world.file(JOB.replace("OLDTWO", "NEW Katharina")))
        names = world.folder / "names.yml"
        names.write_text("names: [Katharina, OLDTWO]\n")
        for command in (
            ("runs", "show", world.path.stem),
            ("runs", "show", world.path.stem, "--json"),
            ("runs", "rescore", world.path.stem, "--rules", "--json"),
        ):
            shown = await world.command(*command, "--redact", names)
            assert shown.exception is None, shown.exception
            assert "Katharina" not in shown.output
            assert "OLDTWO" not in shown.output


async def test_a_judge_is_not_asked_what_it_was_asked_before_where_only_an_assertion_is_mended(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = (
        'assertions: [{name: greets, expression: \'evaluation.transcript.any { "WORD" in'
        " it.content }'}]\n"
    )
    async with held(world, monkeypatch, JOB + asks.replace("WORD", "Good day")):
        monkeypatch.delenv("OPENAI_API_KEY")  # nobody needs it
        mended = JOB + asks.replace("WORD", "Hello")
        shown = await world.rescore("--job", world.file(mended), "--json")
        assert shown.return_value == ExitCode.OK, shown.output
        assert world.prompts == []
        assert "transcripts are sent" not in shown.stderr
        (printed,) = json.loads(shown.stdout)
        assert [(one["old"], one["new"]) for one in printed["changed_assertions"]] == [
            ("failed", "passed")
        ] * 2
        assert [one["kept"] for one in printed["judged_again"]] == [False, True] * 2
        assert scores_of(world.run) == {"withheld": [1.0, 1.0], "supplied": [1.0, 1.0]}
        assert "before, kept" in (await world.command("runs", "show", world.path.stem)).stdout
        usage = [talk.verdict.tokens_in for talk in world.run.conversations if talk.verdict]
        assert usage == [None, None], "what it cost was counted when it was asked"
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        both = NEW + asks.replace("WORD", "Hello")
        shown = await world.rescore("--job", world.file(both))
        assert shown.return_value == ExitCode.OK, shown.output
        assert len(world.prompts) == 2
        assert "transcripts are sent" in shown.stderr
