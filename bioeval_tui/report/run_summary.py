"""A run in a list: its summary, and the preview beside the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

Status = Literal["running", "completed", "cancelled", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One row of the history of runs. `score` is the mean of both conditions; `scores` has each condition that was run."""

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
    """The mean after people's reviews; valid only if there are `reviewers`."""
    reviewers: tuple[str, ...] = ()
    batch_id: str | None = None
    """The command that it was started with, where that started several."""

    clean: bool = True
    """Whether both conditions started from the same state; otherwise there is no uplift."""
    imported: bool = False
    """Whether it was imported with `runs import`."""

    @property
    def uplift(self) -> float | None:
        """Supplied − withheld of a clean run."""
        withheld, supplied = self.scores.get("withheld"), self.scores.get("supplied")
        return None if withheld is None or supplied is None or not self.clean else supplied - withheld

    @property
    def only_condition(self) -> str | None:
        """Its only condition; None if it has both, or never started."""
        return next(iter(self.scores)) if len(self.scores) == 1 else None

    @property
    def measured(self) -> bool:
        """Whether it has its main score: the mean of both conditions, or the score of its only one."""
        return self.score is not None or (len(self.scores) == 1 and None not in self.scores.values())


class Loss(NamedTuple):
    """Why a conversation lost points, and what the judge quotes about it: of a partly done task, this may be what was done."""

    reason: str
    turn: int | None = None
    """The turn of the quotation; None without one."""
    quoted: str = ""


@dataclass(frozen=True, slots=True)
class RunPreview:
    """The result of an ended run, for a preview beside a list."""

    sentence: str
    lowest: str = ""
    """The conversation that scored lowest, such as `withheld, trial 2`, to which the next four belong."""
    lost: tuple[Loss, ...] = ()
    """Why it lost most of its points, the largest loss first; empty if it lost nothing or has no score."""
    gains: tuple[tuple[str, str], ...] = ()
    """The largest possible gains of its score, and their size."""
    ways: tuple[str, ...] = ()
    """What to do about it if it never took place."""
    last: tuple[tuple[str, str], ...] = ()
    """Its last messages, role and text, if it has no loss to show."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the job calls the conditions."""
    brief: str = ""
    """The sentence in a few words."""
    trials: int = 0
    seconds: float | None = None
    """How long a conversation took on average."""
    dollars: float | None = None
    """What a conversation cost on average; None if a part of it is unknown."""
