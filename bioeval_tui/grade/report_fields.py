"""Reads the fields of a report's JSON, which other programs write, too, each as its type.

`task_report.py` has the table of which field is read by which; `report_files.py` reads times by
`read_time`. A reader's `ValueError` names the field.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T_ ](\d\d)-(\d\d)-(\d\d)(?:-?(?:GMT|UTC)|Z)?")
"""A time as folders of runs are named: in UTC, without colons."""


def time_stamp(at: datetime) -> str:
    """Return a time in UTC as BioML-bench writes it in names: `2026-01-26T18-58-19-GMT`."""
    return f"{at:%Y-%m-%dT%H-%M-%S}-GMT"


def text_or_empty(name: str, value: Any) -> str:
    """Return a text; empty for None.

    Raises:
        ValueError: it is no text.
    """
    if value is not None and not isinstance(value, str):
        raise ValueError(f"`{name}` must be text, found {value!r:.60}")
    return value or ""


def text_or_none(name: str, value: Any) -> str | None:
    """Return a text, or None.

    Raises:
        ValueError: it is no text.
    """
    if value is None:
        return None
    return text_or_empty(name, value)


def number_or_nan(name: str, value: Any) -> float:
    """Return a number; NaN for None.

    Raises:
        ValueError: it is no number.
    """
    number = number_or_none(name, value)
    if number is None:
        return math.nan
    return number


def number_or_none(name: str, value: Any) -> float | None:
    """Return a number, or None; a text of a number is one.

    Raises:
        ValueError: it is no number.
    """
    try:
        if value is None:
            return None
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"`{name}` must be a number, found {value!r:.60}") from None


def percentile_or_none(name: str, value: Any) -> float | None:
    """Return a percentile, or None.

    Raises:
        ValueError: it is no number from 0 to 100: one beyond would move an agent's mean anywhere.
    """
    number = number_or_none(name, value)
    if number is not None and (number < 0 or number > 100):
        raise ValueError(f"`{name}` must be from 0 to 100, found {value!r:.60}")
    return number


def count_or_none(name: str, value: Any) -> int | None:
    """Return a whole number, or None.

    Raises:
        ValueError: it is no whole number.
    """
    number = number_or_none(name, value)
    if number is not None and not number.is_integer():
        raise ValueError(f"`{name}` must be a whole number, found {value!r:.60}")
    if number is None:
        return None
    return int(number)


def yes_or_no(name: str, value: Any) -> bool:
    """Return true or false, also of 1 and 0; false for None.

    Raises:
        ValueError: it is neither.
    """
    return bool(yes_or_none(name, value))


def yes_or_none(name: str, value: Any) -> bool | None:
    """Return true or false, also of 1 and 0, or None.

    Raises:
        ValueError: it is neither.
    """
    if value is None or isinstance(value, bool):
        return value
    try:
        if not isinstance(value, str) and value in (0, 1):
            return bool(value)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"`{name}` must be true or false, found {value!r:.60}")


def time_or_none(name: str, value: Any) -> datetime | None:
    """Return a time; None for what is none: a report in another form of time costs only that."""
    if isinstance(value, datetime):
        return value
    return read_time(value)


def read_time(value: Any) -> datetime | None:
    """Return the time of an ISO text, or of `2026-01-26T18-58-19-GMT`, as folders of runs are
    named; None if it is none.
    """
    if not isinstance(value, str):
        return None
    if stamp := _STAMP.fullmatch(value.strip()):
        value = f"{stamp[1]}T{stamp[2]}:{stamp[3]}:{stamp[4]}"
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
