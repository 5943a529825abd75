"""Old and new verdicts side by side: as a table, and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.record.events import TaskScored
from bioeval_tui.record.overlay import Judging, Rescored
from bioeval_tui.record.state import ConversationState, RunState
from bioeval_tui.report.words import number
from bioeval_tui.text import clean_line, shorten

WHICH_COUNTS = (
    "The list and the score card above count the recorded verdicts; reports, comparisons and exports count the "
    "latest one of each conversation (--as-recorded: the recorded one)."
)


def rescored_dicts(state: RunState, found: Rescored) -> list[dict[str, Any]]:
    """Return one object for each later judging, with the recorded scores beside the new ones."""
    return [
        {
            "condition": judging.key.condition,
            "trial": judging.key.trial,
            "author": judging.author,
            "at": judging.at,
            "judge": judging.verdict.judge,
            "prompts": judging.verdict.prompts,
            "judge_before": old.verdict.judge if old and old.verdict else None,
            "prompts_before": _prompts_before(state),
            "score_before": old.score.score if old and old.score else None,
            "score": judging.score.score if judging.score else None,
            "tasks": [
                {**task.model_dump(mode="json"), "score_before": _task_before(old, task)}
                for task in judging.verdict.tasks
            ],
        }
        for key, same in found.by_conversation.items()
        for judging in same
        for old in (state.conversations.get(key),)
    ]


def print_rescored(state: RunState, found: Rescored, console: Console) -> None:
    """Print a table for each conversation: tasks as rows, the recorded verdict and each later one as columns."""
    for key, same in found.by_conversation.items():
        old = state.conversations.get(key)
        trial = f", trial {key.trial}" if state.started and state.started.trials > 1 else ""
        console.print(Text(f"\njudged again: facts {key.condition}{trial}", style="bold"))
        table = Table(box=None, pad_edge=False)
        table.add_column("task")
        recorded = old.verdict.judge if old and old.verdict else "–"
        table.add_column(Text(f"recorded\n{recorded}\n{_hashes(_prompts_before(state))}"), justify="right")
        for judging in same:
            table.add_column(Text(_head(judging)), justify="right")
        for task in same[-1].verdict.tasks:
            cells = [number(_task_before(old, task))]
            cells += [number(_score_of(judging, task.task)) for judging in same]
            table.add_row(Text(shorten(f"{task.task} {task.title}", 60)), *map(Text, cells))
        scores = [old.score.score if old and old.score else None]
        scores += [judging.score.score if judging.score else None for judging in same]
        table.add_row(Text("score", style="bold"), *(Text(number(score), style="bold") for score in scores))
        console.print(table)
    if found.by_conversation:
        console.print(Text(WHICH_COUNTS), soft_wrap=True)


def _head(judging: Judging) -> str:
    when = judging.at[:16].replace("T", " ")
    return f"{when} {clean_line(judging.author, 40)}\n{clean_line(judging.verdict.judge, 60)}\n{_hashes(judging.verdict.prompts)}"


def _prompts_before(state: RunState) -> dict[str, str]:
    """Return the judge's recorded prompt, by name."""
    if state.started is None:
        return {}
    name = (state.job.get("scorer") or {}).get("prompt", "")
    return {name: state.started.prompts[name]} if name in state.started.prompts else {}


def _hashes(prompts: dict[str, str]) -> str:
    return ", ".join(f"{clean_line(name, 40)} {value[:8]}" for name, value in prompts.items()) or "no prompt"


def _task_before(old: ConversationState | None, task: TaskScored) -> float | None:
    recorded = old.verdict.tasks if old and old.verdict else ()
    return next((before.score for before in recorded if before.task == task.task), None)


def _score_of(judging: Judging, number: int) -> float | None:
    return next((task.score for task in judging.verdict.tasks if task.task == number), None)
