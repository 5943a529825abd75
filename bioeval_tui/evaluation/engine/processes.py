"""The engine as a process: it outlives the terminal, takes agents with it when it ends, stops at
SIGINT and SIGTERM, and has an event loop that is fair when hundreds of answers arrive at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from bioeval_tui.base import installation
from bioeval_tui.base.errors import UnavailableError, UsageError
from bioeval_tui.base.files import below, open_own, private_dir
from bioeval_tui.base.isolation import code_command, module_command, program_command
from bioeval_tui.base.portable import WITHOUT_CONSOLE
from bioeval_tui.base.settings import Settings, plain_environment
from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec, Intent
from bioeval_tui.record.events import RunEnded
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.runs import recording_path

AGENT_START_S = 30.0
INSIST_S = 8.0
"""How long an engine may take to end before it is told so more firmly."""


def start_engine(spec: EngineSpec, settings: Settings) -> list[FollowedRun]:
    """Start one engine process for a batch and return a view of each of its runs, in order.

    The engine checks the jobs.

    Raises:
        UsageError: the folders of runs and logs cannot be created, or the log not be written.
    """
    for folder in (settings.runs_dir, settings.logs_dir):
        make_folder(folder)
    paths = [recording_path(settings.runs_dir, run.run_id) for run in spec.runs]
    ends = [count_ends(path) if spec.resume and path.exists() else 0 for path in paths]
    log = settings.logs_dir / f"{paths[0].stem}.log"
    spec_path = _spec_path(log)
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
        FollowedRun(path, process, log, ends=passed)
        for path, passed in zip(paths, ends, strict=True)
    ]


def _open_log(log: Path) -> int:
    try:
        return open_own(below(log.parent, log.name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        raise UsageError(f"{log} cannot be written: {error.strerror}") from None


def count_ends(path: Path) -> int:
    """Return how many times a run has ended; a resumed run continues after its end."""
    return sum(isinstance(event, RunEnded) for event in read_recording(path).events)


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


STOP_S = 2.0
"""Processor time after which a run that does not stop is stuck.

On a busy machine it gets less of it; see `WAIT_S`.
"""

WAIT_S = 15.0
"""Time after which a run that does not stop is killed, however little processor time it got."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

# It ends when the pipe closes, because this process ended or does not need it any more. The signals
# may be sent to every process of a group or container, this one included.
_WATCH = """
import os, select, signal, sys, time
signals = {signal.SIGINT, signal.SIGTERM}
for number in (*signals, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
received = b""
while signals.isdisjoint(received):
    received = os.read(0, 64) or sys.exit()
def used():
    try:
        fields = open("/proc/" + sys.argv[1] + "/stat").read().rpartition(")")[2].split()
    except OSError:  # another system: as if it had been busy all the time
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
stuck, late = used() + float(sys.argv[2]), time.monotonic() + float(sys.argv[3])
while used() < stuck and time.monotonic() < late:
    if select.select([0], [], [], 0.1)[0] and not os.read(0, 64):
        sys.exit()
os.kill(int(sys.argv[1]), signal.SIGKILL)
os.write(2, os.fsencode(sys.argv[4]))
"""


@contextlib.contextmanager
def stopping_at_signals(stop: Callable[[], None], advice: str) -> Iterator[None]:
    """Call `stop` in the running event loop at SIGINT and SIGTERM.

    If the block has not ended after `STOP_S` or `WAIT_S`, this process is killed, and `advice` is
    in the sentence on stderr (not on Windows). Outside the main thread, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    with _killed_if_late(advice):
        before = {
            number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
            for number in SIGNALS
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextlib.contextmanager
def _killed_if_late(advice: str) -> Iterator[None]:
    # Python writes only to sockets there, and the event loop needs that
    if sys.platform == "win32":
        yield
        return
    read, write = os.pipe()
    try:
        os.set_blocking(write, False)
        watch = _watching(read, advice)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            if watch is not None:
                watch.kill()
                watch.wait()
    finally:
        os.close(read)
        os.close(write)


def _watching(read: int, advice: str) -> subprocess.Popen[bytes] | None:
    sentence = f"error: the run was too busy to stop, so it was killed; {advice}\n"
    command = code_command(_WATCH, str(os.getpid()), str(STOP_S), str(WAIT_S), sentence)
    try:
        return subprocess.Popen(  # noqa: S603 - our own code, no shell
            command,
            stdin=read,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=plain_environment(),
        )
    except OSError:  # no resources: the loop alone stops the run
        return None


ANSWERS_AT_ONCE = 2
"""Number of sockets that are served before timers and other tasks get a turn."""

OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""Events and answers have no reference cycles, so collect garbage rarely; the default of 700 costs
a batch a tenth of its time.
"""

Result = TypeVar("Result")


class FairSelector(selectors.DefaultSelector):
    """Returns ready sockets a few at a time, each once, before polling the system again.

    asyncio serves all ready sockets before it checks timers: with 200 answers that takes a fifth of
    a second, in which no timeout fires, no pause takes effect and no other conversation continues.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[tuple[selectors.SelectorKey, int]] = deque()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return up to `ANSWERS_AT_ONCE` ready sockets."""
        if not self._waiting:
            self._waiting.extend(super().select(timeout))
        given: list[tuple[selectors.SelectorKey, int]] = []
        while self._waiting and len(given) < ANSWERS_AT_ONCE:
            key, ready = self._waiting.popleft()
            # It may have been closed, or is waiting for something else by now.
            if self.get_map().get(key.fd) is key:
                given.append((key, ready))
        return given


def fair_loop() -> asyncio.AbstractEventLoop:
    """Return a new fair loop; on Windows the default one, because only that can start processes."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop(FairSelector())


def run_fairly(main: Coroutine[object, object, Result]) -> Result:
    """Run a batch to its end, like `asyncio.run`. This process then collects garbage less often."""
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
    with asyncio.Runner(loop_factory=fair_loop) as runner:
        return runner.run(main)
