"""The batch summed up above its grid: how far it is, and each job and model by condition, on one scale.

Bars show the range of scores and their mean: an interval is given in words, by the reports, from as many trials as it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from bioeval_tui.report.numbers import signed
from bioeval_tui.text import plural, shorten
from bioeval_tui.tui.batch.batch_view import Glance, Rank, name_of
from bioeval_tui.tui.shared.cells_view import Cell, clock, joined, score, score_tone

Line = list[Cell]
MOST_ROWS = 8
NAME = 26
OVER = (Rank.SPOILT, Rank.AGENT_FAILED, Rank.DONE)


def board(glances: Sequence[Glance], width: int, left_s: float | None) -> list[Line]:
    """Return the lines above the grid; `left_s` is about how long the batch still takes, where that is known."""
    if not glances:
        return []
    lines = [_progress(glances, width, left_s)]
    groups: dict[tuple[str, str], list[Glance]] = {}
    for glance in glances:
        groups.setdefault((glance.job, glance.model), []).append(glance)
    if len(groups) < 2 or width < 60:
        return lines
    several_jobs = len({job for job, _ in groups}) > 1
    several_models = len({model for _, model in groups}) > 1
    room = (width - NAME - 8 - 9) // 2 - 7
    title = f"{'withheld':<{room + 7}}{'supplied':<{room + 7}}{'uplift':>8}{'p90':>9}"
    lines.append([Cell(" " * NAME + title, "quiet")])
    for (job, model), held in sorted(groups.items())[:MOST_ROWS]:
        label = job if not several_models else model if not several_jobs else name_of(held[0], NAME - 2)
        label = shorten(label, NAME - 2)
        values = {
            c: [g.value for g in held if g.key.condition == c and g.value is not None]
            for c in ("withheld", "supplied")
        }
        cells: Line = [Cell(f"{label:<{NAME}}", "strong")]
        for found in values.values():
            cells += _bar(found, room)
        both = all(values.values()) and all(glance.rank in OVER for glance in held)
        gain = signed(fmean(values["supplied"]) - fmean(values["withheld"])) if both else "–"
        cells += [Cell(f"{gain:>8}", "plain" if both else "quiet"), Cell(f"{_p90(held):>9}", "quiet")]
        lines.append(cells)
    if len(groups) > MOST_ROWS:
        lines.append([Cell(f"{plural(len(groups) - MOST_ROWS, 'more row')}", "quiet")])
    return lines


def _progress(glances: Sequence[Glance], width: int, left_s: float | None) -> Line:
    done, total = sum(glance.rank in OVER for glance in glances), len(glances)
    words = f"{done} of {plural(total, 'conversation')} ended"
    time = "" if done == total else f"   about {clock(left_s)} left" if left_s is not None else ""
    room = max(4, width - len(words) - len(time) - 9)
    full = round(room * done / total)
    bar = joined([("█" * full, "busy"), ("░" * (room - full), "quiet")])
    return [Cell(f"{words}  "), *bar, Cell(f" {done * 100 // total:>3} %"), Cell(time, "quiet")]


def _bar(values: Sequence[float], room: int) -> Line:
    """Return a mean in figures and, on a scale from 0 to 1, `├─●─┤` from the lowest to the highest."""
    if not values:
        return [Cell(f"{'–':>4} ", "quiet"), Cell("·" * room + "  ", "quiet")]
    mean = fmean(values)
    places = [round(value * (room - 1)) for value in (min(values), mean, max(values))]
    cells = ["·"] * room
    for x in range(places[0], places[2] + 1):
        cells[x] = "─"
    cells[places[0]], cells[places[2]] = "├", "┤"
    cells[places[1]] = "●"
    return [Cell(f"{score(mean)} ", score_tone(mean)), Cell("".join(cells), score_tone(mean)), Cell("  ")]


def _p90(held: Sequence[Glance]) -> str:
    latencies = sorted(ms for glance in held for ms in glance.latencies_ms)
    if not latencies:
        return "–"
    return f"{latencies[min(len(latencies) - 1, int(0.9 * len(latencies)))] / 1000:.1f} s"
