"""Ranks in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.report.rankings import ConditionRanking


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
