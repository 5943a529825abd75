"""Patterns that match words however Markdown marks them and however lines wrap."""

from __future__ import annotations

import re

_MARKS = r"[\s*_`~#>|▌│•]"
_STRIP = re.compile(r"[*_`~#>|]+")
MAX_PATTERN = 500


def pattern_of(words: str) -> re.Pattern[str] | None:
    """Return a pattern for `words`, ignoring case, or None if they contain nothing to search for.

    Between two words any white space, line end or Markdown mark may stand, so that the same pattern finds
    a passage in the source and in its rendered, wrapped form. The words themselves are taken literally.
    """
    parts = _STRIP.sub(" ", words[:MAX_PATTERN]).split() or words[:MAX_PATTERN].split()
    if not parts:
        return None
    return re.compile(f"{_MARKS}+".join(re.escape(part) for part in parts), re.IGNORECASE)


def spans_by_line(lines: list[str], pattern: re.Pattern[str]) -> list[list[tuple[int, int, int]]]:
    """Return for each line the `(start, end, which)` of matches on it, `which` counting matches over all lines.

    A match that wraps is marked on each of its lines.
    """
    found: list[list[tuple[int, int, int]]] = [[] for _ in lines]
    joined = "\n".join(lines)
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    row = 0
    for which, match in enumerate(pattern.finditer(joined)):
        start, end = match.span()
        while row + 1 < len(starts) and starts[row + 1] <= start:
            row += 1
        here = row
        while here < len(lines) and starts[here] < end:
            first = max(0, start - starts[here])
            last = min(len(lines[here]), end - starts[here])
            first += len(lines[here][first:last]) - len(lines[here][first:last].lstrip()) if here > row else 0
            if last > first:
                found[here].append((first, last, which))
            here += 1
    return found
