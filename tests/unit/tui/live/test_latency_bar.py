"""The bar of an answer's time."""

from __future__ import annotations

import pytest

from bioeval_tui.tui.live.panels import Bar, latency_bar


def test_a_latency_bar_shows_waiting_streaming_and_target_without_colour() -> None:
    bar = Bar(ms=1000, first_ms=400, message=2)
    text = "".join(cell.text for cell in latency_bar(bar, 2000, 1500, 20))
    assert text == "────━━━━━━     │    "
    late = "".join(cell.text for cell in latency_bar(bar, 1000, 500, 10))
    assert late == "────━┿━━━━"


@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_a_latency_bar_never_exceeds_its_width(width: int) -> None:
    bar = Bar(ms=9e9, first_ms=1.0, message=2)
    assert sum(len(cell.text) for cell in latency_bar(bar, 100, 50, width)) == width
