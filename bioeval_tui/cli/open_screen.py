"""Put a run on the screen: start or attach, show, and leave nothing behind that should not stay."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from bioeval_tui.errors import ExitCode, ScreenCrashError, UsageError

# The first paint waits for what is imported here.
if TYPE_CHECKING:
    from bioeval_tui.evaluate.engine.attach import FollowedRun, ReplayedRun
    from bioeval_tui.evaluate.engine.run_view import RunView
    from bioeval_tui.evaluate.engine.spec import EngineSpec
    from bioeval_tui.grade.runs import Runs
    from bioeval_tui.settings import Settings
    from bioeval_tui.tui.app import BioevalApp
    from bioeval_tui.tui.services import Services

OnQuit = Literal["cancel", "ask", "leave"]
_TERMINAL = 0
"""Standard input, which Textual reads."""


def show_run(spec: EngineSpec, settings: Settings, *, leave_running: bool, verbose: bool = False) -> int:
    """Start an engine, show its run, say how it ended, and return the exit code.

    With `leave_running` the engine survives the screen; otherwise it is cancelled when the screen closes,
    however it closes.
    """
    need_terminal("give --headless")
    from bioeval_tui.evaluate.wiring.start import start_engine, stop_run
    from bioeval_tui.record.paths import recording_path
    from bioeval_tui.report.formats.farewell import say_goodbye

    # The engine first: it starts on the other core while the screen's modules load here.
    view = start_engine(spec, settings)
    with contextlib.nullcontext() if leave_running else _ending_with_terminal(view):
        try:
            _show(settings, view, "ask" if leave_running else "cancel", spec)
        except ScreenCrashError as error:
            if leave_running and view.engine_runs():
                error.add_note(f"the run continues, see it with `bioeval-tui watch {view.run_id}`")
            raise
        finally:
            if not leave_running:
                asyncio.run(stop_run(view))
    return say_goodbye([recording_path(settings.runs_dir, run.run_id) for run in spec.runs])


@contextlib.contextmanager
def _ending_with_terminal(view: FollowedRun) -> Iterator[None]:
    """Let a closed terminal (SIGHUP) and a SIGTERM end the run as well, which this process otherwise outlives.

    A screen without its terminal cannot be relied on to unwind: the run is stopped beside it, then it is left.
    """
    from bioeval_tui.evaluate.wiring.start import stop_run

    names = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]

    def stop_and_leave(number: int) -> None:
        with contextlib.suppress(Exception):
            asyncio.run(stop_run(view))
        os._exit(128 + number)

    def leave(number: int, frame: object) -> None:
        for name in names:
            signal.signal(name, lambda number, frame: None)  # once is enough
        if number == signal.SIGTERM:
            raise SystemExit(128 + number)  # the terminal is there, and wants to be put in order
        threading.Thread(target=stop_and_leave, args=(number,)).start()

    before = {name: signal.signal(name, leave) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def show_recording(settings: Settings, path: Path, *, speed: float | None = None) -> int:
    """Attach to the run if it goes on, else replay it; return the exit code."""
    need_terminal(f"`bioeval-tui runs show {path.stem}` prints the score card")
    from bioeval_tui.evaluate.engine.attach import FollowedRun, ReplayedRun
    from bioeval_tui.record.live import is_live

    view = FollowedRun(path) if is_live(path) and speed is None else ReplayedRun(path, speed)
    _show(settings, view, "leave", None)
    return ExitCode.OK


def show_medals(settings: Settings, reports: Sequence[Path], runs: Runs | None = None) -> None:
    """Open the medal table on grading reports (files or folders, several at once) and on runs, which it grades."""
    need_terminal("give --table")
    from bioeval_tui.tui.app import BioevalApp
    from bioeval_tui.tui.data.services import AppServices

    services = AppServices(settings, reports=reports, runs=runs)
    try:
        _run(BioevalApp(services, "medals", on_quit="leave"))
    finally:
        services.close()


def show_review(settings: Settings, what: Sequence[str], *, reviewer: str = "", blind: bool = False) -> int:
    """Open the review screen on runs (ids or recordings) and grading reports (files or folders).

    Raises:
        UsageError: something of these is neither, or there is no terminal.
    """
    need_terminal("`bioeval-tui runs show RUN` prints what was judged")
    from bioeval_tui.report.loading import find_recording
    from bioeval_tui.text import clean_line
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.review.review_app import ReviewApp
    from bioeval_tui.tui.review.review_items import ReviewSource

    reports = [text for text in what if Path(text).is_dir() or text.endswith(".json")]
    runs = [text for text in what if text not in reports]
    for text in runs:
        find_recording(text, settings.runs_dir)
    services = AppServices(settings, reviewer=clean_line(reviewer, 80))
    source = ReviewSource(tuple(runs), reports=tuple(map(Path, reports)))
    try:
        _run(ReviewApp(services, source, blind=blind))
    finally:
        services.close()
    return ExitCode.OK


def show_app(settings: Settings, places: Sequence[Path] = (), runs: Runs | None = None) -> None:
    """Open the application on the screen of jobs, or of medals where there are `runs` alone.

    `places` are folders with job files, or job files.
    """
    need_terminal("`bioeval-tui --help` lists the commands that print")
    from bioeval_tui.tui.app import BioevalApp
    from bioeval_tui.tui.data.services import AppServices

    services = AppServices(settings, job_places=places, runs=runs)
    try:
        _run(BioevalApp(services, "jobs" if places or runs is None else "medals"))
    finally:
        services.close()


def show_tab(
    settings: Settings, places: Sequence[Path] = (), *, read_only: bool = False, run_id: str | None = None
) -> None:
    """Draw one tab of `serve`: the application, or with `read_only` recordings alone, on the replay of a run if given."""
    from bioeval_tui.tui.app import BioevalApp
    from bioeval_tui.tui.data.read_only import ReadOnlyServices
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.read_only_app import ReadOnlyApp

    inner = AppServices(settings, job_places=places, writes=not read_only)
    services = cast("Services", ReadOnlyServices(inner)) if read_only else inner
    screen = "runs" if read_only else "jobs"
    start = partial(services.open_recording, run_id, speed=1.0) if run_id else screen
    app = ReadOnlyApp if read_only else BioevalApp
    try:
        _run(app(services, start, on_quit="leave" if read_only else "ask"))
    finally:
        inner.close()


def need_terminal(instead: str) -> None:
    """Raise `UsageError` when there is no terminal to draw on; `instead` is what works without one."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"this needs a terminal; without one, {instead}")
    if hasattr(select, "poll") and os.isatty(_TERMINAL):
        threading.Thread(target=_hang_up_with_terminal, daemon=True).start()


def _hang_up_with_terminal() -> None:
    """End this process when its terminal has gone and the system does not say so by SIGHUP.

    It says so to the terminal's own session alone, and not to who was told to ignore it (`nohup`). The screen would
    read the end of its input for ever, on a whole core.
    """
    terminal = select.poll()
    terminal.register(_TERMINAL, 0)  # that it is hung up is told unasked
    while not (told := terminal.poll()):
        pass
    if not told[0][1] & select.POLLHUP:
        return  # this system cannot tell of terminals
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        os._exit(128 + signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGHUP)


def _show(
    settings: Settings, view: FollowedRun | ReplayedRun, on_quit: OnQuit, spec: EngineSpec | None
) -> None:
    from bioeval_tui.evaluate.engine.attach import FollowedRun
    from bioeval_tui.tui.app import BioevalApp
    from bioeval_tui.tui.data.services import AppServices

    services = AppServices(settings, spec=spec)
    if spec is not None and isinstance(view, FollowedRun):
        services.batches.note(spec, view)

    async def open_view() -> RunView:
        return view

    try:
        _run(BioevalApp(services, open_view, on_quit=on_quit))
    finally:
        services.close()


def _run(app: BioevalApp) -> None:
    """Run the application until it is left.

    Raises:
        ScreenCrashError: a screen crashed; the terminal has been restored by then.
    """
    app.run()
    if app.crash is not None:
        raise ScreenCrashError(f"{type(app.crash).__name__}: {app.crash}") from app.crash
