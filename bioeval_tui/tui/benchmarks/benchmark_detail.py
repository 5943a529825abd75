"""A machine-learning task as a dialog, for terminals too narrow to have it beside the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.widget import Widget

from bioeval_tui.tui.benchmarks.benchmark_card_widget import BenchmarkCard
from bioeval_tui.tui.items import BenchmarkDetail, BenchmarkItem
from bioeval_tui.tui.shared.dialog import Dialog


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
