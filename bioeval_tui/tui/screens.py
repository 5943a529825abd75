"""The screens of the application. To add one: write its file, and add its line to `SCREENS`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from textual.screen import Screen


class ScreenEntry(NamedTuple):
    """A screen with a key: its name, key, label, tooltip, and its class as `module:Class`."""

    mode: str
    key: str
    label: str
    tooltip: str
    where: str

    def make(self) -> Screen[Any]:
        """Return the screen. Its module is loaded when the screen is first opened, not before the first paint."""
        module, _, name = self.where.partition(":")
        screen: Screen[Any] = getattr(import_module(module), name)()
        return screen


SCREENS: tuple[ScreenEntry, ...] = (
    ScreenEntry(
        "home",
        "0",
        "home",
        "Go to your newest runs and what to do next",
        "bioeval_tui.tui.home:HomeScreen",
    ),
    ScreenEntry("jobs", "1", "jobs", "Go to the job files", "bioeval_tui.tui.jobs.jobs:JobsScreen"),
    ScreenEntry(
        "live", "2", "live run", "Go to the run you are watching", "bioeval_tui.tui.live.live:LiveScreen"
    ),
    ScreenEntry("runs", "3", "runs", "Go to the recorded runs", "bioeval_tui.tui.runs.runs:RunsScreen"),
    ScreenEntry(
        "benchmarks",
        "4",
        "benchmarks",
        "Go to the machine-learning tasks",
        "bioeval_tui.tui.benchmarks:BenchmarksScreen",
    ),
    ScreenEntry(
        "medals",
        "5",
        "medal table",
        "Go to the graded submissions",
        "bioeval_tui.tui.medals.medals:MedalsScreen",
    ),
)
