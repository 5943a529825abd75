"""LangSmith's runs: JSON Lines, a list, the answer to a query (`runs` or `data`), CSV, or a root
run with its `child_runs`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    FileLook,
    GivenScore,
    Header,
    ImportedConversation,
    InputError,
    SpanKind,
    Step,
    conversations_of,
    entries,
    in_unit,
    json_or_text,
    moment,
    object_at,
    objects,
    whole_number,
)

_KINDS: dict[str, SpanKind] = {
    "llm": "model",
    "tool": "tool",
    "retriever": "retrieval",
    "chain": "agent",
}
_THREADS = ("session_id", "thread_id", "conversation_id")
"""The metadata that make runs a thread, in LangSmith's order."""
_NEEDED = "its runs need `inputs` and `outputs`, which a query returns only if it selects them"
_DEEPEST = 100


def fits(look: FileLook) -> bool:
    """Return whether a file has LangSmith's runs."""
    first = next(
        iter(objects(look.first.get("runs")) or objects(look.first.get("data"))), look.first
    )
    return "run_type" in first and bool(
        {"inputs", "outputs", "trace_id", "child_runs"} & first.keys()
    )


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a file: each thread's, or each trace's.

    Raises:
        InputError: an entry is no run, or nothing was said in any; the text has the place.
    """
    yield from conversations_of(_steps(file), _NEEDED)


def _steps(file: Path) -> Iterator[Step]:
    for place, data in entries(file, "runs", "data", what="run"):
        if not isinstance(data, dict) or "run_type" not in data or not data.get("id"):
            raise InputError(
                f"{place}: must be a run with `id`, `run_type`, `inputs` and `outputs`"
            )
        yield from _run_steps(data, str(data.get("trace_id") or data["id"]), 0)


def _run_steps(data: dict[str, Any], trace: str, depth: int) -> Iterator[Step]:
    children = objects(json_or_text(data.get("child_runs")))
    yield _step({key: value for key, value in data.items() if key != "child_runs"}, trace)
    if depth < _DEEPEST:
        for child in children:
            yield from _run_steps({"parent_run_id": data.get("id"), **child}, trace, depth + 1)


def _step(data: dict[str, Any], trace: str) -> Step:
    kind = _KINDS.get(str(data.get("run_type")), "other")
    extra = json_or_text(data.get("extra"))
    metadata = {**object_at(data, "metadata"), **object_at(extra, "metadata")}
    session, said_by = _session(metadata, data)
    outputs = json_or_text(data.get("outputs"))
    usage = _usage(outputs)
    step = Step(
        trace=trace,
        id=str(data.get("id") or ""),
        raw=data,
        parent=str(data.get("parent_run_id") or ""),
        kind=kind,
        name=str(data.get("name") or ""),
        session=session,
        start=_time(data.get("start_time")),
        end=_time(data.get("end_time")),
        first_token=_time(data.get("first_token_time")),
        input=json_or_text(data.get("inputs")),
        output=outputs,
        tokens_in=_count(data.get("prompt_tokens"), usage.get("input_tokens")),
        tokens_out=_count(data.get("completion_tokens"), usage.get("output_tokens")),
        error=str(data.get("error") or ""),
        told={
            "session": said_by,
            "input": "inputs",
            "output": "outputs",
        },
        scores=list(_scores(data.get("feedback_stats"))),
    )
    if not step.parent:
        step.agent = step.name
    if kind == "model":
        step.model = _model(metadata, extra)
    if kind == "tool":
        step.input = _arguments(step.input)
        step.output, step.call_id = _result(step.output)
    return step


def _session(metadata: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the thread that a run belongs to, and where that is said."""
    for key in _THREADS:
        if metadata.get(key):
            return str(metadata[key]), f"metadata.{key}"
    return str(data.get("thread_id") or ""), "thread_id"


def _model(metadata: Mapping[str, Any], extra: Any) -> str:
    named = object_at(extra, "invocation_params")
    found = (metadata.get("ls_model_name"), named.get("model"), named.get("model_name"))
    return str(next(filter(None, found), ""))


def _usage(outputs: Any) -> dict[str, Any]:
    """Return the tokens that a model's message tells, where the run itself has none."""
    message = outputs
    for key in ("generations", "message", "kwargs"):
        while isinstance(message, list) and message:
            message = message[0]
        if isinstance(message, dict):
            message = message.get(key, message)
    while isinstance(message, list) and message:
        message = message[0]
    usage = object_at(message, "usage_metadata") or object_at(
        object_at(message, "message", "kwargs"), "usage_metadata"
    )
    return usage or object_at(outputs, "usage_metadata")


def _count(*values: Any) -> int | None:
    for value in values:
        try:
            if value not in (None, "", 0, "0"):
                return whole_number(int(float(value)))
        except (TypeError, ValueError, OverflowError):
            continue
    return None


def _time(value: Any) -> datetime | None:
    """Return a time: ISO 8601, or milliseconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
        return datetime.fromtimestamp(value / 1000, UTC)
    return moment(value)


def _arguments(inputs: Any) -> Any:
    """Return a tool's arguments: LangChain writes them as text of Python under `input`."""
    if not isinstance(inputs, dict) or inputs.keys() != {"input"}:
        return inputs
    value = inputs["input"]
    if isinstance(value, str):
        for read_text in (json.loads, ast.literal_eval):
            try:
                found = read_text(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(found, dict):
                return found
            return inputs
    if isinstance(value, dict):
        return value
    return inputs


def _result(outputs: Any) -> tuple[Any, str]:
    """Return a tool's result and the id of its call, from the message in which LangChain has
    them.
    """
    value = outputs
    if isinstance(value, dict) and value.keys() == {"output"}:
        value = value["output"]
    message = object_at(value, "kwargs") or value
    if isinstance(message, dict) and "content" in message and message.get("tool_call_id"):
        return message["content"], str(message["tool_call_id"])
    return value, ""


def _scores(stats: Any) -> Iterator[GivenScore]:
    """Yield the means of the feedback that a run was given."""
    for name, each in object_at(json_or_text(stats)).items():
        if isinstance(each, dict) and each.get("avg") is not None:
            yield GivenScore(str(name), in_unit(each["avg"]), each["avg"])
