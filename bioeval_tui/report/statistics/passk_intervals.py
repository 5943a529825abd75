"""pass^k with an interval that is clustered by task: another set of such tasks could have been drawn."""

from __future__ import annotations

from collections.abc import Sequence

from bioeval_tui.report.statistics.clustered import clustered_mean
from bioeval_tui.report.statistics.estimates import FEWEST, Interval
from bioeval_tui.report.statistics.passk import Tries, pass_hat


def pass_k_interval(tasks: Sequence[Tries], k: int) -> Interval | None:
    """Return the 95 % interval of pass^k over tasks that have at least k trials; None for fewer than five.

    Each task gives one value, C(successes, k) / C(trials, k), so its trials are one cluster. Wilson's
    interval with the effective number of tasks stays in [0, 1] near both ends.
    """
    known = {
        str(place): [value]
        for place, task in enumerate(tasks)
        if (value := pass_hat(task.successes, task.trials, k)) is not None
    }
    found = clustered_mean(known)
    interval = found.wilson_interval() if found and found.clusters >= FEWEST else None
    return (
        Interval(interval.low, interval.high, f"clustered by task, {len(known)} tasks") if interval else None
    )
