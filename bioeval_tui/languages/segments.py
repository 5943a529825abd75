"""Words of any language in the form in which they are compared: case, accents, digits and spellings
of one letter folded, and words divided as Unicode says (UAX 29).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import regex

from bioeval_tui.base.text import visible_text

_ACCENT = 10
"""Combining classes from here on are accents and vowel points; those of Kana and of the Indic
scripts make other letters.
"""
_NUKTA = 7
_ONE_LETTER = str.maketrans(
    {
        "\u200c": None,
        "\u200d": None,
        "ـ": None,  # draws an Arabic word longer
        "ى": "ي",
        "ة": "ه",
        "ٱ": "ا",
        "ی": "ي",  # as Persian keyboards write it
        "ک": "ك",
        "ँ": "ं",
        "٫": ".",
        "٬": ",",
        "’": "'",
        "ʼ": "'",
        "`": "'",
        "ı": "i",
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "æ": "ae",
        "œ": "oe",
    }
)
"""Letters that people write for one another."""


def folded(text: str) -> str:
    """Return `text` in lower case without accents, vowel points and joiners, and with ASCII
    digits.
    """
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", visible_text(text)).casefold().translate(_ONE_LETTER)
    letters = "".join(map(_letter, unicodedata.normalize("NFD", plain)))
    return unicodedata.normalize("NFC", letters)


@lru_cache(maxsize=4096)
def _letter(character: str) -> str:
    kind = unicodedata.combining(character)
    if kind >= _ACCENT or kind == _NUKTA:
        return ""
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    return character


class Token(NamedTuple):
    """A word, or in scripts without spaces a letter, folded, and where it stands in the text."""

    key: str
    start: int
    end: int
    spaced: bool
    """Whether its script has spaces between words."""


# Han, Kana, Thai, Lao, Khmer and Burmese have no spaces between words.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# regex takes an apostrophe before a vowel for that of an elided article: 'aspirin' in quotation
# marks is a word, too.
_BEGINS = r"(?:\b|(?<=(?<![\p{L}\p{M}\p{N}])['’]))"
_WORD = regex.compile(rf"(?w){_BEGINS}[\p{{L}}\p{{M}}\p{{N}}].*?\b", regex.DOTALL)
# The same words, found faster.
_ASCII_WORD = re.compile(
    r"(?<!\w)[A-Za-z0-9]\w*"
    r"(?:(?:(?<=[A-Za-z])[.':](?=[A-Za-z])|(?<=[0-9])[.',;](?=[0-9]))\w+)*",
    re.ASCII,
)
_CLUSTER = regex.compile(r"\X")
_UNSPACED_LETTER = regex.compile(f"[{_UNSPACED}]")


def tokens(text: str) -> Iterator[Token]:
    """Yield the words of `text` in order; of scripts without spaces, each letter with its marks."""
    if text.isascii():  # most texts are, and this takes half the time
        for word in _ASCII_WORD.finditer(text):
            yield Token(word.group().lower(), word.start(), word.end(), True)
        return
    is_spaced = not _UNSPACED_LETTER.search(text)
    for word in _WORD.finditer(text):
        if is_spaced or not _UNSPACED_LETTER.search(word.group()):
            yield Token(folded(word.group()), word.start(), word.end(), True)
            continue
        for letter in _CLUSTER.finditer(word.group()):
            start = word.start() + letter.start()
            unspaced = _UNSPACED_LETTER.match(letter.group()) is not None
            yield Token(folded(letter.group()), start, word.start() + letter.end(), not unspaced)


LETTERS_OF_WORD = 2
"""Letters of a script without spaces that count as one word: the mean of Chinese, and of Japanese
in Kanji.
"""


@lru_cache(maxsize=64)  # of a message, guards and the record each ask it
def word_count(text: str) -> int:
    """Return the number of words; in scripts without spaces, every second letter counts as one."""
    if text.isascii():  # every message of a run is counted, and this takes half the time
        return len([word for word in _ASCII_WORD.findall(text) if not word[0].isdigit()])
    if not _UNSPACED_LETTER.search(text):  # all but the letters, at a tenth of the time
        return sum(not _begins_with_digit(word) for word in _WORD.findall(text))
    words = letters = 0
    for token in tokens(text):
        words += token.spaced and not token.key[:1].isdigit()
        letters += not token.spaced
    return words + -(-letters // LETTERS_OF_WORD)


def _begins_with_digit(word: str) -> bool:
    if word.isascii():  # most words of a text with a few other letters
        return word[0].isdigit()
    return folded(word)[:1].isdigit()


def compared(text: str) -> tuple[str, ...]:
    """Return the words of `text` for a comparison with another's; of scripts without spaces,
    overlapping pairs of letters.
    """
    if text.isascii():
        found = _ASCII_WORD.findall(text)
        return tuple([word.lower() for word in found if not word[0].isdigit()])
    words: list[str] = []
    before: Token | None = None
    for token in tokens(text):
        if token.spaced:
            if not token.key[:1].isdigit():
                words.append(token.key)
            before = None
            continue
        if before is not None and before.end == token.start:
            words.append(before.key + token.key)
        before = token
    if words or before is None:
        return tuple(words)
    return (before.key,)


class Run(NamedTuple):
    """Consecutive words: folded, and where they stand in the text."""

    key: str
    start: int
    end: int


def runs(text: str, weight: int) -> Iterator[Run]:
    """Yield every shortest run of consecutive words of at least this weight, in letters of a script
    without spaces.

    A word between spaces weighs `LETTERS_OF_WORD`.
    """
    listed = list(tokens(text))
    keys, weights = [token.key for token in listed], [_weight(token) for token in listed]
    end = found = 0
    for start, token in enumerate(listed):
        while end < len(listed) and found < weight:
            found += weights[end]
            end += 1
        if found < weight:
            return
        yield Run(" ".join(keys[start:end]), token.start, listed[end - 1].end)
        found -= weights[start]


def text_weight(text: str) -> int:
    """Return the length of `text` in letters of a script without spaces, as `runs` weighs it."""
    return sum(map(_weight, tokens(text)))


def _weight(token: Token) -> int:
    if token.spaced:
        return LETTERS_OF_WORD
    return 1
