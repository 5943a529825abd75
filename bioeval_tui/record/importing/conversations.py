"""The common form of imported conversations, which every importer returns.

A source has separate messages of systems and tools; a recording has only those of the user and the
agent. What a speaker does first (tool calls and their results) becomes part of its next message,
and data without a field is kept unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from bioeval_tui.base.text import clean_line
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.conditions import ConditionConfig
from bioeval_tui.record.events import EndReason, Fault

ChatRole = Literal["system", "user", "assistant", "tool"]

_notes: ContextVar[dict[str, None] | None] = ContextVar("notes", default=None)
MOST_NOTES = 20


@contextmanager
def noting() -> Iterator[dict[str, None]]:
    """Collect what readers note within this context, each sentence once."""
    notes: dict[str, None] = {}
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def note(sentence: str) -> None:
    """Note what a reader takes for its own without understanding it, for the user and the
    recording.
    """
    notes = _notes.get()
    if notes is not None and len(notes) < MOST_NOTES:
        notes[clean_line(sentence, 200)] = None


@dataclass(slots=True)
class ImportedCall:
    """A call of a tool."""

    name: str
    arguments: Any
    id: str = ""

    def event(self) -> dict[str, Any]:
        """Return the generation event."""
        request: dict[str, Any] = {"function": {"name": self.name}, "arguments": self.arguments}
        return {"request": {**request, "id": self.id} if self.id else request}


@dataclass(slots=True)
class Output:
    """A tool's result. `call` is the call's id; empty if the file has none."""

    value: Any
    call: str = ""
    failed: bool = False

    def event(self) -> dict[str, Any]:
        """Return the generation event."""
        event: dict[str, Any] = {"output": self.value}
        if self.call:
            event["id"] = self.call
        if self.failed:
            event["error"] = True
        return event


@dataclass(slots=True)
class ImportedPart:
    """One message of the source; `raw` is the whole object, None if another part of the same
    message has it.
    """

    role: ChatRole
    text: str
    raw: Any
    calls: list[ImportedCall] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    more: list[dict[str, Any]] = field(default_factory=list)
    """Generation events of other kinds, such as reasoning."""
    at: datetime | None = None
    latency_ms: float | None = None
    first_token_ms: float | None = None
    of_whole_answer: bool = False
    """Whether these times are those of all steps of the answer together."""
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(slots=True)
class ImportedMessage:
    """A message of the user or the agent, with the steps before it: the speaker's `parts`, of which
    the last has the text.

    `generation` also has the results of tools that come after its calls, and `raw` what else the
    source has around it.
    """

    parts: list[ImportedPart]
    generation: list[dict[str, Any]] = field(default_factory=list)
    raw: list[Any] = field(default_factory=list)
    record: dict[str, Any] | None = None

    @property
    def role(self) -> ChatRole:
        """Who says it."""
        return self.parts[0].role

    @property
    def text(self) -> str:
        """What is said."""
        return self.parts[-1].text

    @property
    def at(self) -> datetime | None:
        """When its first part was said."""
        return self.parts[0].at

    @property
    def latency_ms(self) -> float | None:
        """The latency, in ms; that of several steps is unknown, because the tools took some of the
        time.
        """
        if self._timed:
            return self._timed.latency_ms
        return None

    @property
    def first_token_ms(self) -> float | None:
        """The time to the first text, in ms; unknown of several steps, too."""
        if self._timed:
            return self._timed.first_token_ms
        return None

    @property
    def _timed(self) -> ImportedPart | None:
        last = self.parts[-1]
        if len(self.parts) == 1 or last.of_whole_answer:
            return last
        return None

    @property
    def tokens_in(self) -> int | None:
        """The input tokens of all its parts; None if those of one are unknown."""
        return _sum(part.tokens_in for part in self.parts)

    @property
    def tokens_out(self) -> int | None:
        """The output tokens of all its parts; None if those of one are unknown."""
        return _sum(part.tokens_out for part in self.parts)

    def keep_raw_unless(self, same: Callable[[ImportedMessage], Sequence[Any]]) -> None:
        """Keep the source's original messages, unless an export would produce the same without
        them.
        """
        if list(same(self)) != self.raw:
            self.record = {"raw": self.raw}


@dataclass(slots=True)
class GivenScore:
    """A score of the source.

    `value` is None if it is not in [0, 1]; `told` is the original value.
    """

    name: str
    value: float | None
    told: Any
    reason: str = ""

    @property
    def is_nan(self) -> bool:
        """Whether the source could not compute this one value."""
        return str(self.told).lower() == "nan"


def unscored(names: Any) -> list[GivenScore]:
    """Return scores without a value for what an export of this program names as never asked for."""
    if not isinstance(names, list):
        return []
    return [GivenScore(name, None, None) for name in names if isinstance(name, str)]


@dataclass(slots=True)
class ImportedConversation:
    """One conversation of the source. An empty `name` means that it is the only one of its case."""

    name: str
    messages: list[ImportedMessage]
    session: str = ""
    condition: Condition | None = None
    scores: list[GivenScore] = field(default_factory=list)
    scored_by: str = ""
    """Who gave the scores, if the source says so for each conversation; otherwise the header's
    judge.
    """
    tasks: tuple[tuple[str, str], ...] = ()
    """The tasks of this case with their acceptance criteria, in the order of the scores."""
    request: tuple[str, str] | None = None
    """What all scores of this case are about, and the expected answer, if the source has no tasks
    of its own.
    """
    facts: tuple[str, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    reason: EndReason = "unknown"
    fault: Fault = "none"
    detail: str = ""
    failures: int = 0
    record: dict[str, Any] | None = None
    whole: float | None = None
    """The composite score, if the source is an export of this program."""


@dataclass(slots=True)
class Header:
    """The source's data about all its conversations; empty without any."""

    name: str = ""
    agent: str = ""
    model: str = ""
    evaluator: str = ""
    judge: str = ""
    at: datetime | None = None
    licence: str = ""
    origin: str = ""
    pass_above: float = 0.6
    record: dict[str, Any] | None = None
    conditions: tuple[ConditionConfig, ...] = ()
    """The conditions of the study, whose names conversations have; otherwise, a name is all that is
    known of a condition.
    """


def messages_of(pieces: Iterable[ImportedPart]) -> list[ImportedMessage]:
    """Return the messages of user and agent, each with the steps before it.

    Calls without text become part of the speaker's next message; results follow their call. If
    another speaker comes first, the calls get a message without text.
    """
    messages: list[ImportedMessage] = []
    waiting: ImportedMessage | None = None
    before: list[Any] = []  # messages of the system, which go with what follows

    def settle() -> None:
        nonlocal waiting
        if waiting is not None:
            messages.append(waiting)
            waiting = None

    for piece in pieces:
        if piece.role == "tool":
            target = waiting or (messages[-1] if messages else None)
            raw = [] if piece.raw is None else [piece.raw]
            if target is None:
                before += raw
                continue
            for output in piece.outputs:
                _place(target.generation, output)
            target.raw += raw
            continue
        if piece.role == "system":
            settle()
            before.append(piece.raw)
            continue
        if waiting is not None and waiting.role != piece.role:
            settle()
        message = waiting or ImportedMessage([])
        waiting = None
        _take(message, piece)
        message.raw += [*before, piece.raw]
        before = []
        if piece.calls and not piece.text:
            waiting = message
        else:
            messages.append(message)
    settle()
    if before and messages:
        messages[-1].raw += before
    return messages


def _take(message: ImportedMessage, piece: ImportedPart) -> None:
    message.parts.append(piece)
    message.generation += piece.more
    message.generation += [call.event() for call in piece.calls]
    for output in piece.outputs:
        _place(message.generation, output)


def _sum(counts: Iterable[int | None]) -> int | None:
    counts = list(counts)
    known = [count for count in counts if count is not None]
    if len(known) == len(counts):
        return sum(known)
    return None


def _place(generation: list[dict[str, Any]], output: Output) -> None:
    """Insert a result after its call; at the end if the call is missing."""
    for at, event in enumerate(generation):
        request = event.get("request")
        if output.call and isinstance(request, dict) and request.get("id") == output.call:
            generation.insert(at + 1, output.event())
            return
    generation.append(output.event())


def in_unit(value: Any) -> float | None:
    """Return a score in [0, 1]; None for anything else."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float) and 0 <= value <= 1:
        return float(value)
    return None


def moment(value: Any) -> datetime | None:
    """Parse an ISO 8601 time, which is UTC without a zone; None for anything else."""
    if not isinstance(value, str) or not value:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    if at.tzinfo:
        return at
    return at.replace(tzinfo=UTC)


def text_of(content: Any) -> str:
    """Return a message's content as text; parts of other kinds are named in brackets, and noted."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [_part_text(part) for part in content]
        return "\n".join(part for part in parts if part)
    return str(content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return str(part)
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            return str(part[key])
    kind = str(part.get("type") or ", ".join(map(str, part)) or "part")
    note(f"parts of messages that are not read, only named: {kind}")
    return f"[{kind}]"


def milliseconds(value: Any, scale: float = 1.0) -> float | None:
    """Return a duration in ms, times `scale`; None for anything other than a finite number of up to
    a day.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    ms = float(value) * scale
    if 0 <= ms <= 86_400_000:
        return ms
    return None


def object_at(data: Any, *keys: str) -> dict[str, Any]:
    """Return the object under a key, or under one key after another; an empty one where there is
    none.
    """
    for key in keys:
        if not isinstance(data, dict):
            return {}
        data = data.get(key)
    if isinstance(data, dict):
        return data
    return {}


def whole_number(value: Any) -> int | None:
    """Return a count; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**15:
        return value
    return None
