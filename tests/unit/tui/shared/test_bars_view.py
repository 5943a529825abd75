"""Charts made of characters."""

from __future__ import annotations

import pytest

from bioeval_tui.tui.shared import bars_view
from bioeval_tui.tui.shared.bars_view import Bar


def test_a_sparkline_has_a_fixed_scale_and_shows_gaps() -> None:
    assert bars_view.spark([0.0, 0.5, 1.0, None], 10) == "▁▅█·"
    assert bars_view.spark([0.1] * 20, 5) == "▁" * 5
    assert bars_view.spark([], 5) == ""


def test_a_latency_bar_shows_waiting_streaming_and_target_without_colour() -> None:
    bar = Bar(ms=1000, first_ms=400, message=2)
    text = "".join(cell.text for cell in bars_view.latency_bar(bar, 2000, 1500, 20))
    assert text == "────━━━━━━     │    "
    late = "".join(cell.text for cell in bars_view.latency_bar(bar, 1000, 500, 10))
    assert late == "────━┿━━━━"


@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_a_latency_bar_never_exceeds_its_width(width: int) -> None:
    bar = Bar(ms=9e9, first_ms=1.0, message=2)
    assert sum(len(cell.text) for cell in bars_view.latency_bar(bar, 100, 50, width)) == width
