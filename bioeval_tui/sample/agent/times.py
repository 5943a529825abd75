"""Dates, times and time zones as people say them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

_AREAS = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")
_NO_CITIES = frozenset({
    "act", "center", "christmas", "easter", "east", "midway", "nome", "north", "south", "wake", "west", "yap",
})  # fmt: skip
"""Ordinary words that also name a time zone: "when I wake up" is not on Wake Island."""
_ABBREVIATIONS = {
    "utc": "UTC",
    "gmt": "UTC",
    "cet": "Europe/Paris",
    "cest": "Europe/Paris",
    "bst": "Europe/London",
    "aest": "Australia/Sydney",
    "aedt": "Australia/Sydney",
    "jst": "Asia/Tokyo",
    "est": "America/New_York",
    "edt": "America/New_York",
    "eastern time": "America/New_York",
    "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "pacific time": "America/Los_Angeles",
}
_COUNTRIES = {
    "germany": "Europe/Berlin",
    "france": "Europe/Paris",
    "switzerland": "Europe/Zurich",
    "italy": "Europe/Rome",
    "spain": "Europe/Madrid",
    "england": "Europe/London",
    "scotland": "Europe/London",
    "united kingdom": "Europe/London",
    "japan": "Asia/Tokyo",
    "india": "Asia/Kolkata",
    "san francisco": "America/Los_Angeles",
    "boston": "America/New_York",
    "melbourne": "Australia/Melbourne",
    "munich": "Europe/Berlin",
    "geneva": "Europe/Zurich",
}
_WORDS = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
_IANA = re.compile(r"\b[A-Z][A-Za-z]+/[A-Za-z_]+(?:/[A-Za-z_]+)?\b")
_OFFSET = re.compile(r"\b(?:UTC|GMT)\s*([+\-−])\s*(\d{1,2})(?::?00)?\b", re.IGNORECASE)


@cache
def _cities() -> dict[str, str]:
    cities = {
        name.rsplit("/", 1)[1].replace("_", " ").lower(): name
        for name in sorted(available_timezones())
        if name.startswith(_AREAS)
    }
    return {city: name for city, name in cities.items() if city not in _NO_CITIES}


def find_time_zone(text: str) -> str:
    """Return the IANA name of the first time zone that `text` names, or nothing.

    An offset such as UTC+2 gives `Etc/GMT-2`: by convention, the sign there is reversed.
    """
    for match in _IANA.finditer(text):
        if match.group() in available_timezones():
            return match.group()
    if offset := _OFFSET.search(text):
        hours = int(offset[2])
        name = f"Etc/GMT{'-' if offset[1] == '+' else '+'}{hours}" if hours else "UTC"
        return name if name in available_timezones() else ""
    words = [word.lower() for word in _WORDS.findall(text)]
    for first in range(len(words)):
        for size in (3, 2, 1):
            name = " ".join(words[first : first + size])
            if zone := _ABBREVIATIONS.get(name) or _COUNTRIES.get(name) or _cities().get(name):
                return zone
    return ""


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS)

_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b({'|'.join(_DAYS)})\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"\b(?P<hour>\d{1,2})(?:[:.h](?P<minute>[0-5]\d))\s*(?P<half>[ap]\.?m\b)?"
    r"|\b(?P<hour2>\d{1,2})\s*(?P<half2>[ap]\.?m\b)"
    r"|\b(?:at|by|around)\s+(?P<hour3>\d{1,2})\b(?!:\d|\s*(?:mg|mcg|g|ml|units|%|[-/]))",
    re.IGNORECASE,
)
_EVENING = re.compile(r"\b(evening|afternoon|tonight|at night|p\.?m)\b", re.IGNORECASE)
_DAILY = re.compile(r"\b(every (?:single )?(?:day|morning|evening|night)|daily|each day)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpokenTime:
    """A moment as described in a message. `days` counts from today, `day` is a date or weekday as said."""

    clock: time | None = None
    days: int | None = None
    weekday: int | None = None
    day: tuple[int, int, int] | None = None
    daily: bool = False

    @property
    def has_day(self) -> bool:
        """Return whether a day was named or is not needed."""
        return self.daily or self.days is not None or self.weekday is not None or self.day is not None

    def merged(self, later: SpokenTime) -> SpokenTime:
        """Return a copy, updated with the details of `later`."""
        newer = later if later.has_day else self
        return SpokenTime(
            later.clock or self.clock, newer.days, newer.weekday, newer.day, self.daily or later.daily
        )

    def at(self, zone: ZoneInfo, now: datetime) -> datetime | None:
        """Return the next matching moment in that time zone; None if such a date does not exist."""
        assert self.clock is not None
        today = now.astimezone(zone).date()
        try:
            chosen = self._date(today)
        except ValueError:
            return None
        moment = datetime.combine(chosen, self.clock, zone)
        if moment <= now and not (self.day and self.day[0]) and self.days is None:
            moment = datetime.combine(
                chosen + timedelta(days=7 if self.weekday is not None else 1), self.clock, zone
            )
        return moment

    def _date(self, today: date) -> date:
        if self.day:
            year, month, day = self.day
            if year:
                return date(year, month, day)
            this_year = date(today.year, month, day)
            return this_year if this_year >= today else date(today.year + 1, month, day)
        if self.weekday is not None:
            return today + timedelta(days=(self.weekday - today.weekday()) % 7)
        return today + timedelta(days=self.days or 0)


def find_when(text: str) -> SpokenTime:
    """Return the day and time of day that `text` mentions."""
    lowered = text.lower()
    days = None
    if "day after tomorrow" in lowered:
        days = 2
    elif re.search(r"\btomorrow\b", lowered):
        days = 1
    elif re.search(r"\b(today|tonight|this (?:morning|afternoon|evening))\b", lowered):
        days = 0
    weekday = _WEEKDAY.search(lowered)
    return SpokenTime(
        clock=_clock(text),
        days=days,
        weekday=_DAYS.index(weekday[1].lower()) if weekday and days is None else None,
        day=_day(text),
        daily=bool(_DAILY.search(text)),
    )


def _day(text: str) -> tuple[int, int, int] | None:
    if match := _ISO_DATE.search(text):
        return int(match[1]), int(match[2]), int(match[3])
    if match := _DAY_MONTH.search(text):
        return 0, _month(match[2]), int(match[1])
    if match := _MONTH_DAY.search(text):
        return 0, _month(match[1]), int(match[2])
    return None


def _month(name: str) -> int:
    return next(n for n, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))


def _clock(text: str) -> time | None:
    text = _ISO_DATE.sub(" ", text)
    if re.search(r"\b(noon|midday)\b", text, re.IGNORECASE):
        return time(12)
    if re.search(r"\bmidnight\b", text, re.IGNORECASE):
        return time(0)
    match = _CLOCK.search(text)
    if not match:
        return None
    hour = int(match["hour"] or match["hour2"] or match["hour3"])
    half = (match["half"] or match["half2"] or "").lower()
    if (half.startswith("p") or (not half and _EVENING.search(text))) and hour < 12:
        hour += 12
    elif half.startswith("a") and hour == 12:
        hour = 0
    return time(hour, int(match["minute"] or 0)) if hour < 24 else None
