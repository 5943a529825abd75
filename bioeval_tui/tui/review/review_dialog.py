"""The dialog for a score, mark, fault or note, with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.review import review_view
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.choice_widget import Choice
from bioeval_tui.tui.shared.form_dialog import FormChoice, FormDialog, FormField

HEADINGS: dict[review_view.Kind, str] = {
    "override": "Your score",
    "mark": "Your mark of the submission",
    "fault": "Who is at fault",
    "note": "Add a note",
}
PLACEHOLDERS: dict[review_view.Kind, str] = {
    "mark": "what you saw in the file",
    "note": "your note",
}


class ReviewField(FormField):
    """An input line; enter saves the review."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~review-field")


class ReviewDialog(FormDialog[review_view.ReviewForm]):
    """One kind of review, with its reason."""

    NAME: ClassVar[str] = "Review form"
    ABOUT: ClassVar[str] = (
        "The reason is saved with the review, beside the recording, with your name and the time. The "
        "recording and published results do not change."
    )
    LABEL_WIDTH: ClassVar[int] = 10
    BINDINGS: ClassVar[list[BindingType]] = bindings("review-form")
    DEFAULT_CSS = "ReviewDialog > .dialog--box { max-width: 90; }"

    def __init__(self, kind: review_view.Kind, about: str, choice: str = "") -> None:
        super().__init__()
        self._kind = kind
        self._about = about
        self._choice = choice

    @property
    def heading(self) -> str:
        """The kind of review and its item."""
        return f"{HEADINGS[self._kind]}: {self._about}"

    def compose_body(self) -> Iterable[Widget]:
        """One line per field."""
        with Vertical(classes="dialog--body"):
            if self._kind == "override":
                yield self.row(
                    "score", ReviewField(placeholder="0 to 1, such as 0.8", id="score", compact=True)
                )
            elif self._kind == "mark":
                yield self.row("mark", FormChoice(review_view.MARK_WORDS, self._choice, id="choice"))
            elif self._kind == "fault":
                yield self.row("fault", FormChoice(review_view.FAULTS, self._choice, id="choice"))
            placeholder = PLACEHOLDERS.get(self._kind, "what you saw in the transcript")
            label = "note" if self._kind == "note" else "why"
            yield self.row(label, ReviewField(placeholder=placeholder, id="why", compact=True))
            yield Static(id="hint", markup=False)

    @property
    def form(self) -> review_view.ReviewForm:
        """The form as filled in so far."""
        typed = {field.id: field.value for field in self.query(Input)}
        choice = next((choice.value for choice in self.query(Choice)), "")
        return review_view.ReviewForm(self._kind, typed.get("score", ""), choice, typed.get("why", ""))

    def hint(self, *, trying: bool) -> Cell:
        """The missing part of the form, or a note that it is complete."""
        problem = review_view.wrong(self.form)
        return Cell(problem, "bad" if trying else "quiet") if problem else Cell("enter saves it", "quiet")

    def action_give(self) -> None:
        """Close with the form, or go to the field that is missing."""
        form = self.form
        if not review_view.wrong(form):
            self.dismiss(form)
            return
        self.tell(trying=True)
        at = "#score" if form.kind == "override" and review_view.score_typed(form.score) is None else "#why"
        self.query_one(at).focus()
