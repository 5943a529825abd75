"""Masks a recording's text on its way to a screen, report or export.

A recording can come from a colleague's machine, so its text is cleaned again; rules may then
replace names and identifiers. This is masking, never de-identification: it replaces what its rules
find.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import chain
from typing import Any, TypeVar, cast, get_args, get_type_hints

from pydantic import BaseModel

from bioeval_tui.base.text import clean
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.masking.rules import HIDDEN, Rules, replaced

CONTEXT = 1000
"""Number of already emitted characters that are searched again, for patterns with look-behind."""

Key = tuple[str | None, int | None, int | None, int]


class Pieces:
    """Receives a run's events in order and returns the part of each piece that may be shown."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._open: dict[Key, _Growing] = {}
        self._count = -1

    def take(self, event: RunEvent) -> str | None:
        """Return the masked text of a piece; None for every other event."""
        self._count += 1
        match event:
            case events.MessageDelta():
                growing = self._open.setdefault(_key(event, event.message), _Growing())
                growing.number, growing.last = self._count, event
                return growing.add(clean(event.text), self._rules)
            case events.MessageStarted() | events.MessageCompleted():
                self._open.pop(_key(event, event.message), None)
        return None

    def rests(self) -> dict[int, str]:
        """Return the delayed text of messages that never ended, by the number of their last
        piece.
        """
        rests = {growing.number: growing.rest(self._rules) for growing in self._open.values()}
        return {number: rest for number, rest in rests.items() if rest}

    def last_pieces(self) -> list[events.MessageDelta]:
        """Return the same as events without sequence numbers, because they are not in the
        recording.
        """
        return [
            growing.last.model_copy(update={"seq": 0, "text": rest, "generation": ()})
            for growing in self._open.values()
            if growing.last is not None and (rest := growing.rest(self._rules))
        ]


def _key(event: RunEvent, message: int) -> Key:
    return event.condition, event.trial, event.attempt, message


class _Growing:
    """A message so far: the end of its text, and the position up to which it was emitted."""

    def __init__(self) -> None:
        self.number = 0
        self.last: events.MessageDelta | None = None
        self._text = ""
        """What was added, without what was emitted long ago (`CONTEXT`)."""
        self._given = 0
        """How much of `_text` was emitted."""
        self._hidden = False
        """Whether the rest of the message is not shown."""

    def add(self, text: str, rules: Rules) -> str:
        """Add a piece; return the text that may be emitted now."""
        self._text += text
        return self._emit(rules.settled(self._text), rules)

    def rest(self, rules: Rules) -> str:
        """Return the text that was not emitted yet."""
        return self._emit(len(self._text), rules)

    def _emit(self, end: int, rules: Rules) -> str:
        """Return the text up to `end` that was not emitted yet, masked, and count it as emitted."""
        if end <= self._given or self._hidden:
            return ""
        spans = rules.spans(self._text)
        if any(span.instead == HIDDEN for span in spans):
            # The text could not be searched in time, so this is its only span. Nothing of the
            # message is emitted any more, whatever follows.
            self._hidden = True
            return HIDDEN
        # A match that starts in text already emitted: at least the rest of it is not shown.
        spans = [s._replace(start=max(s.start, self._given)) for s in spans if s.end > self._given]
        given = replaced(self._text, spans, self._given, end)
        passed = max(0, end - CONTEXT)
        self._text, self._given = self._text[passed:], end - passed
        return given


Model = TypeVar("Model", bound=BaseModel)

HASHES = frozenset({"job_sha256", "sha256", "question", "prompts", "digest", "digests"})
"""Fields with hashes of what may have names.

Who has a text but for its name could confirm a guess with its hash, so a mask replaces them: equal
ones stay equal, and nobody can compute them.
"""

HASH_MARK = "m"
"""Begins a hash that a mask replaced."""

KEPT = frozenset(
    {"kind", "run_id", "batch_id", "git_revision", "program_version", "code",
        "task_id",
     "started_at", "status", "fault", "folder", "review", "undoes", "submission", "traceparent",
     "trace_id", "span_id",
     "parent_id", "doubled", "judging"}
)  # fmt: skip
"""Fields with ids, kinds or times, which contain no free text."""

FREE = frozenset(
    {"object_context", "generation", "observed", "expected", "verdicts", "data", "record",
        "attributes",
     "answer", "arguments", "extraBody", "given", "headers", "headersEnv", "maxCalls", "options",
     "parameters", "resource", "wrong"}
)  # fmt: skip
"""Fields of events and of jobs with arbitrary content, whose numbers may identify people, too."""

JOB_KEYS = frozenset(
    {
        "about", "absent", "acceptanceCriteria", "answer", "api", "apiKeyEnv", "arguments",
        "aspirationalAverage",
        "assertions", "calls", "cases", "chatbot", "compare", "compat", "conditions", "content",
        "context", "controls",
        "conversation", "criteria", "criterion", "cypher", "description", "error", "evaluator",
        "evidence", "exam", "expected", "expression",
        "fails",
        "extraBody", "fact", "facts", "fhir", "file", "function", "greetings", "guards", "headers",
        "headersEnv", "holdsBack", "how", "id",
        "invariant", "itemsPerRequest", "kind", "knowledgeUrl", "language", "lines", "literacy",
        "match", "maxCalls",
        "maxMessageLength",
        "maxRequestsPerMinute", "maxTokens", "maxTurns", "medal", "method", "model", "mustCall",
        "mustNotCall", "name", "noErrors",
        "objectContextUrl", "only", "options", "order", "parameters", "passAbove", "path",
        "patience", "pattern", "personas", "placeboFacts",
        "points", "port", "prompt", "protocol", "python", "reason", "reasoningEffort",
        "recordEvents", "remembers",
        "repeats", "resource", "role", "rubric", "rules", "say", "scorer", "seed", "seeds",
        "sensitive", "sentinels", "setups", "share",
        "signoff", "stop", "streaming", "submission", "systemPrompt", "tags", "target", "task",
        "tasks",
        "telemetry", "tells", "tellsToolCalls", "temperature", "template", "text", "timeline",
        "timeoutMs", "toolCalls",
        "tools", "topP", "turn", "type", "until", "url", "user", "userFaults", "voice", "waitMs",
        "weight",
        "when", "where", "who",
        "withheldCriteria", "words", "wrong",
    }
)  # fmt: skip
"""The keys of a job's schema, which the mask cannot know otherwise.

Every other key of a mapping may be anybody's name.
"""


class Mask:
    """Cleans every text of an event or value and replaces the rules' matches.

    Without rules it only cleans.

    `by_words` replaces them with words (`Rules.worded`), for what becomes a job.
    """

    def __init__(self, rules: Rules | None = None, *, by_words: bool = False) -> None:
        self.rules = rules
        self._by_words = by_words

    @property
    def active(self) -> bool:
        """Whether there are rules."""
        return self.rules is not None

    def worded(self) -> Mask:
        """Return this mask with words in place of tags."""
        return Mask(self.rules, by_words=True)

    def text(self, text: str) -> str:
        """Return a text as it may be shown."""
        text = clean(text)
        if self.rules:
            return self._written(self.rules.replace(text))
        return text

    def _written(self, replaced_text: str) -> str:
        if self.rules and self._by_words:
            return self.rules.worded(replaced_text)
        return replaced_text

    def hashed(self, value: Any) -> Any:
        """Return a hash, or a mapping of hashes, that tells nothing but whether two are equal;
        a second call changes nothing. Without rules, it stays.
        """
        match value:
            case dict():
                return {self.text(name): self.hashed(one) for name, one in value.items()}
            case str() if self.rules and value and not value.startswith(HASH_MARK):
                return HASH_MARK + self.rules.keyed_hash(value)[1 : max(len(value), 8)]
            case str():
                return self.text(value)
            case _:
                return value

    def value(self, value: Any, *, free: bool = False) -> Any:
        """Return a value with every text in it masked, dataclasses, models and the keys of mappings
        too.

        With `free`, numbers that a rule finds are masked, and no key is taken for one of the
        program's own.
        """
        match value:
            case str():
                return self.text(value)
            case BaseModel():
                return self._model(value)
            case Mapping():
                return {
                    self._key(key, free): self.value(item, free=free or key in FREE)
                    for key, item in value.items()
                }
            case tuple() if hasattr(value, "_fields"):
                return self._named_tuple(value, free)
            case list() | tuple() | set() | frozenset():
                return type(value)(self.value(item, free=free) for item in value)
            case int() | float() if free and self.rules and not isinstance(value, bool):
                written = str(value)
                if (masked := self.text(written)) == written:
                    return value
                return masked
            case _ if is_dataclass(value) and not isinstance(value, type):
                return self._dataclass(value)
            case _:
                return value

    def events(self, many: Iterable[RunEvent]) -> Sequence[RunEvent]:
        """Return a recording's events with their texts masked, one for one, streamed pieces too."""
        if self.rules is None:
            return [self._model(event) for event in many]
        pieces = Pieces(self.rules)
        masked = [self.event(event, pieces) for event in many]
        for number, rest in pieces.rests().items():
            event = cast(Any, masked[number])
            masked[number] = event.model_copy(update={"text": event.text + self._written(rest)})
        return masked

    async def follow(
        self, batches: AsyncGenerator[Sequence[RunEvent], None]
    ) -> AsyncGenerator[Sequence[RunEvent], None]:
        """Yield batches with masked texts as they arrive, and at the end the delayed text of open
        messages.
        """
        pieces = self.pieces()
        async with aclosing(batches):
            async for batch in batches:
                yield [self.event(event, pieces) for event in batch]
        if pieces and (rest := pieces.last_pieces()):
            yield rest

    def pieces(self) -> Pieces | None:
        """Return what the pieces of streamed messages are joined with; None without rules."""
        return Pieces(self.rules) if self.rules else None

    def event(self, event: RunEvent, pieces: Pieces | None) -> RunEvent:
        """Return an event with its texts masked; of a piece, what may be shown so far."""
        text = pieces.take(event) if pieces else None
        masked = self._model(event)
        if text is None:
            return masked
        return masked.model_copy(update={"text": self._written(text)})

    def _key(self, key: Any, free: bool) -> Any:
        """Return a key with its matches replaced, unless it is one of the program's own."""
        if not isinstance(key, str):
            return key
        is_own = not free and (key in JOB_KEYS or key in _event_fields())
        if is_own:
            return clean(key)
        return self.text(key)

    def _model(self, model: Model) -> Model:
        """Return a model with its texts masked: of all fields but those in `KEPT`, and numbers of
        those in `FREE`, too.
        """
        changes = {}
        for name, field in type(model).model_fields.items():
            if name in KEPT or not _holds_text(field.annotation):
                continue
            value = getattr(model, name)
            if name in HASHES:
                masked = self.hashed(value)
            else:
                masked = self.value(value, free=name in FREE and self.active)
            if masked != value:
                changes[name] = masked
        if changes:
            return model.model_copy(update=changes)
        return model

    def _named_tuple(self, value: Any, free: bool) -> Any:
        names = [name for name in value._fields if name not in KEPT]
        return value._replace(
            **{name: self.value(getattr(value, name), free=free) for name in names}
        )

    def _dataclass(self, value: Any) -> Any:
        changes = {}
        for name in _text_fields(cast(Any, type(value))):
            before = getattr(value, name)
            masked = self.value(before, free=name in FREE)
            if masked is not before and masked != before:
                changes[name] = masked
        if changes:
            return replace(value, **changes)
        return value


@cache
def _event_fields() -> frozenset[str]:
    """Return the names of the fields of all events and of their parts."""
    kinds = [
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, BaseModel)
    ]
    return frozenset(chain.from_iterable(kind.model_fields for kind in kinds))


@cache
def _text_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a dataclass that may contain free text."""
    try:
        hints = get_type_hints(kind)
    except (NameError, TypeError):  # a type that is only imported for type checking
        hints = {}
    return tuple(
        field.name
        for field in fields(kind)
        if field.init
        and field.name not in KEPT
        and (field.name not in hints or _holds_text(hints[field.name]))
    )


def _holds_text(annotation: Any) -> bool:
    """Return whether a field can contain free text: `Literal` values and numbers cannot."""
    if annotation in (str, Any, object):
        return True
    if isinstance(annotation, type) and (
        issubclass(annotation, BaseModel) or is_dataclass(annotation)
    ):
        return True
    return any(_holds_text(part) for part in get_args(annotation) if not isinstance(part, str))
