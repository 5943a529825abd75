"""The values that services pass to the screens of jobs, runs, benchmarks and reviews.

Their texts are cleaned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui.base.errors import Problem
from bioeval_tui.base.text import plural
from bioeval_tui.record.condition_names import PUBLISHED_TITLES, Condition

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.record.events import Fault, Mark, ReviewAction, Reviewed, TaskScored
    from bioeval_tui.record.state import ConversationKey, ConversationState
    from bioeval_tui.report.brief import Brief


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


@dataclass(frozen=True, slots=True)
class BenchmarkItem:
    """A machine-learning task as its config describes it.

    `problem` says why a broken one cannot be used.

    Unlike what `tasks list --json` prints, each text is cleaned, and empty if it is unknown, ready
    to draw. `how` is one sentence on how to get its data if it is not prepared.
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
    """A leaderboard: scores (best first), thresholds, human baselines, warnings, and its source."""

    scores: tuple[float, ...]
    lower_is_better: bool
    gold: float
    silver: float
    bronze: float
    median: float
    humans: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    origin: str = ""
    reference: tuple[str, float] | None = None
    """The reference model, which has no place, and its score."""


@dataclass(frozen=True, slots=True)
class BenchmarkDetail:
    """The parts that are slow to read: the description (Markdown) and the leaderboard, or why it is
    missing.
    """

    description: str = ""
    board: Board | None = None
    no_board: str = ""
    graded: TaskReport | None = None
    """The file that was graded last on this screen, as an unofficial row of the leaderboard."""


@dataclass(frozen=True, slots=True)
class MedalRow:
    """One graded, invalid or not graded submission.

    Exactly one of `report` and `not_graded` is set.
    """

    task_id: str
    agent: str
    file: str
    """The submission's file as shown; `path` is where to read it, if known."""
    report: TaskReport | None = None
    not_graded: str | None = None
    leaderboard: tuple[float, ...] = ()
    """Scores best first, for the scale and the places around; empty when not known."""
    human: float | None = None
    domain: str = ""
    folder: Path | None = None
    """The path of its grading report, with reviews beside it; None if it was graded without one."""
    submission: str = ""
    """Its key in these reviews."""
    path: Path | None = None
    lacks_data: bool = False
    """Whether it was not graded because its task's data is missing; preparing the task may help."""
    key: tuple[str, ...] | None = None
    """What tells its submission from others when it is graded again; None if that is unknown."""
    at: datetime | None = None
    """When it was graded, in UTC."""
    earlier: tuple[tuple[datetime, str], ...] = ()
    """When the same submission was graded before, and what came out, the newest first."""


class ReviewSource(NamedTuple):
    """What to review: all items of these runs, and these graded submissions."""

    run_ids: tuple[str, ...] = ()
    rows: tuple[MedalRow, ...] = ()
    reports: tuple[Path, ...] = ()
    """Grading reports, files or folders: every submission in them."""
    drawn: bool = False
    """Only the tasks that were drawn for review, in the order of the draw."""


class ItemId(NamedTuple):
    """An item's identity: a run or a folder of reports, and the item in it."""

    place: str
    key: ConversationKey | None
    task: int | None
    submission: str | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of the judging of a task: its verdict, or why it has none."""

    judge: str
    task: TaskScored | None
    """The verdict, with its texts cleaned; None if the task could not be judged."""
    why_not: str = ""

    @property
    def score(self) -> float | None:
        """The judge's score; None without one."""
        if self.task:
            return self.task.score
        return None


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One judged task (`judged`, `conversation`) or one graded submission (`row`), and its reviews
    so far.

    `opinions` and `faults` hold the latest of each reviewer; `fault` is the recorded one.
    """

    id: ItemId
    subject: str
    title: str
    brief: Brief | None = None
    """Who was tested by whom, on what; None for a submission."""
    criteria: str = ""
    judged: Judgement | None = None
    conversation: ConversationState | None = None
    row: MedalRow | None = None
    opinions: Mapping[str, Reviewed] = field(default_factory=dict)
    faults: Mapping[str, Reviewed] = field(default_factory=dict)
    notes: tuple[Reviewed, ...] = ()
    fault: Fault = "none"
    graded: Mark = "valid"
    condition: str = ""
    """What the job calls the conversation's condition."""
    sample: str = ""
    """What the reviews of the sample show so far; empty if the task was not sampled."""
    judging: str = ""
    """The judging by whose criteria it is reviewed; empty for the recorded ones."""


@dataclass(frozen=True, slots=True)
class NewReview:
    """One review of one item, as a person gives it; a `Reviewed` also has what stood there before,
    and by whom.
    """

    action: ReviewAction
    score: float | None = None
    fault: Fault | None = None
    mark: Mark | None = None
    why: str = ""
    blind: bool = False
