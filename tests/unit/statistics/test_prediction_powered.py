"""Corrected scores: ppi-python's numbers, refusals, and coverage on a published table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from bioeval_tui.statistics.judges import (
    JudgedItem,
    NotCorrectable,
    corrected_mean,
    draw_reviews,
)
from tests.simulations.corrected import cluster_coverage, published_table, table_coverage

PEOPLE = [float(i % 3 == 0 or i % 5 == 1) for i in range(40)]
JUDGE = [round(y * 0.5 + (i * 7 % 11) / 20, 2) for i, y in enumerate(PEOPLE)]
REST = [round((i * 13 % 29) / 29 * 0.9 + 0.05, 2) for i in range(160)]


def items(clusters: int = 0) -> list[JudgedItem]:
    """Return 40 reviewed and 160 other verdicts, in so many clusters."""
    pairs: list[tuple[float, float | None]] = [
        *zip(JUDGE, PEOPLE, strict=True),
        *((f, None) for f in REST),
    ]
    return [
        JudgedItem(f, y, f"c{i % clusters}" if clusters else "") for i, (f, y) in enumerate(pairs)
    ]


def test_independent_items_give_the_estimate_of_ppi_python() -> None:
    found = corrected_mean(items(), "random")
    # ppi-python 0.2.3: ppi_mean_pointestimate
    assert found.estimate == pytest.approx(0.4684375, abs=1e-9)
    assert found.interval.low < found.estimate < found.interval.high
    assert found.clusters is None


def test_uncorrectable_data_are_refused_with_the_reason() -> None:
    few = [replace(item, people=None) if i < 11 else item for i, item in enumerate(items())]
    with pytest.raises(NotCorrectable, match="29 reviews are too few: at least 30 are needed"):
        corrected_mean(few, "random")
    with pytest.raises(NotCorrectable, match="everything was reviewed"):
        corrected_mean(items()[:40], "random")
    one_left = items()[:41]  # it says nothing about others
    with pytest.raises(NotCorrectable, match="everything was reviewed"):
        corrected_mean(one_left, "random")
    assert corrected_mean(items()[:42], "random").reviews == 40
    with pytest.raises(NotCorrectable, match=r"of 9 clusters, .*at least 10 are needed"):
        corrected_mean(items(clusters=9), "random")
    with pytest.raises(NotCorrectable, match="4 reviews in stratum 'b'"):
        corrected_mean(
            [replace(x, stratum="a" if i % 10 else "b") for i, x in enumerate(items())],
            "stratified",
        )
    shared = [replace(x, stratum=str(i % 2)) for i, x in enumerate(items(clusters=25))]
    with pytest.raises(NotCorrectable, match="several strata"):
        corrected_mean(shared, "stratified")


def test_clusters_of_one_item_equal_the_independent_case() -> None:
    assert corrected_mean(items(clusters=200), "random") == corrected_mean(items(), "random")


def test_with_few_reviewed_clusters_the_judge_is_not_used() -> None:
    few = corrected_mean(items(clusters=15), "random")
    assert (few.power_tuning, few.clusters) == (0, 15)
    assert few.estimate == pytest.approx(sum(PEOPLE) / 40)
    assert corrected_mean(items(clusters=25), "random").power_tuning > 0


def test_a_judge_that_knows_nothing_is_ignored_and_a_perfect_one_trusted() -> None:
    useless = [JudgedItem(0.5 if item.people is not None else 0.9, item.people) for item in items()]
    found = corrected_mean(useless, "random")
    assert found.power_tuning == 0
    assert found.interval == found.reviews_only
    perfect = [JudgedItem(float(i % 2), float(i % 2) if i < 100 else None) for i in range(4000)]
    found = corrected_mean(perfect, "random")
    assert found.power_tuning == pytest.approx(0.975, abs=0.01)
    assert found.interval.width < 0.4 * (found.reviews_only.high - found.reviews_only.low)


def test_the_predicted_gain_of_ten_more_reviews_is_reached() -> None:
    """The same mix of verdicts, once with 100 reviews and once with 110."""
    table = published_table(scale=10)[::3]
    now, later = (
        [JudgedItem(j, p if i % len(table) in picked else None) for i, (j, p) in enumerate(table)]
        for picked in (set(range(0, 980, 10)[:98]), set(range(0, 980, 9)[:108]))
    )
    found, then = corrected_mean(now, "random"), corrected_mean(later, "random")
    assert found.width_after_ten_more < found.interval.width
    assert found.width_after_ten_more == pytest.approx(then.interval.width, rel=0.06)


def test_strata_are_weighted_by_their_size() -> None:
    big = [JudgedItem(1.0, 1.0 if i < 20 else None, stratum="big") for i in range(300)]
    small = [JudgedItem(0.0, float(i % 2) if i < 20 else None, stratum="small") for i in range(100)]
    assert corrected_mean(big + small, "stratified").estimate == pytest.approx(
        0.75 * 1 + 0.25 * 0.5
    )


def test_the_same_seed_draws_the_same_reviews_in_proportion() -> None:
    strata = {f"i{n:03}": "ab"[n % 4 == 0] for n in range(400)}
    drawn = draw_reviews(strata, 100, seed=7)
    assert drawn == draw_reviews(dict(reversed(strata.items())), 100, seed=7)
    assert drawn != draw_reviews(strata, 100, seed=8)
    assert len(set(drawn)) == 100
    assert sum(strata[item] == "b" for item in drawn) == 25
    assert len(draw_reviews(strata, 1000, seed=1)) == 400
    with pytest.raises(ValueError, match="0 reviews"):
        draw_reviews(strata, 0, seed=1)


@pytest.mark.long
def test_reviews_that_no_whole_share_gives_go_to_the_largest_remainders() -> None:
    strata = {
        f"{name}{n}": name for name, size in (("a", 6), ("b", 3), ("c", 1)) for n in range(size)
    }
    # Shares of three are 1.8, 0.9 and 0.3.
    assert Counter(strata[item] for item in draw_reviews(strata, 3, seed=1)) == {"a": 2, "b": 1}
    assert len(draw_reviews(strata, 11, seed=1)) == 10


def test_the_corrected_interval_contains_the_physicians_mean_and_the_judges_own_does_not() -> None:
    for stratified in (False, True):
        found = table_coverage(300, scale=20, stratified=stratified)
        assert found.corrected >= 0.93
        assert found.judge_alone == 0


def test_only_the_clustered_interval_covers_clustered_verdicts() -> None:
    found = cluster_coverage(80, conversations=100, verdicts=6, reviewed=25)
    assert found.clustered >= 0.88
    assert found.as_if_independent < 0.85
