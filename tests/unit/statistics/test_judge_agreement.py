"""Agreement of a judge with people: published examples, other programs' numbers, and coverage of
intervals.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from bioeval_tui.statistics.estimates import proportion
from bioeval_tui.statistics.intervals import Interval
from bioeval_tui.statistics.judges import (
    Confusion,
    RatedTwice,
    Weights,
    judge_agreement,
    krippendorff_alpha,
    rated_units,
    weighted_kappa,
)
from tests.simulations.agreeing import agreement_coverage, rated

KRIPPENDORFF_2011 = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
"""Computing Krippendorff's Alpha-Reliability (2011), section E: .849."""

GAPS = (
    ".7 .4 .9 .4 1 .7 .8 . .9 .5 . . .5 1",
    ".8 .4 .9 . 1 .7 1 .9 1 1 .3 1 . 1",
    ".8 . .9 . 1 1 1 .7 1 .5 . . .5 .",
)
"""NLTK 3.10.4 (on units that two rated) and PyPI's krippendorff 0.9.0 both print .648."""


def units(table: tuple[str, ...]) -> Counter[tuple[float, ...]]:
    """Return the units of a table with a row per rater; "." is missing."""
    rows = {str(i): dict(enumerate(row.split())) for i, row in enumerate(table)}
    return rated_units(
        {r: {u: float(v) for u, v in row.items() if v != "."} for r, row in rows.items()}
    )


@pytest.mark.parametrize(
    ("table", "alpha", "digits"), [(KRIPPENDORFF_2011, 0.849, 5e-4), (GAPS, 0.648, 1e-12)]
)
def test_alpha_equals_that_of_the_paper_and_of_other_programs(
    table: tuple[str, ...], alpha: float, digits: float
) -> None:
    assert krippendorff_alpha(units(table)) == pytest.approx(alpha, abs=digits)


def test_alpha_and_kappa_are_undefined_where_nothing_varies() -> None:
    assert krippendorff_alpha({(1.0, 1.0): 9}) is None
    assert krippendorff_alpha({(1.0, 0.0): 1}) is None  # one unit
    assert krippendorff_alpha({(1.0,): 4, (0.0,): 3}) is None  # nobody rated the same
    assert weighted_kappa({(1, 1): 9}) is None
    assert weighted_kappa({}) is None
    assert (
        krippendorff_alpha({(1.0, 1.0): 5, (0.0, 0.0): 5})
        == weighted_kappa({(1, 1): 5, (0, 0): 5})
        == 1
    )


@pytest.mark.parametrize(("weights", "expected"), [("none", 0.5), ("quadratic", 0.75)])
def test_weighted_kappa_equals_that_of_scikit_learn(weights: Weights, expected: float) -> None:
    a = [0, 1, 2, 2, 1, 0, 3, 3, 2, 1, 0, 1, 2, 3, 3, 0]
    b = [0, 1, 1, 2, 2, 0, 3, 2, 2, 1, 1, 1, 3, 3, 3, 2]
    assert weighted_kappa(Counter(zip(a, b, strict=True)), weights) == pytest.approx(
        expected, abs=1e-12
    )


def test_kappa_of_verdicts_equals_cohens_kappa() -> None:
    table = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]  # Cohen 1960, table 1: κ = .492
    pairs = {(i, j): n for i, row in enumerate(table) for j, n in enumerate(row)}
    assert weighted_kappa(pairs) == pytest.approx(0.492, abs=5e-4)


def test_sensitivity_and_specificity_have_exact_intervals_where_nothing_is_clustered() -> None:
    said = [(True, True)] * 40 + [(False, True)] * 10 + [(True, False)] * 5 + [(False, False)] * 45
    ratings = [RatedTwice(f"c{i}", float(j), j, float(p), p) for i, (j, p) in enumerate(said)]

    def whole(right: int) -> Interval | None:
        return proportion(((str(i), i < right) for i in range(50)), unit="conversation").interval

    found = judge_agreement(ratings)
    assert found.confusion == Confusion(40, 5, 10, 45)
    assert found.clusters == 100
    assert (found.sensitivity.value, found.sensitivity.interval) == (
        0.8,
        whole(40),
    )
    assert (found.specificity.value, found.specificity.interval) == (
        0.9,
        whole(45),
    )
    assert found.kappa.value == pytest.approx(0.7)


def test_verdicts_of_few_conversations_give_wider_intervals() -> None:
    apart = rated(60, Random(3), verdicts=1)
    # The same verdicts, each given five times in its conversation: nothing more is known.
    repeated = judge_agreement([one for one in apart for _ in range(5)])
    once = judge_agreement(apart)
    taken_for_300 = judge_agreement(
        [replace(one, cluster=f"{one.cluster} {i}") for one in apart for i in range(5)]
    )
    for name in ("sensitivity", "kappa", "kappa_quadratic"):
        widths = [
            getattr(x, name).interval.high - getattr(x, name).interval.low
            for x in (once, repeated, taken_for_300)
        ]
        assert widths[1] == pytest.approx(widths[0], rel=0.15), name
        assert widths[1] > 1.8 * widths[2], name


def test_a_judge_that_always_agrees_has_an_interval_of_some_width_and_few_conversations_none() -> (
    None
):
    agreeing = [RatedTwice(f"c{i}", i % 2, bool(i % 2), i % 2, bool(i % 2)) for i in range(30)]
    for name in ("kappa", "kappa_quadratic", "alpha"):
        found = getattr(judge_agreement(agreeing), name)
        assert found.value == 1, name
        assert 0.6 < found.interval.low < 0.9, name
        assert found.interval.high == 1, name
        assert getattr(judge_agreement(agreeing[:29]), name).interval is None, name


def test_intervals_of_clustered_verdicts_contain_the_true_value() -> None:
    for name, share in agreement_coverage(20, conversations=40, everything=1500).items():
        assert share >= 0.8, (name, share)  # 16 of 20; docs/validation.md has the long run
