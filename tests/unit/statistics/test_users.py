"""The interval for other users like those of a run."""

from __future__ import annotations

import pytest

from bioeval_tui.report.findings import UserScore
from bioeval_tui.report.users import interval_of_users
from tests.simulations.users import effect_coverage, user_coverage


@pytest.mark.parametrize(("users", "level", "spread"), [(5, 0.5, 5), (5, 0.95, 1), (8, 0.8, 30)])
def test_other_users_are_in_the_interval(users: int, level: float, spread: float) -> None:
    assert user_coverage(300, users, level=level, spread=spread) >= 0.92


@pytest.mark.parametrize("between", [0.05, 0.2])
def test_the_effect_with_other_users_is_in_the_interval(between: float) -> None:
    assert effect_coverage(300, 5, effect=0.3, between=between) >= 0.92


def test_fewer_than_five_users_stand_for_no_others() -> None:
    four = tuple(UserScore(name, (0.5,), None, "") for name in "ABCD")
    assert interval_of_users(four, is_effect=False) is None
    unknown = (*four, UserScore("E", (None,), None, ""))
    assert interval_of_users(unknown, is_effect=False) is None


def test_five_users_with_the_same_score_leave_room_for_others() -> None:
    five = tuple(UserScore(name, (1.0,), None, "") for name in "ABCDE")
    interval = interval_of_users(five, is_effect=False)
    assert interval is not None
    assert interval.low < 0.6
