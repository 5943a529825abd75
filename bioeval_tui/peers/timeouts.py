"""How long a peer may take: an agent or model that is silent for too long is given up here.

Time in which this process stood still is not the peer's, and requests that wait for each other at
one host are told so.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakSet

from bioeval_tui.base.credentials import Hider
from bioeval_tui.peers.failures import (
    TRANSPORT_ERRORS,
    LostConnectionError,
    connection_error,
    received_text,
)
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.record.participants import Peer

Result = TypeVar("Result")

STOOD_STILL_S = 0.5
"""If a timer fires later than this, in seconds, this process was suspended."""

_under_way: dict[str, WeakSet[Exchange]] = {}
"""The exchanges of this process with each host that are not finished."""

_given_up: dict[str, tuple[float, float]] = {}
"""When a crowded exchange with a host last timed out, and until when the host may still work on all
that did.
"""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds: to connect, and for the complete answer (no separate limit for its first
    byte).
    """

    connect: float = 5.0
    whole: float = 180.0


def timeouts_of(whole_s: float | None) -> Timeouts:
    """Return the default timeouts, or with another one for the whole answer."""
    if whole_s is None:
        return Timeouts()
    return Timeouts(whole=whole_s)


class Exchange:
    """One request and its answer while it is read; it is in `response.extensions["exchange"]`.

    Time in which this process did not run (stopped, or the machine was asleep) does not count as
    the peer's. A timeout is `crowded` if this process had other exchanges with the host meanwhile,
    which may have waited for each other there, or if the host may still work on such ones, because
    many servers do not notice that nobody waits any more; only a `stateless` peer may be asked
    again then.
    """

    def __init__(
        self,
        peer: Peer,
        host: str,
        whole_s: float,
        hider: Hider,
        *,
        stateless: bool,
        since: float | None = None,
    ) -> None:
        """`since` is when the request was first sent, if it was lost."""
        self.host = host
        self.hider = hider
        self.lost = False
        """Whether a connection that had been used before was closed under the request, without any
        answer.
        """
        self._stateless = stateless
        others = _under_way.setdefault(host, WeakSet())
        self._crowded = len(others) > 0
        if len(others) == 1:  # of several, the first was marked when the second began
            next(iter(others))._crowded = True
        others.add(self)
        self.started = time.monotonic() if since is None else since
        self.head = b""
        """The first bytes of the answer, for error messages."""
        self._peer = peer
        self._whole_s = whole_s
        self._ends = self.started + whole_s

    async def within_time(self, step: Awaitable[Result]) -> Result:
        """Return what one step gives, limited to the remaining time; any failure in it is a
        `PeerError`.

        Not a context manager: each would be a generator, of which a turn has ten such steps.

        Raises:
            PeerError: the step failed, or the time is used up.
        """
        try:
            async with asyncio.timeout(None) as limit:
                self._start_timer(limit)
                try:
                    given = await step
                finally:
                    self._timer.cancel()
            # Steps that never wait, as those of an endless stream, meet no timeout.
            if self._is_expired():
                raise TimeoutError
            return given
        except TimeoutError:
            raise self._too_late() from None
        except TRANSPORT_ERRORS as error:
            self.lost = isinstance(error.__cause__, LostConnectionError) and error.__cause__.reused
            failure = connection_error(self._peer, self.host, error)
            failure.args = tuple(self.hider.text(str(part)) for part in failure.args)
            failure.received = received_text(self.head)
            raise failure from None

    def _start_timer(self, limit: asyncio.Timeout) -> None:
        # A method: a function in `within_time` that names itself would be garbage in a circle after
        # each step, and freeing that took a twentieth of a turn.
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._ends - time.monotonic(), self._expire, limit)

    def _expire(self, limit: asyncio.Timeout) -> None:
        if self._is_expired():
            limit.reschedule(asyncio.get_running_loop().time())
        else:
            self._start_timer(limit)

    def _is_expired(self) -> bool:
        late_s = time.monotonic() - self._ends
        if late_s > STOOD_STILL_S:
            self._ends = time.monotonic() + min(late_s, self._whole_s)
            return False
        return late_s >= 0

    def finish(self) -> None:
        """Note that nothing more is expected of the peer."""
        _under_way.get(self.host, WeakSet()).discard(self)

    def answered(self) -> None:
        """Note that the peer has answered, so that it no longer works on what was sent before this
        request.
        """
        since, _ = _given_up.get(self.host, (math.inf, 0.0))
        if self.started > since:
            _given_up.pop(self.host, None)

    def _too_late(self) -> PeerError:
        error = self.error(f"did not finish its answer within {self._whole_s:g} s")
        _, until = _given_up.get(self.host, (0.0, 0.0))
        if self._crowded:
            now = time.monotonic()
            _given_up[self.host] = now, max(now, until) + self._whole_s
        if self._crowded or self.started < until:
            error.args = (
                (
                    f"{error} while other requests of this program waited for it: use a lower"
                    " --concurrency, or allow more time"
                ),
            )
            error.crowded, error.retryable = True, self._stateless
        return error

    def error(self, what: str, *, disagrees: bool = False) -> PeerError:
        """Return the error for an unusable answer; with `disagrees`, it is not the peer's
        failure.
        """
        received = received_text(self.head)
        return PeerError(self._peer, f"{self.host} {what}", received=received, disagrees=disagrees)
