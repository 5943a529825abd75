"""Words in the form that the guards compare: lower case, without endings, common ones marked; and whether a
text is English."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text`, which are separated by spaces."""
    return frozenset(text.split())


WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""))
_SHORTEST_STEM = 4

GENERIC = word_set(
    """
    user patient person want like take have make need please would give could time set use name know
    thing
    """
)
"""Words that do not identify a fact."""


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return `word` in lower case without possessive and without a plain English ending."""
    word = word.lower().replace("’", "'").removesuffix("'s").strip("'")
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and not word.endswith("ss"):
            cut = word[: -len(ending)] + instead
            if len(cut) >= _SHORTEST_STEM:
                return cut.removesuffix("e") if len(cut) > _SHORTEST_STEM else cut
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


def stems(text: str) -> frozenset[str]:
    """Return the stems of all words of `text`."""
    return frozenset().union(
        *(
            (_stems_of_line if len(line) <= _MAX_KEPT else _stems_of_line.__wrapped__)(line)
            for line in text.split("\n")
        )
    )


_MAX_KEPT = 10_000
"""Longer lines, in characters, are not kept for the next message."""


# Several guards read the same message, and facts are compared with every one.
@lru_cache(maxsize=1024)
def _stems_of_line(line: str) -> frozenset[str]:
    return frozenset(stem(word) for word in WORD.findall(line))


def is_common(word: str) -> bool:
    """Return whether a word is too common to disclose a fact."""
    plain = word.lower().replace("’", "'")
    return plain in _common()[0] or stem(word) in _common()[1]


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words that say what `text` is about."""
    return frozenset(
        stem(word)
        for word in WORD.findall(text)
        if len(word) > 2 and stem(word) not in _generic() and not is_function_word(word)
    )


def is_function_word(word: str) -> bool:
    """Return whether a word is a function word."""
    return word.lower().replace("’", "'") in _FUNCTION


@cache
def _common() -> tuple[frozenset[str], frozenset[str]]:
    words = (Path(__file__).parent / "common_words.txt").read_text(encoding="utf-8").split()
    return frozenset(words), frozenset(stem(word) for word in words)


@cache
def _generic() -> frozenset[str]:
    return frozenset(stem(word) for word in GENERIC)


_FUNCTION = word_set(
    """
    a about after all also am an and any are as at be because been before being but by can can't did
    do does doing don't done for from get go got had has have he her here hers him his how i i'd
    i'll i'm i've if in into is isn't it it's its just let me more most my no not now of off ok on
    once only or other our out over own she so some such than that that's the their them then there
    these they this those through to too under until up us very was we were what when where which
    while who whom whose why will with you you'd you'll you're your yours should shall may might
    must each every both few same again further yes
    """
)


ENOUGH = 6
"""Minimum number of words to detect a text's language."""
LONGEST_READ = 10_000
"""Number of characters that are looked at to detect a text's language."""
SHARE = 0.15
"""English prose has a share of about 0.4 of these words, German, Dutch, French, Spanish and Italian below 0.05."""

# Only words that no other large language writes the same way: no "in", "was", "am", "an", "so", "on", "me".
_ONLY_ENGLISH = word_set(
    """
    the and of to is it that you for with this have has had are were been not they them their there
    i i'm i've i'd i'll it's don't doesn't didn't haven't isn't can't my your our its we he she his
    what which who when where how why would could should can does did be from by at about but if or
    as any some just only than then because please yes no thanks hello hi
    """
)


_ONLY_FOREIGN = word_set(
    """
    der das und ist nicht ein eine einen mit für auf zu den dem sich von wird muss er sie ihr le les
    des une et pas que qui dans avec vous ses doit aux el los las una en por para lo como debe
    quiere pide il gli che di un non della nel deve vuole chiede het een niet dat zijn voor aan moet
    os uma não com seu de met wil van del su du au al con per
    """
)
"""What no English text has two of: from German, French, Spanish, Italian, Dutch and Portuguese."""


def is_foreign(text: str) -> bool:
    """Return whether `text` is in a language other than English. Keywords, names and code are in none."""
    words = WORD.findall(text[:LONGEST_READ])
    lower = [word for word in words if word == word.lower() and len(word) > 1]  # no names, no β
    signs = sum(word in _ONLY_FOREIGN for word in lower) + 2 * sum(not word.isascii() for word in lower)
    return signs >= max(2, SHARE * len(words)) and not (len(words) >= ENOUGH and is_english(text))


def is_english(text: str) -> bool:
    """Return whether `text` is English. A text of fewer than `ENOUGH` words counts as English, because it is too short to tell."""
    words = [word.lower().replace("’", "'") for word in WORD.findall(text[:LONGEST_READ])]
    return len(words) < ENOUGH or sum(word in _ONLY_ENGLISH for word in words) >= SHARE * len(words)
