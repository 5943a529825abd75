"""Conversations as ATIF trajectories (Harbor's Agent Trajectory Interchange Format, v1.7), and
trajectories as conversations.

The format has no field for a score or a condition, so they are in `extra`. Data imported from ATIF
is exported unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    SPEAKERS,
    Asked,
    ChatRole,
    ConversationResult,
    FileLook,
    GivenScore,
    Header,
    ImportedCall,
    ImportedConversation,
    ImportedPart,
    InputError,
    MessageState,
    Output,
    RunResult,
    calls_of,
    compact_json,
    in_unit,
    is_name,
    lines,
    members,
    messages_of,
    moment,
    note,
    object_at,
    objects,
    text_of,
    unscored,
    whole_number,
)

VERSION = "ATIF-v1.7"
OURS = "bioeval-tui"
"""The key in `extra` for data without a field in the format."""


def write_runs(runs: Sequence[RunResult], asked: Asked | None) -> Iterator[str]:
    """Yield the trajectories, one a line; a single trajectory becomes an indented document."""
    is_single = sum(len(run.conversations) for run in runs) == 1
    for run in runs:
        for conversation in run.conversations:
            made = trajectory(run, conversation)
            indent = 2 if is_single else None
            yield json.dumps(made, ensure_ascii=False, indent=indent, allow_nan=False) + "\n"


def trajectory(run: RunResult, conversation: ConversationResult) -> dict[str, Any]:
    """Return one conversation."""
    source = run.brief.source
    if source is not None and source.format == "atif":
        recorded: list[Any] = []
        for message in conversation.messages:
            recorded += (message.record or {}).get("raw") or ()
        return {**(conversation.record or {}), "steps": recorded}
    timed = source is None or source.times == "told"
    steps = [
        _step(message, number, timed)
        for number, message in enumerate(conversation.sent_messages, start=1)
    ]
    started = run.started
    agent = {
        "name": started.agent,
        "version": "unknown",
        "model_name": None if started.rehearsal else started.model,
    }
    return {
        "schema_version": VERSION,
        "session_id": conversation.session_id or started.run_id,
        "trajectory_id": f"{started.run_id}/{conversation.condition}/{conversation.trial}",
        "agent": {name: value for name, value in agent.items() if value},
        "steps": steps,
        **_final(conversation, len(steps)),
        "extra": {OURS: _extra(run, conversation)},
    }


def _step(message: MessageState, number: int, timed: bool) -> dict[str, Any]:
    step: dict[str, Any] = {
        "step_id": number,
        "source": SPEAKERS[message.role],
        "message": message.text,
    }
    if timed:
        step["timestamp"] = message.started_at.isoformat()
    extra = {"speaker": message.speaker, "turn": message.turn, "latency_ms": message.latency_ms}
    if message.cut_off:
        extra["cut_off"] = True
    if message.role == "user":
        if message.generation:
            extra["generation"] = message.generation
        return {**step, "extra": extra}
    calls, results = [], []
    for place, (call, output) in enumerate(calls_of(message.generation), start=1):
        identity = call.id or f"call_{number}_{place}"
        arguments = call.arguments
        if not isinstance(arguments, dict):
            arguments = {"value": arguments}
        calls.append({"tool_call_id": identity, "function_name": call.name, "arguments": arguments})
        if output is not None:
            text = output.value
            if not isinstance(text, str):
                text = compact_json(text)
            results.append({"source_call_id": identity, "content": text})
    reasoning = [event["reasoning"] for event in message.generation if "reasoning" in event]
    metrics = dict(zip(("prompt_tokens", "completion_tokens"), message.tokens, strict=True))
    known = {name: value for name, value in metrics.items() if value is not None}
    if reasoning:
        step["reasoning_content"] = "\n".join(map(str, reasoning))
    if calls:
        step["tool_calls"] = calls
    if results:
        step["observation"] = {"results": results}
    if known:
        step["metrics"] = known
    return {**step, "extra": extra}


def _final(conversation: ConversationResult, steps: int) -> dict[str, Any]:
    answers = conversation.answers
    metrics: dict[str, Any] = {"total_steps": steps}
    for name, counts in (
        ("total_prompt_tokens", [m.tokens[0] for m in answers]),
        ("total_completion_tokens", [m.tokens[1] for m in answers]),
    ):
        if counts and None not in counts:
            metrics[name] = sum(count for count in counts if count is not None)
    return {"final_metrics": metrics}


def _extra(run: RunResult, conversation: ConversationResult) -> dict[str, Any]:
    case, verdict = conversation.case, conversation.verdict
    judge, scores, unasked = None, {}, []
    if verdict is not None:
        judge = verdict.judge
        scores = {task.title: task.score for task in verdict.tasks if task.measured}
        unasked = [task.title for task in verdict.tasks if not task.measured]
    return {
        "run_id": run.run_id,
        "job": run.brief.job,
        "condition": conversation.condition,
        "trial": conversation.trial,
        "case": case and case.words,
        "evaluator": run.brief.evaluator,
        "judge": judge,
        "end_reason": conversation.end_reason,
        "score": conversation.score,
        "scores": scores,
        "unasked": unasked,
    }


_ROLES: dict[str, ChatRole] = {"system": "system", "user": "user", "agent": "assistant"}


def fits(look: FileLook) -> bool:
    """Return whether a file contains ATIF trajectories."""
    return str(look.first.get("schema_version", "")).startswith("ATIF-")


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the trajectories of a file, each as a conversation.

    Raises:
        InputError: a trajectory cannot be read; the message has its number.
    """
    header = Header()
    for number, data in enumerate(_trajectories(file), start=1):
        try:
            yield _conversation(data, header)
        except InputError as problem:
            raise InputError(f"trajectory {number}: {problem}") from None
    yield header


def _trajectories(file: Path) -> Iterator[Any]:
    look = FileLook.at(file, fits)
    with file.open("rb") as opened:
        if look.shape == "lines":
            for _, value in lines(opened):
                yield value
        elif look.shape == "list":
            for _, value in members(opened):
                yield value
        else:
            yield dict(members(opened))


def _conversation(data: Any, header: Header) -> ImportedConversation:
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        raise InputError("`steps` must be a list")
    if not (version := str(data.get("schema_version"))).startswith("ATIF-v1."):
        note(f"trajectories of another version, read as {VERSION}: {version}")
    agent = object_at(data, "agent")
    header.agent = header.agent or " ".join(
        str(agent[key]) for key in ("name", "version") if agent.get(key) and agent[key] != "unknown"
    )
    header.model = header.model or str(agent.get("model_name") or "")
    ours = object_at(data, "extra", OURS)
    header.name = header.name or str(ours.get("job", ""))
    header.judge = header.judge or str(ours.get("judge", ""))
    pieces = [_piece(step, number) for number, step in enumerate(data["steps"], start=1)]
    messages = messages_of(pieces)
    for message in messages:
        message.record = {"raw": message.raw}
    times = [piece.at for piece in pieces if piece.at]
    name = data.get("trajectory_id") or data.get("session_id")
    scores = _rewards(data)
    if ours:
        name, scores = ours.get("case"), object_at(ours, "scores")
    condition = ours.get("condition")
    return ImportedConversation(
        name=str(name or ""),
        messages=messages,
        session=str(data.get("session_id") or ""),
        condition=condition if is_name(str(condition)) else None,
        scores=[GivenScore(str(title), in_unit(value), value) for title, value in scores.items()]
        + unscored(ours.get("unasked")),
        started_at=next(iter(times), None),
        ended_at=next(reversed(times), None),
        record={key: value for key, value in data.items() if key != "steps"},
        whole=in_unit(ours.get("score")),
    )


def _rewards(data: dict[str, Any]) -> dict[str, Any]:
    """Return a trajectory's reward: the format has no field for it, so harnesses put it in other
    places.
    """
    places = (("final_metrics", "extra"), ("final_metrics",), ("extra",))
    rewards = {}
    for place in (object_at(data, *keys) for keys in places):
        for name in ("reward", "score", "mean_reward"):
            if isinstance(place.get(name), int | float):
                rewards[name] = place[name]
    return rewards


def _piece(step: Any, number: int) -> ImportedPart:
    source = object_at(step).get("source")
    if not isinstance(source, str) or source not in _ROLES:
        raise InputError(f"step {number}: `source` must be one of {', '.join(_ROLES)}")
    metrics = object_at(step, "metrics")
    results = object_at(step, "observation").get("results")
    reasoning = step.get("reasoning_content")
    # What this program's exports say that a user did: the format gives tool calls to agents only.
    more = objects(object_at(step, "extra").get("generation"))
    if reasoning:
        more = [{"reasoning": reasoning}]
    return ImportedPart(
        role=_ROLES[source],
        text=text_of(step.get("message")),
        raw=step,
        calls=[
            ImportedCall(
                str(call.get("function_name", "unknown")),
                call.get("arguments") or {},
                str(call.get("tool_call_id") or ""),
            )
            for call in objects(step.get("tool_calls"))
        ],
        outputs=[
            Output(text_of(result.get("content")), str(result.get("source_call_id") or ""))
            for result in objects(results)
        ],
        more=more,
        at=moment(step.get("timestamp")),
        tokens_in=whole_number(metrics.get("prompt_tokens")),
        tokens_out=whole_number(metrics.get("completion_tokens")),
    )
