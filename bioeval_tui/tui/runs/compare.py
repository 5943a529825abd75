"""Two runs side by side: what may be said of the difference, then tasks, assertions and times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.runs import comparison_view
from bioeval_tui.tui.shared.dialog import Dialog
from bioeval_tui.tui.shared.tones import paint

if TYPE_CHECKING:
    from bioeval_tui.report.compared import RunComparison


class CompareDialog(Dialog[None]):
    """Reads a comparison that is ready."""

    NAME: ClassVar[str] = "Compare two runs"
    ABOUT: ClassVar[str] = (
        "Run B against run A, by condition. Differences are paired by trial; an interval is shown from "
        "five pairs on, and a time difference only between runs of equal concurrency."
    )
    HEADING: ClassVar[str] = "B against A"
    DEFAULT_CSS = """
    CompareDialog > .dialog--box { width: 90%; max-width: 130; }
    CompareDialog .dialog--body { scrollbar-gutter: stable; }
    CompareDialog.-narrow > .dialog--box { width: 100%; height: 100%; }
    CompareDialog.-narrow .dialog--body { height: 1fr; }
    """

    def __init__(self, found: RunComparison) -> None:
        super().__init__()
        self._found = found

    def compose_body(self) -> Iterable[Widget]:
        """One text, scrollable."""
        with VerticalScroll(classes="dialog--body"):
            yield Static(id="compared", markup=False)

    def on_mount(self) -> None:
        """Give the keys to the text."""
        self.query_one(VerticalScroll).focus()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        body = self.query_one(VerticalScroll)
        width = body.scrollable_content_region.width
        if width > 0:
            lines = comparison_view.lines(self._found, width)
            self.query_one("#compared", Static).update(Content("\n").join([paint(*line) for line in lines]))
