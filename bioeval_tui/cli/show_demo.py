"""Show the demo at reading pace: a new run, or recordings in the package."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.files import below, private_dir, write_whole
from bioeval_tui.base.settings import Settings
from bioeval_tui.cli.app import run_app, view_opener
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.evaluation.engine.attach import FollowedRun, ReplayedRun
from bioeval_tui.record.replay import reading_times, side_by_side
from bioeval_tui.sample.paths import careful_recording, sample_recordings
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.demo_app import PACES, BatchDemoApp, DemoApp, Pace

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.interface import EngineSpec


BESIDE = 120
"""Minimum width of a terminal in which both conversations are visible at once."""


def show_demo(
    spec: EngineSpec, settings: Settings, source: FollowedRun, *, pace: Pace, loop: bool
) -> None:
    """Run the demo's application on a run that was just started.

    In a rehearsal of the demo's own job, the run can be compared with a recording of the same job,
    whose agent does not guess.

    Raises:
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    order = side_by_side if get_terminal_size().columns >= BESIDE else tuple
    shown = ReplayedRun(source.path, PACES[pace], timing=reading_times, order=order, source=source)
    services = AppServices(settings, spec=spec)
    app = DemoApp(
        services,
        view_opener(shown),
        shown,
        pace=pace,
        loop=loop,
        local_model=spec.local_model,
        other=careful_recording() if spec.mode == "rehearsal" and not spec.local_model else None,
        on_quit="cancel",
    )
    run_app(app)


def show_recorded_demo(settings: Settings, name: str, *, pace: Pace, loop: bool) -> int:
    """Play the recordings of a demo, `batch` or `failure`, from a temporary folder; return the exit
    code.

    Raises:
        UsageError: there is no terminal.
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    need_terminal("`bioeval-tui demo --headless`, without --show, prints lines")
    with tempfile.TemporaryDirectory(prefix="bioeval-demo-") as folder:
        own = replace(settings, data_dir_override=folder)
        runs_dir = private_dir(own.runs_dir)
        recordings = sample_recordings(name)
        paths = [below(runs_dir, path.name) for path in recordings]
        for path, recording in zip(paths, recordings, strict=True):
            write_whole(path, recording.read_bytes())
        shown = ReplayedRun(paths[0], PACES[pace], timing=reading_times)
        services = AppServices(own, writes=False)

        if name == "batch":
            run_app(BatchDemoApp(services, paths, shown, pace=pace, loop=loop, on_quit="leave"))
            advice = (
                "compare your own models: bioeval-tui run JOB.yml --model A --model B --repeat 5"
            )
        else:
            view = view_opener(shown)
            run_app(DemoApp(services, view, shown, pace=pace, loop=loop, on_quit="leave"))
            advice = "evaluate your own agent: bioeval-tui new job.yml"
        # After the last screen: the first one waits for no statistics.
        from bioeval_tui.report.answer import answer_batch
        from bioeval_tui.report.formats.console import print_answer, print_lines
        from bioeval_tui.report.result import load_run

        print_answer(answer_batch([load_run(path) for path in paths]), plain_console())
        print_lines([advice], plain_console())
    return ExitCode.OK
