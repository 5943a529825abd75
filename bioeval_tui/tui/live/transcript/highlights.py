"""Highlights of a transcript: search matches in order, and evidence."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bioeval_tui.report.messages import pattern_of
from bioeval_tui.tui.live.transcript.blocks import Block
from bioeval_tui.tui.live.transcript.document import Document, Spot


class Match(NamedTuple):
    """A match: its message, the block in the message's blocks, and which match in that block."""

    item: int
    block: int
    which: int


class Span(NamedTuple):
    """Characters of a painted line that are drawn in another style."""

    start: int
    end: int
    style: str


@dataclass(slots=True)
class Highlights:
    """The search and the evidence of one transcript. `version` changes whenever spans may have changed."""

    pattern: re.Pattern[str] | None = None
    current: Match | None = None
    evidence: dict[int, re.Pattern[str]] = field(default_factory=dict)
    """What is marked as evidence, by item."""
    version: int = 0
    counts: dict[int, list[int]] = field(default_factory=dict)
    """Matches per block, for each item that has any."""

    @property
    def total(self) -> int:
        """Number of matches."""
        return sum(sum(counts) for counts in self.counts.values())

    @property
    def position(self) -> int:
        """The number of the current match, from 1; 0 if there is none."""
        if self.current is None:
            return 0
        item, block, which = self.current
        before = sum(sum(counts) for index, counts in self.counts.items() if index < item)
        return before + sum(self.counts.get(item, [])[:block]) + which + 1

    def look_for(self, words: str, document: Document) -> int:
        """Search all messages for `words` and return the number of matches."""
        self.pattern, self.current = pattern_of(words), None
        self.version += 1
        self.counts = {}
        if self.pattern is not None:
            for index in range(len(document.items)):
                self.count(index, document)
        return self.total

    def count(self, index: int, document: Document) -> None:
        """Count the matches of one item again."""
        self.counts.pop(index, None)
        if self.pattern is None or not self._may_match(index, document):
            return
        counts = [self._in_block(block) for block in document.blocks(index)]
        if any(counts):
            last = next(reversed(self.counts), -1)
            self.counts[index] = counts
            if last > index:
                self.counts = dict(sorted(self.counts.items()))

    def step(self, direction: int, origin: Spot) -> Match | None:
        """Move to the next (1) or previous (-1) match, from the current one or else from `origin`, around the ends."""
        order = [
            Match(i, b, w)
            for i, counts in self.counts.items()
            for b, n in enumerate(counts)
            for w in range(n)
        ]
        if not order:
            return None
        if self.current is None:
            at = bisect_left(order, (origin.item, origin.block, -1))
            at = at if direction > 0 else at - 1
        elif direction > 0:
            at = bisect_right(order, self.current)
        else:
            at = bisect_left(order, self.current) - 1
        self.current = order[at % len(order)]
        self.version += 1
        return self.current

    def point_out(self, quotes: Iterable[tuple[int, str]]) -> dict[int, re.Pattern[str]]:
        """Mark several quotations as (item, quote), instead of the previous ones; return the patterns by item."""
        by_item: dict[int, list[str]] = {}
        for item, quote in quotes:
            if (pattern := pattern_of(quote)) is not None:
                by_item.setdefault(item, []).append(pattern.pattern)
        self.evidence = {
            item: re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)
            for item, patterns in by_item.items()
        }
        self.version += 1
        return self.evidence

    def spans(self, item: int, number: int, block: Block, line: int) -> list[Span]:
        """Return the spans of a painted line that are drawn in another style."""
        evidence = self.evidence.get(item)
        if (self.pattern is None and evidence is None) or block.lines is None:
            return []
        key = (self.version, item, number)
        if block.highlights is None or block.highlights[0] != key:
            block.highlights = (key, self._spans(item, number, block, evidence))
        spans: list[list[Span]] = block.highlights[1]
        return spans[line] if line < len(spans) else []

    def line_of(self, match: Match, block: Block) -> int:
        """Return the painted line of its block on which a match begins."""
        texts = [line.text for line in block.lines or ()]
        if self.pattern is not None:
            for row, spans in enumerate(spans_by_line(texts, self.pattern)):
                if any(which >= match.which for _, _, which in spans):
                    return row
        return 0

    def _spans(
        self, item: int, number: int, block: Block, evidence: re.Pattern[str] | None
    ) -> list[list[Span]]:
        texts = [line.text for line in block.lines or ()]
        by_row: list[list[Span]] = [[] for _ in texts]
        if evidence is not None:
            for row, spans in enumerate(spans_by_line(texts, evidence)):
                by_row[row].extend(Span(start, end, "evidence") for start, end, _ in spans)
        if self.pattern is not None:
            here = self.current.which if self.current and self.current[:2] == (item, number) else -1
            for row, spans in enumerate(spans_by_line(texts, self.pattern)):
                by_row[row].extend(
                    Span(start, end, "match-current" if which == here else "match")
                    for start, end, which in spans
                )
        return by_row

    def _may_match(self, index: int, document: Document) -> bool:
        item = document.items[index]
        assert self.pattern is not None
        if (
            item.message is None
            or item.message.generation
            or item.message.spans
            or item.message.failures
            or item.message.violations
        ):
            return True
        return self.pattern.search(item.message.text) is not None

    def _in_block(self, block: Block) -> int:
        if self.pattern is None or block.kind == "gap":
            return 0
        return sum(1 for _ in self.pattern.finditer(block.text))


def spans_by_line(lines: list[str], pattern: re.Pattern[str]) -> list[list[tuple[int, int, int]]]:
    """Return for each line the `(start, end, which)` of matches on it, `which` counting matches over all lines.

    A match that wraps is marked on each of its lines.
    """
    by_line: list[list[tuple[int, int, int]]] = [[] for _ in lines]
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
                by_line[here].append((first, last, which))
            here += 1
    return by_line
