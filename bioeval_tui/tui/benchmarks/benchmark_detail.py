"""The details of a machine-learning task, beside the table, or as a dialog where the terminal is too narrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget

from bioeval_tui.tui.benchmarks import benchmarks_view
from bioeval_tui.tui.items import BenchmarkDetail, BenchmarkItem
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.base import key_for
from bioeval_tui.tui.shared.dialogs import Dialog
from bioeval_tui.tui.shared.prose_widget import Prose
from bioeval_tui.tui.shared.rows_widget import Labelled


class BenchmarkCard(VerticalScroll, can_focus=True):
    """Shows one task at a time."""

    DEFAULT_CSS = """
    BenchmarkCard { padding: 0 2; scrollbar-gutter: stable; & > Labelled { padding-right: 1; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~card")

    def __init__(self, item: BenchmarkItem | None = None, detail: BenchmarkDetail | None = None) -> None:
        super().__init__()
        self._item = item
        self._detail = detail
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        """Facts and leaderboard above the description."""
        yield Labelled()
        yield Prose()

    def show(self, item: BenchmarkItem | None, detail: BenchmarkDetail | None) -> None:
        """Show another task, or more of it; another one begins at its top."""
        if item is not None and (self._item is None or item.task_id != self._item.task_id):
            self.scroll_home(animate=False)
        self._item, self._detail = item, detail
        self._draw()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width - 1
        if not self.is_mounted or width < 1 or self._drawn == (self._item, self._detail, width):
            return
        self._drawn = (self._item, self._detail, width)
        item = self._item
        prepare = key_for(self.screen, "prepare")
        lines = benchmarks_view.card(item, self._detail, width, prepare) if item else []
        self.query_one(Labelled).show(lines)
        self.query_one(Prose).show(benchmarks_view.description(item, self._detail) if item else "")


class BenchmarkDialog(Dialog[None]):
    """The details of one task."""

    NAME: ClassVar[str] = "Benchmark"
    ABOUT: ClassVar[str] = "The task's description and the scores on its leaderboard."
    DEFAULT_CSS = """
    BenchmarkDialog > .dialog--box { height: 90%; }
    BenchmarkDialog BenchmarkCard { height: 1fr; padding: 0; }
    BenchmarkDialog.-narrow > .dialog--box { height: 100%; }
    """

    def __init__(self, item: BenchmarkItem, detail: BenchmarkDetail | None) -> None:
        super().__init__()
        self._item = item
        self._detail = detail

    def compose_body(self) -> Iterable[Widget]:
        """The card."""
        yield BenchmarkCard(self._item, self._detail)

    def on_mount(self) -> None:
        """Focus the card."""
        self.query_one(BenchmarkCard).focus()

    def show(self, detail: BenchmarkDetail) -> None:
        """Show what has been loaded since the dialog was opened."""
        self.query_one(BenchmarkCard).show(self._item, detail)
