"""Masks a recording's text on its way to a screen, report or export.

A recording can come from a colleague's machine, so its text is cleaned again; rules may then replace names and
identifiers. This is masking, never de-identification: it replaces what its rules find.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints

from pydantic import BaseModel

from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.masking.rules import Rules
from bioeval_tui.record.masking.stream import Pieces
from bioeval_tui.text import clean

Model = TypeVar("Model", bound=BaseModel)

KEPT = frozenset(
    {"kind", "run_id", "batch_id", "job_sha256", "git_revision", "program_version", "code", "task_id",
     "started_at", "status", "fault", "folder", "review", "undoes", "submission", "traceparent", "trace_id", "span_id",
     "parent_id", "doubled"}
)  # fmt: skip
"""Fields with ids, kinds or times, which contain no free text."""

FREE = frozenset(
    {"object_context", "generation", "observed", "expected", "verdicts", "data", "record", "attributes"}
)
"""Fields with arbitrary content, whose keys and numbers may identify people, too."""


class Mask:
    """Cleans every text of an event or value and replaces the rules' matches. Without rules it only cleans."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules

    @property
    def active(self) -> bool:
        """Whether there are rules."""
        return self.rules is not None

    def text(self, text: str) -> str:
        """Return a text as it may be shown."""
        text = clean(text)
        return self.rules.replace(text) if self.rules else text

    def value(self, value: Any, *, free: bool = False) -> Any:
        """Return a value with every text in it masked, dataclasses and models too.

        With `free` the keys of mappings are masked and numbers that a rule finds.
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
                return value if (masked := self.text(written)) == written else masked
            case _ if is_dataclass(value) and not isinstance(value, type):
                return self._dataclass(value)
            case _:
                return value

    def events(self, many: Iterable[RunEvent]) -> Sequence[RunEvent]:
        """Return a recording's events with their texts masked, one for one, streamed pieces too."""
        if self.rules is None:
            return [self._model(event) for event in many]
        pieces = Pieces(self.rules)
        masked = [self._event(event, pieces) for event in many]
        for number, rest in pieces.rests().items():
            event = cast(Any, masked[number])
            masked[number] = event.model_copy(update={"text": event.text + rest})
        return masked

    async def follow(
        self, batches: AsyncGenerator[Sequence[RunEvent], None]
    ) -> AsyncGenerator[Sequence[RunEvent], None]:
        """Yield batches with masked texts as they arrive, and at the end the delayed text of open messages."""
        pieces = Pieces(self.rules) if self.rules else None
        async with aclosing(batches):
            async for batch in batches:
                yield [self._event(event, pieces) for event in batch]
        if pieces and (rest := pieces.last_pieces()):
            yield rest

    def _event(self, event: RunEvent, pieces: Pieces | None) -> RunEvent:
        text = pieces.take(event) if pieces else None
        masked = self._model(event)
        return masked if text is None else masked.model_copy(update={"text": text})

    def _key(self, key: Any, free: bool) -> Any:
        if not isinstance(key, str):
            return key
        return self.text(key) if free else clean(key)

    def _model(self, model: Model) -> Model:
        changes = {}
        for name, field in type(model).model_fields.items():
            if name in KEPT or not _holds_text(field.annotation):
                continue
            value = getattr(model, name)
            free = name in FREE and self.active
            masked = self.value(value, free=free)
            if masked != value:
                changes[name] = masked
        return model.model_copy(update=changes) if changes else model

    def _named_tuple(self, value: Any, free: bool) -> Any:
        names = [name for name in value._fields if name not in KEPT]
        return value._replace(**{name: self.value(getattr(value, name), free=free) for name in names})

    def _dataclass(self, value: Any) -> Any:
        changes = {}
        for name in _text_fields(cast(Any, type(value))):
            before = getattr(value, name)
            masked = self.value(before, free=name in FREE)
            if masked is not before and masked != before:
                changes[name] = masked
        return replace(value, **changes) if changes else value


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
    if isinstance(annotation, type) and (issubclass(annotation, BaseModel) or is_dataclass(annotation)):
        return True
    return any(_holds_text(part) for part in get_args(annotation) if not isinstance(part, str))
