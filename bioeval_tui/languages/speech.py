"""What people say in any language: offers of help, questions, thanks and goodbyes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import regex

from bioeval_tui.languages.detection import LANGUAGES, language_of
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.languages.language import Language
from bioeval_tui.languages.segments import folded

SHORT = 60
"""A text of fewer characters whose language cannot be told may be in any: "Tschüss!"."""

SENTENCES = regex.compile(r"(?<=[.!?…؟।])\s+|(?<=[。！？])|\n+")
_QUESTION_MARKS = "?？؟"
_SENTENCE_END = regex.compile(r"[.!?？؟。！।\n]|\Z")
_ENDS_AS_QUESTION = regex.compile(r"(?:です|ます|でした|ました|ません|でしょう)か\s*\Z|[吗嗎]\s*\Z")
"""Questions that need no question mark."""
_ENOUGH_TO_TELL = 200
"""Number of characters that tell the language of an answer."""
_OFFER = regex.compile(
    r"\banything else (?:i can|you need|you['’]d like|to)\b|\bwould you like me to\b|\bshall i\b"
    r"|\b(?:how|what) (?:can|may|could) i (?:help|assist|do for)\b",
    regex.IGNORECASE,
)


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, by the full stops of any script."""
    yield from (part.strip() for part in SENTENCES.split(text) if part and part.strip())


def possible_languages(text: str) -> tuple[Language, ...]:
    """Return the languages besides English in which a text may be: its own, or if that cannot be
    told of a few words, all.
    """
    language = language_of(text)
    if language is not None and language.rules is not None:
        return (language,)
    if language is ENGLISH or len(text) > SHORT:
        return ()
    return tuple(one for one in LANGUAGES if one.rules is not None)


def says(text: str, *tables: str) -> bool:
    """Return whether a text has a phrase of these tables of `Rules`, in the language that it is
    in.
    """
    languages = possible_languages(text)
    plain = folded(text) if languages else ""
    return any(
        language.phrases(table).find(plain) for language, table in product(languages, tables)
    )


def offers_help(text: str) -> bool:
    """Return whether a text offers help: "What can I do for you?"."""
    return _OFFER.search(text) is not None or says(text, "offers")


def asks_question(text: str) -> bool | None:
    """Return whether a text has a question other than an offer of help; None if its questions are
    not read.
    """
    start = 0
    # a pattern for whole sentences would be quadratic without any end
    for end in _SENTENCE_END.finditer(text):
        said = text[start : end.start()]
        is_question = (end[0] and end[0] in _QUESTION_MARKS) or _ENDS_AS_QUESTION.search(said)
        if is_question and not offers_help(said):
            return True
        start = end.end()
    if questions_are_read(text):
        return False
    return None


def questions_are_read(text: str) -> bool:
    """Return whether a text without a question mark asks nothing: in Thai and others, questions
    need none.
    """
    if text.isascii():
        return True
    language = language_of(text[:_ENOUGH_TO_TELL])
    return language in (None, ENGLISH) or language.rules is not None
