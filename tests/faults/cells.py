"""A cell of the matrix of faults."""

from __future__ import annotations

from dataclasses import dataclass

from .peers import Fault
from .program import SHORT_S, TIMEOUT_S


@dataclass(frozen=True)
class Cell:
    """A fault of a peer, whose it is, and what a user is told.

    `asked` is how many requests of the first conversation meet it (0: as many as it takes), `times`
    how many at most. `sentence` has its variants parted by `|`.
    """

    name: str
    fault: Fault
    sentence: str
    whose: str = "infrastructure"
    asked: int = 4
    times: int | None = None
    timeout_s: float = TIMEOUT_S

    def was_met(self, requests: int) -> bool:
        """Say whether so many requests may have met it: one with little time may end unsent on a
        busy machine.
        """
        if self.timeout_s == SHORT_S:
            return 0 < requests <= (self.asked or requests)
        return requests == (self.asked or requests)

    def tells(self, words: str) -> bool:
        """Say whether the sentence stands in one line of words."""
        return "\n" not in words and any(part in words for part in self.sentence.split("|"))
