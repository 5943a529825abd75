"""The specifics of a text: times, dates, quantities, names, codes and rare words.

The ledger asks which specifics of a fact a message discloses; the guard against inventions asks which
specifics of a message occur nowhere else. Both compare the same values in any notation:
`8:15 pm`, `20:15` and `quarter past eight` are one time, `5 mg` and `five milligrams` one quantity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from bioeval_tui.evaluation.guards import quantities, times
from bioeval_tui.evaluation.guards.language import is_english
from bioeval_tui.evaluation.guards.specific import Reader, Specific
from bioeval_tui.evaluation.guards.words import WORD, is_common, stem, word_set

MAX_READ = 500_000
"""Maximum number of characters read of one text."""
MAX_LINE = 10_000
"""Maximum number of characters read of one line."""

_DRUGS = word_set(
    """
    aspirin warfarin paracetamol acetaminophen tylenol insulin heparin digoxin lithium morphine
    codeine tramadol prednisone prednisolone levothyroxine amiodarone clopidogrel methotrexate
    tamoxifen cisplatin advil aleve viagra sildenafil ventolin salbutamol albuterol gabapentin
    quinine caffeine melatonin nicotine ketamine
    """
)
_DRUG = re.compile(
    r"\w{3,}(?:mab|nib|pril|sartan|statin|olol|cillin|mycin|cycline|floxacin|azole|profen|oxetine|opram|azepam"
    r"|zolam|parin|xaban|gatran|gliptin|gliflozin|glutide|formin|platin|taxel|rubicin|dipine|thiazide|semide)",
    re.IGNORECASE,
)
_NOT_NAMES = word_set(
    """
    i ok okay hi hello hey thanks thank mr mrs ms dr a am pm tv id api ai llm json csv pdf faq asap
    btw fyi lol ps oh yo dear sir madam god internet english swiss german french italian spanish british american european dutch austrian usa english socrates
    """
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;•\n\"“”(*-])\s*$")


def specifics(text: str) -> tuple[Specific, ...]:
    """Return the specifics of `text`, each once. None extends beyond the end of a line."""
    lines = text[:MAX_READ].replace("’", "'").split("\n")
    return tuple(dict.fromkeys(one for line in lines if line.strip() for one in _of_line(line[:MAX_LINE])))


# The whole conversation is read again for every message, so lines repeat many times.
@lru_cache(maxsize=4096)
def _of_line(line: str) -> tuple[Specific, ...]:
    found: list[Specific] = []
    for reader in _READERS:
        line = _take(reader, line, found)
    return (*found, *_names_and_words(line))


def is_drug(word: str) -> bool:
    """Return whether a word is the name of a drug, by a short list and by the endings of drug names."""
    return word.lower() in _DRUGS or _DRUG.fullmatch(word) is not None


def _take(reader: Reader, text: str, found: list[Specific]) -> str:
    """Move a reader's matches from `text` to `found`, leaving a gap that does not end a sentence."""
    pattern, read = reader

    def replace(match: re.Match[str]) -> str:
        given = list(read(match))
        found.extend(given)
        return " , " if given else match.group()

    return pattern.sub(replace, text)


def _zone(match: re.Match[str]) -> Iterator[Specific]:
    yield Specific("name", stem(match["place"].replace("_", " ").split()[-1]), match.group())


def _code(match: re.Match[str]) -> Iterator[Specific]:
    code = match.group().strip(".,:;-_*>")
    if re.search(r"\d", code) and re.search(r"[A-Za-z]", code):
        yield Specific("code", code.lower(), code)


_READERS: tuple[Reader, ...] = (
    (re.compile(r"\b[A-Z][A-Za-z]+/(?:[A-Z][A-Za-z]+/)?(?P<place>[A-Z][A-Za-z_]+)\b"), _zone),
    *times.READERS,
    *quantities.READERS,
    (re.compile(r"\b[A-Za-z][\w.:>*-]*"), _code),
    (re.compile(r"\b\d[\w.:>*-]*"), _code),
)


def _names_and_words(text: str) -> Iterator[Specific]:
    english = is_english(
        text
    )  # elsewhere a capitalised word may not be a name: German capitalises every noun
    for match in WORD.finditer(text):
        word = match.group()
        key = stem(word)
        plain = word.lower()
        if is_drug(word):
            yield Specific("name", key, word)
        elif len(word) > 1 and word[0].isupper() and plain not in _NOT_NAMES and not is_common(word):
            starts = _SENTENCE_START.search(text, max(0, match.start() - 8), match.start())
            acronym = word.isupper() and len(word) <= 6
            yield Specific("name" if english and (acronym or not starts) else "word", key, word)
        elif len(word) >= 4 and not is_common(word):
            yield Specific("word", key, word)
