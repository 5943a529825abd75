"""The specifics of a text in a language other than English, by the tables of that language.

`specifics.py` has those of English, and asks here for the others. A line is read in this order:
numbers in words become digits behind a mark; then each reader takes what it knows out of the line
(dates and clock times before bare numbers), so that no later one reads it again; of the words that
are left, those that are not common may identify a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any

import regex

from bioeval_tui.guards.specific import Specific, clock_time, unit_words
from bioeval_tui.languages import Language, folded
from bioeval_tui.languages.numerals import numbered

SHORTEST_WORD = 3
"""Shorter words identify nothing."""
LARGEST_LOOSE = 12
"""A number in words up to this one, without a unit, may be another word: `un`, `neuf`, `once`,
`acht`.
"""
HOURS, MINUTES = 24, 60

_Match = Any  # regex has no types
_Reader = tuple[Any, Callable[[_Match], Iterable[Specific]]]

_BEFORE, _AFTER = r"(?<![\p{L}\p{M}\p{N}])", r"(?![\p{L}\p{M}\p{N}])"
_DIGITS = r"\d+(?:[.,]\d+)*"
IN_WORDS = "\ue000"
"""Stands before the digits of a number that was written in words, so that one table of number words
serves all patterns.
"""
# What all languages write in the same way; their words are in their own tables.
_GROUPED = regex.compile(r"\d{1,3}(?:[.,]\d{3})+")
_ISO = regex.compile(r"(?<![\d-])\d{4}[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?![\d-])")
_DAY_FIRST = regex.compile(
    r"(?<![\d.])(?P<day>\d{1,2})[./](?P<month>\d{1,2})[./](?:\d{4}|\d\d)(?!\d)"
)
_CLOCK_IN_DIGITS = (
    r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::\d\d)?",
    r"(?P<h>\d{1,2})\.(?P<m>\d\d)(?= ?uhr)",
)
_ZONE = regex.compile(r"\b[A-Z][A-Za-z]+/(?:[A-Z][A-Za-z]+/)?(?P<place>[A-Z][A-Za-z_]+)\b")
_CODE = regex.compile(
    r"(?<![\p{L}\p{N}])(?=[a-z0-9.:>*_-]*\d)(?=[a-z0-9.:>*_-]*[a-z])[a-z0-9][a-z0-9.:>*_-]*"
)
_CAPITAL = regex.compile(r"(?<=[\p{Ll}\p{N},;] )\p{Lu}[\p{L}\p{M}'’-]+")


def foreign_specifics(text: str, language: Language) -> tuple[Specific, ...]:
    """Return the specifics of `text`, each once. None extends beyond the end of a line."""
    lines = (line for line in text.split("\n") if line.strip())
    found = (_line_specifics(line, language) for line in lines)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def number_values(text: str, language: Language) -> Iterator[float]:
    """Yield the values of the numbers in words of a text in `language`."""
    for match in regex.finditer(f"{IN_WORDS}({_DIGITS})", _patterns(language).marked(folded(text))):
        yield float(match[1])


# Several guards read the same message, and facts are compared with every one.
@lru_cache(maxsize=1024)
def _line_specifics(line: str, language: Language) -> tuple[Specific, ...]:
    specifics = [
        Specific("name", language.stem(folded(zone["place"])), zone.group())
        for zone in _ZONE.finditer(line)
    ]
    rest = _patterns(language).marked(folded(line))
    for reader in _patterns(language).readers:
        rest = _take_out(reader, rest, specifics)
    names = frozenset(
        folded(name.group()) for name in _CAPITAL.finditer(line) if language.told.capitals
    )
    return (*specifics, *_patterns(language).words(rest, names))


def _take_out(reader: _Reader, text: str, specifics: list[Specific]) -> str:
    """Move a reader's matches from `text` to `specifics`, leaving a gap."""
    pattern, read = reader

    def replace(match: _Match) -> str:
        given = list(read(match))
        specifics.extend(given)
        return " , " if given else match.group()

    return str(pattern.sub(replace, text))


@cache
def _patterns(language: Language) -> _LanguagePatterns:
    return _LanguagePatterns(language)


class _LanguagePatterns:
    """The patterns of a language, and what they read.

    A reader is a pattern, with the function that makes specifics of its matches.
    """

    def __init__(self, language: Language) -> None:
        rules = language.told
        self._language = language
        self._spaced = rules.spaced
        stems = map(language.stem, language.common)
        self._common_stems = frozenset(stem for stem in stems if len(stem) > SHORTEST_WORD)
        self._numbers = {folded(word): value for word, value in rules.numbers.items()}
        self._units = {folded(word): unit for word, unit in unit_words(rules.units).items()}
        self._number = regex.compile(self._as_whole_words(_alternatives(self._numbers)))
        self._afternoon = frozenset(map(self.marked, _split_phrases(rules.pm)))
        self._parts = _alternatives([*map(self.marked, _split_phrases(rules.am)), *self._afternoon])
        self.readers: tuple[_Reader, ...] = (
            (_ISO, _read_date),
            *self._date_readers(rules.months),
            *self._clock_readers(rules.clock),
            (_DAY_FIRST, _read_date),
            *self._weekday_readers(rules.weekdays),
            *self._quantity_readers(),
            (_CODE, _read_code),
        )

    def marked(self, text: str) -> str:
        """Return a folded text with its numbers in words as digits behind a mark."""
        return str(self._number.sub(lambda word: f"{IN_WORDS}{self._numbers[word.group()]}", text))

    def value(self, number: str) -> float:
        """Return the value of a number in digits with a decimal point or comma."""
        number = number.removeprefix(IN_WORDS)
        if _GROUPED.fullmatch(number):
            return float(number.replace(".", "").replace(",", "")[:300])
        whole, _, decimals = number.replace(",", ".").partition(".")
        return float(f"{whole[:300]}.{decimals.replace('.', '')[:300] or 0}")

    # Dates and times

    def _date_readers(self, months: str) -> Iterator[_Reader]:
        names = self._numbered_names(months)
        month, day = f"(?P<name>{_alternatives(names)})", rf"{IN_WORDS}?\d{{1,2}}"

        def read(match: _Match) -> Iterator[Specific]:
            said, number = match.groupdict(), names[match["name"]]
            if said.get("day") is not None:
                yield Specific(
                    "date", f"{self.value(match['day']):g}-{number}", match.group().strip()
                )
            else:
                yield Specific("date", f"month {number}", match.group().strip())

        if self._spaced:
            yield (
                regex.compile(
                    self._as_whole_words(rf"(?P<day>{day})(?:\.|er|º|ª)? ?(?:de |)?{month}")
                ),
                read,
            )
            yield regex.compile(self._as_whole_words(rf"{month}")), read
        else:
            yield regex.compile(rf"{month}(?P<day>{day})[日号號]?"), read
            yield regex.compile(rf"{month}(?=[份,。 ]|$)"), read

    def _weekday_readers(self, weekdays: str) -> Iterator[_Reader]:
        names = self._numbered_names(weekdays)

        def read(match: _Match) -> Iterator[Specific]:
            yield Specific("date", f"weekday {names[match.group()]}", match.group().strip())

        yield regex.compile(self._as_whole_words(_alternatives(names))), read

    def _numbered_names(self, names: str) -> dict[str, int]:
        """Return the numbers of months or days, by all their names."""
        return {self.marked(folded(name)): place + 1 for name, place in numbered(names).items()}

    def _clock_readers(self, clock: Iterable[tuple[str, int | None]]) -> Iterator[_Reader]:
        number = rf"{IN_WORDS}?\d{{1,2}}"
        spoken = [
            (
                self.marked(_folded_pattern(said))
                .replace("{h}", f"(?P<h>{number})")
                .replace("{n}", number),
                minutes,
            )
            for said, minutes in clock
        ]
        for said, minutes in [*((said, None) for said in _CLOCK_IN_DIGITS), *spoken]:
            whole = (
                rf"(?:(?P<before>{self._parts})[ ,]*)?(?:{said})(?:[ ,]*(?P<after>{self._parts}))?"
            )
            yield (
                regex.compile(self._as_whole_words(whole)),
                partial(self._read_time, minutes=minutes),
            )

    def _read_time(self, match: _Match, minutes: int | None) -> Iterator[Specific]:
        said = match.groupdict()
        hour, minute = int(self.value(match["h"])), minutes or 0
        if said.get("m") is not None:
            spoken = int(self.value(match["m"]))
            minute = spoken if minutes is None else -spoken
        if minute < 0:
            hour, minute = hour - 1, minute + MINUTES
        half = ""
        if part := said["before"] or said["after"]:
            half = "pm" if part in self._afternoon else "am"
        if hour <= HOURS and minute < MINUTES:
            yield clock_time(hour, minute, half, match.group().strip())

    # Quantities

    def _quantity_readers(self) -> Iterator[_Reader]:
        duals = [word for word, unit in self._units.items() if unit[:1].isdigit()]
        if duals:
            yield regex.compile(self._as_whole_words(_alternatives(duals))), self._read_dual
        units = _alternatives(set(self._units) - set(duals))
        # "5mg" and "三个月" have no space; "fünfjährig" is one word.
        unit = rf"(?P<unit>{units})"
        if self._spaced:
            number = rf"(?<![\p{{L}}\p{{M}}\d.,])(?P<number>{IN_WORDS}?{_DIGITS})"
            yield regex.compile(rf"{number}[ -]?{unit}{_AFTER}"), self._read_quantity
            yield regex.compile(rf"{number}{_AFTER}"), self._read_quantity
        else:
            number = rf"(?<![\d.,a-z])(?P<number>{IN_WORDS}?{_DIGITS})"
            yield regex.compile(rf"{number} ?{unit}"), self._read_quantity
            yield (
                regex.compile(rf"(?<![\d.,a-z])(?P<number>{_DIGITS})(?![a-z])"),
                self._read_quantity,
            )

    def _read_quantity(self, match: _Match) -> Iterator[Specific]:
        said = match.groupdict().get("unit")
        value = self.value(match["number"])
        in_words = match["number"].startswith(IN_WORDS)
        if said is not None or not in_words or value > LARGEST_LOOSE:
            yield Specific(
                "quantity", f"{value:g}", match.group().strip(), self._units[said] if said else ""
            )

    def _read_dual(self, match: _Match) -> Iterator[Specific]:
        number, _, unit = self._units[match.group()].partition(" ")
        yield Specific("quantity", number, match.group().strip(), unit)

    # Words

    def words(self, text: str, names: frozenset[str]) -> Iterator[Specific]:
        """Yield the words that may identify a fact."""
        for key, word in self._language.marked_keys(text):
            if word in names and word not in self._language.common:
                yield Specific("name", key, word)
            elif not self._is_common(key, word):
                yield Specific("word", key, word)

    def _is_common(self, key: str, word: str) -> bool:
        if not self._spaced and not word.isascii():
            return False  # what is common was left out of the pairs
        return (
            len(word) < SHORTEST_WORD or word in self._language.common or key in self._common_stems
        )

    def _as_whole_words(self, pattern: str) -> str:
        if self._spaced:
            return rf"{_BEFORE}(?:{pattern}){_AFTER}"
        return rf"(?:{pattern})"


def _read_date(match: _Match) -> Iterator[Specific]:
    yield Specific("date", f"{int(match['day'])}-{int(match['month'])}", match.group().strip())


def _read_code(match: _Match) -> Iterator[Specific]:
    code = match.group().strip(".,:;-_*>")
    yield Specific("code", code, code)


def _split_phrases(words: str) -> list[str]:
    """Return words with spaces between them, of which `_` is a space, folded."""
    return [folded(word.replace("_", " ")) for word in words.split()]


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(regex.escape(word) for word in sorted(set(words), key=len, reverse=True))


def _folded_pattern(pattern: str) -> str:
    return "".join(
        part if part.isascii() else folded(part) for part in regex.findall(r"\\.|.", pattern)
    )
