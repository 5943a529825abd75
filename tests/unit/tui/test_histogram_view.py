"""A leaderboard's histogram: columns, thresholds and a score of its own, on random leaderboards and
on chosen ones.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from medal_rows import board, graded

from bioeval_tui.tui.grading_items import MedalRow
from bioeval_tui.tui.medals import histogram_view
from bioeval_tui.tui.medals.histogram_view import TONES, Histogram, histogram

SCORES = st.one_of(
    st.floats(-1e6, 1e6),
    st.floats(0.9, 1.0).map(lambda score: round(score, 2)),  # ties
    st.sampled_from([0.0, -1e9, 1e9]),
)


def histogram_of(row: MedalRow) -> Histogram:
    report = row.report
    assert report is not None
    thresholds = (
        report.median_threshold,
        report.bronze_threshold,
        report.silver_threshold,
        report.gold_threshold,
    )
    return histogram(
        row.leaderboard,
        dict(zip(TONES, thresholds, strict=False)),
        lower_is_better=report.is_lower_better,
        own=report.score,
    )


def drawn(found: Histogram, width: int, height: int = 4) -> list[str]:
    return [
        "".join(cell.text for cell in line) for line in histogram_view.lines(found, width, height)
    ]


@given(st.lists(SCORES, min_size=1, max_size=3000), SCORES, st.booleans(), st.integers(48, 160))
def test_every_leaderboard_is_drawn_within_its_frame_and_in_order(
    scores: list[float], own: float, lower: bool, width: int
) -> None:
    found = histogram_of(
        graded("t", "a", own, tuple(sorted(scores, reverse=not lower)), lower=lower)
    )
    shown = drawn(found, width)
    if len(scores) < histogram_view.FEWEST_SCORES:
        assert shown == []
        return
    assert max(map(len, shown)) <= width
    assert sum(map(len, found.columns)) + found.below == len(scores)
    places = [found.cell(found.marks[name], width) for name in ("bronze", "silver", "gold")]
    assert places == sorted(places)
    if len(scores) <= histogram_view.MOST_ON_A_STRIP:
        found = replace(found, bins=width)
        axis, signs = shown[1], set(histogram_view.SIGNS.values())
    else:
        axis, signs = next(line for line in shown if "─" in line or "┼" in line), {"┼"}
    assert {x for x, sign in enumerate(axis) if sign in signs} == {
        found.cell(score, width) for score in found.marks.values()
    }
    assert shown[0].index("▼" if "▼" in shown[0] else "◂") == found.cell(own, width)
    words = re.findall("[a-z]+", " ".join(shown))
    assert all(words.count(name) == 1 for name in ("median", "bronze", "silver", "gold")), shown


@given(st.lists(SCORES, min_size=1, max_size=300), st.booleans(), st.integers(48, 160))
def test_a_score_has_a_cell_of_the_column_that_counts_it(
    scores: list[float], lower: bool, width: int
) -> None:
    ordered = tuple(sorted(scores, reverse=not lower))
    found = histogram_of(graded("t", "a", scores[0], ordered, lower=lower))
    begins = [found.begin(number, width) for number in range(found.bins + 1)]
    counts = [0] * found.bins
    for score in scores:
        if found.scale.at(score) >= 0:
            counts[bisect_right(begins, found.cell(score, width)) - 1] += 1
    assert counts == [*map(len, found.columns)]


def test_columns_have_the_colour_of_the_medal_at_their_place() -> None:
    found = histogram_of(graded("t", "a", 85.0, board(2000, 40.0, 90.0)))
    first = histogram_view.lines(found, 60, 1)[1]
    assert [cell.tone for cell in first] == ["entries", "bronze", "silver", "gold"]
    assert abs(len(first[0].text) - found.cell(found.marks["bronze"], 60)) <= 1, (
        "a column has one colour"
    )


def test_outliers_do_not_squeeze_the_other_entries_but_are_counted() -> None:
    scores = (*board(200, 0.6, 0.9), -50.0, -900.0)
    shown = drawn(histogram_of(graded("t", "a", -3.0, scores)), 60)
    assert "◂ 2 entries further out" in shown
    assert any(line.startswith("◂ this -3") for line in shown)
    assert sum(1 for sign in shown[4] if sign != " ") > 10


def test_medals_close_together_are_enlarged_with_their_scores() -> None:
    shown = drawn(histogram_of(graded("t", "a", 0.985, board(1043, 0.52, 0.995))), 60)
    below = shown[shown.index("the medals, enlarged") :]
    assert any("gold 0.9" in line for line in below)
    assert sum("▼" in line for line in shown) == 2


@pytest.mark.parametrize("scores", [(0.5, 0.5, 0.5), (0.9, 0.9, 0.9, 0.1)])
def test_leaderboards_of_few_or_tied_entries_show_all_of_them(scores: tuple[float, ...]) -> None:
    found = histogram_of(graded("t", "a", 0.3, scores))
    assert found.below == 0
    assert any("bronze, silver, gold" in line for line in drawn(found, 60)), (
        "all begin at the best score"
    )
