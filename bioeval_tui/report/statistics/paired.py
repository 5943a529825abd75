"""Paired differences: supplied − withheld, or run B − run A, of one trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bioeval_tui.report.numbers import signed
from bioeval_tui.report.statistics.estimates import Estimate, estimate
from bioeval_tui.report.statistics.samples import Sample

Verdict = Literal["better", "worse", "same", "not distinguishable", "too few", "not measured"]


def differences(pairs: Iterable[tuple[Sample | None, Sample | None]]) -> list[Sample]:
    """Return second − first of each pair; a pair without both values keeps the reason."""
    found = []
    for first, second in pairs:
        some = next((side for side in (first, second) if side is not None), None)
        job, case = (some.job, some.case) if some is not None else ("", "")
        missing = next((side for side in (first, second) if side is None or side.value is None), first)
        if first is None or second is None:
            found.append(Sample(job, None, "not run on both sides", case))
        elif first.value is None or second.value is None:
            found.append(Sample(job, None, missing.reason if missing else "", case))
        else:
            found.append(Sample(job, second.value - first.value, case=case))
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference and its conclusion."""

    estimate: Estimate
    verdict: Verdict

    @property
    def mean(self) -> float | None:
        """The mean of the paired differences."""
        return self.estimate.mean

    @property
    def words(self) -> str:
        """Such as `+0.07, 95 % interval −0.01 to 0.15: not yet distinguishable`."""
        if self.mean is None:
            return f"not measured ({self.estimate.counted.words})"
        interval = self.estimate.interval
        if interval is None:
            points = self.estimate.points
            if len(points) == 1:
                return f"{signed(self.mean)} in one pair: too few to tell"
            low, high = signed(min(points)), signed(max(points))
            if low == high:
                return f"{low} in each of {len(points)} pairs: too few to tell"
            return f"{signed(self.mean)}, {len(points)} pairs from {low} to {high}: too few to tell"
        ends = {
            "better": "better",
            "worse": "worse",
            "same": "the same",
        }.get(self.verdict, "not yet distinguishable")
        if self.estimate.all_equal:
            return f"{signed(self.mean)} in each of {len(self.estimate.points)} pairs: {ends}"
        return f"{signed(self.mean)}, 95 % interval {interval.words}: {ends}"


def difference(samples: Sequence[Sample], *, higher_is_better: bool = True, unit: bool = True) -> Difference:
    """Sum up paired differences. `unit` says that the values lie in [0, 1], their differences in [−1, 1]."""
    found = estimate(samples, (-1.0, 1.0) if unit else None)
    return Difference(found, _verdict(found, higher_is_better))


def _verdict(found: Estimate, higher_is_better: bool) -> Verdict:
    if found.mean is None:
        return "not measured"
    interval = found.interval
    if interval is None:
        return "too few"
    if interval.low == interval.high == 0:
        return "same"
    if interval.low > 0:
        return "better" if higher_is_better else "worse"
    if interval.high < 0:
        return "worse" if higher_is_better else "better"
    return "not distinguishable"
