"""Numbers and durations as the screens write them."""

import pytest

from bioeval_tui.tui.shared.cells_view import Cell, score, signed, uplift
from bioeval_tui.units import clock, duration


@pytest.mark.parametrize(
    ("elapsed", "text"), [(0, "00:00"), (72.9, "01:12"), (3661, "1:01:01"), (-3, "00:00")]
)
def test_elapsed_time_is_shown_as_a_clock(elapsed: float, text: str) -> None:
    assert clock(elapsed) == text


@pytest.mark.parametrize(("elapsed", "text"), [(8.4, "8 s"), (108, "1 m 48 s"), (7380, "2 h 03 m")])
def test_a_duration_is_shown_in_words(elapsed: float, text: str) -> None:
    assert duration(elapsed) == text


def test_a_missing_score_is_a_dash_and_never_zero() -> None:
    assert score(None) == "–"
    assert score(0.0) == "0.00"


@pytest.mark.parametrize(("value", "text"), [(0.7, "+0.70"), (-0.1, "−0.10"), (0.001, "±0.00")])
def test_differences_carry_their_sign(value: float, text: str) -> None:
    assert signed(value) == text


def test_uplift_needs_both_conditions() -> None:
    assert uplift(0.7) == Cell("+0.70", "good")
    assert uplift(None).text == "–"
