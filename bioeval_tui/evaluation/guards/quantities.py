"""Numbers with and without their units."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bioeval_tui.evaluation.guards.specific import NUMBER_WORDS, Reader, Specific, number_of, pattern

_UNITS = {
    "mg": "mg milligram milligrams milligramme milligrammes",
    "µg": "µg μg mcg ug microgram micrograms",
    "g": "g gram grams gramme grammes",
    "kg": "kg kilo kilos kilogram kilograms",
    "ml": "ml millilitre millilitres milliliter milliliters",
    "l": "litre litres liter liters",
    "%": "% percent",
    "cm": "cm centimetre centimetres centimeter centimeters",
    "mm": "mm mmhg",
    "iu": "iu units unit",
    "year": "year years yr yrs year-old years-old",
    "month": "month months",
    "week": "week weeks",
    "day": "day days",
    "hour": "hour hours hr hrs h",
    "minute": "minute minutes min mins",
    "second": "second seconds sec secs",
    "dose": "tablet tablets pill pills capsule capsules puff puffs drop drops",
    "time": "times",
    "people": "people patients participants subjects samples cells",
    "money": "€ $ £ euro euros dollar dollars pounds",
}
_UNIT_OF = {spelled: unit for unit, spellings in _UNITS.items() for spelled in spellings.split()}
_UNIT = "|".join(re.escape(spelled) for spelled in sorted(_UNIT_OF, key=len, reverse=True))
_TENS = "|".join(word for word in NUMBER_WORDS if word.endswith("ty"))
_SMALL = "|".join(word for word in NUMBER_WORDS if not word.endswith("ty"))
_LOOSE = ("zero", "one")


def _quantity(match: re.Match[str]) -> Iterator[Specific]:
    unit = _UNIT_OF.get((match["unit"] or match["before"] or "").lower(), "")
    number = match["number"]
    if unit or number.lower() not in _LOOSE:  # "a good one" is no quantity
        yield Specific("quantity", f"{number_of(number):g}", match.group().strip(), unit)


def _decade(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("quantity", match.group().lower(), match.group(), "year")


READERS: tuple[Reader, ...] = (
    (pattern(r"\b(?:twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)\b"), _decade),
    (
        pattern(
            rf"(?P<before>[€$£])?(?<![\w.])(?P<number>\d[\d,]*(?:\.\d+)?"
            rf"|\b(?:{_TENS})(?:[-\s](?:{_SMALL}))?\b|\b(?:{_SMALL})\b)(?:[-\s]?(?P<unit>{_UNIT}))?(?!\w)"
        ),
        _quantity,
    ),
)
