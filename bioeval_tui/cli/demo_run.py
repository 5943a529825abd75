"""The run of the demo: its engine, and the run as the screen shows it, at reading pace.

The demo loads this module after its first paint, and these with it: the models of events, and what
the first caption counts.
"""

from __future__ import annotations

import asyncio

from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.attach import FollowedRun, ReplayedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.engine.processes import start_engine, stop_run
from bioeval_tui.record.replay import reading_times, side_by_side
from bioeval_tui.tui.live import captions_view as captions_view  # or the first caption waits for it


class DemoRun:
    """A run that was started for the demo.

    `shown` is what the screen shows: `speed` times as fast as people read, however fast the run is.
    `beside`: both conversations are visible at once.
    """

    def __init__(self, spec: EngineSpec, settings: Settings, speed: float, *, beside: bool) -> None:
        """Start the engine. Raises `UsageError` if it cannot write its files."""
        self._source: FollowedRun = start_engine(spec, settings)[0]
        self.shown = ReplayedRun(
            self._source.path,
            speed,
            timing=reading_times,
            order=side_by_side if beside else tuple,
            source=self._source,
        )

    def stop(self) -> int | None:
        """Cancel the run, wait until its engine has ended, and return its exit code."""
        asyncio.run(stop_run(self._source))
        assert self._source.process is not None
        return self._source.process.poll()
