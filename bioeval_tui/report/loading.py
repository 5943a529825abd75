"""A recording opened for reports: folded, with its reviews. `report/result.py` opens it and makes its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from bioeval_tui.errors import Problem
from bioeval_tui.evaluation.prices import Prices, shipped_prices
from bioeval_tui.record.events import RunStarted, TranscriptScored
from bioeval_tui.record.names import Condition
from bioeval_tui.record.reviews import (
    ReviewedScores,
    Reviews,
    TaskKey,
    reviewed_scores,
    score_of,
    with_reviews,
)
from bioeval_tui.record.state import ConversationKey, ConversationState, RunState
from bioeval_tui.report.judged_again import JudgedAgain
from bioeval_tui.report.reviews import Review


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """One run, folded from its masked events. `problems` lists damaged lines.

    If transcripts were judged again (`judged_again`), `state` has the latest verdicts, unless the run was
    loaded as recorded.
    """

    path: Path
    state: RunState
    started: RunStarted
    problems: tuple[Problem, ...] = ()
    reviews: tuple[Review, ...] = ()
    judged_again: Mapping[ConversationKey, JudgedAgain] = field(default_factory=dict)
    prices: Prices = field(default_factory=shipped_prices)
    people: Reviews = field(default_factory=Reviews)
    """People's current reviews. `state` has the judge's scores; `with_people` replaces them."""

    sampled: bool = False
    """Whether a random sample of its verdicts was drawn for people to review."""

    @property
    def run_id(self) -> str:
        """The run's id as the recording says it."""
        return self.started.run_id

    @property
    def trials(self) -> list[int]:
        """The trials with at least one conversation that has started."""
        return sorted({key.trial for key in self.state.conversations})

    @property
    def talks(self) -> list[ConversationState]:
        """The conversations, trial by trial, withheld before supplied."""
        found = self.state.conversations.values()
        return sorted(found, key=lambda talk: (talk.key.trial, talk.key.condition == "supplied"))

    @cached_property
    def reviewed(self) -> ReviewedScores | None:
        """The scores after people's reviews; None without any."""
        return reviewed_scores(self.state, self.people)

    def kind_of(self, role: Literal["evaluator", "scorer"]) -> str:
        """Return the job's kind of evaluator or judge, such as `scripted`."""
        found = self.state.job.get(role)
        return str(found.get("kind", "llm")) if isinstance(found, dict) else "llm"

    def people_score(self, condition: Condition, trial: int, task: int) -> float | None:
        """Return people's score of a task; None without one."""
        key = TaskKey(ConversationKey(condition, trial), task)
        return score_of(self.people.tasks.get(key, {}))

    def with_people(self) -> Self:
        """Return the run with people's scores and faults instead of the judge's, if there are any."""
        return replace(self, state=with_reviews(self.state, self.people))

    def recorded_verdict(self, talk: ConversationState) -> TranscriptScored | None:
        """Return the recorded verdict."""
        again = self.judged_again.get(talk.key)
        return again.recorded_verdict if again is not None else talk.verdict


def from_state(state: RunState) -> LoadedRun | None:
    """Return a run that is held in memory; None if it never started."""
    return LoadedRun(Path(), state, state.started) if state.started is not None else None
