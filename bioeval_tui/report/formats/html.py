"""One self-contained HTML file: no network, no script, light and dark, printable.

Every text is escaped by Jinja's autoescape; no text is ever marked as safe. The Markdown of
messages is written as elements from a fixed list around escaped text, so it cannot make others,
links or attributes. In addition, a strict Content-Security-Policy allows only the file's
stylesheet, by its hash.

The layout of the charts is geometry only: templates draw it, escaped, as inline SVG.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, log10
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from bioeval_tui import __version__
from bioeval_tui.base import units
from bioeval_tui.base.files import write_numbered
from bioeval_tui.base.text import upper_first
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.languages import language_of
from bioeval_tui.peers.prices import Prices
from bioeval_tui.record import reviews
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.masking import masking
from bioeval_tui.record.participants import SPEAKERS
from bioeval_tui.report import words
from bioeval_tui.report.comparison import pair_comparison
from bioeval_tui.report.explanation import BarPiece, composite_bar
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.messages import MessageBlock, message_blocks, plain
from bioeval_tui.report.result import RunResult, ShownMessage, load_run, report_title
from bioeval_tui.report.run import ConversationResult, why_not_asked
from bioeval_tui.report.sentences import (
    PARTS,
    concurrency_words,
    counted_words,
    difference_words,
    spread_words,
)
from bioeval_tui.report.summary import rankings, summarise_runs


def write_report(paths: Sequence[Path], folder: Path, prices: Prices | None = None) -> Path:
    """Write one HTML report of these recordings, readable only by its owner, to an unused file
    name.

    Without `prices`, the included prices are used.

    Raises:
        RecordingError: a recording cannot be read.
        StorageError: the disk is full, or the folder cannot be written.
    """
    text = write_runs([load_run(path, prices=prices) for path in paths], Asked())
    names = paths[0].stem
    if len(paths) > 1:
        names += f"-and-{len(paths) - 1}-more"
    return write_numbered(folder, f"bioeval-tui-report-{names}", ".html", text)


def write_runs(runs: Sequence[RunResult], asked: Asked) -> str:
    """Return the document for these runs."""
    results, summaries = [replace(run, target=asked.target) for run in runs], summarise_runs(runs)
    comparison = pair_comparison(runs)
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            policy=policy(),
            title=report_title(results),
            program_version=__version__,
            runs=results,
            summaries=summaries,
            comparison=comparison,
            ranks=[] if comparison else rankings(summaries),
            masked=masking(),
        )
    )


@lru_cache(maxsize=1)
def policy() -> str:
    """Return the Content-Security-Policy: nothing may load or run; only our own stylesheet
    applies.
    """
    style = environment().get_template("report.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the environment that renders the templates: it escapes everything, and a missing name
    is an error.
    """
    environment = Environment(
        loader=PackageLoader("bioeval_tui.report.formats", "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a misspelt name must not become an empty cell of a report
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": units.number,
        "reviewed": reviews.words,
        "number3": units.number3,
        "number1": units.number1,
        "number_up": units.number_up,
        "signed": units.signed,
        "latency": units.latency,
        "latency_short": units.latency_short,
        "token_words": words.token_words,
        "tokens": words.tokens,
        "cost_words": words.cost_words,
        "why_unknown": words.why_unknown,
        "peer_dollars": words.peer_dollars,
        "duration": units.duration,
        "who": words.who,
        "value": words.value_text,
        "part_name": PARTS.__getitem__,
        "status": words.STATUS.__getitem__,
        "dot": {"passed": "●", "failed": "○", "not_measured": "?"}.__getitem__,
        "sign": words.SIGNS.__getitem__,
        "why_not_asked": why_not_asked,
        "tone": words.dot_tone,
        "final_tone": words.TONES.__getitem__,
        "final_words": words.FINAL.__getitem__,
        "final": words.final,
        "medal_word": words.medal_word,
        "next_words": words.next_words,
        "spread_words": spread_words,
        "counted_words": counted_words,
        "difference_words": difference_words,
        "unproved_words": words.unproved_words,
        "concurrency_words": concurrency_words,
        "standing": words.standing,
        "sure_words": words.sure_words,
        "medal_scale": medal_scale,
        "latency_chart": latency_chart,
        "composite_bar": _composite_bar,
        "pass_words": words.pass_words,
        "upper_first": upper_first,
        "language_code": _language_code,
        "speaker": SPEAKERS.__getitem__,
        "message_blocks": _message_blocks,
        "plain": plain,
    }
    environment.globals["tone_words"] = words.TONE
    return environment


def _language_code(text: str) -> str:
    """Return what `lang` says of a text; empty if its language is unknown, or that of the page."""
    language = language_of(text)
    known = language is not None and language.code != "en" and not language.code.startswith("und")
    if language is not None and known:
        return language.code
    return ""


def _composite_bar(talk: ConversationResult) -> tuple[BarPiece, ...]:
    return composite_bar(talk.parts, talk.penalty)


def _message_blocks(message: ShownMessage) -> tuple[MessageBlock, ...]:
    return message_blocks(message.text, message.quotations)


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
    named = [
        ("median", report.median_threshold),
        ("bronze", report.bronze_threshold),
        ("silver", report.silver_threshold),
        ("gold", report.gold_threshold),
    ]
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
