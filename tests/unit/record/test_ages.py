"""Times as people type them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bioeval_tui.errors import UsageError
from bioeval_tui.record.catalogue import parse_time

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", datetime(2026, 11, 20, 11, 30, tzinfo=UTC)),
        ("12h", datetime(2026, 11, 20, tzinfo=UTC)),
        ("7d", datetime(2026, 11, 13, 12, tzinfo=UTC)),
        ("2W", datetime(2026, 11, 6, 12, tzinfo=UTC)),
        ("1.5d", datetime(2026, 11, 19, tzinfo=UTC)),
        ("2026-11-01T10:00+02:00", datetime(2026, 11, 1, 8, tzinfo=UTC)),
    ],
)
def test_an_age_or_a_date_is_understood(text: str, expected: datetime) -> None:
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "7", "7y", "yesterday", "2026-13-01", "99999999999w", "\x1b[2J"])
def test_an_invalid_time_says_what_is_allowed(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time; use a date"):
        parse_time(text, NOW)
