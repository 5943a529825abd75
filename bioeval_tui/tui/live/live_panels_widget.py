"""The three lower panels of the live screen, each drawn from a RunState."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from bioeval_tui.report import rows
from bioeval_tui.text import shorten
from bioeval_tui.tui.live import heads_view, panels_view
from bioeval_tui.tui.live.panel_widget import Panel, column_for, names_head, wrapped_row
from bioeval_tui.tui.shared import bars_view
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.tones import left, paint, right, spread
from bioeval_tui.units import latency_short

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import RunState

NAME_WIDTH = 10
FIGURES = ("avg", "p90", "max")
"""The latency statistics of one condition, in this order, in seconds."""


class Look(NamedTuple):
    """Which part of the run is shown: the trial, the visible conditions and the time."""

    trial: int
    conditions: tuple[Condition, ...]
    now: datetime | None


class TasksPanel(Panel):
    """The checklist of tasks, with a column for each condition."""

    def show(self, state: RunState, look: Look) -> None:
        """Draw from the run."""
        tasks = rows.task_rows(state, look.trial)
        conversations = rows.talks(state, look.trial)
        names = [state.condition_name(condition) for condition in heads_view.conditions(state)]
        column = column_for(names)
        lines = self.lines_for([row.title for row in tasks], 3, column * len(conversations))

        def paint_row(index: int, width: int) -> Content:
            row = tasks[index]
            cells = [
                right(panels_view.task_cell(row, c, conversation), column)
                for c, conversation in conversations.items()
            ]
            number = Content.assemble(right(Cell(str(row.number), "quiet"), 2), " ")
            return wrapped_row(number, row.title, cells, width, lines)

        self.set_panel(
            names_head(names, [column] * len(names)),
            len(tasks),
            paint_row,
            lambda _: Content("" if tasks else "the job has no tasks"),
            row_lines=lines,
        )


class LatencyPanel(Panel):
    """One row per turn: the agent's latency compared with the target."""

    _title = ""

    def show(self, state: RunState, look: Look) -> None:
        """Draw from the run."""
        self.rows.tail = True
        turns = panels_view.latency_rows(state, look.trial, look.now)
        target = rows.target_ms(state)
        scale = bars_view.scale_of([bar for row in turns for bar in row.bars.values()], target)

        def paint_row(index: int, width: int) -> Content:
            row = turns[index]
            share = (width - 2) // len(look.conditions)
            pieces: list[Content] = [right(Cell(str(row.turn), "quiet"), 2)]
            for condition in look.conditions:
                bar = row.bars.get(condition)
                time = (
                    Cell("")
                    if bar is None
                    else Cell(latency_short(bar.ms), "quiet" if bar.running else "plain")
                )
                drawn = bars_view.latency_bar(bar, scale, target, share - 9)
                pieces += [Content(" "), *(paint(cell) for cell in drawn), right(time, 7), Content(" ")]
            return Content.assemble(*pieces)

        summaries = [(c, rows.latency(state, c, look.trial)) for c in look.conditions]
        wanted = f"target {bars_view.TARGET} {latency_short(target)}" if target else ""
        goal = paint(Cell("   ".join(filter(None, ("by turn", wanted))), "quiet"))
        share = max(2, (self.size.width - 2) // len(look.conditions))
        names = (f" {shorten(state.condition_name(c), share - 1):<{share - 1}}" for c in look.conditions)
        title = "Latency"
        if len(look.conditions) > 1:
            title = ", ".join(filter(None, ("Latency by turn", wanted)))
            goal = paint(Cell(f"  {''.join(names)}", "quiet"))
        if title != self._title:
            self._title = title
            self.border_title = title

        def foot(width: int) -> Content:
            column = max(7, min(8, (width - NAME_WIDTH) // len(FIGURES)))
            room = max(NAME_WIDTH, width - column * len(FIGURES) - 1)
            titles = " " * room + "".join(f"{name:>{column}}" for name in FIGURES)
            lines = [paint(Cell(titles, "quiet")).truncate(width)]
            for name, times in summaries:
                figures = (_second(ms, column) for ms in (times.average_ms, times.p90_ms, times.max_ms))
                title = left(Cell(state.condition_name(name), "quiet"), room - 1)
                lines.append(paint(title, " ", *figures).truncate(width))
            return Content("\n").join(lines)

        self.set_panel([goal], len(turns), paint_row, foot, 1 + len(summaries))

    def message_at(self, state: RunState, look: Look, index: int) -> int | None:
        """Return the number of the message that row `index` is about."""
        turns = panels_view.latency_rows(state, look.trial, look.now)
        found = turns[index].bars.values() if index < len(turns) else ()
        return next((bar.message for bar in found), None)


def _second(ms: float | None, width: int) -> Cell:
    return Cell(f"{latency_short(ms):>{width}}", "plain" if ms is not None else "quiet")


class AssertionsPanel(Panel):
    """Rows are assertions, columns turns; the last mark is the final check."""

    def show(self, state: RunState, look: Look) -> None:
        """Draw from the run."""
        checked = rows.assertion_rows(state, look.trial)
        turns = max(
            [c.after_turn for row in checked for line in row.timelines.values() for c in line], default=0
        )
        titles = [row.title for row in checked]
        names = [state.condition_name(condition) for condition in look.conditions]
        longest = max(map(cell_len, titles), default=0)

        def shown(width: int) -> tuple[int, str]:
            """Return how many turns fit, and the separator between them."""
            room = (width - 4 - min(longest, width // 2)) // len(look.conditions) - 2
            between = " " if 2 * turns <= room else ""
            return max(1, min(turns, room)), between

        def column(width: int) -> int:
            count, between = shown(width)
            return max(column_for(names), count * (1 + len(between)) + 2)

        width = self.size.width
        lines = self.lines_for(titles, 4, column(width) * len(look.conditions))

        def paint_row(index: int, width: int) -> Content:
            row = checked[index]
            marks = [right(_marks(row, c, turns, *shown(width)), column(width)) for c in look.conditions]
            weight = Content.assemble(right(Cell(f"{row.weight:g}×", "quiet"), 3), " ")
            return wrapped_row(weight, row.title, marks, width, lines)

        uplift = panels_view.uplift(state, look.trial) if checked else Cell("the job has no assertions")
        summary = (
            paint(Cell("uplift by facts  " if checked else "", "quiet"), uplift) if uplift else Content("")
        )
        head = names_head(names, [column(width)] * len(names))
        count, _ = shown(width)
        if count < turns:
            head[-1] = spread(paint(Cell(f"turns {turns - count + 1} to {turns}", "quiet")), head[-1], width)
        self.set_panel(head, len(checked), paint_row, lambda _: summary, row_lines=lines)


def _marks(row: rows.AssertionRow, condition: Condition, turns: int, shown: int, between: str) -> Content:
    """Return the marks of the newest turns, the final check in place of the last one."""
    marks = panels_view.marks(row.timelines[condition])
    final = panels_view.final_mark(row.finals[condition])
    if final is not None:
        marks[max(marks, default=1)] = final
    first = max(1, turns - shown + 1)
    return Content(between).join([paint(marks.get(turn, Cell(" "))) for turn in range(first, turns + 1)])
