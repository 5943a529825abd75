"""Values as people read them, and that each is spelt one way wherever it is shown."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from bioeval_tui.base import units
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.words import summary_lines
from bioeval_tui.tui.live.score_card_view import more_rows
from tests.documents import document_of
from tests.sources import PACKAGE
from tests.unit.report.recorded import Recorded, Talk

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0 ms"),
        (0.4, "0.4 ms"),
        (85, "85 ms"),
        (0.04, "0 ms"),
        (99.6, "0.10 s"),
        (994, "0.99 s"),
        (9_996, "10.0 s"),
        (12_340, "12.3 s"),
        (59_960, "1 m 00 s"),
        (125_000, "2 m 05 s"),
    ],
)
def test_a_latency_has_a_unit(ms: float | None, shown: str) -> None:
    assert units.latency(ms) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "–"),
        (0, "0 s"),
        (0.012, "12 ms"),
        (0.94, "0.94 s"),
        (48, "48 s"),
        (108, "1 m 48 s"),
        (59.999, "1 m 00 s"),
        (7_500, "2 h 05 m"),
    ],
)
def test_a_duration_has_units(seconds: float | None, shown: str) -> None:
    assert units.duration(seconds) == shown


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
    assert units.ago(NOW - before, NOW) == shown


def test_a_time_is_shown_exactly_when_asked() -> None:
    then = NOW - timedelta(days=6)
    assert units.when(then, NOW, exact=False) == "6 days ago"
    assert units.when(then, NOW, exact=True) == f"{then.astimezone():%m-%d %H:%M}"


def test_a_date_is_spelt_one_way() -> None:
    assert units.date(NOW, zone=UTC) == "2026-11-20 12:00"
    assert units.date(NOW, seconds=True, zone=UTC) == "2026-11-20 12:00:00"


def test_shares_sizes_and_single_decimals_are_spelt_one_way() -> None:
    assert [units.share(0.7), units.share(0.1234, 1), units.share(None)] == ["70 %", "12.3 %", "–"]
    assert [units.size(12_345_678), units.size(400_000, decimals=1), units.size(3e9, "GB")] == [
        "12 MB",
        "0.4 MB",
        "3 GB",
    ]
    assert [units.number1(99.84), units.number1(-0.01), units.number1(None)] == ["99.8", "0.0", "–"]


ANSWERS_MS = (0.4, 12.0, 994.0, 1_000.0, 12_300.0, 59_960.0, 125_000.0)


def test_a_response_time_is_spelt_one_way_in_every_report_and_on_every_screen() -> None:
    run = Recorded([Talk(latencies_ms=ANSWERS_MS)]).loaded()
    shown = {units.latency(ms) for ms in ANSWERS_MS}
    assert shown == {"0.4 ms", "12 ms", "0.99 s", "1.00 s", "12.3 s", "1 m 00 s", "2 m 05 s"}
    for document in (document_of("md", run), document_of("html", run)):
        assert {time for time in shown if time in document} == shown
    result = run
    average = units.latency(sum(ANSWERS_MS) / len(ANSWERS_MS))
    (row,) = [
        row for row in more_rows(result, result.trial(1)) if row.label.text == "average answer"
    ]
    assert row.cells["withheld"].text == average
    card = Console(file=io.StringIO(), width=200)
    print_score_card(Recorded([Talk(latencies_ms=ANSWERS_MS)] * 2).loaded(), card)
    assert "longest 2 m 05 s" in card.file.getvalue()
    assert average in document_of("html", run)
    assert any("longest 2 m 05 s" in said for _, said in summary_lines(result.summary))
    assert f"average {average} over 7 answers" in document_of("junit", run)


BY_HAND = re.compile(
    r"/ ?1_?000:|:\.?[0-9]*f\} ?(s|ms)\b|\"%\.[0-9]f\"|%m-%d %H|:[+,]*\.[0-9]+[f%]\}"
)
"""A time, a date or a number with decimals formatted where it is shown."""
MACHINES = ("junit.py", "frames.py", "casting.py")
"""Written for programs: times of test cases, cells of CSV, lengths of CSS and of a video."""
GRADING = ("grade", "medals")
"""Scores of leaderboards have decimals of their own (`grade/score_numbers.py`)."""


def test_no_other_module_writes_times_or_decimals_by_hand() -> None:
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*"))
        if path.suffix in (".py", ".jinja")
        and path.name not in ("units.py", *MACHINES)
        and not {*GRADING}.intersection(path.parts)
        for line in path.read_text(encoding="utf-8").splitlines()
        if BY_HAND.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("value", "threshold", "shown"),
    [
        (0.2673, 0.27, "0.267"), (0.27, 0.27, "0.27"), (0.2699999, 0.27, "0.2699999"),
        (0.5, 0.27, "0.50"), (0.8, 0.805, "0.80"),
        (0.7 + 0.1, 0.8, "0.80"), (0.804999, 0.805, "0.80"), (0.806, 0.805, "0.81"),
        (None, 0.5, "–"),
    ],
)  # fmt: skip
def test_a_score_beside_a_threshold_shows_on_which_side_it_is(
    value: float | None, threshold: float, shown: str
) -> None:
    assert units.number_near(value, threshold) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.948, "94.8 %"), (0.9496, "94.96 %"), (0.95, "95 %"), (0.952, "95 %"), (0.5, "50 %")],
)
def test_a_share_beside_a_threshold_shows_on_which_side_it_is(value: float, shown: str) -> None:
    assert units.share_near(value, 0.95) == shown
