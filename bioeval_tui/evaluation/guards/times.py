"""Times of day and dates in all notations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bioeval_tui.evaluation.guards.specific import Reader, Specific, number_of, pattern

_HOUR = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|1[0-2]|[1-9]"
_MINUTES = {"quarter past": 15, "half past": 30, "quarter to": 45}
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
PART_OF_DAY = "part of the day: "
"""Prefix of the key of a time that is not a clock time."""
_WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"


def _clock(match: re.Match[str]) -> Iterator[Specific]:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if hour <= 24 and minute < 60:
        yield _time(hour, minute, match.group())


def _spoken(match: re.Match[str]) -> Iterator[Specific]:
    minute = _MINUTES[" ".join(match["part"].lower().split())]
    hour = int(number_of(match["hour"]))
    yield _time(hour - 1 if minute == 45 else hour, minute, match.group())


def _hour(match: re.Match[str]) -> Iterator[Specific]:
    yield _time(int(number_of(match["hour"])), 0, match.group())


def _named(match: re.Match[str]) -> Iterator[Specific]:
    yield _time(0 if match.group().lower() == "midnight" else 12, 0, match.group())


def _time(hour: int, minute: int, shown: str) -> Specific:
    # People leave out am and pm, so the half of the day is not compared.
    return Specific("time", f"{hour % 12}:{minute:02}", shown.strip())


def _iso(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("date", f"{int(match['day'])}-{int(match['month'])}", match.group())


def _date(match: re.Match[str]) -> Iterator[Specific]:
    month = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(match["month"].lower()[:3]))
    day = match["day"].lower()
    number = _ORDINALS.index(day) + 1 if day in _ORDINALS else int(re.sub(r"\D", "", day))
    yield Specific("date", f"{number}-{month}", match.group().strip())


def _month(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("date", match["month"].lower(), match["month"])


def _part_of_day(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("time", f"{PART_OF_DAY}{(match['part'] or match['meal']).lower()}", match.group())


def _weekday(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("date", match.group().lower().removesuffix("s"), match.group())


def _tomorrow(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("date", "tomorrow", match.group())


READERS: tuple[Reader, ...] = (
    (pattern(r"\b\d{4}-(?P<month>\d{1,2})-(?P<day>\d{1,2})\b"), _iso),
    (pattern(r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s?(?:[ap]m\b|[ap]\.m\.)"), _clock),
    (pattern(r"\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?\b"), _clock),
    (pattern(rf"\b(?P<part>quarter\s+past|half\s+past|quarter\s+to)\s+(?P<hour>{_HOUR})\b"), _spoken),
    (
        pattern(
            rf"\b(?P<hour>{_HOUR})\s?(?:o'clock\b|in the (?:morning|afternoon|evening)\b|at night\b|[ap]m\b)"
        ),
        _hour,
    ),
    (
        pattern(
            r"\b(?:(?:every|each|in the|in my) (?P<part>morning|afternoon|evening|night)s?"
            r"|(?:after|before|at|with|over) (?P<meal>breakfast|lunch|dinner|supper|bedtime|bed))\b"
        ),
        _part_of_day,
    ),
    (pattern(r"\b(?:noon|midnight)\b"), _named),
    (pattern(rf"\b(?P<day>{_DAY})\s+(?:of\s+)?(?P<month>{_MONTH})\b\.?(?:,?\s+\d{{4}})?"), _date),
    (
        pattern(
            rf"\b(?P<month>{_MONTH})\.?\s+(?:the\s+)?(?P<day>{_DAY}|{'|'.join(_ORDINALS)})\b(?:,?\s+\d{{4}})?"
        ),
        _date,
    ),
    (
        re.compile(
            rf"\b(?:in|since|until|by|of|last|next|this)\s+(?P<month>{'|'.join(m.title() for m in _MONTHS)})\b"
        ),
        _month,
    ),
    (pattern(rf"\b(?:{_WEEKDAYS})s?\b"), _weekday),
    (
        pattern(r"\b(?:for|from|on|by) tomorrow\b|\btomorrow (?:morning|afternoon|evening|night|at)\b"),
        _tomorrow,
    ),
)
"""In the order in which they must be tried: the most specific first."""
