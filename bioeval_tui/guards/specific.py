"""One specific of a text, in a form that can be compared with another text's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["time", "date", "quantity", "name", "code", "word"]


@dataclass(frozen=True, slots=True)
class Specific:
    """One specific.

    `key` is its comparable form, `unit` a quantity's unit or a clock time's half of the day ("am",
    "pm", "" if it is not said), `shown` how it is written.
    """

    kind: Kind
    key: str
    shown: str
    unit: str = ""

    def same_as(self, other: Specific) -> bool:
        """Return whether both mean the same.

        A quantity without unit may be any quantity of that size.
        """
        if self.key != other.key:
            return False
        if self.kind == other.kind == "quantity":
            return not self.unit or not other.unit or self.unit == other.unit
        return (self.kind == "quantity") == (other.kind == "quantity")

    @property
    def strong(self) -> bool:
        """Whether it is unlikely to occur by chance."""
        return self.kind != "word"


def unit_words(units: Mapping[str, str]) -> dict[str, str]:
    """Return the unit for which each word of a table of units stands; in a word `_` is a space."""
    found = {}
    for unit, words in units.items():
        for word in words.split():
            found[word.replace("_", " ")] = unit
    return found


def among(one: Specific, others: Iterable[Specific]) -> bool:
    """Return whether `one` is the same as any of `others`."""
    return any(one.same_as(other) for other in others)


def clock_time(hour: int, minute: int, half: str, shown: str) -> Specific:
    """Return a clock time; `half` is the half of the day as it is said, `am`, `pm` or empty.

    People often say a time without its half, so the half is no part of the key.
    """
    # 12 o'clock may be noon or midnight; only a later hour is said in one half alone.
    if not half and 12 < hour < 24:
        half = "pm"
    return Specific("time", f"{hour % 12}:{minute:02}", shown.strip(), half)
