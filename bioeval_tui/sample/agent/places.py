"""Time zones as people name them: IANA names, cities, a few countries and abbreviations, offsets."""

from __future__ import annotations

import re
from functools import cache
from zoneinfo import available_timezones

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
    found = {
        name.rsplit("/", 1)[1].replace("_", " ").lower(): name
        for name in sorted(available_timezones())
        if name.startswith(_AREAS)
    }
    return {city: name for city, name in found.items() if city not in _NO_CITIES}


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
            if found := _ABBREVIATIONS.get(name) or _COUNTRIES.get(name) or _cities().get(name):
                return found
    return ""
