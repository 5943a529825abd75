"""Plans the number of cases and trials, with variances and prices from recorded runs or
assumptions; and prints them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count as counting
from math import sqrt
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.base.units import DASH, count, dollars, number, number1, number3
from bioeval_tui.evaluation.wiring.estimate import (
    MESSAGE_TOKENS,
    PrintedEstimate,
    PrintedRole,
    total_cost,
)
from bioeval_tui.record.conditions import most_informed
from bioeval_tui.report import findings as of
from bioeval_tui.report.costs import spent
from bioeval_tui.report.findings import Finding
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import ConversationResult, each_conversation
from bioeval_tui.report.summary import groups, held_conditions, scores_by_case
from bioeval_tui.statistics.intervals import FEWEST, FEWEST_UNITS, LEVEL, share_interval, t_quantile
from bioeval_tui.statistics.means import average, average_if_any
from bioeval_tui.statistics.paired_differences import Difference
from bioeval_tui.statistics.planning import (
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

CORRELATION = 0.5
"""Assumed correlation of two agents' case means: cases that are hard for one tend to be hard for
the other.
"""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan.

    `detect` is the difference to detect, `width` the width of an interval; one of them is None.

    `components` are those of a difference, or of a mean. `same_cases` is how many trials of the
    runs' existing cases are enough; None if no number is.
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

    With runs of two agents, the components are those of their paired difference; with one agent's,
    the other is assumed to vary as much. `assumed` are one agent's.

    Raises:
        UsageError: the runs do not determine the variance, or have more than two agents.
    """
    agents = _scores_of_agents(runs)
    if len(agents) > 2:
        raise UsageError(
            f"the runs have {len(agents)} agents; give runs of one agent, or of two to compare"
        )
    components, basis = _components(agents, assumed, correlation, difference=detect is not None)
    cases = len(set(chain.from_iterable(agents)))
    same = None
    if detect is not None:
        costs = _costs(runs, concurrency, arms=2)
        plans = plans_for_difference(components, detect, power=power, costs=costs)
        if cases:
            same = trials_for_difference(components, detect, cases, power)
    else:
        assert width is not None
        plans = plans_for_width(components, width, costs=_costs(runs, concurrency, arms=1))
        if cases:
            same = trials_for_width(components, width, cases)
    return Planned(detect, width, power, components, basis, tuple(plans), cases, same)


Scores = dict[str, list[float]]


def _scores_of_agents(runs: Sequence[RunResult]) -> list[Scores]:
    """Return the scores of each agent and model by case, of two only on what both were tested with,
    in the condition in which the user knows most of the facts.
    """
    if not runs:
        return []
    condition = most_informed([runs[0].state.condition(name) for name in held_conditions(runs)])
    by_agent = {str(number): own for number, own in enumerate(groups(runs))}
    return [
        {case: scores for case, scores in by_case.items() if scores}
        for by_case in scores_by_case(by_agent, condition).values()
    ]


def _components(
    agents: Sequence[Scores],
    assumed: VarianceComponents | None,
    correlation: float,
    *,
    difference: bool,
) -> tuple[VarianceComponents, str]:
    """Return the components of a mean or, for a `difference`, of that of two agents; and in words
    what they are from.

    `agents` are the scores of no agent, of one or of two. `assumed` are one agent's, where there is
    nothing to estimate them from. `correlation` is assumed between two agents' case means; with the
    scores of both, their pairs have it in them.

    Raises:
        UsageError: the scores are too few.
    """
    if len(agents) == 2 and difference:
        components = paired_components(*agents)
        if components is None:
            raise UsageError(
                "these runs have fewer than two cases (or jobs) in common, so their difference says"
                " nothing about how cases differ; give one of them, and --detect plans more trials"
                " of it"
            )
        basis = (
            f"from {plural(components.trials, 'trial')} of both agents on"
            f" {plural(components.cases, 'case')}"
        )
        return components, basis
    if agents:
        own = variance_components(agents[0])
        if own is None:
            raise UsageError(
                "a variance cannot be estimated from one conversation; give runs with several"
                " trials or cases"
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
    return (
        own.of_difference(correlation),
        f"{basis}, the agents' case means correlating by {correlation:g}",
    )


def _costs(runs: Sequence[RunResult], concurrency: int, arms: int) -> Costs:
    """Return the average costs of one conversation; None for unknown ones."""
    talks = list(each_conversation(runs))
    if not talks:
        return Costs(concurrency=concurrency, arms=arms)
    known = [run for run, _ in talks if run.brief.source is None]
    cost = spent(runs)
    seconds = [
        talk.ended.duration_ms / 1000 for _, talk in talks if talk.ended and talk.ended.duration_ms
    ]
    return Costs(
        calls=average(_calls(talk) for _, talk in talks) if known else None,
        cost=cost.known / len(talks) if not cost.unknown else None,
        seconds=average_if_any(seconds),
        concurrency=concurrency,
        arms=arms,
    )


def _calls(talk: ConversationResult) -> int:
    """Return the number of calls of a conversation: each message but the greeting, and the
    judge's.
    """
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
    if difference.direction == "too few":
        return of.PairsWithinChance(of.Units(pairs, difference.unit), difference.needed)
    if difference.is_beyond_chance:
        return None
    of_cases = estimate.clusters > 1
    if difference.direction == "same":
        enough = next(n for n in counting(pairs) if _unseen(n) < RARE)
        more = enough if enough > pairs else None
        return of.UnseenDifference(_unseen(pairs), RARE, more, of_cases)
    for effect in EFFECTS:
        wanted = needed(difference, effect)
        if wanted and wanted > difference.units:
            return of.OpenDifference(estimate.interval, wanted, effect, POWER, of_cases)
    return of.OpenDifference(estimate.interval, None, 0.0, POWER, of_cases)


def needed(difference: Difference, effect: float) -> int | None:
    """Return how many trials, or cases, show a true difference of `effect` if they vary as much as
    these; None if no number.
    """
    error = difference.estimate.standard_error
    assert error is not None
    return trials_for_difference(
        VarianceComponents(0.0, error**2 * difference.units), effect, 1, POWER
    )


def expected_interval(trials: int) -> of.IntervalExpected:
    """Return whether so many trials give an interval, and how wide it is to be expected."""
    enough = max(trials, FEWEST_UNITS)
    deviation = sqrt(ASSUMED.within)
    half = t_quantile((1 + LEVEL) / 2, enough - 1) * deviation / sqrt(enough)
    return of.IntervalExpected(trials, FEWEST_UNITS, half, deviation)


def _unseen(pairs: int) -> float:
    """Return the upper end of the interval of a share of which none were seen."""
    return share_interval(0.0, pairs).high


def print_plan(plan: Planned, console: Console) -> None:
    """Print the plan that takes the fewest conversations, then more cases against more trials."""
    parts = plan.components
    between, within = sqrt(parts.between), sqrt(parts.within)
    console.print(Text(_head(plan), style="bold"))
    what, reached = "score", "width"
    if plan.detect is not None:
        what, reached = "difference", "power"
    line = (
        f"standard deviations of the {what}: {number(between)} between cases, {number(within)}"
        f" between trials of a case ({plan.basis})"
    )
    console.print(Text(line), soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for title in ("cases", "trials", reached, "conversations", "calls", "cost", "hours"):
        table.add_column(title, justify="right")
    for design in plan.plans:
        table.add_row(
            f"{design.cases:,}",
            f"{design.trials:,}",
            number3(design.reached),
            f"{design.conversations:,}",
            DASH if design.calls is None else count(round(design.calls)),
            DASH if design.cost is None else dollars(design.cost),
            number1(design.hours),
        )
    console.print(table)
    if plan.detect is not None:
        console.print(
            Text("conversations, calls, cost and hours are those of both agents together")
        )
    if plan.cases:
        console.print(Text(_same_cases(plan)), soft_wrap=True)


def _head(plan: Planned) -> str:
    best = plan.best
    if plan.detect is not None:
        wanted = f"to detect a difference of {plan.detect:g} with a power of {plan.power:g}"
    else:
        wanted = f"for an interval {plan.width:g} wide"
    if best is None:
        return f"{wanted}: no number of cases is enough"
    return (
        f"{wanted}: {plural(best.cases, 'case')} with {plural(best.trials, 'trial')} each,"
        f" {plural(best.conversations, 'conversation')} in all"
    )


def _same_cases(plan: Planned) -> str:
    with_these = f"with the {plural(plan.cases, 'case')} that there are"
    if plan.same_cases is None:
        return f"{with_these} no number of trials is enough; add cases"
    enough = f"{with_these} {plural(plan.same_cases, 'trial')} each are enough"
    if plan.cases == 1:
        return f"{enough} (valid for this case only)"
    return enough


def print_estimates(estimates: Sequence[PrintedEstimate]) -> None:
    """Print the conversations, calls and costs of each run by role, as usual and at most, and the
    totals.
    """
    console = plain_console()
    hosts = list(dict.fromkeys(chain.from_iterable(run["hosts"] for run in estimates)))
    table = Table("job", "role", "who", box=None, pad_edge=False)
    for title in ("calls", "max. calls", "cost", "max. cost"):
        table.add_column(title, justify="right")
    for run in estimates:
        job = run["job"]
        for name, role in run["roles"].items():
            calls = (f"{role['calls']:,}", f"{role['most_calls']:,}")
            costs = (dollars(role["cost"]), dollars(role["most_cost"]))
            table.add_row(*map(Text, (job, name, _who(role), *calls, *costs)))
            job = ""
    console.print(
        Text(
            f"{plural(sum(run['conversations'] for run in estimates), 'conversation')}, nothing is"
            " sent"
        )
    )
    console.print(table)
    usual, most = (sum(run[key] for run in estimates) for key in ("calls", "most_calls"))
    cost, most_cost = (dollars(total_cost(estimates, key)) for key in ("cost", "most_cost"))
    console.print(Text(f"{plural(usual, 'call')}, {cost} in total, if nothing is sent twice"))
    console.print(
        Text(
            f"at most {plural(most, 'call')}, {most_cost} in total, whatever fails, is refused or"
            " is asked for again"
        ),
        soft_wrap=True,
    )
    roles = list(chain.from_iterable(run["roles"].items() for run in estimates))
    for why in dict.fromkeys(role["why_unknown"] for _, role in roles if role["why_unknown"]):
        console.print(Text(f"unknown: {why}"), soft_wrap=True)
    console.print(
        Text(
            f"costs assume {MESSAGE_TOKENS} tokens per message and conversations of maximum length"
        )
    )
    for line in dict.fromkeys(_options(name, role) for name, role in roles if role["options"]):
        console.print(Text(line), soft_wrap=True)
    console.print(Text(f"transcripts would go to: {', '.join(hosts)}"), soft_wrap=True)
    for sentence in dict.fromkeys(run["judge_sees"] for run in estimates if run["judge_sees"]):
        console.print(Text(sentence), soft_wrap=True)
    for sentence in dict.fromkeys(run["judge_family"] for run in estimates if run["judge_family"]):
        console.print(Text(f"note: {sentence}"), soft_wrap=True)
    for server in dict.fromkeys(run["fhir"] for run in estimates if run["fhir"]):
        console.print(Text(f"FHIR server: {server}"), soft_wrap=True)
    for sentence in dict.fromkeys(run["control"] for run in estimates if run["control"]):
        console.print(Text(sentence), soft_wrap=True)
    for sentence in dict.fromkeys(run["exam"] for run in estimates if run["exam"]):
        console.print(Text(sentence), soft_wrap=True)
    for warning in dict.fromkeys(chain.from_iterable(run["warnings"] for run in estimates)):
        console.print(Text(f"note: {warning}"), soft_wrap=True)


def _who(role: PrintedRole) -> str:
    return " at ".join(filter(None, (role["model"], role["host"])))


def _options(name: str, role: PrintedRole) -> str:
    given = (
        f"{key} {clean_line(json.dumps(value, ensure_ascii=False))}"
        for key, value in role["options"].items()
    )
    return f"options ({name}): {', '.join(given)}"
