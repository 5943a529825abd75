"""Untrusted regular expressions, matched with limits on time and size.

A job's patterns come from a file that may come from anywhere, and are run over text that an agent
wrote. Backtracking can take hours on a few dozen characters, so every search has a deadline, which
the standard library's `re` cannot give.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from bioeval_tui.base.errors import InputError, NotMeasuredError
from bioeval_tui.base.text import clean_line, shorten

MAX_PATTERN = 1000
"""Longest pattern, in characters."""

SEARCH_LIMIT_S = 0.15
"""Longest time for one search, in seconds."""


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """Where a pattern was found: character positions, `end` exclusive."""

    start: int
    end: int
    partial: bool = False
    """Whether the text ended in the middle of a match."""


def search(pattern: str, text: str) -> PatternMatch | None:
    """Return the first match of `pattern` in `text`, ignoring case; None without a match.

    Raises `InputError` when the pattern cannot be read and `NotMeasuredError` when the search takes
    longer than `SEARCH_LIMIT_S` seconds.
    """
    with _bounded(pattern):
        match = _compiled(pattern).search(text, timeout=SEARCH_LIMIT_S)
    if match:
        return PatternMatch(match.start(), match.end())
    return None


def find_all(pattern: str, text: str, *, partial: bool = False) -> list[PatternMatch]:
    """Return all matches of `pattern` in `text`, in order; with `partial`, also an incomplete one
    at the end.

    Raises as `search` does; the time limit applies to all of them together.
    """
    with _bounded(pattern):
        matches = _compiled(pattern).finditer(text, partial=partial, timeout=SEARCH_LIMIT_S)
        return [PatternMatch(match.start(), match.end(), match.partial) for match in matches]


class TooMuchTextError(NotMeasuredError):
    """A pattern takes too long on a text: on which of the two it lies, nobody can tell."""


@contextmanager
def _bounded(pattern: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise TooMuchTextError(
            f"the pattern {_shown(pattern)} took longer than {SEARCH_LIMIT_S:g} s on a message;"
            " write it with fewer nested repeats"
        ) from None
    except MemoryError:
        raise TooMuchTextError(
            f"the pattern {_shown(pattern)} needs too much memory; make it simpler"
        ) from None


UNRELATED = ("no", "Hm.", "Sky!", "Yup, fog; dux?", "brr")
"""Messages that have no letter in common: what is found in each of them is found in any."""


def is_always_found(pattern: str) -> bool:
    """Return whether a valid pattern is found in any message, whatever that says."""
    try:
        return all(search(pattern, text) is not None for text in UNRELATED)
    except (InputError, NotMeasuredError):
        return False


def pattern_problem(pattern: str) -> str | None:
    """Return one sentence that says why `pattern` is invalid; None if it is valid."""
    try:
        _compiled(pattern)
    except InputError as problem:
        return str(problem)
    return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    if len(pattern) > MAX_PATTERN:
        raise InputError(
            f"the pattern {_shown(pattern)} has {len(pattern):,} characters; the limit is"
            f" {MAX_PATTERN:,}"
        )
    try:
        return regex.compile(pattern, regex.IGNORECASE | regex.VERSION0)
    except regex.error as problem:
        where = f" (column {problem.pos + 1})" if problem.pos is not None else ""
        raise InputError(
            f"the pattern {_shown(pattern)} cannot be read: {clean_line(problem.msg)}{where}"
        ) from None
    except (RecursionError, OverflowError, MemoryError, ValueError):
        raise InputError(
            f"the pattern {_shown(pattern)} is nested too deeply or repeats too often"
        ) from None


def _shown(pattern: str) -> str:
    return f"`{shorten(clean_line(pattern), 60)}`"
