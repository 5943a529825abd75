"""The results of `judge-test` in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.report.judge_test import Reaction
from bioeval_tui.report.statistics.estimates import Interval
from bioeval_tui.report.statistics.judge_stability import Stability
from bioeval_tui.text import plural
from bioeval_tui.units import signed


def print_stability(found: Mapping[str, Stability], about: Mapping[str, str], console: Console) -> None:
    """Print a row for each change, and one sentence on the changes that affect the judge significantly."""
    if not found:
        console.print(Text("the judge gave no verdicts that can be compared"))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("change", overflow="fold")
    for title in ("verdicts", "flipped", "95 % interval", "shift", "95 % interval"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    for name, one in found.items():
        table.add_row(
            Text(f"{name}: {about.get(name, '')}"),
            str(one.items),
            f"{one.flip_rate:.1%}",
            _interval(one.flip_interval, share=True),
            signed(one.shift),
            _interval(one.shift_interval),
            Text("has an effect", style="bold") if one.accused else "",
        )
    console.print(table)
    accused = [name for name, one in found.items() if one.accused]
    clusters = max(one.clusters for one in found.values())
    if accused:
        said = f"changes with a significant effect on this judge: {', '.join(accused)}"
    else:
        said = "no change has a significant effect on this judge"
    few = "; to find an effect, you need about twenty conversations" if clusters < 20 else ""
    console.print(
        Text(f"{said} ({plural(clusters, 'conversation or case', 'conversations or cases')}{few})"),
        soft_wrap=True,
    )


def print_reactions(found: Mapping[str, Reaction], about: Mapping[str, str], console: Console) -> None:
    """Print the score of each control beside the recorded one, and one sentence on whether the judge reacts."""
    if not found:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("control", overflow="fold")
    for title in ("score", "recorded"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, one in found.items():
        table.add_row(Text(f"{name}: {about.get(name, '')}"), f"{one.score:.2f}", f"{one.recorded:.2f}")
    console.print(table)
    console.print(Text(reaction_words(found)), soft_wrap=True)


def reaction_words(found: Mapping[str, Reaction]) -> str:
    """Return whether a judge reacts to what a conversation contains, as one sentence."""
    if not all(one.told for one in found.values()):
        return "the recorded conversations have scores too low to tell whether the judge reacts; choose runs of a better agent"
    if same := [name for name, one in found.items() if not one.reacts]:
        return f"this judge does not react to the conversation: it scores {', '.join(same)} more than half as high as the recorded ones"
    return "this judge scores the controls clearly lower than the recorded conversations"


def _interval(found: Interval | None, *, share: bool = False) -> str:
    if found is None:
        return ""
    if share:
        return f"{found.low:.1%} to {found.high:.1%}"
    return f"{signed(found.low)} to {signed(found.high)}"
