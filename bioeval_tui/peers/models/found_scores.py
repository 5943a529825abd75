"""Finds the scores in whatever a judge model wrote: JSON in prose, fences and wrappers, cut off, or
with small slips.

`verdicts.py` decides which of the ways to read a text (`readings`) answers the question. Every form
is read in time linear in its length.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bioeval_tui.peers.models.answer import repair_slips

MOST_FALSE_STARTS = 50
"""How many brackets that begin no JSON are passed over; each may cost one reading of the text."""
MOST_GROUPS = 100
MAX_DEPTH = 5
_OPENS = re.compile(r"[\[{]")
_BETWEEN = re.compile(r"[\s,\[\]]*+")
_CURLY = str.maketrans("“”", '""')
_IN_TEXT = frozenset({"arguments", "parameters", "text"})
"""Keys under which a tool call or a part of a message has its JSON as text."""
_OF_ENTRY = frozenset({"score", "reason", "evidence", "message", "messages"})
_LONGEST_LITERAL = 20_000


@dataclass(frozen=True, slots=True)
class ScoredEntry:
    """One object with a `score`. `key` is the key under which it stood, if any."""

    key: str
    given: Mapping[str, Any]


@dataclass(slots=True)
class Entries:
    """The entries of one JSON value or of several in a row, and the tone beside them."""

    entries: list[ScoredEntry] = field(default_factory=list)
    tone: Any = None


@dataclass(frozen=True, slots=True)
class ScoreGroups:
    """What a text contains: its groups of entries, and whether it contains any JSON at all."""

    groups: tuple[Entries, ...]
    is_json: bool


def readings(text: str, is_quotation: Callable[[str], bool]) -> Iterator[ScoreGroups]:
    """Yield what is found in a text as it stands and, each only if another is asked for, with its
    slips mended.

    Slips are comments, a comma before a closing bracket, curly quotes around keys, and Python's way
    of writing a dict. JSON for which `is_quotation` is true (words of the conversation) is skipped.
    """
    yield _find_scores(text, is_quotation)
    for form in _mend(text):
        yield _find_scores(form, is_quotation)
    if (literal := _literal(text)) is not None and not is_quotation(text):
        yield _scores_in_value(literal)


def _mend(text: str) -> Iterator[str]:
    start = _OPENS.search(text)
    if start is None:
        return
    body = text[start.start() :]  # quotes in the prose before it belong to no string of it
    if '"' not in body:
        body = body.translate(_CURLY)
    yield repair_slips(body)


def _find_scores(text: str, is_quotation: Callable[[str], bool]) -> ScoreGroups:
    # raw line breaks in strings are read
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant, object_hook=_lower_keys)
    try:
        whole = decoder.decode(text)
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(whole, str):  # JSON in a JSON string
            if _OPENS.match(whole.lstrip()):
                return _find_scores(whole, is_quotation)
            return ScoreGroups((), True)
        return _scores_in_value(whole)
    groups: list[Entries] = []
    at = end = misses = 0
    follows = is_json = False
    while misses < MOST_FALSE_STARTS and len(groups) < MOST_GROUPS:
        if (start := _OPENS.search(text, at)) is None:
            break
        try:
            value, after = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            misses, at = misses + 1, start.end()
            continue
        is_json, at = True, after
        entries = _entries(value)
        if not entries.entries or is_quotation(text[start.start() : after]):
            misses, follows = misses + 1, False
            continue
        is_loose = entries.entries[0].given is value
        if is_loose and follows and _BETWEEN.fullmatch(text, end, start.start()):
            # One object a task, each on a line or cut out of a broken list.
            groups[-1].entries += entries.entries
        else:
            groups.append(entries)
        follows, end = is_loose, after
    return ScoreGroups(tuple(groups), is_json)


def _scores_in_value(value: Any) -> ScoreGroups:
    entries = _entries(value)
    return ScoreGroups((entries,) if entries.entries else (), True)


def _entries(value: Any) -> Entries:
    entries = Entries()
    _collect(value, "", entries, 0)
    return entries


def _collect(value: Any, key: str, entries: Entries, depth: int) -> None:
    """Add the entries in a value; an object that contains some under its own keys is a wrapper."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            _collect(item, "", entries, depth + 1)
    elif isinstance(value, dict):
        before = len(entries.entries)
        for name, item in value.items():
            wraps = len(value) == 1 or (name in _IN_TEXT and "score" not in value)
            if wraps and isinstance(item, str) and _OPENS.match(item.lstrip()):
                item = _decode(item)
            if name not in _OF_ENTRY:
                _collect(item, name, entries, depth + 1)
        if len(entries.entries) == before and "score" in value:
            entries.entries.append(ScoredEntry(key, value))
        elif entries.tone is None:
            entries.tone = value.get("tone")


def _decode(text: str) -> Any:
    try:
        return json.loads(text, strict=False, parse_constant=_no_constant, object_hook=_lower_keys)
    except (ValueError, RecursionError):
        return None


def _lower_keys(given: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its keys in small letters, unless two would be one."""
    small = {key.lower(): item for key, item in given.items()}
    if len(small) == len(given):
        return small
    return given


def _literal(text: str) -> Any:
    """Return the Python dict or list that makes up the whole text, without its code fence; None if
    the text is not one.
    """
    body = text.strip().removeprefix("```json").removeprefix("```python").strip("`\n ")
    if len(body) > _LONGEST_LITERAL or "\\" in body or not _OPENS.match(body):
        return None
    try:
        return ast.literal_eval(body)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _no_constant(name: str) -> float:
    raise ValueError(name)
