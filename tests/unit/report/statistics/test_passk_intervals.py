"""pass^k has an interval over tasks and reproduces tau-bench's published figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.report.statistics.estimates import Tries, pass_k_interval, pass_series
from tests.simulations.agreeing import pass_k_coverage

AIRLINE = json.loads(
    (Path(__file__).parents[3] / "golden" / "published" / "tau-bench-airline.json").read_text("utf-8")
)


def airline() -> list[Tries]:
    """Return the 50 tasks."""
    return [Tries(str(i), successes, AIRLINE["trials"]) for i, successes in enumerate(AIRLINE["successes"])]


def test_the_published_figures_of_tau_bench_are_reproduced_with_intervals() -> None:
    series = pass_series(airline())
    assert [round(one.value or 0, 3) for one in series] == [0.420, 0.273, 0.220, 0.200]
    for one in series:
        interval = pass_k_interval(airline(), one.k)
        assert interval is not None
        assert one.value is not None
        assert interval.low < one.value < interval.high
        assert interval.scope == "clustered by task, 50 tasks"
        assert 0.15 < interval.high - interval.low < 0.27


def test_few_tasks_have_no_interval_and_perfect_results_a_wide_one() -> None:
    assert pass_k_interval(airline()[:4], 2) is None
    assert pass_k_interval([Tries("a", 1, 1)] * 9, 2) is None
    interval = pass_k_interval([Tries("a", 4, 4)] * 9, 2)
    assert interval is not None
    assert 0.5 < interval.low < 0.75
    assert interval.high == 1


@pytest.mark.parametrize("k", [1, 4])
def test_the_pass_k_interval_contains_the_true_value(k: int) -> None:
    assert pass_k_coverage(400, [0, 0, 0.1, 0.3, 0.5, 0.9, 1], k) >= 0.92
