"""Decides whether a batch can stop, with a confidence sequence over rounds that is valid at every
look.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.engine.batch import PreparedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.record import score as composite
from bioeval_tui.record.condition_names import Condition, without_placebo
from bioeval_tui.record.conditions import ConditionConfig, most_informed, named
from bioeval_tui.record.events import ConversationScored, RunEvent
from bioeval_tui.report.findings import StopDecision
from bioeval_tui.report.sentences import sentence
from bioeval_tui.statistics.means import exact_difference
from bioeval_tui.statistics.planning import ConfidenceSequence

DIFFERENCE = "difference"
"""The decision for a batch of two models: which of them is better."""


def make_decider(spec: EngineSpec, prepared: Sequence[PreparedRun]) -> Decider | None:
    """Return the stop rule of a batch; None if all trials should run."""
    decided = spec.until_decided
    if not decided:
        return None
    plans = [run.plan for run in prepared]
    in_each = [
        each for each in plans[0].job.held_in if all(each.name in plan.conditions for plan in plans)
    ]
    return Decider(decided, spec.runs, in_each, of_job=plans[0].job.held_in)


class Decider:
    """Receives the scores of a batch as they arrive.

    A round is one trial of every run; a job is a case.

    `until` is `difference`, of two models on the same jobs, or a threshold such as `supplied:0.8`.
    """

    def __init__(
        self,
        until: str,
        runs: Sequence[RunSpec],
        conditions: Sequence[ConditionConfig],
        of_job: Sequence[ConditionConfig],
    ) -> None:
        """Start without a round. `conditions` are those of the job that every run has.

        Raises:
            UsageError: the threshold is 0 or 1, its condition is not run, or there are not two
                models.
        """
        self._runs = tuple(runs)
        self._models = list(dict.fromkeys(run.model for run in runs))
        self._scores: dict[tuple[str, int], dict[str, float | None]] = {}
        self._next, self._left_out = 1, 0
        what, _, bar = until.rpartition(":")
        if until == DIFFERENCE:
            if len(self._models) != 2:
                raise UsageError(
                    "--until-decided compares two models: give --model twice, or a threshold with"
                    " --fail-under"
                )
            self._needed: tuple[Condition, ...] = (most_informed(conditions),)
            self._bar, low = 0.0, -1.0
        else:
            self._needed = (
                without_placebo(each.name for each in of_job) if what == "mean" else (what,)
            )
            self._bar, low = float(bar), 0.0
            if not 0 < self._bar < 1:
                raise UsageError(
                    f"--until-decided needs a threshold between 0 and 1, not {self._bar:g}"
                )
        held = [each.name for each in conditions]
        if missing := [name for name in self._needed if name not in held]:
            title = named(of_job, missing[0]).title
            raise UsageError(f"--until-decided: the run has no condition “{clean_line(title)}”")
        self._sequence = ConfidenceSequence(self._bar, low=low)
        self._is_difference = until == DIFFERENCE

    def take(self, event: RunEvent) -> None:
        """Add a conversation's score; a complete round is evaluated."""
        if (
            isinstance(event, ConversationScored)
            and event.condition is not None
            and event.trial is not None
        ):
            self._scores.setdefault((event.run_id, event.trial), {})[event.condition] = event.score
            while self._complete(self._next):
                values = self._values(self._next)
                if None in values:
                    self._left_out += 1
                else:
                    self._sequence.observe([value for value in values if value is not None])
                self._next += 1

    @property
    def decided(self) -> bool:
        """Whether no further round is needed."""
        return self._sequence.decision != "undecided"

    @property
    def found(self) -> StopDecision:
        """The state of the decision, and what it is about."""
        sequence = self._sequence
        return StopDecision(
            sequence.rounds,
            self._left_out,
            sequence.interval() if sequence.rounds else None,
            sequence.decision,
            self._bar,
            self._needed,
            tuple(Path(path).stem for path in dict.fromkeys(run.job_path for run in self._runs)),
            (
                tuple(model or "no model" for model in self._models[::-1])
                if self._is_difference
                else ()
            ),
        )

    @property
    def words(self) -> str:
        """The state of the decision, in one sentence."""
        return sentence(self.found)

    def _complete(self, trial: int) -> bool:
        by_run = (self._scores.get((run.run_id, trial), {}) for run in self._runs)
        return all(all(name in scores for name in self._needed) for scores in by_run)

    def _values(self, trial: int) -> list[float | None]:
        def value(run: RunSpec) -> float | None:
            scores = self._scores[run.run_id, trial]
            return composite.mean_of(scores[name] for name in self._needed)

        if not self._is_difference:
            return [value(run) for run in self._runs]
        found: list[float | None] = []
        for job in dict.fromkeys(run.job_path for run in self._runs):
            first, second = (
                value(next(run for run in self._runs if (run.job_path, run.model) == (job, model)))
                for model in self._models
            )
            if first is None or second is None:
                found.append(None)
            else:
                found.append(exact_difference(second, first))
        return found
