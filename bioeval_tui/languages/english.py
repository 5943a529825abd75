"""English, whose rules are those of the guards themselves. Here is what it is recognised by."""

from functools import cache
from itertools import chain
from pathlib import Path

from bioeval_tui.languages.language import Language

ENGLISH = Language("en", "English")


@cache
def english_words() -> frozenset[str]:
    """Return the words of ordinary English that identify nothing."""
    return frozenset(
        (Path(__file__).parent / "english_words.txt").read_text(encoding="utf-8").split()
    )


@cache
def _trigrams() -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_parts, english_words())))


def _parts(word: str) -> list[str]:
    framed = f" {word} "
    return [framed[start : start + 3] for start in range(len(framed) - 2)]


SHORTEST = 4
"""Shorter words are often units or abbreviations, which are spelled in no language's way."""


def english_spelling(words: list[str]) -> float:
    """Return the share (0 to 1) of three letters in a row of some words that ordinary English words
    have, too.
    """
    telling = (word for word in words if len(word) >= SHORTEST)
    parts = list(chain.from_iterable(map(_parts, telling)))
    if parts:
        return sum(part in _trigrams() for part in parts) / len(parts)
    return 1.0
