"""Run the terminal application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.errors import ScreenCrashError
from bioeval_tui.tui.app import BioevalApp, OnQuit
from bioeval_tui.tui.data.services import AppServices

# Imports above delay the first paint.
if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.attach import FollowedRun
    from bioeval_tui.evaluation.engine.run_view import Opener, RunView
    from bioeval_tui.evaluation.engine.spec import EngineSpec
    from bioeval_tui.settings import Settings


def show(services: AppServices, start: Opener | str, on_quit: OnQuit) -> None:
    """Run the application, starting with a run or the screen of that name, and close its services.

    Raises:
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    try:
        run_app(BioevalApp(services, start, on_quit=on_quit))
    finally:
        services.close()


def show_started(spec: EngineSpec, settings: Settings, view: FollowedRun, on_quit: OnQuit) -> None:
    """Run the application, showing the first run of a batch that was just started.

    Raises:
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    services = AppServices(settings, spec=spec)
    services.note(spec, view)

    async def open_view() -> RunView:
        return view

    show(services, open_view, on_quit)


def run_app(app: BioevalApp) -> None:
    """Run the application until the user quits.

    Raises:
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    app.run()
    if app.crash is not None:
        raise ScreenCrashError(f"{type(app.crash).__name__}: {app.crash}") from app.crash
