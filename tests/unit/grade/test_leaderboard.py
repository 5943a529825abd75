"""Doubts about a leaderboard are in every report; ranks and thresholds are consistent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bioeval_tui.base.errors import InputError
from bioeval_tui.grade.published_tables import read_as_published
from bioeval_tui.grading import load_leaderboard, medal_places, rank

RISING = [n / 10 for n in range(60)]


@pytest.mark.parametrize(
    ("scores", "options", "warnings"),
    [
        (RISING, {}, ()),
        (
            RISING[:3],
            {},
            (
                "the leaderboard has only 3 entries: one more can change the medals",
                "gold, silver and bronze are all first place on a leaderboard this small",
            ),
        ),
        (
            RISING[:5],
            {},
            (
                "the leaderboard has only 5 entries: one more can change the medals",
                "gold and silver are both first place on a leaderboard this small",
            ),
        ),
        (RISING[:49], {}, ("the leaderboard has only 49 entries: one more can change the medals",)),
        (RISING[:50], {}, ()),
        ([*RISING, float("nan")], {}, ("1 leaderboard row without a score left out",)),
        ([*RISING, float("inf")], {}, ("1 leaderboard row with an infinite score left out",)),
        (
            [0.5] * len(RISING),
            {},
            ("direction guessed as higher is better: the leaderboard is tied throughout",),
        ),
        (
            [0.5],
            {},
            (
                "direction guessed as higher is better: the leaderboard has one entry",
                "the leaderboard has only 1 entry: one more can change the medals",
                "gold, silver and bronze are all first place on a leaderboard this small",
            ),
        ),
        (
            RISING,
            {"is_lower_better": False},
            ("the leaderboard was worst first and has been reversed",),
        ),
        (
            RISING,
            {"self_trained": True, "partial": True},
            (
                (
                    "the leaderboard is self-trained: made by models trained for this program, not"
                    " by competitors"
                ),
                "the leaderboard is partial: not all entries of its source are in it",
            ),
        ),
    ],
)
def test_each_doubt_about_a_leaderboard_is_a_warning(
    tmp_path: Path, scores: list[float], options: dict, warnings: tuple[str, ...]
) -> None:
    path = tmp_path / "leaderboard.csv"
    path.write_text(
        "teamName,score,submissionDate\n" + "".join(f"a,{score},x\n" for score in scores)
    )
    assert load_leaderboard(path, "lab/numbers", **options).warnings == warnings


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=300), st.integers(-25, 25), st.booleans()
)
def test_a_rank_equals_counting_the_better_entries(
    scores: list[int], score: int, lower: bool
) -> None:
    got = rank(float(score), np.sort(np.array(scores, dtype=float)), lower)
    best_first = sorted(scores, reverse=not lower)
    better = sum((other < score) if lower else (other > score) for other in scores)
    worse = sum((other > score) if lower else (other < score) for other in scores)
    assert got.position == better + 1
    assert got.percentile == float(np.round(np.float64(worse / len(scores) * 100), 1))
    places = medal_places(len(scores))
    reached = [
        name
        for name, place in zip(("gold", "silver", "bronze"), places, strict=True)
        if (score <= best_first[place - 1] if lower else score >= best_first[place - 1])
    ]
    assert got.medal == (reached[0] if reached else None)
    if got.score_needed is not None:
        ordered = np.sort(np.array(scores, dtype=float))
        assert rank(got.score_needed, ordered, lower).medal == got.next_medal
    assert (got.next_medal is None) == (got.medal == "gold")


@pytest.mark.parametrize(
    ("entries", "places"),
    [
        (1, (1, 1, 1)),
        (9, (1, 1, 3)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (5000, (20, 250, 500)),
    ],
)
def test_medal_places_follow_the_published_table(
    entries: int, places: tuple[int, int, int]
) -> None:
    assert medal_places(entries) == places


def test_an_empty_leaderboard_has_no_medals() -> None:
    with pytest.raises(ValueError, match="at least one entry"):
        medal_places(0)


def test_a_number_that_crashes_pandas_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.csv"
    path.write_text("teamName,score,submissionDate\na,0.5,x\nb,0.1e99942857142857,x\n")
    with pytest.raises(InputError, match="cannot be read: line 3 has a number with an exponent"):
        load_leaderboard(path, "lab/numbers")


@pytest.mark.parametrize(
    "name", ["callme21800000", "ebdd0304e745872f59bc", "1e99942857142857 and Co", "9e745872f"]
)
def test_a_name_that_looks_like_a_huge_number_is_only_a_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "leaderboard.csv"
    path.write_text(f"teamName,score,submissionDate\na,0.5,x\n{name},0.1,x\n7e1234567,,x\n")
    board = load_leaderboard(path, "lab/numbers")
    assert board.ascending.tolist() == [0.1, 0.5]
    assert read_as_published(path)["teamName"].tolist() == ["a", name, "7e1234567"]


def test_a_huge_number_among_row_names_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.csv"
    path.write_text("teamName,score\n1,a,0.5\n0.1e99942857142857,b,0.1\n")
    with pytest.raises(InputError, match="cannot be read: line 3 has a number with an exponent"):
        load_leaderboard(path, "lab/numbers")
