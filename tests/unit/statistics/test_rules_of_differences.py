"""Every rule of paired differences exactly at its threshold: one below, at it, one above."""

from __future__ import annotations

from dataclasses import replace
from math import comb, inf, nextafter, sqrt
from typing import Any

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from bioeval_tui.statistics.estimates import Counted, Estimate, Sample
from bioeval_tui.statistics.intervals import NORMAL, Interval
from bioeval_tui.statistics.p_values import MOST_EXACT, binomial_p, holm, signed_rank_p, t_test_p
from bioeval_tui.statistics.paired_differences import (
    BESIDE,
    FOUND_AT,
    Difference,
    corrected,
    difference,
    differences,
)
from bioeval_tui.statistics.ranks import rank

JUST_ABOVE = nextafter(FOUND_AT, 1)


def told(
    mean: float | None = 0.1,
    units: int = 6,
    p: float | None = 0.01,
    *,
    clusters: int | None = None,
    interval: tuple[float, float] | None = None,
    **more: Any,
) -> Difference:
    """Return a difference of `units` independent pairs, as `difference` would."""
    ends = None if interval is None else Interval(*interval)
    many = clusters if clusters is not None else units
    known = Estimate(mean, 0.05, ends, (0.1,) * units, Counted(units, units), mean, clusters=many)
    return Difference(known, p, **more)


def of_cases(values: list[float], **more: Any) -> list[Sample]:
    return [Sample("job", value, case=f"case {n}", **more) for n, value in enumerate(values)]


A, B = Sample("a", 0.1, case="one"), Sample("a", 0.3, case="one")
LOST, GONE = Sample("a", None, "lost"), Sample("a", None, "gone")


@pytest.mark.parametrize(
    ("pair", "value", "reason"),
    [
        ((A, B), 0.2, ""), ((B, A), -0.2, ""), ((LOST, B), None, "lost"), ((A, GONE), None, "gone"),
        ((LOST, GONE), None, "lost"), ((None, B), None, "not run on both sides"),
        ((A, None), None, "not run on both sides"),
        ((None, GONE), None, "not run on both sides"),
        ((None, None), None, "not run on both sides"),
    ],
)  # fmt: skip
def test_a_pair_without_both_values_keeps_the_first_reason(
    pair: tuple[Sample | None, Sample | None], value: float | None, reason: str
) -> None:
    (found,) = differences([pair])
    assert (found.value, found.reason) == (value, reason)
    assert found.job == ("" if pair == (None, None) else "a")
    assert found.case == ("one" if A in pair or (B in pair and LOST not in pair) else "")
    sides = None if value is None else (pair[0].value, pair[1].value)  # type: ignore[union-attr]
    assert found.sides == sides


@pytest.mark.parametrize(
    ("first", "second"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_a_difference_is_of_a_stopped_batch_if_one_of_its_sides_is(
    first: bool, second: bool
) -> None:
    (found,) = differences(
        [(replace(A, stopped=first), replace(B, stopped=second))], independent=False
    )
    assert found.stopped == (first or second)
    assert found.sides is None, "two readings of one conversation are no independent trials"


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (told(None, units=0, p=None), "not measured"),
        (told(units=4), "too few"),
        (told(units=4, p=None), "too few"),
        (told(units=5, p=None), "same"),
        (told(units=5), "too few"),  # 2 / 2⁵ is more than 5 %
        (told(units=6), "better"),
        (told(-0.1, units=6), "worse"),
        (told(units=6, higher_is_better=False), "worse"),
        (told(-0.1, units=6, higher_is_better=False), "better"),
        (told(units=6, p=FOUND_AT), "better"),
        (told(units=6, p=JUST_ABOVE), "not distinguishable"),
        (told(units=5, clusters=1, of_trials=True), "better"),
        (told(units=4, clusters=1, of_trials=True), "too few"),
    ],
)
def test_a_verdict_takes_enough_pairs_and_a_p_value_of_at_most_five_per_cent(
    said: Difference, verdict: str
) -> None:
    assert said.direction == verdict


@pytest.mark.parametrize(
    ("tests", "of_trials", "needed"),
    [(1, False, 6), (1.6, False, 6), (1.61, False, 7), (3.2, False, 7), (3.21, False, 8),
        (1, True, 5), (25.6, True, 5),
     (25.7, True, 6)],
)  # fmt: skip
def test_more_tests_need_more_pairs(tests: float, of_trials: bool, needed: int) -> None:
    assert told(tests=tests, of_trials=of_trials).needed == needed


@pytest.mark.parametrize(
    ("p", "interval", "beyond"),
    [
        (None, (0.1, 0.2), False), (JUST_ABOVE, None, False), (FOUND_AT, (0.1, 0.2), False),
        (JUST_ABOVE, (0.1, 0.2), True),
        (JUST_ABOVE, (0.0, 0.2), False), (JUST_ABOVE, (-0.2, 0.0), False),
        (JUST_ABOVE, (-0.2, -0.1), True),
        (JUST_ABOVE, (-0.1, 0.1), False),
    ],
)  # fmt: skip
def test_an_interval_without_0_is_said_only_where_no_verdict_is(
    p: float | None, interval: tuple[float, float] | None, beyond: bool
) -> None:
    assert told(p=p, interval=interval).beyond_interval == beyond


def test_pairs_are_of_trials_of_a_single_job_and_else_of_its_cases_or_of_jobs() -> None:
    one = difference([Sample("a", 0.1 * n) for n in range(5)])
    assert (one.units, one.unit) == (5, "trial")
    jobs = difference([Sample(name, 0.1 * n) for n in range(5) for name in "ab"])
    assert (jobs.units, jobs.unit) == (2, "job")
    cases = difference([Sample("a", 0.1 * n, case=name) for n in range(5) for name in "xyz"])
    assert (cases.units, cases.unit) == (3, "case")


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([0.1] * 4, None),
        ([0.0] * 5, None),
        ([1e-12] * 5, None),
        ([0.1] * 5, 2 / 2**5),
        ([0.1] * 6, 2 / 2**6),
        ([-0.1] * 6, 2 / 2**6),
        ([0.1, 0.11] * 3, 2 / 2**6),  # the t test claims 0.000 5
        ([0.1, -0.05, 0.2] * 2, stats.ttest_1samp([0.1, -0.05, 0.2] * 2, 0).pvalue),
    ],
)
def test_few_or_equal_pairs_show_no_more_than_the_signs_of_so_many_can(
    values: list[float], p: float | None
) -> None:
    found = difference(of_cases(values)).p
    assert found == (None if p is None else pytest.approx(p, rel=1e-9))


def test_cases_in_which_differences_cancel_out_do_not_differ() -> None:
    cancelling = [Sample("a", sign * 0.1, case=f"{n}") for n in range(8) for sign in (1, -1)]
    assert difference(cancelling).p == 1.0
    assert difference(cancelling).direction == "not distinguishable"


def of_one_job(pairs: list[tuple[float, float]]) -> Difference:
    sides = [(Sample("a", first), Sample("a", second)) for first, second in pairs]
    return difference(differences(sides))


@pytest.mark.parametrize(
    ("pairs", "p"),
    [
        ([(0.1, 0.5)] * 5, 2 / 4**5),
        ([(0.5, 0.1)] * 5, 2 / 4**5),
        ([(0.1, 0.5), (0.11, 0.52)] * 3, 2 / comb(12, 6)),  # wholly apart
        ([(0.5, 0.1), (0.52, 0.11)] * 3, 2 / comb(12, 6)),
        ([(0.1, 0.2), (0.3, 0.4), (0.2, 0.3), (0.05, 0.15), (0.25, 0.35)], 2 / 2**5),
        # apart, by the same
        (
            [(0.1, 0.5), (0.2, 0.6), (0.3, 0.7), (0.4, 0.8), (0.15, 0.55)],
            2 / comb(10, 5),
        ),
        ([(0.5, 0.1), (0.6, 0.2), (0.7, 0.3), (0.8, 0.4), (0.55, 0.15)], 2 / comb(10, 5)),
        ([(0.1, 0.2), (0.2, 0.3)] * 3, 2 / 2**6),  # not apart, and each pair differs by the same
        ([(0.1, 0.9), (0.9, 0.95), (0.1, 0.2)] * 2, None),
    ],
)
def test_independent_trials_show_more_the_further_they_are_apart(
    pairs: list[tuple[float, float]], p: float | None
) -> None:
    by_t = (
        stats.ttest_1samp([second - first for first, second in pairs], 0).pvalue if p is None else p
    )
    found = of_one_job(pairs)
    assert found.of_trials
    assert found.p == pytest.approx(by_t, rel=1e-6)


def test_a_batch_that_could_stop_is_decided_by_its_interval() -> None:
    high = difference([Sample("job", 0.5, stopped=n == 7) for n in range(60)])
    assert high.estimate.interval is not None
    assert high.estimate.interval.low > 0
    assert high.p == FOUND_AT
    assert high.direction == "better"
    low = difference(of_cases([0.01, -0.01] * 6, stopped=True))
    assert (low.p, low.direction) == (1.0, "not distinguishable")


def test_what_stands_beside_takes_a_fifth_only_if_it_could_have_a_verdict() -> None:
    main, few, many = told(p=0.02), told(units=5, p=0.01), told(units=9, p=0.01)
    assert corrected({"main": main}, {})["main"].p == 0.02
    assert corrected({"main": main}, {"few": few})["main"].p == 0.02
    found = corrected({"main": main}, {"many": many})
    assert found["main"].p == pytest.approx(0.02 / (1 - BESIDE))
    assert found["many"].p == pytest.approx(0.01 / BESIDE)
    assert found["many"].tests == pytest.approx(1 / BESIDE)
    assert found["main"].tests == pytest.approx(1 / (1 - BESIDE))
    assert corrected({"main": main}, {"same": told(units=9, p=None)})["main"].p == 0.02
    # 5 tests of a fifth: with 8 pairs 2 / 2⁸ · 5 is 0.039, with 7 it is 0.078
    assert corrected({"main": main}, {"many": told(units=8)})["main"].p == pytest.approx(0.025)
    assert corrected({"main": main}, {"few": told(units=7)})["main"].p == 0.02


def test_a_difference_of_0_in_every_pair_is_no_test_of_the_others() -> None:
    found = corrected({"a": told(p=0.01), "b": told(p=0.02), "same": told(p=None)}, {})
    assert (found["a"].p, found["a"].tests) == (0.02, 2)
    assert (found["same"].p, found["same"].tests) == (None, 3)
    assert corrected({"a": told(p=0.9), "b": told(p=0.8)}, {})["b"].p == 1.0


P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(P_VALUES, st.randoms(use_true_random=False))
def test_holm_is_monotone_never_less_than_p_and_of_no_order(
    p_values: list[float], random: Any
) -> None:
    named = dict(enumerate(p_values))
    adjusted = holm(named)
    assert list(adjusted) == list(named)
    ordered = sorted(p_values)
    for name, p in named.items():
        oracle = max(
            min(1.0, (len(ordered) - at) * each) for at, each in enumerate(ordered) if each <= p
        )
        last_of_ties = min(at for at, each in enumerate(ordered) if each == p)
        assert p <= adjusted[name] <= 1
        assert adjusted[name] <= oracle or adjusted[name] == pytest.approx(oracle)
        assert adjusted[name] >= min(1.0, (len(ordered) - last_of_ties) * p) or len(
            set(ordered)
        ) < len(ordered)
    shuffled = list(named)
    random.shuffle(shuffled)
    assert holm({name: named[name] for name in shuffled}) == adjusted


def test_holm_takes_the_textbook_steps() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == {"a": 0.03, "b": 0.06, "c": 0.06}
    assert holm({"a": 0.0, "b": 1.0}) == {"a": 0.0, "b": 1.0}
    assert holm({}) == {}
    for wrong in (-1e-9, 1 + 1e-9):
        with pytest.raises(ValueError, match="the p-value of a is"):
            holm({"a": wrong})


@pytest.mark.parametrize("t", [-2.5, 0.0, 1.0, 4.2])
def test_the_t_test_is_that_of_scipy(t: float) -> None:
    assert t_test_p(t, 7) == pytest.approx(2 * stats.t.sf(abs(t), 7))


def test_signed_ranks_are_exact_up_to_a_hundred() -> None:
    few = [0.3, -0.1, 0.5, 0.7, -0.2, 0.9, 1.1]
    assert signed_rank_p(few) == pytest.approx(stats.wilcoxon(few, mode="exact").pvalue)
    assert signed_rank_p([-x for x in few]) == pytest.approx(signed_rank_p(few))
    assert signed_rank_p([*few, 0.0, 1e-12, -1e-12]) == signed_rank_p(few), (
        "what does not differ says nothing"
    )
    assert signed_rank_p([0.1, -0.1]) == 1.0
    assert signed_rank_p([]) == 1.0
    assert signed_rank_p([0.1] * 3) == 2 / 2**3
    assert signed_rank_p([0.1, 0.1 + 1e-13, -0.1]) == signed_rank_p([0.1, 0.1, -0.1]), (
        "ties are ties"
    )
    exact = [float(n) for n in range(1, MOST_EXACT + 1)]
    assert signed_rank_p(exact) == pytest.approx(2 * 0.5**MOST_EXACT, abs=0)
    more = [*exact, MOST_EXACT + 1.0]
    total = sum(more)
    z = (total / 2) / (sqrt(sum(x * x for x in more)) / 2)
    assert signed_rank_p(more) == pytest.approx(2 * NORMAL.cdf(-z), rel=1e-9)


@pytest.mark.parametrize(
    ("share", "whole"), [(0.29, 29), (0.28, 28), (0.285, 28), (0.0, 0), (1.0, 100)]
)
def test_a_share_is_of_whole_ones(share: float, whole: int) -> None:
    assert binomial_p(share, 100, 0.2) == pytest.approx(
        stats.binom.sf(whole - 1, 100, 0.2), rel=1e-9
    )


def scores(**agents: list[float]) -> dict[str, dict[str, list[float]]]:
    return {
        name: {f"case {n}": [value] for n, value in enumerate(values)}
        for name, values in agents.items()
    }


def test_ranks_are_told_apart_from_ten_common_cases() -> None:
    for cases, spans in ((9, {(1, 2)}), (10, {(1, 1), (2, 2)})):
        ranking = rank(scores(low=[0.1] * cases, high=[0.9] * cases))
        assert [one.name for one in ranking.ranks] == ["high", "low"]
        assert [one.place for one in ranking.ranks] == [1, 2]
        assert {(one.best, one.worst) for one in ranking.ranks} == spans
        assert (ranking.cases, ranking.left_out) == (cases, 0)


def test_equal_means_share_a_place_and_a_rest_of_rounding_is_no_difference() -> None:
    ranking = rank(scores(a=[0.5] * 10, b=[0.5] * 10, c=[0.4] * 10, d=[0.5 + 1e-9] * 10))
    places = {one.name: one.place for one in ranking.ranks}
    assert places == {"d": 1, "a": 2, "b": 2, "c": 4}
    assert {one.name: (one.best, one.worst) for one in ranking.ranks} == {
        "a": (1, 3),
        "b": (1, 3),
        "d": (1, 3),
        "c": (4, 4),
    }


def test_cases_that_an_agent_lacks_count_for_nobody() -> None:
    both = scores(a=[0.2] * 10, b=[0.8] * 10)
    more = {"a": {**both["a"], "extra": [1.0]}, "b": {**both["b"], "extra": []}}
    ranking = rank(more)
    assert (ranking.cases, ranking.left_out) == (10, 1)
    assert [(one.name, one.mean) for one in ranking.ranks] == [("b", 0.8), ("a", 0.2)]
    nothing = rank({"a": {"x": [0.1]}, "b": {"y": [0.9]}})
    assert [(one.mean, one.place) for one in nothing.ranks] == [(0.0, 1), (0.0, 1)]


def test_ranks_do_not_depend_on_the_order_of_agents_or_a_shift_or_a_scale() -> None:
    values = {
        "a": [0.1, 0.4, 0.3, 0.6, 0.2, 0.5, 0.4, 0.3, 0.1, 0.7, 0.2, 0.3],
        "b": [0.3, 0.5, 0.6, 0.7, 0.3, 0.9, 0.6, 0.3, 0.5, 0.9, 0.5, 0.4],
        "c": [0.2, 0.3, 0.5, 0.6, 0.4, 0.5, 0.3, 0.4, 0.3, 0.6, 0.2, 0.2],
    }
    found = {one.name: (one.place, one.best, one.worst) for one in rank(scores(**values)).ranks}
    turned = rank(scores(**dict(reversed(values.items()))))
    assert {one.name: (one.place, one.best, one.worst) for one in turned.ranks} == found
    moved = rank(scores(**{name: [2 * x + 1 for x in own] for name, own in values.items()}))
    assert {one.name: (one.place, one.best, one.worst) for one in moved.ranks} == found
    assert found["b"] == (1, 1, 1)
    assert all(best <= place <= worst for place, best, worst in found.values())


def test_a_difference_of_unbounded_values_has_students_interval() -> None:
    times = of_cases([100.0, 200.0, 150.0] * 4)
    far = difference(times, unit=False).estimate.interval
    assert far is not None
    assert far.high > 1
    assert inf not in (far.low, far.high)
    near = difference(times).estimate.interval
    assert near is not None
    assert near.high <= 1


def test_differences_that_only_rounding_made_are_no_result() -> None:
    """The t test would take them for equal differences that are not 0: the surest of results."""
    rounding = difference(of_cases([2e-12] + [0.0] * 999))
    assert (rounding.p, rounding.direction) == (1.0, "not distinguishable")
    assert difference(of_cases([1e-12] * 20)).p is None
    same = difference(of_cases([2e-12] * 20))
    assert same.p is not None
    assert same.p < 0.001
