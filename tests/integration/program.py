"""Start the real program in other processes, and wait for what it writes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.forked import Program, can_fork, completed
from tests.leftovers import MARK

Found = TypeVar("Found")
PATIENCE_S = 300.0


def environment(data_dir: Path) -> dict[str, str]:
    """Return an environment without anybody's settings, its data in `data_dir`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT", MARK)
    }
    return {**kept, "HOME": str(data_dir), "BIOEVAL_DATA_DIR": str(data_dir), "NO_PROXY": "*"}


def run(*arguments: str, data_dir: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the program to its end; `variables` are added to its environment."""
    return completed(*arguments, env={**environment(data_dir), **variables}, timeout=PATIENCE_S)


async def run_job(
    folder: Path, job: dict[str, Any], *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a job, without the facts, from `folder`; its data goes to `folder/data`."""
    (folder / "job.yml").write_text(json.dumps(job))
    command = (
        "run",
        "job.yml",
        "--headless",
        "--json",
        "--graph",
        "none",
        "--condition",
        "withheld",
    )
    return await asyncio.to_thread(
        completed, *command, *options, cwd=folder, env={**environment(folder / "data"), **variables}
    )


@contextmanager
def started(*arguments: str, data_dir: Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a session of its own; whatever is left of it is killed at the end."""
    process: subprocess.Popen[str]
    env = {**environment(data_dir), **variables}
    if can_fork(env):
        process = Program(arguments, env)
    else:
        process = subprocess.Popen(
            [sys.executable, "-m", "bioeval_tui", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=env, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextmanager
def sample_agent(data_dir: Path, *options: str) -> Iterator[str]:
    """Serve the sample agent; gives its URL."""
    with started("agent", "--port", "0", *options, data_dir=data_dir) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]


def wait_for(
    look: Callable[[], Found | None], what: str, process: subprocess.Popen[str] | None = None
) -> Found:
    """Look until something is there. The clock only bounds the wait; it decides no outcome."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        gone = process is not None and process.poll() is not None
        if found := look():
            return found
        if gone:
            assert process is not None
            assert process.stderr is not None
            raise AssertionError(f"the process ended before {what}: {process.stderr.read()}")
        time.sleep(0.01)  # polling another process's file: there is nothing to await
    raise AssertionError(f"not seen in {PATIENCE_S:g} s: {what}")


def events_of(path: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a recording."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1] if line]


def kinds_of(path: Path) -> list[str]:
    """Return the kinds of the events of a recording."""
    return [event["kind"] for event in events_of(path)]


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the events of a kind."""
    return [event for event in events if event["kind"] == kind]


def children_of(parent: int) -> list[int]:
    """Return the processes that live and whose parent is `parent`."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in listed.stdout.splitlines())
    return [
        int(pid) for pid, ppid, state in rows if int(ppid) == parent and not state.startswith("Z")
    ]


def recording_in(data_dir: Path) -> Path | None:
    """Return the newest recording, once there is one."""
    return max((data_dir / "runs").glob("*.jsonl"), default=None)
