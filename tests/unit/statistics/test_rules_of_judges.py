"""Agreement, corrected means, draws of reviews and plans: every rule exactly at its threshold."""

from __future__ import annotations

from collections import Counter
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from bioeval_tui.statistics.intervals import UNIT, joined, share_interval
from bioeval_tui.statistics.judges import (
    JudgedItem,
    NotCorrectable,
    RatedTwice,
    _judge_parts,
    agreement,
    corrected_mean,
    draw_reviews,
    judge_agreement,
    krippendorff_alpha,
    rated_units,
    weighted_kappa,
)
from bioeval_tui.statistics.planning import (
    MOST,
    ConfidenceSequence,
    Costs,
    VarianceComponents,
    design_error,
    design_power,
    design_width,
    paired_components,
    plans_for_difference,
    plans_for_width,
    stopped_interval,
    t_test_power,
    trials_for_difference,
    trials_for_width,
    variance_components,
)

# Agreement


@pytest.mark.parametrize(
    ("pairs", "plain", "quadratic"),
    [
        ({}, None, None), ({(0, 1): 1}, None, None), ({(1, 1): 9}, None, None),
        ({(0, 0): 1, (1, 1): 1}, 1.0, 1.0),
        ({(0, 1): 1, (1, 0): 1}, -1.0, -1.0), ({(0, 1): 2}, 0.0, 0.0),
        ({(0, 0): 1, (1, 1): 1, (2, 2): 0}, 1.0, 1.0),
        ({(0, 0): 2, (0, 2): 1, (2, 2): 2, (1, 2): 1},
            1 - 6 * 2 / (3 * 3 + 3 * 2 - 3 * 2 + 1 * 6 + 2 * 2 - 0 * 4 + 0), None),
        ({(0, 1): 0, (1, 1): 5}, None, None),
    ],
)  # fmt: skip
def test_kappa_needs_two_units_and_two_categories(
    pairs: dict[tuple[float, ...], Any], plain: float | None, quadratic: float | None
) -> None:
    if len(pairs) == 4:  # by hand, from the table of counts
        first, second, n = Counter[float](), Counter[float](), sum(pairs.values())
        for (a, b), count in pairs.items():
            first[a] += count
            second[b] += count
        chance = {(a, b): first[a] * second[b] / n for a in first for b in second}
        plain = 1 - sum(m for (a, b), m in pairs.items() if a != b) / sum(
            m for (a, b), m in chance.items() if a != b
        )
        quadratic = 1 - sum((a - b) ** 2 * m for (a, b), m in pairs.items()) / sum(
            (a - b) ** 2 * m for (a, b), m in chance.items()
        )
    for weights, value in (("none", plain), ("quadratic", quadratic)):
        found = weighted_kappa(pairs, weights)  # type: ignore[arg-type]
        assert found == (None if value is None else pytest.approx(value))


def alpha_by_hand(units: list[tuple[float, ...]]) -> float:
    """Krippendorff's definition: pairs of values within units beside all pairs."""
    kept = [values for values in units if len(values) > 1]
    every = [value for values in kept for value in values]
    within = sum(
        sum((x - y) ** 2 for x in values for y in values) / (len(values) - 1) for values in kept
    ) / len(every)
    between = sum((x - y) ** 2 for x in every for y in every) / (len(every) * (len(every) - 1))
    return 1 - within / between


@pytest.mark.parametrize(
    "units",
    [
        [(0.1, 0.2), (0.5, 0.9)],
        [(0.0, 0.0, 1.0), (1.0, 1.0), (0.5, 0.4, 0.3, 0.9)],
        [(0.1, 0.2), (0.5, 0.9), (0.7,)],
    ],
)
def test_alpha_is_krippendorffs(units: list[tuple[float, ...]]) -> None:
    assert krippendorff_alpha(Counter(units)) == pytest.approx(alpha_by_hand(units))


@pytest.mark.parametrize(
    "units",
    [
        {},
        {(0.1, 0.2): 1},
        {(0.1,): 9, (0.1, 0.9): 1},
        {(0.5, 0.5): 9},
        {(0.5, 0.5): 9, (0.1, 0.2): 0},
    ],
)
def test_alpha_needs_two_units_and_two_values(units: dict[tuple[float, ...], int]) -> None:
    assert krippendorff_alpha(units) is None


def test_units_are_sorted_ratings() -> None:
    table = {"a": {1: 0.9, 2: 0.1}, "b": {1: 0.2, 3: 0.5}, "c": {2: 0.1}}
    assert rated_units(table) == {(0.2, 0.9): 1, (0.1, 0.1): 1, (0.5,): 1}


def test_two_raters() -> None:
    found = agreement(
        [(0.9, True), (0.2, False), (0.6, True)], [(0.7, True), (0.4, True), (0.6, False)]
    )
    assert (found.n, found.bias, found.mean_absolute_difference) == (
        3,
        pytest.approx(0.0),
        pytest.approx(0.4 / 3),
    )
    lenient = agreement([(0.9, True)], [(0.7, True)])
    assert (lenient.bias, lenient.kappa, lenient.alpha) == (pytest.approx(0.2), None, None)
    nothing = agreement([], [])
    assert (nothing.n, nothing.bias, nothing.mean_absolute_difference) == (0, None, None)
    tenths = agreement([(0.44, True), (0.96, True)], [(0.36, True), (1.0, True)])
    assert tenths.weighted_kappa == 1.0, "scores are compared in tenths"
    with pytest.raises(ValueError, match="cannot be paired"):
        agreement([(0.1, True)], [])


def rated(n: int, judge: float, people: float, cluster: str = "") -> RatedTwice:
    return RatedTwice(cluster or f"c{n}", judge, judge > 0.5, people, people > 0.5)


@pytest.mark.parametrize(
    ("clusters", "shares", "curved"),
    [(9, False, False), (10, True, False), (29, True, False), (30, True, True)],
)
def test_shares_have_intervals_from_ten_conversations_and_kappa_from_thirty(
    clusters: int, shares: bool, curved: bool
) -> None:
    both = [rated(n, value, value) for n in range(clusters) for value in (0.9, 0.1)]
    odd = [rated(0, 0.9, 0.1), rated(1, 0.1, 0.9), rated(1, 0.2, 0.9)]
    found = judge_agreement([*both, *odd])
    confusion = found.confusion
    assert (confusion.true_positives, confusion.false_positives) == (clusters, 1)
    assert (confusion.false_negatives, confusion.true_negatives) == (2, clusters)
    assert found.clusters == clusters
    assert found.sensitivity.value == pytest.approx(clusters / (clusters + 2))
    assert found.specificity.value == pytest.approx(clusters / (clusters + 1))
    for figure, there in ((found.sensitivity, shares), (found.specificity, shares),
        (found.kappa, curved),
                          (found.kappa_quadratic, curved), (found.alpha, curved)):  # fmt: skip
        assert (figure.interval is not None) == there
        assert figure.interval is None or (
            figure.interval.low < figure.value < figure.interval.high  # type: ignore[operator]
        )
    nobody = judge_agreement([])
    assert (nobody.sensitivity.value, nobody.kappa.value, nobody.alpha.interval) == (
        None,
        None,
        None,
    )


# What people would say


def items(reviewed: int, unreviewed: int, **more: Any) -> list[JudgedItem]:
    """Return items that a judge scores 0.9 or 0.1, and people nearly so."""
    scores = [0.9 if n % 2 else 0.1 for n in range(reviewed + unreviewed)]
    people = [float(score > 0.5) if n % 7 else float(score < 0.5) for n, score in enumerate(scores)]
    return [
        JudgedItem(
            score, people[n] if n < reviewed else None, **{name: of(n) for name, of in more.items()}
        )
        for n, score in enumerate(scores)
    ]


@pytest.mark.parametrize(
    ("given_", "sampling", "says"),
    [
        (items(29, 50), "random", "29 reviews are too few: at least 30 are needed"),
        (items(30, 50), "random", ""),
        (items(30, 0), "random", "everything was reviewed"),
        (items(30, 1), "random", "everything was reviewed"),
        (items(30, 2), "random", ""),
        (items(40, 40, stratum=lambda n: "x" if n < 4 or n >= 70 else "y"), "stratified",
            "4 reviews in stratum 'x' are too few: at least 5 are needed"),
        (items(40, 40, stratum=lambda n: "x" if n < 5 or n >= 70 else "y"), "stratified", ""),
        (items(40, 40, stratum=lambda n: "x" if n < 6 else "y"), "stratified",
            "everything in stratum 'x' was reviewed"),
        (items(40, 40, stratum=lambda n: "x" if n < 6 or n == 79 else "y"), "stratified",
            "everything in stratum 'x' was reviewed"),
        (items(40, 40, stratum=lambda n: "x" if n < 6 else "y"), "random", ""),
        (items(45, 45, cluster=lambda n: f"c{n % 9}"), "random",
            "the reviews are of 9 clusters, such as conversations or cases: that is too few"),
        (items(50, 50, cluster=lambda n: f"c{n % 10}"), "random", ""),
        (items(40, 40, cluster=lambda n: "same" if n < 2 else "", stratum=lambda n: "xy"[n % 2]),
            "stratified", "cluster 'same' is in several strata"),
    ],
)  # fmt: skip
def test_reviews_must_be_enough_to_correct(
    given_: list[JudgedItem], sampling: Any, says: str
) -> None:
    if not says:
        found = corrected_mean(given_, sampling)
        assert found.interval.low <= found.estimate <= found.interval.high
        return
    with pytest.raises(NotCorrectable) as caught:
        corrected_mean(given_, sampling)
    assert str(caught.value).startswith(says), caught.value


@pytest.mark.parametrize(("clusters", "tuned"), [(19, False), (20, True)])
def test_from_twenty_clusters_the_judge_helps(clusters: int, tuned: bool) -> None:
    given_ = items(5 * clusters, 5 * clusters, cluster=lambda n: f"c{n % clusters}")
    found = corrected_mean(given_, "random")
    assert found.clusters == clusters
    assert (found.power_tuning > 0) == tuned
    assert (found.interval != found.reviews_only) == tuned


def test_clusters_of_strata_add_up_and_items_alone_are_none() -> None:
    given_ = items(200, 200, cluster=lambda n: f"c{n % 40}", stratum=lambda n: f"s{n % 2}")
    assert corrected_mean(given_, "stratified").clusters == 40
    assert corrected_mean(items(60, 60), "random").clusters is None
    assert corrected_mean(items(60, 60, cluster=lambda n: f"c{n}"), "random").clusters is None
    one = items(60, 60, cluster=lambda n: "pair" if n in (0, 119) else "")
    assert corrected_mean(one, "random").clusters == 60, "an item without a cluster is its own"


def test_the_estimate_is_the_papers() -> None:
    given_ = items(60, 140)
    people = np.array([item.people for item in given_ if item.people is not None])
    known = np.array([item.judge for item in given_ if item.people is not None])
    rest = np.array([item.judge for item in given_ if item.people is None])
    every = np.array([item.judge for item in given_])
    covariance = ((people - people.mean()) * (known - known.mean())).mean()
    tuning = covariance / ((1 + 60 / 140) * every.var(ddof=1))
    tuning = min(1.0, max(0.0, tuning))
    found = corrected_mean(given_, "random")
    assert found.power_tuning == pytest.approx(tuning)
    assert found.estimate == pytest.approx(tuning * rest.mean() + (people - tuning * known).mean())
    assert found.judge == pytest.approx(every.mean())
    assert (found.reviews, found.items) == (60, 200)
    assert found.width_after_ten_more < found.interval.width


def test_a_judge_that_says_the_opposite_is_not_used_and_one_that_exaggerates_is_used_as_it_is() -> (
    None
):
    opposite = [JudgedItem(1 - item.judge, item.people) for item in items(60, 60)]
    assert corrected_mean(opposite, "random").power_tuning == 0.0
    timid = [JudgedItem(0.5 + (item.judge - 0.5) / 8, item.people) for item in items(60, 600)]
    assert corrected_mean(timid, "random").power_tuning == 1.0
    constant = [JudgedItem(0.5, item.people) for item in items(60, 60)]
    assert corrected_mean(constant, "random").power_tuning == 0.0
    agreed = [
        JudgedItem(item.judge, None if item.people is None else 1.0) for item in items(60, 60)
    ]
    found = corrected_mean(agreed, "random")
    assert found.interval == found.reviews_only, "dividing what is all the same would only widen it"


def test_the_interval_of_reviews_alone_is_that_of_their_share() -> None:
    given_ = items(60, 140)
    people = [item.people for item in given_ if item.people is not None]
    share = sum(people) / 60
    plain = corrected_mean(given_, "random").reviews_only
    exact = share_interval(share, 60)
    assert (plain.low, plain.high) == pytest.approx((exact.low, exact.high))
    assert plain.scope == "60 reviews of 200"
    halves = _judge_parts(given_)
    assert [len(part) for part in halves] == [100, 100]
    parts = []
    for part in halves:
        said = [item.people for item in part if item.people is not None]
        mean = sum(said) / len(said)
        parts.append((0.5, mean, share_interval(mean, len(said))))
    means = [mean for _, mean, _ in parts]
    between = (
        sum(0.5 * mean * mean for mean in means) - sum(0.5 * mean for mean in means) ** 2
    ) / 200
    wanted = joined(parts, UNIT, "", between)
    whole = corrected_mean(given_, "random").interval
    assert (whole.low, whole.high) == pytest.approx((wanted.low, wanted.high))


@pytest.mark.parametrize(
    ("scores", "sizes"),
    [
        # all reviewed at a half: a part needs 16 items, and a quarter of all
        ([0.1] * 100, [100]), ([0.1] * 50 + [0.9] * 50, [50, 50]),
        ([0.1] * 16 + [0.9] * 84, [16, 84]), ([0.1] * 15 + [0.9] * 85, [100]),
        ([0.1] * 84 + [0.9] * 16, [84, 16]), ([0.1] * 85 + [0.9] * 15, [100]),
        ([0.1] * 25 + [0.2] * 25 + [0.3] * 25 + [0.4] * 25, [25, 25, 25, 25]),
        ([0.1] * 24 + [0.2] * 26 + [0.3] * 50, [50, 50]),
        ([0.1] * 25 + [0.2] * 60 + [0.3] * 15, [25, 75]),
        ([0.1] * 26 + [0.2] * 58 + [0.3] * 16, [26, 58, 16]),
        ([n / 100 for n in range(100)], [25, 25, 25, 25]),
        ([0.1] * 8 + [0.2] * 4 + [0.3] * 88, [100]),
    ],
)  # fmt: skip
def test_parts_of_the_judges_scores_are_large_enough(scores: list[float], sizes: list[int]) -> None:
    given_ = [JudgedItem(score, 1.0 if n % 2 else None) for n, score in enumerate(scores)]
    parts = _judge_parts(given_)
    assert sorted(map(len, parts)) == sorted(sizes)
    assert sorted(item.judge for part in parts for item in part) == sorted(scores)


@pytest.mark.parametrize(("there", "sizes"), [(0, [100]), (1, [100]), (2, [50, 50])])
def test_a_part_without_two_reviews_joins_the_largest(there: int, sizes: list[int]) -> None:
    low = [JudgedItem(0.1, 1.0 if n < there else None) for n in range(50)]
    high = [JudgedItem(0.9, 1.0) for _ in range(50)]
    assert [len(part) for part in _judge_parts([*low, *high])] == sizes


@pytest.mark.parametrize(
    "said",
    [
        [0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0], [0.25, 0.5, 1.0, 0.75], [1.0], [0.5],
        [*[1.0] * 24, *[0.0] * 24], [1.0 if n % 12 < 4 else 0.25 for n in range(12)],
    ],
)  # fmt: skip
@pytest.mark.parametrize("clusters", [None, 12])
def test_clustered_reviews_count_as_many_as_have_the_same_error(
    said: list[float], clusters: int | None
) -> None:
    """Reviews alone, by hand: the clusters' sums of deviations beside the items' own."""
    people = [said[n % len(said)] for n in range(48)]
    names = [f"c{n % clusters}" if clusters else "" for n in range(96)]
    given_ = [JudgedItem(0.5, people[n] if n < 48 else None, names[n]) for n in range(96)]
    found = corrected_mean(given_, "random").reviews_only
    mean = sum(people) / 48
    away = [value - mean for value in people]
    n = 48.0
    if clusters:
        alone = sum(each * each for each in away)
        sums = Counter[str]()
        for name, each in zip(names, away, strict=False):
            sums[name] += each  # type: ignore[assignment]
        ratio = (
            max(1.0, sum(each * each for each in sums.values()) / alone) if alone else 48 / clusters
        )
        n /= (
            ratio
            * clusters
            / (clusters - 1)
            * (stats.t.ppf(0.975, clusters - 1) / stats.norm.ppf(0.975)) ** 2
        )
    if 0 < mean < 1 and any(0 < value < 1 for value in people):
        most = mean * (1 - mean)
        n *= most / ((sum(each * each for each in away) / 47 * 48 + most) / 49)
    wanted = share_interval(mean, n)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-6, abs=1e-9)


# Which verdicts are reviewed


@pytest.mark.parametrize(
    ("sizes", "n", "drawn"),
    [
        ({"a": 5}, 3, {"a": 3}), ({"a": 5}, 5, {"a": 5}), ({"a": 5}, 6, {"a": 5}),
        ({"a": 6, "b": 3}, 3, {"a": 2, "b": 1}),
        # of equal remainders, the first name
        ({"a": 5, "b": 5}, 3, {"a": 2, "b": 1}), ({"b": 5, "a": 5}, 3, {"a": 2, "b": 1}),
        ({"a": 7, "b": 3}, 1, {"a": 1}), ({"a": 7, "b": 2, "c": 1}, 5, {"a": 4, "b": 1}),
        ({"a": 3, "b": 3, "c": 4}, 5, {"a": 2, "b": 1, "c": 2}),
    ],
)  # fmt: skip
def test_every_stratum_gives_its_share_by_largest_remainders(
    sizes: dict[str, int], n: int, drawn: dict[str, int]
) -> None:
    strata = {
        f"{stratum}{number}": stratum for stratum, size in sizes.items() for number in range(size)
    }
    found = draw_reviews(strata, n, seed=1)
    assert Counter(strata[item] for item in found) == drawn
    assert len(set(found)) == len(found)
    assert draw_reviews(dict(reversed(strata.items())), n, seed=1) == found
    with pytest.raises(ValueError, match="0 reviews cannot be drawn"):
        draw_reviews(strata, 0, seed=1)


def test_the_order_of_a_draw_is_drawn_too() -> None:
    strata = {f"{stratum}{n}": stratum for stratum in "ab" for n in range(50)}
    assert [strata[item] for item in draw_reviews(strata, 60, 1)] != ["a"] * 30 + ["b"] * 30
    assert draw_reviews(strata, 60, 1) != draw_reviews(strata, 60, 2)


# Plans

KNOWN = VarianceComponents(0.03, 0.04)


def test_variances_are_an_analysis_of_variance() -> None:
    groups = {"a": [0.1, 0.3], "b": [0.5, 0.9, 0.7], "c": [0.4], "empty": []}
    values = [each for own in groups.values() for each in own]
    means = {name: np.mean(own) for name, own in groups.items() if own}
    within = sum((each - means[name]) ** 2 for name, own in groups.items() for each in own) / (
        6 - 3
    )
    squares = (
        sum(len(groups[name]) * (mean - np.mean(values)) ** 2 for name, mean in means.items()) / 2
    )
    size = (6 - (4 + 9 + 1) / 6) / 2
    found = variance_components(groups)
    assert found is not None
    assert (found.within, found.between) == pytest.approx((within, (squares - within) / size))
    assert (found.cases, found.trials) == (3, 6)
    assert variance_components({"a": [0.5]}) is None
    assert variance_components({}) is None
    assert variance_components({"a": [0.0, 1.0]}) == VarianceComponents(0.0, 0.5, 1, 2)
    alone = variance_components({"a": [0.0], "b": [1.0]})
    assert alone == VarianceComponents(0.5, 0.0, 2, 2)
    equal = variance_components({"a": [0.0, 1.0], "b": [0.0, 1.0]})
    assert equal is not None
    assert equal.between == 0.0, "a negative estimate"


def test_paired_variances_are_of_common_cases() -> None:
    a = {"x": [0.1, 0.3], "y": [0.5, 0.5], "z": [0.2, 0.6], "only": [0.9], "none": []}
    b = {"x": [0.9, 0.7], "y": [0.1, 0.2], "z": [0.3], "none": [0.5], "empty": []}
    gaps = [0.8 - 0.2, 0.15 - 0.5, 0.3 - 0.4]
    within_a, within_b = (0.02 + 0.0 + 0.08) / 3, (0.02 + 0.005) / 2
    noise = np.mean(
        [within_a / 2 + within_b / 2, within_a / 2 + within_b / 2, within_a / 2 + within_b]
    )
    found = paired_components(a, b)
    assert found is not None
    assert found.within == pytest.approx(within_a + within_b)
    assert found.between == pytest.approx(np.var(gaps, ddof=1) - noise)
    assert (found.cases, found.trials) == (3, 11)
    assert paired_components({"x": [0.1]}, {"x": [0.2]}) is None
    two = paired_components({"x": [0.1], "y": [0.5]}, {"x": [0.2], "y": [0.6]})
    assert two is not None
    assert (two.between, two.within) == (pytest.approx(0.0, abs=1e-12), 0.0)


@pytest.mark.parametrize(
    ("correlation", "between"), [(-1.0, 0.12), (0.0, 0.06), (0.5, 0.03), (1.0, 0.0)]
)
def test_what_two_agents_find_hard_together_is_no_difference(
    correlation: float, between: float
) -> None:
    found = KNOWN.of_difference(correlation)
    assert (found.between, found.within) == pytest.approx((between, 0.08))
    for wrong in (-1.000001, 1.000001):
        with pytest.raises(ValueError, match="from -1 to 1"):
            KNOWN.of_difference(wrong)


@pytest.mark.parametrize(
    ("cases", "trials", "error", "degrees"),
    [(1, 1, 0.2, 0), (1, 4, 0.1, 3), (2, 1, sqrt(0.035), 1), (4, 2, sqrt(0.0125), 3)],
)
def test_the_error_of_a_design(cases: int, trials: int, error: float, degrees: int) -> None:
    assert design_error(KNOWN, cases, trials) == pytest.approx(error)
    width = design_width(KNOWN, cases, trials)
    power = design_power(KNOWN, 0.3, cases, trials)
    if not degrees:
        assert (width, power) == (None, 0.0)
        return
    assert width == pytest.approx(2 * stats.t.ppf(0.975, degrees) * error)
    critical = stats.t.ppf(0.975, degrees)
    exact = stats.nct.sf(critical, degrees, 0.3 / error) + stats.nct.cdf(
        -critical, degrees, 0.3 / error
    )
    assert power == pytest.approx(exact, abs=1e-6)
    assert design_power(KNOWN, -0.3, cases, trials) == power
    assert design_power(VarianceComponents(0, 0), 0.3, 2, 1) == 1.0
    assert t_test_power(0.0, 5) == pytest.approx(0.05)


@pytest.mark.parametrize("trials", [1, 2, 5, 20])
def test_a_plan_is_the_smallest_that_is_enough(trials: int) -> None:
    (plan,) = plans_for_difference(KNOWN, 0.1, trials=[trials])
    assert (
        design_power(KNOWN, 0.1, plan.cases, trials)
        >= 0.8
        > design_power(KNOWN, 0.1, plan.cases - 1, trials)
    )
    assert plan.reached == design_power(KNOWN, 0.1, plan.cases, trials)
    (wide,) = plans_for_width(KNOWN, 0.1, trials=[trials])
    narrow, wider = (design_width(KNOWN, wide.cases - less, trials) for less in (0, 1))
    assert narrow is not None
    assert wider is not None
    assert narrow <= 0.1 < wider
    needed = trials_for_width(KNOWN, 0.3, 20)
    assert needed is not None
    for number, enough in ((needed, True), (needed - 1, False)):
        width = design_width(KNOWN, 20, number) if number else inf
        assert width is not None
        assert (width <= 0.3) == enough


def test_a_plan_has_two_cases_at_least_and_a_hundred_thousand_at_most() -> None:
    assert plans_for_difference(VarianceComponents(0, 0), 0.1, trials=[1])[0].cases == 2
    assert plans_for_difference(VarianceComponents(1.0, 1.0), 0.001, trials=[1]) == []
    limit = VarianceComponents(0.0, 0.04)
    width = design_width(limit, MOST, 1)
    assert width is not None
    assert plans_for_width(limit, width * (1 + 1e-9), trials=[1])[0].cases == MOST
    assert plans_for_width(limit, width * (1 - 1e-9), trials=[1]) == []
    assert trials_for_difference(KNOWN, 0.1, 2) is None
    assert trials_for_width(KNOWN, 0.01, 5) is None
    some = trials_for_difference(KNOWN, 0.3, 10)
    assert some is not None
    assert design_power(KNOWN, 0.3, 10, some) >= 0.8
    assert some == 1 or design_power(KNOWN, 0.3, 10, some - 1) < 0.8
    more = trials_for_difference(VarianceComponents(0.0, 0.2), 0.3, 10)
    assert more is not None
    assert more > 1
    assert design_power(VarianceComponents(0.0, 0.2), 0.3, 10, more - 1) < 0.8


@pytest.mark.parametrize(("effect", "power"), [(0.0, 0.8), (-0.1, 0.8), (0.1, 0.05), (0.1, 1.0)])
def test_a_plan_that_makes_no_sense_is_refused(effect: float, power: float) -> None:
    with pytest.raises(ValueError, match="no design detects"):
        plans_for_difference(KNOWN, effect, power=power)
    with pytest.raises(ValueError, match="cannot be 0 wide"):
        plans_for_width(KNOWN, 0)


def test_what_a_plan_costs() -> None:
    (plan,) = plans_for_width(
        KNOWN, 0.3, trials=[2], costs=Costs(4.0, 0.5, 90.0, concurrency=3, arms=2)
    )
    assert plan.conversations == plan.cases * 2 * 2
    assert (plan.calls, plan.cost) == (plan.conversations * 4.0, plan.conversations * 0.5)
    assert plan.hours == pytest.approx(plan.conversations * 30 / 3600)
    (unknown,) = plans_for_width(KNOWN, 0.3, trials=[2])
    assert (unknown.calls, unknown.cost, unknown.hours) == (None, None, None)


# Stopping


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, 1.1])
def test_a_threshold_lies_between_what_can_be(threshold: float) -> None:
    with pytest.raises(ValueError, match="is not between 0"):
        ConfidenceSequence(threshold)


@pytest.mark.parametrize("values", [[], [-0.001], [1.001], [0.5, 1.1]])
def test_a_round_has_values_that_can_be(values: list[float]) -> None:
    with pytest.raises(ValueError, match="a round must have values from 0"):
        ConfidenceSequence(0.5).observe(values)
    assert ConfidenceSequence(0.5).observe([0.0, 1.0]) == "undecided"


@pytest.mark.parametrize(
    ("value", "decision"), [(1.0, "above"), (0.0, "below"), (0.5, "undecided")]
)
def test_a_decision_is_final_and_its_interval_excludes_the_threshold(
    value: float, decision: str
) -> None:
    sequence = ConfidenceSequence(0.5)
    rounds = 0
    while sequence.decision == "undecided" and rounds < 60:
        sequence.observe([value])
        rounds += 1
    assert sequence.decision == decision
    assert sequence.rounds == rounds
    interval = sequence.interval()
    assert interval.scope == f"valid at every look, {rounds} rounds"
    assert (interval.low > 0.5, interval.high < 0.5) == (decision == "above", decision == "below")
    for _ in range(60):
        sequence.observe([1 - value])
    assert sequence.decision == decision


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_a_change_from_minus_1_to_1_is_a_share_of_it(values: list[float]) -> None:
    share, change = ConfidenceSequence(0.5), ConfidenceSequence(0.0, low=-1.0)
    for value in values:
        share.observe([value])
        change.observe([2 * value - 1])
    assert share.decision == change.decision
    assert change.interval().low == pytest.approx(2 * share.interval().low - 1, abs=1e-6)
    assert change.interval().high == pytest.approx(2 * share.interval().high - 1, abs=1e-6)
    mirrored = ConfidenceSequence(0.5)
    for value in values:
        mirrored.observe([1 - value])
    assert mirrored.interval().low == pytest.approx(1 - share.interval().high, abs=1e-6)


def test_a_batch_that_stopped_has_rounds_of_all_groups() -> None:
    whole = stopped_interval([[1.0, 1.0, 1.0], [0.0, 0.0]], UNIT)
    sequence = ConfidenceSequence(0.5)
    for values in ([1.0, 0.0], [1.0, 0.0], [1.0]):
        sequence.observe(values)
    assert whole == sequence.interval()
    assert stopped_interval([[1.0 + 1e-12, -1e-12]], UNIT).high <= 1
