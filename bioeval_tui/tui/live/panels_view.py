"""How the live screen's lower panels show tasks, latencies and assertions; what they show comes from `report.rows`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.report import rows
from bioeval_tui.tui.live.heads_view import conditions
from bioeval_tui.tui.shared.bars_view import Bar
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.cells_view import uplift as uplift_cell

if TYPE_CHECKING:
    from bioeval_tui.record.events import AssertionChecked, TaskScored
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import ConversationState, RunState


def task_cell(row: rows.TaskRow, condition: Condition, conversation: ConversationState | None) -> Cell:
    """Return the judge's verdict on a task, or its state."""
    if conversation is None:
        return Cell("·", "quiet")
    found = row.verdicts[condition]
    if found is not None:
        return verdict_cell(found)
    if conversation.verdict is not None:
        return Cell("? –", "warn")
    if conversation.ended is not None and conversation.ended.reason == "cancelled":
        return Cell("–", "quiet")
    return Cell("◐", "busy") if conversation.phase == "judging" else Cell("·", "quiet")


def verdict_cell(task: TaskScored) -> Cell:
    """Return the judge's verdict on a task."""
    if task.unproved:
        return Cell(f"? {task.words}", "warn")
    return Cell(f"✓ {task.words}", "good") if task.passed else Cell(f"✗ {task.words}", "bad")


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """One turn, with a bar for each condition that has reached it."""

    turn: int
    bars: dict[Condition, Bar]


def latency_rows(state: RunState, trial: int, now: datetime | None) -> list[LatencyRow]:
    """Return one row per turn, oldest first."""
    turns: dict[int, dict[Condition, Bar]] = {}
    for condition in conditions(state):
        conversation = state.conversation(condition, trial)
        for message in conversation.messages if conversation else ():
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


def marks(checks: Sequence[AssertionChecked]) -> dict[int, Cell]:
    """Return one mark per turn: `·` for not true yet, `✗` for no longer true, or false at the end."""
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


def latest_mark(row: rows.AssertionRow, condition: Condition) -> Cell:
    """Return the mark of the newest check, the final one first; `·` before any."""
    found = marks(row.timelines[condition])
    return final_mark(row.finals[condition]) or (found[max(found)] if found else Cell("·", "quiet"))


def final_mark(check: AssertionChecked | None) -> Cell | None:
    """Return the mark of the final check; None before it."""
    if check is None:
        return None
    if check.status == "not_measured":
        return Cell("?", "warn")
    if check.error:
        return Cell("!", "bad")
    return Cell("✓", "good") if check.status == "passed" else Cell("✗", "bad")


def uplift(state: RunState, trial: int) -> Cell | None:
    """Return supplied − withheld once both have their scores, or why it is missing; None for a single condition.

    Before that, a difference would only show which conversation has progressed further.
    """
    if state.only_condition:
        return None
    if not state.clean:
        return Cell(f"not shown: {state.cleanness}", "warn")
    conversations = [state.conversation(condition, trial) for condition in CONDITIONS]
    if any(conversation is None or conversation.score is None for conversation in conversations):
        return Cell("once both ended", "quiet")
    return uplift_cell(rows.composite_uplift(state, trial))
