"""A run is resumed from its recording alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import RecordingError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.batch import run_batch
from bioeval_tui.evaluation.wiring.resuming import (
    owed_reruns,
    prepare_resumed,
    rerun_offer,
    resume_spec,
)
from bioeval_tui.peers.models.prompting import find_prompt
from bioeval_tui.peers.spending import CallBudget
from bioeval_tui.record.importing.into_runs import import_recording
from bioeval_tui.record.runs import LiveInfo, process_start, write_live
from bioeval_tui.report.agreement import rated_tasks
from bioeval_tui.report.result import load_run
from tests.integration.test_first_light import JOBS
from tests.integration.test_published_promises import JOB, TASKS, script
from tests.servers.models import StandIns
from tests.servers.openai_server import OpenAIServer
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import hold, with_models
from tests.unit.record.test_versions import GOLDEN

Rows = list[dict[str, Any]]


@pytest.fixture
def recording(tmp_path: Path) -> Callable[[Callable[[Rows], Rows]], Path]:
    def write(change: Callable[[Rows], Rows]) -> Path:
        rows = [json.loads(line) for line in (GOLDEN / "version-1.jsonl").read_bytes().splitlines()]
        path = tmp_path / f"{rows[0]['run_id']}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in change(rows)), encoding="utf-8")
        return path

    return write


def test_a_finished_run_has_nothing_to_resume(recording: Any) -> None:
    assert resume_spec(recording(lambda rows: rows)) is None


def test_a_recording_without_options_resumes_with_what_it_recorded(recording: Any) -> None:
    path = recording(lambda rows: rows[: len(rows) // 2])
    spec = resume_spec(path)
    assert spec is not None
    assert spec.resume
    assert spec.sample_agent, "known by its name alone in version 1"
    assert (spec.runs[0].run_id, spec.runs[0].model, spec.trials) == (path.stem, "gpt-4.1-mini", 1)
    elsewhere = resume_spec(path, agent_url="http://127.0.0.1:5")
    assert elsewhere is not None
    assert (elsewhere.sample_agent, elsewhere.agent_url) == (False, "http://127.0.0.1:5")


def test_a_run_resumes_with_the_options_it_was_started_with(recording: Any) -> None:
    options = {
        "agent_url": "http://127.0.0.1:9", "sample_agent": False, "judge_model": ["a", "b"],
        "order": "random", "parallel": True, "concurrency": 6, "graph": "none",
        "keep_prompts": False,
    }  # fmt: skip

    def change(rows: Rows) -> Rows:
        rows[0]["options"] = options
        return rows[:50]

    spec = resume_spec(recording(change))
    assert spec is not None
    assert (spec.agent_url, spec.judge_model, spec.order) == (
        "http://127.0.0.1:9",
        ("a", "b"),
        "random",
    )
    assert (spec.parallel, spec.concurrency, spec.graph, spec.keep_prompts) == (
        True,
        6,
        "none",
        False,
    )


def test_a_rerun_adds_a_trial_for_each_one_not_measured(recording: Any) -> None:
    def spoil(rows: Rows) -> Rows:
        for row in rows:
            if row["kind"] == "conversation_scored" and row["condition"] == "supplied":
                row.update(score=None, fault="judge", reason="no verdict")
        return rows

    path = recording(spoil)
    assert resume_spec(path) is None, "what was held is not held again"
    spec = resume_spec(path, rerun=True)
    assert spec is not None
    assert spec.trials == 2
    assert f"`bioeval-tui runs resume {path.stem} --rerun`" in rerun_offer(path)


def test_no_rerun_is_offered_where_a_script_would_leave_out_the_same_again(recording: Any) -> None:
    def unasked(rows: Rows) -> Rows:
        rows[0]["job"]["evaluator"] = {**rows[0]["job"].get("evaluator", {}), "kind": "scripted"}
        for row in rows:
            if row["kind"] == "conversation_scored":
                row.update(score=None, fault="evaluator", reason="task 1 was never asked for")
        return rows

    assert rerun_offer(recording(unasked)) == ""


def test_a_trial_that_was_already_rerun_is_not_rerun_again(recording: Any) -> None:
    def spoilt_then_again(rows: Rows) -> Rows:
        for row in rows:
            if row["kind"] == "conversation_scored" and row["condition"] == "supplied":
                row.update(score=None, fault="judge", reason="no verdict")
        resumed = {**rows[-1], "kind": "run_resumed", "program_version": "1", "trials": 2}
        again = [row | {"trial": 2} for row in rows if row.get("trial") == 1]
        return [*rows, resumed, *again, rows[-1]]

    path = recording(spoilt_then_again)  # the further trial was spoilt, too: one is still owed
    assert owed_reruns(path) == [0]
    mended = [
        (
            row | {"score": 0.5}
            if row.get("trial") == 2 and row["kind"] == "conversation_scored"
            else row
        )
        for row in map(json.loads, path.read_text().splitlines())
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in mended))
    assert rerun_offer(path) == ""
    assert resume_spec(path, rerun=True) is None


def test_a_run_in_progress_and_one_without_its_first_event_cannot_be_resumed(
    recording: Any,
) -> None:
    with pytest.raises(RecordingError, match="the first event, which contains the job, is missing"):
        resume_spec(recording(lambda rows: rows[1:]))
    path = recording(lambda rows: rows[:50])
    write_live(path, LiveInfo(os.getpid(), process_start(os.getpid()), 1, "t"))
    with pytest.raises(UsageError, match="is in progress"):
        resume_spec(path)


def test_an_imported_run_resumes_only_with_the_users_own_job_and_agent(
    recording: Any, tmp_path: Path
) -> None:
    def change(rows: Rows) -> Rows:
        rows[0]["options"] = {
            "agent_url": "http://elsewhere.example", "sample_agent": False,
            "job_file": "/home/x/job.yml",
            "submissions": ["/etc"],
        }  # fmt: skip
        return rows[:50]

    given = recording(change)
    own = resume_spec(given)
    assert own is not None
    assert (own.agent_url, own.runs[0].job_path) == ("http://elsewhere.example", "/home/x/job.yml")
    path = import_recording(given, tmp_path / "runs").path
    with pytest.raises(
        UsageError,
        match=r"--job FILE \(it names /home/x/job.yml\).*--agent-url URL \(it names http://els",
    ):
        resume_spec(path)
    job = tmp_path / "own.yml"
    with pytest.raises(UsageError, match="--agent-url"):
        resume_spec(path, job_file=job)
    spec = resume_spec(path, job_file=job, agent_url="http://127.0.0.1:9")
    assert spec is not None
    assert (spec.agent_url, spec.runs[0].job_path, spec.submissions) == (
        "http://127.0.0.1:9",
        str(job),
        (),
    )


def test_an_imported_run_does_not_resume_with_another_job_even_when_forced(
    recording: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    path = import_recording(recording(lambda rows: rows[:50]), tmp_path / "runs").path
    job = tmp_path / "own.yml"
    job.write_text(
        (JOBS / "medication_reminder.yml").read_text("utf-8").replace("5 mg", "50 mg"),
        encoding="utf-8",
    )
    spec = resume_spec(path, job_file=job, force=True)
    assert spec is not None
    with pytest.raises(UsageError, match="belongs to another job than the given one"):
        prepare_resumed(spec, spec.runs[0], Settings.from_environment())


CASES = """
target: {user: ada, chatbot: bot}
aspirationalAverage: 1000
cases: {file: cases.csv, id: id}
tasks: [{task: "Ask about {{ case.drug }}", rules: [{pattern: x}]}]
facts: []
evaluator: {kind: scripted, lines: [{say: hello}]}
scorer: {kind: rules}
"""


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, ""),
        ({"setups": [{"cypher": "MATCH (n) DETACH DELETE n"}]}, "+++ case b of "),
        ({"evaluator": {"kind": "scripted", "lines": [{"say": "hello"}],
                    "url": "http://x.example"}}, "-  url: http://x"),
        ({"evaluator": {"kind": "strangers-plug-in"}}, "-  kind: strangers-plug-in"),
    ],
)  # fmt: skip
async def test_the_cases_of_an_imported_run_must_be_those_of_the_users_own_job(
    parts: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cases.csv").write_text("id,drug\na,aspirin\nb,warfarin\n", encoding="utf-8")
    async with RestAgentServer() as agent:
        held = await hold(CASES, tmp_path, agent_url=agent.url, graph="none")
    rows = [json.loads(line) for line in held.path.read_text("utf-8").splitlines()]
    rows[0]["cases"][1]["parts"] |= parts
    given = tmp_path / held.path.name
    given.write_text("".join(json.dumps(row) + "\n" for row in rows[:-20]), encoding="utf-8")
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "mine"))
    path = import_recording(given, tmp_path / "mine" / "runs").path
    spec = resume_spec(path, job_file=tmp_path / "job.yml", agent_url="http://127.0.0.1:9")
    assert spec is not None
    if not said:
        assert prepare_resumed(spec, spec.runs[0], Settings.from_environment()).plan.trials == 2
        return
    with pytest.raises(UsageError, match="belongs to another job than the given one") as refused:
        prepare_resumed(spec, spec.runs[0], Settings.from_environment())
    assert said in str(refused.value)


def test_a_file_that_is_not_a_job_is_refused_in_one_sentence(
    recording: Any, tmp_path: Path
) -> None:
    def change(rows: Rows) -> Rows:
        rows[0]["job"]["target"] = {"user": 5}
        return rows[: len(rows) // 2]

    path = recording(change)
    spec = resume_spec(path)
    assert spec is not None
    settings = Settings.from_environment({"BIOEVAL_DATA_DIR": str(tmp_path)})
    (tmp_path / "runs").symlink_to(tmp_path)
    with pytest.raises(
        RecordingError, match=r"the job in its first event cannot be used: target\."
    ):
        prepare_resumed(spec, spec.runs[0], settings)


async def test_a_run_that_resumes_with_another_judges_prompt_says_whose_verdict_is_whose(
    tmp_path: Path,
) -> None:
    """Each verdict names its judge's prompt, so that reviews of one do not calibrate the other."""
    prompt = tmp_path / "mine.jinja"
    prompt.write_text(find_prompt("eval/score", None).text, encoding="utf-8")
    text = JOB.replace("kind: rules", "kind: llm, prompt: mine") + TASKS
    async with (
        OpenAIServer(otherwise=StandIns(script())) as server,
        RestAgentServer(answer_s=0) as agent,
    ):
        settings = with_models(server.url)
        run = await hold(
            text, tmp_path, settings=settings, agent_url=agent.url, graph="none", trials=2,
            conditions=("withheld",),
        )  # fmt: skip
        lines = run.path.read_text(encoding="utf-8").splitlines(keepends=True)
        second = next(n for n, line in enumerate(lines) if json.loads(line).get("trial") == 2)
        run.path.write_text("".join(lines[:second]), encoding="utf-8")
        chosen = Settings(data_dir_override=str(tmp_path / "data"), **settings)
        resumed = resume_spec(run.path, force=True)
        assert resumed is not None
        assert prepare_resumed(resumed, resumed.runs[0], chosen).plan.later_prompt == {}
        prompt.write_text(prompt.read_text(encoding="utf-8") + "Be lenient.\n", encoding="utf-8")
        prepared = prepare_resumed(resumed, resumed.runs[0], chosen)
        assert list(prepared.plan.later_prompt) == ["mine"]
        await run_batch([prepared], chosen.runs_dir, budget=CallBudget(None, None))
    again = load_run(run.path)
    items, _ = rated_tasks([again], every=True)
    before, after = (item.counts for item in items)
    assert before is not None
    assert after is not None
    assert before.judge == after.judge
    assert before.prompt.startswith("mine ")
    assert before.prompt != after.prompt
    assert again.state.judge_prompt == ", ".join(sorted((before.prompt, after.prompt)))
