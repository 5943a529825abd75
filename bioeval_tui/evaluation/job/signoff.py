"""The sign-off: the words with which the simulated user ends a conversation."""

from __future__ import annotations

import re
from functools import lru_cache

_APOSTROPHES = "'’ʼ"


def without_signoff(content: str, signoff: str) -> str | None:
    """Return the words around the sign-off (may be empty), or None if `content` does not contain it.

    Only its words and their order count, because models change its punctuation, case and line breaks.
    """
    rest, found = _pattern(signoff).subn(" ", content)
    if not found:
        return None
    rest = rest.strip()
    return rest if re.search(r"\w", rest) else ""


@lru_cache(maxsize=64)
def _pattern(signoff: str) -> re.Pattern[str]:
    words = re.findall(rf"\w+(?:[{_APOSTROPHES}]\w+)*", signoff)
    if not words:  # a sign-off of signs alone, such as a waving hand
        return re.compile(re.escape(signoff.strip()))
    spelled = (re.sub(f"[{_APOSTROPHES}]", f"[{_APOSTROPHES}]?", re.escape(word)) for word in words)
    between = r"[\W_]+"
    return re.compile(rf"[*_\"“”]*(?<!\w){between.join(spelled)}(?!\w)[*_\"“”]*[.!?…]*", re.IGNORECASE)
