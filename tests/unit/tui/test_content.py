"""Units, signs and words on screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bioeval_tui.tui import content

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
def test_latency_has_a_unit(ms: float | None, shown: str) -> None:
    assert content.latency(ms) == shown


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
def test_duration_has_units(ms: float | None, shown: str) -> None:
    assert content.duration(ms) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, "–:–"), (-1, "00:00"), (72, "01:12"), (3723, "1:02:03")]
)
def test_clock(seconds: float | None, shown: str) -> None:
    assert content.clock(seconds) == shown


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(hours=3), "3 h ago"),
        (timedelta(hours=30), "yesterday"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=60), "2026-09-21"),
    ],
)
def test_ago(before: timedelta, shown: str) -> None:
    assert content.ago(NOW - before, NOW) == shown


def test_scores_and_differences() -> None:
    assert [content.score(value) for value in (None, 0.5751, 1)] == ["–", "0.58", "1.00"]
    assert [content.signed(value) for value in (None, 0.31, -0.1, -0.001)] == ["–", "+0.31", "−0.10", "±0.00"]
    assert content.count_of(2, 1043) == "2 of 1,043"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gold", "● gold"),
        ("silver", "◐ silver"),
        ("bronze", "◔ bronze"),
        ("none", "– none"),
        ("invalid", "! invalid"),
    ],
)
def test_medals_have_a_sign_and_a_word(name: content.Medal, shown: str) -> None:
    assert content.medal(name) == shown
    assert content.medal_content(name).plain == shown
    assert content.medal_content(name, word=False).plain == shown[0]


def test_checks_are_told_apart_without_colour() -> None:
    assert content.checks_content(["pending", "failed", "passed"]).plain == "· ✗ ✓"
    assert content.check_content("not_measured", word=True).plain == "? not measured"
    assert len(set(content.CHECK_SIGNS.values())) == len(content.CHECK_SIGNS)
    assert len(set(content.MEDAL_SIGNS.values())) == len(content.MEDAL_SIGNS)


@pytest.mark.parametrize(
    ("value", "width", "drawn"),
    [
        (0, 4, ""),
        (0.0001, 4, "▏"),
        (0.5, 4, "██"),
        (0.53125, 4, "██▏"),
        (1, 4, "████"),
        (7, 4, "████"),
        (-1, 4, ""),
        (float("nan"), 4, ""),
        (1, 0, ""),
    ],
)
def test_bars_are_exact_to_an_eighth(value: float, width: int, drawn: str) -> None:
    assert content.bar(value, width) == drawn
    assert len(content.bar(value, width, track="░")) == width


def test_a_target_is_marked_on_its_bar() -> None:
    assert content.bar_content(4, 8, most=4, target=3).plain == "██████┃█"
    assert content.bar_content(1, 8, most=4, target=3).plain == "██    ┃ "


def test_a_latency_above_its_target_says_so() -> None:
    assert content.latency_content(3400, 3000).plain == "> 3.4 s"
    assert content.latency_content(900, 3000).plain == "0.9 s"
    assert content.latency_content(None).plain == "–"


def test_foreign_text_is_literal_and_clean() -> None:
    assert content.foreign("[b]x[/b] [/INST]\n\x1b[31m", "$error").plain == "[b]x[/b] [/INST] ␛"


def test_scores_above_the_bar_stand_out() -> None:
    assert content.score_content(None).plain == "–"
    assert content.score_content(0.7).spans != content.score_content(0.5).spans
