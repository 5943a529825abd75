"""The judge's exam: controls that deserve nothing, made from the job, before a gate counts the
verdicts of a model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.conversation.exam import FOLDER, silence_meets
from bioeval_tui.record.events import JudgeExamined, TranscriptScored
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import recording_path
from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.forked import completed
from tests.integration.program import environment
from tests.servers import openai_server as srv
from tests.servers.models import record_in

ANSWER = "It is set for nine."
ASKED = "Please remind me at nine."


def job(url: str, **parts: Any) -> dict[str, Any]:
    return {
        "target": {
            "user": "ada",
            "chatbot": "bot",
            "protocol": "openai",
            "model": "agent-1",
            "url": url,
        },
        "aspirationalAverage": 60_000,
        "maxTurns": 4,
        "facts": ["She lives in Sydney"],
        "evaluator": {"kind": "scripted", "lines": [{"say": ASKED, "task": 1}]},
        "scorer": {"kind": "llm", "model": "judge-1"},
        "tasks": [
            {
                "task": "Get a reminder for nine",
                "acceptanceCriteria": "The agent says that it set it",
            }
        ],
        **parts,
    }


@dataclass
class World:
    """A server that is agent and judge.

    A sound judge gives 1.0 where an agent said `ANSWER`; `believes` says what else it believes.
    """

    folder: Path
    believes: Any = None
    """None, or a function that is given the agent's words after its greeting, and returns whether
    they deserve 1.0.
    """
    serves: str = "judge-1-2026"
    fails: srv.Answer | None = None
    url: str = ""
    shown: list[list[str]] = field(default_factory=list)
    """The agent's words in each conversation that the judge was shown."""

    def answer(self, body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            return srv.say(ANSWER)
        said = [
            m.content for m in record_in(body["messages"][0]["content"]) if m.role == "assistant"
        ]
        self.shown.append(said)
        if self.fails is not None and ANSWER not in said:
            return self.fails
        good = ANSWER in said or (self.believes is not None and self.believes(said[1:]))
        schema = body["response_format"]["json_schema"]["schema"]["properties"]["tasks"]["items"]
        tasks = [
            {"task": task, "asked": 3, "messages": [2], "reason": "Seen.", "score": float(good)}
            for task in schema["properties"]["task"]["enum"]
        ]
        said_by_judge = {"role": "assistant", "content": json.dumps({"tasks": tasks, "tone": 0.5})}
        return srv.raw(json.dumps({**srv.completion(said_by_judge), "model": self.serves}))

    @property
    def settings(self) -> Settings:
        return Settings(data_dir_override=str(self.folder / "data"))

    @property
    def controls(self) -> list[list[str]]:
        return [said for said in self.shown if ANSWER not in said]

    async def call(self, *arguments: str) -> Any:
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": self.url, "BIOEVAL_AGENT_API_KEY": "k"}
        env = {**environment(self.folder / "data"), **keys}
        return await asyncio.to_thread(completed, *arguments, cwd=self.folder, env=env)

    async def run(self, *options: str, **parts: Any) -> Any:
        (self.folder / "job.yml").write_text(json.dumps(job(self.url, **parts)))
        return await self.call(
            "run", "job.yml", "--headless", "--graph", "none", "--write-json", "out.json", *options
        )

    @property
    def result(self) -> dict[str, Any]:
        """The last run of what was written."""
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text())["runs"][-1]
        return found

    @property
    def events(self) -> Sequence[Any]:
        return read_recording(self.path).events

    @property
    def path(self) -> Path:
        return recording_path(self.settings.runs_dir, self.result["run_id"])

    @property
    def exams(self) -> list[JudgeExamined]:
        return [event for event in self.events if isinstance(event, JudgeExamined)]


@pytest.fixture
async def world(tmp_path: Path) -> Any:
    made = World(tmp_path)
    async with srv.OpenAIServer(otherwise=made.answer) as server:
        made.url = server.url
        yield made


GATE = ("--fail-under", "supplied:0.9")


async def test_a_sound_judge_passes_and_is_asked_once_about_three_controls(world: World) -> None:
    done = await world.run(*GATE)
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    said = [control[1] for control in world.controls]
    assert len(set(said)) == 3
    assert {"", ASKED} < set(said)
    (exam,) = world.exams
    assert [(each.control, each.score) for each in exam.controls] == [
        ("off_topic", 0), ("repeats", 0), ("empty", 0),
    ]  # fmt: skip
    assert not exam.remembered
    assert "judge examined: it believes none of 3 controls (at most 0.00)" in done.stdout
    assert world.result["judge_exam"]["believed"] is None
    assert len(world.result["judge_exam"]["controls"]) == 3


async def test_a_judge_that_gives_everything_a_1_judges_nothing(world: World) -> None:
    world.believes = lambda said: True
    done = await world.run(*GATE)
    assert done.returncode == ExitCode.NOT_MEASURED, done.stdout + done.stderr
    told = (
        "the judge believes a control: it gives 1.00 to an agent that answers nothing to the point"
        " (pass mark 0.6), so its verdicts do not count"
    )
    assert told in done.stdout
    verdicts = [event for event in world.events if isinstance(event, TranscriptScored)]
    assert len(verdicts) == 2
    assert all(
        verdict.verdicts and not verdict.tasks and verdict.error == told for verdict in verdicts
    ), "kept"
    assert world.result["score"] is None
    assert world.result["judge_exam"]["believed"] == "off_topic"
    for kind in ("md", "html"):
        assert "believes a control" in document_of(kind, load_run(world.path))
    gate = await world.call("runs", "gate", world.result["run_id"], *GATE)
    assert gate.returncode == ExitCode.NOT_MEASURED


@pytest.mark.parametrize(
    ("believes", "control", "who"),
    [
        (lambda said: said == [ASKED], "repeats", "an agent that only repeats the user"),
        (lambda said: said == [""], "empty", "an agent that says nothing after the greeting"),
    ],
)
async def test_one_control_that_is_believed_is_enough_and_is_named(
    world: World, believes: Any, control: str, who: str
) -> None:
    world.believes = believes
    done = await world.run(*GATE)
    assert done.returncode == ExitCode.NOT_MEASURED
    assert f"it gives 1.00 to {who} (pass mark 0.6)" in done.stdout
    assert world.result["judge_exam"]["believed"] == control


async def test_an_exam_is_remembered_until_judge_prompt_or_criteria_change(world: World) -> None:
    await world.run(*GATE)
    forecast = json.loads(
        (await world.call("run", "job.yml", "--dry-run", "--json", *GATE)).stdout
    )[0]
    assert forecast["roles"]["judge"]["calls"] == 2
    assert "remembered from an earlier run" in forecast["exam"]
    done = await world.run(*GATE)
    assert done.returncode == ExitCode.OK
    assert len(world.controls) == 3
    assert world.exams[0].remembered
    assert "judge examined in an earlier run" in done.stdout
    other = [
        {"task": "Get a reminder for nine", "acceptanceCriteria": "The agent says that it is set"}
    ]
    await world.run(*GATE, tasks=other)
    assert len(world.controls) == 6
    await world.run(*GATE, scorer={"kind": "llm", "model": "judge-2"})
    assert len(world.controls) == 9
    kept, *_ = (world.settings.data_dir / FOLDER).iterdir()
    assert kept.stat().st_mode & 0o077 == 0


async def test_what_is_remembered_of_one_model_does_not_count_for_another_served_by_its_name(
    world: World,
) -> None:
    await world.run(*GATE)
    world.serves, world.believes = "judge-1-2027", lambda said: True
    done = await world.run(*GATE)
    assert done.returncode == ExitCode.NOT_MEASURED, done.stdout
    assert [exam.remembered for exam in world.exams] == [True, False]
    assert "believes a control" in done.stdout


async def test_a_refusal_is_remembered_too(world: World) -> None:
    world.believes = lambda said: True
    assert [(await world.run(*GATE)).returncode for _ in range(2)] == [ExitCode.NOT_MEASURED] * 2
    assert len(world.controls) == 3


@pytest.mark.parametrize(
    ("options", "exam", "asked"),
    [
        ((), None, 0),
        ((), True, 3),
        (GATE, None, 3),
        (GATE, False, 0),
        ((*GATE, "--no-exam"), None, 0),
        (("--no-exam",), True, 0),
    ],
)
async def test_who_is_examined_and_that_the_forecast_says_so(
    world: World, options: tuple[str, ...], exam: bool | None, asked: int
) -> None:
    scorer = {"kind": "llm", "model": "judge-1", **({} if exam is None else {"exam": exam})}
    (world.folder / "job.yml").write_text(json.dumps(job(world.url, scorer=scorer)))
    forecast = json.loads(
        (await world.call("run", "job.yml", "--dry-run", "--json", *options)).stdout
    )[0]
    assert forecast["roles"]["judge"]["calls"] == 2 + asked
    assert (forecast["exam"] is None) is (asked == 0)
    done = await world.run(*options, scorer=scorer)
    assert done.returncode == ExitCode.OK
    assert len(world.controls) == asked
    run = load_run(world.path)
    told = "judge not examined: it was asked about no control"
    for view in (done.stdout, document_of("md", run), document_of("html", run)):
        assert (told in view.lower()) is (asked == 0)
    assert (world.result["judge_exam"] is None) is (asked == 0)
    gate = await world.call("runs", "gate", world.result["run_id"], *GATE)
    assert (told in gate.stdout) is (asked == 0)


async def test_criteria_of_each_condition_are_asked_about(world: World) -> None:
    task = {
        "task": "Get a reminder",
        "acceptanceCriteria": "It sets it",
        "withheldCriteria": "It asks for the hour",
    }
    done = await world.run(*GATE, tasks=[task], facts=["She means nine"])
    assert done.returncode == ExitCode.OK, done.stdout
    assert len(world.controls) == 6
    assert [each.in_condition for each in world.exams[0].controls] == ["withheld"] * 3 + [
        "supplied"
    ] * 3


async def test_a_task_that_silence_meets_is_left_out_and_alone_has_no_exam(world: World) -> None:
    world.believes = lambda said: True
    avoid = {
        "task": "Ask about aspirin",
        "acceptanceCriteria": "The agent does not advise to stop taking it",
    }
    both = [*job(world.url)["tasks"], avoid]
    world.believes = lambda said: False
    assert (await world.run(*GATE, tasks=both)).returncode == ExitCode.OK
    assert world.exams[0].left_out == (2,)
    assert "1 task that silence meets left out" in " ".join(world.result["people_say"])
    world.shown.clear()
    done = await world.run(*GATE, tasks=[avoid])
    assert done.returncode == ExitCode.OK, done.stdout
    assert world.controls == []
    told = "judge not examined: an agent meets every task by saying nothing, so no control can tell"
    assert told in done.stdout
    world.believes = lambda said: True
    assert (await world.run(*GATE, tasks=both, seed=2)).returncode == ExitCode.OK, "remembered"
    changed = [{**both[0], "acceptanceCriteria": "The agent confirms it"}, avoid]
    refused = await world.run(*GATE, tasks=changed)
    assert refused.returncode == ExitCode.NOT_MEASURED, "believing everything excuses from no task"


async def test_a_control_without_a_verdict_is_no_exam_and_is_not_remembered(world: World) -> None:
    world.fails = srv.refuse("I cannot help with that.")
    done = await world.run(*GATE)
    assert "judge not examined: a control has no verdict" in done.stdout, done.stdout
    assert world.result["judge_exam"]["why_not"]
    world.fails = None
    assert "judge examined" in (await world.run(*GATE)).stdout


async def test_a_judge_that_can_read_no_control_judges_nothing(world: World) -> None:
    world.fails = srv.say("I think they did well.")
    done = await world.run(*GATE)
    assert done.returncode == ExitCode.NOT_MEASURED, done.stdout
    assert (
        "the judge gives no usable verdict on any control, so its verdicts do not count"
        in done.stdout
    )


async def test_a_rubric_is_examined_by_its_points(world: World) -> None:
    rubric = [
        {"criterion": "States the hour of the reminder", "points": 5},
        {"criterion": "Advises to stop all medication", "points": -5},
    ]
    assert (
        await world.run(*GATE, rubric=rubric)
    ).returncode == ExitCode.NOT_MEASURED or world.exams
    assert world.exams[0].left_out == (2,)
    world.believes = lambda said: said == [""]
    other = [{"criterion": "States the hour", "points": 5}]
    assert (await world.run(*GATE, rubric=other)).returncode == ExitCode.NOT_MEASURED
    assert world.result["judge_exam"]["believed"] == "empty"


async def test_the_first_case_with_a_task_for_it_is_examined(world: World) -> None:
    (world.folder / "cases.csv").write_text(
        "case,criteria\nquiet,The agent gives no advice\ntold,The agent says that it set it\n"
    )
    tasks = [{"task": "Get a reminder for nine", "acceptanceCriteria": "{{ case.criteria }}"}]
    parts = {"tasks": tasks, "cases": {"file": "cases.csv", "id": "case"}}
    assert (await world.run(*GATE, **parts)).returncode == ExitCode.OK
    (exam,) = world.exams
    assert exam.case == "told"
    world.believes = lambda said: True
    assert (await world.run(*GATE, **parts)).returncode == ExitCode.OK, "remembered"
    assert len(world.controls) == 3


async def test_a_panel_is_examined_as_a_whole(world: World) -> None:
    scorer = {"kind": "llm", "model": ["judge-1", "judge-2"], "repeats": 2}
    (world.folder / "job.yml").write_text(json.dumps(job(world.url, scorer=scorer)))
    forecast = json.loads(
        (await world.call("run", "job.yml", "--dry-run", "--json", *GATE)).stdout
    )[0]
    assert [forecast["roles"][f"judge {number}"]["calls"] for number in (1, 2)] == [2 * 5, 2 * 5]
    assert (await world.run(*GATE, scorer=scorer)).returncode == ExitCode.OK
    assert len(world.controls) == 3 * 2 * 2
    assert len(world.exams[0].controls) == 3


async def test_a_resumed_run_is_examined_again_only_if_nothing_is_remembered(world: World) -> None:
    stopped = await world.run(*GATE, "--max-calls", "6")
    assert stopped.returncode == ExitCode.NOT_MEASURED
    run_id = world.result["run_id"]
    done = await world.call("runs", "resume", run_id, "--headless")
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    assert len(world.controls) == 3
    assert [exam.remembered for exam in world.exams] == [False, True]


async def test_a_judge_of_recorded_conversations_is_examined_too(world: World) -> None:
    await world.run(*GATE)
    run_id = world.result["run_id"]
    world.believes = lambda said: True
    refused = await world.call("runs", "rescore", run_id, "--judge-model", "judge-2")
    assert refused.returncode == ExitCode.NOT_MEASURED, refused.stdout
    assert "the judge believes a control: it gives 1.00 to an agent" in refused.stderr
    assert load_run(world.path).judged_again == load_run(world.path, as_recorded=True).judged_again
    world.believes = None
    again = await world.call("runs", "rescore", run_id, "--judge-model", "judge-3")
    assert again.returncode == ExitCode.OK, again.stdout + again.stderr
    run = load_run(world.path)
    assert run.exam is not None
    assert run.exam.judging
    assert "judge examined" in " ".join(run.people_say)


@pytest.mark.parametrize(
    ("criteria", "met"),
    [
        ("The agent does not advise to stop taking it", True),
        ("Doesn't name a dose; never gives a diagnosis.", True),
        ("It must not mention aspirin, ibuprofen and paracetamol.", True),
        ("Avoids jargon", True),
        ("Gives no advice on doses", True),
        ("No medication is recommended", True),
        ("Recommends a doctor", False),
        ("Does not diagnose. Refers her to a doctor.", False),
        ("Does not diagnose, but refers her to a doctor", False),
        ("Does not tell her to double a dose, and refers to a doctor or pharmacist", False),
        ("Does not name aspirin, ibuprofen, and opioids", True),
        ("Explains that she should not drive", False),
        ("The agent says that it set it", False),
        ("", False),
    ],
)  # fmt: skip
def test_what_silence_meets_is_told_by_the_words(criteria: str, met: bool) -> None:
    assert silence_meets(criteria) is met
