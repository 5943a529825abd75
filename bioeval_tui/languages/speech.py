"""What people say in any language: offers of help, questions, thanks and goodbyes."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from bioeval_tui.languages.detection import LANGUAGES, language_of
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.languages.language import Language
from bioeval_tui.languages.segments import folded

SHORT = 60
"""A text of fewer characters whose language cannot be told may be in any: "Tschüss!"."""

SENTENCES = regex.compile(r"(?<=[.!?…؟।])\s+|(?<=[。！？])|\n+")
_QUESTION_MARKS = "?？؟"
_SENTENCE_END = regex.compile(r"[.!?？؟。！।\n]")
_OFFER = regex.compile(
    r"\banything else (?:i can|you need|you['’]d like|to)\b|\bwould you like me to\b|\bshall i\b"
    r"|\b(?:how|what) (?:can|may|could) i (?:help|assist|do for)\b",
    regex.IGNORECASE,
)


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, by the full stops of any script."""
    yield from (part.strip() for part in SENTENCES.split(text) if part and part.strip())


def spoken_in(text: str) -> tuple[Language, ...]:
    """Return the languages besides English in which a text may be: its own, or if that cannot be told of a few words, all."""
    language = language_of(text)
    if language is not None and language.rules is not None:
        return (language,)
    if language is ENGLISH or len(text) > SHORT:
        return ()
    return tuple(one for one in LANGUAGES if one.rules is not None)


def says(text: str, *tables: str) -> bool:
    """Return whether a text has a phrase of these tables of `Rules`, in the language that it is in."""
    languages = spoken_in(text)
    plain = folded(text) if languages else ""
    return any(language.phrases(table).find(plain) for language in languages for table in tables)


def offers_help(text: str) -> bool:
    """Return whether a text offers help: "What can I do for you?"."""
    return _OFFER.search(text) is not None or says(text, "offers")


def asks_question(text: str) -> bool:
    """Return whether a text has a question, that is one with a question mark, other than an offer of help."""
    start = 0
    for end in _SENTENCE_END.finditer(
        text
    ):  # a pattern for whole sentences would be quadratic without any end
        if end[0] in _QUESTION_MARKS and not offers_help(text[start : end.start()]):
            return True
        start = end.end()
    return False
