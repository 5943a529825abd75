"""The board above the grid: progress, each model's scores on a scale, and a heat map by job or
task.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from rich.cells import cell_len

from bioeval_tui.base.text import plural
from bioeval_tui.base.units import clock, latency_short, number, signed
from bioeval_tui.base.widths import fitted
from bioeval_tui.record.condition_names import without_placebo
from bioeval_tui.statistics.estimates import Estimate
from bioeval_tui.tui.runs.batch_view import Glance, condition_name, glance_conditions
from bioeval_tui.tui.runs.standings import (
    OVER,
    condition_score,
    field_score,
    mean_difference,
    slow_ms,
)
from bioeval_tui.tui.shared.cells import (
    Cell,
    Line,
    Tone,
    fitted_condition,
    joined,
    packed,
    score_tone,
    wrapped,
)

NARROWEST, ROOMY = 60, 110
"""Minimum widths for the table, and for its long words."""
FIELD, SURE, WIDEST = 8, 11, 13
"""Width of a field of the heat map, with an interval, and half the width of its widest column."""
NO_MODEL = "model of the job"
HEAT: tuple[Tone, ...] = ("heat0", "heat1", "heat2", "heat3", "heat4")


def board(glances: Sequence[Glance], width: int, height: int, left_s: float | None) -> list[Line]:
    """Return at most `height` lines above the grid; `left_s` is the estimated time left, if
    known.
    """
    if not glances:
        return []
    lines: list[Line] = []
    if any(glance.rank not in OVER for glance in glances):
        lines.append(_progress(glances, width, left_s))
    models = {glance.model for glance in glances}
    by_model = len(models) > 1 or len({glance.job for glance in glances}) == 1
    rows: dict[str, list[Glance]] = {}
    for glance in glances:
        name = glance.model if by_model else glance.job
        rows.setdefault(name, []).append(glance)
    if width < NARROWEST:
        return lines
    *_, by = without_placebo(glance_conditions(glances)) or glance_conditions(glances)
    ranked = sorted(
        rows.items(),
        key=lambda row: (-(condition_score(row[1], by).mean or 0.0), row[0]),
    )
    if len(ranked) > 1:
        lines += _bars(ranked, width, height - len(lines))
    if not by_model:
        return lines
    heat = _heat(ranked, width)
    if heat and len(lines) + len(heat) + 1 <= height:
        if lines:
            lines.append([])
        lines += heat
    return lines


def _name_width(rows: Sequence[tuple[str, list[Glance]]], width: int) -> int:
    """Return the width of the models' names: all of them where there is room."""
    longest = max(10, *(cell_len(name or NO_MODEL) for name, _ in rows)) + 2
    return min(longest, max(26 if width >= ROOMY else 18, width // 4))


def _name_lines(name: str, width: int) -> tuple[Cell, *tuple[Line, ...]]:
    """Return a row's first cell, and the lines below it on which a name that is longer goes on."""
    first, *more = wrapped(name or NO_MODEL, width - 2)
    return Cell(fitted(first, width), "strong"), *([Cell(part, "strong")] for part in more)


def _progress(glances: Sequence[Glance], width: int, left_s: float | None) -> Line:
    done, total = sum(glance.rank in OVER for glance in glances), len(glances)
    words = f"{done} of {plural(total, 'conversation')} ended"
    time = ""
    if left_s is not None:
        time = f"   about {clock(left_s)} left"
    room = max(4, width - len(words) - len(time) - 9)
    full = round(room * done / total)
    bar = joined([("█" * full, "busy"), ("░" * (room - full), "quiet")])
    return [Cell(f"{words}  "), *bar, Cell(f" {done * 100 // total:3d} %"), Cell(time, "quiet")]


# Scores with intervals


def _bars(rows: Sequence[tuple[str, list[Glance]]], width: int, height: int) -> list[Line]:
    """Return a row's mean by condition on a scale from 0 to 1, its uplift, and the time of its
    slowest tenth of answers.

    Long names go on below. Rows that would make it higher than `height` are left out, and counted.
    """
    name_width = _name_width(rows, width)
    everything = list(chain.from_iterable(group for _, group in rows))
    conditions = glance_conditions(everything)
    room = (width - name_width - 11 - 9) // len(conditions) - 7
    names = (condition_name(everything, condition) for condition in conditions)
    titles = "".join(fitted(fitted_condition(name, room + 6), room + 7) for name in names)
    ends = fitted("on shared", 11, "right") + fitted("p90", 9, "right")
    lines: list[Line] = [[Cell(" " * name_width + titles + ends, "quiet")]]
    drawn: set[str] = set()
    left_out = 0
    for at, (name, group) in enumerate(rows):
        first, *below = _name_lines(name, name_width)
        if at and len(lines) + 1 + len(below) >= height:
            left_out = len(rows) - at
            break
        cells: Line = [first]
        for condition in conditions:
            bar, around = _bar(group, condition, room)
            drawn.add(around)
            cells += bar
        gain = mean_difference(group)
        tone: Tone = "quiet" if gain is None else "plain"
        cells += [
            Cell(fitted(signed(gain), 11, "right"), tone),
            Cell(fitted(latency_short(slow_ms(group)), 9, "right"), "quiet"),
        ]
        lines += [cells, *below]
    spread, indent = "╶─╴ range", 0
    if width >= ROOMY:
        spread += ", where there are too few values for an interval"
        indent = name_width
    said = ["● mean"]
    if "interval" in drawn:
        said.append("├─┤ its 95 % interval")
    if "range" in drawn:
        said.append(spread)
    if any(glance.has_own_criteria for glance in everything):
        said.append("on shared: the difference on what both conditions share")
    if left_out:
        said.append(f"+{left_out} with lower scores")
    return [*lines, [Cell(" " * indent + "; ".join(said), "quiet")]]


def _bar(group: Sequence[Glance], condition: str, room: int) -> tuple[Line, str]:
    """Return a mean in figures and on the scale, and what is around it: `interval`, `range` or
    nothing.
    """
    estimated = condition_score(group, condition)
    if estimated.mean is None:
        return [Cell(fitted("–", 4, "right") + " ", "quiet"), Cell("·" * room + "  ", "quiet")], ""
    low, high = min(estimated.points), max(estimated.points)
    start, end, around = "╶", "╴", ""
    if estimated.interval is not None:
        low, high = estimated.interval.low, estimated.interval.high
        start, end, around = "├", "┤", "interval"
    elif low < high:
        around = "range"
    places = [round(value * (room - 1)) for value in (low, estimated.mean, high)]
    cells = ["·"] * room
    for x in range(places[0], places[2] + 1):
        cells[x] = "─"
    cells[places[0]], cells[places[2]] = start, end
    cells[places[1]] = "●"
    tone = score_tone(estimated.mean)
    drawn = [Cell(f"{number(estimated.mean)} ", tone), Cell("".join(cells), tone), Cell("  ")]
    return drawn, around


# The heat map


def _heat(rows: Sequence[tuple[str, list[Glance]]], width: int) -> list[Line]:
    """Return a field for each model, job and condition; for a single job, one for each task."""
    name_width = _name_width(rows, width)
    everything = list(chain.from_iterable(group for _, group in rows))
    what, columns = "job", list(dict.fromkeys(glance.job for glance in everything))
    by_job = len(columns) > 1
    if not by_job:
        tasks = chain.from_iterable(glance.tasks for glance in everything)
        what, columns = "task", list(dict.fromkeys(title for title, _ in tasks))
    conditions = glance_conditions(everything)
    count = len(conditions)
    fits = (width - name_width) // (count * FIELD + 1)
    shown = columns[:fits]
    if not shown:
        return []
    field = max(FIELD, min(WIDEST, ((width - name_width) // len(shown) - 1) // count))

    heads: Sequence[str] = shown
    legend: list[Line] = []
    if max(map(cell_len, shown)) > count * field:  # a number each; the names are below
        heads = [f"{what} {number}" for number, _ in enumerate(shown, 1)]
        entries = (
            [Cell(f"{head} ", "quiet"), Cell(name)] for head, name in zip(heads, shown, strict=True)
        )
        legend = packed(entries, width)
    names = "".join(fitted(head, count * field + 1) for head in heads)
    label = f"by {what}"
    if len(columns) > len(shown):
        label += f" +{len(columns) - len(shown)}"
    called = (fitted_condition(condition_name(everything, name), field - 1) for name in conditions)
    titles = "".join(fitted(title, field, "middle") for title in called)
    lines: list[Line] = [
        [Cell(fitted(label, name_width), "quiet"), Cell(names)],
        [Cell(" " * name_width + f"{titles} " * len(shown), "quiet")],
    ]
    for name, group in rows:
        first, *below = _name_lines(name, name_width)
        cells: Line = [first]
        for column in shown:
            cells += [
                _field(field_score(group, column, condition, by_job), field)
                for condition in conditions
            ]
            cells.append(Cell(" "))
        lines += [cells, *below]
    return [*lines, *legend]


def _field(estimated: Estimate, width: int) -> Cell:
    """Return a mean, with field of its 95 % interval where there is one and room for it."""
    value, interval = estimated.mean, estimated.interval
    if value is None:
        return Cell(fitted("·", width, "middle"), "quiet")
    around = ""
    if interval is not None and width >= SURE:
        around = f" ±{number(interval.width / 2)}"
    shown = fitted(number(value) + around, width, "middle")
    return Cell(shown, HEAT[min(len(HEAT) - 1, int(value * len(HEAT)))])
