"""The entries of an overlay, as documents list them: people's reviews, and what else is written beside a recording."""

from __future__ import annotations

from dataclasses import dataclass

from bioeval_tui.record.events import ConversationScored, Reviewed, RunEvent, TranscriptScored
from bioeval_tui.record.overlay import Overlay


@dataclass(frozen=True, slots=True)
class Review:
    """One entry: a person's review of a conversation or task. `before` and `after` are scores in [0, 1]."""

    kind: str
    author: str
    at: str
    condition: str | None = None
    trial: int | None = None
    task: int | None = None
    before: float | None = None
    after: float | None = None
    why: str = ""

    @property
    def about(self) -> str:
        """Such as `withheld, trial 1, task 2`."""
        parts = [
            self.condition or "",
            f"trial {self.trial}" if self.trial else "",
            f"task {self.task}" if self.task else "",
        ]
        return ", ".join(part for part in parts if part) or "the run"


def reviews_of(overlay: Overlay) -> tuple[Review, ...]:
    """Return the entries of an overlay in order, without later verdicts, which `judged_again` has."""
    verdicts = (TranscriptScored, ConversationScored)
    return tuple(_review(event) for event in overlay.events if not isinstance(event, verdicts))


def _review(event: RunEvent) -> Review:
    who, at = event.author or "unknown", event.at.isoformat()
    if not isinstance(event, Reviewed):
        return Review(event.kind.replace("_", " "), who, at, event.condition, event.trial)
    said = " ".join(filter(None, (event.action, event.fault, event.mark)))
    kind = f"{said}, blind" if event.blind else said
    return Review(
        kind, who, at, event.condition, event.trial, event.task, event.before, event.after, event.why
    )
