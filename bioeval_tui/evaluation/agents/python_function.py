"""An agent in Python: a function of an installed package or of a folder given with `--code` (`target.protocol: python`),
or one passed to `bioeval_tui.evaluation`.

It is called with each message, in the process that runs the conversations; a function that is not `async` runs
in a thread. An exception counts as the agent's failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

from bioeval_tui.evaluation import python_code, spending
from bioeval_tui.evaluation.agents.object_context import StateUrl
from bioeval_tui.evaluation.agents.terms import AgentTerms
from bioeval_tui.evaluation.http.client import timeouts_of
from bioeval_tui.evaluation.seams import Delta, Generation, PeerError, Reply
from bioeval_tui.evaluation.traces import registry
from bioeval_tui.record.names import Role
from bioeval_tui.record.tool_calls import OWN_ID, call_event, parse_arguments, result_event
from bioeval_tui.text import MAX_TEXT, clean, clean_line, clean_value

_END = object()


@dataclass
class Conversation:
    """The function's view of the conversation; the function also reports here what it did.

    `session_id` is new for each conversation. `messages` are the previous ones, as `role` and `content`.
    `state` is a dictionary for the function's own use, kept between messages. `object_context`, if the function sets it
    (`{"context", "resources", "functions"}`), is the state that assertions see. `traceparent` joins spans to the current
    answer (W3C Trace Context); empty if no spans are received.
    """

    session_id: str
    user: str
    chatbot: str
    model: str | None
    options: dict[str, Any]
    messages: list[dict[str, str]] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    object_context: dict[str, Any] | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    traceparent: str = ""
    _tell: Callable[[dict[str, Any]], None] = lambda event: None

    def tool_called(
        self,
        name: str,
        arguments: Any = None,
        result: Any = None,
        *,
        error: str | None = None,
        call_id: str | None = None,
    ) -> None:
        """Report a tool call with its result, or with the `error` if it failed.

        `arguments` are an object or its JSON text, as a model writes it; the call has failed if this text is no JSON.
        `call_id` is the model's id of the call, which spans of the same call have too.
        """
        given = {} if arguments is None else arguments
        if isinstance(given, str):
            is_json = given.strip()[:1] in ("", "{")
            given = parse_arguments(given) if is_json else {"arguments": given}
        call_id = call_id or f"{OWN_ID}{uuid.uuid4().hex[:12]}"
        self._tell(call_event(name, given, call_id))
        if result is not None or error is not None:
            output = result if error is None else error
            self._tell(result_event(_plain(output), call_id, failed=error is not None))

    def used_tokens(self, tokens_in: int, tokens_out: int) -> None:
        """Report how many tokens a model used for the current message; several calls add up."""
        self.tokens_in = (self.tokens_in or 0) + tokens_in
        self.tokens_out = (self.tokens_out or 0) + tokens_out

    def happened(self, event: dict[str, Any]) -> None:
        """Report any other event: a JSON object that is recorded and shown unchanged."""
        self._tell(clean_value(_plain(event), 100_000))


def make_agent(terms: AgentTerms) -> PythonAgent:
    """Return an agent for one conversation. Raises `UsageError` when the function cannot be loaded."""
    target = terms.target
    reference = target.function or ""
    conversation = Conversation(
        uuid.uuid4().hex, target.user, target.chatbot, terms.named_model, dict(target.options)
    )
    timeouts = timeouts_of(terms.timeout_s)
    state = StateUrl(target.object_context_url, timeouts)
    function = terms.function or python_code.load(reference, terms.code, "message")
    name, may_print = clean_line(reference, 100), terms.function is not None
    return PythonAgent(function, name, conversation, state, timeouts.whole, may_print=may_print)


class PythonAgent:
    """An `Agent` for one conversation. An answer must be finished within `whole_s` seconds.

    Its output goes to stderr, because a report may go to stdout, unless it `may_print`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        conversation: Conversation,
        state: StateUrl,
        whole_s: float,
        *,
        may_print: bool = False,
    ) -> None:
        self._function = function
        self._name = name
        self._conversation = conversation
        self._state = state
        self._whole_s = whole_s
        self._arguments = (conversation,) if python_code.takes(function, "conversation") else ()
        self._printing = contextlib.nullcontext if may_print else python_code.printing_elsewhere

    async def open(self) -> str:
        """Call the function's `start`, if it has one, and return the session id. Raises `PeerError`."""
        start = getattr(self._function, "start", None)
        if callable(start):
            try:
                async with asyncio.timeout(self._whole_s):
                    with self._printing():
                        await _result(start, self._conversation)
            except TimeoutError:
                message = f"{self._name}: its start did not finish within {self._whole_s:g} s"
                raise PeerError("agent", message) from None
            except (Exception, SystemExit) as error:  # as in `_called`
                raise PeerError("agent", f"{self._name}: its start raised {_why(error)}") from error
        return self._conversation.session_id

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Call the function; yield its text and events as they arrive and, last, the `Reply`. Raises `PeerError`."""
        told: asyncio.Queue[Any] = asyncio.Queue()
        loop, ours = asyncio.get_running_loop(), threading.get_ident()
        conversation = self._conversation

        def tell(event: dict[str, Any]) -> None:
            if threading.get_ident() == ours:
                told.put_nowait(event)
            else:
                loop.call_soon_threadsafe(told.put_nowait, event)

        conversation._tell = tell
        conversation.tokens_in = conversation.tokens_out = None
        conversation.traceparent = registry.traceparent()
        texts: list[str] = []
        events: list[dict[str, Any]] = []
        first_token: float | None = None
        started = time.monotonic()
        call = asyncio.create_task(self._called(content, told))
        ends = loop.time() + self._whole_s
        try:
            while (piece := await self._next(told, ends)) is not _END:
                if isinstance(piece, dict):
                    events.append(piece)
                    yield Generation(piece)
                    continue
                first_token = first_token or time.monotonic()
                texts.append(piece)
                yield Delta(piece)
            ended = time.monotonic()
            returned = await call
        except BaseException:
            if (conversation.tokens_in, conversation.tokens_out) != (None, None):
                spending.report(conversation.tokens_in, conversation.tokens_out)
            raise
        finally:
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await call
        answer = "".join(texts) + (returned or "")
        self._conversation.messages += [
            {"role": "user", "content": content},
            {"role": "assistant", "content": answer},
        ]
        yield Reply(
            answer,
            started,
            ended,
            first_token,
            tuple(events),
            conversation.tokens_in,
            conversation.tokens_out,
        )

    async def _next(self, told: asyncio.Queue[Any], ends: float) -> Any:
        try:
            async with asyncio.timeout_at(ends):
                return await told.get()
        except TimeoutError:
            message = f"{self._name} did not finish its answer within {self._whole_s:g} s"
            raise PeerError("agent", message) from None

    async def _called(self, content: str, told: asyncio.Queue[Any]) -> str | None:
        """Call the function, put the pieces that it yields into `told`, and return its result. Raises `PeerError`."""
        total = 0

        def take(piece: Any) -> None:
            nonlocal total
            text = self._text(piece, "yielded")
            total += len(text)
            if total > MAX_TEXT:
                raise PeerError("agent", f"{self._name} answered more than {MAX_TEXT:,} characters")
            if text:
                told.put_nowait(text)

        try:
            with self._printing():
                return await self._taken(content, take)
        except PeerError:
            raise
        except (Exception, SystemExit) as error:  # the agent's code may raise anything
            raise PeerError("agent", f"{self._name} raised {_why(error)}") from error
        finally:
            # After the reports of other threads, whose calls are waiting in the loop.
            asyncio.get_running_loop().call_soon(told.put_nowait, _END)

    async def _taken(self, content: str, take: Callable[[Any], None]) -> str | None:
        """Call the function, pass each yielded piece to `take`, and return the function's result."""
        found = await _result(self._function, content, *self._arguments)
        if inspect.isasyncgen(found):
            async with contextlib.aclosing(found):
                async for piece in found:
                    take(piece)
            return None
        if inspect.isgenerator(found):
            while (piece := await python_code.in_thread(next, found, _END)) is not _END:
                take(piece)
            return None
        return self._text(found, "returned")

    def _text(self, value: Any, how: str) -> str:
        if not isinstance(value, str):
            raise PeerError("agent", f"{self._name} {how} {_kind(value)} where text was expected")
        return clean(value)

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context that the function set, or the one at the job's URL. Raises `PeerError`."""
        kept = self._conversation.object_context
        if kept is None:
            return await self._state.read(self._conversation.session_id)
        if not isinstance(kept, dict):
            raise PeerError("agent", f"{self._name} keeps {_kind(kept)} as its object context, not a mapping")
        cleaned: dict[str, Any] = clean_value(_plain(kept))
        return cleaned

    async def seed_text(self, text: str) -> None:
        """Raise `PeerError`: a function has no knowledge service."""
        raise PeerError("knowledge", f"{self._name} is a function and does not accept texts", status=404)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Add a seed message to the conversation that the function sees."""
        self._conversation.messages.append({"role": role, "content": content})
        return True

    async def aclose(self) -> None:
        """Nothing is open."""


async def _result(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function, in a thread unless it is async, and return its result or iterator."""
    made_here = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    if made_here or inspect.isgeneratorfunction(function):
        found = function(*given)
    else:
        found = await python_code.in_thread(function, *given)
    return await found if inspect.isawaitable(found) else found


def _why(error: BaseException) -> str:
    return clean_line(f"{type(error).__name__}: {error}", 300)


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON; other types become text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict) and depth < 30:
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set) and depth < 30:
        return [_plain(item, depth + 1) for item in value]
    return str(value)
