"""The sums of a grading report, under the keys and with the rounding of BioML-bench.

`batch/output.py` counts report by report with `ReportTotals`, since a batch may be larger than
memory; `aggregate_reports` is the published function of that name, for reports at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bioeval_tui.grade.task_report import TaskReport

_COUNTS = (
    "total_runs",
    "total_runs_with_submissions",
    "total_valid_submissions",
    "total_medals",
    "total_gold_medals",
    "total_silver_medals",
    "total_bronze_medals",
    "total_above_median",
    "total_beats_human",
)


def aggregate_reports(task_reports: Iterable[TaskReport]) -> dict[str, Any]:
    """Return the published summary of reports: counts, percentiles (0 to 100), and the reports
    themselves.
    """
    totals = ReportTotals()
    listed, percentiles = [], []
    for report in task_reports:
        values = report.to_dict()
        totals.count(values)
        listed.append(values)
        if report.leaderboard_percentile is not None:
            percentiles.append(report.leaderboard_percentile)
    return {**totals.to_dict(percentiles), "task_reports": listed}


class ReportTotals:
    """The published aggregate.

    Counts can be added in any order; percentiles must come in the reports' order.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_COUNTS, 0)

    @property
    def runs(self) -> int:
        """The number of counted reports."""
        return self._counts["total_runs"]

    @property
    def valid(self) -> int:
        """The number of valid reports."""
        return self._counts["total_valid_submissions"]

    def count(self, report: Mapping[str, Any]) -> None:
        """Count one report, in the form of `TaskReport.to_dict`."""
        counts = self._counts
        counts["total_runs"] += 1
        counts["total_runs_with_submissions"] += report["submission_exists"]
        counts["total_valid_submissions"] += report["valid_submission"]
        counts["total_medals"] += (
            report["gold_medal"] + report["silver_medal"] + report["bronze_medal"]
        )
        counts["total_gold_medals"] += report["gold_medal"]
        counts["total_silver_medals"] += report["silver_medal"]
        counts["total_bronze_medals"] += report["bronze_medal"]
        counts["total_above_median"] += report["above_median"]
        counts["total_beats_human"] += bool(report["beats_human"])

    def to_dict(
        self, percentiles: Sequence[float], round_to: Callable[[float, int], float] = round
    ) -> dict[str, Any]:
        """Return the published keys without `task_reports`.

        Args:
            percentiles: of the valid submissions, in the reports' order: the mean is a plain sum
                from left to right, which the order changes in its last bit.
            round_to: rounds a number to so many decimals. As published, it is numpy's rule for
                numbers that were just graded, Python's for those read back from JSON.
        """
        average = best = worst = None
        if percentiles:
            total = 0.0
            for percentile in percentiles:
                total += percentile
            average = float(round_to(total / len(percentiles), 1))
            best, worst = float(round_to(max(percentiles), 1)), float(round_to(min(percentiles), 1))
        return {
            **self._counts,
            "avg_leaderboard_percentile": average,
            "best_leaderboard_percentile": best,
            "worst_leaderboard_percentile": worst,
        }
