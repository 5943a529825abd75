"""Numbers in words, made by the rule of each language, from 0 to 99, with 100."""

from __future__ import annotations

from itertools import product

SIGNS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "兩": 2,
}
"""The digits of Chinese and Japanese."""


def numbered(words: str) -> dict[str, int]:
    """Return the numbers that words, in order from 0, stand for.

    Other spellings of one are joined by `|`, `_` is a space.
    """
    return {
        spelled.replace("_", " "): value
        for value, spellings in enumerate(words.split())
        for spelled in spellings.split("|")
    }


def with_tens(
    small: dict[str, int], tens: str, joint: str, *, ones_first: bool = False
) -> dict[str, int]:
    """Return `small` with the tens from 20 on, and all numbers between them, joined by `joint`."""
    numbers = dict(small)
    listed = {
        spelled: 10 * value
        for value, spellings in enumerate(tens.split(), start=2)
        for spelled in spellings.split("|")
    }
    ones = [(word, value) for word, value in small.items() if 0 < value < 10]
    numbers.update(listed)
    for (ten, tens_value), (one, value) in product(listed.items(), ones):
        spelled = f"{one}{joint}{ten}" if ones_first else f"{ten}{joint}{one}"
        numbers.setdefault(spelled, tens_value + value)
    return numbers


def in_signs() -> dict[str, int]:
    """Return the numbers from 0 to 99 in Chinese signs, such as 二十五."""
    numbers = dict(SIGNS)
    for value in range(10, 100):
        tens, ones = divmod(value, 10)
        head = "" if tens == 1 else "零一二三四五六七八九"[tens]
        numbers[f"{head}十{'零一二三四五六七八九'[ones] if ones else ''}"] = value
    return {**numbers, "一百": 100, "百": 100}
