"""Means, errors and intervals agree with the textbook, SciPy and docs/statistics.md."""

from __future__ import annotations

from math import sqrt
from statistics import fmean, stdev

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.base.units import signed, signless
from bioeval_tui.report.sentences import counted_words, spread_words
from bioeval_tui.statistics.estimates import Sample, count, estimate, proportion
from bioeval_tui.statistics.intervals import t_quantile
from bioeval_tui.statistics.p_values import t_test_p

scores = st.lists(st.floats(0, 1), min_size=2, max_size=30)


def of(*values: float | None, job: str = "job") -> list[Sample]:
    return [Sample(job, value, "" if value is not None else "judge") for value in values]


def test_students_t_is_that_of_the_tables() -> None:
    # Fisher and Yates, Statistical Tables (1963), table III.
    assert [t_quantile(0.975, degrees) for degrees in (1, 9, 120)] == pytest.approx(
        [12.706, 2.262, 1.980], abs=5e-4
    )
    assert [t_test_p(t, 9) for t in (2.262, -2.262, 0.0)] == pytest.approx(
        [0.05, 0.05, 1.0], abs=1e-4
    )


@pytest.mark.parametrize(("share", "degrees"), [(0.0, 3), (1.0, 3), (0.9, 0)])
def test_an_impossible_quantile_is_refused(share: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(share, degrees)


TEN = (0.5, 0.6, 0.7, 0.8, 0.9, 0.5, 0.6, 0.7, 0.8, 0.9)


def test_ten_trials_of_one_job_give_an_interval_about_as_wide_as_students() -> None:
    found = estimate(of(*TEN))
    error = stdev(TEN) / sqrt(10)
    assert found.standard_error == pytest.approx(error)
    assert found.interval is not None
    assert found.interval.width == pytest.approx(2 * 2.2621572 * error, rel=0.1)
    assert "this job only" in spread_words(found)


def test_several_jobs_are_clustered_by_job() -> None:
    # Jobs whose trials agree with each other: thirty values carry the information of ten.
    samples = [
        one for i, value in enumerate(TEN) for one in of(value, value, value, job=f"job {i}")
    ]
    found, once = estimate(samples), estimate(of(*TEN))
    assert found.standard_error == pytest.approx(once.standard_error)
    assert found.interval is not None
    assert once.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (once.interval.low, once.interval.high)
    )
    assert "clustered by job, 10 jobs" in spread_words(found)


def test_one_large_job_does_not_make_the_mean_certain() -> None:
    samples = [
        one
        for i, value in enumerate(TEN)
        for one in of(*[value] * (20 if i == 0 else 1), job=f"{i}")
    ]
    found = estimate(samples)
    assert found.interval is not None
    assert found.interval.low < 0.3


@pytest.mark.parametrize("values", [(0.4,), (0.4, 0.6), (0.1, 0.2, 0.3, 0.9), TEN[:9]])
def test_fewer_than_ten_values_give_their_range_instead_of_an_interval(
    values: tuple[float, ...],
) -> None:
    found = estimate(of(*values))
    assert found.interval is None
    assert found.points == values
    words = spread_words(found)
    if len(values) > 1:
        assert f"range {min(values):.2f} to {max(values):.2f}, too few for an interval" in words


def test_equal_values_have_an_interval_of_some_width() -> None:
    assert (
        spread_words(estimate(of(*[0.1] * 6))) == "all 6 values are equal, too few for an interval"
    )
    found = estimate(of(*[1.0] * 10)).interval
    assert found is not None
    # Clopper and Pearson's
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 10), 1.0))
    assert (
        spread_words(estimate(of(*[1.0] * 10)))
        == "95 % interval 0.69 to 1.00, this job only, 10 trials"
    )


def test_excluded_values_are_counted_with_reasons_and_a_mean_with_zeros_is_given() -> None:
    found = estimate([*of(0.8, 0.8, 0.8, None), Sample("job", None, "infrastructure")])
    assert found.mean == pytest.approx(0.8)
    assert found.with_excluded_as_zero == pytest.approx(0.48)
    assert (
        counted_words(found.counted)
        == "3 of 5 used (the judge failed in 1, the measurement failed in 1)"
    )
    assert found.counted.excluded_share == pytest.approx(0.4)


def test_the_cause_of_a_reason_is_that_of_the_first_conversation() -> None:
    lost = [
        Sample("a", None, "judge", cause=cause)
        for cause in ("", "it gave no verdict", "it was away")
    ]
    assert estimate([*of(0.5), *lost]).counted.causes == (("judge", "it gave no verdict"),)


def test_without_usable_values_there_is_no_mean() -> None:
    found = estimate(of(None, None))
    assert (found.mean, found.interval, spread_words(found)) == (None, None, "no value")
    assert found.with_excluded_as_zero == 0.0
    assert estimate([]).with_excluded_as_zero is None
    assert count([]).excluded_share == 0.0


@given(scores)
def test_an_interval_contains_its_mean_and_stays_within_bounds(values: list[float]) -> None:
    found = estimate(of(*values))
    assert found.mean == pytest.approx(fmean(values))
    if found.interval is not None:
        assert 0 <= found.interval.low <= found.mean + 1e-12
        assert found.mean - 1e-12 <= found.interval.high <= 1


@pytest.mark.parametrize(
    ("successes", "total"), [(0, 10), (5, 10), (0, 20), (17, 20), (20, 20), (98, 100)]
)
def test_the_interval_of_independent_trials_equals_scipys(successes: int, total: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(successes, total).proportion_ci(0.95, "exact")
    found = proportion((str(i), i < successes) for i in range(total)).interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_trials_of_the_same_cases_are_not_independent() -> None:
    held = [(f"case {case}", case % 3 > 0) for case in range(12) for _ in range(10)]
    found, apart = proportion(held), proportion((i, yes) for i, (_, yes) in enumerate(held))
    assert (found.successes, found.total) == (80, 120)
    assert found.interval is not None
    assert apart.interval is not None
    assert found.interval.width > 2.5 * apart.interval.width
    assert proportion(held[:90]).interval is None  # nine cases


def test_a_proportion_of_nothing_is_none() -> None:
    assert proportion([]).share is None


def test_numbers_have_proper_minus_signs_and_no_minus_zero() -> None:
    assert [signless(-0.001), signless(-0.5)] == ["0.00", "−0.50"]
    assert [signed(0.0), signed(-0.004), signed(0.07), signed(-0.1)] == [
        "±0.00",
        "±0.00",
        "+0.07",
        "−0.10",
    ]
