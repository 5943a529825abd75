"""Regular expressions that cannot hang: every pair of instruction and place is looked at once.

A pattern becomes a small program of at most 2,000 instructions, run by backtracking that remembers
where it has been (as RE2's bit-state matcher does), so that work is bounded by program × text and is
counted step by step. That excludes what needs more: back-references, look-around, possessive and atomic
groups are refused when the pattern is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluate.assertions.expressions.limits import Budget
from bioeval_tui.evaluate.assertions.expressions.values import Found

_MAX_SEEN = 4_000_000  # bytes

Test = Callable[[str], bool]
Instruction = tuple[str, object, object]
"""`char test`, `split first second`, `jump to`, `save slot`, `assert kind`, `match`."""

CLASSES: dict[str, Test] = {
    "d": lambda char: "0" <= char <= "9",
    "w": lambda char: char.isascii() and (char.isalnum() or char == "_"),
    "s": lambda char: char in " \t\n\x0b\f\r",
}


@dataclass(frozen=True, slots=True)
class Regex:
    """A compiled pattern."""

    pattern: str
    program: tuple[Instruction, ...]
    groups: int

    def match_at(self, text: str, start: int, budget: Budget, *, full: bool = False) -> Found | None:
        """Return the match that begins at `start` (and, if `full`, ends with the text), or None."""
        seen = self._seen(text, budget)
        return self._run(text, start, seen, budget, full)

    def search(self, text: str, start: int, budget: Budget) -> Found | None:
        """Return the first match at or after `start`, or None."""
        seen = self._seen(text, budget)
        for place in range(start, len(text) + 1):
            if place & 3 == 0:
                budget.step()
            # What failed from an earlier start fails from here too, so `seen` is shared.
            if found := self._run(text, place, seen, budget, full=False):
                return found
        return None

    def all(self, text: str, budget: Budget) -> list[Found]:
        """Return all matches that do not overlap."""
        found: list[Found] = []
        place = 0
        while place <= len(text) and (match := self.search(text, place, budget)):
            budget.hold(200)
            found.append(match)
            place = match.start + (len(match.value) or 1)
        return found

    def _seen(self, text: str, budget: Budget) -> bytearray:
        size = len(self.program) * (len(text) + 1)
        if size > _MAX_SEEN:
            raise ExpressionError(
                f"the text of {len(text):,} characters is too long for this pattern; take() a part of it"
            )
        budget.step(1 + size // 4096)
        return bytearray(size)

    def _run(self, text: str, start: int, seen: bytearray, budget: Budget, full: bool) -> Found | None:
        held = budget.memory
        try:
            return self._backtrack(text, start, seen, budget, full)
        finally:
            budget.memory = held  # the stack is gone

    def _backtrack(self, text: str, start: int, seen: bytearray, budget: Budget, full: bool) -> Found | None:
        size = len(text) + 1
        work = 0
        stack: list[tuple[int, int, tuple[int, ...]]] = [(0, start, (-1,) * (2 * self.groups + 2))]
        while stack:
            at, place, slots = stack.pop()
            while True:
                work += 1
                if work & 3 == 0:  # one of these is about a quarter of a step of the tree walk
                    budget.step()
                if seen[at * size + place]:
                    break
                seen[at * size + place] = 1
                operation, first, second = self.program[at]
                if operation == "char":
                    if place >= len(text) or not first(text[place]):  # type: ignore[operator]
                        break
                    at, place = at + 1, place + 1
                elif operation == "split":
                    budget.hold(96 + 16 * self.groups)
                    stack.append((second, place, slots))  # type: ignore[arg-type]
                    at = first  # type: ignore[assignment]
                elif operation == "jump":
                    at = first  # type: ignore[assignment]
                elif operation == "save":
                    slots = (*slots[:first], place, *slots[first + 1 :])  # type: ignore[index,operator]
                    at += 1
                elif operation == "assert":
                    if not _holds(str(first), text, place):
                        break
                    at += 1
                elif full and place != len(text):
                    break
                else:
                    return self._found(text, start, place, slots)
        return None

    def _found(self, text: str, start: int, end: int, slots: tuple[int, ...]) -> Found:
        groups = [text[start:end]]
        for group in range(1, self.groups + 1):
            begin, stop = slots[2 * group : 2 * group + 2]
            groups.append(text[begin:stop] if begin >= 0 <= stop else "")
        return Found(groups[0], groups, start)


def _holds(kind: str, text: str, place: int) -> bool:
    if kind == "start":
        return place == 0
    if kind == "end":
        return place == len(text) or (place == len(text) - 1 and text[place] == "\n")
    if kind == "start of line":
        return place == 0 or text[place - 1] == "\n"
    if kind == "end of line":
        return place == len(text) or text[place] == "\n"
    word = CLASSES["w"]
    before = place > 0 and word(text[place - 1])
    after = place < len(text) and word(text[place])
    return (before != after) == (kind == "word")
