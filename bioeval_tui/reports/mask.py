"""The one place where a recording's text passes on its way into a report, an export or a comparison.

A recording can come from a colleague's machine, so its text is cleaned again; a mask may then replace
names and identifiers. This is masking, never de-identification: it replaces what its rules find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel

from bioeval_tui.events import RunEvent
from bioeval_tui.run_state import RunState
from bioeval_tui.text import clean

Model = TypeVar("Model", bound=BaseModel)

KEPT = frozenset({"kind", "run_id", "batch_id", "job_sha256", "git_revision", "program_version", "code"})
"""Fields that identify or tell kinds apart; no person's words stand in them."""


class Mask:
    """Cleans every text of an event and lets `replace` change it. The default only cleans."""

    def __init__(self, replace: Callable[[str], str] | None = None) -> None:
        self._replace = replace

    def text(self, text: str) -> str:
        """Return a text as it may be shown."""
        text = clean(text)
        return self._replace(text) if self._replace else text

    def value(self, value: Any) -> Any:
        """Return a JSON-like value with every text in it masked; keys are cleaned."""
        match value:
            case str():
                return self.text(value)
            case BaseModel():
                return self._model(value)
            case Mapping():
                return {clean(str(key)): self.value(item) for key, item in value.items()}
            case list():
                return [self.value(item) for item in value]
            case tuple():
                return tuple(self.value(item) for item in value)
            case _:
                return value

    def events(self, many: Iterable[RunEvent]) -> Iterator[RunEvent]:
        """Yield the events with their texts masked."""
        return (self._model(event) for event in many)

    def finish(self, state: RunState) -> RunState:
        """Mask messages that never completed: a name may have been cut in two by their deltas."""
        if self._replace is not None:
            for talk in state.conversations.values():
                for message in talk.messages:
                    if not message.done:
                        message.replace(self.text(message.text))
        return state

    def _model(self, model: Model) -> Model:
        changes = {}
        for name, field in type(model).model_fields.items():
            if name in KEPT or not _holds_text(field.annotation):
                continue
            value = getattr(model, name)
            masked = self.value(value)
            if masked != value:
                changes[name] = masked
        return model.model_copy(update=changes) if changes else model


def _holds_text(annotation: Any) -> bool:
    """Say whether a field can hold free text: `Literal` values and numbers cannot."""
    if annotation is str or annotation is Any:
        return True
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True
    return any(_holds_text(part) for part in get_args(annotation) if not isinstance(part, str))
