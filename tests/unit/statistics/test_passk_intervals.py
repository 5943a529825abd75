"""pass^k has an interval over tasks and reproduces tau-bench's published figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.statistics.estimates import MOST_K, Tries, pass_k_interval, pass_series
from tests.simulations.agreeing import pass_k_coverage

AIRLINE = json.loads(
    (Path(__file__).parents[2] / "golden" / "published" / "tau-bench-airline.json").read_text(
        "utf-8"
    )
)


def tries(name: str, passed: int, trials: int, case: str = "") -> Tries:
    """Return a task of so many trials, the first of which passed."""
    return Tries(name, {trial: trial < passed for trial in range(trials)}, case)


def airline() -> list[Tries]:
    """Return the 50 tasks."""
    return [tries(str(i), n, AIRLINE["trials"]) for i, n in enumerate(AIRLINE["successes"])]


def test_the_published_figures_of_tau_bench_are_reproduced_with_intervals() -> None:
    series = pass_series(airline())
    assert [round(one.value or 0, 3) for one in series] == [0.420, 0.273, 0.220, 0.200]
    for one in series:
        interval = pass_k_interval(airline(), one.k)
        assert interval is not None
        assert one.value is not None
        assert interval.low < one.value < interval.high
        assert interval.scope == "clustered by case, 50 cases"
        assert 0.15 < interval.high - interval.low < 0.27


def test_few_tasks_have_no_interval_and_perfect_results_a_wide_one() -> None:
    assert pass_k_interval(airline()[:9], 2) is None
    assert pass_k_interval([tries(str(i), 1, 1) for i in range(12)], 2) is None
    interval = pass_k_interval([tries(str(i), 4, 4) for i in range(12)], 2)
    assert interval is not None
    assert 0.7 < interval.low < 0.8
    assert interval.high == 1


def test_tasks_that_are_judged_in_the_same_conversations_are_not_independent() -> None:
    """Ten tasks that pass and fail together say no more than one."""
    one = [tries("a", 24, 32, "case")]
    ten = [tries(str(i), 24, 32, "case") for i in range(10)]
    alone, together = pass_k_interval(one, 2), pass_k_interval(ten, 2)
    assert alone is not None
    assert together is not None
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high))
    assert together.scope == "these tasks only, 32 conversations"
    for k, trials in ((1, 9), (2, 29)):
        assert (
            pass_k_interval([tries(str(i), trials, trials, "case") for i in range(10)], k) is None
        )
    perfect = pass_k_interval([tries("a", 30, 30, "case")], 2)
    assert perfect is not None
    assert perfect.low == pytest.approx(0.025 ** (2 / 30))


def test_of_thousands_of_trials_the_first_200_and_the_last_are_listed() -> None:
    """All of them would take as long as the square of their number."""
    listed = pass_series([tries("a", 2_000, 2_000, "case")])
    assert [one.k for one in listed] == [*range(1, MOST_K + 1), 2_000]
    assert [one.k for one in pass_series([tries("a", 3, MOST_K)])] == [*range(1, MOST_K + 1)]


@pytest.mark.parametrize("k", [1, 4])
def test_the_pass_k_interval_contains_the_true_value(k: int) -> None:
    assert pass_k_coverage(400, [0, 0, 0.1, 0.3, 0.5, 0.9, 1], k) >= 0.92


class Looked(dict[int, bool]):
    """What passed, with how often that was asked of one trial."""

    times = 0

    def get(self, *of: Any) -> Any:
        Looked.times += 1
        return super().get(*of)


def test_many_cases_take_no_time_with_their_square() -> None:
    cases = 200
    tasks = [Tries("asks", Looked({n: n % 2 == 0}), f"case {n}") for n in range(cases)]
    (one,) = pass_series(tasks)
    assert one.interval is not None
    assert Looked.times <= cases
