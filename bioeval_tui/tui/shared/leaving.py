"""Leaving the program: a live run is cancelled, left running, or asked about; what crashed a screen is kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from textual.app import App
from textual.css.query import NoMatches
from textual.worker import WorkerFailed

if TYPE_CHECKING:
    from bioeval_tui.tui.live.live import LiveScreen
    from bioeval_tui.tui.services import Services

OnQuit = Literal["cancel", "ask", "leave"]
CANCEL_WAIT_S = 3.0
"""How long quitting waits for a cancelled run to say that it has ended."""


class LeavingApp(App[None]):
    """What the application does when it is left."""

    services: Services
    _on_quit: OnQuit
    _leaving = False

    @property
    def live(self) -> LiveScreen:
        """The live screen, once it was gone to."""
        raise NotImplementedError

    @property
    def has_live(self) -> bool:
        """Whether the live screen was gone to."""
        raise NotImplementedError

    @property
    def leaving(self) -> bool:
        """Whether the program is on its way out."""
        return self._leaving

    @property
    def crash(self) -> BaseException | None:
        """What ended the program, when that was an error in a screen."""
        error = self._exception
        return error.error if isinstance(error, WorkerFailed) else error

    def _handle_exception(self, error: Exception) -> None:
        """Close without Textual's traceback on the terminal: the front end reports `crash` in one sentence."""
        if isinstance(error, NoMatches) and not self._running:
            return  # a screen that was still being mounted when the program ended looks for children it never got
        super()._handle_exception(error)
        self._exit_renderables.clear()

    async def action_leave_app(self) -> None:
        """Quit; a run that goes on is cancelled, left or asked about. A second time, quit at once."""
        if self._leaving or not self._goes_on or self._on_quit == "leave":
            self.exit()
        elif self._on_quit == "cancel":
            self._cancel_and_exit(True)
        else:
            from bioeval_tui.tui.live.quit import QuitScreen

            view = self.live.link.view
            self.push_screen(QuitScreen(view.run_id if view else "RUN"), self._cancel_and_exit)

    @property
    def _goes_on(self) -> bool:
        if not self.has_live:
            return False
        batch_id = self.live.batch_id
        return self.live.link.goes_on or (batch_id is not None and self.services.batch_goes_on(batch_id))

    def _cancel_and_exit(self, cancel: bool | None) -> None:
        """Exit, after cancelling the run if so decided; None means to stay."""
        if cancel is None:
            return
        if not cancel:
            self.exit()
            return
        self._leaving = True
        self.run_worker(self._cancel_run(), group="leaving", exit_on_error=False)

    async def _cancel_run(self) -> None:
        try:
            async with asyncio.timeout(CANCEL_WAIT_S):
                if self.live.batch_id is not None:
                    await self.services.stop_batch(self.live.batch_id)
                else:
                    await self.live.link.send("cancel")
                    await self.live.link.wait_for_end()
        except TimeoutError:
            pass
        finally:
            self.exit()
