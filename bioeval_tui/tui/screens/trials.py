"""Every conversation of a run at a glance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.widget import Widget

from bioeval_tui.run_state import ConversationKey, RunState
from bioeval_tui.text import plural
from bioeval_tui.tui.screens.dialog import Dialog
from bioeval_tui.tui.view.trials import tiles
from bioeval_tui.tui.widgets.tile_grid import TileGrid

LOOK_S = 0.25


class TrialsScreen(Dialog[ConversationKey]):
    """Returns the conversation that was opened; None when none was."""

    NAME: ClassVar[str] = "All trials"
    ABOUT: ClassVar[str] = (
        "Every conversation of the run: state, message, latencies of its answers, score so far. "
        "What needs attention stands first."
    )
    DEFAULT_CSS = """
    TrialsScreen {
        & > .dialog--box { width: 100%; max-width: 100%; height: 100%; max-height: 100%; padding: 0 1; }
        & TileGrid { height: 1fr; }
        &.-narrow > .dialog--box { padding: 0; }
    }
    """

    def __init__(self, state: RunState, now: Callable[[], datetime | None]) -> None:
        super().__init__()
        self._state = state
        self._now = now
        self._grid = TileGrid()

    @property
    def heading(self) -> str:
        """How many there are."""
        started = self._state.started
        trials = started.trials if started else 1
        return f"{started.job_name if started else 'run'} · {plural(trials, 'trial')}, what needs attention first"

    def compose_body(self) -> Iterable[Widget]:
        """The grid."""
        yield self._grid

    def on_mount(self) -> None:
        """Draw, and keep up with the run."""
        self._look()
        self.set_interval(LOOK_S, self._look)
        self._grid.focus()

    def _look(self) -> None:
        self._grid.show(tiles(self._state, self._now()))

    @on(TileGrid.Chosen)
    def _chosen(self, event: TileGrid.Chosen) -> None:
        self.dismiss(event.tile.key)
