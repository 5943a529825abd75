"""A dialog of questions, one a line; `enter` closes it with the answers unless one of them is wrong."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, TypeVar

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.choice_widget import Choice
from bioeval_tui.tui.shared.dialog import Dialog
from bioeval_tui.tui.shared.tones import paint

Form = TypeVar("Form")


class FormField(Input):
    """An input line. The keys for up and down belong to the dialog."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the arrows to the dialog, and to its line of keys."""
        return action not in ("scroll_up", "scroll_down") and super().check_action(action, parameters)


class FormChoice(Choice):
    """A choice beside input lines. Text that was meant for one of them is not a command."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Return whether a key is typed; Textual then leaves it out of all bindings but the choice's own."""
        return character is not None and character.isprintable()


class FormDialog(Dialog[Form]):
    """The result is the complete form; None if the dialog was closed. A subclass draws `#told` below its lines."""

    LABEL_WIDTH: ClassVar[int] = 16
    DEFAULT_CSS = """
    FormDialog {
        & .dialog--body { height: auto; }
        & .form--row { height: 1; }
        & .form--row > .form--label { color: $quiet; }
        & .form--row > Input { width: 1fr; height: 1; border: none; padding: 0 1; background: $surface-lighten-1; }
        & .form--row > Input:focus { background: $block-cursor-blurred-background; }
        & #hint { height: auto; margin-top: 1; }
    }
    """

    def row(self, label: str, field: Widget) -> Horizontal:
        """Return the line of a question."""
        words = Static(label, classes="form--label", markup=False)
        words.styles.width = self.LABEL_WIDTH
        return Horizontal(words, field, classes="form--row", id=f"row-{field.id}")

    def on_mount(self) -> None:
        """Begin at the first question."""
        self.tell()
        self.first_field().focus()

    def first_field(self) -> Widget:
        """Return the field that has the focus at first."""
        return self.query("Choice, Input").first()

    @abstractmethod
    def hint(self, *, trying: bool) -> Cell:
        """Return the text below the fields; `trying` is true if enter was pressed and something is wrong."""

    @abstractmethod
    def action_give(self) -> None:
        """Close with the form, unless something in it is wrong."""

    def tell(self, *, trying: bool = False) -> None:
        """Show the form's problem, or a summary of the answers."""
        self.query_one("#hint", Static).update(Content("\n").join([paint(self.hint(trying=trying))]))

    @on(Choice.Changed)
    @on(Input.Changed)
    def _changed(self) -> None:
        self.tell()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        # Not a binding with priority: that would overtake letters still on their way to the line.
        event.stop()
        self.action_give()

    def action_next(self, by: int) -> None:
        """Go to another question; Textual leaves out the hidden ones."""
        if by > 0:
            self.focus_next("Choice, Input")
        else:
            self.focus_previous("Choice, Input")
