"""Langfuse's exports: a trace or a session as downloaded, traces or observations as listed, in
JSON, JSON Lines or CSV.

Keys are in camel case in the API and the downloads, in snake case in exports to a blob storage.
"""

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
    "GENERATION": "model",
    "EMBEDDING": "retrieval",
    "RETRIEVER": "retrieval",
    "TOOL": "tool",
    "AGENT": "agent",
}
_NEEDED = (
    "its traces and observations need `input` and `output`; an export of columns may have left"
    " them out"
)


def fits(look: FileLook) -> bool:
    """Return whether a file is an export of Langfuse."""
    data = look.first
    if isinstance(data.get("trace"), dict) and "observations" in data:
        return True
    first = next(iter(objects(data.get("data")) or objects(data.get("traces"))), data)
    return _is_observation(first) or _is_trace(first)


def _is_observation(data: Mapping[str, Any]) -> bool:
    return (
        "type" in data and _get(data, "traceId") is not None and _get(data, "startTime") is not None
    )


def _is_trace(data: Mapping[str, Any]) -> bool:
    names = (
        "sessionId",
        "userId",
        "htmlPath",
        "projectId",
        "bookmarked",
        "observations",
        "release",
    )
    keys = {*data}
    known = sum(name in keys or _snake(name) in keys for name in names)
    return {"id", "timestamp"} <= keys and known > 1 and bool({"input", "output"} & keys)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _get(data: Mapping[str, Any], name: str) -> Any:
    value = data.get(name)
    if value is None:
        return data.get(_snake(name))
    return value


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of an export: each session's, or each trace's.

    Raises:
        InputError: an entry is neither a trace nor an observation, or nothing was said in any; the
            text has the place.
    """
    yield from conversations_of(_steps(file), _NEEDED)


def _steps(file: Path) -> Iterator[Step]:
    """Yield the steps of an export.

    What a trace says is kept with its observations, which may not name the session.
    """
    sessions: dict[str, str] = {}
    for place, data in entries(file, "data", "traces", what="entry"):
        if not isinstance(data, dict):
            raise InputError(f"{place}: must be a trace or an observation, a JSON object")
        if isinstance(data.get("trace"), dict):
            data = {
                **data["trace"],
                **{key: value for key, value in data.items() if key != "trace"},
            }
        if _get(data, "traceId") is not None and _get(data, "startTime") is not None:
            yield _observation(data, str(_get(data, "traceId")), sessions)
        elif data.get("id") and (
            "timestamp" in data or "observations" in data or "createdAt" in data
        ):
            yield from _trace(data, sessions)
        else:
            raise InputError(
                f"{place}: must be a trace with `id` and `timestamp`, or an observation with"
                " `traceId` and `startTime`"
            )


def _trace(data: dict[str, Any], sessions: dict[str, str]) -> Iterator[Step]:
    trace = str(data["id"])
    session = str(_get(data, "sessionId") or "")
    sessions[trace] = session
    inner = objects(data.get("observations"))
    began = moment(data.get("timestamp"))
    ends = [end for each in inner if (end := moment(_get(each, "endTime"))) is not None]
    # The trace is the outermost step: what it says of input and output is what was asked and
    # answered.
    yield Step(
        trace=trace,
        id=trace,
        raw={key: value for key, value in data.items() if key != "observations"},
        kind="agent",
        name=str(data.get("name") or ""),
        session=session,
        start=began,
        end=max(ends, default=None),
        input=json_or_text(data.get("input"), quoted=True),
        output=json_or_text(data.get("output"), quoted=True),
        agent=str(data.get("name") or ""),
        told=_told(data),
        scores=list(_scores(data.get("scores"))),
    )
    for each in inner:
        yield _observation(each, trace, sessions, trace)


def _told(data: Mapping[str, Any]) -> dict[str, str]:
    return {
        "session": "sessionId" if "sessionId" in data else "session_id",
        "input": "input",
        "output": "output",
    }


def _observation(
    data: dict[str, Any], trace: str, sessions: Mapping[str, str], above: str = ""
) -> Step:
    kind = _KINDS.get(str(data.get("type") or "").upper(), "other")
    usage = json_or_text(_get(data, "usageDetails") or _get(data, "usage"))
    usage = object_at(usage)
    failed = str(data.get("level") or "").upper() == "ERROR"
    return Step(
        trace=trace,
        id=str(data.get("id") or ""),
        raw=data,
        parent=str(_get(data, "parentObservationId") or above),
        kind=kind,
        name=str(data.get("name") or ""),
        session=str(_get(data, "sessionId") or sessions.get(trace, "")),
        start=moment(_get(data, "startTime")),
        end=moment(_get(data, "endTime")),
        first_token=moment(_get(data, "completionStartTime")),
        input=json_or_text(data.get("input"), quoted=True),
        output=json_or_text(data.get("output"), quoted=True),
        agent=str(_get(data, "traceName") or "") if not above else "",
        model=_model(data),
        tokens_in=_tokens(usage, data, "input", "promptTokens"),
        tokens_out=_tokens(usage, data, "output", "completionTokens"),
        error=str(_get(data, "statusMessage") or "failed") if failed else "",
        told=_told(data),
        scores=list(_scores(data.get("scores"))),
    )


def _model(data: Mapping[str, Any]) -> str:
    names = ("model", "providedModelName", "internalModelId")
    return next((str(found) for name in names if (found := _get(data, name))), "")


def _tokens(usage: Mapping[str, Any], data: Mapping[str, Any], key: str, older: str) -> int | None:
    found = usage.get(key, usage.get(older, data.get(older)))
    try:
        if found not in (None, ""):
            return whole_number(int(found))
        return None
    except (TypeError, ValueError):
        return None


def _scores(scores: Any) -> Iterator[GivenScore]:
    for score in objects(scores):
        value = score.get("value")
        words = score.get("stringValue") or score.get("string_value")
        yield GivenScore(
            str(score.get("name") or "score"),
            in_unit(value),
            words or value,
            str(score.get("comment") or ""),
        )
