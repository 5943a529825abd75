"""pass^k, percentiles, paired differences, and the explanation of the composite score."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.record import score as composite
from bioeval_tui.record.events import ScorePart
from bioeval_tui.record.score import needed, reweighted
from bioeval_tui.report.sentences import concurrency_words, difference_words
from bioeval_tui.statistics.estimates import (
    Sample,
    Tries,
    pass_hat,
    pass_k,
    pass_series,
    percentile,
    summarise,
)
from bioeval_tui.statistics.paired_differences import (
    FOUND_AT,
    Difference,
    corrected,
    difference,
    differences,
)


@given(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, 8)))
)
def test_pass_hat_k_is_the_share_of_k_trials_that_all_succeed(case: tuple[int, int, int]) -> None:
    successes, trials, k = case
    outcomes = [True] * successes + [False] * (trials - successes)
    chosen = list(combinations(outcomes, k))
    expected = float(Fraction(sum(map(all, chosen)), len(chosen))) if chosen else None
    assert pass_hat(successes, trials, k) == (
        expected if expected is None else pytest.approx(expected)
    )


def test_pass_k_is_the_mean_over_tasks_and_names_those_with_too_few_trials() -> None:
    tasks = [
        Tries(name, {trial: trial < passed for trial in range(trials)})
        for name, passed, trials in (("a", 4, 4), ("b", 2, 4), ("c", 1, 1))
    ]
    found = pass_k(tasks, 2)
    assert found.value == pytest.approx((1 + 1 / 6) / 2)
    assert (found.tasks, found.undefined) == (2, ("c",))
    assert pass_k([], 1).value is None
    assert [each.k for each in pass_series(tasks)] == [1]
    assert pass_series([]) == ()


@pytest.mark.parametrize(("successes", "trials", "k"), [(1, 1, 0), (2, 1, 1), (-1, 1, 1)])
def test_pass_hat_k_refuses_impossible_counts(successes: int, trials: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"no pass\^"):
        pass_hat(successes, trials, k)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95]))
def test_a_percentile_is_the_nearest_rank(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-6
    assert sum(value < found for value in values) < share * len(values) + 1e-6


def test_each_percentile_of_a_hundred_values_is_the_value_of_its_number() -> None:
    """7 / 100 · 100 is a little more than 7, and asks for no eighth value."""
    values = [float(n) for n in range(1, 101)]
    assert [percentile(values, n / 100) for n in range(1, 101)] == values


def test_latencies_are_summarized_with_their_concurrency() -> None:
    found = summarise([float(n) for n in range(1, 101)], [5.0, 7.0, 9.0], [4, 4])
    assert (found.p50_ms, found.p90_ms, found.p95_ms, found.max_ms) == (50, 90, 95, 100)
    assert (found.average_ms, found.first_token_ms, found.streamed) == (50.5, 7.0, 3)
    assert concurrency_words(found) == "4 conversations at a time"
    assert summarise([], [], [1]).p95_ms is None
    assert concurrency_words(summarise([], [], [1])) == "1 conversation at a time"
    assert concurrency_words(summarise([], [], [])) == "concurrency unknown"


def pairs(*values: tuple[float | None, float | None]) -> list[Sample]:
    return differences(
        [(Sample("job", a, "" if a is not None else "judge"),
                Sample("job", b, "" if b is not None else "graph"))
         for a, b in values]
    )  # fmt: skip


def test_differences_are_paired_and_missing_values_keep_their_reason() -> None:
    found = pairs((0.5, 0.7), (None, 0.7), (0.5, None))
    assert [sample.value for sample in found] == [pytest.approx(0.2), None, None]
    assert [sample.reason for sample in found] == ["", "judge", "graph"]
    lone = differences([(None, Sample("job", 1.0)), (Sample("job", 1.0), None)])
    assert {sample.reason for sample in lone} == {"not run on both sides"}


@pytest.mark.parametrize(
    ("steps", "higher", "verdict", "words"),
    [
        ([0.1, 0.2, 0.1, 0.2, 0.15, 0.1], True, "better", "better"),
        ([-0.1, -0.2, -0.1, -0.2, -0.15, -0.1], True, "worse", "worse"),
        ([0.1, 0.2, 0.1, 0.2, 0.15, 0.2], False, "worse", "worse"),
        ([-0.3, 0.3, -0.3, 0.3, 0.05, 0.0], True, "not distinguishable", "not yet distinguishable"),
        ([-0.4] * 5, True, "too few", "−0.40 in each of 5 pairs: too few to tell"),
        ([-0.4] * 6, True, "worse", "−0.40 in each of 6 pairs: worse"),
        ([0.0] * 5, True, "same", "±0.00 in each of 5 pairs: the same"),
        ([0.2, 0.2], True, "too few", "too few to tell"),
        ([0.2], True, "too few", "+0.20 in one pair: too few to tell"),
        ([], True, "not measured", "not measured"),
    ],
)
def test_the_wording_of_a_difference_follows_its_interval(
    steps: list[float], higher: bool, verdict: str, words: str
) -> None:
    found = difference([Sample("job", step) for step in steps], higher_is_better=higher)
    assert found.direction == verdict
    assert words in difference_words(found)


@pytest.mark.parametrize(
    ("steps", "verdict"), [([0.4, 0.5] * 30, "better"), ([0.4, -0.4] * 30, "not distinguishable")]
)
def test_of_a_batch_that_could_stop_the_interval_decides(steps: list[float], verdict: str) -> None:
    found = difference([Sample("job", step, stopped=True) for step in steps])
    assert found.estimate.interval is not None
    assert (found.estimate.interval.low > 0) == (verdict == "better")
    assert found.direction == verdict


@pytest.mark.parametrize("stopped", [(True, False), (False, True), (True, True), (False, False)])
def test_a_difference_of_batches_of_which_one_could_stop_is_one_of_a_batch_that_could(
    stopped: tuple[bool, bool],
) -> None:
    first, second = (
        Sample("job", value, stopped=one) for value, one in zip((0.2, 0.9), stopped, strict=True)
    )
    (found,) = differences([(first, second)])
    assert found.stopped is any(stopped)


def of_cases(*steps: float) -> Difference:
    return difference([Sample("job", step, case=str(case)) for case, step in enumerate(steps)])


def test_what_no_result_could_decide_yet_takes_no_share_of_the_five_per_cent() -> None:
    """A test beside the scores has 1 %: of seven pairs, 1.6 % is the least p-value, of eight
    0.8 %.
    """
    score = of_cases(0.0, 0.1, 0.1, 0.2, 0.2, 0.35, 0.1, -0.1, 0.0)
    assert score.p is not None
    assert 0.8 * FOUND_AT < score.p < FOUND_AT
    seven, eight = (of_cases(*[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8][:pairs]) for pairs in (7, 8))
    assert seven.p is not None
    assert corrected({"score": score}, {"task": seven})["score"].direction == "better"
    assert corrected({"score": score}, {"task": eight})["score"].direction == "not distinguishable"


def part(name: str, value: float | None, weight: float, left_out: bool = False) -> ScorePart:
    return ScorePart.model_validate(
        {"name": name, "value": value, "weight": weight, "left_out": left_out}
    )


units = st.floats(0, 1)


@given(units, units, units, st.integers(0, 3), units)
def test_the_value_that_a_part_needs_reaches_the_target_and_less_does_not(
    timing: float, task: float, assertion: float, failures: int, target: float
) -> None:
    parts = [part("timing", timing, 1), part("task", task, 2), part("assertion", assertion, 4)]
    for item in needed(parts, failures, target):

        def score(value: float, name: str = item.part) -> float:
            changed = [
                p.model_copy(update={"value": value}) if p.name == name else p for p in parts
            ]
            weighted = sum(p.weight * (p.value or 0) for p in changed) / 7
            return weighted - composite.failure_penalty(failures)

        if item.value is None:
            assert score(1.0) < target + 1e-9
        else:
            assert 0 <= item.value <= 1
            assert score(item.value) >= target - 1e-9
            assert item.value == 0 or score(item.value) == pytest.approx(target, abs=1e-9)


def test_a_score_that_was_not_measured_needs_nothing() -> None:
    assert needed([part("timing", 1, 1), part("task", None, 2)], 0, 0.8) == ()


def test_weights_change_the_score_and_zero_leaves_a_part_out() -> None:
    parts = [part("timing", 0.5, 1), part("task", 1.0, 2), part("assertion", None, 4, True)]
    assert composite.compose(parts, 0).score == 0.83
    assert reweighted(parts, 0, {"task": 1}).score == 0.75
    assert reweighted(parts, 0, {"timing": 0}).score == 1.0
    assert reweighted(parts, 1, {"timing": 0}).score == 0.7
    assert reweighted(parts, 0, {"timing": 0, "task": 0}).score is None
    assert parts[0].weight == 1  # what was recorded stays as it was


@pytest.mark.parametrize("pairs", [1_023, 1_024, 3_000])
def test_a_difference_of_thousands_of_cases_has_a_p_value(pairs: int) -> None:
    found = difference(
        [Sample("job", 0.5 if at % 2 else 1.0, case=f"case {at}") for at in range(pairs)]
    )
    assert found.p is not None
    assert found.p < 1e-9
