"""An agent in Python: a function of an installed package or of a folder given with `--code` (`target.protocol: python`),
or one passed to `bioeval_tui.evaluation`.

It is called with each message, in the process that runs the conversations or, with `target.python`, in a process of
another interpreter; a function that is not `async` runs in a thread. An exception counts as the agent's failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

from bioeval_tui.evaluation import python_code, spending
from bioeval_tui.evaluation.agents.connection import StateUrl
from bioeval_tui.evaluation.agents.python_process import FunctionProcess
from bioeval_tui.evaluation.function_calls import Conversation, FunctionCalls, FunctionError
from bioeval_tui.evaluation.http.client import timeouts_of
from bioeval_tui.evaluation.seams import AgentTerms, Delta, Generation, PeerError, Reply
from bioeval_tui.evaluation.traces import joined
from bioeval_tui.peer_limits import MAX_TEXT
from bioeval_tui.record.names import Role
from bioeval_tui.record.spans import known_sum
from bioeval_tui.record.tool_calls import OWN_ID, call_event, parse_arguments, result_event
from bioeval_tui.text import clean, clean_line, clean_value

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
        piece = _read(message)
        if isinstance(piece, str):
            self._length += len(piece)
            if self._length > MAX_TEXT:
                raise FunctionError(f" answered more than {MAX_TEXT:,} characters")
        # A function that is not async runs in a thread, and an asyncio queue belongs to its loop. From the loop itself
        # it is delivered at once: later, it could come after the end of the answer.
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
        """Mark the end of the answer, after the reports of other threads, whose calls are waiting in the loop."""
        self._loop.call_soon(self._queue.put_nowait, None)

    async def next(self) -> _Piece | None:
        """Return the next piece; None at the end."""
        return await self._queue.get()

    def token_sums(self) -> tuple[int | None, int | None]:
        """Return all tokens in and out; None if the function told of none."""
        return known_sum(count for count, _ in self.tokens), known_sum(count for _, count in self.tokens)


def make_agent(terms: AgentTerms) -> PythonAgent:
    """Return an agent for one conversation. Raises `UsageError` when the function cannot be loaded."""
    target = terms.target
    reference = target.function or ""
    conversation = Conversation(
        uuid.uuid4().hex, target.user, target.chatbot, terms.named_model, dict(target.options)
    )
    timeouts = timeouts_of(terms.timeout_s)
    state = StateUrl(target.object_context_url, timeouts)
    calls: FunctionCalls | FunctionProcess
    if terms.python is not None:
        calls = FunctionProcess(reference, terms.python, terms.code, conversation)
    else:
        function = terms.function or python_code.load(reference, terms.code, "message")
        calls = FunctionCalls(function, conversation)
    name, may_print = clean_line(reference, 100), terms.function is not None
    return PythonAgent(calls, name, conversation.session_id, state, timeouts.whole, may_print=may_print)


class PythonAgent:
    """An `Agent` for one conversation. An answer must be finished within `whole_s` seconds.

    Its output goes to stderr, because a report may go to stdout, unless it `may_print`.
    """

    def __init__(
        self,
        calls: FunctionCalls | FunctionProcess,
        name: str,
        session_id: str,
        state: StateUrl,
        whole_s: float,
        *,
        may_print: bool = False,
    ) -> None:
        self._calls = calls
        self._name = name
        self._session_id = session_id
        self._state = state
        self._whole_s = whole_s
        self._printing = contextlib.nullcontext if may_print else python_code.printing_elsewhere

    async def open(self) -> str:
        """Call the function's `start`, if it has one, and return the session id. Raises `PeerError`."""
        async with self._in_time(": its start did not finish"):
            with self._printing():
                await self._calls.start()
        return self._session_id

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Call the function; yield its text and events as they arrive and, last, the `Reply`. Raises `PeerError`."""
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
            returned = await call
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
        """Call the function, mark its end in the inbox, and return its result. Raises `PeerError`."""
        try:
            with self._blaming(), self._printing():
                return await self._calls.answer(content, joined.traceparent(), inbox.receive)
        finally:
            inbox.end()

    @contextlib.contextmanager
    def _blaming(self) -> Iterator[None]:
        """Convert the function's failure to a `PeerError` that names it."""
        try:
            yield
        except FunctionError as error:
            raise PeerError("agent", clean_line(f"{self._name}{error}", 500)) from error

    @contextlib.asynccontextmanager
    async def _in_time(self, late: str) -> AsyncIterator[None]:
        """The same, for what must end within the time for an answer; `late` says what did not."""
        try:
            async with asyncio.timeout(self._whole_s):
                with self._blaming():
                    yield
        except TimeoutError:
            raise PeerError("agent", f"{self._name}{late} within {self._whole_s:g} s") from None

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context that the function set, or the one at the job's URL. Raises `PeerError`."""
        async with self._in_time(" did not tell its state"):
            kept = await self._calls.observe()
        if kept is None:
            return await self._state.read(self._session_id)
        cleaned: dict[str, Any] = clean_value(kept)
        return cleaned

    async def seed_text(self, text: str) -> None:
        """Raise `PeerError`: a function has no knowledge service."""
        raise PeerError("knowledge", f"{self._name} is a function and does not accept texts", status=404)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Add a seed message to the conversation that the function sees. Raises `PeerError`."""
        with self._blaming():
            await self._calls.said(role, content)
        return True

    async def aclose(self) -> None:
        """End the function's own process, if it has one."""
        if isinstance(self._calls, FunctionProcess):
            await self._calls.aclose()


def _read(given: Any) -> _Piece | tuple[int, int]:
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
            return [clean_value(event, 100_000)]
        case {"call": {"name": str(name), "arguments": given, "id": str(told_id), **result}}:
            call_id = told_id or f"{OWN_ID}{uuid.uuid4().hex[:12]}"
            events = [call_event(name, _arguments(given), call_id)]
            if "output" in result:
                failed = result.get("failed") is True
                events.append(result_event(result["output"], call_id, failed=failed))
            return events
    raise FunctionError(" told something that is no text, tool call, number of tokens or JSON object")


def _arguments(given: Any) -> Any:
    if given is None:
        return {}
    if isinstance(given, str):
        return parse_arguments(given) if given.strip()[:1] in ("", "{", "[") else {"arguments": given}
    return given
