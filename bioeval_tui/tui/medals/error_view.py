"""Why a submission's score is what it is: residuals, classes, calibration, groups, attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.grade.explanation import PRIVATE
from bioeval_tui.text import clean
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialog import Dialog, DialogText
from bioeval_tui.tui.shared.tones import paint
from bioeval_tui.tui.shared.work import Tell, WorkDialog

if TYPE_CHECKING:
    from bioeval_tui.grade.explanation import Section
    from bioeval_tui.tui.items import MedalRow
    from bioeval_tui.tui.shared.program import Program


def explain(app: Program, row: MedalRow, *, show_answers: bool = False) -> None:
    """Analyse a valid submission, then show its error views."""

    async def work(tell: Tell) -> Sequence[Section]:
        return await app.services.explain(row, show_answers=show_answers)

    def show(found: Sequence[Section] | None) -> None:
        if found is not None:
            app.push_screen(ErrorView(row, found))

    app.push_screen(WorkDialog(f"Analysing {row.file}", work), show)


class ErrorView(Dialog[None]):
    """Tables with bars, one below the other."""

    NAME: ClassVar[str] = "Error view"
    ABOUT: ClassVar[str] = (
        "Where the submission is right and where it is wrong. Private answers are shown only if you ask for them."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("error-view")

    def __init__(self, row: MedalRow, sections: Sequence[Section]) -> None:
        super().__init__()
        self._row = row
        self._sections = sections

    @property
    def heading(self) -> str:
        """Task and agent."""
        return f"{self._row.task_id} · {self._row.agent}"

    def compose_body(self) -> Iterable[Widget]:
        """Every section: its title, its table, its note."""
        lines: list[Content] = []
        for section in self._sections:
            title, *rest = section.lines()
            lines += [
                paint(Cell(clean(title, 200), "strong")),
                *(paint(Cell(clean(line, 400))) for line in rest),
            ]
            lines.append(Content(""))
        body = DialogText(Static(Content("\n").join(lines), markup=False))
        body.can_focus = True
        yield body

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer private answers only where they are kept back."""
        return action != "answers" or PRIVATE in self._sections

    def action_answers(self) -> None:
        """Show the views of private answers."""
        self.dismiss()
        explain(self.bioeval, self._row, show_answers=True)

    def on_mount(self) -> None:
        """Let keys scroll the tables."""
        self.query_one(DialogText).focus()
