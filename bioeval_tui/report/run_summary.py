"""A run in a list."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bioeval_tui.report.previews import RunPreview
    from bioeval_tui.report.result import RunResult

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
    identity: dict[str, str] = field(default_factory=dict)
    """Who was tested by whom, and with what."""

    @property
    def agent(self) -> str:
        """What the job or its address calls the agent."""
        return self.identity.get("agent", "")

    @property
    def agent_words(self) -> str:
        """The agent and the model that was asked for."""
        return agent_words(self.agent, self.model)

    @property
    def uplift(self) -> float | None:
        """Supplied − withheld of a clean run."""
        withheld, supplied = self.scores.get("withheld"), self.scores.get("supplied")
        return None if withheld is None or supplied is None or not self.clean else supplied - withheld

    @property
    def only_condition(self) -> str | None:
        """Its only condition; None if it has both, or never started."""
        return next(iter(self.scores)) if len(self.scores) == 1 else None

    def differs_from(self, other: RunSummary) -> list[str]:
        """Return in what the runs differ besides their results, such as `agent`; nothing of a run whose identity is unknown."""
        theirs = other.identity
        return [name for name, told in self.identity.items() if name in theirs and theirs[name] != told]

    @property
    def measured(self) -> bool:
        """Whether it has its main score: the mean of both conditions, or the score of its only one."""
        return self.score is not None or (len(self.scores) == 1 and None not in self.scores.values())


def agent_words(agent: str, model: str | None) -> str:
    """Return an agent with the model that was asked for, because several may share an address; never the same twice."""
    return " · ".join(dict.fromkeys(filter(None, (agent, model))))


def preview(run: RunResult) -> RunPreview:
    """Return a run's conclusion, and where its lowest conversation lost points."""
    from bioeval_tui.report.previews import preview_of  # statistics: the list of runs waits for none

    return preview_of(run)
