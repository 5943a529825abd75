"""Runs the guards on transcripts of any origin, one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from bioeval_tui.errors import InputError
from bioeval_tui.evaluation.guards.checks import RULES, check
from bioeval_tui.evaluation.guards.common import sentences
from bioeval_tui.evaluation.job.models import EvaluationJob
from bioeval_tui.evaluation.seams import EvaluatorView, TranscriptMessage
from bioeval_tui.record.events import ROLE_RULES
from bioeval_tui.record.importing.looking import line_value
from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.text import clean, clean_line

MAX_LINE = 16_000_000
"""Maximum number of bytes of a line."""
MAX_MESSAGES = 2_000
"""Maximum number of messages of a conversation, because each is compared with the previous ones."""
_UNHEARD = ("system", "developer", "tool", "function")
"""Roles that are counted, but neither checked nor heard by the user."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One finding. `message` counts from 1 over all messages of the conversation."""

    id: str
    message: int
    rule: str
    effect: str
    detail: str


@dataclass(slots=True)
class GuardTotals:
    """The totals. A void message does not also count as marked."""

    conversations: int = 0
    user_messages: int = 0
    marked: int = 0
    void: int = 0
    bad_lines: int = 0
    by_rule: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))


def check_transcripts(lines: BinaryIO, name: str) -> Iterator[Hit | InputError | GuardTotals]:
    """Yield every finding in the order of the file, an error for each line that cannot be read, and the totals last.

    Only one line is in memory at a time.
    """
    totals = GuardTotals()
    number = 0
    while line := lines.readline(MAX_LINE + 1):
        number += 1
        try:
            if line.strip():
                yield from _hits(_whole(line, lines), number, totals)
        except InputError as problem:
            totals.bad_lines += 1
            yield InputError(f"{clean_line(name, 200)}, line {number}: {problem}")
    yield totals


def out_of_role(messages: Sequence[tuple[str, str]]) -> frozenset[int]:
    """Return the places (from 0) of the user's messages, of (role, text) in order, that leave the role."""
    lines = [
        {"role": role if role in ("user", "assistant") else "system", "content": text}
        for role, text in messages
    ]
    hits = (hit for hit in _hits(json.dumps({"messages": lines}).encode(), 1, GuardTotals()))
    return frozenset(hit.message - 1 for hit in hits if hit.rule in ROLE_RULES)


def _whole(line: bytes, lines: BinaryIO) -> bytes:
    """Return the line; raise `InputError`, after skipping the rest of it, if it is too long."""
    if len(line) > MAX_LINE:
        while line and not line.endswith(b"\n"):
            line = lines.readline(MAX_LINE)
        raise InputError(f"longer than {MAX_LINE:,} bytes")
    return line


def _hits(line: bytes, number: int, totals: GuardTotals) -> Iterator[Hit]:
    data = _parse(line)
    messages = _messages(data)
    job, condition = _job(data), _condition(data)
    identity = clean_line(str(data.get("id", number)), 200)
    facts = job.facts if condition == "supplied" else ()
    heard: list[TranscriptMessage] = []
    view = EvaluatorView(job, condition, 1, facts, heard)
    totals.conversations += 1
    for place, (role, content) in enumerate(messages, start=1):
        if role in _UNHEARD:
            continue
        if role == "user":
            violations = check(view, content)
            effects = {violation.effect for violation in violations}
            totals.user_messages += 1
            totals.void += "void" in effects
            totals.marked += effects == {"mark"}
            for violation in violations:
                totals.by_rule[violation.rule] += 1
                yield Hit(identity, place, violation.rule, violation.effect, clean_line(violation.detail))
        heard.append(TranscriptMessage(place, "user" if role == "user" else "assistant", content))


def _parse(line: bytes) -> Mapping[str, Any]:
    data = line_value(line.strip())
    if not isinstance(data, dict):
        raise InputError("must be a JSON object with `id` and `messages`")
    return data


def _messages(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        raise InputError("`messages` must be a list of objects with `role` and `content`")
    if len(messages) > MAX_MESSAGES:
        raise InputError(f"`messages` has {len(messages):,} entries; at most {MAX_MESSAGES:,} are checked")
    told = []
    for place, message in enumerate(messages, start=1):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant", *_UNHEARD):
            raise InputError(
                f"message {place}: `role` must be user (the simulated user) or assistant (the agent)"
            )
        content = message.get("content")
        if content is None and role != "user":
            content = ""  # a message that only calls tools
        if not isinstance(content, str):
            raise InputError(f"message {place}: `content` must be text")
        told.append((role, clean(content)))
    return told


def _job(data: Mapping[str, Any]) -> EvaluationJob:
    if "facts" in data and "vignette" in data:
        raise InputError("give `facts` or `vignette`, not both")
    vignette = data.get("vignette", "")
    if not isinstance(vignette, str):
        raise InputError("`vignette` must be text")
    facts = _texts(data, "facts") or sentences(clean(vignette))
    tasks = [{"task": task} for task in _texts(data, "tasks")]
    return EvaluationJob.model_validate(
        {
            "target": {"user": "user", "chatbot": "assistant"},
            "aspirationalAverage": 1000.0,
            "tasks": tuple(tasks),
            "facts": tuple(facts),
        }
    )


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = data.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InputError(f"`{key}` must be a list of texts")
    return tuple(clean(text) for text in texts)


def _condition(data: Mapping[str, Any]) -> Condition:
    condition = data.get("condition", "supplied")
    if condition not in CONDITIONS:
        raise InputError("`condition` must be withheld or supplied")
    return condition  # type: ignore[no-any-return]
