"""Computes the effect of each change from a judge's verdicts before and after it."""

from __future__ import annotations

from collections.abc import Sequence

from bioeval_tui.evaluation.wiring.judge_test import UNCHANGED, JudgeAsked
from bioeval_tui.report.statistics.judge_stability import AskedAgain, Stability, judge_stability
from bioeval_tui.report.statistics.samples import grouped


def stability_of(asked: Sequence[JudgeAsked]) -> dict[str, Stability]:
    """Return the effect of each change on the judge's scores; tasks without an unchanged score are excluded."""
    before = grouped(((one.cluster, one.task), one) for one in asked if one.change == UNCHANGED)
    counts: dict[tuple[str, str, int], int] = {}
    found = []
    for one in asked:
        if one.change == UNCHANGED:
            continue
        # Of a case with several trials the first answer belongs to the first trial, and so on.
        place = counts.get((one.change, one.cluster, one.task), 0)
        counts[one.change, one.cluster, one.task] = place + 1
        same = before.get((one.cluster, one.task), [])
        if place < len(same):
            found.append(
                AskedAgain(
                    one.change,
                    one.cluster,
                    f"{one.task}/{place}",
                    same[place].score,
                    one.score,
                    same[place].passed,
                    one.passed,
                )
            )
    return judge_stability(found)
