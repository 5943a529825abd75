"""Judges with one planted defect are found; a noisy but unbiased one passes."""

from __future__ import annotations

from random import Random

import pytest

from bioeval_tui.report.judge_checks import REPEAT, AskedAgain, judge_stability, signed_rank_p
from tests.simulations.judging import DEFECTS, accusations, ask, sound


# tests/unit/evaluation/wiring/test_judge_test.py has the same defects found by the command
@pytest.mark.long
@pytest.mark.parametrize("defect", list(DEFECTS))
def test_a_planted_defect_is_found_by_name(defect: str) -> None:
    judge, change = DEFECTS[defect]
    found = accusations(judge, runs=10)
    assert found.pop(change) == 1
    found.pop("any")
    assert max(found.values()) <= 0.1, found


@pytest.mark.long
def test_a_noisy_but_unbiased_judge_passes() -> None:
    assert accusations(sound, runs=60)["any"] <= 1 / 60


def test_a_perfectly_stable_judge_passes() -> None:
    asked = [
        AskedAgain(c, f"c{i}", "t", 0.7, 0.7, True, True)
        for i in range(40)
        for c in ("padded", REPEAT)
    ]
    found = judge_stability(asked)
    assert not any(one.accused for one in found.values())
    assert (found["padded"].flip_rate, found["padded"].shift, found["padded"].p_shift) == (0, 0, 1)
    interval = found["padded"].flip_interval
    assert interval is not None
    assert interval.low == 0 < interval.high


def test_flips_and_shifts_are_reported_with_intervals() -> None:
    judge, change = DEFECTS["length"]
    found = judge_stability(ask(judge, Random(8)))[change]
    assert (found.items, found.clusters) == (240, 60)
    assert found.flip_interval is not None
    assert found.shift_interval is not None
    assert found.flip_interval.low < found.flip_rate < found.flip_interval.high
    # 0.08, less what the end of the scale cuts
    assert found.shift_interval.low < 0.075 < found.shift_interval.high


def test_without_a_repeat_shifts_are_still_tested() -> None:
    judge, change = DEFECTS["length"]
    found = judge_stability(one for one in ask(judge, Random(8)) if one.change != REPEAT)
    assert found[change].accused
    assert found[change].p_disagreement is None


def test_the_signed_rank_test_is_exact_for_few_differences() -> None:
    # Lehmann, Nonparametrics (1975): n = 5, all positive: 2 / 2⁵; R's wilcox.test on the sleep data
    # (one zero left out, ties) has V = 0 of nine differences: exactly 2 / 2⁹.
    assert signed_rank_p([1, 2, 3, 4, 5]) == pytest.approx(2 / 32)
    assert signed_rank_p(
        [-1.2, -2.4, -1.3, -1.3, 0.0, -1.0, -1.8, -0.8, -4.6, -1.4]
    ) == pytest.approx(2 / 512)
    assert signed_rank_p([1, -1]) == 1
    assert signed_rank_p([0.0, 0.0]) == signed_rank_p([]) == 1


def test_many_differences_use_an_approximation_that_agrees() -> None:
    random = Random(1)
    values = [random.gauss(0.2, 1) for _ in range(100)]
    exact = signed_rank_p(values)
    assert signed_rank_p([*values, 1e-9]) == pytest.approx(exact, rel=0.15)
