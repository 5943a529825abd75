"""Intervals in the corners: never of zero width, none of too few, and the truth within them (a
short corner table).
"""

from __future__ import annotations

import ast
from math import inf
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.statistics.estimates import Tries, pass_k
from bioeval_tui.statistics.intervals import CHANGE, UNIT, joined, mean_of, share_interval
from tests.simulations import corners

PACKAGE = Path(__file__).parents[3] / "bioeval_tui"


@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from((0.0, 1.0))), min_size=10, max_size=40))
def test_ten_bounded_values_have_an_interval_that_contains_their_mean(values: list[float]) -> None:
    for bounds, paired in ((UNIT, False), (CHANGE, True)):
        found = mean_of({"job": values}, bounds, within="trial", paired=paired)
        assert found is not None
        assert found.interval is not None
        assert found.interval.width > 0
        assert found.interval.low - 1e-9 <= found.value <= found.interval.high + 1e-9
        assert bounds[0] - 1e-9 <= found.interval.low <= found.interval.high <= bounds[1] + 1e-9
        assert found.interval.method


def test_values_of_one_conversation_are_never_taken_for_independent() -> None:
    found = mean_of({"conversation": [0.1, 0.9] * 20}, UNIT, unit="conversation")
    assert found is not None
    assert found.interval is None


def test_values_without_bounds_that_are_all_equal_have_no_interval() -> None:
    found = mean_of({str(i): [7.0] for i in range(12)}, (0.0, inf))
    assert found is not None
    assert found.interval is None


def test_independent_parts_are_joined_by_their_weights() -> None:
    parts = [(0.5, 1.0, share_interval(1.0, 20)), (0.5, 0.0, share_interval(0.0, 20))]
    found = joined(parts, UNIT, "")
    assert (found.low + found.high) / 2 == pytest.approx(0.5)
    assert found.width == pytest.approx(share_interval(1.0, 20).width)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_single_part_keeps_its_own_interval_which_reaches_further_on_one_side(
    share: float,
) -> None:
    alone = share_interval(share, 20)
    found = joined([(1.0, share, alone)], UNIT, "")
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert abs((share - alone.low) - (alone.high - share)) > 0.05


def test_every_interval_is_made_by_the_engine() -> None:
    """Outside of it, `Interval(…)` is called for the sequence alone, and nobody shows "± the
    standard error" of two values.
    """
    makers, spreads = set(), set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in (
            ast.walk(ast.parse(text)) if "Interval(" in text or "statistics import" in text else ()
        ):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Interval"
            ):
                makers.add(path.relative_to(PACKAGE).as_posix())
            elif isinstance(node, ast.ImportFrom) and node.module == "statistics":
                spreads |= {name.name for name in node.names}
    assert makers == {
        "statistics/intervals.py",
        "statistics/calibration.py",  # a judge's corrected share, from intervals of the engine
        "statistics/planning.py",  # the betting sequence, which is valid at every look
    }
    assert spreads <= {"NormalDist", "fmean", "median"}


@pytest.mark.long
def test_no_cell_of_the_corner_table_fails() -> None:
    """Forty draws of each cell; `scripts/validate-statistics corners --seed N` makes the table."""
    found = list(corners.cells(40, seed=3, most=30))
    assert [cell.row for cell in found if "coverage" in cell.fails] == []
    for cell in found:
        # three rows
        few = cell.what == "ROC AUC" and cell.units == 30 and cell.detail == "10% positive"
        assert bool(cell.shown) == (
            not few and cell.units >= (30 if cell.what in corners.CURVED else 10)
        ), cell.row


def test_a_conversation_that_fails_as_a_whole_may_not_have_been_drawn() -> None:
    """Fifty conversations of ten tasks that pass but for a few: a harsh judge's, in which all fail,
    may be one of fifty.
    """
    tasks = [Tries(str(n), {talk: talk % 25 != n for talk in range(50)}, "case") for n in range(10)]
    found = pass_k(tasks, 1)
    assert found.value == pytest.approx(0.96)
    assert found.interval is not None
    # Two such conversations more would bring the mean down to this.
    assert found.interval.low < found.value * 50 / 52
