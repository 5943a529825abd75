"""Compares texts by letters and digits, ignoring case, accents, spaces and punctuation."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple


class Folded(NamedTuple):
    """The letters and digits of a text, lower case and without accents, and the position of each in the text."""

    letters: str
    at: list[int]


def fold(text: str) -> Folded:
    """Return the letters and digits of `text`, folded."""
    if text.isascii():
        at = [index for index, character in enumerate(text) if character.isalnum()]
        return Folded("".join([text[index] for index in at]).lower(), at)
    letters, places = [], []
    for index, character in enumerate(text):
        for folded in _folded(character):
            letters.append(folded)
            places.append(index)
    return Folded("".join(letters), places)


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(one for one in plain if one.isalnum() and not unicodedata.combining(one))
