"""Results of τ-bench (sierra-research/tau-bench), a JSON list of trajectories with rewards, and of
τ²-bench (tau2-bench), one JSON object with tasks and simulations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    ROLES,
    EndReason,
    Fault,
    FileLook,
    GivenScore,
    Header,
    ImportedConversation,
    ImportedPart,
    InputError,
    chat,
    chat_messages,
    chat_pieces,
    compact_json,
    in_unit,
    lines,
    members,
    messages_of,
    milliseconds,
    moment,
    note,
    object_at,
    objects,
    whole_number,
)

PASS_ABOVE = 0.999999
"""Only the full reward counts as success, within τ-bench's own tolerance of 1e-6."""
STOP = "###STOP###"


def fits_tau_bench(look: FileLook) -> bool:
    """Return whether a file contains τ-bench's results."""
    return look.shape in ("list", "lines") and {"task_id", "reward", "traj"} <= look.first.keys()


def read_tau_bench(file: Path) -> Iterator[Header | ImportedConversation]:
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
                yield _tau_bench_conversation(result)
            except InputError as problem:
                raise InputError(f"result {number}: {problem}") from None


def _tau_bench_conversation(result: Any) -> ImportedConversation:
    if not isinstance(result, dict) or "task_id" not in result:
        raise InputError("must be a JSON object with `task_id`, `reward` and `traj`")
    info = object_at(result, "info")
    messages = chat(result.get("traj") or [])
    stopped = any(message.role == "user" and STOP in message.text for message in messages[-2:])
    return ImportedConversation(
        name=str(result["task_id"]),
        messages=messages,
        condition="supplied",  # the simulated user always gets the whole instruction
        scores=[GivenScore("reward", in_unit(result.get("reward")), result.get("reward"))],
        tasks=(_tau_bench_task(info.get("task")),),
        reason="signed_off" if stopped else "unknown",
        detail=str(info.get("error") or ""),
        record={key: value for key, value in result.items() if key != "traj"},
    )


def _tau_bench_task(task: Any) -> tuple[str, str]:
    """Return the user's request, and the expected actions."""
    if not isinstance(task, Mapping):
        task = {}
    expected = []
    for action in objects(task.get("actions")):
        arguments = action.get("kwargs") or action.get("arguments") or {}
        expected.append(f"{action.get('name')}({compact_json(arguments)})")
    criteria = []
    if expected:
        criteria.append(
            "The agent changes the database as these calls would: " + "; ".join(expected)
        )
    if isinstance(task.get("outputs"), list) and task["outputs"]:
        criteria.append(f"It tells the user: {'; '.join(map(str, task['outputs']))}")
    return str(task.get("instruction") or "reward"), "\n".join(criteria)


_ENDS: dict[str, tuple[EndReason, Fault]] = {
    "user_stop": ("signed_off", "none"),
    "agent_stop": ("signed_off", "none"),
    "max_steps": ("max_turns", "none"),
    "too_many_errors": ("agent_failed", "agent"),
    "agent_error": ("agent_failed", "agent"),
    "user_error": ("evaluator_failed", "evaluator"),
    "infrastructure_error": ("unknown", "infrastructure"),
    "timeout": ("timed_out", "none"),
}


def fits_tau2(look: FileLook) -> bool:
    """Return whether a file contains τ²-bench's results."""
    return look.shape == "object" and (
        "simulations" in look.first or {"info", "tasks"} <= look.first.keys()
    )


def read_tau2(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a results file.

    Its tasks are kept in memory: they are few and not long.

    Raises:
        InputError: a simulation cannot be read; the message has its number.
    """
    header = Header(judge="τ²-bench reward", pass_above=PASS_ABOVE)
    tasks: dict[str, Any] = {}
    with file.open("rb") as opened:
        for key, value in members(opened, ("tasks",)):
            if key == "tasks" and isinstance(value, dict):
                tasks[str(value.get("id"))] = value
            elif key == "simulations":
                break
    number = 0
    with file.open("rb") as opened:
        for key, value in members(opened, ("tasks", "simulations")):
            if key == "simulations":
                number += 1
                try:
                    yield _tau2_conversation(value, tasks)
                except InputError as problem:
                    raise InputError(f"simulation {number}: {problem}") from None
            elif key == "info" and isinstance(value, dict):
                _take_info(header, value)
            elif key == "timestamp":
                header.at = moment(value)
    yield header


def _take_info(header: Header, info: dict[str, Any]) -> None:
    agent, user = object_at(info, "agent_info"), object_at(info, "user_info")
    header.agent, header.model = str(agent.get("implementation") or ""), str(agent.get("llm") or "")
    header.evaluator = " ".join(
        str(user[key]) for key in ("implementation", "llm") if user.get(key)
    )
    if domain := object_at(info, "environment_info").get("domain_name"):
        header.name = f"τ²-bench {domain}"
    header.record = {"info": dict(info)}


def _tau2_conversation(data: Any, tasks: Mapping[str, Any]) -> ImportedConversation:
    if not isinstance(data, dict) or "task_id" not in data:
        raise InputError("must be a JSON object with `task_id` and `messages`")
    reward_info = object_at(data, "reward_info")
    ended = str(data.get("termination_reason") or "")
    reason, fault = _ENDS.get(ended, ("unknown", "none"))
    messages = messages_of(_pieces(data.get("messages") or []))
    for number, message in enumerate(messages, start=1):
        message.keep_raw_unless(lambda each, n=number: chat_messages(each, n))  # type: ignore[misc]
    reward = reward_info.get("reward")
    why = reward_info.get("info")
    return ImportedConversation(
        name=str(data["task_id"]),
        messages=messages,
        session=str(data.get("id") or ""),
        condition="supplied",
        scores=[GivenScore("reward", in_unit(reward), reward, _written(why))],
        tasks=(_tau2_task(tasks.get(str(data["task_id"]))),),
        facts=_facts(tasks.get(str(data["task_id"]))),
        started_at=moment(data.get("start_time")),
        ended_at=moment(data.get("end_time")),
        reason=reason,
        fault=fault,
        detail=ended if reason == "unknown" else "",
        record={key: value for key, value in data.items() if key != "messages"},
    )


def _pieces(messages: Any) -> Iterator[ImportedPart]:
    if isinstance(messages, list):
        messages = [*chain.from_iterable(map(_single_messages, messages))]
    for piece in chat_pieces(messages):
        raw = piece.raw
        usage = raw.get("usage")
        piece.at = moment(raw.get("timestamp"))
        if piece.role == "assistant":
            piece.latency_ms = milliseconds(raw.get("generation_time_seconds"), 1000)
        if isinstance(usage, dict):
            piece.tokens_in = whole_number(usage.get("prompt_tokens"))
            piece.tokens_out = whole_number(usage.get("completion_tokens"))
        if piece.role == "tool":
            for output in piece.outputs:
                output.call = str(raw.get("id") or "")
        yield piece


def _single_messages(message: Any) -> list[Any]:
    """Return a message, or the results that several calls of one message gave together."""
    if isinstance(message, dict) and isinstance(message.get("tool_messages"), list):
        return list(objects(message["tool_messages"]))
    if isinstance(message, dict) and (role := str(message.get("role"))) not in ROLES:
        note(f"messages that are left out, by their role: {role}")  # marks of a voice conversation
        return []
    return [message]


def _tau2_task(task: Any) -> tuple[str, str]:
    if not isinstance(task, dict):
        return "reward", ""
    instructions = object_at(task, "user_scenario").get("instructions")
    if isinstance(instructions, dict):
        wanted = "\n".join(
            str(instructions[key])
            for key in ("reason_for_call", "task_instructions")
            if instructions.get(key)
        )
    else:
        wanted = str(instructions or "")
    criteria = task.get("evaluation_criteria")
    return wanted or "reward", _written(criteria)


def _written(value: Any) -> str:
    """Return a value as JSON; empty if there is nothing in it."""
    if value:
        return compact_json(value)
    return ""


def _facts(task: Any) -> tuple[str, ...]:
    known = object_at(task, "user_scenario", "instructions").get("known_info")
    if known:
        return tuple(line.strip() for line in str(known).splitlines() if line.strip())
    return ()
