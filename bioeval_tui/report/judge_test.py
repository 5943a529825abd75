"""Computes the effect of each change from a judge's verdicts before and after it, whether it reacts to controls, and
what it gets wrong about sentinels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bioeval_tui.evaluation.wiring.judge_test import (
    CHANGES,
    CONTROLS,
    REORDERED,
    UNCHANGED,
    JudgeAsked,
    SentinelAsked,
)
from bioeval_tui.report.findings import JudgeFault
from bioeval_tui.report.statistics.differences import holm
from bioeval_tui.report.statistics.estimates import grouped
from bioeval_tui.report.statistics.judge_stability import (
    ACCUSED_AT,
    AskedAgain,
    Stability,
    binomial_p,
    judge_stability,
    signed_rank_p,
)

TOO_LOW = 0.1
"""Recorded conversations with a lower mean score cannot show whether a judge reacts."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """A judge's mean score of a control, and of the same tasks in the recorded conversations."""

    score: float
    recorded: float

    @property
    def told(self) -> bool:
        """Whether the recorded conversations have scores that a control can be lower than."""
        return self.recorded >= TOO_LOW

    @property
    def reacts(self) -> bool:
        """Whether the control has at most half the score."""
        return self.score <= self.recorded / 2


def reactions_of(asked: Sequence[JudgeAsked]) -> dict[str, Reaction]:
    """Return the judge's reaction to each control that it scored; a rubric's undesired items are left out."""
    found = {}
    for control in CONTROLS:
        scored = [one for one in asked if one.change == control.name and one.wanted]
        about = {(one.cluster, one.task) for one in scored}
        recorded = [
            one.score for one in asked if one.change == UNCHANGED and (one.cluster, one.task) in about
        ]
        if scored and recorded:
            found[control.name] = Reaction(fmean(one.score for one in scored), fmean(recorded))
    return found


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
    found = []
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
            found.append(
                AskedAgain(
                    one.change, one.cluster, item, first.score, second.score, first.passed, second.passed
                )
            )
    return judge_stability(found)


TOLERATED = 0.2
"""A mean score this far from what is right is no fault of a judge."""
INVENTS = 0.1
"""The share of verdicts with an invented quotation that is tolerated."""


@dataclass(frozen=True, slots=True)
class SentinelCheck:
    """One fault that sentinels can show: how large it is, over how many conversations, and its corrected p-value (Holm)."""

    fault: JudgeFault
    size: float
    sentinels: int
    p: float

    @property
    def accused(self) -> bool:
        """Whether the fault is beyond what is tolerated, and beyond chance."""
        return self.p <= ACCUSED_AT


def sentinel_checks(
    asked: Sequence[SentinelAsked], earlier: Mapping[str, float] | None = None
) -> list[SentinelCheck]:
    """Return what the judge gets wrong about conversations with known verdicts.

    `earlier` are its scores (`scores_of`) on another day.
    """
    first = [one for one in asked if not one.after]
    last = {(one.sentinel, one.task): one.score for one in asked if one.after}
    known = {(one.sentinel, one.task) for one in first}
    wrong: dict[JudgeFault, list[tuple[str, float]]] = {
        "lenient": [(one.sentinel, one.score) for one in first if not one.met],
        "strict": [(one.sentinel, 1 - one.score) for one in first if one.met],
        "drifting": [
            (one.sentinel, last[one.sentinel, one.task] - one.score)
            for one in first
            if (one.sentinel, one.task) in last
        ],
        "changed": [
            (one.sentinel, one.score - earlier[key])
            for one in first
            if earlier and (key := f"{one.sentinel} {one.task}") in earlier
        ],
    }
    found = {
        fault: (fmean(value for _, value in values), len(dict(values)), _beyond(fault, values))
        for fault, values in wrong.items()
        if values
    }
    if known:
        invented = grouped((one.sentinel, one.invented) for one in first)
        share = fmean(any(each) for each in invented.values())
        found["inventing"] = (share, len(invented), binomial_p(share, len(invented), INVENTS))
    adjusted = holm({fault: p for fault, (_, _, p) in found.items()})
    return [SentinelCheck(fault, size, count, adjusted[fault]) for fault, (size, count, _) in found.items()]


def scores_of(asked: Iterable[SentinelAsked]) -> dict[str, float]:
    """Return the judge's first score of each sentinel's task, to compare with on another day."""
    return {f"{one.sentinel} {one.task}": one.score for one in asked if not one.after}


def _beyond(fault: JudgeFault, values: Sequence[tuple[str, float]]) -> float:
    """Return the p-value of "no further from what is right than is tolerated", or of "no shift", by conversation."""
    allowed = TOLERATED if fault in ("lenient", "strict") else 0.0
    means = [fmean(each) - allowed for each in grouped(values).values()]
    return 1.0 if allowed and fmean(means) <= 0 else signed_rank_p(means)
