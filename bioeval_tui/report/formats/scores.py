"""A board of agents from a table of scores, in a terminal without a screen."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from bioeval_tui.base.text import shorten
from bioeval_tui.base.units import DASH, number, number3, signed
from bioeval_tui.record.masking import masked
from bioeval_tui.report.formats.console import text_table
from bioeval_tui.report.scores import Board
from bioeval_tui.report.sentences import rank_words


def print_board(found: Board, console: Console) -> None:
    """Print a row for each agent, the best mean first, the basis of the ranks, and how far the
    raters agree.
    """
    raters = [shorten(masked(name), 24) for name in found.by_rater]
    table = text_table(["agent"], ["mean", "95 % interval", "rank", *raters])
    means_by_rater = [
        {each.name: each.mean for each in ranking.ranks} for ranking in found.by_rater.values()
    ]
    for one in found.ranking.ranks:
        interval_words = DASH
        measured = found.means.get(one.name)
        if measured is not None and measured.interval is not None:
            interval = measured.interval
            interval_words = f"{number3(interval.low)} to {number3(interval.high)}"
        rank = rank_words(one) if found.has_ranks else DASH
        of_each_rater = [number3(means[one.name]) for means in means_by_rater]
        cells = (number3(one.mean), interval_words, rank, *of_each_rater)
        table.add_row(Text(masked(one.name)), *map(Text, cells))
    console.print(table)
    console.print(Text(found.basis), soft_wrap=True)
    if found.pairs:
        console.print()
        pairs = text_table(["raters"], ["scored by both", "alpha", "mean |difference|", "bias"])
        for pair in found.pairs:
            figures = (
                number(pair.alpha),
                number3(pair.mean_absolute_difference),
                signed(pair.bias, 3),
            )
            pairs.add_row(
                Text(masked(f"{pair.a} and {pair.b}")), f"{pair.n:,}", *map(Text, figures)
            )
        if len(found.raters) > 2:
            pairs.add_row(Text("all raters"), "", Text(number(found.alpha)), "", "")
        console.print(pairs)
