"""A plan in the terminal: the sufficient design, and a table of alternatives."""

from __future__ import annotations

from math import sqrt

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.report.plans import Planned
from bioeval_tui.text import plural
from bioeval_tui.units import DASH, dollars


def print_plan(plan: Planned, console: Console) -> None:
    """Print the plan that takes the fewest conversations, then more cases against more trials."""
    parts = plan.components
    between, within = sqrt(parts.between), sqrt(parts.within)
    console.print(Text(_head(plan), style="bold"))
    what = "of the difference" if plan.detect is not None else "of the score"
    said = f"standard deviations {what}: {between:.2f} between cases, {within:.2f} between trials of a case ({plan.basis})"
    console.print(Text(said), soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    reached = "power" if plan.detect is not None else "width"
    for title in ("cases", "trials", reached, "conversations", "calls", "cost", "hours"):
        table.add_column(title, justify="right")
    for design in plan.plans:
        table.add_row(
            f"{design.cases:,}",
            f"{design.trials:,}",
            f"{design.reached:.3f}",
            f"{design.conversations:,}",
            DASH if design.calls is None else f"{design.calls:,.0f}",
            DASH if design.cost is None else dollars(design.cost),
            DASH if design.hours is None else f"{design.hours:.1f}",
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
