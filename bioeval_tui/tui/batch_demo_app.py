"""The demo of a batch: two recorded agents on one grid."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.tui.data.batches import replayed_batch
from bioeval_tui.tui.demo_app import DemoApp
from bioeval_tui.tui.runs.grid import GridScreen

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.attach import ReplayedRun
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.runs.batch_view import Glance

BATCH_S = 25.0
"""How long a batch is shown at the slow pace, in seconds."""


class BatchDemoApp(DemoApp):
    """Shows a recorded batch on its grid, then the best model."""

    def __init__(self, services: AppServices, paths: Sequence[Path], **options: Any) -> None:
        super().__init__(services, "runs", over_it=lambda _: self._again(), **options)
        self._paths = paths
        self._grid: GridScreen | None = None

    @property
    def shown(self) -> ReplayedRun | None:
        """None: the grid plays the runs, and a conversation that is opened from it keeps its own
        pace.
        """
        return None

    def _again(self) -> None:
        """Open the grid over the list of its runs."""

        def replayed() -> AsyncIterator[Sequence[Glance]]:
            return replayed_batch(self._paths, BATCH_S / self.pace, held=lambda: self.held)

        opened = partial(self.open_conversation, batch_id=None)
        self.scene, self._grid = (
            "run",
            GridScreen(replayed, opened, batch_id="demo", now=lambda: None),
        )
        self.push_screen(self._grid)

    def _has_run(self) -> bool:
        return self._grid is not None and self._grid.ended
