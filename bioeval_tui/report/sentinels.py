"""What a judge gets wrong about sentinels, conversations with known verdicts: in `judge-test`, and in a run that asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bioeval_tui.record.events import SentinelsJudged
from bioeval_tui.report.findings import JudgeFault, JudgeOnSentinels
from bioeval_tui.report.statistics.differences import holm
from bioeval_tui.report.statistics.estimates import grouped
from bioeval_tui.report.statistics.judge_stability import ACCUSED_AT, binomial_p, signed_rank_p

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
    judged: Sequence[SentinelsJudged], earlier: Mapping[str, float] | None = None
) -> list[SentinelCheck]:
    """Return what the judge gets wrong about conversations with known verdicts.

    `earlier` are its scores (`scores_of`) on another day.
    """
    first, after = (
        [one for each in judged if each.after == late for one in each.tasks] for late in (False, True)
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
        fault: (fmean(value for _, value in values), len(dict(values)), _beyond(fault, values))
        for fault, values in wrong.items()
        if values
    }
    if known:
        invented = grouped((one.sentinel, one.invented) for one in first)
        share = fmean(any(each) for each in invented.values())
        tested["inventing"] = (share, len(invented), binomial_p(share, len(invented), INVENTS))
    adjusted = holm({fault: p for fault, (_, _, p) in tested.items()})
    return [SentinelCheck(fault, size, count, adjusted[fault]) for fault, (size, count, _) in tested.items()]


def scores_of(judged: SentinelsJudged) -> dict[str, float]:
    """Return the judge's score of each sentinel's task, to compare with on another day."""
    return {f"{one.sentinel} {one.task}": one.score for one in judged.tasks}


def _beyond(fault: JudgeFault, values: Sequence[tuple[str, float]]) -> float:
    """Return the p-value of "no further from what is right than is tolerated", or of "no shift", by conversation."""
    allowed = TOLERATED if fault in ("lenient", "strict") else 0.0
    means = [fmean(each) - allowed for each in grouped(values).values()]
    return 1.0 if allowed and fmean(means) <= 0 else signed_rank_p(means)


def on_sentinels(checks: Sequence[SentinelCheck]) -> JudgeOnSentinels:
    """Return what is beyond chance, with its size."""
    faults = tuple((one.fault, one.size) for one in checks if one.accused)
    return JudgeOnSentinels(faults, max(one.sentinels for one in checks))
