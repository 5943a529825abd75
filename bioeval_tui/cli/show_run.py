"""Run jobs on the live screen: start the engine, show it, and clean up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

from bioeval_tui.base.errors import ScreenCrashError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import say
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.engine.processes import start_engine, stop_run
from bioeval_tui.record.runs import recording_path


def show_run(
    spec: EngineSpec,
    settings: Settings,
    *,
    leave_running: bool,
    show: Callable[[FollowedRun], None] | None = None,
) -> int:
    """Start an engine, show its run, print how it ended, and return the exit code.

    The engine checks the batch; what the user may have got wrong, `announce` has checked before.
    With `leave_running`, the engine continues after the screen closes; otherwise it is cancelled.
    `show` replaces the application's own screen.
    """
    need_terminal("--headless prints lines, as in `bioeval-tui demo --headless`")
    # The engine first: it starts on the other core while the screen's modules load here.
    view = start_engine(spec, settings)[0]
    with contextlib.nullcontext() if leave_running else _ending_with_terminal(view):
        try:
            if show is None:
                from bioeval_tui.cli.app import show_started  # loaded while the engine starts

                show_started(spec, settings, view, "ask" if leave_running else "cancel")
            else:
                show(view)
        except ScreenCrashError as error:
            if leave_running and view.engine_runs():
                error.add_note(
                    f"the run continues; attach to it with `bioeval-tui watch {view.run_id}`"
                )
            raise
        except KeyboardInterrupt:  # before the screen could ask
            asyncio.run(stop_run(view))
            raise
        finally:
            if not leave_running:
                asyncio.run(stop_run(view))
    from bioeval_tui.report.formats.console import say_goodbye  # the first paint does not need it

    engine = view.process.poll() if view.process is not None else None
    return say_goodbye([recording_path(settings.runs_dir, run.run_id) for run in spec.runs], engine)


@contextlib.contextmanager
def _ending_with_terminal(view: FollowedRun) -> Iterator[None]:
    """Cancel the run when the terminal is closed (SIGHUP) or on SIGTERM.

    A screen without its terminal may not unwind, so another thread stops the run and exits.
    """
    names = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]

    def stop_and_leave(number: int) -> None:
        with contextlib.suppress(Exception):
            asyncio.run(stop_run(view))
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


def announce(spec: EngineSpec, settings: Settings) -> None:
    """Check a batch, and print on stderr which hosts receive transcripts, and what judges see.

    Raises:
        BioevalError: what is wrong with the jobs or settings.
    """
    from bioeval_tui.evaluation.wiring.start import (  # the demo does not wait for it
        prepare_batch,
        said_before,
    )

    for sentence in said_before(prepare_batch(replace(spec, plays=True), settings)):
        say(sentence, err=True)
