"""A suspended process is distinguished from a busy one."""

from __future__ import annotations

import pytest

from bioeval_tui.evaluation.conversation.standstill import Standstill


@pytest.mark.parametrize(
    ("gap_s", "on_processor_s", "still_s"),
    [(5.25, 0.0, 5.0), (5.25, 0.4, 5.0), (5.25, 4.0, 0.0), (0.9, 0.0, 0.0)],
    ids=["stopped", "stopped and a little work", "flooded", "a busy machine"],
)
def test_a_gap_without_processor_time_is_a_suspended_process(
    gap_s: float, on_processor_s: float, still_s: float
) -> None:
    now = {"clock": 100.0, "busy": 1.0}
    watch = Standstill(lambda: now["clock"], lambda: now["busy"])
    now["clock"] += gap_s
    now["busy"] += on_processor_s
    assert watch.since(100.0) == pytest.approx(still_s)
    assert watch.since(now["clock"]) == 0.0, "it is over"
