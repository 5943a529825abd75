"""One run of the whole command line in this process: argv in, exit code, words and recording out.

In this process, because it is quick, and because tasks, threads, files and child processes that were left
behind can be counted here.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.cli import main
from tests.integration.program import events_of

TIMEOUT_S = 0.25
LONGEST_WAIT_S = 0.05
JOB = """
target: {{user: ada, chatbot: notes, timeoutMs: {timeout_ms:g}}}
aspirationalAverage: 10000
maxTurns: 8
facts: [The appointment is on Monday.]
evaluator: {{kind: {evaluator}, lines: [{{say: "Please note my appointment with the dentist."}}]}}
scorer: {{kind: {judge}}}
tasks:
  - task: Have the appointment noted
    acceptanceCriteria: The chatbot says that it made a note
    rules: [{{pattern: made a note}}]
"""


@dataclass(frozen=True)
class Outcome:
    """What a run left: its exit code, what it printed, its events, and its result as `--json` gives it."""

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

    def __init__(self, data_dir: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
        self.data_dir = data_dir
        self._patch = monkeypatch
        self._capture = capfd
        for name in [*os.environ]:
            if name.startswith(("BIOEVAL_", "OPENAI_", "NEO_")) and name != "BIOEVAL_REQUIRE_REAL":
                monkeypatch.delenv(name)
        monkeypatch.setenv("BIOEVAL_DATA_DIR", str(data_dir))
        monkeypatch.setenv("BIOEVAL_MODEL_TIMEOUT_S", str(TIMEOUT_S))
        monkeypatch.setenv("BIOEVAL_LONGEST_WAIT_S", str(LONGEST_WAIT_S))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        monkeypatch.chdir(data_dir)

    def job(self, evaluator: str = "scripted", judge: str = "rules", **changes: str) -> Path:
        """Write the job file; `changes` replaces texts in it."""
        text = JOB.format(timeout_ms=TIMEOUT_S * 1000, evaluator=evaluator, judge=judge)
        for old, new in changes.items():
            text = text.replace(old, new)
        path = self.data_dir / "job.yml"
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, agent_url: str, job: Path, *more: str, models_url: str = "") -> Outcome:
        """Run the job, with a bar of 0.5 for each condition, and see that nothing is left behind."""
        if models_url:
            self._patch.setenv("OPENAI_BASE_URL", f"{models_url}/v1")
        arguments = [
            "run",
            str(job),
            "--agent-url",
            agent_url,
            "--graph",
            "none",
            "--headless",
            "--json",
            *more,
        ]
        return self.call(*arguments, "--fail-under", "withheld:0.5,supplied:0.5")

    def call(self, *arguments: str) -> Outcome:
        """Run a command, and see that nothing is left behind."""
        before = left_open()
        self._patch.setattr("sys.argv", ["bioeval-tui", *arguments])
        with pytest.raises(SystemExit) as leaving:
            main()
        out, err = self._capture.readouterr()
        assert "Traceback" not in out + err
        assert "defect" not in out + err, err
        until = time.monotonic() + 5
        while left_open() - before and time.monotonic() < until:
            time.sleep(0.01)  # the peers see a moment later that they were left
        assert not (left := left_open() - before), f"left behind: {left}"
        assert not [*self.data_dir.glob("runs/*.live")], "nobody owns the run any more"
        recordings = sorted(self.data_dir.glob("runs/*.jsonl"))
        events = events_of(recordings[-1]) if recordings else []
        assert [event["seq"] for event in events] == [*range(1, len(events) + 1)], "no event is missing"
        assert isinstance(leaving.value.code, int)
        return Outcome(leaving.value.code, out, err, events)


def left_open() -> Counter[str]:
    """Return what this process holds: threads, child processes, sockets and files, by what they are."""
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
