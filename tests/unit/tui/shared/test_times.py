"""Times and their units on screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bioeval_tui.tui.shared import times

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0 ms"),
        (0.4, "0.4 ms"),
        (85, "85 ms"),
        (99.6, "0.1 s"),
        (940, "0.9 s"),
        (12_340, "12.3 s"),
        (125_000, "2 m 05 s"),
    ],
)
def test_a_latency_has_a_unit(ms: float | None, shown: str) -> None:
    assert times.latency(ms) == shown


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, "–"),
        (940, "0.9 s"),
        (48_000, "48 s"),
        (108_000, "1 m 48 s"),
        (59_999, "1 m 00 s"),
        (7_500_000, "2 h 05 m"),
    ],
)
def test_a_duration_has_units(ms: float | None, shown: str) -> None:
    assert times.duration(ms) == shown


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(minutes=59), "59 min ago"),
        (timedelta(minutes=60), "1 h ago"),
        (timedelta(hours=3), "3 h ago"),
        (timedelta(hours=30), "yesterday"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=60), "2026-09-21"),
    ],
)
def test_a_recent_time_is_shown_as_time_ago(before: timedelta, shown: str) -> None:
    assert times.ago(NOW - before, NOW) == shown


def test_a_time_is_shown_exactly_when_asked() -> None:
    then = NOW - timedelta(days=6)
    assert times.when(then, NOW, exact=False) == "6 days ago"
    assert times.when(then, NOW, exact=True) == f"{then.astimezone():%m-%d %H:%M}"
