"""What the live screen's lower panels say: tasks, latencies, assertions. Reads a RunState only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui.tui.live.heads_view import CONDITIONS, conditions
from bioeval_tui.tui.shared.cells_view import Cell, Tone, percentile, signed

if TYPE_CHECKING:
    from bioeval_tui.record.events import AssertionChecked, ConditionName
    from bioeval_tui.record.state import ConversationState, RunState


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of the job, with one cell a condition."""

    number: int
    title: str
    cells: dict[ConditionName, Cell]


def task_rows(state: RunState, trial: int) -> list[TaskRow]:
    """Return the checklist of tasks: what the judge said, or how far it is."""
    tasks = state.job.get("tasks") or []
    return [
        TaskRow(
            number,
            str(task.get("task", "")) if isinstance(task, dict) else str(task),
            {c: _task_cell(state.conversation(c, trial), number) for c in conditions(state)},
        )
        for number, task in enumerate(tasks, start=1)
    ]


def _task_cell(talk: ConversationState | None, number: int) -> Cell:
    if talk is None:
        return Cell("·", "quiet")
    if talk.verdict is not None:
        if talk.verdict.error:
            return Cell("? –", "warn")
        found = next((task for task in talk.verdict.tasks if task.task == number), None)
        if found is None:
            return Cell("? –", "warn")
        return Cell(f"{'✓' if found.passed else '✗'} {found.score:.1f}", "good" if found.passed else "bad")
    if talk.ended is not None and talk.ended.reason == "cancelled":
        return Cell("–", "quiet")
    return Cell("◐", "busy") if talk.phase == "judging" else Cell("·", "quiet")


@dataclass(frozen=True, slots=True)
class Bar:
    """One answer's time: whole and to the first token, ms. `running` while it still goes on."""

    ms: float
    first_ms: float | None
    message: int
    running: bool = False


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """One turn, with the bar of each condition that has come this far."""

    turn: int
    bars: dict[ConditionName, Bar]


class LatencySummary(NamedTuple):
    """A condition's response times in ms; None where nothing was answered yet."""

    average: float | None
    p90: float | None
    longest: float | None
    first: float | None


def latency_rows(state: RunState, trial: int, now: datetime | None) -> list[LatencyRow]:
    """Return one row a turn, oldest first."""
    turns: dict[int, dict[ConditionName, Bar]] = {}
    for condition in conditions(state):
        talk = state.conversation(condition, trial)
        for message in talk.messages if talk else ():
            if message.role != "assistant":
                continue
            bar = None
            if message.latency_ms is not None:
                bar = Bar(message.latency_ms, message.first_token_ms, message.message)
            elif not message.done and now is not None and state.ended is None:
                so_far = max(0.0, (now - message.started_at).total_seconds() * 1000)
                bar = Bar(so_far, None, message.message, running=True)
            if bar is not None:
                turns.setdefault(message.turn, {})[condition] = bar
    return [LatencyRow(turn, turns[turn]) for turn in sorted(turns)]


def latency_summary(state: RunState, condition: ConditionName, trial: int) -> LatencySummary:
    """Return average, p90, longest and average first token of one condition."""
    talk = state.conversation(condition, trial)
    values = talk.latencies_ms if talk else []
    firsts = [m.first_token_ms for m in talk.messages if m.first_token_ms is not None] if talk else []
    if not values:
        return LatencySummary(None, None, None, None)
    return LatencySummary(
        fmean(values), percentile(values, 0.9), max(values), fmean(firsts) if firsts else None
    )


def target_ms(state: RunState) -> float:
    """Return the aspirational average in ms; 0 when the job is not known yet."""
    value = state.job.get("aspirationalAverage", 0)
    return float(value) if isinstance(value, int | float) else 0.0


@dataclass(frozen=True, slots=True)
class AssertionRow:
    """One assertion: its weight and title, and a mark per turn and condition."""

    index: int
    title: str
    weight: float
    marks: dict[ConditionName, dict[int, Cell]]
    final: dict[ConditionName, Cell | None]


def assertion_rows(state: RunState, trial: int) -> list[AssertionRow]:
    """Return the assertions as a timeline. `·` is not true yet, `✗` no longer true or false at the end."""
    rows = []
    for index, (title, weight) in enumerate(_assertion_names(state)):
        marks: dict[ConditionName, dict[int, Cell]] = {}
        final: dict[ConditionName, Cell | None] = {}
        for condition in conditions(state):
            talk = state.conversation(condition, trial)
            checks = talk.checks.get(index, []) if talk else []
            last = talk.final_checks.get(index) if talk else None
            marks[condition] = _marks(checks)
            final[condition] = _final_mark(last)
        rows.append(AssertionRow(index, title, weight, marks, final))
    return rows


def _assertion_names(state: RunState) -> list[tuple[str, float]]:
    names = []
    for index, item in enumerate(state.job.get("assertions") or []):
        item = item if isinstance(item, dict) else {}
        fallback = (
            item.get("expression") or item.get("cypher") or item.get("medal") or f"assertion {index + 1}"
        )
        names.append((str(item.get("name") or fallback), float(item.get("weight", 1.0))))
    return names


def _marks(checks: list[AssertionChecked]) -> dict[int, Cell]:
    marks: dict[int, Cell] = {}
    held = False
    for check in checks:
        if check.status == "passed":
            held = True
            marks[check.after_turn] = Cell("✓", "good")
        elif check.status == "not_measured":
            marks[check.after_turn] = Cell("?", "warn")
        elif check.error:
            marks[check.after_turn] = Cell("!", "bad")
        else:
            marks[check.after_turn] = Cell("✗", "bad") if held else Cell("·", "quiet")
    return marks


def _final_mark(check: AssertionChecked | None) -> Cell | None:
    if check is None:
        return None
    if check.status == "not_measured":
        return Cell("?", "warn")
    if check.error:
        return Cell("!", "bad")
    return Cell("✓", "good") if check.status == "passed" else Cell("✗", "bad")


def uplift_so_far(state: RunState, trial: int) -> Cell | None:
    """Return supplied − withheld over what is known; None when the run is not clean or one is missing."""
    if state.only_condition:
        return None
    if not state.clean:
        return Cell(f"no uplift: {state.cleanness}", "warn")
    talks = [state.conversation(condition, trial) for condition in CONDITIONS]
    values = [state.running_score(talk) if talk else None for talk in talks]
    if values[0] is None or values[1] is None:
        return None
    done = all(talk is not None and talk.score is not None for talk in talks)
    difference = values[1] - values[0]
    tone: Tone = "good" if difference > 0 else "bad" if difference < 0 else "quiet"
    return Cell(signed(difference) + ("" if done else " so far"), tone)
