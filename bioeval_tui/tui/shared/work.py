"""A dialog for long work: its progress, its duration, and a way to cancel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from time import monotonic
from typing import ClassVar, Generic

from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from bioeval_tui.errors import BioevalError
from bioeval_tui.text import clean_line
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialog import Dialog, Result
from bioeval_tui.tui.shared.tones import paint
from bioeval_tui.units import duration

Tell = Callable[[str], None]
SHOWN = 8
"""Number of the latest messages shown."""


class WorkDialog(Dialog[Result], Generic[Result]):
    """Runs `work`, which may post messages; returns its result, or None if it was cancelled."""

    NAME: ClassVar[str] = "Work"
    ABOUT: ClassVar[str] = "Working. Press Esc to cancel; no partial files are left behind."
    BINDINGS: ClassVar[list[BindingType]] = bindings("work")

    def __init__(self, heading: str, work: Callable[[Tell], Awaitable[Result]]) -> None:
        super().__init__()
        self._heading = heading
        self._work = work
        self._steps: list[str] = []
        self._failure = ""
        self._began = monotonic()
        self._worker: Worker[None] | None = None

    @property
    def heading(self) -> str:
        """A description of the work."""
        return self._heading

    def compose_body(self) -> Iterable[Widget]:
        """The messages, and the elapsed time."""
        yield Static(id="steps", markup=False)

    def on_mount(self) -> None:
        """Begin."""
        self._show()
        self.set_interval(0.25, self._show)
        self._worker = self.run_worker(self._do(), group="feed")

    async def _do(self) -> None:
        try:
            result = await self._work(self._tell)
        except (BioevalError, OSError) as error:
            self._failure = clean_line(str(error) or type(error).__name__, 1000)
            self._show()
        else:
            self.dismiss(result)

    def _tell(self, sentence: str) -> None:
        self._steps.append(clean_line(sentence))
        self._show()

    def _show(self) -> None:
        lines = [paint(Cell(f"· {sentence}", "quiet")) for sentence in self._steps[-SHOWN:]]
        if self._failure:
            lines.append(paint(Cell(f"✗ {self._failure}", "bad")))
        else:
            lines.append(paint(Cell(f"◌ {duration(monotonic() - self._began)}", "busy")))
        self.query_one("#steps", Static).update(Content("\n").join(lines))

    def action_close(self) -> None:
        """Stop the work, then close."""
        if self._worker is not None:
            self._worker.cancel()
        self.dismiss(None)
