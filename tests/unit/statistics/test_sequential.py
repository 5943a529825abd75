"""A batch may be checked after each trial: it stops wrongly in at most 5 %, and early where there
is a difference.
"""

from __future__ import annotations

from random import Random

import pytest

from bioeval_tui.statistics.estimates import Sample, estimate
from bioeval_tui.statistics.planning import ConfidenceSequence
from tests.simulations.stopping import passes, scores, sharing, stops, twelve_cases


@pytest.mark.parametrize(
    ("draw", "rounds"), [(scores, 100), (passes, 100), (twelve_cases, 15), (sharing(0.5, 5), 40)]
)
def test_without_a_difference_few_batches_stop_early_but_many_with_a_naive_test(
    draw, rounds: int
) -> None:  # type: ignore[no-untyped-def]
    found = stops(400, rounds, draw, difference=0.0)
    assert found.sequence <= 0.05 + 0.02  # two standard errors; docs/validation.md has the long run
    assert found.naive > 0.15


def test_a_difference_of_0_2_is_found_soon() -> None:
    found = stops(100, 120, scores, difference=0.2)
    assert found.sequence > 0.97
    assert found.median_rounds < 40
    assert stops(30, 60, twelve_cases, difference=0.2).median_rounds <= 45


def test_the_interval_and_the_decision_agree_at_every_look() -> None:
    random = Random(5)
    sequence = ConfidenceSequence(0.5)
    for _ in range(60):
        decided = sequence.observe([min(1.0, random.betavariate(4, 2)), random.betavariate(5, 2)])
        interval = sequence.interval()
        assert (interval.low > 0.5 - 1e-9) == (decided == "above")
    assert sequence.decision == "above"
    assert interval.low < 0.69 < interval.high


def test_the_interval_never_widens_and_contains_the_mean() -> None:
    random = Random(1)
    held = 0
    for _ in range(12):
        sequence, before, ok = ConfidenceSequence(0, low=-1, high=1), (-1.0, 1.0), True
        for _ in range(25):
            sequence.observe([random.choice((-0.2, 0.3, 0.5))])
            interval = sequence.interval()
            assert before[0] - 1e-9 <= interval.low <= interval.high <= before[1] + 1e-9
            before = interval.low, interval.high
            ok &= interval.low <= 0.2 <= interval.high
        held += ok
    assert held >= 11


def test_the_interval_of_a_stopped_batch_is_that_of_its_sequence() -> None:
    values = [0.9, 1.0, 0.8, 0.9, 1.0, 1.0, 0.9, 0.8, 1.0, 0.9]
    usual = estimate([Sample("job", value) for value in values])
    stopped = estimate([Sample("job", value, stopped=True) for value in values])
    assert usual.interval is not None
    assert stopped.interval is not None
    assert stopped.interval.width > usual.interval.width
    assert stopped.interval.scope == "valid at every look, 10 rounds"


def test_a_decision_is_final() -> None:
    sequence = ConfidenceSequence(0.5)
    for _ in range(30):
        sequence.observe([1.0])
    assert sequence.decision == "above"
    for _ in range(100):
        sequence.observe([0.0])
    assert sequence.decision == "above"


def test_values_and_thresholds_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="threshold of 1"):
        ConfidenceSequence(1)
    with pytest.raises(ValueError, match="a round must have values"):
        ConfidenceSequence(0.5).observe([1.5])
    with pytest.raises(ValueError, match="round"):
        ConfidenceSequence(0.5).observe([])
