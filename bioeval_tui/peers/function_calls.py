"""Calls an agent's function, and tells what it does as values that are JSON.

`agents.python_function` imports this module; another interpreter (`target.python`) runs it as a
script. So it needs only Python 3.9 and the standard library, and nothing of this package.

As a script it reads requests from stdin and writes messages to its stdout, one JSON object a line.
The first request is `{"function": "module:function", "folders": […], "conversation": {…}}`, which
it answers with `{"loaded": true}` or `{"unusable": why}`. Each later one has a `number`: `{"do":
"start" | "answer" | "observe", …}` is answered with `{"number", "done": result}` or `{"number",
"failed": why}`, after any `{"number", "told": {…}}`; `{"do": "said", "role", "content"}` is not
answered. It ends when stdin closes, and takes with it whatever the function started.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import importlib
import importlib.util
import inspect
import json
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

_END = object()
LAST_S = 1.0
"""How long a process may take to end once it should, in seconds; a tracer sends its last spans
then.
"""


class FunctionError(Exception):
    """A call of the function failed. The text follows the function's name: ` raised ValueError`."""


class UnusableError(Exception):
    """The function cannot be called. The text follows the function's name: ` is not a function`."""


@dataclass
class Conversation:
    """The function's view of the conversation; the function also reports here what it did.

    `session_id` is new for each conversation. `messages` are the previous ones, as `role` and
    `content`. `state` is a dictionary for the function's own use, kept between messages.
    `object_context`, if the function sets it (`{"context", "resources", "functions"}`), is the
    state that assertions see. `traceparent` joins spans to the current answer (W3C Trace Context);
    empty if no spans are received.
    """

    session_id: str
    user: str
    chatbot: str
    model: str | None
    options: dict[str, Any]
    messages: list[dict[str, str]] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    object_context: dict[str, Any] | None = None
    traceparent: str = ""
    _tell: Callable[[dict[str, Any]], None] = lambda told: None

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

        `arguments` are an object or its JSON text, as a model writes it; the call has failed if
        this text is no JSON. `call_id` is the model's id of the call, which spans of the same call
        have too.
        """
        call = {"name": str(name), "arguments": plain(arguments), "id": str(call_id or "")}
        if result is not None or error is not None:
            call["failed"] = error is not None
            call["output"] = plain(result if error is None else error)
        self._tell({"call": call})

    def used_tokens(self, tokens_in: int, tokens_out: int) -> None:
        """Report how many tokens a model used for the current message; several calls add up."""
        self._tell({"tokens": [int(tokens_in), int(tokens_out)]})

    def happened(self, event: dict[str, Any]) -> None:
        """Report any other event: a JSON object that is recorded and shown unchanged."""
        self._tell({"event": plain(event)})


class FunctionCalls:
    """Calls one conversation's function in this process.

    A function that is not async runs in a thread.
    """

    def __init__(self, function: Callable[..., Any], conversation: Conversation) -> None:
        self._function = function
        self._conversation = conversation
        # By name, because it may be a parameter by name only.
        named = {"conversation": conversation} if takes(function, "conversation") else {}
        self._answer = partial(function, **named)

    async def start(self) -> None:
        """Call the function's `start`, if it has one. Raises `FunctionError`."""
        start = getattr(self._function, "start", None)
        if callable(start):
            try:
                await _result(start, self._conversation)
            except (asyncio.CancelledError, KeyboardInterrupt):
                raise
            except BaseException as error:  # as in `answer`
                raise FunctionError(f": its start raised {why(error)}") from error

    async def answer(
        self, message: str, traceparent: str, tell: Callable[[dict[str, Any]], None]
    ) -> str | None:
        """Call the function and return what it returns; None if it yields.

        `tell`, which any thread may call, is given what the function yields and reports: `{"piece":
        text}`, `{"call"}`, `{"tokens"}`, `{"event"}`.

        Raises:
            FunctionError: it raised an exception, or its answer is not text; or `tell` raised this.
        """
        self._conversation._tell = tell
        self._conversation.traceparent = traceparent
        try:
            answer = await _result(self._answer, message)
            if inspect.isasyncgen(answer):
                try:
                    async for piece in answer:
                        tell({"piece": _text(piece, "yielded")})
                finally:
                    await answer.aclose()
                return None
            if inspect.isgenerator(answer):
                while (piece := await in_thread(next, answer, _END)) is not _END:
                    tell({"piece": _text(piece, "yielded")})
                return None
            return _text(answer, "returned")
        except (FunctionError, asyncio.CancelledError, KeyboardInterrupt):
            raise  # a person's interruption ends the run, and so does one of the agent's own
        except BaseException as error:  # the agent's code may raise anything
            raise FunctionError(f" raised {why(error)}") from error

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context that the function set, if any.

        Raises `FunctionError` if it is not a mapping.
        """
        kept = self._conversation.object_context
        if kept is not None and not isinstance(kept, dict):
            raise FunctionError(f" keeps {_kind(kept)} as its object context, not a mapping")
        context: dict[str, Any] | None = plain(kept)
        return context

    async def said(self, role: str, content: str) -> None:
        """Add a message to those that the function sees."""
        self._conversation.messages.append({"role": role, "content": content})


def import_module(
    module: str, folders: Sequence[str], installed: Callable[[str], ModuleSpec | None]
) -> Any:
    """Import a module from one of the folders or where it is `installed`, even if another one of
    that name is earlier on the path.

    Raises:
        UnusableError: another module of that name is already loaded, or no such module exists.
    """
    top = module.partition(".")[0]
    spec = PathFinder.find_spec(top, list(folders)) or installed(top)
    if spec is None:
        raise UnusableError(
            " is not there: its module is neither installed nor in a folder given with --code"
        )
    known = sys.modules.get(top)
    if (
        known is not None
        and spec.origin
        and getattr(known, "__file__", None) not in (spec.origin, None)
    ):
        raise UnusableError(
            f" cannot be loaded: {spec.origin} has the name of another module, {known.__file__};"
            " rename it"
        )
    for folder in folders:
        if folder not in sys.path:
            sys.path.append(folder)  # last: for modules that these modules import from their folder
    if known is None:
        made = importlib.util.module_from_spec(spec)
        sys.modules[top] = made
        try:
            if spec.loader is not None:
                spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[top]
            raise
    return importlib.import_module(module)


def load_function(
    reference: str,
    folders: Sequence[str],
    installed: Callable[[str], ModuleSpec | None],
    first_parameter: str,
) -> Callable[..., Any]:
    """Import `module:function` and return the function.

    Raises:
        UnusableError: it cannot be imported, is no function, or has other parameters than it is
            called with.
    """
    module, _, name = reference.partition(":")
    try:
        value: Any = import_module(module, folders, installed)
        for part in name.split("."):
            value = getattr(value, part)
    except UnusableError:
        raise
    except BaseException as error:  # importing runs other people's code
        raise UnusableError(f" cannot be loaded: {why(error)}") from error
    if not callable(value):
        raise UnusableError(" is not a function")
    if next(iter(_parameters(value)), "") != first_parameter:
        wanted = f"its first parameter must be called `{first_parameter}`"
        raise UnusableError(f" was not written for this purpose: {wanted}")
    given = (
        (first_parameter, "conversation") if first_parameter == "message" else (first_parameter,)
    )
    if more := [name for name in _required(value) if name not in given]:
        only = " and ".join(f"`{name}`" for name in given)
        raise UnusableError(f" is given {only}, and needs `{more[0]}`, too: give it a default")
    function: Callable[..., Any] = value
    return function


async def in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function in its own thread; return its result or raise its exception.

    The thread is a daemon, so a call that never ends does not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if answered.done():
            return
        if error is None:
            answered.set_result(result)
        else:
            answered.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function, *given)
        except BaseException as raised:  # it belongs to the caller
            error = raised
            # `sys.exit` would end this thread unheard, and no future takes a StopIteration: the
            # caller would wait forever.
            if not isinstance(raised, Exception) or isinstance(raised, StopIteration):
                error = RuntimeError(why(raised))
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="function of a job", daemon=True).start()
    return await answered


def takes(function: Callable[..., Any], parameter: str) -> bool:
    """Return whether a function has a parameter of that name."""
    return parameter in _parameters(function)


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON; other types become text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, dict) and depth < 30:
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)) and depth < 30:
        return [plain(item, depth + 1) for item in value]
    return str(value)


def why(error: BaseException) -> str:
    """Return an exception as text: `ValueError: no such thing`."""
    try:
        text = str(error)
    except BaseException:  # the agent's code, too
        text = "its text cannot be read"
    return f"{type(error).__name__}: {text}"


async def _result(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function, in a thread unless it is async, and return its result or iterator."""
    made_here = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    if made_here or inspect.isgeneratorfunction(function):
        result = function(*given)
    else:
        result = await in_thread(function, *given)
    if inspect.isawaitable(result):
        return await result
    return result


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _required(function: Callable[..., Any]) -> list[str]:
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        name
        for name, parameter in _parameters(function).items()
        if parameter.default is inspect.Parameter.empty and parameter.kind not in several
    ]


def _text(value: Any, how: str) -> str:
    if not isinstance(value, str):
        raise FunctionError(f" {how} {_kind(value)} where text was expected")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"a value of type {type(value).__name__}"


# What follows is for the script.


class _Script:
    """The process: its function, and the requests that the other side sends."""

    def __init__(self) -> None:
        self._requests = os.fdopen(os.dup(0), "rb")
        self._messages = os.fdopen(os.dup(1), "wb")
        self._writing = threading.Lock()
        self._asked: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        # The function gets an empty input, and what it prints goes to stderr.
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        sys.stdout = sys.stderr

    def run(self) -> None:
        """Load the function and call it as requested, until stdin closes."""
        threading.Thread(target=self._read, name="requests", daemon=True).start()
        first = self._asked.get()
        if first is None:
            return
        folders = [str(folder) for folder in first["folders"]]
        try:
            function = load_function(first["function"], folders, _installed, "message")
        except UnusableError as error:
            self._send({"unusable": str(error)})
            return
        self._send({"loaded": True})
        asyncio.run(self._serve(FunctionCalls(function, Conversation(**first["conversation"]))))

    def _read(self) -> None:
        for line in self._requests:
            self._asked.put(json.loads(line))
        self._asked.put(None)
        time.sleep(LAST_S)
        _end_all()

    async def _serve(self, calls: FunctionCalls) -> None:
        while (asked := await in_thread(self._asked.get)) is not None:
            if asked["do"] == "said":
                await calls.said(asked["role"], asked["content"])
                continue
            number = asked["number"]
            try:
                self._send({"number": number, "done": await self._done(calls, asked)})
            except FunctionError as error:
                self._send({"number": number, "failed": str(error)})

    async def _done(self, calls: FunctionCalls, asked: dict[str, Any]) -> Any:
        if asked["do"] == "start":
            return await calls.start()
        if asked["do"] == "observe":
            return await calls.observe()

        def tell(told: dict[str, Any]) -> None:
            self._send({"number": asked["number"], "told": told})

        return await calls.answer(asked["message"], asked["traceparent"], tell)

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        with self._writing:
            self._messages.write(line)
            self._messages.flush()


def _installed(top: str) -> ModuleSpec | None:
    if top in getattr(sys, "stdlib_module_names", sys.builtin_module_names):
        return None
    try:
        return importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None


def _end_all() -> None:
    """End this process and, if it leads a group of its own, what the function started."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _main() -> None:
    own = os.getpid()
    # Registered first, so it is called last, after a tracer's last spans were sent. A fork of the
    # function is not this process.
    atexit.register(lambda: _end_all() if os.getpid() == own else None)
    _Script().run()


if __name__ == "__main__":
    _main()
