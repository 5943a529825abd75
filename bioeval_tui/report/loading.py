"""Recordings opened for reports: found by id or path and folded, with their reviews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from bioeval_tui.errors import Problem, RecordingError
from bioeval_tui.evaluation.prices import Prices, shipped_prices
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.events import ReviewsDrawn, RunStarted, TranscriptScored
from bioeval_tui.record.names import Condition
from bioeval_tui.record.overlay import in_force, read_overlay
from bioeval_tui.record.paths import SUFFIX
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.reviews import (
    ReviewedScores,
    Reviews,
    TaskKey,
    fold_reviews,
    reviewed_scores,
    score_of,
    with_reviews,
)
from bioeval_tui.record.state import ConversationKey, ConversationState, RunState, apply_all
from bioeval_tui.report.judged_again import JudgedAgain, judged_again
from bioeval_tui.report.reviews import Review, reviews_of


@dataclass(frozen=True, slots=True)
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

    @property
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

    def with_people(self) -> LoadedRun:
        """Return the run with people's scores and faults instead of the judge's, if there are any."""
        return replace(self, state=with_reviews(self.state, self.people))

    def recorded_verdict(self, talk: ConversationState) -> TranscriptScored | None:
        """Return the recorded verdict."""
        again = self.judged_again.get(talk.key)
        return again.recorded_verdict if again is not None else talk.verdict


def find_recording(text: str, runs_dir: Path) -> Path:
    """Return the recording that `text` names: a file, or a run id or part of one.

    Raises:
        UsageError: no run or several match.
    """
    path = Path(text)
    if text.endswith(SUFFIX) and path.is_file():
        return path
    return Catalogue(runs_dir).find(text)


def load_run(path: Path, *, prices: Prices | None = None, as_recorded: bool = False) -> LoadedRun:
    """Read and fold a recording and its overlay; without `prices`, the included prices are used.

    The latest verdict on a transcript counts; with `as_recorded`, the recorded one does, and the latest is only listed.

    Raises:
        RecordingError: the file cannot be read, or its first event is missing.
    """
    recording = read_recording(path)
    state = apply_all(RunState(), recording.events)
    if state.started is None:
        raise RecordingError(
            f"{path.name}: the first event, which contains the job, is missing", recording.problems
        )
    overlay = read_overlay(path)
    again = judged_again(state, overlay, counts=not as_recorded)
    return LoadedRun(
        path,
        state if as_recorded else in_force(state, overlay),
        state.started,
        (*recording.problems, *overlay.problems),
        reviews_of(overlay),
        again,
        prices or shipped_prices(),
        fold_reviews(overlay.events, state),
        any(isinstance(event, ReviewsDrawn) for event in overlay.events),
    )


def from_state(state: RunState, path: Path | None = None, prices: Prices | None = None) -> LoadedRun | None:
    """Return a run's state in the form of the gate and the reports; None if it never started."""
    if state.started is None:
        return None
    return LoadedRun(path or Path(), state, state.started, prices=prices or shipped_prices())
