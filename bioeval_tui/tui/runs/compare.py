"""The comparison of two runs: conclusions, then tasks, assertions and times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.report import comparison
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.runs import comparison_view
from bioeval_tui.tui.shared.cells import paint
from bioeval_tui.tui.shared.dialogs import Dialog, Tell, WorkDialog
from bioeval_tui.tui.shared.rows_widget import Labelled, RowList

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.tui.shared.program import Program


def compare(program: Program, a: str, b: str) -> None:
    """Read both recordings, then show the comparison of run B with run A."""

    async def work(tell: Tell) -> comparison.Comparison:
        return await program.services.from_runs(comparison.compare, a, b)

    def compared(found: comparison.Comparison | None) -> None:
        if found is not None:
            program.push_screen(CompareDialog(found))

    program.push_screen(WorkDialog("Reading both recordings", work), compared)


class ComparedRows(RowList):
    """The rows of the table; the cursor skips rows that compare nothing."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~compared-rows")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether the action is available in this dialog."""
        box = self.screen
        if action == "choose" and isinstance(box, CompareDialog):
            return bool(box.here.title)
        return super().check_action(action, parameters)


class CompareDialog(Dialog[None]):
    """Shows a finished comparison; enter shows the passages of both runs that a row compares."""

    NAME: ClassVar[str] = "Compare two runs"
    ABOUT: ClassVar[str] = (
        "Run B compared with run A, by condition. Differences are paired by trial. An interval needs at least"
        " five pairs, and a difference in response times needs runs of equal concurrency. Press Enter to see "
        "what both runs did."
    )
    HEADING: ClassVar[str] = "B compared with A"
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")
    DEFAULT_CSS = """
    CompareDialog > .dialog--box { width: 96%; max-width: 150; height: 90%; }
    CompareDialog #head { height: auto; max-height: 50%; }
    CompareDialog ComparedRows { height: 1fr; margin-top: 1; }
    CompareDialog.-narrow > .dialog--box { width: 100%; height: 100%; }
    """

    def __init__(self, compared: comparison.Comparison) -> None:
        super().__init__()
        self._found = compared
        self._only_differences = False
        self._table: list[comparison_view.ComparisonRow] = []
        self._list = ComparedRows()

    def compose_body(self) -> Iterable[Widget]:
        """How the runs differ in setup, the conclusions, and the table."""
        with VerticalScroll(id="head"):
            yield Labelled()
        yield self._list

    def on_mount(self) -> None:
        """Focus the table."""
        self._list.focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._draw()
        self._list.move_to(next((at for at, row in enumerate(self._table) if row.title), 0))

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.call_after_refresh(self._draw)

    @property
    def here(self) -> comparison_view.ComparisonRow:
        """The row under the cursor."""
        at = self._list.cursor
        return self._table[at] if at < len(self._table) else comparison_view.ComparisonRow([])

    def caption(self) -> str:
        """The conclusions."""
        return " ".join(condition.sentence for condition in self._found.conditions)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One key toggles between differences and all rows."""
        if action in ("differences", "every_row"):
            return self._only_differences == (action == "every_row")
        return True

    def action_differences(self) -> None:
        """Hide rows that are the same."""
        self._show(only_differences=True)

    def action_every_row(self) -> None:
        """Show rows that are the same."""
        self._show(only_differences=False)

    def _show(self, *, only_differences: bool) -> None:
        self._only_differences = only_differences
        self._draw()
        self.refresh_bindings()

    def _draw(self) -> None:
        width = self._list.scrollable_content_region.width
        if width > 0:
            compared = self._found
            self._table = comparison_view.table(compared, width, only_differences=self._only_differences)
            self._list.set_rows(len(self._table), self._row, lines=[1 + len(row.more) for row in self._table])
            self.query_one("#head Labelled", Labelled).show(comparison_view.head(compared))

    def _row(self, at: int, width: int) -> Content:
        row = self._table[at]
        return Content("\n").join([paint(*row.line), *map(Content, row.more)])

    @on(RowList.Highlighted)
    def _moved(self) -> None:
        self.refresh_bindings()

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        # Transcripts are slow to load and not needed for the table.
        from bioeval_tui.tui.runs.passages import PassagesDialog

        a, b = self._found.a, self._found.b
        self.app.push_screen(PassagesDialog((a, b), cast("Condition", self.here.condition), self.here.title))
