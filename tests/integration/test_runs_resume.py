"""Killed and cancelled runs resume; recorded runs are rescored, imported and deleted."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.conversation.intents import send_intent
from bioeval_tui.evaluation.engine.batch import run_batch
from bioeval_tui.evaluation.wiring.resuming import resume_spec
from bioeval_tui.evaluation.wiring.start import prepare_batch
from bioeval_tui.record.runs import overlay_path, read_live
from tests.integration.program import (
    environment,
    events_of,
    kinds_of,
    run,
    sample_agent,
    started,
    wait_for,
)
from tests.integration.test_first_light import JOBS, engine_spec


def conversations(path: Path) -> list[tuple[str, int]]:
    return [
        (e["condition"], e["attempt"])
        for e in events_of(path)
        if e["kind"] == "conversation_started"
    ]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run whose engine was killed in the middle of its second conversation."""
    data_dir = tmp_path_factory.mktemp("killed")
    spec, recording = engine_spec(data_dir, seed=7)
    with started("engine", str(spec), data_dir=data_dir) as engine:
        wait_for(
            lambda: [
                e
                for e in events_of(recording)
                if e["kind"] == "message_completed" and e["condition"] == "supplied"
            ][2:],
            "the second conversation",
            engine,
        )
        os.kill(engine.pid, signal.SIGKILL)
        engine.wait()
    recording.write_bytes(recording.read_bytes() + b'{"kind":"message_comp')
    return data_dir, recording


def test_a_killed_run_resumes_and_ends_like_an_undisturbed_one(
    killed: tuple[Path, Path],
) -> None:
    data_dir, recording = killed
    before = recording.read_bytes().rpartition(b"\n")[0]
    done = run("runs", "resume", recording.stem, "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert recording.read_bytes().startswith(before), "what was recorded stays as it was"
    assert conversations(recording) == [("withheld", 1), ("supplied", 1), ("supplied", 2)]
    undisturbed = json.loads(run("demo", "--headless", "--json", data_dir=data_dir).stdout)
    assert result["status"] == "completed"
    assert result["score"] == undisturbed["score"]
    assert result["clean"]
    for name, held in result["conditions"].items():
        said = [message["content"] for message in held["messages"] if message["role"] == "user"]
        expected = undisturbed["conditions"][name]["messages"]
        # Each run draws its own greeting.
        assert (
            said[1:]
            == [message["content"] for message in expected if message["role"] == "user"][1:]
        )
    again = run("runs", "resume", recording.stem, data_dir=data_dir)
    assert (again.returncode, "already complete" in again.stderr) == (0, True)
    assert kinds_of(recording).count("run_resumed") == 1


def test_a_second_resume_that_was_suspended_at_its_start_destroys_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read, suspended, overtaken by another program that runs the missing conversations, woken
    up.
    """
    data_dir = tmp_path
    assert run("demo", "--headless", "--json", data_dir=data_dir).returncode == 0
    recording = next((data_dir / "runs").glob("*.jsonl"))
    for name, value in environment(data_dir).items():
        monkeypatch.setenv(name, value)
    lines = recording.read_bytes().splitlines(keepends=True)
    scored = next(at for at, line in enumerate(lines) if b'"conversation_scored"' in line)
    recording.write_bytes(b"".join(lines[: scored + 3]))
    settings = Settings.from_environment()
    spec = resume_spec(recording)
    assert spec is not None
    prepared = prepare_batch(spec, settings)
    assert run("runs", "resume", recording.stem, "--headless", data_dir=data_dir).returncode == 0
    finished = recording.read_bytes()
    with pytest.raises(RecordingError, match="already complete"):
        asyncio.run(run_batch(prepared, settings.runs_dir))
    assert recording.read_bytes() == finished
    numbers = [event["seq"] for event in events_of(recording)]
    assert numbers == [*range(1, len(numbers) + 1)]


def test_resuming_a_run_that_only_lacks_its_end_ends_it(tmp_path: Path) -> None:
    data_dir = tmp_path
    assert run("demo", "--headless", "--json", data_dir=data_dir).returncode == 0
    recording = next((data_dir / "runs").glob("*.jsonl"))
    whole = recording.read_bytes()
    assert kinds_of(recording)[-1] == "run_ended"
    ended = events_of(recording)[-1]
    recording.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    done = run("runs", "resume", recording.stem, "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["status"], result["score"]) == ("completed", ended["mean"])
    assert kinds_of(recording)[-2:] == ["run_resumed", "run_ended"]


def test_a_run_in_progress_cannot_be_resumed(tmp_path: Path) -> None:
    spec, recording = engine_spec(tmp_path, typing_delay_s=0.05)
    with started("engine", str(spec), data_dir=tmp_path) as engine:
        wait_for(lambda: "message_completed" in kinds_of(recording), "a first message", engine)
        live = read_live(recording)
        assert live is not None
        # however long the commands take, it has not ended before them
        asyncio.run(send_intent(live, "pause"))
        done = run("runs", "resume", recording.stem, "--headless", data_dir=tmp_path)
        assert done.returncode == 2
        assert "is in progress" in done.stderr
        refused = run("runs", "delete", recording.stem, "--yes", data_dir=tmp_path)
        assert refused.returncode == 2
        asyncio.run(send_intent(live, "cancel"))
        engine.wait(300)


def test_a_changed_job_is_refused_with_a_diff_unless_forced(tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    job.write_text((JOBS / "medication_reminder.yml").read_text(encoding="utf-8"), encoding="utf-8")
    with sample_agent(tmp_path, "--tokens-per-second", "0") as url:
        stopped = run(
            "run", str(job), "--agent-url", url, "--repeat", "2", "--max-calls", "1", "--headless",
            data_dir=tmp_path,
        )  # fmt: skip
        assert stopped.returncode == 3, stopped.stderr
        recording = next((tmp_path / "runs").glob("*.jsonl"))
        job.write_text(
            job.read_text(encoding="utf-8") + "# a comment changes nothing\n", encoding="utf-8"
        )
        changed = job.read_text(encoding="utf-8").replace("It is 5 mg.", "It is 50 mg.")
        one_more = run(
            "runs", "resume", recording.stem, "--max-calls", "1", "--headless", data_dir=tmp_path
        )
        assert one_more.returncode == 3, one_more.stderr
        job.write_text(changed, encoding="utf-8")
        refused = run("runs", "resume", recording.stem, "--headless", data_dir=tmp_path)
        assert refused.returncode == 2
        assert "-    say: It is 5 mg." in refused.stderr
        assert "+    say: It is 50 mg." in refused.stderr
        assert "--force" in refused.stderr
        forced = run("runs", "resume", recording.stem, "--force", "--headless", data_dir=tmp_path)
        assert forced.returncode == 0, forced.stderr
    said = [e["content"] for e in events_of(recording) if e["kind"] == "message_completed"]
    assert "It is 5 mg." in said
    assert "It is 50 mg." not in said, "the run goes on with the job as recorded"
    assert any(
        "the job has changed" in e["message"] for e in events_of(recording) if e["kind"] == "warned"
    )
    assert len(conversations(recording)) == 2 + 4, "twice, the first was cut off after one call"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    data_dir = tmp_path_factory.mktemp("finished")
    done = run("demo", "--headless", "--json", data_dir=data_dir)
    return data_dir, data_dir / "runs" / f"{json.loads(done.stdout)['run_id']}.jsonl"


def test_rescoring_by_rules_keeps_old_and_new_scores(finished: tuple[Path, Path]) -> None:
    data_dir, recording = finished
    before = recording.read_bytes()
    done = run("runs", "rescore", recording.stem, "--rules", "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    again = found["judged_again"]
    assert [(item["condition"], item["recorded"], item["counts"]) for item in again] == [
        ("withheld", True, False), ("withheld", False, True), ("supplied", True, False),
        ("supplied", False, True),
    ]  # fmt: skip
    assert again[0]["score"] == again[1]["score"], "the same judge says the same"
    assert again[1]["author"]
    assert recording.read_bytes() == before
    assert {e["kind"] for e in events_of(overlay_path(recording))} == {
        "transcript_scored",
        "conversation_scored",
    }
    shown = run("runs", "show", recording.stem, data_dir=data_dir)
    assert "judged again: without the facts" in shown.stdout
    as_json: dict[str, Any] = json.loads(
        run("runs", "show", recording.stem, "--json", data_dir=data_dir).stdout
    )
    assert len(as_json["judged_again"]) == 4


def test_rescoring_with_a_model_needs_a_key(finished: tuple[Path, Path]) -> None:
    data_dir, recording = finished
    done = run("runs", "rescore", recording.stem, "--judge-model", "m", data_dir=data_dir)
    assert done.returncode == 2
    assert "OPENAI_API_KEY is not set" in done.stderr


def test_runs_can_be_filtered_imported_and_deleted(
    finished: tuple[Path, Path], tmp_path: Path
) -> None:
    _, recording = finished
    mailed = tmp_path / "mail.jsonl"
    mailed.write_bytes(recording.read_bytes())
    done = run("runs", "import", str(mailed), data_dir=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, recording.stem)

    def listed(*filters: str) -> list[str]:
        return [
            r["run_id"]
            for r in json.loads(run("runs", "list", "--json", *filters, data_dir=tmp_path).stdout)
        ]

    assert (
        listed()
        == listed("--job", "medic", "--since", "1h", "--min-score", "0.5")
        == [recording.stem]
    )
    assert listed("--status", "failed") == []
    assert run("runs", "list", "--since", "soon", data_dir=tmp_path).returncode == 2
    asked = run("runs", "delete", recording.stem, data_dir=tmp_path)
    assert asked.returncode == 2, "nobody can be asked here"
    pruned = run("runs", "prune", "--older-than", "1d", "--yes", data_dir=tmp_path)
    assert pruned.returncode == 0
    assert listed() == [recording.stem]
    would = run("runs", "prune", "--older-than", "0m", "--dry-run", data_dir=tmp_path)
    assert would.stdout.split() == [recording.stem]
    assert run("runs", "prune", "--older-than", "0m", "--yes", data_dir=tmp_path).returncode == 0
    assert listed() == []


def test_the_shell_completes_run_ids(finished: tuple[Path, Path]) -> None:
    import subprocess
    import sys

    data_dir, recording = finished
    asked = {
        "_BIOEVAL_TUI_COMPLETE": "bash_complete",
        "COMP_WORDS": f"bioeval-tui runs show {recording.stem[:4]}",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(
        [sys.executable, "-m", "bioeval_tui"],
        capture_output=True, text=True, timeout=300, env={**environment(data_dir), **asked},
        check=False,
    )  # fmt: skip
    assert f"plain,{recording.stem}" in done.stdout.split()


def test_a_person_can_play_the_user(tmp_path: Path) -> None:
    job = JOBS / "medication_reminder.yml"
    alone = run("run", str(job), "--headless", "--evaluator-model", "human", data_dir=tmp_path)
    assert alone.returncode == 2
    assert "needs a person at the keyboard" in alone.stderr
    spec, recording = engine_spec(tmp_path, plays=True)
    told = json.loads(spec.read_text(encoding="utf-8"))
    told["runs"][0]["job_path"] = str(job)
    told["evaluator_model"] = ["human"]
    spec.write_text(json.dumps(told), encoding="utf-8")
    with started("engine", str(spec), data_dir=tmp_path) as engine:
        for condition in ("withheld", "supplied"):
            for number, words in enumerate(
                ("Does warfarin interact with ibuprofen?", "so long, and thanks for all the fish")
            ):
                wait_for(
                    lambda c=condition, n=number: answers(recording, c) > n,
                    f"answer {number + 1}",
                    engine,
                )
                live = read_live(recording)
                assert live is not None
                assert asyncio.run(send_intent(live, "give_back", condition)) is not None
                assert asyncio.run(send_intent(live, "say", condition, words, sender="ada")) is None
        assert engine.wait(300) == 0
    events = events_of(recording)
    assert events[0]["evaluator"] == "a person"
    assert not [
        event for event in events if event["kind"] == "warned" and "is not used" in event["message"]
    ]
    assert [e["reason"] for e in events if e["kind"] == "conversation_ended"] == ["signed_off"] * 2
    typed = [e for e in events if e["kind"] == "message_completed" and e["role"] == "user"]
    assert not any(event["operator"] for event in typed), (
        "the person is the evaluator, not an operator"
    )
    assert events[-1]["mean"] is not None


def answers(recording: Path, condition: str) -> int:
    return sum(
        e["kind"] == "message_completed"
        and e["role"] == "assistant"
        and e["condition"] == condition
        for e in events_of(recording)
    )


def test_prompts_can_be_left_out_of_a_recording_and_verbose_shows_tool_calls(
    tmp_path: Path,
) -> None:
    text = (JOBS / "medication_reminder.yml").read_text(encoding="utf-8")
    job, silent = tmp_path / "job.yml", tmp_path / "silent.yml"
    job.write_text(text, encoding="utf-8")
    silent.write_text(
        re.sub(r"(?m)^target:\n", "target:\n  recordEvents: false\n", text), encoding="utf-8"
    )
    with sample_agent(tmp_path, "--tokens-per-second", "0") as url:
        asked = ("--agent-url", url, "--headless", "--json")
        kept = run("run", str(job), *asked, "--verbose", data_dir=tmp_path)
        left_out = run("run", str(silent), *asked, data_dir=tmp_path)
    first, second = (
        (tmp_path / "runs" / f"{json.loads(done.stdout)['run_id']}.jsonl").read_text(
            encoding="utf-8"
        )
        for done in (kept, left_out)
    )
    # The first line holds the job, which has a setting of that name.
    assert "systemPrompt" in first.partition("\n")[2]
    assert "systemPrompt" not in second.partition("\n")[2]
    assert "createReminder" in second, "function calls stay: assertions are about them"
    assert '"function":{"name":"createReminder"}' in kept.stderr
    assert "createReminder" not in left_out.stderr
    assert json.loads(kept.stdout)["score"] == json.loads(left_out.stdout)["score"]
