"""Show the demo at reading pace: a run that is held now, or recordings that come with the program."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bioeval_tui.cli.show_run import ending_with_terminal
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.errors import ExitCode
from bioeval_tui.evaluate.engine.attach import ReplayedRun
from bioeval_tui.evaluate.wiring.start import start_engine, stop_run
from bioeval_tui.record.paths import recording_path
from bioeval_tui.record.replay import reading_times
from bioeval_tui.sample.paths import sample_recordings
from bioeval_tui.settings import Settings, private_dir

if TYPE_CHECKING:
    from bioeval_tui.evaluate.engine.run_view import RunView
    from bioeval_tui.evaluate.engine.spec import EngineSpec
    from bioeval_tui.tui.demo_app import Pace


def show_demo(spec: EngineSpec, settings: Settings, *, pace: Pace, loop: bool) -> int:
    """Start an engine, show its run at reading pace, say how it ended, and return the exit code."""
    need_terminal("give --headless")
    # The engine first: it starts on the other core while the screen's modules load here.
    source = start_engine(spec, settings)
    with ending_with_terminal(source):
        try:
            from bioeval_tui.cli.open_screen import run_app  # see above
            from bioeval_tui.tui.data.services import AppServices
            from bioeval_tui.tui.demo_app import PACES, DemoApp

            shown = ReplayedRun(source.path, PACES[pace], timing=reading_times, source=source)
            services = AppServices(settings, spec=spec)

            async def open_view() -> RunView:
                return shown

            try:
                run_app(DemoApp(services, open_view, shown, pace=pace, loop=loop, on_quit="cancel"))
            finally:
                services.close()
        finally:
            asyncio.run(stop_run(source))
    from bioeval_tui.report.formats.farewell import say_goodbye  # the first paint has no use for it

    return say_goodbye([recording_path(settings.runs_dir, run.run_id) for run in spec.runs])


def show_recorded_demo(settings: Settings, name: str, *, pace: Pace, loop: bool) -> int:
    """Play the recordings of a demo, `batch` or `failure`, from a folder of their own; return the exit code."""
    need_terminal("give --headless without --show")
    from bioeval_tui.cli.open_screen import run_app  # the demo that is held now loads it later
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.demo_app import PACES, BatchDemoApp, DemoApp

    with tempfile.TemporaryDirectory(prefix="bioeval-demo-") as folder:
        own = replace(settings, data_dir_override=folder)
        paths = [Path(shutil.copy(path, private_dir(own.runs_dir))) for path in sample_recordings(name)]
        shown = ReplayedRun(paths[0], PACES[pace], timing=reading_times)
        services = AppServices(own, writes=False)

        async def open_view() -> RunView:
            return shown

        try:
            if name == "batch":
                run_app(BatchDemoApp(services, paths, shown, pace=pace, loop=loop, on_quit="leave"))
            else:
                run_app(
                    DemoApp(services, open_view, shown, pace=pace, loop=loop, graded=False, on_quit="leave")
                )
        finally:
            services.close()
    return ExitCode.OK
