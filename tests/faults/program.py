"""Run the whole command line in this process: arguments in; exit code, output and recording out.

In this process, because it is quick, and because tasks, threads, files and child processes that
were left behind can be counted here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.cli.main import main
from bioeval_tui.evaluation.conversation import standstill
from tests.forked import FORKS, Program as Fork, can_fork, completed
from tests.integration.program import events_of, wait_for

SESSION = re.compile(r"\(s\d+\)")
SHORT_S = 0.4
"""For cells that wait for a time-out."""
TIMEOUT_S = 300.0
"""For the others, which no busy machine may reach."""
LONGEST_WAIT_S = 0.05
OF_TESTS = ("BIOEVAL_REQUIRE_REAL", FORKS)
"""Variables that are the tests' own."""
PATIENT_S = 300.0
"""For runs whose agent is kept waiting by the test."""
JOB = """
target: {{user: ada, chatbot: notes, timeoutMs: {timeout_ms:g}}}
aspirationalAverage: 10000
maxTurns: 8
seed: 7
facts: [The appointment is on Monday.]
evaluator: {{kind: {evaluator}, lines: [{{say: "Please note my appointment with the dentist."}}]}}
scorer: {{kind: {judge}}}
tasks:
  - task: Have the appointment noted
    acceptanceCriteria: The chatbot says that it made a note
    rules: [{{pattern: made a note}}]
"""


def headless(agent_url: str, job: Path) -> list[str]:
    """Return the arguments that run a job without a screen and without a graph."""
    return ["run", str(job), "--agent-url", agent_url, "--graph", "none", "--headless", "--json"]


@dataclass(frozen=True)
class Outcome:
    """What a run left: its exit code, what it printed, its events, and its result as `--json` gives
    it.
    """

    code: int
    out: str
    err: str
    events: list[dict[str, Any]]

    @property
    def result(self) -> dict[str, Any]:
        """The result."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    def of(self, kind: str, condition: str = "withheld") -> list[dict[str, Any]]:
        """Return the events of a kind in a conversation."""
        return [e for e in self.events if e["kind"] == kind and e["condition"] == condition]

    def ended(self, condition: str = "withheld") -> dict[str, Any]:
        """Return how a conversation ended."""
        (event,) = self.of("conversation_ended", condition)
        return event

    def scored(self, condition: str = "withheld") -> dict[str, Any]:
        """Return how a conversation was scored."""
        (event,) = self.of("conversation_scored", condition)
        return event


class Program:
    """Runs the command line; its data is in `data_dir`."""

    def __init__(
        self,
        data_dir: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str] | None,
    ):
        self.data_dir = data_dir
        self.meets_a_bug = False
        """Whether the test puts a bug into the program."""
        self._patch = monkeypatch
        self._capture = capfd
        for name in [*os.environ]:
            if name.startswith(("BIOEVAL_", "OPENAI_", "NEO_")) and name not in OF_TESTS:
                monkeypatch.delenv(name)
        # A busy machine must not look like one that stood still; the cell about that has a process
        # of its own.
        monkeypatch.setattr(standstill, "STILL_S", float("inf"))
        monkeypatch.setattr(standstill, "BLOCKED_S", float("inf"))
        monkeypatch.setenv("BIOEVAL_DATA_DIR", str(data_dir))
        monkeypatch.setenv("BIOEVAL_MODEL_TIMEOUT_S", str(TIMEOUT_S))
        monkeypatch.setenv("BIOEVAL_LONGEST_WAIT_S", str(LONGEST_WAIT_S))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        monkeypatch.chdir(data_dir)

    def models_have(self, seconds: float) -> None:
        """Give the models so long for an answer."""
        self.set("BIOEVAL_MODEL_TIMEOUT_S", str(seconds))

    def job(
        self, evaluator: str = "scripted", judge: str = "rules", timeout_s: float = TIMEOUT_S
    ) -> Path:
        """Write the job file; the agent has `timeout_s` for an answer."""
        text = JOB.format(timeout_ms=timeout_s * 1000, evaluator=evaluator, judge=judge)
        path = self.data_dir / "job.yml"
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, agent_url: str, job: Path, *more: str, models_url: str = "") -> Outcome:
        """Run the job, with a threshold of 0.5 for each condition, and see that nothing is left
        behind.

        The judge is not examined: its requests would come before those that are to fail.
        """
        if models_url:
            self._patch.setenv("OPENAI_BASE_URL", f"{models_url}/v1")
        return self.call(
            *headless(agent_url, job),
            *more,
            "--no-exam",
            "--fail-under",
            "withheld:0.5,supplied:0.5",
        )

    def set(self, name: str, value: str) -> None:
        """Set a variable of the environment."""
        self._patch.setenv(name, value)

    def call_beside(self, *arguments: str, code: int) -> None:
        """Run a command in a process of its own, beside a run that goes on."""
        done = completed(*arguments, env=dict(os.environ))
        assert done.returncode == code, done.stderr

    def call(self, *arguments: str) -> Outcome:
        """Run a command, and see that nothing is left behind."""
        before = left_open()
        self._patch.setattr("sys.argv", ["bioeval-tui", *arguments])
        with pytest.raises(SystemExit) as leaving:
            main()
        assert self._capture is not None
        out, err = self._capture.readouterr()
        assert "Traceback" not in out + err
        assert self.meets_a_bug or "a bug in" not in out + err, err
        assert not (left := left_since(before)), f"left behind: {left}"
        assert not [*self.data_dir.glob("runs/*.live")], "nobody owns the run any more"
        recordings = sorted(self.data_dir.glob("runs/*.jsonl"))
        events = events_of(recordings[-1]) if recordings else []
        assert [event["seq"] for event in events] == [*range(1, len(events) + 1)], (
            "no event is missing"
        )
        assert isinstance(leaving.value.code, int)
        return Outcome(leaving.value.code, out, err, events)


def left_open() -> Counter[str]:
    """Return what this process holds: threads, child processes, sockets and files, by what they
    are.
    """
    found = Counter(f"thread {thread.name}" for thread in threading.enumerate())
    for children in Path("/proc/self/task").glob("*/children"):
        found.update(f"process {pid}" for pid in children.read_text().split())
    for link in Path("/proc/self/fd").iterdir() if Path("/proc/self/fd").exists() else ():
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("socket:"):
            found["socket"] += 1
        elif target.startswith("/") and not target.startswith(("/dev", "/proc")):
            found[f"file {target}"] += 1
    return found


def left_since(before: Counter[str]) -> Counter[str]:
    """Return what this process holds that it did not hold before; peers may see a moment later that
    they were left.
    """
    with contextlib.suppress(AssertionError):
        wait_for(lambda: not left_open() - before, "nothing left behind")
    return left_open() - before


class Running:
    """A headless run in a process of its own. What it says on stderr is in a file."""

    def __init__(
        self, program: Program, agent_url: str, *more: str, timeout_s: float = PATIENT_S
    ) -> None:
        arguments = [*headless(agent_url, program.job(timeout_s=timeout_s)), *more]
        self._said = program.data_dir / "stderr"
        self.process: subprocess.Popen[str]
        if can_fork(os.environ):
            self.process = self._forked(arguments, program.data_dir)
        else:
            with self._said.open("wb") as errors:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "bioeval_tui", *arguments],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
                    cwd=program.data_dir, start_new_session=True,
                )  # fmt: skip
        self._runs = program.data_dir / "runs"

    def _forked(self, arguments: list[str], folder: Path) -> Fork:
        read, write = os.pipe()
        with self._said.open("wb") as errors, Path(os.devnull).open("rb") as nothing:
            descriptors = [nothing.fileno(), write, errors.fileno()]
            process = Fork(arguments, os.environ, folder, descriptors=descriptors)
        os.close(write)
        process.stdout = os.fdopen(read, encoding="utf-8")
        return process

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @property
    def said(self) -> str:
        """What it has said on stderr so far."""
        return self._said.read_text(encoding="utf-8")

    @property
    def recording(self) -> Path:
        """Its recording, awaited."""
        return wait_for(lambda: next(iter(self._runs.glob("*.jsonl")), None), "a recording")

    def wait_for(self, look: Callable[[], Any], what: str) -> None:
        """Wait until `look` finds something; what the process said is shown when it does not."""
        try:
            wait_for(lambda: look() or (self.process.poll() is not None and "ended"), what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said}") from None
        assert look(), f"it ended before {what}: {self.said}"

    def result(self) -> tuple[int, dict[str, Any]]:
        """Wait for the end; return the exit code and what it printed."""
        out, _ = self.process.communicate(timeout=300)
        return self.process.returncode, json.loads(out)


def conversations(events: list[dict[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """Return what was said in the last attempt of each conversation, without the agent's
    session.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    attempts: dict[str, int] = {}
    for event in events:
        if event["kind"] != "message_completed":
            continue
        key = f"{event['condition']} {event['trial']}"
        if event["attempt"] > attempts.get(key, 0):
            attempts[key], found[key] = event["attempt"], []
        found[key].append((event["role"], SESSION.sub("(s)", event["content"])))
    return found
