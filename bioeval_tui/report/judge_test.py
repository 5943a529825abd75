"""Computes the effect of each change from a judge's verdicts before and after it, and whether it reacts to controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from bioeval_tui.evaluation.wiring.rescore import (
    CHANGES,
    CONTROLS,
    REORDERED,
    UNCHANGED,
    JudgeAsked,
)
from bioeval_tui.report.judge_checks import (
    AskedAgain,
    Stability,
    judge_stability,
)
from bioeval_tui.report.statistics.estimates import grouped

TOO_LOW = 0.1
"""Recorded conversations with a lower mean score cannot show whether a judge reacts."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """A judge's mean score of a control, and of the same tasks in the recorded conversations."""

    score: float
    recorded: float

    @property
    def is_comparable(self) -> bool:
        """Whether the recorded conversations have scores that a control can be lower than."""
        return self.recorded >= TOO_LOW

    @property
    def reacts(self) -> bool:
        """Whether the control has at most half the score."""
        return self.score <= self.recorded / 2


def reactions_of(asked: Sequence[JudgeAsked]) -> dict[str, Reaction]:
    """Return the judge's reaction to each control that it scored; a rubric's undesired items are left out."""
    reactions = {}
    for control in CONTROLS:
        scored = [one for one in asked if one.change == control.name and one.wanted]
        about = {(one.cluster, one.task) for one in scored}
        recorded = [
            one.score for one in asked if one.change == UNCHANGED and (one.cluster, one.task) in about
        ]
        if scored and recorded:
            reactions[control.name] = Reaction(fmean(one.score for one in scored), fmean(recorded))
    return reactions


def stability_of(asked: Sequence[JudgeAsked]) -> dict[str, Stability]:
    """Return the effect of each change on the judge's scores; tasks without an unchanged score are excluded.

    Where tasks change places, the shift is from the later to the earlier place.
    """
    before = grouped(((one.cluster, one.task), one) for one in asked if one.change == UNCHANGED)
    tasks = {
        cluster: max(ones) for cluster, ones in grouped((one.cluster, one.task) for one in asked).items()
    }
    counts: dict[tuple[str, str, int], int] = {}
    changes = {change.name for change in CHANGES}
    asked_again = []
    for one in asked:
        if one.change not in changes:
            continue
        # Of a case with several trials the first answer belongs to the first trial, and so on.
        place = counts.get((one.change, one.cluster, one.task), 0)
        counts[one.change, one.cluster, one.task] = place + 1
        same = before.get((one.cluster, one.task), [])
        if place < len(same):
            pair = same[place], one
            if one.change == REORDERED and 2 * one.task <= tasks[one.cluster]:
                pair = one, same[place]  # the first tasks have moved to the end
            first, second = pair
            item = f"{one.task}/{place}"
            asked_again.append(
                AskedAgain(
                    one.change, one.cluster, item, first.score, second.score, first.passed, second.passed
                )
            )
    return judge_stability(asked_again)
