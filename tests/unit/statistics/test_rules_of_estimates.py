"""Every rule of means, shares, pass^k, response times and their intervals exactly at its
threshold.
"""

from __future__ import annotations

from math import comb, inf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from bioeval_tui.statistics.estimates import (
    Sample,
    Tries,
    count,
    estimate,
    pass_hat,
    pass_k,
    pass_series,
    proportion,
    summarise,
    values_by_cluster,
)
from bioeval_tui.statistics.intervals import (
    CHANGE,
    LEVEL,
    TAIL,
    UNIT,
    Bounds,
    Interval,
    Z,
    bounded,
    joined,
    left_out,
    mean_of,
    padded,
    percentiles,
    share_ends,
    share_interval,
    statistic_interval,
    t_quantile,
    unvaried,
)
from bioeval_tui.statistics.means import (
    TINY,
    average_if_any,
    exact_difference,
    exact_mean,
    percentile,
    quantiles,
    reaches,
)


@pytest.mark.parametrize(
    ("size", "share", "nth"),
    [
        (1, 0.5, 1), (2, 0.5, 1), (3, 0.5, 2), (4, 0.5, 2), (10, 0.9, 9), (11, 0.9, 10),
        (20, 0.95, 19), (21, 0.95, 20),
        (19, 0.95, 19), (100, 0.29, 29), (100, 0.07, 7), (100, 0.57, 57), (100, 0.01, 1),
        (100, 0.0, 1), (100, 1.0, 100),
        (101, 0.01, 2),
    ],
)  # fmt: skip
def test_a_percentile_is_the_nearest_rank_also_where_the_product_is_not_exact(
    size: int, share: float, nth: int
) -> None:
    """0.07 · 100 is 7.000000000000001 in binary fractions, and the seventh value all the same."""
    values = [float(n) for n in range(size, 0, -1)]
    assert percentile(values, share) == nth
    assert percentile([], share) is None


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0, 1), st.floats(0, 1))
def test_percentiles_are_values_that_rise_with_the_share(
    values: list[float], one: float, other: float
) -> None:
    low, high = (percentile(values, share) for share in sorted((one, other)))
    assert low is not None
    assert high is not None
    assert min(values) <= low <= high <= max(values)
    assert low in values


@pytest.mark.parametrize(
    ("value", "bar", "there"),
    [(0.8, 0.8, True), (0.8 - 0.5 * TINY, 0.8, True), (0.8 - 3 * TINY, 0.8, False),
        (0.2673, 0.27, False), (0.81, 0.8, True)],
)  # fmt: skip
def test_a_threshold_is_reached_but_for_a_rest_of_rounding(
    value: float, bar: float, there: bool
) -> None:
    assert reaches(value, bar) is there


def test_means_and_differences_are_as_written() -> None:
    assert exact_mean([0.1, 0.2]) == 0.15
    assert exact_mean([0.0, 1.0, 0.1], [0.0, 1.0, 3.0]) == 0.325
    assert exact_mean([0.3, 0.6], [0.1, 0.2]) == 0.5
    assert exact_difference(0.3, 0.1) == 0.2
    assert average_if_any([]) is None
    assert average_if_any([1.0, 2.0]) == 1.5
    assert list(quantiles([0.0, 1.0, 2.0], [1.0, 0.25])) == [2.0, 0.5]
    for wrong in (lambda: exact_mean([]), lambda: exact_mean([1.0], [1.0, 2.0])):
        with pytest.raises(ValueError):
            wrong()


def lost(reason: str = "", cause: str = "", **more: Any) -> Sample:
    return Sample("a", None, reason, cause=cause, **more)


def test_what_is_counted_and_why_the_rest_is_not() -> None:
    counted = count(
        [
            Sample("a", 0.0, again=True, excused=False, cause="nothing"),
            lost("rare", "first rare"),
            lost("often", excused=False),
            lost("often", "second often"),
            lost("often", "third often", again=True),
            lost("", "nobody knows"),
        ]
    )
    assert (counted.used, counted.held, counted.excluded) == (1, 6, 5)
    assert counted.reasons == (("often", 3), ("rare", 1), ("no reason", 1))
    assert counted.causes == (
        ("often", "second often"),
        ("rare", "first rare"),
        ("no reason", "nobody knows"),
    )
    assert (counted.again, counted.unexcused) == (2, 1)
    assert counted.excluded_share == 5 / 6
    assert count([]).excluded_share == 0.0
    assert count([lost("silent")]).causes == ()


def test_an_estimate_says_its_unit_and_what_it_is_with_the_excluded_as_zero() -> None:
    some = estimate([Sample("a", 0.6), Sample("a", 0.2), lost("gone")])
    assert (some.mean, some.with_excluded_as_zero, some.unit, some.clusters) == (
        0.4,
        0.8 / 3,
        "job",
        1,
    )
    assert estimate([]).with_excluded_as_zero is None
    assert estimate([lost()]).with_excluded_as_zero == 0.0
    assert estimate([Sample("a", 0.1, case="x"), Sample("a", 0.2)]).unit == "case"
    assert values_by_cluster([Sample("a", 0.1, case="x"), lost(), Sample("a", 0.2)]) == {
        ("a", "x"): [0.1],
        ("a", ""): [0.2],
    }


@pytest.mark.parametrize(
    ("values", "equal"),
    [((), False), ((0.5,), False), ((0.5, 0.5), True), ((0.5, 0.5 + 5e-13), True),
        ((0.5, 0.5 + 1.2e-12), False), ((0.5, 0.5 + 0.9e-12), True), ((0.5, 0.5, 0.6), False)],
)  # fmt: skip
def test_several_values_are_all_equal_but_for_rounding(
    values: tuple[float, ...], equal: bool
) -> None:
    assert estimate([Sample("a", value) for value in values]).all_equal == equal


def test_the_interval_of_a_batch_that_could_stop_is_valid_at_every_look() -> None:
    samples = [Sample("a", 0.5 + 0.1 * (n % 3), stopped=n == 7) for n in range(20)]
    stopped = estimate(samples).interval
    assert stopped is not None
    assert stopped.method == "betting"
    free = estimate(samples, (-inf, inf)).interval
    assert free is not None
    assert free.method == "Student's t"
    planned = estimate([Sample("a", 0.5 + 0.1 * (n % 3)) for n in range(20)]).interval
    assert planned is not None
    assert planned.method == "Clopper-Pearson, effective number"
    shares = proportion([("a", n % 2 == 0) for n in range(20)], stopped=True)
    assert shares.interval is not None
    assert shares.interval.method == "betting"
    all_held = proportion([(n, n % 2 == 0) for n in range(20)]).interval
    assert all_held is not None
    assert all_held.method == "Clopper-Pearson"


def test_a_proportion_counts_values_and_clusters_them() -> None:
    some = proportion([("x", True), ("x", False), ("y", True)])
    assert (some.successes, some.total, some.share) == (2, 3, exact_mean([1.0, 0.0, 1.0]))
    nothing = proportion([])
    assert (nothing.successes, nothing.total, nothing.share, nothing.interval) == (0, 0, None, None)


@pytest.mark.parametrize(
    ("successes", "trials", "k", "value"),
    [(0, 0, 1, None), (2, 2, 3, None), (3, 3, 3, 1.0), (2, 3, 3, 0.0), (2, 4, 2, 1 / 6),
        (4, 4, 1, 1.0), (0, 1, 1, 0.0)],
)  # fmt: skip
def test_pass_hat_is_undefined_below_k_trials(
    successes: int, trials: int, k: int, value: float | None
) -> None:
    assert pass_hat(successes, trials, k) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(("successes", "trials", "k"), [(1, 1, 0), (-1, 1, 1), (2, 1, 1)])
def test_pass_hat_refuses_what_cannot_be(successes: int, trials: int, k: int) -> None:
    with pytest.raises(ValueError, match="no pass"):
        pass_hat(successes, trials, k)


def tries(name: str, passed: str, case: str = "") -> Tries:
    return Tries(name, {n: letter == "+" for n, letter in enumerate(passed, start=1)}, case)


def test_pass_k_is_of_the_tasks_with_k_trials_and_a_series_of_those_that_all_have() -> None:
    tasks = [tries("a", "++-"), tries("b", "+-"), tries("c", "+++")]
    second = pass_k(tasks, 2)
    assert second.value == pytest.approx((1 / 3 + 0 + 1) / 3)
    third = pass_k(tasks, 3)
    assert (third.value, third.tasks, third.undefined) == (0.5, 2, ("b",))
    assert [each.k for each in pass_series(tasks)] == [1, 2]
    assert pass_series([]) == pass_series([tries("a", "")]) == ()
    assert pass_k(tasks, 4).value is None


@pytest.mark.parametrize(
    ("trials", "k", "there"),
    [(9, 1, False), (10, 1, True), (29, 2, False), (30, 2, True), (29, 1, True)],
)
def test_pass_k_of_one_case_has_an_interval_from_ten_conversations_and_for_more_than_1_from_thirty(
    trials: int, k: int, there: bool
) -> None:
    interval = pass_k([tries("a", "+-" * 15, "case")][:1], k).interval
    assert interval is not None
    found = pass_k([tries("a", ("+-" * 20)[:trials], "case")], k).interval
    assert (found is not None) == there
    if found is not None:
        assert found.scope == f"these tasks only, {trials} conversations"


@pytest.mark.parametrize(("cases", "there"), [(2, False), (9, False), (10, True)])
def test_pass_k_of_several_cases_is_clustered_by_them(cases: int, there: bool) -> None:
    many = [tries(f"task {n}", "++-" if n % 2 else "+--", f"case {n}") for n in range(cases)]
    found = pass_k(many, 2).interval
    assert (found is not None) == there
    assert found is None or found.scope == f"clustered by case, {cases} cases"
    assert pass_k([*many, tries("short", "+", "own")], 2).interval == found, (
        "a task without k trials is in none"
    )


def test_leaving_out_a_conversation_leaves_out_its_trial_in_each_task() -> None:
    """The jackknife by hand: of two tasks, one of which lacks the last trial."""
    passed = {"a": "++-+-+++-++-", "b": "+-+++-++++-"}
    tasks = [tries(name, text, "case") for name, text in passed.items()]
    whole = np.mean([text.count("+") / len(text) for text in passed.values()])
    left = [
        np.mean(
            [
                (text.count("+") - (text[n : n + 1] == "+")) / (len(text) - (n < len(text)))
                for text in passed.values()
            ]
        )
        for n in range(12)
    ]
    assert pass_k(tasks, 1).interval is not None
    wanted = left_out(float(whole), [float(each) for each in left], UNIT, 12)
    found = pass_k(tasks, 1).interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_trials_are_one_draw_of_all_succeed(k: int) -> None:
    passed = "++-" * 10
    found = pass_k([tries("a", passed, "case")], k).interval
    yes, size = passed.count("+"), len(passed)
    whole = comb(yes, k) / comb(size, k)
    left = [comb(yes - (one == "+"), k) / comb(size - 1, k) for one in passed]
    wanted = left_out(whole, left, UNIT, size / k)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_response_times_are_summed_up() -> None:
    times = [float(n) for n in range(1, 21)]
    found = summarise(times, [3.0, 1.0, 2.0, 9.0], [4, 1, 4])
    assert (found.answers, found.average_ms, found.p50_ms, found.p90_ms) == (20, 10.5, 10.0, 18.0)
    assert (found.p95_ms, found.max_ms, found.first_token_ms, found.streamed) == (
        19.0,
        20.0,
        2.0,
        4,
    )
    assert found.concurrency == (1, 4)
    nothing = summarise([], [], [])
    assert (nothing.answers, nothing.average_ms, nothing.max_ms, nothing.first_token_ms) == (
        0,
        None,
        None,
        None,
    )


# Intervals


@pytest.mark.parametrize(
    ("groups", "within", "units", "interval"),
    [
        ({"a": [0.5]}, "trial", 1, False), ({"a": [0.5, 0.6]}, "", 1, False),
        ({"a": [0.1, 0.9] * 9}, "", 1, False),
        ({"a": [0.1, 0.9, 0.4] * 3}, "trial", 9, False), ({"a": [0.1, 0.9] * 5}, "trial", 10, True),
        ({n: [0.1 * n] for n in range(9)}, "", 9, False),
        ({n: [0.1 * n] for n in range(10)}, "", 10, True),
        ({n: [0.1 * n] if n < 9 else [] for n in range(10)}, "", 9, False),
    ],
)  # fmt: skip
def test_ten_independent_units_have_an_interval(
    groups: dict[Any, list[float]], within: str, units: int, interval: bool
) -> None:
    found = mean_of(groups, UNIT, within=within)
    assert found is not None
    assert found.units == units
    assert (found.interval is not None) == interval
    values = [value for own in groups.values() for value in own]
    assert found.values == len(values)
    assert found.value == exact_mean(values)
    assert (found.standard_error is None) == (units == 1)


def test_the_error_is_the_jackknifes_and_its_degrees_are_kishs() -> None:
    groups = {n: [0.1 * n, 0.05 * n] if n % 2 else [0.2] for n in range(10)}
    found = mean_of(groups, UNIT)
    assert found is not None
    values = np.array([value for own in groups.values() for value in own])
    left = [(values.sum() - sum(own)) / (len(values) - len(own)) for own in groups.values()]
    assert found.standard_error == pytest.approx(
        sqrt(9 / 10 * sum((each - values.mean()) ** 2 for each in left))
    )
    assert found.degrees == pytest.approx(15**2 / (5 * 4 + 5 * 1) - 1)
    lopsided = mean_of({"a": [0.1] * 99 + [0.2], "b": [0.3]}, UNIT)
    assert lopsided is not None
    assert lopsided.degrees == 1.0


@pytest.mark.parametrize(("bounds", "paired", "method"), [
    (UNIT, False, "Clopper-Pearson, effective number"), (UNIT, True, "Student's t"),
    ((-inf, inf), False, "Student's t"),
    ((0.0, inf), False, "Student's t"), ((-inf, 1.0), False, "Student's t"),
])  # fmt: skip
def test_the_method_follows_from_the_bounds(bounds: Bounds, paired: bool, method: str) -> None:
    values = [0.1, 0.5, 0.45, 0.7, 0.3, 0.6, 0.8, 0.2, 0.4, 0.5]
    found = mean_of({n: [value] for n, value in enumerate(values)}, bounds, paired=paired)
    assert found is not None
    assert found.interval is not None
    assert found.interval.method == method
    if method == "Student's t":
        half = stats.t.ppf(0.975, 9) * stats.sem(values)
        assert (found.interval.low, found.interval.high) == pytest.approx(
            (found.value - half, found.value + half)
        )


def test_students_interval_ends_at_the_bounds() -> None:
    values = [0.01, 0.99] * 5
    found = mean_of({n: [value] for n, value in enumerate(values)}, (0.3, 0.6), paired=True)
    assert found is not None
    assert found.interval == Interval(0.3, 0.6, "clustered by case, 10 cases", "Student's t")


def test_yes_and_no_of_independent_units_are_counted() -> None:
    found = mean_of({n: [float(n < 3)] for n in range(12)}, UNIT)
    exact = stats.binomtest(3, 12).proportion_ci(method="exact")
    assert found is not None
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((exact.low, exact.high))
    assert found.interval.method == "Clopper-Pearson"
    moved = mean_of({n: [2 * float(n < 3) - 1] for n in range(12)}, CHANGE)
    assert moved is not None
    assert moved.interval is not None
    assert (moved.interval.low, moved.interval.high) == pytest.approx(
        (2 * exact.low - 1, 2 * exact.high - 1)
    )


def test_what_does_not_vary_has_the_exact_interval_of_so_many_units() -> None:
    others = 1 - 0.025 ** (1 / 10)
    found = mean_of({n: [0.4] for n in range(10)}, UNIT)
    assert found is not None
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (0.4 - others * 0.4, 0.4 + others * 0.6)
    )
    assert found.interval.method == "exact"
    unbounded = mean_of({n: [0.4] for n in range(10)}, (0.0, inf))
    assert unbounded is not None
    assert unbounded.interval is None
    assert unvaried(1.0, UNIT, 10).high == 1.0
    large = mean_of({n: [1e6 + 1e-7 * (n % 2)] for n in range(10)}, (-inf, inf))
    assert large is not None
    assert large.interval is None, "a rest of rounding is in proportion to the mean"


def clopper(share: float, n: float) -> tuple[float, float]:
    yes, no = share * n, n - share * n
    return float(stats.beta.ppf(TAIL, yes, no + 1)), float(stats.beta.ppf(1 - TAIL, yes + 1, no))


def by_hand(clusters: list[list[float]]) -> tuple[float, float]:
    """The documented method in plain NumPy: jackknife error, padded where values pile up, as an
    effective number.
    """
    values = np.array([value for own in clusters for value in own])
    n, size, mean = len(values), len(clusters), values.mean()
    left = np.array([(values.sum() - sum(own)) / (n - len(own)) for own in clusters])
    error2 = (size - 1) / size * ((left - mean) ** 2).sum()
    variance = max(error2, values.var(ddof=1) / n)
    far = np.abs(np.array([np.mean(own) for own in clusters]) - (1.0 if mean >= 0.5 else 0.0))
    piled = max(0.0, ((far <= 0.1 * far.mean()).mean() - 0.25) / 0.75)
    more = piled**2 / (1 - piled) * (3 if size == n else 0.6 * min(1, size / 100))
    most = mean * (1 - mean)
    padded_ = ((size - 1) * variance + more * most / size) / (size - 1 + more)
    degrees = n**2 / sum(len(own) ** 2 for own in clusters) - 1
    effective = most / padded_ * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, degrees)) ** 2
    return clopper(mean, effective)


PILED = [0.9, 0.8, 0.75]


@pytest.mark.parametrize(
    "clusters",
    [
        [[0.1 * n] for n in range(11)],
        [[1.0]] * 9 + [[value] for value in PILED],
        [[0.0]] * 9 + [[1 - value] for value in PILED],
        [[0.5 + 0.5 * side] for side in (-1, 1)] * 6 + [[0.5]],
        [[1.0]] * 5
        + [[0.125]] * 6
        + [[0.25]],  # their mean is a half, and they are piled up at 1 only
        [[1.0, 0.9]] * 6 + [[0.2, 0.4]] * 6,
        [[1.0, 1.0]] * 12 + [[0.2, 0.4]] * 4,
        [[0.0, 0.0]] * 130 + [[0.2, 0.4]] * 20,
        [[1.0, 0.0]] * 10 + [[0.9, 0.2]] * 2,  # clusters more alike than their values
        [[1.0], [1.0, 0.5, 0.7], [0.2]] * 4,
    ],
)
def test_the_interval_of_a_bounded_mean_is_the_documented_one(clusters: list[list[float]]) -> None:
    found = mean_of(dict(enumerate(clusters)), UNIT)
    assert found is not None
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(by_hand(clusters), rel=1e-6)
    wide = mean_of({n: [2 * value - 1 for value in own] for n, own in enumerate(clusters)}, CHANGE)
    assert wide is not None
    assert wide.interval is not None
    assert (wide.interval.low + 1) / 2 == pytest.approx(found.interval.low, rel=1e-6)
    assert (wide.interval.high + 1) / 2 == pytest.approx(found.interval.high, rel=1e-6)


@pytest.mark.parametrize("draws", [5, 12])
@pytest.mark.parametrize(
    "alone",
    [
        [0.8, 0.7, 1.0, 0.2] * 3,
        [1.0] * 9 + [0.2] * 3,
        [0.0] * 20 + [0.5] * 40,
        [0.0] * 9 + [0.5, 0.4, 0.6],
    ],
)
def test_a_unit_that_was_not_drawn_is_in_the_error_of_what_is_left_out(
    alone: list[float], draws: int
) -> None:
    size, values = len(alone), np.array(alone)
    value = float(values.mean())
    left = [float((values.sum() - each) / (size - 1)) for each in alone]
    variance = values.var(ddof=1) / size
    far = np.abs(values - (1.0 if value >= 0.5 else 0.0))
    more = 4 * max(0.0, ((far <= 0.1 * far.mean()).mean() - 0.25) / 0.75)
    most = value * (1 - value)
    variance = ((size - 1) * variance + more * most / size) / (size - 1 + more)
    variance += 0.35 * min(1, size / 50) * (max(value, 1 - value) / draws) ** 2
    effective = most / variance * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, size - 1)) ** 2
    found = left_out(value, left, UNIT, draws)
    assert (found.low, found.high) == pytest.approx(clopper(value, effective), rel=1e-6)
    changed = left_out(2 * value - 1, [2 * each - 1 for each in left], CHANGE, draws)
    assert (changed.low, changed.high) == pytest.approx(
        (2 * found.low - 1, 2 * found.high - 1), rel=1e-6, abs=1e-9
    )
    assert left_out(0.5, [0.5] * 12, UNIT, draws) == unvaried(0.5, UNIT, draws)


def test_the_ends_of_a_share() -> None:
    assert share_ends(0.0, 10, TAIL)[0] == 0.0
    assert share_ends(1.0, 10, TAIL)[1] == 1.0
    assert share_ends(1e-14, 10, TAIL)[0] == 0.0
    found = share_interval(0.3, 20)
    assert (found.low, found.high) == pytest.approx(clopper(0.3, 20))
    assert bounded(0.5, 0.01, UNIT).width == pytest.approx(np.diff(clopper(0.5, 25))[0])
    assert bounded(0.5, 0.01, UNIT, 9).width > bounded(0.5, 0.01, UNIT).width
    assert found.width == found.high - found.low


def test_more_of_the_largest_variance_is_a_mean_of_both() -> None:
    assert padded(0.01, 0.25, 10, 0.0) == 0.01
    assert padded(0.01, 0.25, 10, 3.0) == pytest.approx((9 * 0.01 + 3 * 0.25 / 10) / 12)


@pytest.mark.parametrize(("share", "degrees"), [(0.0, 5), (1.0, 5), (0.5, 0.99)])
def test_there_is_no_quantile_beyond_the_distribution(share: float, degrees: float) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(share, degrees)


def test_quantiles_are_scipys() -> None:
    assert t_quantile(0.975, 1) == pytest.approx(stats.t.ppf(0.975, 1))
    assert pytest.approx(0.95) == LEVEL
    assert pytest.approx(stats.norm.ppf(0.975)) == Z


@pytest.mark.parametrize(("units", "skew"), [(10, 0.0), (10, 0.1), (200, -0.05)])
def test_resampled_intervals_end_at_widened_shares(units: int, skew: float) -> None:
    z = stats.t.ppf(0.975, units - 1) * sqrt(units / (units - 1))
    wanted = [stats.norm.cdf(skew + (skew + side) / (1 - skew * (skew + side))) for side in (-z, z)]
    assert percentiles(units, skew) == pytest.approx(tuple(wanted))
    low, high = percentiles(units)
    assert low == pytest.approx(1 - high)


def test_independent_parts_are_joined_by_their_own_distances() -> None:
    parts = [(0.5, 0.6, Interval(0.5, 0.9)), (0.5, 0.2, Interval(0.1, 0.25))]
    found = joined(parts, UNIT, "here")
    assert found.low == pytest.approx(0.4 - sqrt((0.5 * 0.1) ** 2 + (0.5 * 0.1) ** 2))
    assert found.high == pytest.approx(0.4 + sqrt((0.5 * 0.3) ** 2 + (0.5 * 0.05) ** 2))
    assert found.scope == "here"
    more = joined(parts, UNIT, "", 0.01)
    assert more.low == pytest.approx(0.4 - sqrt(Z * Z * 0.01 + 2 * 0.05**2))
    assert more.high == pytest.approx(0.4 + sqrt(Z * Z * 0.01 + 0.15**2 + 0.025**2))
    assert joined(parts, (0.39, 0.41), "").width == pytest.approx(0.02)


def agreement_of(counts: Any) -> float | None:
    """A statistic from −1 to 1: how many say yes rather than no."""
    total = sum(counts.values())
    return (counts.get("yes", 0) - counts.get("no", 0)) / total if total else None


@pytest.mark.parametrize(("clusters", "there"), [(29, False), (30, True)])
def test_a_curved_statistic_has_an_interval_from_thirty_clusters(
    clusters: int, there: bool
) -> None:
    many = [{"yes": 2.0} if n % 3 else {"no": 1.0, "yes": 1.0} for n in range(clusters)]
    found = statistic_interval(many, agreement_of, {"no": 2.0}, "conversation")
    assert (found is not None) == there
    if found is None:
        return
    every = [*many, {"no": 2.0}]
    total = {key: sum(each.get(key, 0.0) for each in every) for key in ("yes", "no")}
    left = [agreement_of({key: total[key] - each.get(key, 0.0) for key in total}) for each in every]
    smooth = agreement_of(total)
    assert smooth is not None
    size = len(every)
    variance = (size - 1) / size * sum((each - smooth) ** 2 for each in left if each is not None)
    share = (smooth + 1) / 2
    effective = share * (1 - share) * 4 / variance
    effective *= (Z / stats.t.ppf(0.975, clusters - 1)) ** 2
    value = agreement_of({key: total[key] - (2.0 if key == "no" else 0.0) for key in total})
    assert value is not None
    low, high = clopper((value + 1) / 2, effective)
    assert (found.low, found.high) == pytest.approx((2 * low - 1, 2 * high - 1), rel=1e-6)
    assert found.scope == f"clustered by conversation, {clusters} conversations"


def test_a_statistic_that_is_undefined_has_no_interval() -> None:
    many = [{"yes": 1.0}] * 30
    assert statistic_interval(many, lambda _: None, {"no": 1.0}, "x") is None
    assert (
        statistic_interval(
            many, lambda counts: 0.5 if sum(counts.values()) == 31 else None, {"no": 1.0}, "x"
        )
        is None
    )
    only_whole = statistic_interval(
        many, lambda counts: None if sum(counts.values()) == 30 else 0.5, {"no": 1.0}, "x"
    )
    assert only_whole is None
    assert (
        statistic_interval(
            many, lambda counts: None if sum(counts.values()) == 31 else 0.5, {"no": 1.0}, "x"
        )
        is None
    )


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=10, max_size=14))
def test_an_interval_is_among_possible_values_around_its_mean_and_of_no_order(
    clusters: list[list[float]],
) -> None:
    found, turned = (mean_of(dict(enumerate(each)), UNIT) for each in (clusters, clusters[::-1]))
    assert found is not None
    assert found.interval is not None
    assert turned is not None
    assert turned.interval is not None
    assert 0 <= found.interval.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.interval.high <= 1
    assert found.interval.width > 0
    assert turned.interval.low == pytest.approx(found.interval.low, abs=1e-6)
