"""The gate of a headless run, and the files for CI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bioeval_tui.errors import UsageError
from bioeval_tui.report.files import write_private
from bioeval_tui.report.formats.registry import format_of
from bioeval_tui.report.gate import GateResult, GateRules, evaluate
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.words import reviewed_words

SIGNS = {"passed": "✓", "failed": "✗", "not_measured": "?"}


@dataclass(frozen=True, slots=True)
class Gate:
    """The thresholds, and the files for the result."""

    rules: GateRules = field(default_factory=GateRules)
    files: Mapping[str, Path] = field(default_factory=dict)
    """Where to write, by the format's name."""

    def check_paths(self) -> None:
        """Raise `UsageError` early for a file that cannot be written."""
        for path in self.files.values():
            if not path.absolute().parent.is_dir():
                raise UsageError(f"{path}: the folder {path.absolute().parent} does not exist")
            if path.is_dir():
                raise UsageError(f"{path} is a folder; give the name of a file")

    def check(self, runs: Sequence[LoadedRun], notes: tuple[str, ...] = ()) -> GateResult:
        """Check the runs and write the files; `notes` are added to the gate's own notes.

        Raises:
            UsageError: a file cannot be written.
        """
        result = evaluate(runs, self.rules)
        result = replace(result, notes=(*notes, *result.notes))
        for name, path in self.files.items():
            write_private(path, format_of(name).write("gate", runs, self.rules, result))
        return result


def with_people(runs: Sequence[LoadedRun]) -> tuple[list[LoadedRun], tuple[str, ...]]:
    """Return the runs with people's scores if there are reviews, and a note on each run's changed mean."""
    notes = tuple(
        f"{run.run_id}: {reviewed_words(run) or 'no reviews, the judge’s scores count'}" for run in runs
    )
    return [run.with_people() for run in runs], notes


def print_checks(result: GateResult, console: Console) -> None:
    """Print a line for each threshold, and the notes."""
    several = len({check.model for check in result.checks}) > 1
    for check in result.checks:
        where = f" · {check.model}" if several and check.model else ""
        where += f" · facts {check.condition}" if check.condition else ""
        value = "" if check.bar is None else f" {_number(check.value)}, the threshold is {check.bar:g}"
        console.print(
            Text(f"{SIGNS[check.status]} {check.job}{where}: {check.rule}{value} ({check.words})"),
            soft_wrap=True,
        )
    for note in result.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
