"""The sign-off: the words with which the simulated user ends a conversation."""

from __future__ import annotations

import re
from functools import lru_cache

_APOSTROPHES = "'’ʼ"
_MARKS = '*_"“”'
"""Emphasis and quotation marks."""
_ENDS = ".!?…"


def without_signoff(content: str, signoff: str) -> str | None:
    """Return the words around the sign-off (may be empty), or None if `content` does not contain it.

    Only its words and their order count, because models change its punctuation, emphasis, case and line breaks.
    """
    parts = _pattern(signoff).split(content)
    if len(parts) == 1:
        return None
    parts[:-1] = [part.rstrip(_MARKS) for part in parts[:-1]]
    parts[1:] = [part.lstrip(_MARKS + _ENDS) for part in parts[1:]]
    rest = " ".join(parts).strip()
    return rest if re.search(r"[^\W_]", rest) else ""


# Without a repeat that can begin anywhere, because models may write 100,000 marks: that would take minutes.
@lru_cache(maxsize=64)
def _pattern(signoff: str) -> re.Pattern[str]:
    words = re.findall(rf"[^\W_]+(?:[{_APOSTROPHES}][^\W_]+)*", signoff)
    if not words:  # a sign-off of signs alone, such as a waving hand
        return re.compile(re.escape(signoff.strip()))
    spelled = (re.sub(f"[{_APOSTROPHES}]", f"[{_APOSTROPHES}]?", re.escape(word)) for word in words)
    between = r"[\W_]+"
    return re.compile(rf"(?<![^\W_]){between.join(spelled)}(?![^\W_])", re.IGNORECASE)
