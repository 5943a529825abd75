"""Which answers may be asked for again, and when."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED_STATUS = frozenset({408, 425, 429})
"""With these, and with 5xx, the same request may succeed later."""


def may_retry(status: int) -> bool:
    """Say whether the same request may succeed later."""
    return status in RETRIED_STATUS or status >= 500


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for (a number or a date), None if it says nothing.

    `now` is the time of day in seconds since 1970.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.fromtimestamp(now, UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
