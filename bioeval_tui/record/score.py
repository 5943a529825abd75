"""The composite score: one formula for runs, screens and explanations.

    score = (1·timing + 2·task + 4·assertion) / (sum of the weights present)
            − min(0.3 · failures, 0.5)

floored at 0 and rounded half-even to two decimals; timing = min(1, aspirational average / average
latency). Source: embabel-agent-eval, whose divisor is always 7; a part that the job does not have
is left out with its weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite

from bioeval_tui.base.text import clean_line, plural, shorten
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import AssertionChecked, ScorePart, TaskScored
from bioeval_tui.statistics.means import average, exact_mean

LABEL_WORDS = dict.fromkeys(("true", "yes", "pass", "passed", "correct"), 1.0) | dict.fromkeys(
    ("false", "no", "fail", "failed", "incorrect"), 0.0
)
"""Words that are scores, in the files of others."""
TIMING_WEIGHT = 1.0
TASK_WEIGHT = 2.0
ASSERTION_WEIGHT = 4.0
FAILURE_PENALTY = 0.3
MOST_PENALTY = 0.5
NEVER_ANSWERED = "the agent never answered"
NO_TASKS = "the job has no tasks"
NO_ASSERTIONS = "the job has no assertions"


@dataclass(frozen=True, slots=True)
class Composite:
    """The parts of a score and the failed requests that count; all else follows from them."""

    parts: tuple[ScorePart, ...]
    failures: int

    @property
    def penalty(self) -> float:
        """What the failed requests take from the score."""
        return failure_penalty(self.failures)

    @property
    def score(self) -> float | None:
        """The score in [0, 1], rounded to two decimals; None if a part could not be measured, or
        without any weight.
        """
        weight = self._weight
        if self._missing or weight == 0:
            return None
        weighted = sum(part.weight * part.value for part in self._present if part.value is not None)
        return round(max(0.0, weighted / weight - self.penalty), 2)

    @property
    def reason(self) -> str:
        """Why there is no score, or why parts are left out of it; empty if nothing is to be
        said.
        """
        if missing := self._missing:
            return "; ".join(
                f"{part.name} not measured: {part.reason or 'not a finite number'}"
                for part in missing
            )
        if self._weight == 0:
            return "the job has nothing to score"
        return "; ".join(part.reason for part in self.parts if part.left_out)

    @property
    def _present(self) -> list[ScorePart]:
        return [part for part in self.parts if not part.left_out]

    @property
    def _missing(self) -> list[ScorePart]:
        return [part for part in self._present if part.value is None or not isfinite(part.value)]

    @property
    def _weight(self) -> float:
        return sum(part.weight for part in self._present)


DID_NOT_RUN = "this program did not run during the answers, so no latency counts"


def timing_part(
    aspirational_ms: float | None,
    latencies_ms: Sequence[float],
    *,
    ended: bool = False,
    answers: int = 0,
    agent_failed: bool = False,
) -> ScorePart:
    """Return min(1, aspirational / average), both in ms; left out if the job has no aspirational
    average.

    Without any answer, the value is None during the conversation, and 0 once it has `ended`: an
    agent that never answered is a result, not a gap in the measurement. It is not measured if there
    were `answers`, and no latency counts; but if the agent failed, it is left out, because a
    failure is a result, too: it would else be lost more often than a success, which has more
    answers.
    """
    if not aspirational_ms:
        reason = "the job has no target for response times"
        return ScorePart(
            name="timing", weight=TIMING_WEIGHT, value=None, left_out=True, reason=reason
        )
    if not latencies_ms and answers:
        return ScorePart(
            name="timing",
            weight=TIMING_WEIGHT,
            value=None,
            left_out=agent_failed,
            reason=DID_NOT_RUN,
        )
    if not latencies_ms and ended:
        return ScorePart(name="timing", weight=TIMING_WEIGHT, value=0.0, reason=NEVER_ANSWERED)
    if not latencies_ms:
        return ScorePart(name="timing", weight=TIMING_WEIGHT, value=None, reason="no answer yet")
    average_ms = average(latencies_ms)
    value = 1.0 if average_ms <= 0 else min(1.0, aspirational_ms / average_ms)
    return ScorePart(name="timing", weight=TIMING_WEIGHT, value=value)


def task_part(
    scores: Sequence[float] | None,
    task_count: int,
    reason: str = "",
    weights: Sequence[float] | None = None,
) -> ScorePart:
    """Return the mean of the tasks' scores (0 to 1) by their `weights`; left out without tasks; not
    measured when `scores` is None.
    """
    if task_count == 0:
        return ScorePart(
            name="task",
            weight=TASK_WEIGHT,
            value=None,
            left_out=True,
            reason=NO_TASKS,
        )
    if scores is None:
        return ScorePart(name="task", weight=TASK_WEIGHT, value=None, reason=reason or "not judged")
    return ScorePart(name="task", weight=TASK_WEIGHT, value=exact_mean(scores, weights))


def judged_part(judged: Sequence[TaskScored] | None, count: int, reason: str = "") -> ScorePart:
    """Return the task part: the mean over `count` tasks or, if the job has a rubric, the rubric's
    score.

    It is not measured if nothing was judged, for this `reason`, or if the user never asked for one
    of the tasks and could have.
    """
    if judged is None:
        return task_part(None, count, reason)
    if unasked := [task for task in judged if not task.measured]:
        listed = ", ".join(
            f"{task.task} (“{shorten(clean_line(task.title), 60)}”)" for task in unasked
        )
        return task_part(None, count, f"the user never asked for task {listed} and could have")
    if any(item.points is not None for item in judged):
        earned, most = points(judged)
        of_points = f"{earned:g} of {most:g} points of the rubric"
        score = rubric_score(judged)
        return ScorePart(name="task", weight=TASK_WEIGHT, value=score, reason=of_points)
    scores, weights = [task.score for task in judged], [task.weight for task in judged]
    # Equal weights cancel out: the sum is divided by the number of tasks, without multiplying by
    # weights, which could round otherwise.
    all_equal = len({*weights}) < 2
    return task_part(scores, count, weights=None if all_equal else weights)


def points(items: Sequence[TaskScored]) -> tuple[float, float]:
    """Return the points that a rubric's items earned, including negative ones, and the maximum."""
    return fsum(item.earned for item in items), fsum(max(0.0, item.points or 0.0) for item in items)


def rubric_score(items: Sequence[TaskScored]) -> float | None:
    """Return earned points divided by possible points, from 0 to 1; None if no item has points
    above 0.

    Source: HealthBench (Arora et al. 2025, arXiv 2505.08775), `calculate_score` of
    openai/simple-evals; it clips only means over cases, this program each conversation's.
    """
    earned, most = points(items)
    if most:
        return min(1.0, max(0.0, earned / most))
    return None


def assertion_part(results: Sequence[tuple[float, bool | None]], reason: str = "") -> ScorePart:
    """Return the passed share by weight of `(weight, passed)`; left out without assertions of any
    weight.

    One assertion that could not be measured (None) makes the part not measured. One without weight
    counts for nothing.
    """
    none = "no assertion has a weight" if results else NO_ASSERTIONS
    results = [(weight, passed) for weight, passed in results if weight]
    if not results:
        return ScorePart(
            name="assertion",
            weight=ASSERTION_WEIGHT,
            value=None,
            left_out=True,
            reason=none,
        )
    unknown = sum(1 for _, passed in results if passed is None)
    if unknown:
        why = reason or f"{unknown} of {plural(len(results), 'assertion')} could not be measured"
        return ScorePart(name="assertion", weight=ASSERTION_WEIGHT, value=None, reason=why)
    value = exact_mean(
        [float(bool(passed)) for _, passed in results], [weight for weight, _ in results]
    )
    return ScorePart(name="assertion", weight=ASSERTION_WEIGHT, value=value)


def failure_penalty(failures: int) -> float:
    """Return the penalty for `failures` of the agent: 0.3 each, 0.5 at most."""
    return min(FAILURE_PENALTY * failures, MOST_PENALTY)


def compose(parts: Iterable[ScorePart], failures: int) -> Composite:
    """Return the composite of the parts."""
    return Composite(tuple(parts), failures)


def contributions(parts: Iterable[ScorePart], penalty: float) -> dict[str, float]:
    """Return what each measured part adds to a score and, as `penalty`, what failed requests take
    from it.

    They add up to the score before rounding: the penalty takes no more than there is.
    """
    known = {
        part.name: (part.weight, part.value)
        for part in parts
        if not part.left_out and part.value is not None
    }
    weight = fsum(weight for weight, _ in known.values()) or 1.0
    added: dict[str, float] = {name: own * value / weight for name, (own, value) in known.items()}
    return added | {"penalty": -min(penalty, fsum(added.values()))}


def passed_share(checks: Iterable[AssertionChecked]) -> float | None:
    """Return the share of the measured assertions, by weight, that passed; None if none was
    measured.
    """
    measured = [check for check in checks if check.status != "not_measured"]
    return assertion_part([(check.weight, check.status == "passed") for check in measured]).value


def mean_of(scores: Iterable[float | None]) -> float | None:
    """Return the mean over trials or cases, not rounded; None if any score is None or there are no
    scores.
    """
    values = list(scores)
    known = [score for score in values if score is not None]
    if values and len(known) == len(values):
        return exact_mean(known)
    return None


def published_mean(scores: Iterable[float | None]) -> float | None:
    """Return the mean of one conversation in each condition; None if one of them has no score.

    It is embabel-agent-eval's "Average score", which rounds half-even to two decimals, as it does
    each conversation's.
    """
    mean = mean_of(scores)
    if mean is None:
        return None
    return round(mean, 2)


def mean_of_conditions(
    scores: Mapping[Condition, Sequence[float | None]], conditions: Sequence[Condition]
) -> float | None:
    """Return the mean of the conditions' means, given the scores of their conversations; None if
    one is missing.

    Where each condition has one conversation, it is the published mean, which is rounded; a mean
    over trials or cases is not.
    """
    held = [scores.get(condition, ()) for condition in conditions]
    means = [mean_of(values) for values in held]
    if all(len(values) == 1 for values in held):
        return published_mean(means)
    return mean_of(means)


@dataclass(frozen=True, slots=True)
class Needed:
    """The value that one part would need to reach the target, everything else as it was.

    `value` is None when the part cannot do it alone: even 1.0 gives only `best`.
    """

    part: str
    now: float
    value: float | None
    best: float


def needed(parts: Sequence[ScorePart], failures: int, target: float) -> tuple[Needed, ...]:
    """Return the value that each measured part would need so that the composite reaches `target`.

    Empty if the composite could not be measured. If the target is already reached, return the value
    that the part could fall to, at least 0.
    """
    if compose(parts, failures).score is None:
        return ()
    # A part without weight reaches nothing; only a foreign recording has one that is not left out.
    present = [
        part for part in parts if not part.left_out and part.value is not None and part.weight > 0
    ]
    weight = sum(part.weight for part in present)
    parts_needed = []
    for part in present:
        assert part.value is not None
        others = sum(other.weight * (other.value or 0.0) for other in present if other is not part)
        wanted = (weight * (target + failure_penalty(failures)) - others) / part.weight
        perfect = [
            part.model_copy(update={"value": 1.0}) if other is part else other for other in parts
        ]
        best = compose(perfect, failures).score
        assert best is not None
        value = None
        if wanted <= 1.0 + 1e-12:
            value = min(1.0, max(0.0, wanted))
        parts_needed.append(Needed(part.name, part.value, value, best))
    return tuple(parts_needed)


def reweighted(
    parts: Sequence[ScorePart], failures: int, weights: Mapping[str, float]
) -> Composite:
    """Return the composite of the same parts under other weights; a weight of 0 leaves the part
    out.
    """
    changed = []
    for part in parts:
        weight = weights.get(part.name, part.weight)
        update: dict[str, object] = {"weight": weight}
        if weight == 0:
            update |= {"left_out": True, "reason": f"{part.name} has the weight 0"}
        changed.append(part.model_copy(update=update))
    return compose(changed, failures)
