"""The geometry of the charts in the HTML report: answer times by turn, and a score among a task's
medals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.report.run import ConversationResult

_WIDTH, _HEIGHT = 760.0, 220.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 8.0, 16.0, 28.0
"""Size and margins of the chart of latencies, in pixels."""
LABELLED_TURNS = 14
"""Maximum number of turns at which every bar has a label."""


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One answer: its place and size in the picture, and its time in ms."""

    condition: Condition
    turn: int
    x: float
    y: float
    width: float
    height: float
    ms: float


@dataclass(frozen=True, slots=True)
class LatencyChart:
    """Bars by turn and condition, lines of the scale (y, seconds), and the line of the target."""

    width: float
    height: float
    left: float
    baseline: float
    bars: tuple[ChartBar, ...]
    turns: tuple[tuple[int, float], ...]
    lines: tuple[tuple[float, str], ...]
    target: tuple[float, float] | None
    labelled: bool


def latency_chart(talks: Sequence[ConversationResult], target_ms: float) -> LatencyChart | None:
    """Return the chart of one trial; None without an answer."""
    answers: list[tuple[Condition, int, float]] = []
    for talk in talks:
        answers += [
            (talk.condition, answer.turn, answer.latency_ms / 1000)
            for answer in talk.answers
            if answer.latency_ms is not None
        ]
    if not answers:
        return None
    longest = max(0.001, *(seconds for _, _, seconds in answers))
    target = target_ms / 1000
    # A target far above every answer would flatten the bars, so only the legend shows it.
    shown = target if 0 < target <= longest * 2.5 else 0.0
    step = _step(max(longest, shown) * 1.08)
    top = ceil(max(longest, shown) * 1.08 / step) * step
    baseline = _HEIGHT - _BOTTOM

    def y(seconds: float) -> float:
        return round(baseline - seconds / top * (baseline - _TOP), 2)

    turns = sorted({turn for _, turn, _ in answers})
    slot = (_WIDTH - _LEFT - _RIGHT) / len(turns)
    sides = list(dict.fromkeys(condition for condition, _, _ in answers))
    width = min(34.0, slot * 0.78 / len(sides))
    bars = []
    for condition, turn, seconds in answers:
        middle = _LEFT + slot * (turns.index(turn) + 0.5)
        x = middle + (sides.index(condition) - len(sides) / 2) * width
        bars.append(
            ChartBar(condition, turn, round(x, 2), y(seconds), round(width - 2, 2),
                round(baseline - y(seconds), 2), seconds * 1000)
        )  # fmt: skip
    count = round(top / step)
    return LatencyChart(
        _WIDTH,
        _HEIGHT,
        _LEFT,
        baseline,
        tuple(bars),
        tuple((turn, round(_LEFT + slot * (place + 0.5), 2)) for place, turn in enumerate(turns)),
        tuple((y(number * step), f"{number * step:g} s") for number in range(count + 1)),
        (y(shown), shown) if shown else None,
        len(turns) <= LABELLED_TURNS,
    )


def _step(top: float) -> float:
    """Return a round step (1, 2 or 5) that gives the scale about four lines."""
    raw = top / 4
    power = 10.0 ** int(log10(raw) // 1)
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)


@dataclass(frozen=True, slots=True)
class MedalMark:
    """A named threshold on the medal scale; `x` in percent from worst (0) to best (100)."""

    name: str
    x: float
    score: float
    row: int


@dataclass(frozen=True, slots=True)
class MedalScale:
    """The thresholds and the score's own place, with the worst score on the left, whether higher or
    lower is better.
    """

    marks: tuple[MedalMark, ...]
    own: float


def medal_scale(report: TaskReport) -> MedalScale | None:
    """Return the scale of a graded submission; None without a score."""
    if report.score is None:
        return None
    sign = -1.0 if report.is_lower_better else 1.0
    named = [("median", report.median_threshold), *report.medal_scores.items()]
    values = [sign * value for _, value in named] + [sign * report.score]
    low, high = min(values), max(values)
    margin = (high - low or 1.0) * 0.08
    low, high = low - margin, high + margin

    def place(value: float) -> float:
        return round((sign * value - low) / (high - low) * 100, 2)

    marks: list[MedalMark] = []
    for name, value in named:
        x = place(value)
        taken = {mark.row for mark in marks if abs(mark.x - x) < 14}
        row = next(row for row in range(len(named)) if row not in taken)
        marks.append(MedalMark(name, x, value, row))
    return MedalScale(tuple(marks), place(report.score))
