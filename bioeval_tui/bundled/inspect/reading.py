"""Logs of Inspect (UKGovernmentBEIS/inspect_ai): `.eval`, a zip, and `.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    LARGEST,
    Archive,
    ArchiveError,
    EndReason,
    FileLook,
    GivenScore,
    Header,
    ImportedCall,
    ImportedConversation,
    ImportedPart,
    InputError,
    Output,
    in_unit,
    is_archive,
    is_name,
    json_value,
    members,
    messages_of,
    milliseconds,
    moment,
    note,
    object_at,
    objects,
    open_archive,
    text_of,
    unscored,
)

_MODELLED = ("messages",)
_LETTERS = {
    "C": 1.0,
    "P": 0.5,
    "I": 0.0,
    "N": 0.0,
    "yes": 1.0,
    "true": 1.0,
    "no": 0.0,
    "false": 0.0,
}
"""The numeric values of Inspect's letters (`value_to_float`)."""
_LIMITS: dict[str, EndReason] = {
    "message": "max_turns",
    "time": "timed_out",
    "working": "timed_out",
}
_OURS = "bioeval-tui"
_MOST_KEPT = {"events": 16_000_000, "attachments": 48_000_000}
"""Maximum number of bytes of a sample in a zip, by key; what is larger is left out."""
_LARGEST_PIECE = 1 << 24
"""Maximum number of characters of one value of a sample in a zip."""
_MOST_PIECES = 500_000
"""Maximum number of messages, and of events, of a sample in a zip: 30 MB of empty ones would take
700 MB.
"""

_MOST_UNPACKED, _MOST_TIMES = 1_000_000_000, 100
"""Maximum number of bytes of all samples in a zip, and how many times the zip's own size if that is
more: a few megabytes may hold any number of samples that each have all the blanks, or events to be
left out, that one may have.
"""


def fits(look: FileLook) -> bool:
    """Return whether a file is an Inspect log."""
    if look.shape == "zip":
        return bool({"header.json", "_journal/start.json"} & look.names)
    return look.shape in ("object", "lines") and {"version", "eval"} <= look.first.keys()


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the samples of a log, each epoch a conversation.

    Raises:
        InputError: the log or a sample cannot be read.
    """
    record: dict[str, Any] = {}
    ours = False
    for key, value in _members(file):
        if key != "samples":
            record[key] = value
            ours = ours or (key == "eval" and _OURS in object_at(value, "packages"))
        elif isinstance(value, dict):
            yield _conversation(value, ours)
        else:
            raise InputError("a sample must be a JSON object")
    yield _header(record)


def _members(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the content of a log: its header's members, then its samples."""
    if not is_archive(file):
        with file.open("rb") as opened:
            yield from members(opened, ("samples",))
        return
    with open_archive(file) as archive:
        names = archive.names
        header = next(
            (name for name in ("header.json", "_journal/start.json") if name in names), None
        )
        if header is None:
            raise InputError("a log of Inspect has a header.json or a _journal/start.json")
        start = _loaded(archive, header)
        if not isinstance(start, dict):
            raise InputError(f"{header} is not a JSON object")
        yield from start.items()
        samples = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
        _require_usual_size(file, sum(map(archive.member_size, samples)))
        for name in samples:
            yield "samples", _sample(archive, name)


def _require_usual_size(file: Path, unpacked: int) -> None:
    # No member is read beyond the size that the zip says.
    packed = file.stat().st_size
    most = max(_MOST_UNPACKED, _MOST_TIMES * packed)
    if unpacked > most:
        raise InputError(
            f"its samples unpack to {unpacked:,} bytes; at most {most:,} are read of a zip of"
            f" {packed:,}; split the log"
        )


def _loaded(archive: Archive, name: str) -> Any:
    if archive.member_size(name) > LARGEST:
        raise InputError(f"{name} is larger than {LARGEST:,} bytes")
    try:
        return json_value(archive.read(name))
    except ArchiveError:
        raise  # which names the member
    except InputError as problem:
        raise InputError(f"{name} cannot be read: {problem}") from None


def _sample(archive: Archive, name: str) -> Any:
    """Return a sample, read in pieces: its events and attachments are left out where they are
    larger than what is kept.
    """
    sample: dict[str, Any] = {}
    sizes = dict.fromkeys(_MOST_KEPT, 0)
    before = 0
    try:
        with archive.open(name) as file:
            for key, value in members(
                file, ("messages", "events"), parted=("attachments",), largest=_LARGEST_PIECE
            ):
                if key in sizes:
                    sizes[key] += file.tell() - before
                before = file.tell()
                if sizes.get(key, 0) > _MOST_KEPT.get(key, 0):
                    sample.pop(key, None)
                elif key in ("messages", "events"):
                    pieces = sample.setdefault(key, [])
                    if len(pieces) >= _MOST_PIECES:
                        raise InputError(f"more than {_MOST_PIECES:,} {key}")
                    pieces.append(value)
                elif key == "attachments" and isinstance(value, tuple):
                    sample.setdefault(key, {})[value[0]] = value[1]
                elif not key:
                    raise InputError("a sample must be a JSON object")
                else:
                    sample[key] = value
    except ArchiveError:
        raise  # which names the member
    except InputError as problem:
        raise InputError(f"{name} cannot be read: {problem}") from None
    return sample


def _header(record: dict[str, Any]) -> Header:
    if record.get("version") != 2:
        note(f"a log of another version, read as version 2: {record.get('version')}")
    evaluation = object_at(record, "eval")
    metadata = object_at(evaluation, "metadata")
    scorers = [str(s.get("name")) for s in objects(evaluation.get("scorers"))]
    header = Header(
        name=str(evaluation.get("task") or ""),
        agent=str(evaluation.get("solver") or ""),
        judge=", ".join(scorers),
        at=moment(evaluation.get("created")),
        record={
            key: value for key, value in record.items() if key not in ("samples", "reductions")
        },
    )
    if evaluation.get("model") not in ("unknown", "none/none", None):
        header.model = str(evaluation["model"])
    if _OURS in object_at(evaluation, "packages"):
        header.evaluator = str(metadata.get("evaluator") or "")
        header.judge = str(metadata.get("judge") or "")
    return header


def _conversation(sample: dict[str, Any], ours: bool) -> ImportedConversation:
    attachments, metadata = object_at(sample, "attachments"), object_at(sample, "metadata")
    listed = sample.get("messages")
    if not isinstance(listed, list):
        listed = []
    messages = messages_of(
        _piece(message, number, attachments) for number, message in enumerate(listed, start=1)
    )
    for message in messages:
        message.record = {"raw": message.raw}
    kind = str(object_at(sample, "limit").get("type", ""))
    error = str(object_at(sample, "error").get("message", ""))
    scores = [*_scores(sample.get("scores"))]
    name = str(sample.get("id", ""))
    condition = whole = None
    if ours:
        condition = metadata.get("condition")
        if name == condition:
            name = ""
        whole = next((score.value for score in scores if score.name == "composite"), None)
        # The composite is made of the others.
        scores = [
            score for score in scores if score.name not in ("composite", "timing", "assertions")
        ]
        scores += unscored(metadata.get("unasked"))
    return ImportedConversation(
        name=name,
        messages=messages,
        session=str(sample.get("uuid") or ""),
        condition=condition if is_name(str(condition)) else None,
        scores=scores,
        request=_request(sample),
        started_at=moment(sample.get("started_at")),
        ended_at=moment(sample.get("completed_at")),
        reason=_LIMITS.get(kind, "unknown"),
        detail=error or (kind and f"{kind} limit"),
        record={key: value for key, value in sample.items() if key not in _MODELLED},
        whole=whole,
    )


def _request(sample: Mapping[str, Any]) -> tuple[str, str]:
    """Return what the sample asks for, and the expected answer."""
    given = sample.get("input")
    if isinstance(given, list):
        users = [m for m in given if isinstance(m, dict) and m.get("role") == "user"]
        given = "\n".join(text_of(message.get("content")) for message in users)
    wanted = sample.get("target")
    if isinstance(wanted, list):
        wanted = "\n".join(map(str, wanted))
    return str(given or ""), str(wanted or "")


def _piece(message: Any, number: int, attachments: Mapping[str, Any]) -> ImportedPart:
    role = object_at(message).get("role")
    if role not in ("system", "user", "assistant", "tool"):
        raise InputError(f"message {number}: `role` must be system, user, assistant or tool")
    text = _resolved(text_of(_drop_reasoning(message.get("content"))), attachments)
    if role == "tool":
        output = text or str(object_at(message, "error").get("message", ""))
        return ImportedPart(
            "tool", "", message, outputs=[Output(output, str(message.get("tool_call_id") or ""))]
        )
    metadata = object_at(message, "metadata")
    return ImportedPart(
        role=role,
        text=text,
        raw=message,
        calls=[
            ImportedCall(
                str(c.get("function", "unknown")), c.get("arguments") or {}, str(c.get("id") or "")
            )
            for c in objects(message.get("tool_calls"))
        ],
        more=[
            {"reasoning": _resolved(part, attachments)}
            for part in _reasoning(message.get("content"))
        ],
        of_whole_answer="waited_ms" in metadata,  # an export of this program
        latency_ms=milliseconds(metadata.get("latency_ms")),
        first_token_ms=milliseconds(metadata.get("first_token_ms")),
    )


def _drop_reasoning(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        part for part in content if not (isinstance(part, dict) and part.get("type") == "reasoning")
    ]


def _reasoning(content: Any) -> list[str]:
    return [
        str(part.get("reasoning") or part.get("summary") or "")
        for part in objects(content)
        if part.get("type") == "reasoning"
    ]


def _resolved(text: str, attachments: Mapping[str, Any]) -> str:
    if text.startswith("attachment://"):
        return str(attachments.get(text.removeprefix("attachment://"), text))
    return text


def _scores(scores: Any) -> Iterator[GivenScore]:
    for scorer, score in object_at(scores).items():
        if not isinstance(score, dict):
            continue
        value, reason = score.get("value"), str(score.get("explanation") or "")
        if isinstance(value, dict):
            for key, part in value.items():
                yield GivenScore(f"{scorer}: {key}", _value(part), part, reason)
        elif isinstance(value, list):
            for place, part in enumerate(value, start=1):
                yield GivenScore(f"{scorer}: {place}", _value(part), part, reason)
        else:
            yield GivenScore(str(scorer), _value(value), value, reason)


def _value(value: Any) -> float | None:
    """Return a score as Inspect's number; None if that is not in [0, 1]."""
    if isinstance(value, str):
        if value in _LETTERS or value.lower() in _LETTERS:
            return _LETTERS.get(value, _LETTERS.get(value.lower()))
        try:
            value = float(value)
        except ValueError:
            return None
    return in_unit(value)
