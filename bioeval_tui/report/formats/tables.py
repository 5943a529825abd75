"""Lines and cells: messages as OpenAI's JSON Lines, and turns as CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bioeval_tui.files import csv_text
from bioeval_tui.record.importing.chat import chat_messages
from bioeval_tui.record.importing.conversations import ImportedMessage
from bioeval_tui.record.state import MessageState
from bioeval_tui.report.formats.registry import Asked
from bioeval_tui.report.frames import table_rows
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.run import conversations_of
from bioeval_tui.text import as_cell
from bioeval_tui.units import number

CHAT_LINES = ("openai-jsonl", "transcripts")
"""The formats that are imported as lines of chats."""

COLUMNS = (
    "run_id", "job", "model", "condition", "trial", "case", "persona", "turn", "user", "user_sent", "agent", "cut_off", "empty", "latency_ms",
    "waited_ms", "first_token_ms", "tokens_in", "tokens_out", "failures", "facts", "assertions_passed",
    "assertions_failed", "score", "unproved",
)  # fmt: skip


def openai_lines(runs: Sequence[RunResult], asked: Asked | None = None) -> str:
    """Return one JSON object per conversation: `messages` as OpenAI's chat format has them, then `metadata`.

    The evaluator is the `user`, the agent the `assistant`; tool calls come with their results. Conversations imported
    from this format are written back unchanged.
    """
    lines = []
    for run, talk in conversations_of(runs):
        source = run.brief.source
        same = source is not None and source.format in CHAT_LINES
        messages = [each for m in talk.messages if m.done for each in _chat(m, as_it_was=same)]
        if same:
            line = {**(talk.record or {}), "messages": messages}
            lines.append(json.dumps(line, ensure_ascii=False))
            continue
        score = talk.score
        metadata = {
            "run_id": run.run_id,
            "job": run.brief.job,
            "condition": talk.condition,
            "trial": str(talk.trial),
            "end_reason": talk.end_reason or "not finished",
            "score": "" if score is None else number(score),
        }
        if run.started.asked_model:
            metadata["model"] = run.started.asked_model
        if talk.case is not None:
            metadata["case"] = talk.case.name
            metadata |= {"persona": talk.case.persona} if talk.case.persona else {}
        if messages:
            lines.append(json.dumps({"messages": messages, "metadata": metadata}, ensure_ascii=False))
    return "".join(line + "\n" for line in lines)


def transcript_lines(run: RunResult) -> str:
    """Return a run's conversations in the form that `bioeval-tui guards` reads, with the user's facts."""
    lines = []
    for talk in run.conversations:
        case = talk.case
        tasks = case.tasks if case and case.tasks else run.started.job.get("tasks") or []
        told = {
            "id": f"{talk.condition}/{talk.trial}" + (f" {case.words}" if case else ""),
            "condition": talk.condition,
            "messages": [{"role": m.role, "content": m.text} for m in talk.messages if m.done],
            "facts": list(case.facts if case and case.facts else run.started.job.get("facts") or []),
            "tasks": [
                str(task.get("task", "")) for task in tasks if isinstance(task, dict) and task.get("task")
            ],
        }
        lines.append(json.dumps(told, ensure_ascii=False) + "\n")
    return "".join(lines)


def _chat(message: MessageState, *, as_it_was: bool) -> list[Any]:
    if as_it_was and message.record is not None:
        return list(message.record.get("raw") or [])
    said = ImportedMessage(message.role, message.text, message.generation)
    return list(chat_messages(said, message.message))


def turns_csv(runs: Sequence[RunResult], asked: Asked | None = None) -> str:
    """Return one row a turn; times in ms, facts as their numbers. `score` and `unproved` are the conversation's.

    Text that a spreadsheet would read as a formula is prefixed with an apostrophe.
    """
    rows = ([cell(row.get(column)) for column in COLUMNS] for row in table_rows(runs, "turns"))
    return csv_text([COLUMNS, *rows], end="\r\n")


def cell(value: object) -> object:
    """Return a value as a cell: None empty, fractions with three decimals, a would-be formula made harmless."""
    match value:
        case None:
            return ""
        case bool():
            return int(value)
        case float():
            return f"{value:.3f}"
        case str():
            return as_cell(value)
        case _:
            return value
