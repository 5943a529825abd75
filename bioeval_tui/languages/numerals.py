"""Numbers in words, made by the rule of each language, from 0 to 99, with 100."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

SIGNS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "兩": 2,
}
"""The digits of Chinese and Japanese."""


def _spellings(words: str, first: int = 0) -> Iterator[tuple[str, int]]:
    """Yield each spelling of words, and the place of its word, counted from `first`."""
    for value, spellings in enumerate(words.split(), first):
        for spelled in spellings.split("|"):
            yield spelled, value


def numbered(words: str) -> dict[str, int]:
    """Return the numbers that words, in order from 0, stand for.

    Other spellings of one are joined by `|`, `_` is a space.
    """
    return {spelled.replace("_", " "): value for spelled, value in _spellings(words)}


def count_tens(
    small: dict[str, int], tens: str, joint: str, *, ones_first: bool = False
) -> dict[str, int]:
    """Return `small` with the tens from 20 on, and all numbers between them, joined by `joint`."""
    numbers = dict(small)
    listed = {spelled: 10 * value for spelled, value in _spellings(tens, 2)}
    ones = [(word, value) for word, value in small.items() if 0 < value < 10]
    numbers.update(listed)
    for (ten, tens_value), (one, value) in product(listed.items(), ones):
        spelled = f"{one}{joint}{ten}" if ones_first else f"{ten}{joint}{one}"
        numbers.setdefault(spelled, tens_value + value)
    return numbers


def sign_numbers() -> dict[str, int]:
    """Return the numbers from 0 to 99 in Chinese signs, such as 二十五."""
    numbers = dict(SIGNS)
    # neither the one of 10 to 19 nor the zero of 20 is said
    tens, ones = ("", "", *"二三四五六七八九"), ("", *"一二三四五六七八九")
    for value in range(10, 100):
        numbers[f"{tens[value // 10]}十{ones[value % 10]}"] = value
    return {**numbers, "一百": 100, "百": 100}
