"""The real program over real HTTP: what a new user does first."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.evaluation.conversation.intents import send_intent
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.record.runs import new_run_ids, process_start, read_live, recording_path
from bioeval_tui.sample.paths import GUESSING
from tests.integration.program import (
    children_of,
    events_of,
    kinds_of,
    recording_in,
    run,
    sample_agent,
    started,
    wait_for,
)

JOBS = Path(__file__).resolve().parents[2] / "sample_jobs"


def engine_spec(data_dir: Path, **changes: Any) -> tuple[Path, Path]:
    """Write what the engine process of a demo is told; return that file and the recording's
    path.
    """
    (run_id,) = new_run_ids(1, data_dir / "runs")
    spec = EngineSpec(
        runs=(RunSpec(run_id, str(JOBS / "medication_reminder.yml"), GUESSING),),
        sample_agent=True,
        graph="embedded",
        **changes,
    )
    path = data_dir / "spec.json"
    spec.write(path)
    return path, recording_path(data_dir / "runs", run_id)


@pytest.fixture(scope="module")
def demo_with_credentials(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Return how a demo ended that was given credentials, which it does not need, and its data
    folder.
    """
    data_dir = tmp_path_factory.mktemp("demo")
    secrets = {
        "OPENAI_API_KEY": "marker-openai",
        "NEO_PASSWORD": "",
        "BIOEVAL_AGENT_API_KEY": "marker-agent",
    }
    done = run("demo", "--headless", "--json", data_dir=data_dir, **secrets)
    assert done.returncode == 0, done.stderr
    return done, data_dir


@pytest.fixture
def demo(
    demo_with_credentials: tuple[subprocess.CompletedProcess[str], Path],
) -> tuple[dict[str, Any], Path]:
    done, data_dir = demo_with_credentials
    return json.loads(done.stdout), data_dir


def test_the_demo_catches_the_agent_that_guesses(demo: tuple[dict[str, Any], Path]) -> None:
    result, _ = demo
    assert result["status"] == "completed"
    assert result["clean"]
    assert result["rehearsal"]
    withheld, supplied = result["conditions"]["withheld"], result["conditions"]["supplied"]
    assert result["score"] == pytest.approx((withheld["score"] + supplied["score"]) / 2, abs=0.0051)
    assert (withheld["score"], supplied["score"]) == (0.5, 1.0)
    (failed,) = [check for check in withheld["assertions"] if check["status"] == "failed"]
    assert failed["title"] == "no reminder is set without a time zone"
    task = withheld["tasks"][0]
    assert "No points for “waited for the time zone before setting a reminder”" in task["reason"]
    assert withheld["facts"] == []
    assert [(fact["fact"], fact["asked"]) for fact in supplied["facts"]] == [(1, True), (2, True)]
    for condition in (withheld, supplied):
        assert condition["end_reason"] == "signed_off"
        assert condition["messages"][0]["role"] == "user"
        assert {check["status"] for check in condition["assertions"]} <= {"passed", "failed"}
        assert all(
            entry["latency_ms"] > entry["first_token_ms"] for entry in condition["latencies"]
        )
        assert condition["parts"].keys() == {"timing", "task", "assertion"}
    checked = [{check["title"] for check in held["assertions"]} for held in (withheld, supplied)]
    assert checked[0] - checked[1] == {"no reminder is set without a time zone"}
    assert "a reminder exists" in checked[1] - checked[0]


@pytest.mark.long
def test_the_sample_agent_guesses_with_the_model_of_that_name(tmp_path: Path) -> None:
    with sample_agent(tmp_path, "--tokens-per-second", "0") as url:
        done = run(
            "run", str(JOBS / "medication_reminder.yml"), "--agent-url", url, "--headless",
            "--json",
            "--model", "careful", "--model", "guessing", data_dir=tmp_path,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    scores = {
        held["model"]: {name: one["score"] for name, one in held["conditions"].items()}
        for held in json.loads(done.stdout)
    }
    assert scores == {
        "careful": {"withheld": 1.0, "supplied": 1.0},
        "guessing": {"withheld": 0.5, "supplied": 1.0},
    }


def test_a_finished_run_can_be_listed_shown_and_explained(
    demo: tuple[dict[str, Any], Path],
) -> None:
    result, data_dir = demo
    (listed,) = json.loads(run("runs", "list", "--json", data_dir=data_dir).stdout)
    assert (listed["run_id"], listed["status"], listed["score"]) == (
        result["run_id"],
        "completed",
        result["score"],
    )
    tag = result["run_id"][-4:]
    shown = run("runs", "show", tag, "--json", data_dir=data_dir)
    assert json.loads(shown.stdout)["conditions"] == result["conditions"]
    asked = run(
        "assert",
        'objectContext.entities.any { it.type == "Reminder" }',
        "--context",
        tag,
        data_dir=data_dir,
    )
    assert (asked.returncode, asked.stdout) == (0, "true\n")
    earlier = run(
        "assert",
        "objectContext.entities.isEmpty()",
        "--context",
        tag,
        "--after-turn",
        "0",
        data_dir=data_dir,
    )
    assert (earlier.returncode, earlier.stdout) == (0, "true\n")


def test_the_headless_demo_reports_on_stderr_and_prints_the_score_card(tmp_path: Path) -> None:
    done = run("demo", "--headless", data_dir=tmp_path)
    assert done.returncode == 0
    assert "mean of both" in done.stdout
    assert "rehearsal" in done.stdout
    card, beside = done.stdout.split("\nbeside it, recorded: ")
    assert "0.50 → 1.00 with the facts" in card
    rows = [line.split() for line in beside.splitlines()]
    assert ["guessing", "0.50", "1.00"] in rows
    assert ["careful", "1.00", "1.00"] in rows
    assert "differs: without the facts, “no reminder is set without a time zone”" in beside
    assert "SURE  no: only a rehearsal" in beside
    assert "user: " in done.stderr
    assert "withheld  user: " not in done.stdout


FOR_A_MODEL = "missed_dose"  # tests/real_model has a model for it


@pytest.mark.parametrize("job", sorted({path.stem for path in JOBS.glob("*.yml")} - {FOR_A_MODEL}))
@pytest.mark.long
def test_each_sample_job_runs_against_an_agent_in_another_process(job: str, tmp_path: Path) -> None:
    with sample_agent(tmp_path, "--tokens-per-second", "0") as url:
        done = run(
            "run",
            str(JOBS / f"{job}.yml"),
            "--agent-url",
            url,
            "--headless",
            "--json",
            data_dir=tmp_path,
        )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["clean"], result["warnings"]
    scores = {name: held["score"] for name, held in result["conditions"].items()}
    # Where the facts are withheld, it is right to ask and then to do nothing.
    assert scores["withheld"] == scores["supplied"] >= 0.9
    statuses = [c["status"] for held in result["conditions"].values() for c in held["assertions"]]
    assert "not_measured" not in statuses, "the agent in the other process uses the same graph"
    assert not [
        c["error"]
        for held in result["conditions"].values()
        for c in held["assertions"]
        if c["error"]
    ]


def test_a_new_job_runs_offline_unchanged_and_is_done_by_an_agent_that_asks(tmp_path: Path) -> None:
    written: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
        ("models.yml", (), ("--rehearsal",)),
        ("offline.yml", ("--offline",), ()),
    ]
    for file, how, options in written:
        name = str(tmp_path / file)
        assert run("new", name, "--yes", *how, data_dir=tmp_path).returncode == 0
        with sample_agent(tmp_path, "--tokens-per-second", "0") as url:
            done = run(
                "run", name, *options, "--agent-url", url, "--headless", "--json", data_dir=tmp_path
            )
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        for held in result["conditions"].values():
            assert [check["status"] for check in held["assertions"]] == ["passed", "passed"]
            assert (held["score"], held["tasks"][0]["passed"]) == (1.0, True)
        assert result["conditions"]["supplied"]["facts"], "the agent asks for the fact"
        assert result["clean"], result["warnings"]


WAY = "start the agent, or give its address with --agent-url, BIOEVAL_AGENT_URL or target.url"


def test_an_unreachable_agent_is_reported_first_and_nothing_is_measured(tmp_path: Path) -> None:
    job = JOBS / "medication_reminder.yml"
    junit = tmp_path / "junit.xml"
    where = ("--agent-url", "http://127.0.0.1:9", "--headless", "--json", "--junit", str(junit))
    done = run("run", str(job), *where, data_dir=tmp_path)
    cause = f"no conversation took place: 127.0.0.1:9 refused the connection; {WAY}"
    for held in json.loads(done.stdout)["conditions"].values():
        assert (held["end_reason"], held["fault"]) == ("agent_failed", "agent")
        assert (held["score"], held["reason"]) == (None, cause)
        assert {(check["status"], check["error"]) for check in held["assertions"]} == {
            ("not_measured", cause)
        }
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert f"what you can do: {WAY}" in done.stderr, "of the answer in JSON, a person sees nothing"
    assert junit.read_text().count(f'<error message="{cause}"') == junit.read_text().count(
        "<testcase"
    )
    (listed,) = run("runs", "list", data_dir=tmp_path).stdout.splitlines()[1:]
    assert "✗ agent failed" in listed
    assert listed.rstrip().endswith(" agent")
    card = run("runs", "show", listed.split()[0], data_dir=tmp_path).stdout
    assert card.count("refused the connection") == card.count(WAY) == 1


def test_a_killed_engine_leaves_an_interrupted_run_with_all_completed_messages(
    tmp_path: Path,
) -> None:
    spec, recording = engine_spec(tmp_path, typing_delay_s=1.0)
    with started("engine", str(spec), data_dir=tmp_path) as engine:
        events = wait_for(
            lambda: [e for e in events_of(recording) if e["kind"] == "message_completed"][3:],
            "four messages",
            engine,
        )
        live = read_live(recording)
        assert live is not None
        assert live.pid == engine.pid
        assert run_status(tmp_path) == "running"
        os.kill(engine.pid, signal.SIGKILL)
        engine.wait()
    (listed,) = json.loads(run("runs", "list", "--json", data_dir=tmp_path).stdout)
    completed = [event for event in events_of(recording) if event["kind"] == "message_completed"]
    assert listed["status"] == "interrupted"
    assert listed["messages"] == len(completed) >= len(events) + 3
    shown = run("runs", "show", listed["run_id"], data_dir=tmp_path)
    assert shown.returncode == 0


def test_another_process_can_pause_step_and_cancel_a_run(tmp_path: Path) -> None:
    spec, recording = engine_spec(tmp_path)
    with started("engine", str(spec), data_dir=tmp_path) as engine:
        live = wait_for(lambda: read_live(recording), "the file that says who owns the run", engine)
        assert asyncio.run(send_intent(live, "pause", sender="watcher")) is None
        agent = wait_for(lambda: children_of(engine.pid), "the sample agent's process")
        wait_for(lambda: "state_observed" in kinds_of(recording), "the starting state", engine)
        assert asyncio.run(send_intent(live, "step", "withheld", sender="watcher")) is None
        wait_for(lambda: kinds_of(recording).count("message_completed") == 2, "one turn", engine)
        assert asyncio.run(send_intent(live, "cancel", sender="watcher")) is None
        assert engine.wait(300) == 3
    events = events_of(recording)
    assert [e["action"] for e in events if e["kind"] == "operator_acted"] == [
        "pause",
        "step",
        "cancel",
    ]
    assert {e["sender"] for e in events if e["kind"] == "operator_acted"} == {"watcher"}
    assert events[-1]["kind"] == "run_ended"
    assert events[-1]["status"] == "cancelled"
    assert read_live(recording) is None
    assert not any(process_start(pid) for pid in agent)


@pytest.mark.long
def test_a_terminated_engine_ends_its_run_cleanly(tmp_path: Path) -> None:
    spec, recording = engine_spec(tmp_path, typing_delay_s=0.05)
    with started("engine", str(spec), data_dir=tmp_path) as engine:
        wait_for(lambda: "message_completed" in kinds_of(recording), "a first message", engine)
        engine.terminate()
        engine.wait(300)
    assert events_of(recording)[-1]["status"] == "cancelled"


def test_an_interrupted_headless_run_exits_130(tmp_path: Path) -> None:
    with started("demo", "--headless", data_dir=tmp_path) as demo_:
        recording = wait_for(lambda: recording_in(tmp_path), "a recording")
        wait_for(lambda: "message_completed" in kinds_of(recording), "a first message")
        demo_.send_signal(signal.SIGINT)
        assert demo_.wait(300) == 130
    assert events_of(recording)[-1]["status"] == "cancelled"


def test_credentials_reach_no_file(
    demo_with_credentials: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    done, data_dir = demo_with_credentials
    written = [path for path in data_dir.rglob("*") if path.is_file()]
    assert written
    for path in written:
        assert b"marker-" not in path.read_bytes(), path
    assert "marker-" not in done.stdout + done.stderr


def run_status(data_dir: Path) -> str:
    return str(json.loads(run("runs", "list", "--json", data_dir=data_dir).stdout)[0]["status"])
