"""Agents, evaluators, judges and graphs with something around each of their calls.

A plug-in's exceptions get its name (`blame_around`), and requests of a batch wait for their turn (`engine.limits.Pace.around`).
Waiting is in no latency: the agent's own clock starts when its request goes out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from typing import Any, TypeVar, cast

from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.record.names import Peer
from bioeval_tui.text import clean_line

AnyPeer = TypeVar("AnyPeer")
Around = Callable[[str], AbstractAsyncContextManager[None]]
"""Returns what is entered around a call of that name."""
STREAMS = ("send", "speak")
"""The calls that yield pieces; all others are awaited."""


@contextmanager
def blaming(peer: Peer, name: str) -> Iterator[None]:
    """Convert what a plug-in raises, except this program's own errors, to a `PeerError` that names the plug-in."""
    try:
        yield
    except BioevalError:
        raise
    except Exception as problem:  # a plug-in is other people's code and may raise anything
        refused = isinstance(problem, ConnectionRefusedError)
        why = clean_line(f"{type(problem).__name__}: {problem}", 300)
        message = f"the {peer} plug-in {clean_line(name, 100)} failed: {why}"
        raise PeerError(peer, message, retryable=refused, unreachable=refused) from problem


def blame_around(peer: Peer, name: str) -> Around:
    """Return what does `blaming` around each call of a plug-in."""

    @asynccontextmanager
    async def around(call: str) -> AsyncIterator[None]:
        with blaming(peer, name):
            yield

    return around


class Wrapped:
    """An agent, evaluator, judge or graph with something around each of its calls. What else it has stays as it is."""

    def __init__(self, peer: Any, around: Around) -> None:
        self._peer = peer
        self._around = around

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._peer, name)
        if name == "aclose" or not callable(own):
            return own

        async def stream(*given: Any) -> AsyncIterator[Any]:
            async with self._around(name), aclosing(own(*given)) as pieces:
                async for piece in pieces:
                    yield piece

        async def call(*given: Any, **named: Any) -> Any:
            async with self._around(name):
                return await own(*given, **named)

        return stream if name in STREAMS else call

    async def graph_id(self) -> str:
        """Return the id that a graph's agent can report; empty if the plug-in does not tell one."""
        own = getattr(self._peer, "graph_id", None)
        if own is None:
            return ""
        async with self._around("graph_id"):
            return clean_line(str(await own()))


def wrapped(peer: AnyPeer, around: Around) -> AnyPeer:
    """Return the peer with something around each of its calls, except `aclose`."""
    return cast(AnyPeer, Wrapped(peer, around))
