"""One specific of a text, in a form that can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["time", "date", "quantity", "name", "code", "word"]


@dataclass(frozen=True, slots=True)
class Specific:
    """One specific. `key` is its comparable form, `unit` a quantity's unit, `shown` how it is written."""

    kind: Kind
    key: str
    shown: str
    unit: str = ""

    def same_as(self, other: Specific) -> bool:
        """Return whether both mean the same. A quantity without unit may be any quantity of that size."""
        if self.key != other.key:
            return False
        if self.kind == other.kind == "quantity":
            return not self.unit or not other.unit or self.unit == other.unit
        return (self.kind == "quantity") == (other.kind == "quantity")

    @property
    def strong(self) -> bool:
        """Whether it is unlikely to occur by chance."""
        return self.kind != "word"


def among(one: Specific, others: Iterable[Specific]) -> bool:
    """Return whether `one` is the same as any of `others`."""
    return any(one.same_as(other) for other in others)


Reader = tuple[re.Pattern[str], Callable[[re.Match[str]], Iterable[Specific]]]
"""A pattern, and a function that converts its match."""

_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = {word: value for value, word in enumerate(_TO_NINETEEN.split())} | {
    word: 10 * tens for tens, word in enumerate(_TENS.split(), start=2)
}


def number_of(text: str) -> float:
    """Return the value of `1,000`, `2.5`, `five` or `twenty-five`."""
    parts = re.split(r"[-\s]+", text.lower().replace(",", ""))
    return sum(NUMBER_WORDS[part] if part in NUMBER_WORDS else float(part) for part in parts)


def pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case."""
    return re.compile(text, re.IGNORECASE)
