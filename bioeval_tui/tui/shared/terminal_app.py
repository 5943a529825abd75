"""What every application of the program does with its terminal."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Generic

from rich.color import ColorSystem
from rich.console import RenderableType
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App, ReturnType
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.tui.shared.written import Written

KEYS_ON_THEIR_WAY = 64
"""How many keys are remembered with what they were sent to: more than come at once."""
LONGEST_STEP_S = 0.5
"""How long keys wait for a widget that is busy, or was closed, in seconds."""


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
        self._sent: deque[tuple[events.Key, Widget]] = deque(maxlen=KEYS_ON_THEIR_WAY)
        """The latest keys, each with the widget that had the focus."""
        self._held: list[events.Key] = []
        self.holding = False
        """Whether keys wait until what an earlier one does is done."""

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
        if isinstance(event, events.Key) and not event.is_forwarded:
            if self.holding:
                self._held.append(event)
                return
            self._sent.append((event, self.focused or self.screen))
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """Hold a key that was sent to what has lost the focus since, as the keys before it opened
        a dialog: letters typed at once would be lost on the list below it.
        """
        for sent, widget in self._sent:
            if sent is event and widget is not (self.focused or self.screen):
                event.prevent_default()
                self.hold_keys(widget)
                self.hold(event)
                return

    def hold_keys(self, sent_to: Widget) -> None:
        """Hold the keys from now on, until what the last key does is done, which was sent to a
        widget.
        """
        if not self.holding:
            self.holding = True
            self.run_worker(self._send_held(sent_to), group="keys")

    def hold(self, key: events.Key) -> None:
        """Hold a key that a widget has got and does not take."""
        again = events.Key(key.key, key.character)
        again.time = key.time
        self._held.append(again)

    async def _send_held(self, sent_to: Widget) -> None:
        try:
            # A key goes up to the application from widget to widget, and then what it makes a line
            # say does: each does first what it was sent before.
            for widget in (*sent_to.ancestors_with_self, *sent_to.ancestors_with_self):
                await _wait_for_call(widget.call_later)
            # The first field of a dialog has the focus once that is drawn.
            await _wait_for_call(self.call_after_refresh)
        finally:
            self.call_later(self._release_keys)

    async def _release_keys(self) -> None:
        self.holding = False
        # Some were held on their way here, and others by a widget that got them before.
        held = sorted(self._held, key=lambda key: key.time)
        self._held = []
        for key in held:
            await self.on_event(key)

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


async def _wait_for_call(call: Callable[[Callable[[], None]], bool]) -> None:
    """Wait until a widget makes a call that it was asked for; not for one that takes none."""
    called = asyncio.Event()
    if call(called.set):
        with suppress(TimeoutError):
            await asyncio.wait_for(called.wait(), LONGEST_STEP_S)
