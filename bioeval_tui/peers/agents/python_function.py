"""An agent in Python: a function of an installed package or of a folder given with `--code`
(`target.protocol: python`), or one passed to `bioeval_tui.evaluation`.

It is called with each message, in the process that runs the conversations or, with `target.python`,
in another interpreter: one process for each conversation, which runs `function_calls` as a script
and leads a group of its own, all of which ends with the conversation. What comes from it is not
trusted. A function that is not `async` runs in a thread. An exception counts as the agent's
failure.
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
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.peer_limits import MAX_ANSWER_BYTES, MAX_TEXT
from bioeval_tui.base.settings import function_environment
from bioeval_tui.base.terminal import say
from bioeval_tui.base.text import ExcessiveJsonError, clean, clean_line, clean_value, parse_json
from bioeval_tui.jobs.models import TargetConfig
from bioeval_tui.peers import function_calls, python_code, spending, traces
from bioeval_tui.peers.agents.connection import StateUrl
from bioeval_tui.peers.function_calls import LAST_S, Conversation, FunctionCalls, FunctionError
from bioeval_tui.peers.seams import AgentTerms, Delta, Generation, PeerError, Reply, is_cancelled
from bioeval_tui.peers.timeouts import timeouts_of
from bioeval_tui.record.participants import Role
from bioeval_tui.record.spans import known_sum
from bioeval_tui.record.tool_calls import OWN_ID, call_event, parse_arguments, result_event

Result = TypeVar("Result")

_TAIL = 4_000
"""How much of the end of stderr is kept, in bytes."""


def require_function(target: TargetConfig, python: Path, folders: Sequence[Path]) -> None:
    """Load the job's function in another interpreter, and end that again.

    Raises:
        UsageError: the interpreter cannot be started, or cannot load the function within the
            agent's timeout.
    """
    reference = target.function or ""
    python_code.locate(reference, folders, elsewhere=True)
    name = clean_line(reference, 100)
    whole_s = timeouts_of(target.timeout_ms / 1000 if target.timeout_ms else None).whole
    asked, answer = _encode(_first(reference, folders, Conversation("", "", "", None, {}))), b""
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
        _require_loaded(_parse_line(answer))
    except FunctionError as error:
        raise UsageError(clean_line(f"{name}{error}", 600)) from None


class FunctionProcess:
    """Calls one conversation's function in another interpreter, as `FunctionCalls` does in this
    one.
    """

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
        """Start the process, load the function, and call its `start`, if it has one.

        Raises `FunctionError`.
        """
        if self._process is None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *_command(self._python), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=function_environment(), start_new_session=True, limit=MAX_ANSWER_BYTES,
                )  # fmt: skip
            except OSError as error:
                raise FunctionError(_not_started(self._python, error)) from None
            self._pump = asyncio.create_task(self._forward())
            async with self._or_killed():
                self._write(self._first)
                _require_loaded(_parse_line(await self._line()))
        await self._ask({"do": "start"})

    async def answer(
        self, message: str, traceparent: str, tell: Callable[[dict[str, Any]], None]
    ) -> str | None:
        """Call the function; see `FunctionCalls.answer`. Raises `FunctionError`."""
        answer = await self._ask(
            {"do": "answer", "message": message, "traceparent": traceparent}, tell
        )
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
        """End the process: it has a moment to send its last spans, unless this task is
        cancelled.
        """
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
                message = _parse_line(line)
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
        """Send a request, without waiting until it is read: a process that is stuck may never read
        it.
        """
        process = self._process
        if process is None or process.stdin is None or self._killed:
            raise FunctionError(": its process has ended")
        process.stdin.write(_encode(request))  # if it died, reading tells how

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

    async def _forward(self) -> None:
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


def _encode(request: dict[str, Any]) -> bytes:
    return json.dumps(request).encode() + b"\n"


def _parse_line(line: bytes) -> dict[str, Any]:
    try:
        message = parse_json(line)
    except ExcessiveJsonError as error:
        raise FunctionError(f" answered with JSON {error}") from None
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
    ended = f": its process ended ({how})"
    if lines:
        ended += f": {clean_line(lines[-1], 300)}"
    return ended


def _kill_group(leader: subprocess.Popen[bytes] | asyncio.subprocess.Process) -> None:
    """Kill a process and what it started; on Windows, the process alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            leader.kill()
        else:
            # Not `kill`, which would take the exit code from asyncio.
            os.killpg(leader.pid, signal.SIGKILL)


_Piece = str | list[dict[str, Any]]
"""A text of an answer, or events."""


class _Inbox:
    """What a function tells while it answers, from any thread, in order."""

    def __init__(self) -> None:
        self.tokens: list[tuple[int, int]] = []
        self._queue: asyncio.Queue[_Piece | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._length = 0

    def receive(self, message: dict[str, Any]) -> None:
        """Take what the function tells.

        Raises:
            FunctionError: it has the wrong form, or the answer is too long.
        """
        piece = _read_report(message)
        if isinstance(piece, str):
            self._length += len(piece)
            if self._length > MAX_TEXT:
                raise FunctionError(f" answered more than {MAX_TEXT:,} characters")
        # A function that is not async runs in a thread, and an asyncio queue belongs to its loop.
        # From the loop itself it is delivered at once: later, it could come after the end of the
        # answer.
        if threading.get_ident() == self._thread:
            self._deliver(piece)
        else:
            self._loop.call_soon_threadsafe(self._deliver, piece)

    def _deliver(self, piece: _Piece | tuple[int, int]) -> None:
        if isinstance(piece, tuple):
            self.tokens.append(piece)
        elif piece:
            self._queue.put_nowait(piece)

    def end(self) -> None:
        """Mark the end of the answer, after the reports of other threads, whose calls are waiting
        in the loop.
        """
        self._loop.call_soon(self._queue.put_nowait, None)

    async def next(self) -> _Piece | None:
        """Return the next piece; None at the end."""
        return await self._queue.get()

    def token_sums(self) -> tuple[int | None, int | None]:
        """Return all tokens in and out; None if the function told of none."""
        return known_sum(count for count, _ in self.tokens), known_sum(
            count for _, count in self.tokens
        )


class PythonAgent:
    """An `Agent` for one conversation.

    Its output goes to stderr, because a report may go to stdout, unless a Python program passed the
    function itself.
    """

    def __init__(self, terms: AgentTerms) -> None:
        """Raises `UsageError` when the function cannot be loaded."""
        target, timeouts = terms.target, timeouts_of(terms.timeout_s)
        reference = target.function or ""
        self._name = clean_line(reference, 100)
        self._session_id = uuid.uuid4().hex
        conversation = Conversation(
            self._session_id, target.user, target.chatbot, terms.named_model, dict(target.options)
        )
        self._calls: FunctionCalls | FunctionProcess
        if terms.python is not None:
            self._calls = FunctionProcess(reference, terms.python, terms.code, conversation)
        else:
            function = terms.function or python_code.load(reference, terms.code, "message")
            self._calls = FunctionCalls(function, conversation)
        self.runs_here = isinstance(self._calls, FunctionCalls)
        """Whether the function runs in this process, which it can block."""
        self._state = StateUrl(target.object_context_url, timeouts)
        self._whole_s = timeouts.whole
        self._printing = (
            python_code.printing_elsewhere if terms.function is None else contextlib.nullcontext
        )

    async def open(self) -> str:
        """Call the function's `start`, if it has one, and return the session id.

        Raises `PeerError`.
        """
        async with self._limited(": its start did not finish"):
            with self._printing():
                await self._outcome(asyncio.create_task(self._calls.start()))
        return self._session_id

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Call the function; yield its text and events as they arrive and, last, the `Reply`.

        Raises `PeerError`.
        """
        inbox = _Inbox()
        texts: list[str] = []
        events: list[dict[str, Any]] = []
        first_token: float | None = None
        started = time.monotonic()
        call = asyncio.create_task(self._call(content, inbox))
        ends = asyncio.get_running_loop().time() + self._whole_s
        try:
            while (piece := await self._next(inbox, ends)) is not None:
                if isinstance(piece, list):
                    events += piece
                    for event in piece:
                        yield Generation(event)
                    continue
                first_token = first_token or time.monotonic()
                texts.append(piece)
                yield Delta(piece)
            ended = time.monotonic()
            returned = await self._outcome(call)
        except BaseException:
            if inbox.tokens:  # they were paid for, although there is no reply that could carry them
                spending.report(*inbox.token_sums())
            raise
        finally:
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await call
        answer = "".join(texts) + clean(returned or "")
        with self._blaming():
            await self._calls.said("user", content)
            await self._calls.said("assistant", answer)
        yield Reply(answer, started, ended, first_token, tuple(events), *inbox.token_sums())

    async def _next(self, inbox: _Inbox, ends: float) -> _Piece | None:
        try:
            async with asyncio.timeout_at(ends):
                return await inbox.next()
        except TimeoutError:
            message = f"{self._name} did not finish its answer within {self._whole_s:g} s"
            raise PeerError("agent", message) from None

    async def _call(self, content: str, inbox: _Inbox) -> str | None:
        """Call the function, mark its end in the inbox, and return its result. What it prints goes
        where the class says.

        Raises `PeerError`, which blames the function for its failure.
        """
        try:
            with self._blaming(), self._printing():
                return await self._calls.answer(content, traces.traceparent(), inbox.receive)
        finally:
            inbox.end()

    async def _outcome(self, call: asyncio.Task[Result]) -> Result:
        """Return the result of the function's own task.

        Raises:
            PeerError: the function's own code cancelled it.
        """
        try:
            return await call
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            raise PeerError("agent", f"{self._name} raised CancelledError") from None

    @contextlib.contextmanager
    def _blaming(self) -> Iterator[None]:
        """Convert the function's failure to a `PeerError` that names it."""
        try:
            yield
        except FunctionError as error:
            raise PeerError("agent", clean_line(f"{self._name}{error}", 500)) from error

    @contextlib.asynccontextmanager
    async def _limited(self, late: str) -> AsyncIterator[None]:
        """The same, for what must end within the time for an answer; `late` says what did not."""
        try:
            async with asyncio.timeout(self._whole_s):
                with self._blaming():
                    yield
        except TimeoutError:
            raise PeerError("agent", f"{self._name}{late} within {self._whole_s:g} s") from None

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context that the function set, or the one at the job's URL.

        Raises `PeerError`.
        """
        async with self._limited(" did not tell its state"):
            kept = await self._calls.observe()
        if kept is None:
            return await self._state.read(self._session_id)
        cleaned: dict[str, Any] = clean_value(kept)
        return cleaned

    async def seed_text(self, text: str) -> None:
        """Raise `PeerError`: a function has no knowledge service."""
        raise PeerError(
            "knowledge", f"{self._name} is a function and does not accept texts", status=404
        )

    async def seed_history(self, role: Role, content: str) -> bool:
        """Add a seed message to the conversation that the function sees. Raises `PeerError`."""
        with self._blaming():
            await self._calls.said(role, content)
        return True

    async def aclose(self) -> None:
        """End the function's own process, if it has one."""
        if isinstance(self._calls, FunctionProcess):
            await self._calls.aclose()


def _read_report(given: Any) -> _Piece | tuple[int, int]:
    """Return what a function told: text that it yielded, tokens, or events as they are recorded.

    Raises:
        FunctionError: it has another form; it comes from another process, perhaps.
    """
    match given:
        case {"piece": str(text)}:
            return clean(text)
        case {"tokens": [int(tokens_in), int(tokens_out)]}:
            return tokens_in, tokens_out
        case {"event": dict(event)}:
            return [clean_value(event)]
        case {"call": {"name": str(name), "arguments": given, "id": str(told_id), **result}}:
            call_id = told_id or f"{OWN_ID}{uuid.uuid4().hex[:12]}"
            events = [call_event(name, _arguments(given), call_id)]
            if "output" in result:
                failed = result.get("failed") is True
                events.append(result_event(result["output"], call_id, failed=failed))
            return events
    raise FunctionError(
        " told something that is no text, tool call, number of tokens or JSON object"
    )


def _arguments(given: Any) -> Any:
    if given is None:
        return {}
    if isinstance(given, str):
        if given.strip()[:1] in ("", "{", "["):
            return parse_arguments(given)
        return {"arguments": given}
    return given
