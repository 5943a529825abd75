"""Two runs side by side: what may be said of the difference, then tasks, assertions and times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.runs import comparison_view
from bioeval_tui.tui.shared.dialog import Dialog
from bioeval_tui.tui.shared.tones import paint
from bioeval_tui.tui.shared.work import Tell, WorkDialog

if TYPE_CHECKING:
    from bioeval_tui.report.compared import RunComparison
    from bioeval_tui.tui.shared.program import Program


def compare(program: Program, a: str, b: str) -> None:
    """Compare run B with run A: read both recordings, then show what may be said of them."""

    async def work(tell: Tell) -> RunComparison:
        return await program.services.compare(a, b)

    def compared(found: RunComparison | None) -> None:
        if found is not None:
            program.push_screen(CompareDialog(found))

    program.push_screen(WorkDialog("Reading both recordings", work), compared)


class CompareDialog(Dialog[None]):
    """Reads a comparison that is ready."""

    NAME: ClassVar[str] = "Compare two runs"
    ABOUT: ClassVar[str] = (
        "Run B against run A, by condition. Differences are paired by trial; an interval is shown from "
        "five pairs on, and a time difference only between runs of equal concurrency."
    )
    HEADING: ClassVar[str] = "B against A"
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")
    DEFAULT_CSS = """
    CompareDialog > .dialog--box { width: 96%; max-width: 150; }
    CompareDialog .dialog--body { scrollbar-gutter: stable; }
    CompareDialog.-narrow > .dialog--box { width: 100%; height: 100%; }
    CompareDialog.-narrow .dialog--body { height: 1fr; }
    """

    def __init__(self, found: RunComparison) -> None:
        super().__init__()
        self._found = found
        self._only_differences = False

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

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One key shows only differences, and everything again."""
        if action in ("differences", "every_row"):
            return self._only_differences == (action == "every_row")
        return True

    def action_differences(self) -> None:
        """Leave out what is the same."""
        self._show(only_differences=True)

    def action_every_row(self) -> None:
        """Show what is the same, too."""
        self._show(only_differences=False)

    def _show(self, *, only_differences: bool) -> None:
        self._only_differences = only_differences
        self._draw()
        self.refresh_bindings()

    def _draw(self) -> None:
        body = self.query_one(VerticalScroll)
        width = body.scrollable_content_region.width
        if width > 0:
            lines = comparison_view.lines(self._found, width, only_differences=self._only_differences)
            self.query_one("#compared", Static).update(Content("\n").join([paint(*line) for line in lines]))
