"""Retry-After in both of its forms."""

from __future__ import annotations

import pytest

from bioeval_tui.evaluate.retry import retry_after

NOON = 1795262400.0  # 2026-11-21T12:00:00Z


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Sat, 21 Nov 2026 12:01:00 GMT", 60.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        (None, None),
        ("inf", None),
        ("nan", None),
        ("Sat, 99 Nov 2026 11:00:00 GMT", None),
    ],
)
def test_seconds_and_dates(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOON) == seconds
