"""A run as an Inspect log (UKGovernmentBEIS/inspect_ai), for `inspect view` and `read_eval_log`.

The format is not a frozen public specification, so tests compare this with the pinned inspect_ai of
the extra `inspect`. One sample per condition, one epoch per trial; latencies are in each message's
metadata.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    Asked,
    Case,
    ConversationResult,
    ImportedMessage,
    ImportedPart,
    MessageState,
    RunResult,
    chat_messages,
    exact_mean,
    grouped,
    object_at,
    paired,
    reason_of,
)

FORMAT_VERSION = 2
STATUSES = {"completed": "success", "cancelled": "cancelled", "failed": "error"}
SCORERS = ("composite", "tasks", "assertions", "timing")
_PARTS = {"task": "tasks", "assertion": "assertions", "timing": "timing"}


_STAMPED = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}[:-]\d{2}[:-]\d{2}")
"""Pattern of the file names that Inspect lists."""


def write_run(run: RunResult, asked: Asked) -> str | bytes:
    """Return the log in the form that the file's name says: JSON, or Inspect's own zip for
    `.eval`.
    """
    if asked.output is not None and asked.output.suffix == ".eval":
        return inspect_zip(run)
    return inspect_log(run)


def file_name(run: RunResult) -> str:
    """Return a file name in Inspect's pattern: time, task and id."""
    task = re.sub(r"[^A-Za-z0-9-]+", "-", run.started.job_name).strip("-")[:60] or "job"
    at = run.started.at.astimezone(UTC)
    return f"{at:%Y-%m-%dT%H-%M-%S}+00-00_{task}_{run.run_id}.eval"


def name_note(output: Path) -> str:
    """Return why `inspect view` would not list a file of this name; empty when it does."""
    if output.suffix not in (".eval", ".json"):
        return f"Inspect reads .eval and .json files, and {output.name} has neither extension"
    if not _STAMPED.match(output.name):
        return (
            "`inspect view --log-dir` lists only names that begin with a time, such as"
            f" 2026-01-31T09-30-00, and {output.name} does not; --output FOLDER names the file so"
        )
    return ""


def inspect_log(run: RunResult) -> str:
    """Return the run as the JSON text of an Inspect log."""
    log, samples = _log(run)
    return (
        json.dumps({**log, "samples": samples}, ensure_ascii=False, allow_nan=False, indent=2)
        + "\n"
    )


def inspect_zip(run: RunResult) -> bytes:
    """Return the run as an `.eval` file: a zip with the header, each sample, and what lists show of
    the samples.
    """
    log, samples = _log(run)
    # an imported one may lack some
    start = {name: log[name] for name in ("version", "eval", "plan") if name in log}
    members: dict[str, Any] = {"_journal/start.json": start}
    members |= {
        f"samples/{sample['id']}_epoch_{sample['epoch']}.json": sample for sample in samples
    }
    members |= {"summaries.json": [_summary(sample) for sample in samples], "header.json": log}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, json.dumps(member, ensure_ascii=False, allow_nan=False))
    return file.getvalue()


_SUMMARISED = (
    "id", "epoch", "input", "target", "scores", "model_usage", "started_at", "completed_at",
    "total_time",
)  # fmt: skip


def _summary(sample: dict[str, Any]) -> dict[str, Any]:
    """Return a sample's entry in the list of samples."""
    kept = {name: sample[name] for name in _SUMMARISED if name in sample}
    error = object_at(sample, "error").get("message")
    return {
        **kept,
        "error": error,
        "completed": error is None,
        "message_count": len(sample["messages"]),
    }


def _log(run: RunResult) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the log without its samples, and the samples."""
    talks = [*chain.from_iterable(map(run.conversations_in, run.conditions))]
    source = run.brief.source
    if source is not None and source.format == "inspect" and source.record is not None:
        return dict(source.record), [_source_sample(talk) for talk in talks]
    samples = [_sample(run, talk) for talk in talks]
    log: dict[str, Any] = {
        "version": FORMAT_VERSION,
        "status": STATUSES.get(run.status, "started"),
        "eval": _eval(run, samples),
        "plan": {"name": "bioeval-tui", "steps": [], "config": {}},
        "results": _results(run, samples),
        "stats": {
            "started_at": run.started.at.isoformat(),
            "completed_at": run.ended_at.isoformat() if run.ended_at else "",
            "model_usage": {},
        },
    }
    if run.status == "failed":
        log["error"] = {"message": run.detail, "traceback": "", "traceback_ansi": ""}
    return log, samples


def _source_sample(conversation: ConversationResult) -> dict[str, Any]:
    """Return a sample of an imported log."""
    messages: list[Any] = []
    for message in conversation.messages:
        messages += (message.record or {}).get("raw") or ()
    return {**(conversation.record or {}), "messages": messages}


def _eval(run: RunResult, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the log says of the whole run: its task, cases, model and scorers.

    Under `metadata` is what Inspect has no field for.
    """
    started = run.started
    return {
        "run_id": started.run_id,
        "eval_id": started.run_id,
        "task_id": started.job_sha256[:22],
        "created": started.at.isoformat(),
        "task": started.job_name,
        "task_version": 0,  # as Inspect has it of a task without a version
        "dataset": {
            "name": started.job_name,
            "samples": len({sample["id"] for sample in samples}),
            "sample_ids": list(dict.fromkeys(sample["id"] for sample in samples)),
            "shuffled": False,
        },
        "model": model_name(run),
        "config": {
            "epochs": max((sample["epoch"] for sample in samples), default=1),
            "max_samples": started.concurrency,
        },
        "packages": {"bioeval-tui": started.program_version},
        "scorers": [
            {
                "name": name,
                "metrics": [{"name": metric} for metric in ("mean", *started.conditions)],
            }
            for name in _scorers(run)
        ],
        "metadata": {
            "evaluator": run.brief.evaluator,
            "judge": run.brief.judge,
            "rehearsal": started.rehearsal,
            "seed": started.seed,
            "job_sha256": started.job_sha256,
            "prompts": started.prompts,
            "clean": run.clean,
            "samples": len(samples),
        },
    }


def model_name(run: RunResult) -> str:
    """Return the agent's model, or the agent itself where none was named or none is behind it."""
    if run.started.rehearsal:
        return run.started.agent
    return run.started.model or run.started.agent


def _results(run: RunResult, samples: list[dict[str, Any]]) -> dict[str, Any]:
    scores = []
    for name in _scorers(run):
        values: dict[str, list[float]] = grouped(
            (sample["metadata"]["condition"], sample["scores"][name]["value"])
            for sample in samples
            if name in sample["scores"]
        )
        # Conditions are never pooled: `mean` is the mean of their means, as published.
        means = {condition: exact_mean(found) for condition, found in values.items()}
        if means:
            means = {"mean": exact_mean([*means.values()]), **means}
        scored = sum(len(found) for found in values.values())
        scores.append(
            {
                "name": name,
                "scorer": name,
                "scored_samples": scored,
                "unscored_samples": len(samples) - scored,
                "metrics": {
                    metric: {"name": metric, "value": value} for metric, value in means.items()
                },
            }
        )
    done = sum("error" not in sample for sample in samples)
    return {"total_samples": len(samples), "completed_samples": done, "scores": scores}


def _id(run: RunResult, conversation: ConversationResult) -> str:
    """Return a sample's id, unique with its epoch; an imported case has only one condition."""
    case, condition = conversation.case, conversation.condition
    if case is None:
        return condition
    if run.brief.source is not None:
        return case.name
    return f"{case.words} · {condition}"


def _sample(run: RunResult, conversation: ConversationResult) -> dict[str, Any]:
    condition, case = conversation.condition, conversation.case
    wanted = [t for t in conversation.job.get("tasks") or [] if isinstance(t, dict)]
    wanted = [t for t in wanted if t.get("only") in (None, condition)]
    tasks = [str(t.get("task", "")) for t in wanted]
    held_in = run.state.condition(condition)
    criteria = [
        held_in.choose_criteria(
            str(t.get("acceptanceCriteria") or ""), str(t.get("withheldCriteria") or "")
        )
        for t in wanted
    ]
    scores = sample_scores(conversation)
    unasked = []
    if run.brief.source is not None and conversation.verdict is not None:
        unasked = [task.title for task in conversation.tasks if not task.measured]
        scores = {name: score for name, score in scores.items() if name == "composite"} | {
            task.title: {"value": task.score, "explanation": task.reason}
            for task in conversation.tasks
            if task.measured
        }
    trial, asked = conversation.trial, tasks
    if case is not None:
        trial, asked = case.trial, _wanted(case)
    messages: list[dict[str, Any]] = []
    for message in conversation.sent_messages:
        messages += _messages(conversation, message)
    last = next((m for m in reversed(conversation.answers) if m.done), None)
    sample: dict[str, Any] = {
        "id": _id(run, conversation),
        "epoch": trial,
        "input": "\n".join(asked) or run.started.job_name,
        "target": criteria,
        "messages": messages,
        "output": _output(run, last),
        "scores": scores,
        "metadata": {
            "condition": condition,
            "session_id": conversation.session_id,
            "end_reason": conversation.end_reason,
            "fault": conversation.fault,
            "unasked": unasked,
            "failures": conversation.failures,
            "facts_given": (
                None if conversation.facts_unread else [fact.fact for fact in conversation.facts]
            ),
        },
        "events": sample_events(run, conversation, scores, model_name(run)),
        "model_usage": {},
    }
    if run.brief.source is not None and run.brief.source.times == "unknown":
        sample["events"] = []  # each would need a time
        return sample
    if conversation.started_at:
        sample["started_at"] = conversation.started_at.isoformat()
    if conversation.ended_at:
        sample["completed_at"] = conversation.ended_at.isoformat()
    if conversation.ended is not None:
        sample["total_time"] = conversation.ended.duration_ms / 1000
    if conversation.score is None:
        why = conversation.reason if conversation.scored else "the conversation was not finished"
        sample["error"] = {"message": why, "traceback": "", "traceback_ansi": ""}
    return sample


def _wanted(case: Case) -> list[str]:
    return [task.get("task", "") for task in case.tasks] or list(case.facts)


def _scorers(run: RunResult) -> tuple[str, ...]:
    if run.brief.source is None:
        return SCORERS
    titles = (task.title for conversation in run.conversations_begun for task in conversation.tasks)
    return ("composite", *dict.fromkeys(titles))


def _messages(conversation: ConversationResult, message: MessageState) -> list[dict[str, Any]]:
    """Return a message in Inspect's format: each tool call with its result, and the text last."""
    messages: list[dict[str, Any]] = []
    sent = ImportedMessage([ImportedPart(message.role, message.text, None)], message.generation)
    chat = chat_messages(sent, message.message)
    for place, each in enumerate(chat, start=1):
        identity = f"{conversation.condition}-{conversation.trial}-{message.message}"
        metadata = {
            "speaker": message.speaker,
            "turn": message.turn,
            **dict.fromkeys(("latency_ms", "first_token_ms")),
            "waited_ms": 0.0,
            "operator": message.operator,
        }
        if place < len(chat):
            identity += f"-{place}"
        else:  # what was measured is the whole answer's, so it is told once
            metadata |= {
                "latency_ms": message.latency_ms,
                "first_token_ms": message.first_token_ms,
                "waited_ms": message.waited_ms,
            }
            if message.cut_off:
                metadata["cut_off"] = True
        messages.append(
            {
                "id": identity,
                "role": each["role"],
                "content": each["content"] or "",
                "metadata": metadata,
                **_role_fields(each),
            }
        )
    return messages


def _role_fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that only some roles have in Inspect's format, from a message in OpenAI's:
    a tool's answer has the id of its call, the assistant's message its source and its calls.
    """
    if message["role"] == "tool":
        return {"tool_call_id": message["tool_call_id"]}
    fields: dict[str, Any] = {}
    if message["role"] == "assistant":
        fields["source"] = "generate"  # Inspect's word for what a model wrote
    calls = []
    for call in message.get("tool_calls") or ():
        try:
            arguments = json.loads(call["function"]["arguments"])
        except (ValueError, RecursionError):
            arguments = call["function"]["arguments"]
        if not isinstance(arguments, dict):  # in Inspect's format they are an object
            arguments = {"value": arguments}
        calls.append(
            {
                "id": call["id"],
                "function": call["function"]["name"],
                "arguments": arguments,
                "type": "function",
            }
        )
    if calls:
        fields["tool_calls"] = calls
    return fields


def _output(run: RunResult, last: MessageState | None) -> dict[str, Any]:
    if last is None:
        return {"model": model_name(run), "choices": []}
    choice = {
        "message": {"role": "assistant", "content": last.text},
        "stop_reason": stop_reason(last),
    }
    return {"model": model_name(run), "choices": [choice]}


def sample_scores(conversation: ConversationResult) -> dict[str, dict[str, Any]]:
    """Return the composite and its parts as Inspect's scores; what was not measured is left out."""
    scored = conversation.scored
    if scored is None:
        return {}
    scores: dict[str, dict[str, Any]] = {}
    if scored.score is not None:
        scores["composite"] = {
            "value": scored.score,
            "explanation": scored.reason or "the published composite",
            "metadata": {"penalty": scored.penalty, "failures": scored.failures},
        }
    for part in scored.parts:
        if part.value is not None and not part.left_out:
            scores[_PARTS[part.name]] = {
                "value": part.value,
                "explanation": (
                    _explain(conversation, part.name) or part.reason or f"weight {part.weight:g}"
                ),
                "metadata": {"weight": part.weight},
            }
    return scores


def _explain(conversation: ConversationResult, part: str) -> str:
    if part == "task":
        lines = []
        for task in conversation.tasks:
            words = task.words
            if task.unproved:
                words += " unproved"
            lines.append(f"{words}  {task.title}: {reason_of(task)}")
        return "\n".join(lines)
    if part == "assertion":
        return "\n".join(
            f"{check.status}  {check.weight:g}× {check.title}" for check in conversation.checks
        )
    return ""


def sample_events(
    run: RunResult, talk: ConversationResult, scores: dict[str, dict[str, Any]], model: str
) -> list[dict[str, Any]]:
    """Return what happened in a conversation, in order: a span a turn, then the scores.

    `model` answers.
    """
    begun = talk.started_at or run.started.at
    name = f"{talk.condition}-{talk.trial}"
    events: list[dict[str, Any]] = []
    for turn in sorted({message.turn for message in talk.messages}):
        messages = [message for message in talk.messages if message.turn == turn]
        span = f"{name}-turn-{turn}"
        at = messages[0].started_at
        events.append(_event("span_begin", at, begun, id=span, name=f"turn {turn}", type="turn"))
        for message in messages:
            events += _message_events(talk, message, begun, span, model)
        for checks in talk.timelines.values():
            for check in checks:
                if check.after_turn == turn:
                    data = {"assertion": check.title, "status": check.status}
                    events.append(
                        _event("info", check.at, begun, span_id=span, source="assertion", data=data)
                    )
        events.append(_event("span_end", events[-1]["timestamp"], begun, id=span, span_id=span))
    end = talk.ended_at or run.last_at or begun
    for scorer, score in scores.items():
        events.append(_event("score", end, begun, score=score, scorer=scorer, target=""))
    return events


def _message_events(
    talk: ConversationResult, message: MessageState, begun: datetime, span: str, model: str
) -> Iterator[dict[str, Any]]:
    at = message.started_at
    for failure in message.failures:
        data = {
            "peer": failure.peer,
            "error": failure.error,
            "attempt": failure.request_attempt,
            "counted": failure.counted,
        }
        yield _event("info", failure.at, begun, span_id=span, source="request_failed", data=data)
    for fact in message.facts:
        data = {"fact": fact.fact, "text": fact.text, "asked": fact.asked}
        yield _event("info", fact.at, begun, span_id=span, source="fact_disclosed", data=data)
    if message.role != "assistant" or not message.done:
        return
    for number, call in enumerate(_calls(message), start=1):
        yield _event(
            "tool", at, begun, span_id=span, id=f"{span}-call-{number}", type="function", **call
        )
    choice = {
        "message": {"role": "assistant", "content": message.text},
        "stop_reason": stop_reason(message),
    }
    yield _event(
        "model",
        at,
        begun,
        span_id=span,
        model=model,
        input=[
            {"role": m.role, "content": m.text}
            for m in talk.sent_messages
            if m.message < message.message
        ],
        tools=[],
        tool_choice="auto",
        config={},
        output={"model": model, "choices": [choice], "time": (message.latency_ms or 0.0) / 1000},
        working_time=(message.latency_ms or 0.0) / 1000,
    )


def stop_reason(answer: MessageState) -> str:
    """Return why an answer ended, in Inspect's words."""
    if answer.cut_off:
        return "max_tokens"
    return "stop"


def _calls(message: MessageState) -> Iterator[dict[str, Any]]:
    """Return the agent's tool calls, each with its result."""
    for request, output in paired(message.generation):
        if request is None:
            continue
        result, _ = output or ("", False)
        yield {
            "function": str(request["function"].get("name") or "unknown"),
            "arguments": object_at(request, "arguments"),
            "result": str(result),
        }


def _event(kind: str, at: datetime | str, begun: datetime, **fields: Any) -> dict[str, Any]:
    if isinstance(at, str):
        at = datetime.fromisoformat(at)
    start = max(0.0, (at - begun).total_seconds())
    return {"event": kind, "timestamp": at.isoformat(), "working_start": start, **fields}
