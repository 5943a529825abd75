"""The driver of a session in a browser: Textual's, but it ends when whoever reads it has gone."""

from __future__ import annotations

from textual import messages
from textual.drivers.web_driver import WebDriver


class ServedDriver(WebDriver):
    """Leaves the program when its input ends, which it does when the server has died."""

    def run_input_thread(self) -> None:
        """Hand over input until there is no more."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(messages.ExitApp())
