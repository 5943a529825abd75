"""The specifics of a text (numbers, quantities, times, dates, names, codes and rare words) in a
form that can be compared, and what a conversation has made known of them, each text read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain

from bioeval_tui.base.text import reading_form
from bioeval_tui.guards.common import WORD, is_common, is_english, stem, stems, word_set
from bioeval_tui.guards.foreign import IN_WORDS, foreign_specifics, number_values
from bioeval_tui.guards.specific import Specific, among, clock_time, unit_words
from bioeval_tui.languages import Language
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.peers.seams import TranscriptMessage

Reader = tuple[re.Pattern[str], Callable[[re.Match[str]], Iterable[Specific]]]
"""A pattern, and a function that converts its match."""

_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = {word: value for value, word in enumerate(_TO_NINETEEN.split())} | {
    word: 10 * tens for tens, word in enumerate(_TENS.split(), start=2)
}


def spoken_number(text: str) -> float:
    """Return the value of `1,000`, `2.5`, `five` or `twenty-five`."""
    parts = re.split(r"[-\s]+", text.lower().replace(",", ""))
    return sum(NUMBER_WORDS[part] if part in NUMBER_WORDS else float(part) for part in parts)


def pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case."""
    return re.compile(text, re.IGNORECASE)


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
    "people": "people patients participants subjects samples cells passenger passengers",
    "bag": "bag bags suitcase suitcases",
    "pack": "pack packs packet packets",
    "drink": "drink drinks beer beers glass glasses",
    "cigarette": "cigarette cigarettes",
    "money": "€ $ £ euro euros dollar dollars pounds",
}
_UNIT_OF = unit_words(_UNITS)
_UNIT = "|".join(re.escape(spelled) for spelled in sorted(_UNIT_OF, key=len, reverse=True))
_TEN_WORDS = "|".join(word for word in NUMBER_WORDS if word.endswith("ty"))
_SMALL = "|".join(word for word in NUMBER_WORDS if not word.endswith("ty"))
_LOOSE = ("zero", "one")


def _quantity(match: re.Match[str]) -> Iterator[Specific]:
    unit = _UNIT_OF.get((match["unit"] or match["before"] or "").lower(), "")
    number = match["number"]
    if unit or number.lower() not in _LOOSE:  # "a good one" is no quantity
        yield Specific("quantity", f"{spoken_number(number):g}", match.group().strip(), unit)


def _decade(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("quantity", match.group().lower(), match.group(), "year")


QUANTITY_READERS: tuple[Reader, ...] = (
    (
        pattern(r"\b(?:twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)\b"),
        _decade,
    ),
    (
        pattern(
            r"(?P<before>[€$£])?(?<![\w.])(?P<number>\d[\d,]*(?:\.\d+)?"
            rf"|\b(?:{_TEN_WORDS})(?:[-\s](?:{_SMALL}))?\b"
            rf"|\b(?:{_SMALL})\b)(?:[-\s]?(?P<unit>{_UNIT}))?(?!\w)"
        ),
        _quantity,
    ),
)


_HOUR = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|1[0-2]|[1-9]"
_MINUTES = {"quarter past": 15, "half past": 30, "quarter to": 45}
_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
]  # fmt: skip
_MONTH = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)
_ORDINALS = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
]  # fmt: skip
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
    hour = int(spoken_number(match["hour"]))
    if minute == 45:  # "quarter to eight"
        hour -= 1
    yield _time(hour, minute, match.group())


def _hour(match: re.Match[str]) -> Iterator[Specific]:
    yield _time(int(spoken_number(match["hour"])), 0, match.group())


def _named(match: re.Match[str]) -> Iterator[Specific]:
    hour = 0 if match.group().lower() == "midnight" else 12
    yield _time(hour, 0, match.group())


def _time(hour: int, minute: int, shown: str) -> Specific:
    said = re.search(r"([ap])\.?m\b|noon|midnight", shown, re.IGNORECASE)
    half = ""
    if said:
        half = "pm" if (said[1] or said.group()).lower() in ("p", "noon") else "am"
    return clock_time(hour, minute, half, shown)


def _iso(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("date", f"{int(match['day'])}-{int(match['month'])}", match.group())


def _date(match: re.Match[str]) -> Iterator[Specific]:
    month = next(
        i for i, name in enumerate(_MONTHS, 1) if name.startswith(match["month"].lower()[:3])
    )
    day = match["day"].lower()
    number = _ORDINALS.index(day) + 1 if day in _ORDINALS else int(re.sub(r"\D", "", day))
    yield Specific("date", f"{number}-{month}", match.group().strip())


def _month(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("date", match["month"].lower(), match["month"])


def _part_of_day(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific(
        "time", f"{PART_OF_DAY}{(match['part'] or match['meal']).lower()}", match.group()
    )


def _weekday(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("date", match.group().lower().removesuffix("s"), match.group())


def _tomorrow(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("date", "tomorrow", match.group())


TIME_READERS: tuple[Reader, ...] = (
    (pattern(r"\b\d{4}-(?P<month>\d{1,2})-(?P<day>\d{1,2})\b"), _iso),
    (pattern(r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s?(?:[ap]m\b|[ap]\.m\.)"), _clock),
    (pattern(r"\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?\b"), _clock),
    (
        pattern(rf"\b(?P<part>quarter\s+past|half\s+past|quarter\s+to)\s+(?P<hour>{_HOUR})\b"),
        _spoken,
    ),
    (
        pattern(
            rf"\b(?P<hour>{_HOUR})\s?(?:o'clock\b|in the (?:morning|afternoon|evening)\b|at"
            r" night\b|[ap]m\b)"
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
            rf"\b(?P<month>{_MONTH})\.?\s+(?:the\s+)?"
            rf"(?P<day>{_DAY}|{'|'.join(_ORDINALS)})\b(?:,?\s+\d{{4}})?"
        ),
        _date,
    ),
    (
        re.compile(
            r"\b(?:in|since|until|by|of|last|next|this)\s+"
            rf"(?P<month>{'|'.join(month.title() for month in _MONTHS)})\b"
        ),
        _month,
    ),
    (pattern(rf"\b(?:{_WEEKDAYS})s?\b"), _weekday),
    (
        pattern(
            r"\b(?:for|from|on|by) tomorrow\b|\btomorrow (?:morning|afternoon|evening|night|at)\b"
        ),
        _tomorrow,
    ),
)
"""In the order in which they must be tried: the most specific first."""


MAX_READ = 500_000
"""Maximum number of characters read of one text."""
MAX_LINE = 10_000
"""Maximum number of characters read of one line."""

_DRUGS = word_set("""
    aspirin warfarin paracetamol acetaminophen tylenol insulin heparin digoxin lithium morphine
    codeine tramadol prednisone prednisolone levothyroxine amiodarone clopidogrel methotrexate
    tamoxifen cisplatin advil aleve viagra sildenafil ventolin salbutamol albuterol gabapentin
    quinine caffeine melatonin nicotine ketamine
    """)
_DRUG = re.compile(
    r"\w{3,}(?:mab|nib|pril|sartan|statin|olol|cillin|mycin|cycline|floxacin|azole|profen|oxetine"
    r"|opram|azepam|zolam|parin|xaban|gatran|gliptin|gliflozin|glutide|formin|platin|taxel|rubicin"
    r"|dipine|thiazide|semide)",
    re.IGNORECASE,
)
_NOT_NAMES = word_set("""
    i ok okay hi hello hey thanks thank mr mrs ms dr a am pm tv id api ai llm json csv pdf faq asap
    btw fyi lol ps oh yo dear sir madam god internet english swiss german french italian spanish
    british american european dutch austrian usa english socrates
    """)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;•\n\"“”(*-])\s*$")


def specifics(text: str, language: Language = ENGLISH) -> tuple[Specific, ...]:
    """Return the specifics of `text`, each once, as `language` writes them.

    None extends beyond the end of a line.
    """
    text = reading_form(text[:MAX_READ])
    if language.rules is not None:
        return foreign_specifics(text, language)
    lines = text.replace("’", "'").split("\n")
    found = (_line_specifics(line[:MAX_LINE]) for line in lines if line.strip())
    return tuple(dict.fromkeys(chain.from_iterable(found)))


# Several guards read the same message, and facts are compared with every one.
@lru_cache(maxsize=1024)
def _line_specifics(line: str) -> tuple[Specific, ...]:
    specifics: list[Specific] = []
    has_digit = _DIGIT.search(line) is not None
    for reader in _READERS:
        if has_digit or reader[1] not in _OF_DIGITS:
            line = _take(reader, line, specifics)
    return (*specifics, *_names_and_words(line))


@lru_cache(maxsize=16384)  # most words are said again
def is_drug(word: str) -> bool:
    """Return whether a word is the name of a drug, by a short list and by the endings of drug
    names.
    """
    return word.lower() in _DRUGS or _DRUG.fullmatch(word) is not None


def _take(reader: Reader, text: str, specifics: list[Specific]) -> str:
    """Move a reader's matches from `text` to `specifics`, leaving a gap that does not end a
    sentence.
    """
    pattern, read = reader

    def replace(match: re.Match[str]) -> str:
        given = list(read(match))
        specifics.extend(given)
        if given:
            return " , "
        return match.group()

    return pattern.sub(replace, text)


def _zone(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("name", stem(match["place"].replace("_", " ").split()[-1]), match.group())


def _code(match: re.Match[str]) -> Iterator[Specific]:
    code = match.group().strip(".,:;-_*>")
    if _DIGIT.search(code) and re.search(r"[A-Za-z]", code):
        yield Specific("code", code.lower(), code)


_READERS: tuple[Reader, ...] = (
    (re.compile(r"\b[A-Z][A-Za-z]+/(?:[A-Z][A-Za-z]+/)?(?P<place>[A-Z][A-Za-z_]+)\b"), _zone),
    *TIME_READERS,
    *QUANTITY_READERS,
    (re.compile(r"\b[A-Za-z][\w.:>*-]*"), _code),
    (re.compile(r"\b\d[\w.:>*-]*"), _code),
)
_DIGIT = re.compile(r"\d")
_OF_DIGITS = (_iso, _clock, _code)
"""What reads only what has a digit, so that nothing need be looked for in a line without one."""


def _names_and_words(text: str) -> Iterator[Specific]:
    # elsewhere a capitalised word may not be a name: German capitalises every noun
    english = is_english(text)
    for match in WORD.finditer(text):
        word = match.group()
        key = stem(word)
        plain = word.lower()
        if is_drug(word):
            yield Specific("name", key, word)
        elif (
            len(word) > 1 and word[0].isupper() and plain not in _NOT_NAMES and not is_common(word)
        ):
            starts = _SENTENCE_START.search(text, max(0, match.start() - 8), match.start())
            acronym = word.isupper() and len(word) <= 6
            yield Specific("name" if english and (acronym or not starts) else "word", key, word)
        elif len(word) >= 4 and not is_common(word):
            yield Specific("word", key, word)


class _Specifics:
    """The specifics of texts in one language, as if the texts were lines of one."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._by_key: dict[str, list[Specific]] = {}
        self._left = MAX_READ

    def read(self, text: str) -> list[Specific]:
        """Read a text, and return its specifics that no earlier one had."""
        new = []
        for one in specifics(text[: max(self._left, 0)], self._language):
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
    """The specifics of texts, and the stems of their words, as they are compared in `language`."""

    def __init__(self, *texts: str, language: Language = ENGLISH) -> None:
        self.language = language
        self.stems: set[str] = set()
        self._specifics = _Specifics(language)
        for text in texts:
            self.read(text)

    def read(self, text: str) -> None:
        """Add a text."""
        self.stems |= stems(text, self.language)
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
    r"(?<!\d)(?P<hour>\d{1,2})(?:[:.]\d\d(?!\d)|\s?(?:[ap]\.?m\b|uhr\b|h\b|o['’]clock))",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_LARGE = "|".join(word for word, value in NUMBER_WORDS.items() if value > SMALL)
_ONES = "|".join(word for word, value in NUMBER_WORDS.items() if 0 < value < 10)
_IN_WORDS = re.compile(rf"\b(?:{_LARGE})(?:[-\s](?:{_ONES}))?\b", re.IGNORECASE)
_HOURS = {"minute": 1 / 60, "hour": 1.0, "day": 24.0, "week": 168.0, "month": 730.5, "year": 8766.0}
SAME_TIME = 0.1
"""Two lengths of time in different units are the same if they differ by at most this share: 6
weeks, 45 days.
"""
_LIST_NUMBER = re.compile(
    r"^[^\w\n]{0,4}\d{1,2}[.):]|\b[A-Z][a-z]{1,20} \d{1,2}\b(?=[^\w\n]{0,3}(?::|$))", re.MULTILINE
)
"""The number of a list's item, "2. Reservation ID: XAZ3C0" or "Flight 2:", which is no quantity."""


class KnownNumbers:
    """The numbers, quantities and clock times of texts in one language."""

    def __init__(self, texts: Iterable[str], language: Language = ENGLISH) -> None:
        self.language = language
        self.numbers: set[float] = set()
        """The values that a number in the texts may have."""
        self._specifics, self._outside_lists = _Specifics(language), _Specifics(language)
        self._last: dict[str, float] = {}
        self._derived: dict[str, set[float]] = {}
        self._hours: dict[str, set[float]] = {}
        for text in texts:
            self.read(text)

    def read(self, text: str) -> None:
        """Add a text."""
        self.numbers.update(_text_values(text))
        if self.language.rules is not None:
            self.numbers.update(number_values(text, self.language))
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

        "72 hours" is known from "3 days", and the sum or difference of two neighbouring lengths of
        time of one unit is known, too: four days ago, and two days later.
        """
        if among(one, self._outside_lists.like(one)):
            return True
        value, scale = float(one.key), _HOURS.get(one.unit)
        if scale is None:
            return False
        if value in self._derived.get(one.unit, ()):
            return True
        others = (many for unit, many in self._hours.items() if unit != one.unit)
        return any(
            abs(value * scale - hours) <= SAME_TIME * hours for hours in chain.from_iterable(others)
        )


Told = Callable[[], KnownNumbers]
"""Returns what is known; called only if a message has something to compare with it."""


def made_up_numbers(text: str, known: Told) -> list[str]:
    """Return the numbers of `text`, as written there, that are not known.

    These count as equal: `8:15 pm` and `20:15`, a decimal and its rounded value, an English word
    and its digits. Numbers written in words never count as made up.
    """
    if not _DIGIT.search(text):
        return []
    numbers = []
    for match in _NUMBER.finditer(text):
        values = _values(match["number"])
        if all(
            value.is_integer() and value <= (IN_NAMES if match["behind"] else SMALL)
            for value in values
        ):
            continue
        told = known().numbers
        parts = {float(part[:300]) for part in re.split(r"[.,]", match["number"])}
        if told.isdisjoint(values) and not (len(parts) > 1 and parts <= told):  # `8.15` is `8:15`
            numbers.append(match["number"])
    return numbers


def unknown_quantities(
    text: str, known: Told, language: Language = ENGLISH
) -> tuple[list[Specific], list[Specific]]:
    """Return the quantities with a unit ("5 days", "20 mg") that are not known, and those that are,
    perhaps in other words.

    `time` is no unit here: "three times" is seldom told as a fact.
    """
    said = specifics(text, language)
    measured = (
        one
        for one in said
        if one.kind == "quantity" and one.unit not in ("", "time") and IN_WORDS not in one.shown
    )
    ours = [
        one
        for one in measured
        if one.key.replace(".", "", 1).isdigit() and one.key not in ("0", "1")
    ]
    unknown = [one for one in ours if not known().has_quantity(one)]
    return unknown, [one for one in ours if one not in unknown]


def unknown_times(text: str, known: Told, language: Language) -> list[str]:
    """Return the clock times of `text`, as written there, that are not known, or only in the other
    half of the day.
    """
    return [one.shown for one in clock_times(text, language) if not known().has_time(one)]


def clock_times(text: str, language: Language = ENGLISH) -> list[Specific]:
    """Return the clock times of `text` that are written with digits."""
    said = specifics(text, language)
    return [
        one
        for one in said
        if one.kind == "time" and re.search(r"\d", one.shown) and IN_WORDS not in one.shown
    ]


def is_same_time(one: Specific, other: Specific) -> bool:
    """Return whether two clock times may be the same: at 8, or at 8 pm."""
    return one.same_as(other) and (not one.unit or not other.unit or one.unit == other.unit)


def _values(number: str) -> set[float]:
    """Return the possible values of a number: of `1,000` one thousand or one, of `3.4.2027` its
    three parts.
    """
    if number.isdecimal():
        return {float(number[:300])}
    parts = re.split(r"[.,]", number)
    values = {float("".join(parts)[:300])} if _THOUSANDS.fullmatch(number) else set()
    if len(parts) == 2:
        return values | {float(f"{parts[0][:300]}.{parts[1][:300]}")}
    return values or {float(part[:300]) for part in parts}


def _values_in_digits(text: str) -> Iterator[float]:
    for number in {match["number"] for match in _NUMBER.finditer(text)}:
        for value in _values(number):
            yield value
            yield float(round(value))
        yield from (float(part[:300]) for part in re.split(r"[.,]", number))
    for match in _CLOCK_TIME.finditer(text):
        hour = float(match["hour"])
        yield hour + 12 if hour <= 12 else hour - 12


def _text_values(text: str) -> Iterator[float]:
    if _DIGIT.search(text):
        yield from _values_in_digits(text)
    for match in _IN_WORDS.finditer(text):
        yield spoken_number(match.group())
