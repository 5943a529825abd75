"""Run jobs on the live screen: start the engine, and show it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bioeval_tui.base.errors import ScreenCrashError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import say
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.engine.processes import start_engine, stop_run
from bioeval_tui.record.runs import recording_path


def show_run(spec: EngineSpec, settings: Settings) -> int:
    """Start an engine, show its run, print how it ended, and return the exit code.

    The engine checks the batch; what the user may have got wrong, `announce` has checked before.
    It continues after the screen closes, if the user wants it to.
    """
    need_terminal("--headless prints lines, as in `bioeval-tui demo --headless`")
    # The engine first: it starts on the other core while the screen's modules load here.
    view = start_engine(spec, settings)[0]
    try:
        from bioeval_tui.cli.app import show_started  # loaded while the engine starts

        show_started(spec, settings, view, "ask")
    except ScreenCrashError as error:
        if view.engine_runs():
            error.add_note(
                f"the run continues; attach to it with `bioeval-tui watch {view.run_id}`"
            )
        raise
    except KeyboardInterrupt:  # before the screen could ask
        asyncio.run(stop_run(view))
        raise
    from bioeval_tui.report.formats.console import say_goodbye  # the first paint does not need it

    engine = view.process.poll() if view.process is not None else None
    return say_goodbye([recording_path(settings.runs_dir, run.run_id) for run in spec.runs], engine)


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
