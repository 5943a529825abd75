"""Agreement equals published worked examples, and is undefined where the formulas are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.statistics.judges import agreement, krippendorff_alpha, rated_units, weighted_kappa

ALPHAS = Path(__file__).parents[2] / "golden" / "krippendorff_alpha.json"

ANXIETY = (
    [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
    [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
)
"""Two raters of R's `irr::anxiety`; its manual's `kappa2(…, "squared")` prints 0.297, unweighted
0.119.
"""

KRIPPENDORFF_2011 = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}
"""Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C to E: interval .849.
"""


def test_weighted_kappa_equals_that_of_the_r_package_irr() -> None:
    pairs = Counter(zip(*ANXIETY, strict=True))
    assert weighted_kappa(pairs, "quadratic") == pytest.approx(0.297, abs=0.0005)
    assert weighted_kappa(pairs) == pytest.approx(0.119, abs=0.0006)


def test_weighted_kappa_counts_unused_categories_as_distance() -> None:
    a, b = [0, 0, 10, 10, 0], [0, 10, 10, 9, 1]
    # By hand: observed (0 + 100 + 0 + 1 + 1) / 5; expected: 3 × (0+100+100+81+1), 2 ×
    # (100+0+0+1+81), over 25.
    found = weighted_kappa(Counter(zip(a, b, strict=True)), "quadratic")
    assert found == pytest.approx(1 - 102 / 5 / ((3 * 282 + 2 * 182) / 25))


def test_alpha_equals_krippendorffs_alpha_with_missing_values() -> None:
    ratings = {
        rater: {unit: float(value) for unit, value in enumerate(row.split()) if value != "."}
        for rater, row in KRIPPENDORFF_2011.items()
    }
    assert krippendorff_alpha(rated_units(ratings)) == pytest.approx(0.849, abs=0.0005)


@pytest.mark.parametrize("case", json.loads(ALPHAS.read_text("utf-8"))["cases"])
def test_alpha_equals_that_of_nltk(case: dict[str, Any]) -> None:
    ratings = {
        str(rater): {unit: value for unit, value in enumerate(row) if value is not None}
        for rater, row in enumerate(case["ratings"])
    }
    assert krippendorff_alpha(rated_units(ratings)) == pytest.approx(case["interval"], abs=1e-9)


@given(
    st.lists(
        st.lists(
            st.one_of(st.none(), st.integers(0, 10).map(lambda n: n / 10)), min_size=3, max_size=3
        ),
        min_size=2,
        max_size=12,
    )
)
def test_alpha_follows_its_definition_for_any_missing_values(
    units: list[list[float | None]],
) -> None:
    """1 − observed / expected disagreement over all pairs of values, as in Krippendorff's section
    E.
    """
    pairable = [[v for v in unit if v is not None] for unit in units]
    pairable = [values for values in pairable if len(values) > 1]
    everything = [v for values in pairable for v in values]
    n = len(everything)
    observed = sum(sum((a - b) ** 2 for a in vs for b in vs) / (len(vs) - 1) for vs in pairable)
    expected = sum((a - b) ** 2 for a in everything for b in everything)
    ratings = {
        rater: {unit: v for unit, row in enumerate(units) if (v := row[place]) is not None}
        for place, rater in enumerate("ABC")
    }
    found = krippendorff_alpha(rated_units(ratings))
    if len(pairable) < 2 or not expected:
        assert found is None
    else:
        assert found == pytest.approx(1 - (n - 1) * observed / expected, abs=1e-9)


def test_two_raters_of_scores_have_a_difference_a_bias_and_kappas() -> None:
    a = [(0.0, False), (0.5, False), (0.9, True), (1.0, True)]
    b = [(0.0, False), (0.7, True), (0.9, True), (0.8, True)]
    found = agreement(a, b)
    assert (found.n, found.mean_absolute_difference, found.bias) == (
        4, pytest.approx(0.1), pytest.approx(0.0),
    )  # fmt: skip
    assert found.kappa == pytest.approx(0.5)  # by hand: observed 3/4, by chance 1/2
    assert found.weighted_kappa is not None
    assert found.weighted_kappa > found.kappa
    with pytest.raises(ValueError, match="cannot be paired"):
        agreement(a, b[:1])


def test_undefined_agreement_is_none() -> None:
    same = [(0.9, True)] * 5
    found = agreement(same, same)
    assert (found.kappa, found.weighted_kappa, found.alpha) == (None, None, None)
    assert found.mean_absolute_difference == 0
    nothing = agreement([], [])
    assert (nothing.n, nothing.mean_absolute_difference, nothing.alpha) == (0, None, None)
    assert krippendorff_alpha(rated_units({"a": {1: 0.5}, "b": {2: 0.7}})) is None
