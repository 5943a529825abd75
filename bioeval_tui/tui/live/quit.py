"""Asks on quitting during a run whether to stop it or leave it running."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.dialog import Dialog


class QuitScreen(Dialog[bool]):
    """True to stop the runs, False to leave them running, None to stay. The id of a run that is being started is ""."""

    NAME: ClassVar[str] = "Quit"
    HEADING: ClassVar[str] = "A run is in progress"
    BINDINGS: ClassVar[list[BindingType]] = bindings("quit")

    def __init__(self, run_ids: Sequence[str]) -> None:
        super().__init__()
        self._run_ids = run_ids

    def compose_body(self) -> Iterable[Widget]:
        """Explain each answer."""
        known = self._run_ids[0] if len(self._run_ids) == 1 else ""
        again = f"bioeval-tui watch {known} shows it again" if known else "bioeval-tui runs list names it"
        several = (
            f"There are {len(self._run_ids)}; the answer is for all.\n" if len(self._run_ids) > 1 else ""
        )
        yield Static(
            Content(
                f"{several}The engine runs by itself. Left alone, it continues and is recorded;\n"
                f"{again}.\n"
                "Stopped, it keeps what was said so far.\n"
            ),
            markup=False,
        )

    def action_answer(self, stop: bool) -> None:
        """Close with the answer."""
        self.dismiss(stop)
