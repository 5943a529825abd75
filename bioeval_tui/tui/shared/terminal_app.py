"""What every application of the program does with its terminal."""

from __future__ import annotations

import os
import signal
from typing import ClassVar, Generic

from textual.app import App, ReturnType
from textual.binding import Binding, BindingType
from textual.driver import Driver


class TerminalApp(App[ReturnType], Generic[ReturnType]):
    """An application that gives the terminal back when a signal ends it, and that `ctrl+z` stops as any program."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Not in the table of keys, as ctrl+c: they mean the same in every terminal program.
        Binding("ctrl+z", "suspend_process", "suspend", show=False, priority=True, id="app.suspend"),
        Binding("ctrl+c", "interrupt", "quit", show=False, priority=True, id="app.interrupt"),
    ]

    def get_driver_class(self) -> type[Driver]:
        """Return Textual's driver, or the program's own for a terminal on Unix."""
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        from bioeval_tui.tui.shared.terminal_driver import TerminalDriver  # Windows has no such terminals

        return TerminalDriver

    @property
    def behind(self) -> bool:
        """Whether the terminal has not yet accepted all that was drawn."""
        return getattr(self._driver, "behind", False)

    def action_suspend_process(self) -> None:
        """Stop, with what started the program in the same terminal, until the shell continues them."""
        if os.name == "nt" or self._driver is None or self._driver.is_web or not self._driver.can_suspend:
            self.notify("Only a terminal on Linux or macOS can suspend a program", markup=False)
            return
        self._suspend_signal()
        os.killpg(os.getpgrp(), signal.SIGTSTP)

    async def action_interrupt(self) -> None:
        """Copy the selected text, or leave."""
        raise NotImplementedError
