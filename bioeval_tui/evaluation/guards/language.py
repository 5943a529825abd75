"""Detects whether a text is English, by its share of English function words."""

from __future__ import annotations

import re

from bioeval_tui.evaluation.guards.words import word_set

ENOUGH = 6
"""Minimum number of words to detect a text's language."""
SHARE = 0.15
"""English prose has a share of about 0.4 of these words, German, Dutch, French, Spanish and Italian below 0.05."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
# Only words that no other large language writes the same way: no "in", "was", "am", "an", "so", "on", "me".
_ONLY_ENGLISH = word_set(
    """
    the and of to is it that you for with this have has had are were been not they them their there
    i i'm i've i'd i'll it's don't doesn't didn't haven't isn't can't my your our its we he she his
    what which who when where how why would could should can does did be from by at about but if or
    as any some just only than then because please yes no thanks hello hi
    """
)


def is_english(text: str) -> bool:
    """Return whether `text` is English. A text of fewer than `ENOUGH` words counts as English, because it is too short to tell."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text[:10_000])]
    return len(words) < ENOUGH or sum(word in _ONLY_ENGLISH for word in words) >= SHARE * len(words)
