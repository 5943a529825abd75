"""Plans the number of cases and trials, with variances and prices from recorded runs or assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from math import sqrt
from statistics import fmean
from typing import Any

from bioeval_tui.errors import UsageError
from bioeval_tui.record.names import Condition
from bioeval_tui.report import findings as of
from bioeval_tui.report.costs import spent
from bioeval_tui.report.findings import Finding
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import ConversationResult, conversations_of
from bioeval_tui.report.statistics.differences import Difference
from bioeval_tui.report.statistics.planning import (
    ASSUMED,
    Costs,
    Plan,
    VarianceComponents,
    paired_components,
    plans_for_difference,
    plans_for_width,
    trials_for_difference,
    trials_for_width,
    variance_components,
)
from bioeval_tui.text import plural
from bioeval_tui.uncertainty import FEWEST, FEWEST_UNITS, LEVEL, share_interval, t_quantile

CORRELATION = 0.5
"""Assumed correlation of two agents' case means: cases that are hard for one tend to be hard for the other."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan. `detect` is the difference to detect, `width` the width of an interval; one of them is None.

    `components` are those of a difference, or of a mean. `same_cases` is how many trials of the runs'
    existing cases are enough; None if no number is.
    """

    detect: float | None
    width: float | None
    power: float
    components: VarianceComponents
    basis: str
    plans: tuple[Plan, ...]
    cases: int
    same_cases: int | None

    @property
    def best(self) -> Plan | None:
        """The plan with the fewest conversations; of equal ones that with the most cases."""
        return min(self.plans, key=lambda plan: (plan.conversations, -plan.cases), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def planned(
    runs: Sequence[RunResult],
    *,
    detect: float | None = None,
    width: float | None = None,
    power: float = 0.8,
    assumed: VarianceComponents | None = None,
    correlation: float = CORRELATION,
    concurrency: int = 1,
) -> Planned:
    """Return how many cases and trials detect a difference, or give an interval of a width.

    With runs of two agents, the components are those of their paired difference; with one agent's, the other is assumed to vary
    as much. `assumed` are one agent's.

    Raises:
        UsageError: the runs do not determine the variance, or have more than two agents.
    """
    groups = _groups(runs)
    if len(groups) > 2:
        raise UsageError(f"the runs have {len(groups)} agents; give runs of one agent, or of two to compare")
    components, basis = _components(groups, assumed, correlation, difference=detect is not None)
    costs = _costs(runs, concurrency, arms=2 if detect is not None else 1)
    cases = len({case for group in groups for case in group})
    if detect is not None:
        plans = plans_for_difference(components, detect, power=power, costs=costs)
        same = trials_for_difference(components, detect, cases, power) if cases else None
    else:
        assert width is not None
        plans = plans_for_width(components, width, costs=costs)
        same = trials_for_width(components, width, cases) if cases else None
    return Planned(detect, width, power, components, basis, tuple(plans), cases, same)


Scores = dict[str, list[float]]


def _groups(runs: Sequence[RunResult]) -> list[Scores]:
    """Return each agent's scores by case, in the condition supplied, or withheld if supplied was not run."""
    held = {name for run in runs for name in run.started.conditions}
    condition: Condition = "supplied" if "supplied" in held else "withheld"
    by_agent: dict[tuple[str, str], Scores] = {}
    for run, talk in conversations_of(runs, condition):
        if talk.score is not None:
            agent = (run.brief.agent, run.brief.served_model or run.started.model or "")
            by_agent.setdefault(agent, {}).setdefault(talk.common_case, []).append(talk.score)
    return list(by_agent.values())


def _components(
    groups: Sequence[Scores], assumed: VarianceComponents | None, correlation: float, *, difference: bool
) -> tuple[VarianceComponents, str]:
    if len(groups) == 2 and difference:
        components = paired_components(*groups)
        if components is None:
            raise UsageError("the two agents have fewer than two cases in common")
        return (
            components,
            f"from {plural(components.trials, 'trial')} of both agents on {plural(components.cases, 'case')}",
        )
    if groups:
        own = variance_components(groups[0])
        if own is None:
            raise UsageError(
                "a variance cannot be estimated from one conversation; give runs with several trials or cases"
            )
        basis = f"from {plural(own.trials, 'trial')} of {plural(own.cases, 'case')}"
        if own.cases < 2:
            between = (assumed or ASSUMED).between
            own = VarianceComponents(between, own.within, own.cases, own.trials)
            basis += ", that between cases is assumed"
    else:
        own, basis = assumed or ASSUMED, "assumed"
    if not difference:
        return own, basis
    return own.of_difference(correlation), f"{basis}, the agents' case means correlating by {correlation:g}"


def _costs(runs: Sequence[RunResult], concurrency: int, arms: int) -> Costs:
    """Return the average costs of one conversation; None for unknown ones."""
    held = list(conversations_of(runs))
    if not held:
        return Costs(concurrency=concurrency, arms=arms)
    known = [run for run, _ in held if run.brief.source is None]
    cost = spent(runs)
    seconds = [talk.ended.duration_ms / 1000 for _, talk in held if talk.ended and talk.ended.duration_ms]
    return Costs(
        calls=fmean(_calls(talk) for _, talk in held) if known else None,
        cost=cost.known / len(held) if not cost.unknown else None,
        seconds=fmean(seconds) if seconds else None,
        concurrency=concurrency,
        arms=arms,
    )


def _calls(talk: ConversationResult) -> int:
    """Return the number of calls of a conversation: each message but the greeting, and the judge's."""
    return max(0, len(talk.messages) - 1) + (talk.verdict is not None)


EFFECTS = (0.1, 0.05, 0.02, 0.01)
"""The differences to plan for: the first one that the pairs so far cannot be expected to show."""
POWER = 0.8
RARE = 0.1
"""The share of trials in which a difference may be missed, to plan for."""


def advice(difference: Difference) -> Finding | None:
    """Return what cannot be concluded from a difference yet; None if it is beyond chance."""
    estimate, pairs = difference.estimate, difference.units
    if not estimate.points:
        return of.NothingPaired()
    if pairs < FEWEST and estimate.clusters == 1:
        return of.PairsWithoutInterval(len(estimate.points))
    if difference.verdict == "too few":
        return of.PairsWithinChance(of.Units(pairs, difference.unit), difference.needed)
    if difference.verdict in ("better", "worse"):
        return None
    of_cases = estimate.clusters > 1
    if difference.verdict == "same":
        enough = next(n for n in count(pairs) if _unseen(n) < RARE)
        return of.UnseenDifference(_unseen(pairs), RARE, enough if enough > pairs else None, of_cases)
    for effect in EFFECTS:
        wanted = needed(difference, effect)
        if wanted and wanted > difference.units:
            return of.OpenDifference(estimate.interval, wanted, effect, POWER, of_cases)
    return of.OpenDifference(estimate.interval, None, 0.0, POWER, of_cases)


def needed(difference: Difference, effect: float) -> int | None:
    """Return how many trials, or cases, show a true difference of `effect` if they vary as much as these; None if no number."""
    error = difference.estimate.standard_error
    assert error is not None
    return trials_for_difference(VarianceComponents(0.0, error**2 * difference.units), effect, 1, POWER)


def expected_interval(trials: int) -> of.IntervalExpected:
    """Return whether so many trials give an interval, and how wide it is to be expected."""
    enough = max(trials, FEWEST_UNITS)
    deviation = sqrt(ASSUMED.within)
    half = t_quantile((1 + LEVEL) / 2, enough - 1) * deviation / sqrt(enough)
    return of.IntervalExpected(trials, FEWEST_UNITS, half, deviation)


def _unseen(pairs: int) -> float:
    """Return the upper end of the interval of a share of which none were seen."""
    return share_interval(0.0, pairs).high
