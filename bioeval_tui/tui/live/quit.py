"""Asks on quitting during a run whether to stop it or leave it running."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.dialog import Dialog


class QuitScreen(Dialog[bool]):
    """True to stop the run, False to leave it running, None to stay."""

    NAME: ClassVar[str] = "Quit"
    HEADING: ClassVar[str] = "A run is in progress"
    BINDINGS: ClassVar[list[BindingType]] = bindings("quit")

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self._run_id = run_id

    def compose_body(self) -> Iterable[Widget]:
        """Explain each answer."""
        yield Static(
            Content(
                "The engine runs by itself. Left alone, it continues and is recorded;\n"
                f"bioeval-tui watch {self._run_id} shows it again.\n"
                "Stopped, it keeps what was said so far.\n"
            ),
            markup=False,
        )

    def action_answer(self, stop: bool) -> None:
        """Close with the answer."""
        self.dismiss(stop)
