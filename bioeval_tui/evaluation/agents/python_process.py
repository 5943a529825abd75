"""An agent's function in another interpreter (`target.python`): one process for each conversation.

The process runs `function_calls` as a script, which says what is sent in both directions. What comes from it is not
trusted. It leads a group of its own, and all of that group ends with the conversation.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation import function_calls, python_code
from bioeval_tui.evaluation.function_calls import LAST_S, Conversation, FunctionError
from bioeval_tui.evaluation.http.client import timeouts_of
from bioeval_tui.evaluation.job.models import TargetConfig
from bioeval_tui.peer_limits import MAX_ANSWER_BYTES
from bioeval_tui.settings import function_environment
from bioeval_tui.terminal import say
from bioeval_tui.text import clean_line, parse_json

_TAIL = 4_000
"""How much of the end of stderr is kept, in bytes."""


def require_function(target: TargetConfig, python: Path, folders: Sequence[Path]) -> None:
    """Load the job's function in another interpreter, and end that again.

    Raises:
        UsageError: the interpreter cannot be started, or cannot load the function within the agent's timeout.
    """
    reference = target.function or ""
    python_code.locate(reference, folders, elsewhere=True)
    name = clean_line(reference, 100)
    whole_s = timeouts_of(target.timeout_ms / 1000 if target.timeout_ms else None).whole
    asked, answer = _line(_first(reference, folders, Conversation("", "", "", None, {}))), b""
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(  # noqa: S603 - an interpreter that the user allowed
                _command(python), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
                env=function_environment(), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise UsageError(f"{name}{_not_started(python, error)}") from None
        too_late = threading.Event()

        def stop() -> None:
            too_late.set()
            _kill_group(process)

        late = threading.Timer(whole_s, stop)
        late.start()
        try:
            with contextlib.suppress(BrokenPipeError), process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(asked)
                process.stdin.flush()
                answer = process.stdout.readline(MAX_ANSWER_BYTES)
        finally:
            late.cancel()
            _kill_group(process)
        if not answer.endswith(b"\n"):
            said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
            why = _ended(process.returncode, said.read())
            if too_late.is_set():
                why = f": it was not loaded within {whole_s:g} s"
            raise UsageError(clean_line(f"{name}{why}", 600))
    try:
        _require_loaded(_read(answer))
    except FunctionError as error:
        raise UsageError(clean_line(f"{name}{error}", 600)) from None


class FunctionProcess:
    """Calls one conversation's function in another interpreter, as `FunctionCalls` does in this one."""

    def __init__(
        self, reference: str, python: Path, folders: Sequence[Path], conversation: Conversation
    ) -> None:
        self._python = python
        self._first = _first(reference, folders, conversation)
        self._process: asyncio.subprocess.Process | None = None
        self._pump: asyncio.Task[None] | None = None
        self._tail = b""
        self._killed = False
        self._number = 0

    async def start(self) -> None:
        """Start the process, load the function, and call its `start`, if it has one. Raises `FunctionError`."""
        if self._process is None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *_command(self._python), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env=function_environment(), start_new_session=True, limit=MAX_ANSWER_BYTES,
                )  # fmt: skip
            except OSError as error:
                raise FunctionError(_not_started(self._python, error)) from None
            self._pump = asyncio.create_task(self._pass_on())
            async with self._or_killed():
                self._write(self._first)
                _require_loaded(_read(await self._line()))
        await self._ask({"do": "start"})

    async def answer(
        self, message: str, traceparent: str, tell: Callable[[dict[str, Any]], None]
    ) -> str | None:
        """Call the function; see `FunctionCalls.answer`. Raises `FunctionError`."""
        answer = await self._ask({"do": "answer", "message": message, "traceparent": traceparent}, tell)
        if answer is not None and not isinstance(answer, str):
            raise FunctionError(_NO_MESSAGE)
        return answer

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context that the function set, if any. Raises `FunctionError`."""
        context = await self._ask({"do": "observe"})
        if context is not None and not isinstance(context, dict):
            raise FunctionError(_NO_MESSAGE)
        return context

    async def said(self, role: str, content: str) -> None:
        """Add a message to those that the function sees."""
        self._write({"do": "said", "role": role, "content": content})

    async def aclose(self) -> None:
        """End the process: it has a moment to send its last spans, unless this task is cancelled."""
        process, task = self._process, asyncio.current_task()
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            if task is None or not task.cancelling():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(2 * LAST_S):  # by then it ends itself
                        await process.wait()
        finally:
            await self._kill()

    async def _ask(
        self, request: dict[str, Any], tell: Callable[[dict[str, Any]], None] | None = None
    ) -> Any:
        self._number += 1
        size = 0
        async with self._or_killed():
            self._write({**request, "number": self._number})
            while True:
                line = await self._line()
                size += len(line)
                if size > MAX_ANSWER_BYTES:
                    raise FunctionError(f" answered with more than {MAX_ANSWER_BYTES:,} bytes")
                message = _read(line)
                if message.get("number") != self._number:
                    continue  # of a thread that went on after an earlier answer
                if "told" in message and tell is not None:
                    tell(message["told"])
                elif "failed" in message or "done" in message:
                    break
                else:
                    raise FunctionError(_NO_MESSAGE)
        if "failed" in message:
            raise FunctionError(str(message["failed"]))
        return message["done"]

    @contextlib.asynccontextmanager
    async def _or_killed(self) -> Any:
        """Kill the process if the block fails: nobody waits for its answer any more."""
        try:
            yield
        except BaseException:
            await self._kill()
            raise

    def _write(self, request: dict[str, Any]) -> None:
        """Send a request, without waiting until it is read: a process that is stuck may never read it."""
        process = self._process
        if process is None or process.stdin is None or self._killed:
            raise FunctionError(": its process has ended")
        process.stdin.write(_line(request))  # if it died, reading tells how

    async def _line(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readline()
        except ValueError:
            raise FunctionError(f" answered with more than {MAX_ANSWER_BYTES:,} bytes") from None
        if not line.endswith(b"\n"):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_S):
                    await self._process.wait()
            await self._kill()
            raise FunctionError(_ended(self._process.returncode, self._tail))
        return line

    async def _kill(self) -> None:
        process, pump = self._process, self._pump
        if process is None or pump is None or self._killed:
            return
        self._killed = True
        if process.stdin is not None:
            process.stdin.close()
        _kill_group(process)
        await process.wait()
        await asyncio.wait({pump}, timeout=LAST_S)  # something that left the group may hold stderr
        pump.cancel()

    async def _pass_on(self) -> None:
        """Show on stderr what the process prints, and keep the end."""
        assert self._process is not None
        assert self._process.stderr is not None
        decoder, rest = codecs.getincrementaldecoder("utf-8")("replace"), ""
        while block := await self._process.stderr.read(1 << 16):
            self._tail = (self._tail + block)[-_TAIL:]
            *lines, rest = (rest + decoder.decode(block)).rsplit("\n", 1)
            with contextlib.suppress(OSError, ValueError):  # nobody may be there to read it
                for text in lines:
                    say(text, err=True)
                if len(rest) > _TAIL:
                    say(rest, err=True)
                    rest = ""
        if rest:
            say(rest, err=True)


_NO_MESSAGE = " sent something else than this program's messages from its process"


def _command(python: Path) -> list[str]:
    # Isolated: neither the working folder nor PYTHONPATH is searched.
    return [str(python), "-I", str(Path(function_calls.__file__).absolute())]


def _first(reference: str, folders: Sequence[Path], conversation: Conversation) -> dict[str, Any]:
    told = ("session_id", "user", "chatbot", "model", "options")
    return {
        "function": reference,
        "folders": [str(folder.absolute()) for folder in folders],
        "conversation": {name: getattr(conversation, name) for name in told},
    }


def _line(request: dict[str, Any]) -> bytes:
    return json.dumps(request).encode() + b"\n"


def _read(line: bytes) -> dict[str, Any]:
    try:
        message = parse_json(line)
    except ValueError:
        raise FunctionError(_NO_MESSAGE) from None
    if not isinstance(message, dict):
        raise FunctionError(_NO_MESSAGE)
    return message


def _require_loaded(answer: dict[str, Any]) -> None:
    if "unusable" in answer:
        raise FunctionError(str(answer["unusable"]))
    if "loaded" not in answer:
        raise FunctionError(_NO_MESSAGE)


def _not_started(python: Path, error: OSError) -> str:
    return f": {clean_line(str(python), 200)} cannot be started: {error.strerror or error}"


def _ended(code: int | None, stderr: bytes) -> str:
    """Return how a process ended, with the last line that it wrote."""
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    how = f"exit code {code}"
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            how = signal.Signals(-code).name
    return f": its process ended ({how})" + (f": {clean_line(lines[-1], 300)}" if lines else "")


def _kill_group(leader: subprocess.Popen[bytes] | asyncio.subprocess.Process) -> None:
    """Kill a process and what it started; on Windows, the process alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            leader.kill()
        else:
            # Not `kill`, which would take the exit code from asyncio.
            os.killpg(leader.pid, signal.SIGKILL)
