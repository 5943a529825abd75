"""What every application of the program does with its terminal."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any, ClassVar, Generic

from rich.color import ColorSystem
from rich.console import RenderableType
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App, ReturnType
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen

from bioeval_tui.tui.shared.written import Written


class TerminalApp(App[ReturnType], Generic[ReturnType]):
    """An application that gives the terminal back when a signal ends it, and that `ctrl+z` stops as
    any program.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        # Not in the table of keys, as ctrl+c: they mean the same in every terminal program.
        Binding(
            "ctrl+z", "suspend_process", "suspend", show=False, priority=True, id="app.suspend"
        ),
        Binding("ctrl+c", "interrupt", "quit", show=False, priority=True, id="app.interrupt"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._written = Written()
        self.painted = asyncio.Event()
        """Set once something was drawn: until then, the terminal shows nothing of the program."""

    def get_driver_class(self) -> type[Driver]:
        """Return Textual's driver, or the program's own for a terminal on Unix."""
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        # Windows has no such terminals
        from bioeval_tui.tui.shared.terminal_driver import (
            TerminalDriver,
        )

        return TerminalDriver

    @property
    def behind(self) -> bool:
        """Whether the terminal has not yet accepted all that was drawn."""
        return getattr(self._driver, "behind", False)

    def forget_written(self) -> None:
        """Write everything again that is drawn from now on: something else may have used the
        terminal.
        """
        self._written.forget()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write what was drawn, but for cells that the terminal shows already.

        A clock draws its whole widget anew, and the terminal may be at the end of a slow line.
        """
        is_written = not self._batch_count and not self.is_headless
        if is_written and isinstance(renderable, ChopsUpdate | LayoutUpdate):
            renderable = self._written.unwritten(
                renderable, self.console._color_system or ColorSystem.TRUECOLOR
            )
        super()._display(screen, renderable)
        if renderable is None or self._batch_count:
            return
        self.painted.set()
        if ask := getattr(self._driver, "ask_whether_drawn", None):
            ask()

    async def on_event(self, event: events.Event) -> None:
        """Write everything again in a terminal of another size: it may have moved or cut what it
        showed.
        """
        if isinstance(event, events.Resize):
            self.forget_written()
        await super().on_event(event)

    def action_suspend_process(self) -> None:
        """Stop, with what started the program in the same terminal, until the shell continues
        them.
        """
        if (
            os.name == "nt"
            or self._driver is None
            or self._driver.is_web
            or not self._driver.can_suspend
        ):
            self.notify("Only a terminal on Linux or macOS can suspend a program", markup=False)
            return
        self._suspend_signal()
        os.killpg(os.getpgrp(), signal.SIGTSTP)

    async def action_interrupt(self) -> None:
        """Copy the selected text, or leave."""
        raise NotImplementedError
