"""Show a recorded demo at reading pace: recordings in the package."""

from __future__ import annotations

import tempfile
from dataclasses import replace

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.files import below, private_dir, write_whole
from bioeval_tui.base.settings import Settings
from bioeval_tui.cli.app import run_app, view_opener
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.evaluation.engine.attach import ReplayedRun
from bioeval_tui.record.replay import reading_times
from bioeval_tui.sample.paths import sample_recordings
from bioeval_tui.tui.batch_demo_app import BatchDemoApp
from bioeval_tui.tui.data.services import AppServices, Preferences
from bioeval_tui.tui.demo_app import PACES, DemoApp, Pace


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
        services = AppServices(own, writes=False)
        services.preferences = Preferences(settings.data_dir, writes=False)  # the user's theme

        if name == "batch":
            run_app(BatchDemoApp(services, paths, pace=pace, loop=loop, on_quit="leave"))
            advice = (
                "compare your own models: bioeval-tui run JOB.yml --model A --model B --repeat 5"
            )
        else:
            view = view_opener(ReplayedRun(paths[0], PACES[pace], timing=reading_times))
            run_app(DemoApp(services, view, pace=pace, loop=loop, on_quit="leave"))
            advice = "evaluate your own agent: bioeval-tui new job.yml"
        # After the last screen: the first one waits for no statistics.
        from bioeval_tui.report.formats.console import print_answer_of

        print_answer_of(paths, advice)
    return ExitCode.OK
