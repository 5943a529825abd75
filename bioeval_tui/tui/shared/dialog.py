"""A dialog over a screen: a heading, a body, and a line of keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingsMap, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.covered import covered
from bioeval_tui.tui.shared.keymap import KeyOwners, use_keys
from bioeval_tui.tui.shared.keys_footer_widget import KeysFooter

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bioeval_tui.tui.shared.copying import Copied
    from bioeval_tui.tui.shared.program import Program

Result = TypeVar("Result")


class DialogText(VerticalScroll):
    """A text that scrolls up and down; the left and right arrows are the dialog's."""

    # The line of keys is docked over the last line of a text that fills the box.
    DEFAULT_CSS = """
    DialogText { margin-bottom: 1; }
    """

    def __init__(self, *children: Widget) -> None:
        super().__init__(*children, classes="dialog--body")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the left and right arrows to the dialog."""
        return action not in ("scroll_left", "scroll_right")


class Dialog(ModalScreen[Result], Generic[Result]):
    """Closed by `esc`. `HEADING` is at the top; subclasses yield the body."""

    NAME: ClassVar[str] = ""
    ABOUT: ClassVar[str] = ""
    HEADING: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = bindings("dialog")
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

    def __init__(self) -> None:
        super().__init__()
        self.key_owners = KeyOwners(self)
        """Widgets of the screen below whose keys apply here, too."""

    async def on_event(self, event: events.Event) -> None:
        """Ignore the mount while the application is leaving: it has added no widgets."""
        if self.children or not isinstance(event, events.Mount):
            await super().on_event(event)

    def on_mount(self) -> None:
        """Apply the user's keys."""
        use_keys(self, self.bioeval.keys)
        self.key_owners.use_keys(self.bioeval.keys)

    @property
    def _binding_chain(self) -> list[tuple[DOMNode, BindingsMap]]:
        return self.key_owners.chain(super()._binding_chain)

    @property
    def bioeval(self) -> Program:
        """The application, with its services."""
        return cast("Program", self.app)

    def copies(self) -> Sequence[Copied]:
        """Return what can be copied from here, the selected item first."""
        return ()

    def caption(self) -> str:
        """Return the caption of a picture of this screen; empty if its title is enough."""
        return ""

    def render(self) -> RenderableType:
        """Draw the screen behind the box."""
        return covered(super().render())

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
        """Yield the widgets between heading and keys."""
        return ()

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss(None)
