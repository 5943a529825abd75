"""Results of τ-bench (sierra-research/tau-bench): a JSON list of trajectories with rewards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    FileLook,
    GivenScore,
    Header,
    ImportedConversation,
    InputError,
    chat,
    compact_json,
    in_unit,
    lines,
    members,
    object_at,
    objects,
)

PASS_ABOVE = 0.999999
"""Only the full reward counts as success, within τ-bench's own tolerance of 1e-6."""
STOP = "###STOP###"


def fits(look: FileLook) -> bool:
    """Return whether a file contains τ-bench's results."""
    return look.shape in ("list", "lines") and {"task_id", "reward", "traj"} <= look.first.keys()


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a results file.

    Raises:
        InputError: a result cannot be read; the message has its number.
    """
    yield Header(judge="τ-bench reward", pass_above=PASS_ABOVE)
    look = FileLook.at(file)
    with file.open("rb") as opened:
        results = lines(opened) if look.shape == "lines" else members(opened)
        for number, (_, result) in enumerate(results, start=1):
            try:
                yield _conversation(result)
            except InputError as problem:
                raise InputError(f"result {number}: {problem}") from None


def _conversation(result: Any) -> ImportedConversation:
    if not isinstance(result, dict) or "task_id" not in result:
        raise InputError("must be a JSON object with `task_id`, `reward` and `traj`")
    info = object_at(result, "info")
    messages = chat(result.get("traj") or [])
    stopped = any(message.role == "user" and STOP in message.text for message in messages[-2:])
    error = info.get("error")
    return ImportedConversation(
        name=str(result["task_id"]),
        messages=messages,
        condition="supplied",  # the simulated user always gets the whole instruction
        scores=[GivenScore("reward", in_unit(result.get("reward")), result.get("reward"))],
        tasks=(_task(info.get("task")),),
        reason="signed_off" if stopped else "unknown",
        detail=str(error) if error else "",
        record={key: value for key, value in result.items() if key != "traj"},
    )


def _task(task: Any) -> tuple[str, str]:
    """Return the user's request, and the expected actions."""
    task = task if isinstance(task, Mapping) else {}
    expected = [
        f"{action.get('name')}({compact_json(action.get('kwargs') or action.get('arguments') or {})})"
        for action in objects(task.get("actions"))
    ]
    criteria = []
    if expected:
        criteria.append("The agent changes the database as these calls would: " + "; ".join(expected))
    if isinstance(task.get("outputs"), list) and task["outputs"]:
        criteria.append(f"It tells the user: {'; '.join(map(str, task['outputs']))}")
    return str(task.get("instruction") or "reward"), "\n".join(criteria)
