"""Failures of this machine: disk, folder, clock, signals, `kill -9`, two programs on one folder."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.evaluation.conversation import plan
from tests.integration.program import events_of

from .peers import Agent, Request, serving
from .program import Program, Running, conversations

REQUIRED = os.environ.get("BIOEVAL_REQUIRE_REAL") == "1"
KILLS = int(os.environ.get("BIOEVAL_KILLS", "5"))
"""At how many points of a run it is killed."""


@contextmanager
def small_disk(folder: Path, size: str, options: str = "") -> Iterator[Path]:
    """Put a real file system of a few pages on `folder`; skip where that is not allowed, fail where
    it must be.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700{options}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        (pytest.fail if REQUIRED else pytest.skip)(
            f"no small disk can be mounted here: {mounted.stderr.strip()}"
        )
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write until nothing more goes in."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def whole(events: list[dict[str, Any]]) -> bool:
    """Say whether no event is missing or twice."""
    return [event["seq"] for event in events] == [*range(1, len(events) + 1)]


def answers(path: Path) -> int:
    return sum(
        e["kind"] == "message_completed" and e["role"] == "assistant" for e in events_of(path)
    )


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="no limit can be set on another process here"
)
def test_a_run_waits_on_a_full_disk_until_there_is_room(program: Program) -> None:
    agent = Agent(hold=threading.Event())
    with serving(agent), Running(program, agent.url) as run:
        run.wait_for(lambda: len(agent.asked) == 2, "the second message")
        size = run.recording.stat().st_size
        limits = resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (size + 100, limits[1]))
        agent.hold.set()
        run.wait_for(lambda: "the run is waiting" in run.said, "the run to say that it waits")
        assert agent.sessions == ["s1"], "no further conversation is begun"
        assert run.recording.stat().st_size == size + 100
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, limits)
        code, result = run.result()
    assert (code, result["score"]) == (0, 1.0)
    events = events_of(run.recording)
    assert whole(events)
    warned = [event["message"] for event in events if event["kind"] == "warned"]
    assert "record-to" in warned[0], "who reads the recording later learns of it, too"
    assert warned[1] == "the recording continues"
    assert len(agent.answered) == answers(run.recording)


def test_a_run_on_a_full_disk_can_continue_in_another_folder(
    program: Program, tmp_path: Path
) -> None:
    agent = Agent(hold=threading.Event())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with (
        small_disk(tmp_path / "runs", "64k") as runs,
        serving(agent),
        Running(program, agent.url) as run,
    ):
        run.wait_for(lambda: len(agent.asked) == 2, "the second message")
        fill(runs / "filler")
        agent.hold.set()
        run.wait_for(lambda: "the run is waiting" in run.said, "the run to say that it waits")
        assert agent.sessions == ["s1"]
        program.call_beside("runs", "record-to", run.recording.stem, str(runs), code=2)
        program.call_beside("runs", "record-to", run.recording.stem, str(elsewhere), code=0)
        code, result = run.result()
        assert (code, result["score"]) == (0, 1.0)
        assert run.recording.resolve().parent == elsewhere
        events = events_of(run.recording)
        assert whole(events)
        assert [e["action"] for e in events if e["kind"] == "operator_acted"] == ["record_to"]
        assert len(agent.answered) == answers(run.recording)
        (runs / "filler").unlink()
        assert program.call("runs", "show", run.recording.stem).code == 0
        assert program.call("runs", "delete", run.recording.stem, "--yes").code == 0
        assert not [*elsewhere.iterdir()], "deleted for good"


@pytest.mark.parametrize("below", ["data", "runs"])
def test_a_read_only_data_folder_is_reported(below: str, program: Program, tmp_path: Path) -> None:
    agent = Agent()
    data = tmp_path / "data"
    data.mkdir()
    folder = data if below == "data" else data / "runs"
    job = program.job()
    program.set("BIOEVAL_DATA_DIR", str(data))
    with small_disk(folder, "64k"), serving(agent):
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        done = program.run(agent.url, job)
    assert done.code == 2
    (sentence,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert str(folder) in sentence
    assert "Read-only file system" in sentence
    assert not agent.received, "nothing is sent that could not be recorded"


@pytest.mark.parametrize(
    "jump",
    [
        lambda n: timedelta(hours=-n),
        lambda n: timedelta(days=-1 if n % 2 else 1),
        lambda n: timedelta(days=n > 30),
    ],
    ids=["an hour back each time", "a day to and fro", "a day forward in mid-run"],
)
def test_setting_the_clock_changes_no_latency_and_no_order(
    jump: Callable[[int], timedelta], program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter(range(10_000))

    class Back(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2026, 11, 21, 12, tzinfo=UTC) + jump(next(moments))

    monkeypatch.setattr(plan, "datetime", Back)
    agent = Agent()
    with serving(agent):
        done = program.run(agent.url, program.job())
    assert (done.code, done.scored()["score"]) == (0, 1.0)
    latencies = [e["latency_ms"] for e in done.events if e.get("latency_ms") is not None]
    assert len(latencies) == 4
    assert all(0 < latency < 10_000 for latency in latencies)
    assert all(e["duration_ms"] > 0 for e in done.events if e["kind"] == "conversation_ended")
    run_id = done.result["run_id"]
    assert program.call("runs", "show", run_id).code == 0
    assert run_id in program.call("runs", "list").out


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_cancels_a_run_cleanly(name: str, program: Program) -> None:
    agent = Agent(hold=threading.Event())
    with serving(agent), Running(program, agent.url) as run:
        run.wait_for(lambda: len(agent.asked) == 2, "the second message")
        run.process.send_signal(getattr(signal, name))
        code, result = run.result()
    assert (code, result["status"]) == (130, "cancelled")
    events = events_of(run.recording)
    assert whole(events)
    assert events[-1]["kind"] == "run_ended"
    (ended,) = [e for e in events if e["kind"] == "conversation_ended"]
    assert (ended["reason"], ended["fault"]) == ("cancelled", "none")
    assert "runs resume" in run.said
    agent = Agent()
    with serving(agent):
        again = program.call(
            "runs", "resume", run.recording.stem, "--agent-url", agent.url, "--json"
        )
    assert (again.code, again.result["score"]) == (0, 1.0)


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="no limit can be set on another process here"
)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_run_that_waits_for_a_full_disk_can_be_cancelled(name: str, program: Program) -> None:
    agent = Agent(hold=threading.Event())
    with serving(agent), Running(program, agent.url) as run:
        run.wait_for(lambda: len(agent.asked) == 2, "the second message")
        limits = resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE)
        full = (run.recording.stat().st_size + 100, limits[1])
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, full)
        agent.hold.set()
        run.wait_for(lambda: "the run is waiting" in run.said, "the run to say that it waits")
        run.process.send_signal(getattr(signal, name))
        assert run.process.wait(timeout=300) == 130
    assert "the last events could not be written" in run.said
    assert "defect" not in run.said
    agent = Agent()
    with serving(agent):
        again = program.call(
            "runs", "resume", run.recording.stem, "--agent-url", agent.url, "--json"
        )
    assert (again.code, again.result["score"]) == (0, 1.0)


def test_a_suspended_engine_continues(program: Program) -> None:
    agent = Agent(hold=threading.Event())
    with serving(agent), Running(program, agent.url, timeout_s=1.5) as run:
        run.wait_for(lambda: len(agent.asked) == 2, "the second message")
        run.process.send_signal(signal.SIGSTOP)
        # longer than the agent may take: the stop itself is what is tested
        threading.Event().wait(2.0)
        agent.hold.set()
        run.process.send_signal(signal.SIGCONT)
        code, result = run.result()
    assert (code, result["status"]) == (0, "completed")
    events = events_of(run.recording)
    assert whole(events)
    assert [e["reason"] for e in events if e["kind"] == "conversation_ended"] == ["signed_off"] * 2
    assert result["score"] == 1.0, "the agent is not blamed for what it did not do"
    (warned,) = [e["message"] for e in events if e["kind"] == "warned"]
    assert "did not run for" in warned
    assert "(it was stopped, or the machine was asleep)" in warned
    assert "its latency does not count" in warned


def test_two_programs_can_share_a_data_folder(program: Program) -> None:
    agent = Agent()
    with serving(agent), Running(program, agent.url) as one, Running(program, agent.url) as other:
        found = [one.result(), other.result()]
    assert [code for code, _ in found] == [0, 0]
    ids = {result["run_id"] for _, result in found}
    assert len(ids) == 2
    listed = program.call("runs", "list", "--json").out
    assert all(run_id in listed for run_id in ids)
    assert all(whole(events_of(program.data_dir / "runs" / f"{run_id}.jsonl")) for run_id in ids)


class Deadly(Agent):
    """Kills the program that asks it: at the request of a number, before or after its answer went
    out.
    """

    process: subprocess.Popen[str] | None = None
    at = 0
    before_answer = False
    delay_s = 0.0

    async def before(self, request: Request) -> None:
        await super().before(request)
        if self.before_answer:
            self.strike()

    async def after(self, request: Request) -> None:
        await super().after(request)
        if not self.before_answer:
            self.strike()

    def strike(self) -> None:
        if len(self.received) == self.at and self.process is not None:
            threading.Event().wait(self.delay_s)  # some way into what the program does next
            self.process.kill()


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Program, dict[str, Any], int]]:
    """What the run says when nobody kills it, and how many requests that takes."""
    agent = Agent()
    with pytest.MonkeyPatch.context() as patch, serving(agent):
        program = Program(tmp_path_factory.mktemp("undisturbed"), patch, None)
        with Running(program, agent.url, "--repeat", "2") as run:
            assert run.result()[0] == 0
        yield program, conversations(events_of(run.recording)), len(agent.received)


@pytest.mark.parametrize("point", range(KILLS))
def test_a_killed_run_loses_nothing_and_resumes_to_the_same_result(
    point: int, undisturbed: tuple[Program, dict[str, Any], int], program: Program
) -> None:
    _, expected, requests = undisturbed
    drawn = random.Random(f"kill {point}")
    agent = Deadly()
    agent.at, agent.before_answer = drawn.randint(1, requests), drawn.random() < 0.5
    agent.delay_s = drawn.choice([0.0, 0.001, 0.003, 0.01])
    with serving(agent):
        with Running(program, agent.url, "--repeat", "2") as run:
            agent.process = run.process
            run.process.wait(300)
        recorded = events_of(run.recording)
        assert whole(recorded), "what is there is whole"
        said = [e for e in recorded if e["kind"] == "message_completed" and e["role"] == "user"]
        sent = [e["content"] for e in said if not e["signs_off"]]
        assert sent[: len(agent.asked)] == agent.asked, (
            "every message was in the file before it was sent"
        )
        assert answers(run.recording) >= len(agent.answered) - 1, (
            "only the message in flight may be missing"
        )
        agent.process = None
        done = program.call("runs", "resume", run.recording.stem, "--json")
    assert done.code == 0, done.err
    assert conversations(done.events) == expected
    if run.process.returncode == -signal.SIGKILL and done.out:
        assert done.result["score"] == 1.0
