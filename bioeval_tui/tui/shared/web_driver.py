"""Textual's web driver, which also ends when its reader has disconnected.

It also tells the browser's terminal which background the theme has (xterm's OSC 11), for what lies beside the cells.
"""

from __future__ import annotations

import re

from textual import messages
from textual.drivers.web_driver import WebDriver

HEX = re.compile("#[0-9a-fA-F]{6}")


class ServedDriver(WebDriver):
    """Leaves the program when its input ends, which it does when the server has died."""

    _background = ""

    def write(self, data: str) -> None:
        """Send the output; before it, the background colour if that has changed."""
        background = self._app.theme_variables.get("background", "")
        if background != self._background and HEX.fullmatch(background):
            self._background = background
            data = f"\x1b]11;{background}\x07{data}"
        super().write(data)

    def run_input_thread(self) -> None:
        """Pass on input until it ends."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(messages.ExitApp())
