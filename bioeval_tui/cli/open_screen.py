"""Open the terminal application, and end with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.errors import ScreenCrashError
from bioeval_tui.tui.app import BioevalApp, OnQuit
from bioeval_tui.tui.data.services import AppServices

# The first paint waits for what is imported above.
if TYPE_CHECKING:
    from bioeval_tui.evaluate.engine.attach import FollowedRun
    from bioeval_tui.evaluate.engine.run_view import RunView
    from bioeval_tui.evaluate.engine.spec import EngineSpec
    from bioeval_tui.settings import Settings
    from bioeval_tui.tui.services import Opener


def show(services: AppServices, start: Opener | str, on_quit: OnQuit) -> None:
    """Open the application on a run or on a screen, by its name; close the services with it.

    Raises:
        ScreenCrashError: a screen crashed; the terminal has been restored by then.
    """
    try:
        run_app(BioevalApp(services, start, on_quit=on_quit))
    finally:
        services.close()


def show_started(spec: EngineSpec, settings: Settings, view: FollowedRun, on_quit: OnQuit) -> None:
    """Open the application on the first run of a batch that was just started.

    Raises:
        ScreenCrashError: a screen crashed; the terminal has been restored by then.
    """
    services = AppServices(settings, spec=spec)
    services.batches.note(spec, view)

    async def open_view() -> RunView:
        return view

    show(services, open_view, on_quit)


def run_app(app: BioevalApp) -> None:
    """Run the application until it is left.

    Raises:
        ScreenCrashError: a screen crashed; the terminal has been restored by then.
    """
    app.run()
    if app.crash is not None:
        raise ScreenCrashError(f"{type(app.crash).__name__}: {app.crash}") from app.crash
