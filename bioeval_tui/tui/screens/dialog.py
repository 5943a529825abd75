"""A box over a screen: a heading, a body, and a line of keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keymap import named
from bioeval_tui.tui.widgets.keys_footer import KeysFooter

Result = TypeVar("Result")


class Dialog(ModalScreen[Result], Generic[Result]):
    """Closed by `esc`. `HEADING` stands at the top; subclasses yield the body."""

    HEADING: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", tooltip="Back to the screen below")
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    DEFAULT_CSS = """
    Dialog {
        & > .dialog--box {
            width: 80%;
            max-width: 110;
            height: auto;
            max-height: 90%;
            background: $surface;
            padding: 1 2 0 2;
        }
        & .dialog--heading { text-style: bold; height: 1; margin-bottom: 1; }
        & .dialog--body { height: auto; max-height: 100%; }
        & KeysFooter { dock: bottom; background: $surface; padding: 0; margin-top: 1; }
        &.-narrow > .dialog--box { width: 100%; max-height: 100%; padding: 0 1; }
        &.-narrow .dialog--heading { margin-bottom: 0; }
        &.-narrow KeysFooter { margin-top: 0; }
    }
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Name the keys, so that people can change them."""
        if "BINDINGS" in cls.__dict__:
            name = getattr(cls, "NAME", "") or cls.HEADING or cls.__name__
            cls.BINDINGS = named(name, cls.BINDINGS)
        super().__init_subclass__(**options)

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical(classes="dialog--box"):
            if self.heading:
                yield Static(self.heading, classes="dialog--heading", markup=False)
            yield from self.compose_body()
            yield KeysFooter()

    @property
    def heading(self) -> str:
        """The first line."""
        return self.HEADING

    def compose_body(self) -> Iterable[Widget]:
        """Yield what stands between heading and keys."""
        return ()

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss(None)
