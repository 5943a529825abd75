"""What runs would need, in the terminal: a plan with its alternatives, and the estimate of a dry run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import sqrt

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.consoles import plain_console
from bioeval_tui.evaluation.wiring.estimate import MESSAGE_TOKENS, PrintedEstimate, PrintedRole, total_cost
from bioeval_tui.report.plans import Planned
from bioeval_tui.text import clean_line, plural
from bioeval_tui.units import DASH, count, dollars, number, number1, number3


def print_plan(plan: Planned, console: Console) -> None:
    """Print the plan that takes the fewest conversations, then more cases against more trials."""
    parts = plan.components
    between, within = sqrt(parts.between), sqrt(parts.within)
    console.print(Text(_head(plan), style="bold"))
    what = "of the difference" if plan.detect is not None else "of the score"
    said = f"standard deviations {what}: {number(between)} between cases, {number(within)} between trials of a case ({plan.basis})"
    console.print(Text(said), soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    reached = "power" if plan.detect is not None else "width"
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
        console.print(Text("conversations, calls, cost and hours are those of both agents together"))
    if plan.cases:
        console.print(Text(_same_cases(plan)), soft_wrap=True)


def _head(plan: Planned) -> str:
    best = plan.best
    wanted = (
        f"to detect a difference of {plan.detect:g} with a power of {plan.power:g}"
        if plan.detect is not None
        else f"for an interval {plan.width:g} wide"
    )
    if best is None:
        return f"{wanted}: no number of cases is enough"
    return f"{wanted}: {plural(best.cases, 'case')} with {plural(best.trials, 'trial')} each, {plural(best.conversations, 'conversation')} in all"


def _same_cases(plan: Planned) -> str:
    alone = " (valid for this case only)" if plan.cases == 1 else ""
    with_these = f"with the {plural(plan.cases, 'case')} that there are"
    if plan.same_cases is None:
        return f"{with_these} no number of trials is enough; add cases"
    return f"{with_these} {plural(plan.same_cases, 'trial')} each are enough{alone}"


def print_estimates(estimates: Sequence[PrintedEstimate]) -> None:
    """Print conversations, maximum calls and costs of each run by role, and the totals."""
    console = plain_console()
    hosts = list(dict.fromkeys(host for run in estimates for host in run["hosts"]))
    table = Table("job", "role", "who", box=None, pad_edge=False)
    for title in ("max. calls", "max. cost"):
        table.add_column(title, justify="right")
    for run in estimates:
        job = run["job"]
        for name, role in run["roles"].items():
            calls, cost = f"{role['most_calls']:,}", dollars(role["most_cost"])
            table.add_row(*map(Text, (job, name, _who(role), calls, cost)))
            job = ""
    console.print(
        Text(f"{plural(sum(run['conversations'] for run in estimates), 'conversation')}, nothing is sent")
    )
    console.print(table)
    console.print(
        Text(
            f"at most {sum(run['most_calls'] for run in estimates):,} calls, {dollars(total_cost(estimates))} in total; a failed request is tried up to 4 times"
        )
    )
    roles = [item for run in estimates for item in run["roles"].items()]
    for why in dict.fromkeys(role["why_unknown"] for _, role in roles if role["why_unknown"]):
        console.print(Text(f"unknown: {why}"), soft_wrap=True)
    console.print(
        Text(f"costs assume {MESSAGE_TOKENS} tokens per message and conversations of maximum length")
    )
    for line in dict.fromkeys(_options(name, role) for name, role in roles if role["options"]):
        console.print(Text(line), soft_wrap=True)
    console.print(Text(f"transcripts would go to: {', '.join(hosts)}"), soft_wrap=True)
    for sentence in dict.fromkeys(run["judge_sees"] for run in estimates if run["judge_sees"]):
        console.print(Text(sentence), soft_wrap=True)
    for warning in dict.fromkeys(warning for run in estimates for warning in run["warnings"]):
        console.print(Text(f"note: {warning}"), soft_wrap=True)


def _who(role: PrintedRole) -> str:
    return " at ".join(filter(None, (role["model"], role["host"])))


def _options(name: str, role: PrintedRole) -> str:
    given = (
        f"{key} {clean_line(json.dumps(value, ensure_ascii=False))}" for key, value in role["options"].items()
    )
    return f"options ({name}): {', '.join(given)}"
