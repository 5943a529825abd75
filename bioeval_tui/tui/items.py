"""What services hand to the screens of jobs, runs and benchmarks. Values only; texts in them are cleaned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from bioeval_tui.errors import Problem

Verdict = Literal["better", "worse", "same", "not distinguishable", "too few", "not measured"]
Status = Literal["running", "completed", "cancelled", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class JobItem:
    """A job file: its text, what is in it, what is wrong with it, and how its last runs went.

    Counts are None when the file cannot be understood. `scores` are means of both conditions, oldest
    first; None where a run could not be measured. A run that held only one has no place among them.
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
    """False while the check of many new files is still under way; then nothing is known but the text."""
    agent_url: str = ""
    sample: bool = False
    """Whether it ships with the program, and so can be tried with the sample agent."""
    runs: int = 0
    scores: tuple[float | None, ...] = ()
    last_run: datetime | None = None

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep it from running."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


class TurnMark(NamedTuple):
    """A place of a replay: a turn of a conversation, after `given` events and `at_s` recorded seconds.

    Turn 0 is the beginning; without a condition any other place is the end. `failed` says that an
    assertion turned out failed since the place before.
    """

    condition: Literal["withheld", "supplied"] | None
    trial: int
    turn: int
    given: int
    at_s: float
    failed: bool = False


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One row of the history of runs. `score` is the mean of both conditions; `scores` has those that are held."""

    run_id: str
    job: str
    status: Status
    started_at: datetime
    score: float | None
    fault: str
    scores: dict[str, float | None]
    messages: int
    path: Path
    model: str | None = None
    rehearsal: bool = False
    reviewed: float | None = None
    """The mean after people's reviews; it counts only where there are `reviewers`."""
    reviewers: tuple[str, ...] = ()
    batch_id: str | None = None
    """The command that it was started with, where that started several."""

    @property
    def only_condition(self) -> str | None:
        """The one condition that it holds; None where it holds both, or never began."""
        return next(iter(self.scores)) if len(self.scores) == 1 else None

    @property
    def measured(self) -> bool:
        """Whether it has the score it was held for: the mean of both conditions, or that of its only one."""
        return self.score is not None or (len(self.scores) == 1 and None not in self.scores.values())


@dataclass(frozen=True, slots=True)
class Compared:
    """A value in run A and in run B, and what may be said of the difference."""

    name: str
    a: float | None
    b: float | None
    words: str = ""
    verdict: Verdict = "not measured"


@dataclass(frozen=True, slots=True)
class ComparedCheck:
    """An assertion: the share of trials in which it held at the end, in A and in B."""

    title: str
    weight: float
    a: float | None
    b: float | None
    change: str


@dataclass(frozen=True, slots=True)
class ComparedCondition:
    """One condition of both runs. `latency` is the average answer in ms; None when timing is not comparable."""

    condition: str
    sentence: str
    score: Compared
    tasks: tuple[Compared, ...]
    assertions: tuple[ComparedCheck, ...]
    latency: Compared | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Run B against run A; `notes` say what makes them unlike."""

    a: RunSummary
    b: RunSummary
    conditions: tuple[ComparedCondition, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchmarkItem:
    """A machine-learning task as its config describes it. `problem` says why a broken one cannot be used.

    `how` is one sentence: how its data is had, when it is not prepared.
    """

    task_id: str
    name: str
    domain: str = ""
    task_type: str = ""
    difficulty: str = ""
    source: str = ""
    metric: str = ""
    prepared: bool = False
    how: str = ""
    problem: str = ""
    awards_medals: bool = False
    time_limit_s: int | None = None
    file_kind: str = "CSV"


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard: scores best first, its thresholds, human baselines, and what is doubtful about it."""

    scores: tuple[float, ...]
    lower_is_better: bool
    gold: float
    silver: float
    bronze: float
    median: float
    humans: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchmarkDetail:
    """What takes a moment to read: the description (Markdown) and the leaderboard, or why there is none."""

    description: str = ""
    board: Board | None = None
    no_board: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """What the doctor says of a file: its findings, and whether it would be graded."""

    status: Literal["valid", "invalid", "not_graded"]
    findings: tuple[str, ...] = ()
