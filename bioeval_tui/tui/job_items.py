"""A job file as services pass it to the screens. Its texts are cleaned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from bioeval_tui.base.errors import Problem
from bioeval_tui.base.text import plural
from bioeval_tui.record.condition_names import PUBLISHED_TITLES, Condition


@dataclass(frozen=True, slots=True)
class JobItem:
    """A job file: its text, contents, problems and latest scores.

    Counts are None if the file cannot be parsed. `scores` are means of both conditions, oldest
    first; None where a run could not be measured. Runs of one condition are left out.
    """

    path: Path
    name: str
    text: str = ""
    tasks: int | None = None
    facts: int | None = None
    assertions: int | None = None
    problems: tuple[Problem, ...] = ()
    runnable: bool = True
    checked: bool = True
    """False while the check of many new files is still under way; then nothing is known but the
    text.
    """
    agent_url: str = ""
    sample: bool = False
    """Whether it is included in the program, and so can be tried with the sample agent."""
    needs_code: bool = False
    """Whether it can run as soon as the folder with its Python functions is given."""
    runs: int = 0
    conditions: Mapping[Condition, str] = field(default_factory=lambda: PUBLISHED_TITLES)
    """What the job calls its conditions, by name, in order."""
    scores: tuple[float | None, ...] = ()
    last_run: datetime | None = None
    cases: int = 0
    """Number of cases, times personas; 0 for a job without cases."""
    about: tuple[tuple[str, str], ...] = ()
    """What it contains, in lines with a heading or none: `facts`, `The user lives in Sydney`."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep it from running."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def last_score(self) -> float | None:
        """The mean of its newest run; None if that could not be measured, or there is none."""
        if self.scores:
            return self.scores[-1]
        return None


def cannot_run(job: JobItem) -> str:
    """Return why a checked job cannot run, in a sentence; empty if it can."""
    if job.runnable or job.needs_code:
        return ""
    why = f"{job.name} cannot run: {plural(len(job.errors), 'error')}"
    line = min((problem.line for problem in job.errors if problem.line), default=0)
    if not line:
        return why
    if len(job.errors) > 1:
        return f"{why}, the first at line {line}"
    return f"{why} at line {line}"
