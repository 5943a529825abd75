"""The review screen's items, judged tasks and graded submissions, and the reviews it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bioeval_tui.record.events import EvidenceQuoted, Fault, Mark, ReviewAction, Reviewed
    from bioeval_tui.record.state import ConversationKey, ConversationState
    from bioeval_tui.tui.items import MedalRow


class ReviewSource(NamedTuple):
    """What to review: all items of these runs, and these graded submissions."""

    run_ids: tuple[str, ...] = ()
    rows: tuple[MedalRow, ...] = ()
    reports: tuple[Path, ...] = ()
    """Grading reports, files or folders: every submission in them."""
    drawn: bool = False
    """Only the tasks that were drawn for review, in the order of the draw."""


class ItemId(NamedTuple):
    """An item's identity: a run or a folder of reports, and the item in it."""

    place: str
    key: ConversationKey | None
    task: int | None
    submission: str | None


@dataclass(frozen=True, slots=True)
class Judged:
    """The judge's verdict on a task. Without a score the task could not be judged; `reason` then says why."""

    judge: str
    score: float | None
    passed: bool = False
    reason: str = ""
    evidence: tuple[EvidenceQuoted, ...] = ()
    spread: float = 0.0


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One judged task (`judged`, `conversation`) or one graded submission (`row`), and its reviews so far.

    `opinions` and `faults` hold the latest of each reviewer; `fault` is the recorded one.
    """

    id: ItemId
    subject: str
    title: str
    criteria: str = ""
    judged: Judged | None = None
    conversation: ConversationState | None = None
    row: MedalRow | None = None
    opinions: Mapping[str, Reviewed] = field(default_factory=dict)
    faults: Mapping[str, Reviewed] = field(default_factory=dict)
    notes: tuple[Reviewed, ...] = ()
    fault: Fault = "none"
    graded: Mark = "valid"
    condition: str = ""
    """What the job calls the conversation's condition."""
    sample: str = ""
    """What the reviews of the sample show so far; empty if the task was not sampled."""


@dataclass(frozen=True, slots=True)
class Given:
    """One review of one item."""

    action: ReviewAction
    score: float | None = None
    fault: Fault | None = None
    mark: Mark | None = None
    why: str = ""
    blind: bool = False
