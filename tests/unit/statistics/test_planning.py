"""Plans keep their promise, and say when no plan can."""

from __future__ import annotations

from math import sqrt
from random import Random
from statistics import fmean

import pytest

from bioeval_tui.statistics.planning import (
    Costs,
    VarianceComponents,
    design_power,
    design_width,
    paired_components,
    plans_for_difference,
    plans_for_width,
    t_test_power,
    trials_for_difference,
    trials_for_width,
    variance_components,
)
from tests.simulations.planned import realised, unbalanced

SCORES = VarianceComponents(between=0.03, within=0.04)


def test_the_power_of_a_t_test_equals_published_tables() -> None:
    # Cohen, Statistical Power Analysis (1988): d = 0.5, 34 pairs, α = .05 two-sided; G*Power prints
    # 0.8077775
    assert t_test_power(0.5 * sqrt(34), 33) == pytest.approx(0.8077775, abs=1e-6)
    # The noncentral t distribution of SciPy 1.17.1
    assert t_test_power(2.5, 3) == pytest.approx(0.4078413, abs=1e-6)
    assert t_test_power(4.0, 200) == pytest.approx(0.9783475, abs=1e-6)
    assert t_test_power(0, 20) == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("trials", [1, 3, 10])
def test_a_plan_for_80_percent_power_reaches_it_in_simulation(trials: int) -> None:
    difference = SCORES.of_difference(correlation=0.5)
    (plan,) = plans_for_difference(difference, 0.1, trials=(trials,))
    told, _ = realised(difference, 0.1, plan.cases, trials, batches=1500)
    assert 0.77 <= told <= 0.83


def test_a_planned_interval_width_is_reached_on_average() -> None:
    for plan in plans_for_width(SCORES, 0.1):
        assert plan.reached <= 0.1
        if plan.trials == 3:
            _, width = realised(SCORES, 0.0, plan.cases, plan.trials, batches=200)
            assert width == pytest.approx(plan.reached, rel=0.02)


@pytest.mark.parametrize(("cases", "trials"), [(2, 3), (17, 1), (40, 5)])
def test_a_plan_reaches_just_the_width_or_the_power_that_is_asked_for(
    cases: int, trials: int
) -> None:
    width = design_width(SCORES, cases, trials)
    assert width is not None
    assert [plan.cases for plan in plans_for_width(SCORES, width, trials=(trials,))] == [cases]
    assert trials_for_width(SCORES, width, cases) == trials
    power = design_power(SCORES, 0.1, cases, trials)
    (plan,) = plans_for_difference(SCORES, 0.1, power=power, trials=(trials,))
    assert (plan.cases, plan.reached) == (cases, power)
    assert trials_for_difference(SCORES, 0.1, cases, power) == trials


def test_variance_components_of_unbalanced_runs_are_unbiased() -> None:
    random = Random(2)
    found = [variance_components(unbalanced(SCORES, 30, random)) for _ in range(300)]
    assert fmean(one.between for one in found if one) == pytest.approx(0.03, rel=0.08)
    assert fmean(one.within for one in found if one) == pytest.approx(0.04, rel=0.05)


def test_variance_components_equal_an_analysis_of_variance_by_hand() -> None:
    found = variance_components({"a": [1.0, 3.0], "b": [5.0, 7.0], "c": []})
    assert found == VarianceComponents(between=7.0, within=2.0, cases=2, trials=4)
    assert variance_components({"a": [1.0, 3.0]}) == VarianceComponents(0.0, 2.0, 1, 2)
    assert variance_components({"a": [1.0], "b": [3.0]}) == VarianceComponents(2.0, 0.0, 2, 2)
    assert variance_components({"a": [1.0]}) is None


def test_paired_variance_components_exclude_shared_case_difficulty() -> None:
    random = Random(4)
    found = []
    for _ in range(200):
        level = {f"c{i}": random.gauss(0.5, 0.3) for i in range(30)}
        a = {c: [random.gauss(x, 0.2) for _ in range(3)] for c, x in level.items()}
        b = {
            c: [random.gauss(x + random.gauss(0.1, 0), 0.1) for _ in range(2)]
            for c, x in level.items()
        }
        found.append(paired_components(a, b | {"only b": [0.0]}))
    assert fmean(one.within for one in found if one) == pytest.approx(0.05, rel=0.05)
    assert fmean(one.between for one in found if one) < 0.004  # 0, but a negative estimate is cut
    assert paired_components({"a": [1.0]}, {"a": [1.0]}) is None


def test_more_trials_cannot_make_up_for_few_cases() -> None:
    difference = SCORES.of_difference(0.5)
    assert trials_for_difference(difference, 0.1, cases=10) is None
    many = trials_for_difference(difference, 0.1, cases=40)
    assert many is not None
    assert (
        design_power(difference, 0.1, 40, many) >= 0.8 > design_power(difference, 0.1, 40, many - 1)
    )
    assert trials_for_width(SCORES, 0.1, cases=10) is None
    alone = trials_for_width(SCORES, 0.1, cases=1)  # one case: over its trials alone
    assert alone is not None
    assert design_width(SCORES, 1, alone) == pytest.approx(0.1, rel=0.02)


def test_alternative_plans_show_their_effort() -> None:
    costs = Costs(calls=24, cost=0.1, seconds=60, concurrency=4, arms=2)
    plans = plans_for_difference(SCORES.of_difference(0.5), 0.1, costs=costs)
    assert [plan.trials for plan in plans] == [1, 2, 3, 5, 10, 20]
    assert sorted((plan.cases for plan in plans), reverse=True) == [plan.cases for plan in plans]
    first = plans[0]
    assert first.conversations == first.cases * 2
    assert (first.calls, first.cost) == (
        first.conversations * 24,
        pytest.approx(first.conversations * 0.1),
    )
    assert first.hours == pytest.approx(first.conversations / 4 / 60)
    assert plans_for_difference(SCORES, 0.1)[0].cost is None


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="no design"):
        plans_for_difference(SCORES, 0.0)
    with pytest.raises(ValueError, match="0 wide"):
        plans_for_width(SCORES, 0)
    with pytest.raises(ValueError, match="correlation"):
        SCORES.of_difference(1.5)
    assert plans_for_difference(SCORES, 1e-6) == []
