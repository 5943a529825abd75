"""Draws what depends on the cursor only when the cursor rests, so that holding down a key stays fast."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from textual.screen import Screen

REST_S = 0.1
"""How long the cursor must not move to be at rest, in seconds."""


class AtRest:
    """Calls `act` after the cursor's line was painted; while the cursor keeps moving, only once it rests."""

    def __init__(self, screen: Screen[Any], act: Callable[[], object]) -> None:
        self._screen = screen
        self._act = act
        self._moved_at = float("-inf")
        self.pending = False

    def moved(self) -> None:
        """Note that the cursor has moved."""
        now = monotonic()
        moves_on = now - self._moved_at < REST_S
        self._moved_at = now
        if self.pending:
            return
        self.pending = True
        if moves_on:
            self._screen.set_timer(REST_S, self._look)
        else:
            self._screen.call_after_refresh(self._now)

    def _look(self) -> None:
        left = self._moved_at + REST_S - monotonic()
        if left > 0.005:
            self._screen.set_timer(left, self._look)
        else:
            self._now()

    def _now(self) -> None:
        self.pending = False
        if self._screen.is_attached:
            self._act()
