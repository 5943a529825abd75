"""What a message mentions: drugs, genes, variants, doses. Plain patterns; no model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bioeval_tui.sample.agent.facts import GENES, Knowledge, Variant
from bioeval_tui.sample.agent.times import SpokenTime, find_time_zone, find_when

_DOSE = re.compile(
    r"\b(\d+(?:[.,]\d+)?)\s*(mg|mcg|µg|micrograms?|milligrams?|g|ml|iu|units?|tablets?|pills?|puffs?)\b",
    re.IGNORECASE,
)
_UNITS = {"milligram": "mg", "milligrams": "mg", "microgram": "mcg", "micrograms": "mcg", "µg": "mcg"}
_GROUPS = re.compile(
    r"\b(blood[- ]thinners?|anticoagulants?|statins?|pain ?killers?|nsaids?|antibiotics?|kinase inhibitors?)\b",
    re.IGNORECASE,
)
_GROUP_NAMES = {"anticoagulant": "blood thinner", "nsaid": "painkiller", "pain killer": "painkiller"}
_HGVS = re.compile(r"\b[cp]\.[A-Za-z0-9_*>()+=-]+")
_DECLINE = re.compile(
    r"\b(rather not|don'?t know|do not know|not sure|no idea|can'?t (?:say|tell|remember)|cannot say|prefer not|"
    r"won'?t (?:say|tell)|skip (?:it|that)|never ?mind|none of your|isn'?t known|unknown|don'?t have (?:it|that)|"
    r"can'?t share|don'?t want to|no need|without (?:it|a dose|one))\b",
    re.IGNORECASE,
)
_YES = re.compile(r"^\W*(yes|yep|yeah|sure|please do|do it|confirm|ok(?:ay)?|go ahead)\b", re.IGNORECASE)
_NO = re.compile(r"^\W*(no|nope|don'?t|stop|cancel)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"(?:\b(?:which|who|whose|where)\b|\b(?:what|how)\b(?! about)|(?:^|[.!?\n])\s*(?:and )?(?:is|are|was|does|did)\b)[^.!?\n]*\?",
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
    return tuple(sorted(places, key=lambda name: places[name]))


def _groups(text: str) -> tuple[str, ...]:
    names = (
        " ".join(match[1].lower().replace("-", " ").split()).rstrip("s") for match in _GROUPS.finditer(text)
    )
    return tuple(dict.fromkeys(_GROUP_NAMES.get(name, name) for name in names))


def _variants(text: str, knowledge: Knowledge) -> tuple[Variant, ...]:
    squeezed = text.lower()
    variants = []
    for variant in knowledge.variants:
        spellings = (variant.name, variant.protein, variant.protein.removeprefix("p."), *variant.aliases)
        if any(re.search(rf"(?<![\w.]){re.escape(s.lower())}(?!\w)", squeezed) for s in spellings if s):
            variants.append(variant)
    return tuple(variants)
