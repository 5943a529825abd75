"""ATIF trajectories (Harbor's Agent Trajectory Interchange Format, v1): one document, a list, or one per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bioeval_tui.bundled.atif.writing import OURS
from bioeval_tui.formats import (
    CONDITIONS,
    ChatRole,
    FileLook,
    GivenScore,
    Header,
    ImportedCall,
    ImportedConversation,
    ImportedPart,
    InputError,
    Output,
    in_unit,
    lines,
    members,
    messages_of,
    moment,
    object_at,
    objects,
    text_of,
    whole_number,
)

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
    named = data.get("trajectory_id") or data.get("session_id")
    scores = object_at(ours, "scores") if ours else _rewards(data)
    condition = ours.get("condition")
    return ImportedConversation(
        name=str(ours.get("case") or ("" if ours else named or "")),
        messages=messages,
        session=str(data.get("session_id") or ""),
        condition=condition if condition in CONDITIONS else None,
        scores=[GivenScore(str(name), in_unit(value), value) for name, value in scores.items()],
        started_at=times[0] if times else None,
        ended_at=times[-1] if times else None,
        record={key: value for key, value in data.items() if key != "steps"},
        whole=in_unit(ours.get("score")),
    )


def _rewards(data: dict[str, Any]) -> dict[str, Any]:
    """Return a trajectory's reward: the format has no field for it, so harnesses put it in other places."""
    places = (("final_metrics", "extra"), ("final_metrics",), ("extra",))
    return {
        name: place[name]
        for place in (object_at(data, *keys) for keys in places)
        for name in ("reward", "score", "mean_reward")
        if isinstance(place.get(name), int | float)
    }


def _piece(step: Any, number: int) -> ImportedPart:
    source = step.get("source") if isinstance(step, dict) else None
    if not isinstance(source, str) or source not in _ROLES:
        raise InputError(f"step {number}: `source` must be one of {', '.join(_ROLES)}")
    metrics = object_at(step, "metrics")
    results = object_at(step, "observation").get("results")
    reasoning = step.get("reasoning_content")
    # What this program's exports say that a user did: the format gives tool calls to agents only.
    generation = objects(object_at(step, "extra").get("generation"))
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
        more=[{"reasoning": reasoning}] if reasoning else generation,
        at=moment(step.get("timestamp")),
        tokens_in=whole_number(metrics.get("prompt_tokens")),
        tokens_out=whole_number(metrics.get("completion_tokens")),
    )
