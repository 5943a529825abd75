"""Numbers that a message invents, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bioeval_tui.evaluation.guards.specific import NUMBER_WORDS, number_of

SMALL = 12
"""Whole numbers up to this one are ordinary speech ("2 things", "at 8") and not inventions."""
IN_NAMES = 100
"""Smaller numbers behind a letter belong to a name, such as those of B12 and COVID-19."""

_NUMBER = re.compile(r"(?P<behind>[^\W\d_]-?)?(?P<number>\d+(?:[.,]\d+)*)")
_HOUR = re.compile(
    r"(?<!\d)(?P<hour>\d{1,2})(?:[:.]\d\d(?!\d)|\s?(?:[ap]\.?m\b|uhr\b|h\b|o['’]clock))", re.IGNORECASE
)
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_LARGE = "|".join(word for word, value in NUMBER_WORDS.items() if value > SMALL)
_UNITS = "|".join(word for word, value in NUMBER_WORDS.items() if 0 < value < 10)
_IN_WORDS = re.compile(rf"\b(?:{_LARGE})(?:[-\s](?:{_UNITS}))?\b", re.IGNORECASE)


def made_up_numbers(text: str, known: str) -> list[str]:
    """Return the numbers of `text`, as written there, that are not in `known`.

    These count as equal: `8:15 pm` and `20:15`, a decimal and its rounded value, an English word and its digits.
    Numbers written in words never count as made up.
    """
    told: frozenset[float] | None = None
    found = []
    for match in _NUMBER.finditer(text):
        values = _values(match["number"])
        if all(value.is_integer() and value <= (IN_NAMES if match["behind"] else SMALL) for value in values):
            continue
        if told is None:
            told = frozenset(_told(known))
        parts = {float(part[:300]) for part in re.split(r"[.,]", match["number"])}
        if told.isdisjoint(values) and not (len(parts) > 1 and parts <= told):  # `8.15` is `8:15`
            found.append(match["number"])
    return found


def _values(number: str) -> set[float]:
    """Return the possible values of a number: of `1,000` one thousand or one, of `3.4.2027` its three parts."""
    if number.isdecimal():
        return {float(number[:300])}
    parts = re.split(r"[.,]", number)
    values = {float("".join(parts)[:300])} if _THOUSANDS.fullmatch(number) else set()
    if len(parts) == 2:
        return values | {float(f"{parts[0][:300]}.{parts[1][:300]}")}
    return values or {float(part[:300]) for part in parts}


def _told(text: str) -> Iterator[float]:
    for number in {match["number"] for match in _NUMBER.finditer(text)}:
        for value in _values(number):
            yield value
            yield float(round(value))
        yield from (float(part[:300]) for part in re.split(r"[.,]", number))
    for match in _HOUR.finditer(text):
        hour = float(match["hour"])
        yield hour + 12 if hour <= 12 else hour - 12
    for match in _IN_WORDS.finditer(text):
        yield number_of(match.group())
