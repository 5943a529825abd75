"""Child processes: an engine that outlives the terminal, and agents that die with their engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from bioeval_tui import installation
from bioeval_tui.errors import UnavailableError
from bioeval_tui.isolation import module_command, program_command
from bioeval_tui.portable import WITHOUT_CONSOLE
from bioeval_tui.settings import plain_environment
from bioeval_tui.text import clean_line

AGENT_START_S = 30.0


def spawn_engine(arguments: Sequence[str], log: Path, data_dir: Path) -> subprocess.Popen[bytes]:
    """Start the program in its own session, with the same data folder, and its output in `log`."""
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own program, no shell
            program_command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            creationflags=WITHOUT_CONSOLE,
            env={**os.environ, "BIOEVAL_DATA_DIR": str(data_dir)},
        )


def sample_agent(arguments: Sequence[str] = ()) -> AbstractAsyncContextManager[str]:
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
    return _agent("the local model", module_command("bioeval_tui.sample.local_model", "--slots", "1"))


@contextlib.asynccontextmanager
async def _agent(name: str, command: Sequence[str]) -> AsyncIterator[str]:
    """Run an agent that says its URL in its first line, and ends when its stdin closes: also when this process dies."""
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
        except (TimeoutError, ValueError, KeyError, TypeError):
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
