"""Two runs side by side, as lines: what may be said first, then conditions, tasks, assertions, time."""

from __future__ import annotations

from bioeval_tui.report.compared import Compared, ComparedCheck, ComparedCondition, RunComparison, RunSummary
from bioeval_tui.text import shorten
from bioeval_tui.tui.shared.cells_view import Cell, Tone, score, signed
from bioeval_tui.tui.shared.times import latency

Line = list[Cell]
NUMBER = 8
VERDICTS: dict[str, Cell] = {
    "better": Cell("▲ better", "good"),
    "worse": Cell("▼ worse", "bad"),
    "same": Cell("= same", "quiet"),
    "not distinguishable": Cell("· not yet distinguishable", "quiet"),
    "too few": Cell("· too few to tell", "quiet"),
    "not measured": Cell("? not measured", "warn"),
}
CHANGES: dict[str, Cell] = {
    "fixed": Cell("▲ fixed", "good"),
    "broken": Cell("▼ broken", "bad"),
    "changed": Cell("◐ changed", "warn"),
    "same": Cell("= same", "quiet"),
    "not comparable": Cell("? not comparable", "quiet"),
}


def lines(found: RunComparison, width: int) -> list[Line]:
    """Return the comparison for `width` cells."""
    shown: list[Line] = [_run_line("A", found.a, width), _run_line("B", found.b, width), []]
    if not found.conditions:
        shown.append([Cell("the runs have no condition in common", "warn")])
    shown += [[Cell(condition.sentence)] for condition in found.conditions]
    shown.append([])
    for condition in found.conditions:
        shown += _condition(condition, width)
    shown += [[Cell(f"! {note}", "warn")] for note in found.notes]
    return shown


def _run_line(name: str, run: RunSummary, width: int) -> Line:
    when = f"{run.started_at.astimezone():%Y-%m-%d %H:%M}"
    played = "rehearsal" if run.rehearsal else run.model or ""
    rest = f"  {run.job} · {when} · {played} · run {run.run_id}"
    return [Cell(f"{name} ", "strong"), Cell(shorten(rest, max(8, width - 2)))]


def _condition(found: ComparedCondition, width: int) -> list[Line]:
    label = max(16, min(56, width - 3 * NUMBER - 28))
    shown: list[Line] = [
        [
            Cell(f"{'facts ' + found.condition:<{label}}".upper(), "strong"),
            Cell(f"{'A':>{NUMBER}}{'B':>{NUMBER}}{'B − A':>{NUMBER + 1}}", "quiet"),
        ],
        _value(found.score, label, "strong"),
    ]
    shown += [_value(task, label) for task in found.tasks]
    shown += [_check(check, label) for check in found.assertions]
    if found.latency is not None:
        shown.append(_time(found.latency, label))
    return [*shown, []]


def _value(value: Compared, label: int, tone: Tone = "plain") -> Line:
    change = signed(value.b - value.a) if value.a is not None and value.b is not None else "–"
    return [
        Cell(f"{shorten(value.name, label - 1):<{label}}", tone),
        Cell(f"{score(value.a):>{NUMBER}}{score(value.b):>{NUMBER}}", tone),
        Cell(f"{change:>{NUMBER + 1}}  ", tone),
        VERDICTS[value.verdict],
    ]


def _check(check: ComparedCheck, label: int) -> Line:
    weight = f"{check.weight:g}× "
    return [
        Cell(f"{shorten(weight + check.title, label - 1):<{label}}"),
        _held(check.a),
        _held(check.b),
        Cell(" " * (NUMBER + 3)),
        CHANGES.get(check.change, Cell(check.change)),
    ]


def _held(share: float | None) -> Cell:
    """Return `✓` or `✗` for one trial, the share of trials for several."""
    if share is None:
        return Cell(f"{'–':>{NUMBER}}", "quiet")
    if share in (0.0, 1.0):
        return Cell(f"{'✓' if share else '✗':>{NUMBER}}", "good" if share else "bad")
    return Cell(f"{share:>{NUMBER}.0%}", "warn")


def _time(value: Compared, label: int) -> Line:
    change = "–"
    if value.a is not None and value.b is not None:
        change = ("+" if value.b >= value.a else "−") + latency(abs(value.b - value.a))
    return [
        Cell(f"{value.name:<{label}}"),
        Cell(f"{_average(value.a):>{NUMBER}}{_average(value.b):>{NUMBER}}{change:>{NUMBER + 1}}  "),
        VERDICTS[value.verdict],
    ]


def _average(ms: float | None) -> str:
    """Return seconds with two decimals: with one, averages 3 ms apart could look 100 ms apart."""
    return f"{ms / 1000:.2f} s" if ms is not None and 99.5 <= ms < 59_950 else latency(ms)
