"""Machine-learning tasks and graded submissions as services pass them to the screens. Their texts
are cleaned.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport


@dataclass(frozen=True, slots=True)
class BenchmarkItem:
    """A machine-learning task as its config describes it.

    `problem` says why a broken one cannot be used.

    Unlike what `tasks list --json` prints, each text is cleaned, and empty if it is unknown, ready
    to draw. `how` is one sentence on how to get its data if it is not prepared.
    """

    task_id: str
    name: str
    domain: str
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
