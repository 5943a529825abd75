"""Takes graded submissions into the table as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from time import monotonic
from typing import TYPE_CHECKING

from bioeval_tui.errors import BioevalError
from bioeval_tui.tui.shared.cells_view import Cell

if TYPE_CHECKING:
    from bioeval_tui.tui.items import MedalRow
    from bioeval_tui.tui.medals.submissions_widget import Submissions
    from bioeval_tui.tui.shared.base import BaseScreen

FRAME_S = 0.05
SHARE = 10
"""After a redraw while rows stream in, wait for this many times its duration."""
SLICE_S = 0.008
"""How long rows are added before control returns to the screen, in seconds."""


class GradedFeed:
    """Grades, or reads reports, in a worker of the screen; calls `taken` once the existing rows are in."""

    def __init__(self, screen: BaseScreen, submissions: Submissions, taken: Callable[[], None]) -> None:
        self._screen = screen
        self._submissions = submissions
        self._taken = taken
        self.samples = False
        """Whether the shown submissions are the samples."""
        self.is_stopped = False
        """Whether the user stopped the grading."""
        self.is_done = False
        """Whether nothing is being taken in."""
        self.failure = ""
        """Why the grading stopped by itself."""
        self._watching = False
        self._redraw_planned = False
        self._pause = FRAME_S

    @property
    def is_grading(self) -> bool:
        """Whether submissions are still to come that the screen waits for."""
        return not self.is_done and not self._watching

    @property
    def state(self) -> Cell:
        """The state for the title."""
        if self.failure:
            return Cell("! stopped", "bad")
        if not self.is_done:
            return Cell("● grading…", "busy")
        if self._watching:
            return Cell("● watching", "quiet")
        if self.is_stopped:
            return Cell("■ stopped before the rest was graded", "warn")
        return Cell("■ all graded" if self._submissions.table.entries else "")

    def start(self) -> None:
        """Take rows in."""
        self.is_stopped = self.is_done = False
        self._screen.run_worker(self._take(self._screen.bioeval.services.medals()), group="medals")

    def finish(self) -> None:
        """Draw the rows so far; nothing more is awaited."""
        self.is_done = True
        self._submissions.redraw()
        self._taken()

    def stop(self) -> None:
        """Stop grading; finished results are kept."""
        self._screen.workers.cancel_group(self._screen, "medals")
        self.is_stopped = True
        self.finish()

    async def _take(self, rows: AsyncIterator[MedalRow | None]) -> None:
        """Add the existing rows, then follow new reports in a worker without end."""
        began = monotonic()
        try:
            async for row in rows:
                if row is None:
                    self._watching = True
                    self.finish()
                    self._screen.run_worker(self._take(rows), group="feed")
                    return
                self.is_done = False
                self._submissions.table.add(row)
                self._redraw_soon()
                if monotonic() - began > SLICE_S:
                    await asyncio.sleep(0)
                    began = monotonic()
        except (BioevalError, OSError) as error:
            self.failure = str(error) or type(error).__name__
        except asyncio.CancelledError:
            if isinstance(rows, AsyncGenerator):
                await rows.aclose()  # and with it who grades
            raise
        self._watching = False
        self.finish()

    def _redraw_soon(self) -> None:
        """Redraw the first row at once, later ones at most once a frame, and more seldom as the table grows."""
        if len(self._submissions.table.entries) == 1:
            self._redraw()
        elif not self._redraw_planned:
            self._redraw_planned = True
            self._screen.set_timer(self._pause, self._redraw)

    def _redraw(self) -> None:
        self._redraw_planned = False
        if not self.is_done:
            began = monotonic()
            self._submissions.redraw()
            self._pause = max(FRAME_S, SHARE * (monotonic() - began))
