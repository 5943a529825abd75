"""What every application of the program does with its terminal."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from typing import Any, ClassVar, Generic

from rich.console import RenderableType
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App, ReturnType
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen
from textual.strip import Strip


class TerminalApp(App[ReturnType], Generic[ReturnType]):
    """An application that gives the terminal back when a signal ends it, and that `ctrl+z` stops as any program."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Not in the table of keys, as ctrl+c: they mean the same in every terminal program.
        Binding("ctrl+z", "suspend_process", "suspend", show=False, priority=True, id="app.suspend"),
        Binding("ctrl+c", "interrupt", "quit", show=False, priority=True, id="app.interrupt"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._written: dict[int, dict[int, Strip]] = {}
        """What the terminal shows: by line and first cell, the pieces that were written last."""

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

    def forget_written(self) -> None:
        """Write everything again that is drawn from now on: something else may have used the terminal."""
        self._written.clear()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write what was drawn, but for pieces that the terminal shows already.

        A clock draws its whole widget anew, and the terminal may be at the end of a slow line.
        """
        if not self._batch_count and not self.is_headless:
            if isinstance(renderable, LayoutUpdate):
                renderable = _as_chops(renderable)
            if isinstance(renderable, ChopsUpdate):
                renderable = self._unwritten(renderable)
        super()._display(screen, renderable)
        if (
            renderable is not None
            and not self._batch_count
            and (ask := getattr(self._driver, "ask_whether_drawn", None))
        ):
            ask()

    def _unwritten(self, update: ChopsUpdate) -> ChopsUpdate | None:
        """Return the update without the pieces that the terminal shows; None if it shows all."""
        left = [dict[int, Strip | None]() for _ in update.chops]
        spans = []
        for y, x1, x2 in update.spans:
            shown = self._written.setdefault(y, {})
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                # The same choice as in `ChopsUpdate.render_segments`, which also writes from `x`.
                if strip is None or x > x2 or end <= x1:
                    left[y].setdefault(x, None)
                    continue
                piece = strip.crop(0, min(end, x2) - x)
                left[y][x] = None if shown.get(x) == piece else strip
                _place(shown, x, piece)
            if any(left[y].values()):
                spans.append((y, x1, x2))
        return ChopsUpdate(left, spans, update.chop_ends) if spans else None

    async def on_event(self, event: events.Event) -> None:
        """Write everything again in a terminal of another size: it may have moved or cut what it showed."""
        if isinstance(event, events.Resize):
            self.forget_written()
        await super().on_event(event)

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


def _as_chops(update: LayoutUpdate) -> ChopsUpdate:
    """Return an update of the whole screen as one of pieces, which can be left out."""
    lines = [_placed(line) for line in update.strips]
    ends = [[x + piece.cell_length for x, piece in line.items()] for line in lines]
    width = update.region.width
    return ChopsUpdate(lines, [(y, 0, width) for y in range(len(lines))], ends)


def _placed(line: Iterable[Strip]) -> dict[int, Strip]:
    """Return the pieces of a whole line by their first cells."""
    placed, x = dict[int, Strip](), 0
    for piece in line:
        placed[x] = piece
        x += piece.cell_length
    return placed


def _place(line: dict[int, Strip], x: int, piece: Strip) -> None:
    """Put a piece on a line, over all that was there."""
    end = x + piece.cell_length
    for start in [at for at, old in line.items() if at < end and x < at + old.cell_length]:
        del line[start]
    line[x] = piece
