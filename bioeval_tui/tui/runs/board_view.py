"""The summary above a batch's grid: progress, each model's scores with intervals, and a heat map by job or task."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len

from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.report.statistics.estimates import Estimate, Sample, estimate
from bioeval_tui.text import plural, shorten
from bioeval_tui.tui.runs.batch_view import Glance, Rank, condition_of
from bioeval_tui.tui.shared.cells import Cell, Line, Tone, joined, packed, score_tone
from bioeval_tui.units import DASH, clock, latency_short, number, signed

NARROWEST, ROOMY = 60, 110
"""Minimum widths for the table, and for its long words."""
FIELD, SURE, WIDEST = 6, 11, 13
"""Width of a field of the heat map, with an interval, and half the width of its widest column."""
NO_MODEL = "model of the job"
OVER = (Rank.NOT_MEASURED, Rank.AGENT_FAILED, Rank.DONE)
HEAT: tuple[Tone, ...] = ("heat0", "heat1", "heat2", "heat3", "heat4")


def board(glances: Sequence[Glance], width: int, height: int, left_s: float | None) -> list[Line]:
    """Return at most `height` lines above the grid; `left_s` is the estimated time left, if known."""
    if not glances:
        return []
    lines = [_progress(glances, width, left_s)] if any(glance.rank not in OVER for glance in glances) else []
    models = {glance.model for glance in glances}
    several_jobs = len({glance.job for glance in glances}) > 1
    rows: dict[str, list[Glance]] = {}
    for glance in glances:
        rows.setdefault(glance.model if len(models) > 1 or not several_jobs else glance.job, []).append(
            glance
        )
    if width < NARROWEST:
        return lines
    ranked = sorted(rows.items(), key=lambda row: (-(_mean(row[1], "supplied") or 0.0), row[0]))
    if len(ranked) > 1:
        lines += _bars(ranked, width, height - len(lines))
    heat = _heat(ranked, width) if len(models) > 1 or not several_jobs else []
    if heat and len(lines) + len(heat) + 1 <= height:
        lines += [*([[]] if lines else []), *heat]
    return lines


def _name_width(rows: Sequence[tuple[str, list[Glance]]], width: int) -> int:
    """Return the width of the models' names: all of them where there is room."""
    longest = max(10, *(len(name or NO_MODEL) for name, _ in rows)) + 2
    return min(longest, max(26 if width >= ROOMY else 18, width // 4))


def _name_lines(name: str, width: int) -> tuple[Cell, *tuple[Line, ...]]:
    """Return a row's first cell, and the lines below it on which a name that is longer goes on."""
    first, *more = textwrap.wrap(name or NO_MODEL, width - 2)
    return Cell(f"{first:<{width}}", "strong"), *([Cell(part, "strong")] for part in more)


def _progress(glances: Sequence[Glance], width: int, left_s: float | None) -> Line:
    done, total = sum(glance.rank in OVER for glance in glances), len(glances)
    words = f"{done} of {plural(total, 'conversation')} ended"
    time = f"   about {clock(left_s)} left" if left_s is not None else ""
    room = max(4, width - len(words) - len(time) - 9)
    full = round(room * done / total)
    bar = joined([("█" * full, "busy"), ("░" * (room - full), "quiet")])
    return [Cell(f"{words}  "), *bar, Cell(f" {done * 100 // total:>3} %"), Cell(time, "quiet")]


# Scores with intervals


def _bars(rows: Sequence[tuple[str, list[Glance]]], width: int, height: int) -> list[Line]:
    """Return a row's mean by condition on a scale from 0 to 1, its uplift, and the time of its slowest tenth of answers.

    Long names go on below. Rows that would make it higher than `height` are left out, and counted.
    """
    name_width = _name_width(rows, width)
    room = (width - name_width - 11 - 9) // 2 - 7
    everything = [glance for _, group in rows for glance in group]
    titles = "".join(
        f"{('facts ' if room > 9 and name == condition else '') + shorten(name, room + 6):<{room + 7}}"
        for condition in CONDITIONS
        for name in (condition_of(everything, condition),)
    )
    lines: list[Line] = [[Cell(" " * name_width + f"{titles}{'difference':>11}{'p90':>9}", "quiet")]]
    drawn: set[str] = set()
    left_out = 0
    for at, (name, group) in enumerate(rows):
        first, *below = _name_lines(name, name_width)
        if at and len(lines) + 1 + len(below) >= height:
            left_out = len(rows) - at
            break
        cells: Line = [first]
        for condition in CONDITIONS:
            bar, around = _bar(group, condition, room)
            drawn.add(around)
            cells += bar
        low, high = (_mean(group, condition) for condition in CONDITIONS)
        ended = low is not None and high is not None and all(glance.rank in OVER for glance in group)
        gain = signed(high - low) if ended and low is not None and high is not None else "–"
        cells += [Cell(f"{gain:>11}", "plain" if ended else "quiet"), Cell(f"{_p90(group):>9}", "quiet")]
        lines += [cells, *below]
    roomy = width >= ROOMY
    said = ["● mean"]
    said += ["├─┤ its 95 % interval"] if "interval" in drawn else []
    said += (
        ["╶─╴ range, where there are too few values for an interval" if roomy else "╶─╴ range"]
        if "range" in drawn
        else []
    )
    said += [f"+{left_out} with lower scores"] if left_out else []
    return [*lines, [Cell(" " * (name_width if roomy else 0) + "; ".join(said), "quiet")]]


def _values(group: Sequence[Glance], condition: str) -> list[Sample]:
    return [
        Sample(glance.job, glance.value)
        for glance in group
        if glance.key.condition == condition and glance.value is not None
    ]


def _mean(group: Sequence[Glance], condition: str) -> float | None:
    return estimate(_values(group, condition)).mean


def _bar(group: Sequence[Glance], condition: str, room: int) -> tuple[Line, str]:
    """Return a mean in figures and on the scale, and what is around it: `interval`, `range` or nothing."""
    estimated = estimate(_values(group, condition))
    if estimated.mean is None:
        return [Cell(f"{'–':>4} ", "quiet"), Cell("·" * room + "  ", "quiet")], ""
    low, high = min(estimated.points), max(estimated.points)
    if estimated.interval is not None:
        low, high = estimated.interval.low, estimated.interval.high
    places = [round(value * (room - 1)) for value in (low, estimated.mean, high)]
    cells = ["·"] * room
    for x in range(places[0], places[2] + 1):
        cells[x] = "─"
    cells[places[0]], cells[places[2]] = ("├", "┤") if estimated.interval else ("╶", "╴")
    cells[places[1]] = "●"
    tone = score_tone(estimated.mean)
    drawn = [Cell(f"{number(estimated.mean)} ", tone), Cell("".join(cells), tone), Cell("  ")]
    return drawn, "interval" if estimated.interval is not None else "range" if low < high else ""


def _p90(group: Sequence[Glance]) -> str:
    latencies = sorted(ms for glance in group for ms in glance.latencies_ms)
    if not latencies:
        return DASH
    return latency_short(latencies[min(len(latencies) - 1, int(0.9 * len(latencies)))])


# The heat map


def _heat(rows: Sequence[tuple[str, list[Glance]]], width: int) -> list[Line]:
    """Return a field for each model, job and condition; for a single job, one for each task."""
    name_width = _name_width(rows, width)
    everything = [glance for _, group in rows for glance in group]
    jobs = list(dict.fromkeys(glance.job for glance in everything))
    by_job = len(jobs) > 1
    columns = jobs if by_job else list(dict.fromkeys(title for g in everything for title, _ in g.tasks))
    fits = (width - name_width) // (2 * FIELD + 1)
    shown = columns[:fits]
    if not shown:
        return []
    half = max(FIELD, min(WIDEST, ((width - name_width) // len(shown) - 1) // 2))
    what = "job" if by_job else "task"
    heads: Sequence[str] = shown
    legend: list[Line] = []
    if max(map(cell_len, shown)) > 2 * half:  # a number each; the names are below
        heads = [f"{what} {number}" for number, _ in enumerate(shown, 1)]
        entries = ([Cell(f"{head} ", "quiet"), Cell(name)] for head, name in zip(heads, shown, strict=True))
        legend = packed(entries, width)
    names = "".join(f"{head:<{2 * half + 1}}" for head in heads)
    left_out = f" +{len(columns) - len(shown)}" if len(columns) > len(shown) else ""
    without, with_facts = (shorten(condition_of(everything, name), half - 1) for name in CONDITIONS)
    if half <= len("withheld"):
        without, with_facts = "none", "facts"
    lines: list[Line] = [
        [Cell(f"{f'by {what}{left_out}':<{name_width}}", "quiet"), Cell(names)],
        [Cell(" " * name_width + f"{without:^{half}}{with_facts:^{half}} " * len(shown), "quiet")],
    ]
    for name, group in rows:
        first, *below = _name_lines(name, name_width)
        cells: Line = [first]
        for column in shown:
            cells += [_field(_score_at(group, column, condition, by_job), half) for condition in CONDITIONS]
            cells.append(Cell(" "))
        lines += [cells, *below]
    return [*lines, *legend]


def _score_at(group: Sequence[Glance], column: str, condition: str, by_job: bool) -> Estimate:
    """Return the score of a job, or of a task, in a condition."""
    there = [glance for glance in group if glance.key.condition == condition]
    if by_job:
        values = [glance.value for glance in there if glance.job == column and glance.value is not None]
    else:
        values = [value for glance in there for title, value in glance.tasks if title == column]
    return estimate([Sample(column, value) for value in values])


def _field(estimated: Estimate, width: int) -> Cell:
    """Return a mean, with half of its 95 % interval where there is one and room for it."""
    value, interval = estimated.mean, estimated.interval
    if value is None:
        return Cell(f"{'·':^{width}}", "quiet")
    around = (
        f" ±{number((interval.high - interval.low) / 2)}" if interval is not None and width >= SURE else ""
    )
    return Cell(f"{number(value) + around:^{width}}", HEAT[min(len(HEAT) - 1, int(value * len(HEAT)))])
