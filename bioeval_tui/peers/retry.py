"""The retry rule: which requests are retried, how often, and after which wait.

A request that may have reached its peer (a timeout, a reset after sending, a broken answer) is
never sent again: an agent would act twice. A refused connection, 408, 425, 429 and 5xx are.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tenacity import AsyncRetrying, RetryCallState

from bioeval_tui.peers.seams import PeerError

PATIENCE = 2.0
"""The growth of the waits after failures that are our own doing."""
SHORTEST_WAIT_S = 0.001
"""Without any wait, a request would be repeated as fast as it fails, and `most_requests` would
count without end.
"""
RETRIED_STATUS = frozenset({408, 425, 429})
"""Statuses after which, as after 5xx, the same request may succeed later."""


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How many times a request is sent, and the waits in between, in seconds.

    The first wait is multiplied by `growth` each time and lengthened by up to `jitter` of itself; a
    peer's Retry-After is honoured where it is longer. No wait is longer than `longest_wait_s`.
    """

    attempts: int = 4
    first_wait_s: float = 0.1
    growth: float = 1.0
    jitter: float = 0.0
    longest_wait_s: float = 30.0

    def wait_s(self, error: PeerError, failures: int) -> float:
        """Return how long to wait after that many failures; `error` is the last one."""
        own = self._shortest_wait_s(failures)
        own *= 1 + random.uniform(0, self.jitter)  # noqa: S311 - spreads requests, hides nothing
        return min(max(own, error.retry_after_s or 0.0), self.longest_wait_s)

    def _shortest_wait_s(self, failures: int) -> float:
        return min(self.first_wait_s * self.growth ** min(failures - 1, 10), self.longest_wait_s)

    def most_requests(self, ours_for_s: float) -> int:
        """Return how often one request is sent at most, if failures that are our own doing are
        retried for so long.

        The first of those waits twice the first wait, and each later one twice as long as the one
        before it.
        """
        patient = replace(self, growth=PATIENCE)
        waited, ours = 0.0, 0
        while waited < ours_for_s:
            ours += 1
            waited += max(patient._shortest_wait_s(ours + 1), SHORTEST_WAIT_S)
        return self.attempts + ours


AGENT_RULE = RetryRule()
"""As in embabel-agent-eval: four attempts, 100 ms apart."""
MODEL_RULE = RetryRule(first_wait_s=0.5, growth=2.0, jitter=0.25)
"""As providers ask for: 0.5, 1, 2 s plus a random extra, so that rejected requests do not all
return at once.
"""


def attempts(
    rule: RetryRule,
    *,
    on_failure: Callable[[PeerError, int, float | None], None] = lambda error, number, wait_s: None,
    ours: Callable[[PeerError], bool] = lambda error: False,
    ours_for_s: float = 600.0,
) -> AsyncRetrying:
    """Return the attempts at a request: `async for attempt in attempts(rule): with attempt: answer
    = await …`.

    The loop ends with the first that succeeds, or raises the `PeerError` of the last one that the
    rule allows. `on_failure` gets each failure, the attempt's number, and the wait before the next
    one, or None for the last. Failures that are `ours` (too many requests of our own at once) use
    no attempt; they are retried with growing waits, for `ours_for_s` in total.

    What is returned may be used again for the next request, once the loop has ended.
    """
    failures = own_doing = 0
    wait = until = 0.0

    def again(state: RetryCallState) -> bool:
        nonlocal failures, own_doing, wait, until
        if state.attempt_number == 1:
            failures = own_doing = 0
            until = state.start_time + ours_for_s
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, PeerError):
            return False
        if ours(error):
            own_doing += 1
            patient = replace(rule, growth=PATIENCE)
            wait, left = patient.wait_s(error, own_doing + 1), time.monotonic() < until
            wait = max(wait, SHORTEST_WAIT_S)
        else:
            failures += 1
            wait, left = rule.wait_s(error, failures), failures < rule.attempts
        goes_on = error.retryable and left
        on_failure(error, state.attempt_number, wait if goes_on else None)
        return goes_on

    return AsyncRetrying(retry=again, wait=lambda state: wait, reraise=True)


def may_retry(status: int) -> bool:
    """Return whether a request that was answered with this status may succeed later."""
    return status in RETRIED_STATUS or status >= 500


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for (a number or a date); None without a
    valid value.

    `now` is the time of day in seconds since 1970.
    """
    if not value or not value.isascii():  # `float` reads the digits of every script
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.fromtimestamp(now, UTC)).total_seconds()
    if math.isfinite(seconds):
        return max(0.0, seconds)
    return None
