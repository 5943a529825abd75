"""A run survives its terminal and its screen: resized, killed, closed; a screen survives its
engine.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.record.runs import LiveInfo, read_live
from tests.integration.program import children_of, events_of, recording_in, wait_for
from tests.terminals import Terminal

from .peers import ASKED, Agent, serving
from .program import PATIENT_S, Program

WORDS = ASKED.split()[-1].encode()


class Screen(Terminal):
    """A command of the program in a terminal, with the settings of this test; `unheard`: deaf to
    SIGHUP, as by nohup.
    """

    def __init__(self, *arguments: str, columns: int = 100, unheard: bool = False) -> None:
        # Its size is what the terminal says, not what the environment of a test worker does.
        plain = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
        }
        deaf = ["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"] if unheard else []
        command = [*deaf, sys.executable, "-m", "bioeval_tui", *arguments]
        environment = {**plain, "TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
        super().__init__(command, environment, columns=columns, rows=30)


def run_arguments(program: Program, agent: Agent) -> list[str]:
    return [
        "run",
        str(program.job(timeout_s=PATIENT_S)),
        "--agent-url",
        agent.url,
        "--graph",
        "none",
    ]


def engine_of(program: Program) -> tuple[Path, LiveInfo]:
    """Return the recording and who writes it, awaited."""

    def look() -> tuple[Path, LiveInfo] | None:
        path = recording_in(program.data_dir)
        info = read_live(path) if path else None
        return (path, info) if path and info else None

    return wait_for(look, "an engine")


def gone(info: LiveInfo) -> Callable[[], bool]:
    return lambda: not info.alive()


def last(path: Path) -> dict[str, Any]:
    return events_of(path)[-1]


def test_a_run_survives_a_tiny_a_killed_and_a_closed_terminal(program: Program) -> None:
    agent = Agent(hold=threading.Event())
    with serving(agent):
        with Screen(*run_arguments(program, agent)) as first:
            first.shows(WORDS)
            recording, engine = engine_of(program)
            first.resize(20, 5)
            first.shows("elapsed …".encode())
            first.resize(100, 30)
            first.shows(WORDS)
            first.process.kill()
        assert engine.alive(), "the engine goes on without its screen"
        with Screen("watch", recording.stem) as second:
            second.shows(WORDS)
            second.close()
            assert second.left() != 0
        assert engine.alive(), "the engine goes on without the terminal"
        assert agent.hold is not None
        agent.hold.set()
        wait_for(gone(engine), "the engine to end")
    events = events_of(recording)
    assert last(recording)["status"] == "completed"
    assert [event["seq"] for event in events] == [*range(1, len(events) + 1)]
    assert [e["reason"] for e in events if e["kind"] == "conversation_ended"] == ["signed_off"] * 2


def test_a_screen_ends_when_its_terminal_closes_without_a_signal(program: Program) -> None:
    agent = Agent(hold=threading.Event())
    with serving(agent):
        with Screen(*run_arguments(program, agent), unheard=True) as screen:
            screen.shows(WORDS)
            recording, engine = engine_of(program)
            screen.close()
            assert screen.left() == 128 + signal.SIGHUP
        assert engine.alive(), "the run goes on"
        assert agent.hold is not None
        agent.hold.set()
        wait_for(gone(engine), "the engine to end")
    assert last(recording)["status"] == "completed"


def test_the_screen_reports_a_killed_engine_and_the_run_can_be_resumed(program: Program) -> None:
    agent = Agent(hold=threading.Event())
    with serving(agent):
        with Screen(*run_arguments(program, agent)) as screen:
            screen.shows(WORDS)
            recording, engine = engine_of(program)
            os.kill(engine.pid, signal.SIGKILL)
            screen.shows(b"engine is gone")
            screen.press(b"q")
            screen.left()
        assert agent.hold is not None
        agent.hold.set()
        done = program.call("runs", "resume", recording.stem, "--json")
    assert (done.code, done.result["score"]) == (0, 1.0)


def test_a_demo_ends_with_its_terminal(program: Program) -> None:
    with Screen("demo") as demo:
        recording, engine = engine_of(program)
        started = wait_for(
            lambda: children_of(engine.pid), "the sample agent, and what watches over signals"
        )
        demo.close()
        demo.left()
        wait_for(gone(engine), "the engine to end")
        wait_for(
            lambda: not any(Path(f"/proc/{one}").exists() for one in started),
            "its processes to end",
        )
    # The screen's pace does not hold the engine up: where the machine was quick, it had ended.
    assert last(recording)["status"] in ("cancelled", "completed")
    assert not [*program.data_dir.glob("runs/*.live")]


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="no limit can be set on another process here"
)
def test_the_screen_reports_a_full_disk(program: Program) -> None:
    agent = Agent(hold=threading.Event())
    with serving(agent), Screen(*run_arguments(program, agent), columns=160) as screen:
        screen.shows(WORDS)
        recording, engine = engine_of(program)
        limits = resource.prlimit(engine.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(
            engine.pid, resource.RLIMIT_FSIZE, (recording.stat().st_size + 100, limits[1])
        )
        assert agent.hold is not None
        agent.hold.set()
        screen.shows(b"runs record-to")
        resource.prlimit(engine.pid, resource.RLIMIT_FSIZE, limits)
        wait_for(gone(engine), "the engine to end")
        assert last(recording)["status"] == "completed"
