"""The findings on a submission's file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.text import plural
from bioeval_tui.tui.items import Examined
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialog import Dialog, DialogText
from bioeval_tui.tui.shared.tones import paint
from bioeval_tui.tui.shared.work import Tell, WorkDialog

if TYPE_CHECKING:
    from bioeval_tui.tui.items import MedalRow
    from bioeval_tui.tui.shared.program import Program

HEADS: dict[str, Cell] = {
    "valid": Cell("✓ valid: it would be graded", "good"),
    "invalid": Cell("✗ invalid: the file's fault", "bad"),
    "not_graded": Cell("? could not be checked", "warn"),
}


def examine(app: Program, row: MedalRow) -> None:
    """Check the file of a graded submission, then show everything that is wrong with it."""

    async def work(tell: Tell) -> Examined:
        return await app.services.examine(row.task_id, str(row.path or row.file))

    def show(found: Examined | None) -> None:
        if found is not None:
            app.push_screen(FindingsDialog(row.task_id, row.file, found))

    app.push_screen(WorkDialog(f"Checking {row.file}", work), show)


class FindingsDialog(Dialog[None]):
    """One line per finding."""

    NAME: ClassVar[str] = "Validation"
    ABOUT: ClassVar[str] = "Every problem with the file, not only the first."

    def __init__(self, task_id: str, file: str, found: Examined) -> None:
        super().__init__()
        self._task_id = task_id
        self._file = file
        self._found = found

    @property
    def heading(self) -> str:
        """The task."""
        return f"Validated for {self._task_id}"

    def compose_body(self) -> Iterable[Widget]:
        """The verdict, then the findings."""
        found = self._found
        lines = [paint(HEADS[found.status]), paint(Cell(self._file, "quiet")), Content("")]
        if found.findings:
            lines.append(paint(Cell(plural(len(found.findings), "finding"), "strong")))
        lines += [paint(Cell(f"· {sentence}")) for sentence in found.findings]
        with DialogText():
            yield Static(Content("\n").join(lines), markup=False)
