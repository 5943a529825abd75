"""What a judge gets wrong: whether its verdicts change when nothing that matters has changed, and
about sentinels.

Verdicts before and after harmless changes, and of the same transcript asked twice (`REPEAT`). A
judge that is merely noisy gives exchangeable verdicts before and after, so two signed-rank tests
per change are exact: does the score shift, and does the change disagree with the first verdict more
than the repeat does (which finds changes that raise some scores and lower others)? The repeat
itself is compared with a tolerated share of flips. Holm's correction over all of these keeps the
chance of accusing a sound judge of anything at 0.5 %. Controls are conversations that deserve less:
a judge reacts if it gives them at most half the score.

Sentinels are conversations with known verdicts: in `judge-test`, and in a run that asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import floor, fsum
from typing import TYPE_CHECKING

from bioeval_tui.record.events import SentinelsJudged
from bioeval_tui.report.findings import JudgeFault, JudgeOnSentinels
from bioeval_tui.statistics.estimates import grouped
from bioeval_tui.statistics.intervals import CHANGE, UNIT, Interval, Measured, mean_of
from bioeval_tui.statistics.means import average
from bioeval_tui.statistics.p_values import binomial_p, holm, signed_rank_p

if TYPE_CHECKING:
    from bioeval_tui.evaluation.wiring.judge_tests import JudgeAsked

REPEAT = "repeat"
"""The name of the unchanged repeat."""

TOO_LOW = 0.1
"""Recorded conversations with a lower mean score cannot show whether a judge reacts."""

ACCUSED_AT = 0.005
"""Maximum chance of reporting any effect for a sound judge; `validate-statistics judges` counts how
often one is accused.
"""

TOLERATED_FLIPS = 0.10
"""The share of verdicts that a judge may flip when asked the same thing twice: a sound one with
noise of 0.04 flips 6 % (`validate-statistics judges`).
"""


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """One item judged before and after a change; scores lie in [0, 1].

    `cluster` is the item's conversation.
    """

    change: str
    cluster: str
    item: str
    before: float
    after: float
    passed_before: bool
    passed_after: bool

    @property
    def shift(self) -> float:
        """After − before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Stability:
    """The effect of one change.

    Intervals are clustered by conversation; p-values are corrected (Holm).

    `p_disagreement` is None for the repeat, and where the repeat lacks the items; `p_shift` is None
    for the repeat. `p_flips` is the repeat's alone.
    """

    change: str
    items: int
    clusters: int
    flip_rate: float
    flip_interval: Interval | None
    shift: float
    shift_interval: Interval | None
    p_shift: float | None
    p_disagreement: float | None
    p_flips: float | None

    @property
    def accused(self) -> bool:
        """Whether the change affects the judge significantly (for the repeat: it is not
        reproducible).
        """
        p_values = (self.p_shift, self.p_disagreement, self.p_flips)
        return any(p is not None and p <= ACCUSED_AT for p in p_values)


def judge_stability(asked: Iterable[AskedAgain]) -> dict[str, Stability]:
    """Return the effect of each change on the judge's verdicts."""
    by_change = grouped((one.change, one) for one in asked)
    repeats = {(one.cluster, one.item): one for one in by_change.get(REPEAT, ())}
    raw: dict[str, float] = {}
    for change, answers in by_change.items():
        if change == REPEAT:
            raw[f"flips {change}"] = _p_of_flips(answers)
            continue
        raw[f"shift {change}"] = _signed_rank_of_clusters(
            (one.cluster, one.shift) for one in answers
        )
        more = [
            (one.cluster, abs(one.shift) - abs(repeat.shift))
            for one in answers
            if (repeat := repeats.get((one.cluster, one.item)))
        ]
        if more:
            raw[f"disagreement {change}"] = _signed_rank_of_clusters(more)
    corrected = holm(raw)
    return {change: _stability(change, answers, corrected) for change, answers in by_change.items()}


def _stability(
    change: str, answers: Sequence[AskedAgain], p_values: Mapping[str, float]
) -> Stability:
    flips = _flips(answers)
    by_cluster = grouped((one.cluster, one.shift) for one in answers)
    shifts = mean_of(by_cluster, CHANGE, unit="conversation", paired=True)
    assert shifts is not None
    return Stability(
        change=change,
        items=flips.values,
        clusters=len(by_cluster),
        flip_rate=flips.value,
        flip_interval=flips.interval,
        shift=shifts.value,
        shift_interval=shifts.interval,
        p_shift=p_values.get(f"shift {change}"),
        p_disagreement=p_values.get(f"disagreement {change}"),
        p_flips=p_values.get(f"flips {change}"),
    )


def _p_of_flips(answers: Sequence[AskedAgain]) -> float:
    """Return the one-sided binomial p-value of the flips with the effective number of items,
    rounded cautiously.
    """
    flips = _flips(answers)
    if not flips.value or flips.standard_error is None:
        return 1.0
    n = flips.units
    if flips.standard_error and flips.value < 1:
        n = min(flips.values, floor(flips.value * (1 - flips.value) / flips.standard_error**2))
    return binomial_p(flips.value, n, TOLERATED_FLIPS)


def _flips(answers: Sequence[AskedAgain]) -> Measured:
    groups = grouped((one.cluster, float(one.passed_before != one.passed_after)) for one in answers)
    measured = mean_of(groups, UNIT, unit="conversation")
    assert measured is not None
    return measured


def _signed_rank_of_clusters(shifts: Iterable[tuple[str, float]]) -> float:
    return signed_rank_p([fsum(values) for values in grouped(shifts).values()])


TOLERATED = 0.2
"""A mean score this far from what is right is no fault of a judge."""
INVENTS = 0.1
"""The share of verdicts with an invented quotation that is tolerated."""


@dataclass(frozen=True, slots=True)
class SentinelCheck:
    """One fault that sentinels can show: how large it is, over how many conversations, and its
    corrected p-value (Holm).
    """

    fault: JudgeFault
    size: float
    sentinels: int
    p: float

    @property
    def accused(self) -> bool:
        """Whether the fault is beyond what is tolerated, and beyond chance."""
        return self.p <= ACCUSED_AT


def sentinel_checks(
    judged: Sequence[SentinelsJudged], earlier: Mapping[str, float] | None = None
) -> list[SentinelCheck]:
    """Return what the judge gets wrong about conversations with known verdicts.

    `earlier` are its scores (`sentinel_scores`) on another day.
    """
    first, after = (
        list(chain.from_iterable(each.tasks for each in judged if each.after == late))
        for late in (False, True)
    )
    last = {(one.sentinel, one.task): one.score for one in after}
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
    tested = {
        fault: (average(value for _, value in values), len(dict(values)), _fault_p(fault, values))
        for fault, values in wrong.items()
        if values
    }
    if known:
        invented = grouped((one.sentinel, one.invented) for one in first)
        share = average(any(each) for each in invented.values())
        tested["inventing"] = (share, len(invented), binomial_p(share, len(invented), INVENTS))
    adjusted = holm({fault: p for fault, (_, _, p) in tested.items()})
    return [
        SentinelCheck(fault, size, count, adjusted[fault])
        for fault, (size, count, _) in tested.items()
    ]


def sentinel_scores(judged: SentinelsJudged) -> dict[str, float]:
    """Return the judge's score of each sentinel's task, to compare with on another day."""
    return {f"{one.sentinel} {one.task}": one.score for one in judged.tasks}


def _fault_p(fault: JudgeFault, values: Sequence[tuple[str, float]]) -> float:
    """Return the p-value of "no further from what is right than is tolerated", or of "no shift", by
    conversation.
    """
    allowed = TOLERATED if fault in ("lenient", "strict") else 0.0
    means = [average(each) - allowed for each in grouped(values).values()]
    if allowed and average(means) <= 0:
        return 1.0
    return signed_rank_p(means)


def sentinel_finding(checks: Sequence[SentinelCheck]) -> JudgeOnSentinels:
    """Return what is beyond chance, with its size."""
    faults = tuple((one.fault, one.size) for one in checks if one.accused)
    return JudgeOnSentinels(faults, max(one.sentinels for one in checks))


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


def judge_reactions(asked: Sequence[JudgeAsked]) -> dict[str, Reaction]:
    """Return the judge's reaction to each control that it scored; a rubric's undesired items are
    left out.
    """
    reactions = {}
    for control in dict.fromkeys(one.change for one in asked if one.kind == "control"):
        scored = [one for one in asked if one.change == control and one.wanted]
        about = {(one.cluster, one.task) for one in scored}
        recorded = [
            one.score
            for one in asked
            if one.kind == "unchanged" and (one.cluster, one.task) in about
        ]
        if scored and recorded:
            reactions[control] = Reaction(average(one.score for one in scored), average(recorded))
    return reactions


def stability_by_change(asked: Sequence[JudgeAsked]) -> dict[str, Stability]:
    """Return the effect of each change on the judge's scores; tasks without an unchanged score are
    excluded.

    Where tasks change places, the shift is from the later to the earlier place.
    """
    before = grouped(((one.cluster, one.task), one) for one in asked if one.kind == "unchanged")
    tasks = {
        cluster: max(ones)
        for cluster, ones in grouped((one.cluster, one.task) for one in asked).items()
    }
    counts: dict[tuple[str, str, int], int] = {}
    asked_again = []
    for one in asked:
        if one.kind != "change":
            continue
        # Of a case with several trials the first answer belongs to the first trial, and so on.
        place = counts.get((one.change, one.cluster, one.task), 0)
        counts[one.change, one.cluster, one.task] = place + 1
        same = before.get((one.cluster, one.task), [])
        if place < len(same):
            pair = same[place], one
            moved_back = one.is_reordered and 2 * one.task <= tasks[one.cluster]
            if moved_back or one.is_reverse:  # the first tasks have moved to the end
                pair = one, same[place]
            first, second = pair
            item = f"{one.task}/{place}"
            asked_again.append(
                AskedAgain(
                    one.change,
                    one.cluster,
                    item,
                    first.score,
                    second.score,
                    first.passed,
                    second.passed,
                )
            )
    return judge_stability(asked_again)
