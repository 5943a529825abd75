"""What is reviewed, and reviews, as services pass them to the screens. Their texts are cleaned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bioeval_tui.record.events import Fault, Mark, ReviewAction, Reviewed, TaskScored
    from bioeval_tui.record.state import ConversationKey, ConversationState
    from bioeval_tui.report.brief import Brief
    from bioeval_tui.tui.grading_items import MedalRow


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
class Judgement:
    """What became of the judging of a task: its verdict, or why it has none."""

    judge: str
    task: TaskScored | None
    """The verdict, with its texts cleaned; None if the task could not be judged."""
    why_not: str = ""

    @property
    def score(self) -> float | None:
        """The judge's score; None without one."""
        if self.task:
            return self.task.score
        return None


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One judged task (`judged`, `conversation`) or one graded submission (`row`), and its reviews
    so far.

    `opinions` and `faults` hold the latest of each reviewer; `fault` is the recorded one.
    """

    id: ItemId
    subject: str
    title: str
    brief: Brief | None = None
    """Who was tested by whom, on what; None for a submission."""
    criteria: str = ""
    judged: Judgement | None = None
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
    judging: str = ""
    """The judging by whose criteria it is reviewed; empty for the recorded ones."""


@dataclass(frozen=True, slots=True)
class NewReview:
    """One review of one item, as a person gives it; a `Reviewed` also has what stood there before,
    and by whom.
    """

    action: ReviewAction
    score: float | None = None
    fault: Fault | None = None
    mark: Mark | None = None
    why: str = ""
    blind: bool = False
