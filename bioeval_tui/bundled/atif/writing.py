"""Conversations as ATIF trajectories (Harbor's Agent Trajectory Interchange Format, v1.7), one for each.

The format has no field for a score or a condition, so they are in `extra`. Data imported from ATIF is exported unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bioeval_tui.formats import (
    SPEAKERS,
    Asked,
    ConversationResult,
    MessageState,
    RunResult,
    calls_of,
    compact_json,
)

VERSION = "ATIF-v1.7"
OURS = "bioeval-tui"
"""The key in `extra` for data without a field in the format."""


def write_runs(runs: Sequence[RunResult], asked: Asked | None = None) -> str:
    """Return the trajectories, one a line; a single trajectory becomes an indented document."""
    trajectories = [trajectory(run, conversation) for run in runs for conversation in run.conversations]
    if len(trajectories) == 1:
        return json.dumps(trajectories[0], ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return "".join(json.dumps(each, ensure_ascii=False, allow_nan=False) + "\n" for each in trajectories)


def trajectory(run: RunResult, conversation: ConversationResult) -> dict[str, Any]:
    """Return one conversation."""
    source = run.brief.source
    if source is not None and source.format == "atif":
        steps = [step for m in conversation.messages for step in (m.record or {}).get("raw") or ()]
        return {**(conversation.record or {}), "steps": steps}
    told = source is None or source.times == "told"
    steps = []
    for message in conversation.messages:
        if message.done:
            steps.append(_step(message, len(steps) + 1, told))
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


def _step(message: MessageState, number: int, told: bool) -> dict[str, Any]:
    step: dict[str, Any] = {
        "step_id": number,
        "source": SPEAKERS[message.role],
        "message": message.text,
    }
    if told:
        step["timestamp"] = message.started_at.isoformat()
    extra = {"speaker": message.speaker, "turn": message.turn, "latency_ms": message.latency_ms}
    if message.cut_off:
        extra["cut_off"] = True
    if message.role == "user":
        return {**step, "extra": extra | ({"generation": message.generation} if message.generation else {})}
    calls, results = [], []
    for place, (call, output) in enumerate(calls_of(message.generation), start=1):
        identity = call.id or f"call_{number}_{place}"
        arguments = call.arguments if isinstance(call.arguments, dict) else {"value": call.arguments}
        calls.append({"tool_call_id": identity, "function_name": call.name, "arguments": arguments})
        if output is not None:
            text = output.value if isinstance(output.value, str) else compact_json(output.value)
            results.append({"source_call_id": identity, "content": text})
    reasoning = [event["reasoning"] for event in message.generation if "reasoning" in event]
    metrics = dict(zip(("prompt_tokens", "completion_tokens"), message.tokens, strict=True))
    known = {name: value for name, value in metrics.items() if value is not None}
    return {
        **step,
        **({"reasoning_content": "\n".join(map(str, reasoning))} if reasoning else {}),
        **({"tool_calls": calls} if calls else {}),
        **({"observation": {"results": results}} if results else {}),
        **({"metrics": known} if known else {}),
        "extra": extra,
    }


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
    verdict = conversation.verdict
    return {
        "run_id": run.run_id,
        "job": run.brief.job,
        "condition": conversation.condition,
        "trial": conversation.trial,
        "case": conversation.case.words if conversation.case is not None else None,
        "evaluator": run.brief.evaluator,
        "judge": verdict.judge if verdict is not None else None,
        "end_reason": conversation.end_reason,
        "score": conversation.score,
        "scores": {task.title: task.score for task in verdict.tasks if task.measured} if verdict else {},
    }
