"""One of a few values, on one line: `‹ as set in the job ›`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from bioeval_tui.tui.keys import bindings


class Choice(Widget, can_focus=True):
    """Arrows, space or a click go through the values; posts `Changed`."""

    DEFAULT_CSS = """
    Choice {
        height: 1; width: 1fr; padding: 0 1;
        &:focus { background: $block-cursor-blurred-background; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~choice")

    class Changed(Message):
        """Another value was chosen."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> Choice:
            """The widget that posted it."""
            return self.choice

    def __init__(self, options: Mapping[str, str], value: str, *, id: str) -> None:
        super().__init__(id=id)
        self._options = dict(options)
        self.value = value if value in options else next(iter(options))

    def render(self) -> Content:
        """Draw the value between angles."""
        words = self._options[self.value]
        return Content.assemble(("‹ ", "$text-accent"), words, (" ›", "$text-accent"))

    def action_go(self, by: int) -> None:
        """Choose the next or previous value."""
        values = list(self._options)
        self.value = values[(values.index(self.value) + by) % len(values)]
        self.refresh()
        self.post_message(self.Changed(self))

    def on_click(self, event: events.Click) -> None:
        """Choose the next value; a click on `‹` chooses the previous one."""
        self.action_go(-1 if event.x <= 2 else 1)
