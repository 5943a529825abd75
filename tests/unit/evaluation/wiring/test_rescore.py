"""Recorded transcripts rescored by a model on a local server, without the agent."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import RecordingError, UsageError
from bioeval_tui.base.settings import Secret, Settings
from bioeval_tui.evaluation.wiring.rescore import Rescorer
from bioeval_tui.record.events import write_event
from bioeval_tui.record.importing.into_runs import import_recording
from bioeval_tui.record.overlay import read_overlay
from bioeval_tui.record.reading import read_recording
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import load_run
from tests.servers import openai_server as srv
from tests.unit.record.test_versions import GOLDEN


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "20260101-000000-abcd.jsonl"
    path.write_bytes((GOLDEN / "version-1.jsonl").read_bytes())
    return path


def settings(url: str) -> Settings:
    return Settings(openai_api_key=Secret("k"), openai_base_url=url)


def verdict(body: dict[str, Any]) -> srv.Answer:
    """Give each task half, with a quotation that stands in the transcript."""
    said = re.findall(
        r'"role": "assistant", "content": "([^"\\]{10,40})', body["messages"][0]["content"]
    )
    tasks = [
        {
            "task": n,
            "scored": "t",
            "score": 0.5,
            "reason": "Half.",
            "evidence": [said[0] if said else "Hello"],
        }
        for n in (1, 2, 3)
    ]
    return srv.say_json({"tone": 0.5, "tasks": tasks})


async def test_rescoring_with_a_model_records_the_hash_of_its_prompt(recording: Path) -> None:
    before = read_recording(recording)
    async with srv.OpenAIServer(otherwise=verdict) as server:
        rescorer = Rescorer(recording, settings(server.url), judge_model=("another",))
        assert rescorer.hosts == (server.url.removeprefix("http://").removesuffix("/v1"),)
        found = await rescorer.judge_again("ada")
    assert [item.error for item in found] == ["", ""]
    assert len(server.received) == 2
    assert "Sydney" in server.received[0].text, "a judge always gets the facts"
    assert read_recording(recording) == before
    shown = run_document(load_run(recording))["judged_again"]
    assert [(item["judge"], item["author"], item["counts"]) for item in shown] == [
        ("rules", None, False),
        ("asked for another, served stand-in", "ada", True),
    ] * 2
    assert all(
        re.fullmatch(r"[0-9a-f]{64}", i["prompts"]["eval/score"])
        for i in shown
        if not i["recorded"]
    )
    before, after = [item for item in shown if item["condition"] == "supplied"]
    # The parts that no judge decides are as recorded: timing 1, assertions 1; (1 + 2·0.5 + 4) / 7
    assert (before["score"], after["score"]) == (1.0, 0.86)
    assert [task["score"] for task in before["tasks"]] == [1.0, 1.0, 1.0]


async def test_a_judge_without_a_verdict_adds_no_score(recording: Path) -> None:
    async with srv.OpenAIServer(otherwise=lambda body: srv.say("They did well.")) as server:
        found = await Rescorer(recording, settings(server.url), judge_model=("m",)).judge_again(
            "ada"
        )
    assert all("no usable verdict" in item.error for item in found)
    assert read_overlay(recording).events == ()


def test_rescoring_a_sensitive_job_sends_nothing_to_other_machines(recording: Path) -> None:
    rows = list(read_recording(recording).events)
    job = {**rows[0].job, "sensitive": True}  # type: ignore[union-attr]
    rows[0] = rows[0].model_copy(update={"job": job})
    recording.write_bytes(b"".join(map(write_event, rows)))
    with pytest.raises(UsageError, match="only loopback"):
        Rescorer(recording, settings("https://models.example.org/v1"), judge_model=("m",))
    assert Rescorer(recording, settings("http://127.0.0.1:1/v1"), judge_model=("m",)).hosts


def test_rescoring_by_rules_needs_rules_in_the_job(recording: Path) -> None:
    rows = [json.loads(line) for line in recording.read_bytes().splitlines()]
    rows[0]["job"]["tasks"][0]["rules"] = []
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(UsageError, match="rules for every task"):
        Rescorer(recording, settings("http://127.0.0.1:1"), rules=True)


def cut_after_the_first_score(recording: Path) -> bytes:
    whole = recording.read_bytes()
    lines = whole.splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if b'"conversation_scored"' in line)
    recording.write_bytes(b"".join(lines[: first + 1]))
    return whole


def restore(recording: Path, whole: bytes) -> None:
    recording.write_bytes(whole)


async def test_rescoring_reads_the_recording_only_while_nobody_writes_it(recording: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    whole = cut_after_the_first_score(recording)
    async with srv.OpenAIServer(otherwise=verdict) as server:
        rescorer = Rescorer(recording, settings(server.url), judge_model=("another",))
        restore(recording, whole)  # another program finished the run
        assert len(await rescorer.judge_again("ada")) == 2
        await Rescorer(recording, settings(server.url), judge_model=("another",)).judge_again("ben")
        with recording.open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
            with pytest.raises(RecordingError, match="in another process"):
                await rescorer.judge_again("ada")
    numbers = [event.seq for event in read_overlay(recording).events]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > whole.count(b"\n") - 5, "numbered on from the whole recording"


def test_an_imported_recordings_prompt_is_read_only_from_a_folder_that_you_name(
    recording: Path, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "private.jinja").write_text("KEY")
    rows = [json.loads(line) for line in recording.read_bytes().splitlines()]
    rows[0]["options"] = {"job_file": str(private / "job.yml")}
    rows[0]["job"]["scorer"] = {"kind": "llm", "prompt": "private.jinja"}
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (private / "job.yml").write_text(json.dumps(rows[0]["job"]))  # JSON is YAML, too
    mine = replace(settings("http://127.0.0.1:1"), data_dir_override=str(tmp_path))
    imported = import_recording(recording, mine.runs_dir).path
    for path in (imported, recording):  # the second was never imported: `judge-test` takes a file
        with pytest.raises(UsageError, match=r"came from elsewhere.*--job FILE"):
            Rescorer(path, mine, judge_model=("m",))
        assert Rescorer(path, mine, judge_model=("m",), job_file=private / "job.yml").hosts
    imported.with_suffix(".imported").unlink()
    assert Rescorer(imported, mine, judge_model=("m",)).hosts, "a run of one's own"
