"""MLflow's traces, as `Trace.to_json` and `mlflow traces get` write them: version 3, and version 2
with its other names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
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
    "LLM": "model",
    "CHAT_MODEL": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "CHAIN": "agent",
    "RETRIEVER": "retrieval",
    "RERANKER": "retrieval",
    "EMBEDDING": "retrieval",
}
_ANSWERS = {"yes": 1.0, "no": 0.0}
"""What MLflow's own judges answer, as scores."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEEDED = "its spans need `mlflow.spanInputs` and `mlflow.spanOutputs`"


def fits(look: FileLook) -> bool:
    """Return whether a file contains MLflow's traces."""
    first = next(iter(objects(look.first.get("traces"))), look.first)
    return _spans(first) is not None and ("info" in first or "trace_metadata" in first)


def _spans(data: Mapping[str, Any]) -> list[Any] | None:
    """Return the spans of a trace, or of a row of `search_traces`."""
    inner = json_or_text(data.get("data"))
    while isinstance(inner, list) and inner:  # as the beginning of a document is looked at
        inner = inner[0]
    if isinstance(inner, dict):
        spans = inner.get("spans")
    else:
        spans = json_or_text(data.get("spans"))
    if isinstance(spans, list):
        return spans
    return None


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a file: each session's, or each trace's.

    Raises:
        InputError: an entry is no trace, or nothing was said in any; the text has the place.
    """
    yield from conversations_of(_steps(file), _NEEDED)


def _steps(file: Path) -> Iterator[Step]:
    for place, data in entries(file, "traces", what="trace"):
        spans = _spans(object_at(data))
        if spans is None:
            raise InputError(f"{place}: must be a trace with `info` and `data`, which has `spans`")
        info = object_at(data, "info") or data
        trace = str(info.get("trace_id") or info.get("request_id") or place)
        for number, span in enumerate(spans, start=1):
            if not isinstance(span, dict):
                raise InputError(f"{place}, span {number}: must be a JSON object")
            step = _step(span, trace, info)
            if not step.id:
                raise InputError(f"{place}, span {number}: must have a `span_id`")
            if not step.parent:
                step.scores = [*_scores(info.get("assessments") or data.get("assessments"))]
            yield step


def _step(span: Mapping[str, Any], trace: str, info: Mapping[str, Any]) -> Step:
    attributes = {
        key: json_or_text(value, quoted=True)
        for key, value in object_at(span, "attributes").items()
    }
    context = object_at(span, "context")
    metadata = object_at(info, "trace_metadata") or object_at(info, "request_metadata")
    kind = _KINDS.get(
        str(attributes.get("mlflow.spanType") or span.get("span_type") or "").upper(), "other"
    )
    usage = object_at(attributes, "mlflow.chat.tokenUsage")
    parent = str(span.get("parent_span_id") or span.get("parent_id") or "")
    inputs, outputs = (_value(span, attributes, key) for key in ("Inputs", "Outputs"))
    step = Step(
        trace=trace,
        id=str(span.get("span_id") or context.get("span_id") or ""),
        raw=dict(span),
        parent=parent,
        kind=kind,
        name=str(span.get("name") or ""),
        session=str(metadata.get("mlflow.trace.session") or ""),
        start=_time(
            span.get("start_time_unix_nano") or span.get("start_time_ns") or span.get("start_time")
        ),
        end=_time(
            span.get("end_time_unix_nano") or span.get("end_time_ns") or span.get("end_time")
        ),
        input=inputs,
        output=outputs,
        tokens_in=whole_number(usage.get("input_tokens")),
        tokens_out=whole_number(usage.get("output_tokens")),
        error=_error(span),
        told={
            "session": "mlflow.trace.session",
            "input": "mlflow.spanInputs",
            "output": "mlflow.spanOutputs",
        },
    )
    if not parent:
        step.agent = str(object_at(info, "tags").get("mlflow.traceName") or step.name)
        step.start = step.start or _began(info)
    if kind == "model":
        step.model = _model(attributes, inputs, outputs)
    return step


def _value(span: Mapping[str, Any], attributes: Mapping[str, Any], key: str) -> Any:
    found = attributes.get(f"mlflow.span{key}")
    if found is None:
        return span.get(key.lower())
    return found


def _model(attributes: Mapping[str, Any], inputs: Any, outputs: Any) -> str:
    named = (
        attributes.get("mlflow.llm.model"),
        object_at(outputs).get("model"),
        object_at(inputs).get("model"),
    )
    return str(next(filter(None, named), ""))


def _time(nanoseconds: Any) -> datetime | None:
    if isinstance(nanoseconds, int) and 0 < nanoseconds < 2**63:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    return moment(nanoseconds)


def _began(info: Mapping[str, Any]) -> datetime | None:
    milliseconds = info.get("timestamp_ms")
    if isinstance(milliseconds, int) and 0 < milliseconds < 1e14:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    return moment(info.get("request_time"))


def _error(span: Mapping[str, Any]) -> str:
    """Return why a span failed; empty if it did not."""
    status = span.get("status")
    code = status.get("code") if isinstance(status, dict) else span.get("status_code", status)
    if "ERROR" not in str(code):
        return ""
    return str(object_at(span, "status").get("message") or span.get("status_message") or "failed")


def _scores(assessments: Any) -> Iterator[GivenScore]:
    """Yield the assessments of a trace: what people and judges said of it."""
    for each in objects(json_or_text(assessments)):
        name = str(each.get("assessment_name") or each.get("name") or "score")
        value = object_at(each, "feedback").get("value", each.get("value"))
        if value is not None:
            score = _ANSWERS.get(str(value).lower(), in_unit(value))
            yield GivenScore(name, score, value, str(each.get("rationale") or ""))
