"""Asks for a score, a mark, a fault or a note, always with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.tui.screens.dialog import Dialog
from bioeval_tui.tui.tones import paint
from bioeval_tui.tui.view import review
from bioeval_tui.tui.view.cells import Cell
from bioeval_tui.tui.widgets.choice import Choice

HEADINGS: dict[review.Kind, str] = {
    "override": "Your score",
    "mark": "Your mark of the submission",
    "fault": "Whose fault",
    "note": "Add a note",
}


class ReviewField(Input):
    """A line to type in; enter gives the review from here, too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "give", tooltip="Keep this review beside the recording")
    ]


class ReviewDialog(Dialog[review.Form]):
    """The result is the form, complete; None when it was closed."""

    NAME: ClassVar[str] = "Review form"
    ABOUT: ClassVar[str] = (
        "The reason is kept with the review, beside the recording, with your name and the time. "
        "Nothing that was recorded or published changes."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "give", "give", tooltip="Keep this review beside the recording"),
        Binding("down", "next(1)", "next", key_display="↑ ↓", tooltip="The next field"),
        Binding("up", "next(-1)", "field before", show=False, tooltip="The field before"),
    ]
    DEFAULT_CSS = """
    ReviewDialog {
        & > .dialog--box { max-width: 90; }
        & .dialog--body { height: auto; }
        & .review--row { height: 1; }
        & .review--row > .review--label { width: 10; color: $quiet; }
        & .review--row > Input { width: 1fr; height: 1; border: none; padding: 0 1; background: $surface-lighten-1; }
        & .review--row > Input:focus { background: $surface-lighten-2; }
        & #told { height: auto; margin-top: 1; }
        &.-wide .review--row { margin-bottom: 1; }
    }
    """

    def __init__(self, kind: review.Kind, about: str, choice: str = "") -> None:
        super().__init__()
        self._kind = kind
        self._about = about
        self._choice = choice

    @property
    def heading(self) -> str:
        """What is asked, of what."""
        return f"{HEADINGS[self._kind]}: {self._about}"

    def compose_body(self) -> Iterable[Widget]:
        """One line a field."""
        with Vertical(classes="dialog--body"):
            if self._kind == "override":
                yield self._row(
                    "score", ReviewField(placeholder="0 to 1, such as 0.8", id="score", compact=True)
                )
            elif self._kind == "mark":
                yield self._row("mark", Choice(review.MARK_WORDS, self._choice, id="choice"))
            elif self._kind == "fault":
                yield self._row("fault", Choice(review.FAULTS, self._choice, id="choice"))
            placeholder = (
                "what you saw in the transcript" if self._kind != "note" else "anything worth knowing"
            )
            label = "note" if self._kind == "note" else "why"
            yield self._row(label, ReviewField(placeholder=placeholder, id="why", compact=True))
            yield Static(id="told", markup=False)

    def _row(self, label: str, field: Widget) -> Horizontal:
        return Horizontal(Static(label, classes="review--label", markup=False), field, classes="review--row")

    def on_mount(self) -> None:
        """Begin at the first field."""
        self._tell()
        self.query("Choice, Input").first().focus()

    @property
    def form(self) -> review.Form:
        """The form as it stands."""
        typed = {field.id: field.value for field in self.query(Input)}
        choice = next((choice.value for choice in self.query(Choice)), "")
        return review.Form(self._kind, typed.get("score", ""), choice, typed.get("why", ""))

    @on(Choice.Changed)
    @on(Input.Changed)
    def _changed(self) -> None:
        self._tell()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_give()

    def _tell(self, *, trying: bool = False) -> None:
        problem = review.wrong(self.form)
        told = Cell(problem, "bad" if trying else "quiet") if problem else Cell("enter keeps it", "quiet")
        self.query_one("#told", Static).update(Content("\n").join([paint(told)]))

    def action_next(self, by: int) -> None:
        """Go to another field."""
        if by > 0:
            self.focus_next("Choice, Input")
        else:
            self.focus_previous("Choice, Input")

    def action_give(self) -> None:
        """Close with the form, unless something is missing; then go to what is."""
        form = self.form
        if not review.wrong(form):
            self.dismiss(form)
            return
        self._tell(trying=True)
        at = "#score" if form.kind == "override" and review.score_typed(form.score) is None else "#why"
        self.query_one(at).focus()
