"""What a message mentions: drugs, genes, variants, doses, dates, times and time zones.

Plain patterns; no model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from bioeval_tui.sample.agent.facts import GENES, Knowledge, Variant

_AREAS = (
    "Africa/",
    "America/",
    "Asia/",
    "Atlantic/",
    "Australia/",
    "Europe/",
    "Indian/",
    "Pacific/",
)
_NO_CITIES = frozenset({
    "act", "center", "christmas", "easter", "east", "midway", "nome", "north", "south", "wake",
    "west", "yap",
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
_OPPOSITE = {"+": "-", "-": "+", "−": "+"}


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
        name = "UTC"
        if hours := int(offset[2]):
            name = f"Etc/GMT{_OPPOSITE[offset[1]]}{hours}"
        if name in available_timezones():
            return name
        return ""
    words = [word.lower() for word in _WORDS.findall(text)]
    for first in range(len(words)):
        for size in (3, 2, 1):
            name = " ".join(words[first : first + size])
            if zone := _ABBREVIATIONS.get(name) or _COUNTRIES.get(name) or _cities().get(name):
                return zone
    return ""


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october",
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
_DAILY = re.compile(
    r"\b(every (?:single )?(?:day|morning|evening|night)|daily|each day)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SpokenTime:
    """A moment as described in a message.

    `days` counts from today, `day` is a date or weekday as said.
    """

    clock: time | None = None
    days: int | None = None
    weekday: int | None = None
    day: tuple[int, int, int] | None = None
    daily: bool = False

    @property
    def has_day(self) -> bool:
        """Return whether a day was named or is not needed."""
        return (
            self.daily or self.days is not None or self.weekday is not None or self.day is not None
        )

    def merged(self, later: SpokenTime) -> SpokenTime:
        """Return a copy, updated with the details of `later`."""
        newer = later if later.has_day else self
        return SpokenTime(
            later.clock or self.clock,
            newer.days,
            newer.weekday,
            newer.day,
            self.daily or later.daily,
        )

    def moment(self, zone: ZoneInfo, now: datetime) -> datetime | None:
        """Return the next matching moment in that time zone; None if such a date does not exist."""
        assert self.clock is not None
        today = now.astimezone(zone).date()
        try:
            chosen = self._date(today)
        except ValueError:
            return None
        moment = datetime.combine(chosen, self.clock, zone)
        if moment <= now and not (self.day and self.day[0]) and self.days is None:
            days = 7 if self.weekday is not None else 1
            moment = datetime.combine(chosen + timedelta(days), self.clock, zone)
        return moment

    def _date(self, today: date) -> date:
        if self.day:
            year, month, day = self.day
            if year:
                return date(year, month, day)
            this_year = date(today.year, month, day)
            if this_year >= today:
                return this_year
            return date(today.year + 1, month, day)
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
    if hour < 24:
        return time(hour, int(match["minute"] or 0))
    return None


_DOSE = re.compile(
    r"\b(\d+(?:[.,]\d+)?)\s*(mg|mcg|µg|micrograms?|milligrams?|g|ml|iu|units?|tablets?|pills?"
    r"|puffs?)\b",
    re.IGNORECASE,
)
_UNITS = {
    "milligram": "mg",
    "milligrams": "mg",
    "microgram": "mcg",
    "micrograms": "mcg",
    "µg": "mcg",
}
_GROUPS = re.compile(
    r"\b(blood[- ]thinners?|anticoagulants?|statins?|pain ?killers?|nsaids?|antibiotics?|kinase"
    r" inhibitors?)\b",
    re.IGNORECASE,
)
_GROUP_NAMES = {
    "anticoagulant": "blood thinner",
    "nsaid": "painkiller",
    "pain killer": "painkiller",
}
_HGVS = re.compile(r"\b[cp]\.[A-Za-z0-9_*>()+=-]+")
_DECLINE = re.compile(
    r"\b(rather not|don'?t know|do not know|not sure|no idea|can'?t (?:say|tell|remember)|cannot"
    r" say|prefer not|"
    r"won'?t (?:say|tell)|skip (?:it|that)|never ?mind|none of your|isn'?t known|unknown|don'?t"
    r" have (?:it|that)|"
    r"can'?t share|don'?t want to|no need|without (?:it|a dose|one))\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"^\W*(yes|yep|yeah|sure|please do|do it|confirm|ok(?:ay)?|go ahead)\b", re.IGNORECASE
)
_NO = re.compile(r"^\W*(no|nope|don'?t|stop|cancel)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"(?:\b(?:which|who|whose|where)\b|\b(?:what|how)\b(?! about)|(?:^|[.!?\n])\s*(?:and"
    r" )?(?:is|are|was|does|did)\b)[^.!?\n]*\?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """One message and what it mentions, in the order of mention."""

    text: str
    drugs: tuple[str, ...]
    groups: tuple[str, ...]
    genes: tuple[str, ...]
    variants: tuple[Variant, ...]
    hgvs: tuple[str, ...]
    dose: str
    when: SpokenTime
    zone: str
    declines: bool
    yes: bool
    no: bool

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the pattern is found in the text."""
        return bool(pattern.search(self.text))


def read(text: str, knowledge: Knowledge) -> ReadMessage:
    """Return the known names that `text` mentions."""
    text = text.replace("’", "'")
    return ReadMessage(
        text=text,
        drugs=_names(text, [(drug.name, (drug.name, *drug.aliases)) for drug in knowledge.drugs]),
        groups=_groups(text),
        genes=_names(text, [(gene, (gene,)) for gene in GENES]),
        variants=_variants(text, knowledge),
        hgvs=tuple(match.group().rstrip(".") for match in _HGVS.finditer(text)),
        dose=find_dose(text),
        when=find_when(text),
        # "What is the capital of France?" does not say where the user lives.
        zone=find_time_zone(_ASKS.sub(" ", text)),
        declines=bool(_DECLINE.search(text)),
        yes=bool(_YES.search(text)),
        no=bool(_NO.search(text)),
    )


def find_dose(text: str) -> str:
    """Return the first dose in `text`, as `5 mg`, or nothing."""
    match = _DOSE.search(text)
    if not match:
        return ""
    unit = match[2].lower()
    return f"{match[1].replace(',', '.')} {_UNITS.get(unit, unit)}"


def _names(text: str, known: list[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    places: dict[str, int] = {}
    for name, spellings in known:
        pattern = "|".join(re.escape(spelling) for spelling in spellings)
        if match := re.search(rf"\b(?:{pattern})s?\b", text, re.IGNORECASE):
            places[name] = match.start()
    return tuple(sorted(places, key=places.__getitem__))


def _groups(text: str) -> tuple[str, ...]:
    names = (
        " ".join(match[1].lower().replace("-", " ").split()).rstrip("s")
        for match in _GROUPS.finditer(text)
    )
    return tuple(dict.fromkeys(_GROUP_NAMES.get(name, name) for name in names))


def _variants(text: str, knowledge: Knowledge) -> tuple[Variant, ...]:
    lowered = text.lower()
    variants = []
    for variant in knowledge.variants:
        spellings = (
            variant.name,
            variant.protein,
            variant.protein.removeprefix("p."),
            *variant.aliases,
        )
        if any(
            re.search(rf"(?<![\w.]){re.escape(s.lower())}(?!\w)", lowered) for s in spellings if s
        ):
            variants.append(variant)
    return tuple(variants)
