"""A plan in the terminal: the sufficient design, and a table of alternatives."""

from __future__ import annotations

from math import sqrt

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.report.plans import Planned
from bioeval_tui.report.words import DASH, dollars
from bioeval_tui.text import plural


def print_plan(found: Planned, console: Console) -> None:
    """Print the plan that takes the fewest conversations, then more cases against more trials."""
    parts = found.components
    between, within = sqrt(parts.between), sqrt(parts.within)
    console.print(Text(_head(found), style="bold"))
    what = "of the difference" if found.detect is not None else "of the score"
    said = f"standard deviations {what}: {between:.2f} between cases, {within:.2f} between trials of a case ({found.basis})"
    console.print(Text(said), soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    reached = "power" if found.detect is not None else "width"
    for title in ("cases", "trials", reached, "conversations", "calls", "cost", "hours"):
        table.add_column(title, justify="right")
    for plan in found.plans:
        table.add_row(
            f"{plan.cases:,}",
            f"{plan.trials:,}",
            f"{plan.reached:.3f}",
            f"{plan.conversations:,}",
            DASH if plan.calls is None else f"{plan.calls:,.0f}",
            DASH if plan.cost is None else dollars(plan.cost),
            DASH if plan.hours is None else f"{plan.hours:.1f}",
        )
    console.print(table)
    if found.detect is not None:
        console.print(Text("conversations, calls, cost and hours are those of both agents together"))
    if found.cases:
        console.print(Text(_same_cases(found)), soft_wrap=True)


def _head(found: Planned) -> str:
    best = found.best
    wanted = (
        f"to detect a difference of {found.detect:g} with a power of {found.power:g}"
        if found.detect is not None
        else f"for an interval {found.width:g} wide"
    )
    if best is None:
        return f"{wanted}: no number of cases is enough"
    return f"{wanted}: {plural(best.cases, 'case')} with {plural(best.trials, 'trial')} each, {plural(best.conversations, 'conversation')} in all"


def _same_cases(found: Planned) -> str:
    alone = " (valid for this case only)" if found.cases == 1 else ""
    with_these = f"with the {plural(found.cases, 'case')} that there are"
    if found.same_cases is None:
        return f"{with_these} no number of trials is enough; add cases"
    return f"{with_these} {plural(found.same_cases, 'trial')} each are enough{alone}"
