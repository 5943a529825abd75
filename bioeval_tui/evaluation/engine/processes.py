"""The processes that this program starts: engines, and the agents that belong to it.

An engine (`start_engine`) outlives the terminal that started it, which only follows its recording;
the screens and `cli/show_run.py` start it so. The sample agent and the local model are started by
an engine (`wiring/prepare.py`), and end with it, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from bioeval_tui.base import installation
from bioeval_tui.base.errors import UnavailableError, UsageError
from bioeval_tui.base.files import below, open_own, private_dir
from bioeval_tui.base.isolation import module_command, program_command
from bioeval_tui.base.portable import WITHOUT_CONSOLE
from bioeval_tui.base.settings import Settings, plain_environment
from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec, Intent
from bioeval_tui.record.events import RunEnded
from bioeval_tui.record.reading import run_events
from bioeval_tui.record.runs import recording_path

INSIST_S = 8.0
"""How long an engine may take to end before it is told so more firmly."""

AGENT_START_S = 30.0


def start_engine(spec: EngineSpec, settings: Settings) -> list[FollowedRun]:
    """Start one engine process for a batch and return a view of each of its runs, in order.

    The engine checks the jobs.

    Raises:
        UsageError: the folders of runs and logs cannot be created, or the log not be written.
    """
    for folder in (settings.runs_dir, settings.logs_dir):
        make_folder(folder)
    paths = [recording_path(settings.runs_dir, run.run_id) for run in spec.runs]
    earlier_ends = [count_ends(path) if spec.resume and path.exists() else 0 for path in paths]
    # One engine has one log, however many runs: it is called as the first of them.
    log = settings.logs_dir / f"{paths[0].stem}.log"
    spec_path = _spec_path(log)
    # A screen follows this engine, and a person can type on it.
    replace(spec, plays=True).write(spec_path)
    with os.fdopen(_open_log(log), "ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            program_command("engine", str(spec_path)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            creationflags=WITHOUT_CONSOLE,
            env={**os.environ, "BIOEVAL_DATA_DIR": str(settings.data_dir)},
        )
    return [
        FollowedRun(path, process, log, ends=ends)
        for path, ends in zip(paths, earlier_ends, strict=True)
    ]


def _open_log(log: Path) -> int:
    try:
        return open_own(below(log.parent, log.name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        raise UsageError(f"{log} cannot be written: {error.strerror}") from None


def count_ends(path: Path) -> int:
    """Return how many times a run has ended; a resumed run continues after its end."""
    return sum(isinstance(event, RunEnded) for event in run_events(path))


def make_folder(path: Path) -> None:
    """Create a folder that only its owner can read. Raises `UsageError`."""
    try:
        private_dir(path)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be created: {error.strerror}; set BIOEVAL_DATA_DIR to another folder"
        ) from None


async def stop_run(view: FollowedRun) -> None:
    """Cancel a run that was started from here, and wait until its engine and servers have ended."""
    process = view.process
    if process is None or process.poll() is not None:
        return
    # Cancelling one run of a batch would only let the next one start; an engine that has just
    # started listens to none.
    if view.batch_id is not None or (
        view.ended is None and await view.send(Intent("cancel")) is not None
    ):
        process.terminate()
    for insist in (process.terminate, process.kill):
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(process.wait, INSIST_S)
            break
        insist()
    await asyncio.to_thread(process.wait)
    if view.log is not None:
        _spec_path(view.log).unlink(missing_ok=True)  # an engine stopped at once has not read it


def _spec_path(log: Path) -> Path:
    return log.with_suffix(".spec.json")


def sample_agent(arguments: Sequence[str]) -> AbstractAsyncContextManager[str]:
    """Run the sample agent in its own process; yields its URL.

    Raises:
        UnavailableError: it did not come up.
    """
    return _agent("the sample agent", program_command("agent", "--port", "0", *arguments))


def local_model() -> AbstractAsyncContextManager[str]:
    """Run a small language model in its own process, on a free port of 127.0.0.1; yields its URL.

    Raises:
        UsageError: its packages are missing.
        UnavailableError: it did not come up.
    """
    installation.need_local_model()
    return _agent(
        "the local model", module_command("bioeval_tui.sample.local_model", "--slots", "1")
    )


@contextlib.asynccontextmanager
async def _agent(name: str, command: Sequence[str]) -> AsyncIterator[str]:
    """Run an agent that says its URL in its first line, and ends when its stdin closes: also when
    this process dies.
    """
    process = await asyncio.create_subprocess_exec(
        *command, "--exit-with-stdin",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=None,
        start_new_session=True, env=plain_environment(keep=("NEO_",)),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), AGENT_START_S)
            url = str(json.loads(line)["url"])
        except (TimeoutError, ValueError, RecursionError, KeyError, TypeError):
            raise UnavailableError(f"{name} did not start; see the log file") from None
        yield clean_line(url)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()
