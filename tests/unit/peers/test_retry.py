"""What is retried, how often, and after which waits."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.peers.retry import AGENT_RULE, MODEL_RULE, RetryRule, attempts, retry_after
from bioeval_tui.protocols import PeerError

NOON = 1795262400.0  # 2026-11-21T12:00:00Z


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Sat, 21 Nov 2026 12:01:00 GMT", 60.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        (None, None),
        ("inf", None),
        ("nan", None),
        ("Sat, 99 Nov 2026 11:00:00 GMT", None),
    ],
)
def test_retry_after_accepts_seconds_and_dates(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOON) == seconds


def failure(
    *, retryable: bool = True, status: int | None = None, after: float | None = None
) -> PeerError:
    return PeerError("agent", "no", retryable=retryable, status=status, retry_after_s=after)


async def sent(
    rule: RetryRule, *outcomes: PeerError | str, **more: Any
) -> tuple[str, list[float | None]]:
    """Send what has these outcomes; return how it ended and the waits in between."""
    left, waits = list(outcomes), []
    try:
        async for attempt in attempts(
            rule, on_failure=lambda error, number, wait_s: waits.append(wait_s), **more
        ):
            with attempt:
                outcome = left.pop(0)
                if isinstance(outcome, PeerError):
                    raise outcome
                return outcome, waits
    except PeerError as error:
        return str(error), waits
    raise AssertionError


def test_agents_are_retried_as_published_and_models_as_providers_recommend() -> None:
    error = failure()
    assert [AGENT_RULE.wait_s(error, number) for number in (1, 2, 3)] == [0.1, 0.1, 0.1]
    for number, usual in ((1, 0.5), (2, 1.0), (3, 2.0)):
        assert usual <= MODEL_RULE.wait_s(error, number) <= 1.25 * usual


def test_retry_after_is_honoured_up_to_a_limit() -> None:
    assert MODEL_RULE.wait_s(failure(after=7.0), 1) == 7.0
    assert MODEL_RULE.wait_s(failure(after=3600.0), 1) == 30.0
    assert MODEL_RULE.wait_s(failure(after=0.0), 1) >= 0.5


NOW = RetryRule(first_wait_s=0.0)


async def test_four_attempts_are_made_and_each_failure_is_reported() -> None:
    assert await sent(NOW, *[failure()] * 4, "late") == ("no", [0.0, 0.0, 0.0, None])
    assert await sent(NOW, *[failure()] * 3, "yes") == ("yes", [0.0, 0.0, 0.0])


async def test_a_request_that_may_have_been_delivered_is_not_sent_again() -> None:
    assert await sent(NOW, failure(retryable=False), "again") == ("no", [None])


async def test_self_inflicted_rate_limits_use_no_attempt_until_a_time_limit() -> None:
    busy = [failure(status=429)] * 9
    assert (await sent(NOW, *busy, "yes", ours=lambda error: error.status == 429))[0] == "yes"
    over = await sent(NOW, *busy, ours=lambda error: error.status == 429, ours_for_s=0.0)
    assert over == ("no", [None])
