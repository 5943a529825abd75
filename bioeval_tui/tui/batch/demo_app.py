"""The demo of a batch: a recorded one, all conversations at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.tui.batch.batch_view import Glance
from bioeval_tui.tui.batch.grid import GridScreen
from bioeval_tui.tui.data.batches import replayed_batch
from bioeval_tui.tui.demo_app import DemoApp

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.attach import ReplayedRun
    from bioeval_tui.tui.data.services import AppServices

BATCH_S = 25.0
"""How long the batch is shown at the normal pace, in seconds."""


class BatchDemoApp(DemoApp):
    """Shows a recorded batch on its grid, then the best model."""

    def __init__(
        self, services: AppServices, paths: Sequence[Path], run: ReplayedRun, **options: Any
    ) -> None:
        super().__init__(services, "runs", run, graded=False, **options)
        self._paths = paths
        self._grid: GridScreen | None = None

    def on_mount(self) -> None:
        """Open the grid over the list of its runs. Textual calls `on_mount` of every base class as well."""
        self._show_grid()

    def _show_grid(self) -> None:
        def opened(glance: Glance) -> None:
            self.open_conversation(glance, None)

        self.scene, self._grid = "run", GridScreen(self._replayed, opened, batch_id="demo", now=lambda: None)
        self.push_screen(self._grid)

    def _replayed(self) -> AsyncIterator[Sequence[Glance]]:
        return replayed_batch(self._paths, BATCH_S / self._pace, held=lambda: self.held)

    def _has_run(self) -> bool:
        return self._grid is not None and self._grid.ended

    def _again(self) -> None:
        self._show_grid()
