"""A judge's passes corrected by its errors elsewhere: known numbers, refusals, and coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from bioeval_tui.statistics.calibration import ReviewedVerdict, calibrated_share
from bioeval_tui.statistics.judges import NotCorrectable
from tests.simulations.calibrating import DESIGNS, coverage


def reviewed(right: int, missed: int, refused: int, let_through: int) -> list[ReviewedVerdict]:
    """Return reviews of what people passed (found, missed) and failed (refused, let through)."""
    said = [
        *[(True, True)] * right, *[(False, True)] * missed,
        *[(False, False)] * refused, *[(True, False)] * let_through,
    ]  # fmt: skip
    return [ReviewedVerdict(f"c{n}", judge, people) for n, (judge, people) in enumerate(said)]


def passes(of_100: int) -> Mapping[str, Sequence[bool]]:
    return {f"n{n}": [n < of_100] for n in range(100)}


def test_rogan_and_gladens_estimate() -> None:
    found = calibrated_share(passes(58), reviewed(90, 10, 80, 20))
    assert (found.sensitivity, found.specificity) == (0.9, 0.8)
    assert found.estimate == pytest.approx((0.58 + 0.8 - 1) / 0.7)
    # Rogan and Gladen's own interval, by the delta method: 0.389 to 0.697
    assert found.interval.low == pytest.approx(0.389, abs=0.02)
    assert found.interval.high == pytest.approx(0.697, abs=0.02)
    assert found.interval.width > 0.697 - 0.389
    assert found.reviews == 200


def test_the_interval_contains_how_sure_the_errors_are() -> None:
    many = calibrated_share(passes(58), reviewed(900, 100, 800, 200))
    few = calibrated_share(passes(58), reviewed(18, 2, 16, 4))
    assert few.estimate == pytest.approx(many.estimate)
    assert few.interval.width > 1.3 * many.interval.width


@pytest.mark.parametrize(
    ("given", "of_100", "why"),
    [
        (reviewed(40, 5, 9, 0), 50, "people failed 9 of the reviewed verdicts, in 9 conversations"),
        (reviewed(9, 0, 40, 5), 50, "people passed 9 of the reviewed verdicts"),
        (reviewed(20, 0, 0, 0), 50, "people failed 0 of the reviewed verdicts, in 0"),
        (reviewed(30, 30, 30, 30), 50, "may be no better than chance"),
        (reviewed(50, 0, 25, 25), 5, "its errors are others here"),
    ],
)
def test_what_allows_no_correction(given: list[ReviewedVerdict], of_100: int, why: str) -> None:
    with pytest.raises(NotCorrectable, match=why):
        calibrated_share(passes(of_100), given)


def test_too_few_conversations_here() -> None:
    with pytest.raises(NotCorrectable, match="9 judged conversations or cases here: at least 10"):
        calibrated_share({f"n{n}": [n < 5] for n in range(9)}, reviewed(90, 10, 80, 20))


@pytest.mark.parametrize("shift", [(0.5, 0.5), (0.7, 0.3)])
def test_it_holds_the_truth_also_when_there_are_fewer_passes(shift: tuple[float, float]) -> None:
    found = coverage(60, DESIGNS[0], (0.9, 0.7), shift)
    assert found.held >= 0.9
