"""What a conversation has made known, each text read once: numbers, quantities, times; and which of a message's are new."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from bioeval_tui.evaluation.guards.specifics import (
    MAX_READ,
    NUMBER_WORDS,
    Specific,
    among,
    number_of,
    specifics,
)
from bioeval_tui.evaluation.guards.words import stems
from bioeval_tui.evaluation.seams import TranscriptMessage


class _Specifics:
    """The specifics of texts, as if the texts were lines of one."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[Specific]] = {}
        self._left = MAX_READ

    def read(self, text: str) -> list[Specific]:
        """Read a text, and return its specifics that no earlier one had."""
        new = []
        for one in specifics(text[: max(self._left, 0)]):
            like = self._by_key.setdefault(one.key, [])
            if one not in like:
                like.append(one)
                new.append(one)
        self._left -= len(text) + 1
        return new

    def like(self, one: Specific) -> list[Specific]:
        """Return those with the key of `one`: no other can be the same."""
        return self._by_key.get(one.key, [])


class Known:
    """The specifics of texts, and the stems of their words."""

    def __init__(self, *texts: str) -> None:
        self.stems: set[str] = set()
        self._specifics = _Specifics()
        for text in texts:
            self.read(text)

    def read(self, text: str) -> None:
        """Add a text."""
        self.stems |= stems(text)
        self._specifics.read(text)

    def take(self, message: TranscriptMessage) -> None:
        """Add a message."""
        self.read(message.content)

    def has(self, one: Specific) -> bool:
        """Return whether any text says the same."""
        return among(one, self._specifics.like(one))


SMALL = 12
"""Whole numbers up to this one are ordinary speech ("2 things", "at 8") and not inventions."""
IN_NAMES = 100
"""Smaller numbers behind a letter belong to a name, such as those of B12 and COVID-19."""

_NUMBER = re.compile(r"(?P<behind>[^\W\d_]-?)?(?P<number>\d+(?:[.,]\d+)*)")
_CLOCK_TIME = re.compile(
    r"(?<!\d)(?P<hour>\d{1,2})(?:[:.]\d\d(?!\d)|\s?(?:[ap]\.?m\b|uhr\b|h\b|o['’]clock))", re.IGNORECASE
)
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_LARGE = "|".join(word for word, value in NUMBER_WORDS.items() if value > SMALL)
_ONES = "|".join(word for word, value in NUMBER_WORDS.items() if 0 < value < 10)
_IN_WORDS = re.compile(rf"\b(?:{_LARGE})(?:[-\s](?:{_ONES}))?\b", re.IGNORECASE)
_HOURS = {"minute": 1 / 60, "hour": 1.0, "day": 24.0, "week": 168.0, "month": 730.5, "year": 8766.0}
SAME_TIME = 0.1
"""Two lengths of time in different units are the same if they differ by at most this share: 6 weeks, 45 days."""
_LIST_NUMBER = re.compile(
    r"^[^\w\n]{0,4}\d{1,2}[.):]|\b[A-Z][a-z]{1,20} \d{1,2}\b(?=[^\w\n]{0,3}(?::|$))", re.MULTILINE
)
"""The number of a list's item, "2. Reservation ID: XAZ3C0" or "Flight 2:", which is no quantity."""


class KnownNumbers:
    """The numbers, quantities and clock times of texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.numbers: set[float] = set()
        """The values that a number in the texts may have."""
        self._specifics, self._outside_lists = _Specifics(), _Specifics()
        self._last: dict[str, float] = {}
        self._derived: dict[str, set[float]] = {}
        self._hours: dict[str, set[float]] = {}
        for text in texts:
            self.read(text)

    def read(self, text: str) -> None:
        """Add a text."""
        self.numbers.update(_values_in(text))
        self._specifics.read(text)
        for one in self._outside_lists.read(_LIST_NUMBER.sub("", text)):
            if one.kind == "quantity" and one.key[:1].isdigit():
                self._measure(one.unit, float(one.key))

    def _measure(self, unit: str, value: float) -> None:
        if unit in self._last:
            before = self._last[unit]
            self._derived.setdefault(unit, set()).update((before + value, abs(before - value)))
        self._last[unit] = value
        if unit in _HOURS:
            self._hours.setdefault(unit, set()).add(value * _HOURS[unit])

    def take(self, message: TranscriptMessage) -> None:
        """Add a message."""
        self.read(message.content)

    def has_time(self, one: Specific) -> bool:
        """Return whether any text says a clock time, or says it without the half of the day."""
        return any(is_same_time(one, other) for other in self._specifics.like(one))

    def has_quantity(self, one: Specific) -> bool:
        """Return whether any text says a quantity, as it is or in other words.

        "72 hours" is known from "3 days", and the sum or difference of two neighbouring lengths of time of one unit is
        known, too: four days ago, and two days later.
        """
        if among(one, self._outside_lists.like(one)):
            return True
        value, scale = float(one.key), _HOURS.get(one.unit)
        if scale is None:
            return False
        if value in self._derived.get(one.unit, ()):
            return True
        others = (hours for unit, many in self._hours.items() if unit != one.unit for hours in many)
        return any(abs(value * scale - hours) <= SAME_TIME * hours for hours in others)


Told = Callable[[], KnownNumbers]
"""Returns what is known; called only if a message has something to compare with it."""


def made_up_numbers(text: str, known: Told) -> list[str]:
    """Return the numbers of `text`, as written there, that are not known.

    These count as equal: `8:15 pm` and `20:15`, a decimal and its rounded value, an English word and its digits.
    Numbers written in words never count as made up.
    """
    numbers = []
    for match in _NUMBER.finditer(text):
        values = _values(match["number"])
        if all(value.is_integer() and value <= (IN_NAMES if match["behind"] else SMALL) for value in values):
            continue
        told = known().numbers
        parts = {float(part[:300]) for part in re.split(r"[.,]", match["number"])}
        if told.isdisjoint(values) and not (len(parts) > 1 and parts <= told):  # `8.15` is `8:15`
            numbers.append(match["number"])
    return numbers


def unknown_quantities(text: str, known: Told) -> tuple[list[Specific], list[Specific]]:
    """Return the quantities with a unit ("5 days", "20 mg") that are not known, and those that are, perhaps in other words.

    `time` is no unit here: "three times" is seldom told as a fact.
    """
    measured = (one for one in specifics(text) if one.kind == "quantity" and one.unit not in ("", "time"))
    ours = [one for one in measured if one.key.replace(".", "", 1).isdigit() and one.key not in ("0", "1")]
    unknown = [one for one in ours if not known().has_quantity(one)]
    return unknown, [one for one in ours if one not in unknown]


def unknown_times(text: str, known: Told) -> list[str]:
    """Return the clock times of `text`, as written there, that are not known, or only in the other half of the day."""
    return [one.shown for one in clock_times(text) if not known().has_time(one)]


def clock_times(text: str) -> list[Specific]:
    """Return the clock times of `text` that are written with digits."""
    return [one for one in specifics(text) if one.kind == "time" and re.search(r"\d", one.shown)]


def is_same_time(one: Specific, other: Specific) -> bool:
    """Return whether two clock times may be the same: at 8, or at 8 pm."""
    return one.same_as(other) and (not one.unit or not other.unit or one.unit == other.unit)


def _values(number: str) -> set[float]:
    """Return the possible values of a number: of `1,000` one thousand or one, of `3.4.2027` its three parts."""
    if number.isdecimal():
        return {float(number[:300])}
    parts = re.split(r"[.,]", number)
    values = {float("".join(parts)[:300])} if _THOUSANDS.fullmatch(number) else set()
    if len(parts) == 2:
        return values | {float(f"{parts[0][:300]}.{parts[1][:300]}")}
    return values or {float(part[:300]) for part in parts}


def _values_in(text: str) -> Iterator[float]:
    for number in {match["number"] for match in _NUMBER.finditer(text)}:
        for value in _values(number):
            yield value
            yield float(round(value))
        yield from (float(part[:300]) for part in re.split(r"[.,]", number))
    for match in _CLOCK_TIME.finditer(text):
        hour = float(match["hour"])
        yield hour + 12 if hour <= 12 else hour - 12
    for match in _IN_WORDS.finditer(text):
        yield number_of(match.group())
