"""The bars of a headless run, and the files that CI reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bioeval_tui.report.files import write_private
from bioeval_tui.report.formats.json_report import json_report
from bioeval_tui.report.formats.junit import junit_xml
from bioeval_tui.report.formats.markdown import gate_markdown
from bioeval_tui.report.gate import GateResult, GateRules, evaluate
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.words import reviewed_words

SIGNS = {"passed": "✓", "failed": "✗", "not_measured": "?"}


@dataclass(frozen=True, slots=True)
class Gate:
    """What must hold, and where the outcome is written; a path that is None is not written."""

    rules: GateRules = field(default_factory=GateRules)
    junit: Path | None = None
    json: Path | None = None
    markdown: Path | None = None

    @property
    def writes(self) -> bool:
        """Whether a file is wanted, which needs the transcripts too."""
        return any((self.junit, self.json, self.markdown))

    def check_paths(self) -> None:
        """Raise `UsageError` for a file that could not be written, before an hour was spent."""
        from bioeval_tui.errors import UsageError

        for path in (self.junit, self.json, self.markdown):
            if path is not None and not path.absolute().parent.is_dir():
                raise UsageError(f"{path}: the folder {path.absolute().parent} does not exist")
            if path is not None and path.is_dir():
                raise UsageError(f"{path} is a folder; give the name of a file")

    def hold(self, runs: Sequence[LoadedRun], notes: tuple[str, ...] = ()) -> GateResult:
        """Check the runs and write the files; `notes` stand beside what the gate has to note itself.

        Raises:
            UsageError: a file cannot be written.
        """
        result = evaluate(runs, self.rules)
        result = replace(result, notes=(*notes, *result.notes))
        if self.junit is not None:
            write_private(self.junit, junit_xml(runs, self.rules))
        if self.json is not None:
            report = {**json_report(runs), "gate": result.to_dict()}
            write_private(self.json, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        if self.markdown is not None:
            write_private(self.markdown, gate_markdown(result, runs))
        return result


def with_people(runs: Sequence[LoadedRun]) -> tuple[list[LoadedRun], tuple[str, ...]]:
    """Return the runs with people's scores where somebody reviewed, and what that made of each run's mean."""
    notes = tuple(
        f"{run.run_id}: {reviewed_words(run) or 'no reviews, the judge’s scores count'}" for run in runs
    )
    return [run.with_people() for run in runs], notes


def print_checks(result: GateResult, console: Console) -> None:
    """Print a line for each bar, and what a reader of the outcome must know."""
    several = len({check.model for check in result.checks}) > 1
    for check in result.checks:
        where = f" · {check.model}" if several and check.model else ""
        where += f" · facts {check.condition}" if check.condition else ""
        value = "" if check.bar is None else f" {_number(check.value)}, the bar is {check.bar:g}"
        console.print(
            Text(f"{SIGNS[check.status]} {check.job}{where}: {check.rule}{value} ({check.words})"),
            soft_wrap=True,
        )
    for note in result.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
