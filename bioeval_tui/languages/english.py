"""English, whose rules are those of the guards themselves. Here is what it is recognised by."""

from functools import cache
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
    return frozenset(part for word in english_words() for part in _parts(word))


def _parts(word: str) -> list[str]:
    framed = f" {word} "
    return [framed[start : start + 3] for start in range(len(framed) - 2)]


SHORTEST = 4
"""Shorter words are often units or abbreviations, which are spelled in no language's way."""


def english_spelling(words: list[str]) -> float:
    """Return the share (0 to 1) of three letters in a row of some words that ordinary English words
    have, too.
    """
    parts = [part for word in words if len(word) >= SHORTEST for part in _parts(word)]
    if parts:
        return sum(part in _trigrams() for part in parts) / len(parts)
    return 1.0
