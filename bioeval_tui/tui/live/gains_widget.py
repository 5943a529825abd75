"""What would raise a conversation's score most, above the share of assertions that held over the turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from bioeval_tui.report.sentences import sentence
from bioeval_tui.tui.live import score_card_view, score_parts_view
from bioeval_tui.tui.live.panel_widget import DrawnPanel, title_lines, wrapped_row
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.steps_view import Steps, step_plot
from bioeval_tui.tui.shared.tones import left, paint, right, spread
from bioeval_tui.units import signed

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.report.result import RunResult, TrialResult

SHOWN, BAR, PLOT_ROWS = 5, 6, 5
"""Number of gains, width of their bars, and height of the plot."""


class GainsPanel(DrawnPanel):
    """The largest gains with bars, and the plot if it fits; on a single line only the largest gain."""

    def show(self, result: RunResult, trial: TrialResult, condition: Condition) -> None:
        """Show a conversation."""
        self.draw(lambda width: self._lines(result, trial, condition, width))

    def _lines(self, result: RunResult, trial: TrialResult, condition: Condition, width: int) -> Content:
        talk = trial.by_condition.get(condition)
        found = talk.gains if talk else ()
        height = self.size.height
        if height == 1:
            line = Content.assemble(("raises it most  ", "$quiet"), sentence(found[0]) if found else "–")
            return spread(line, paint(Cell(signed(found[0].by) if found else "", "good")), width)
        heading = (
            f"{result.condition_name(condition)} {score_parts_view.score_words(talk)}: what raises it most"
        )
        lines = [paint(Cell(heading, "quiet"))]
        shown, room = found[:SHOWN], max(1, width - 8 - BAR)
        plot = _plot(result, trial, condition, width)
        if 1 + len(shown) + len(plot) > height:
            plot = []
        needed = 1 + sum(len(title_lines(sentence(gain), room, width)) for gain in shown) + len(plot)
        for gain in shown:
            bar = Cell("█" * max(1, round(gain.by / found[0].by * BAR)), "warn")
            cells = [right(Cell(signed(gain.by), "good"), 7), Content(" "), left(bar, BAR)]
            lines.append(
                wrapped_row(Content(""), sentence(gain), cells, width, height if needed <= height else 1)
            )
        if not found:
            perfect = talk is not None and talk.score == 1
            lines.append(
                paint(Cell("nothing is left to gain" if perfect else "unknown without a score", "quiet"))
            )
        taken = sum(1 + line.plain.count("\n") for line in lines) + len(plot)
        return Content("\n").join([*lines, *[Content("")] * (height - taken), *plot])


def _plot(result: RunResult, trial: TrialResult, condition: Condition, width: int) -> list[Content]:
    """Return the share of assertions that held over the turns, with a line for each condition; empty without assertions."""
    both = trial.by_condition
    drawn = [
        Steps(
            result.condition_name(name),
            steps,
            heavy=name == condition,
            tone=score_card_view.tone(both[name]),
        )
        for name in sorted(both, key=lambda name: name == condition)
        if (held := both[name]) is not None and (steps := held.steps)
    ]
    lines = [paint(*line) for line in step_plot(drawn, width, PLOT_ROWS)]
    return [paint(Cell("share of assertions that hold, by turn", "quiet")), *lines] if lines else []
