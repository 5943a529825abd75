"""The examples in docs/python.md run as printed, and a run from Python is like any other."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui import Results, evaluate, evaluate_async, load_run
from bioeval_tui.base.errors import JobError, UsageError
from bioeval_tui.cli.run import run
from bioeval_tui.evaluation.wiring.resuming import resume_spec
from bioeval_tui.library import NotMeasured
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.run_options import kinds
from bioeval_tui.report.frames import TABLES
from tests.command import schema_of
from tests.integration.program import environment

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "python.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the job of docs/python.md, and no settings but a data folder in it."""
    for name in ("NEO_URI", "NEO_PASSWORD", "BIOEVAL_AGENT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yml").write_text(FILES["job.yml"], encoding="utf-8")
    return tmp_path


def test_the_documented_script_runs_as_printed(folder: Path) -> None:
    (folder / "evaluate_reminders.py").write_text(FILES["evaluate_reminders.py"], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "evaluate_reminders.py"],
        cwd=folder, capture_output=True, text=True, timeout=300, env=environment(folder / "data"),
    )  # fmt: skip
    shown = PAGE.partition("evaluate_reminders.py")[2].split("```\n")[2]
    assert (done.stdout, done.returncode) == (shown, 0), done.stderr
    assert "[10 of 10] job · with the facts · trial 5: 1.00" in done.stderr


@pytest.mark.long
def test_the_documented_notebook_gives_its_printed_outputs(folder: Path) -> None:
    import nbformat  # only this test needs a kernel
    from nbclient import NotebookClient

    text = (DOCS / "evaluate.ipynb").read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|Users|work)\b", text), "a machine's path"
    kept = nbformat.reads(text, as_version=4)
    held = nbformat.reads(text, as_version=4)
    (folder / "job.yml").unlink()  # the notebook writes its own
    NotebookClient(held, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    assert [shown(cell) for cell in held.cells] == [shown(cell) for cell in kept.cells]
    assert len(Catalogue(folder / "data" / "runs").runs()) == 1


def shown(cell: Any) -> list[str]:
    return [
        output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
        for output in cell.get("outputs", [])
    ]


def whole(message: str) -> str:
    return f"I'll remind you of {message}"


async def awaited(message: str) -> str:
    await asyncio.sleep(0)
    return whole(message)


def in_pieces(message: str) -> Any:
    yield from ("I'll ", "remind you")


class Started:
    def start(self, conversation: Any) -> None:
        conversation.object_context = {"resources": []}

    async def __call__(self, message: str, conversation: Any) -> Any:
        conversation.object_context["resources"] = [{"name": conversation.user}]
        yield f"I'll remind you, {conversation.user}"


@pytest.mark.parametrize("agent", [whole, awaited, in_pieces, Started()])
def test_any_python_callable_can_be_the_agent(folder: Path, agent: Callable[..., Any]) -> None:
    found = evaluate("job.yml", agent=agent, progress=False, conditions="supplied")
    task = found.to_frame("tasks").iloc[0]
    assert (task.score, task.passed, found.not_measured) == (1.0, True, ())
    assert bool(found.conditions["supplied"].assertions[0].held.share) == isinstance(agent, Started)


def test_a_run_from_python_is_a_run_like_any_other(folder: Path) -> None:
    found = evaluate("job.yml", agent=Started(), progress=False)
    (listed,) = Catalogue(folder / "data" / "runs").runs()
    assert (listed.run_id, listed.scores) == (found.run_id, found.scores)
    again = load_run(found.run_id[-4:])
    assert again.answer == found.answer
    assert again.difference is not None
    assert again.difference.mean == 0.0, "start tells the state that both begin from"
    assert again.to_dict()["agent"].endswith("test_from_python:Started")
    for name, table in TABLES.items():
        frame, arrow = again.to_frame(name), again.to_arrow(name)
        assert [*frame.columns] == arrow.column_names == [column.name for column in table.columns]
        assert len(frame) == arrow.num_rows


def test_an_object_context_that_comes_with_the_first_answer_is_not_denied(folder: Path) -> None:
    def late(message: str, conversation: Any) -> str:
        conversation.object_context = {"resources": [{"name": "reminder"}]}
        return whole(message)

    found = evaluate("job.yml", agent=late, progress=False)
    assert found.conditions["supplied"].assertions[0].held.share == 1
    assert found.difference is not None
    assert found.difference.mean is None
    assert "the agent had no object context before its first answer" in str(
        found.to_dict()["warnings"]
    )


async def test_evaluate_works_inside_a_running_event_loop(folder: Path) -> None:
    home = asyncio.get_running_loop()
    loops = []

    async def agent(message: str) -> str:
        loops.append(asyncio.get_running_loop())
        return "I'll remind you"

    beside = evaluate("job.yml", agent=agent, progress=False, conditions=["supplied"])
    assert home not in loops
    assert await beside is beside, "awaiting it by mistake loses nothing"
    loops.clear()
    within = await evaluate_async("job.yml", agent=agent, progress=False, conditions=["supplied"])
    assert {*loops} == {home}
    assert within.scores == beside.scores


async def test_cancelling_the_task_ends_its_run_cleanly(folder: Path) -> None:
    asked = asyncio.Event()

    async def agent(message: str) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    running = asyncio.create_task(evaluate_async("job.yml", agent=agent, progress=False))
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (listed,) = Catalogue(folder / "data" / "runs").runs()
    assert listed.status == "cancelled"
    with pytest.raises(UsageError, match="a Python function of the program that ran it"):
        resume_spec(listed.path)


def test_an_interrupt_ends_the_run_cleanly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def agent(message: str) -> str:
        asked.set()
        return "I'll remind you"

    def interrupted(*given: Any) -> Any:
        assert asked.wait(300)
        monkeypatch.undo()
        raise KeyboardInterrupt

    data = folder / "data" / "runs"
    monkeypatch.setattr("bioeval_tui.library.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate(str(folder / "job.yml"), agent=agent, progress=False, trials=200)
    (listed,) = Catalogue(data).runs()
    assert listed.status == "cancelled"


def test_a_result_that_was_not_measured_says_why(folder: Path) -> None:
    def agent(message: str) -> str:
        raise RuntimeError("out of order")

    found = evaluate("job.yml", agent=agent, progress=False)
    assert found.scores == {"withheld": None, "supplied": None}
    assert "out of order" in found.answer.why
    assert {gap.what for gap in found.not_measured} == {
        "score", "task 1", *(f"assertion {number}" for number in (1, 2, 3)),
    }  # fmt: skip
    assert all("out of order" in gap.why for gap in found.not_measured if gap.what == "score")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trails": 3}, "there is no option trails: did you mean trials?"),
        (
            {"conditions": ["suplied"]},
            "the job has no condition 'suplied'; it has withheld and supplied",
        ),
        (
            {"leaderboard": "nowhere.csv"},
            "nowhere.csv does not exist; give own, published, or a CSV file",
        ),
        ({"submissions": ["nowhere"]}, "submissions: there is no folder /"),
        ({"code": Path("job.yml")}, "code: there is no folder /"),
        ({"cases_file": "nowhere.csv"}, "cases_file: there is no file /"),
        ({"cases_file": 5}, "cases_file: must be the path of a file, not 5"),
        ({"trials": 0}, "trials: must be a whole number from 1 to 10,000, not 0"),
        ({"trials": True}, "trials: must be a whole number from 1 to 10,000, not True"),
        ({"max_cost": -1}, "max_cost: must be a number above 0, not -1"),
        ({"seed": "a"}, "seed: must be a whole number, not 'a'"),
        ({"exam": "no"}, "exam: must be 'job', 'gate' or 'off', not 'no'"),
        ({"models": 3}, "models: must be a text, or a list of several, not 3"),
        ({"rehearsal": "zzz"}, "rehearsal: must be True or False, not 'zzz'"),
        ({"code": [1]}, "code: must be the path of a folder, or a list of several, not [1]"),
        ({"order": "zzz"}, "order: must be random, or a condition's name with -first, such as"),
        ({"order": "all-first"}, "order: must be random, or a condition's name with -first"),
        ({"order": "parallel"}, "there is no order 'parallel'; known are random, withheld-first"),
        ({"agent": lambda: ""}, "the agent must have one parameter"),
        ({"agent": 8081}, "agent: give a URL or a function, not a value of type int"),
    ],
)
def test_wrong_arguments_are_reported_before_anything_is_sent(
    folder: Path, options: Any, said: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        evaluate("job.yml", progress=False, **options)
    with pytest.raises(JobError, match="does not exist"):
        evaluate("other.yml", agent=whole, progress=False)
    wrong_job: Any
    for wrong_job in ([], 3, None, {"a": 1}, b"job.yml", ["job.yml", 3]):
        with pytest.raises(UsageError, match=r"job: give a YAML file .* or a list of several, not"):
            evaluate(wrong_job, agent=whole, progress=False)
        with pytest.raises(UsageError, match=r"run: give a run's id, .* its recording, not"):
            load_run(wrong_job)
    assert not (folder / "data" / "runs").exists()


def test_every_option_of_run_is_available_from_python() -> None:
    """But how it is shown, the demo's own agents, and `--until-decided`."""
    not_from_python = {"agent_url", "mode", "sample_agent", "local_model", "until_decided"}
    assert {kind.name for kind in kinds() if not kind.option.python} == not_from_python
    listed = PAGE.partition("## The agent")[0]
    taken = {"models", "rehearsal", *(kind.name for kind in kinds() if kind.option.python)}
    assert [name for name in taken if f"`{name}`" not in listed] == []


def test_each_option_is_a_flag_of_run_or_a_key_of_a_job_as_the_page_says() -> None:
    listed = PAGE.partition("## evaluate")[2].partition("\nCtrl-C")[0]
    of_run, of_jobs = listed.split("has no option, but the job has a key")
    flags = {flag for parameter in run.params for flag in parameter.opts}
    named = set(re.findall(r"`(--[a-z-]+)`", of_run))
    assert named <= flags
    as_flags = next(bullet for bullet in of_run.split("\n- ") if "of `bioeval-tui run`" in bullet)
    options = {kind.name: kind.option for kind in kinds()}
    for name in re.findall(r"`([a-z_]+)`", as_flags):
        assert options[name].flag in named, name
    keys = re.findall(r"`([A-Za-z.]+)[^`]*`$", of_jobs, re.MULTILINE)
    assert len(keys) == of_jobs.count("\n- ") == 5
    schema = schema_of("job")
    for key in keys:
        part, _, last = key.rpartition(".")
        held = schema["$defs"]["TargetConfig"] if part else schema
        assert last in held["properties"], key
    no_flag = {kind.name for kind in kinds() if kind.option.python and not kind.option.flag}
    assert no_flag - {"sample"} == set(re.findall(r"^- `([a-z_]+)`", of_jobs, re.MULTILINE))


def test_every_documented_attribute_of_a_result_exists(folder: Path) -> None:
    """Of its bullet, the first name is an attribute, and `.name` one of what that has."""
    result = evaluate("job.yml", agent=Started(), progress=False, trials=2)
    bullets = PAGE.partition("## Results\n")[2].partition("\nNone means")[0].split("\n- ")
    seen = set()
    for bullet in (each.replace("\n ", "") for each in bullets[1:]):
        about, _, text = re.sub(r"\]\([^)]*\)", "]", bullet).partition(": ")
        names = re.findall(r"`([^`]+)`", about)
        paths = [*names, *(names[0] + path for path in re.findall(r"`(\.[a-z_.]+)`", text))]
        for path, inner in re.findall(r"`(\.[a-z_]+)` \(([^)]*)\)", text):
            paths += [f"{names[0]}{path}.{name}" for name in re.findall(r"`([a-z_]+)`", inner)]
        if names == ["not_measured"]:
            fields = [field.name for field in dataclasses.fields(NotMeasured)]
            assert re.findall(r"`([a-z_]+)`", text) == fields
        for path in paths:
            given = {"result": result, "table": "tasks"}
            eval(f"result.{path}", given)
            seen.add(path)
    assert {"answer.sure", "difference.verdict", "difference.estimate.interval", "runs",
        'conditions["supplied"].score.points', "to_frame(table)"} <= seen  # fmt: skip
    assert result.difference is not None
    assert result.to_dict()["difference"]["verdict"] == result.difference.verdict


@pytest.mark.parametrize("kind", [str, Path])
def test_paths_are_recorded_absolute_as_by_the_command_line(
    folder: Path, kind: Callable[[str], Any]
) -> None:
    (folder / "board.csv").write_text("score\n0.5\n", encoding="utf-8")
    (folder / "files").mkdir()
    found = evaluate(
        "job.yml", agent=whole, conditions="supplied", progress=False,
        leaderboard=kind("board.csv"), submissions=kind("files"),
    )  # fmt: skip
    recorded = json.loads(
        (folder / "data" / "runs" / f"{found.run_id}.jsonl").read_bytes().split(b"\n")[0]
    )
    assert recorded["options"]["leaderboard"] == str(folder / "board.csv")
    assert recorded["options"]["submissions"] == [str(folder / "files")]


def test_models_are_never_pooled(folder: Path) -> None:
    found = evaluate(
        "job.yml",
        agent=whole,
        models=["small", "large"],
        rehearsal=True,
        code=str(folder),
        progress=False,
    )
    assert [run.to_dict()["model"] for run in found.runs] == ["small", "large"]
    with pytest.raises(UsageError, match=r"never pooled .* take one of \.runs"):
        _ = found.scores
    assert isinstance(found.runs[0], Results)
