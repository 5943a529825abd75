"""Means, differences and thresholds of scores, without the noise of binary fractions."""

from __future__ import annotations

import pytest

from bioeval_tui.statistics.means import exact_difference, exact_mean, reaches


def test_means_and_differences_are_those_of_the_numbers_as_they_are_written() -> None:
    assert exact_mean([0.1, 0.2]) == 0.15
    assert exact_mean([0.3] * 3) == 0.3
    assert exact_mean([0.9, 0.8], [0.1, 0.2]) == 0.8333333333333334
    assert exact_mean([1.0] * 170 + [0.0] * 466) == 170 / 636
    assert exact_difference(0.3, 0.1) == 0.2
    with pytest.raises(ValueError, match="no values"):
        exact_mean([])


def test_a_threshold_is_reached_exactly_at_it() -> None:
    assert reaches(0.27, 0.27)
    assert reaches(0.1 + 0.2, 0.3)
    assert reaches(0.7 + 0.1, 0.8), "0.7999999999999999"
    assert not reaches(0.2673, 0.27)
