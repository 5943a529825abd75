"""Show the demo at reading pace, with a run of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.cli.app import run_app
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.record.runs import recording_path
from bioeval_tui.sample.paths import careful_recording
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.demo_app import PACES, DemoApp, Pace

# Imports above delay the first paint.
if TYPE_CHECKING:
    from bioeval_tui.cli.demo_run import DemoRun
    from bioeval_tui.evaluation.engine.attach import ReplayedRun
    from bioeval_tui.evaluation.engine.interface import EngineSpec, RunView


BESIDE = 120
"""Minimum width of a terminal in which both conversations are visible at once."""


def show_demo(spec: EngineSpec, settings: Settings, *, pace: Pace, loop: bool) -> int:
    """Run the demo's application; its engine starts after the first paint, and is stopped with the
    screen. Print how the run ended, and return the exit code.

    In a rehearsal of the demo's own job, the run can be compared with a recording of the same job,
    whose agent does not guess.

    Raises:
        UsageError: there is no terminal, or the engine cannot write its files.
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    need_terminal("`bioeval-tui demo --headless` prints lines")
    engine = _Engine(spec, settings, PACES[pace])

    async def open_view() -> RunView:
        await app.painted.wait()
        # In a thread: the introduction stands there already, and keys are heard.
        shown = await asyncio.to_thread(engine.start)
        if app.held:  # `space` was pressed meanwhile
            shown.set_paused(True)
        return shown

    app = DemoApp(
        AppServices(settings, spec=spec),
        open_view,
        pace=pace,
        loop=loop,
        local_model=spec.local_model,
        other=careful_recording() if spec.mode == "rehearsal" and not spec.local_model else None,
        on_quit="cancel",
    )
    with _ending_with_terminal(engine):
        try:
            run_app(app)
        finally:
            ended = engine.stop()
    if engine.refused is not None:
        raise engine.refused
    from bioeval_tui.report.formats.console import say_goodbye  # the first paint does not need it

    return say_goodbye([recording_path(settings.runs_dir, run.run_id) for run in spec.runs], ended)


class _Engine:
    """The demo's engine: started once, by a thread, and stopped with the screen, however that
    ends.

    `refused` is why it could not start.
    """

    def __init__(self, spec: EngineSpec, settings: Settings, speed: float) -> None:
        self._spec, self._settings, self._speed = spec, settings, speed
        self._beside = get_terminal_size().columns >= BESIDE
        self._run: DemoRun | None = None
        self._over = False
        self._changing = threading.Lock()
        self.refused: BioevalError | None = None

    def start(self) -> ReplayedRun:
        """Start the engine, unless it has started, and return the run as it is shown.

        Raises:
            UsageError: it cannot write its files, or the screen has ended.
        """
        # it loads the models of events, which the first paint does not need
        from bioeval_tui.cli.demo_run import DemoRun

        with self._changing:
            if self._over:
                raise UsageError("the demo has ended")
            if self._run is None:
                try:
                    self._run = DemoRun(
                        self._spec, self._settings, self._speed, beside=self._beside
                    )
                except BioevalError as error:
                    self.refused = error
                    raise
            self.refused = None
            return self._run.shown

    def stop(self) -> int | None:
        """Stop the engine, and return its exit code; if it never started, that of one that was
        stopped before it began a recording.
        """
        with self._changing:  # waits for an engine that is about to start
            self._over = True
        if self._run is None:
            return -signal.SIGTERM
        return self._run.stop()


@contextlib.contextmanager
def _ending_with_terminal(engine: _Engine) -> Iterator[None]:
    """Stop the engine when the terminal is closed (SIGHUP) or on SIGTERM.

    A screen without its terminal may not unwind, so another thread stops the run and exits.
    """
    names = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]

    def stop_and_leave(number: int) -> None:
        with contextlib.suppress(Exception):
            engine.stop()
        os._exit(128 + number)

    def leave(number: int, frame: object) -> None:
        signal.signal(number, lambda number, frame: None)  # once is enough
        if number == signal.SIGTERM:
            raise SystemExit(128 + number)  # the terminal still exists and must be restored
        # Also after SIGTERM: without its terminal, the screen may never finish restoring it.
        threading.Thread(target=stop_and_leave, args=(number,)).start()

    before = {name: signal.signal(name, leave) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
