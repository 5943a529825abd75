"""Random faults with a seed: latency, server errors, resets and slow answers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

Kind = Literal["none", "error", "overloaded", "reset", "drip"]

_KINDS: tuple[tuple[Kind, float], ...] = (
    ("error", 0.08),
    ("overloaded", 0.04),
    ("reset", 0.05),
    ("drip", 0.05),
)
DRIP_SLOWER = 8.0
"""Factor by which a dripped answer is slower."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens to one request: what kind of failure, after how much extra latency."""

    kind: Kind = "none"
    delay_s: float = 0.0


class Chaos:
    """Draws the faults of one session's requests. Sessions with the same seed and number get the same faults."""

    def __init__(self, seed: int, session: int) -> None:
        self._random = random.Random(f"{seed}/{session}")  # noqa: S311 - nothing secret is drawn

    def draw(self) -> Trouble:
        """Return the fault, if any, of the next request."""
        delay = self._random.uniform(0.05, 0.5)
        point = self._random.random()
        for kind, share in _KINDS:
            if point < share:
                return Trouble(kind, delay)
            point -= share
        return Trouble("none", delay)
