"""A comparison of two runs, and the ranks of several agents, in the terminal, without markup."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui import units
from bioeval_tui.report import words
from bioeval_tui.report.comparison import Comparison, ConditionComparison
from bioeval_tui.report.statistics.estimates import Proportion
from bioeval_tui.report.summary import ConditionRanking
from bioeval_tui.units import signed


def print_comparison(found: Comparison, console: Console, *, texts: bool = False) -> None:
    """Print the sentences first, then tasks, assertions and turns; `texts` shows the agent's messages."""
    for line in found.brief_words:
        console.print(Text(line), soft_wrap=True)
    console.print()
    for side in found.conditions:
        console.print(Text(side.sentence, style="bold"), soft_wrap=True)
        if side.corrected:
            console.print(Text(side.corrected), soft_wrap=True)
    for line in found.advice:
        console.print(Text(line), soft_wrap=True)
    if not found.conditions:
        console.print(Text("The runs have no condition in common.", style="bold"))
    for line in (*found.notes, found.timing_refused):
        if line:
            console.print(Text(f"note: {line}"), soft_wrap=True)
    for side in found.conditions:
        console.print()
        _print_condition(side, console, texts)
    if found.regressions:
        console.print()
        console.print("--fail-on-regression counts:", markup=False)
        for line in found.regressions:
            console.print(Text(f"  {line}"), soft_wrap=True)


def _print_condition(side: ConditionComparison, console: Console, texts: bool) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(Text(side.title), overflow="fold")
    for title in ("A", "B", "difference"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_row(
        "score", units.number(side.a.mean), units.number(side.b.mean), units.signed(side.score.mean)
    )
    for part in side.parts:
        table.add_row(
            f"  {part.title}",
            units.number3(part.a.mean if part.a else None),
            units.number3(part.b.mean if part.b else None),
            units.DASH if part.change is None else signed(part.change, 3),
        )
    for task in side.tasks:
        table.add_row(
            Text(f"task: {task.title}"),
            units.number(task.a.mean) if task.a else "not in A",
            units.number(task.b.mean) if task.b else "not in B",
            units.signed(task.change),
        )
    for check in side.assertions:
        change = check.change if check.change != "same" else ""
        table.add_row(Text(f"assertion: {check.title}"), _held(check.a, "A"), _held(check.b, "B"), change)
    if side.latency is not None and side.latency.mean is not None:
        a_ms, b_ms = map(units.latency, side.averages_ms)
        moved = units.latency_change(side.latency.mean)
        if round(side.latency.mean):
            how = "faster" if side.latency.mean < 0 else "slower"
            moved = f"{units.latency(abs(side.latency.mean))} {how}"
        table.add_row("average answer", a_ms, b_ms, moved)
    _add_cost(table, side)
    console.print(table)
    _print_turns(side, console, texts)


def _add_cost(table: Table, side: ConditionComparison) -> None:
    table.add_row("cost", words.cost_short(side.cost_a), words.cost_short(side.cost_b), "")
    for peer in ("agent", "evaluator", "judge"):
        cells = [words.peer_tokens(cost.of(peer)) for cost in (side.cost_a, side.cost_b)]
        if any(cells):
            table.add_row(f"tokens: {peer}", *(cell or units.DASH for cell in cells), "")


def _print_turns(side: ConditionComparison, console: Console, texts: bool) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("trial", "turn", "A", "B", "difference"):
        table.add_column(title, justify="right", no_wrap=True)
    if texts:
        table.add_column("agent in A", ratio=1, overflow="fold")
        table.add_column("agent in B", ratio=1, overflow="fold")
    for turn in side.turns:
        change = turn.difference_ms
        cells = [
            str(turn.trial),
            str(turn.turn),
            units.latency(turn.a_ms),
            units.latency(turn.b_ms),
            units.latency_change(change),
        ]
        said = [
            Text(" / ".join(m.text for m in messages if m.role == "assistant"))
            for messages in (turn.a, turn.b)
        ]
        table.add_row(*cells, *(said if texts else ()))
    if side.turns:
        console.print(table)


def _held(found: Proportion | None, name: str) -> str:
    if found is None:
        return f"not in {name}"
    if found.total == 1:
        return "✓" if found.successes else "✗"
    return f"{found.successes} of {found.total}" if found.total else units.DASH


def print_rankings(found: Sequence[ConditionRanking], console: Console) -> None:
    """Print a table for each condition, the best mean first, and the basis of the ranks."""
    for one in found:
        table = Table(box=None, pad_edge=False)
        table.add_column(Text(one.title), overflow="fold")
        table.add_column("mean", justify="right")
        table.add_column("rank", no_wrap=True)
        for name, mean, rank in one.rows:
            table.add_row(Text(name), mean, rank)
        console.print(table)
        console.print(Text(one.note), soft_wrap=True)
