"""Batches in the real program: many jobs, models and trials with one agent of limited capacity."""

from __future__ import annotations

import asyncio
import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.forked import completed
from tests.integration.program import environment, events_of, of_kind
from tests.servers.rest_agent import RestAgentServer

JOB = """
target: {user: ada, chatbot: bot}
aspirationalAverage: 1000
maxTurns: 8
evaluator:
  kind: scripted
  lines: [{say: "Please make a note."}, {say: "And another one."}]
scorer: {kind: rules}
facts: ["The user lives in Sydney"]
tasks:
  - task: Have a note made
    rules: [{pattern: "made a note"}]
assertions:
  - expression: evaluation.failureCount == 0
"""
CALLS_IN_A_CONVERSATION = 3


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "notes.yml"
    path.write_text(JOB, encoding="utf-8")
    return path


async def run(
    server: RestAgentServer, data_dir: Path, *arguments: object
) -> subprocess.CompletedProcess[str]:
    words = (
        "run",
        *map(str, arguments),
        "--agent-url",
        server.url,
        "--graph",
        "none",
        "--headless",
    )
    return await asyncio.to_thread(completed, *words, env=environment(data_dir))


def recordings(data_dir: Path) -> list[list[dict[str, Any]]]:
    return [events_of(path) for path in sorted((data_dir / "runs").glob("*.jsonl"))]


@pytest.mark.long
async def test_every_conversation_of_a_batch_is_run_though_the_agent_rate_limits(
    job: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second.yml"
    second.write_text(JOB, encoding="utf-8")
    async with RestAgentServer(at_once=2) as server:
        done = await run(
            server, tmp_path, job, second, "--model", "small", "--model", "large", "--repeat", 3,
            "--concurrency", 8, "--json",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert [(r["job"], r["score"]) for r in results] == [("notes", 1.0)] * 2 + [("second", 1.0)] * 2
    assert server.sessions == 4 * 2 * 3
    assert server.messages == server.sessions * CALLS_IN_A_CONVERSATION
    assert {body["model"] for body in server.received} == {"small", "large"}
    assert server.refused > 0
    runs = recordings(tmp_path)
    assert len(runs) == 4
    assert len({events[0]["batch_id"] for events in runs}) == 1
    assert {events[0]["concurrency"] for events in runs} == {8}
    failures = [event for events in runs for event in of_kind(events, "request_failed")]
    assert len(failures) == server.refused, "recorded"
    assert not any(event["counted"] for event in failures), "and not the agent's"
    assert any(event["code"] == "slowed" for events in runs for event in of_kind(events, "warned"))


async def test_a_gate_checks_thresholds_and_writes_its_files(job: Path, tmp_path: Path) -> None:
    out = {name: tmp_path / name for name in ("out.xml", "out.json", "out.md")}
    arguments = ("--junit", out["out.xml"], "--json", out["out.json"], "--md", out["out.md"])
    async with RestAgentServer() as server:
        met = await run(
            server, tmp_path, job, *arguments, "--fail-under", "supplied:0.9,withheld:0.5"
        )
        assert met.returncode == 0, met.stderr
        assert "✓ notes · with the facts: score 1.00, the threshold is 0.9" in met.stdout
        missed = await run(
            server,
            tmp_path,
            job,
            *arguments,
            "--repeat",
            2,
            "--min-pass-k",
            "3:0.9",
            "--fail-on-assertion",
        )
        assert missed.returncode == 3, "three trials are needed for pass^3"
        below = await run(server, tmp_path, broken(job), *arguments, "--fail-on-assertion")
        assert below.returncode == 1, below.stderr
    suites = ET.parse(out["out.xml"]).getroot()
    assert suites.tag == "testsuites"
    assert int(suites.attrib["failures"]) >= 2
    report = json.loads(out["out.json"].read_text(encoding="utf-8"))
    assert report["gate"]["exit_code"] == 1
    assert report["runs"][0]["job"] == "broken"
    assert "Below the threshold" in out["out.md"].read_text(encoding="utf-8")


def broken(job: Path) -> Path:
    path = job.with_name("broken.yml")
    path.write_text(JOB.replace("failureCount == 0", "failureCount == 7"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fail-under", "maybe:0.5"], "not a condition"),
        (["--fail-under", "2"], "between 0 and 1"),
        (["--min-pass-k", "2"], "K:SHARE"),
        (["--junit", "no/such/folder/out.xml"], "does not exist"),
    ],
)
async def test_errors_in_a_gate_are_reported_before_anything_is_sent(
    job: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    async with RestAgentServer() as server:
        done = await run(server, tmp_path, job, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert server.sessions == 0


async def test_a_dry_run_sends_nothing(job: Path, tmp_path: Path) -> None:
    async with RestAgentServer() as server:
        done = await run(server, tmp_path, job, "--dry-run", "--json", "--repeat", 5)
        shown = await run(server, tmp_path, job, "--dry-run")
    (estimate,) = json.loads(done.stdout)
    assert estimate["conversations"] == 10
    assert estimate["roles"]["agent"] == {
        "model": "", "host": server.url.removeprefix("http://"), "calls": 40,
        "most_calls": 40 * 4 * 2,
        "cost": None, "most_cost": None, "why_unknown": "the agent's own cost is unknown",
        "options": {},
    }  # fmt: skip
    assert "unknown" in shown.stdout
    assert server.sessions == 0
    assert not (tmp_path / "runs").exists()


async def test_hosts_are_listed_before_the_first_message(job: Path, tmp_path: Path) -> None:
    async with RestAgentServer() as server:
        done = await run(server, tmp_path, job)
    assert (
        done.stderr.splitlines()[0]
        == f"transcripts are sent to: {server.url.removeprefix('http://')}"
    )


async def test_max_calls_stops_the_run_and_it_can_be_resumed(job: Path, tmp_path: Path) -> None:
    async with RestAgentServer() as server:
        done = await run(server, tmp_path, job, "--repeat", 3, "--max-calls", 7)
        assert done.returncode == 3
        assert (server.messages, server.sessions) == (7, 3), "no further call is made"
        run_id = next((tmp_path / "runs").glob("*.jsonl")).stem
        assert f"runs resume {run_id}" in " ".join(done.stderr.split())
        resumed = await asyncio.to_thread(
            completed, "runs", "resume", run_id[-4:], "--json", env=environment(tmp_path)
        )
    assert resumed.returncode == 0, resumed.stderr
    result = json.loads(resumed.stdout)
    assert (result["status"], result["score"]) == ("completed", 1.0)
    assert len(result["conditions"]["supplied"]["trials"]) == 3
    assert server.sessions == 3 + 4, "only the conversation that was under way is held again"
    (events,) = recordings(tmp_path)
    assert [event["kind"] for event in events].count("run_resumed") == 1


@pytest.fixture
def sensitive(job: Path) -> Path:
    job.write_text(JOB + "sensitive: true\n", encoding="utf-8")
    return job


async def test_a_sensitive_job_connects_to_this_machine_only(
    sensitive: Path, tmp_path: Path
) -> None:
    async with RestAgentServer() as server:
        here = await run(server, tmp_path, sensitive)
        assert here.returncode == 0, here.stderr
        server.url = "http://agent.example.org"
        elsewhere = await run(server, tmp_path, sensitive)
    assert elsewhere.returncode == 2
    assert "only loopback is allowed" in elsewhere.stderr
