"""The review screen's texts: the queue's rows, the selected item's details; and the dialog for a
score, mark, fault or note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.base.text import clean, shorten, terminal_text
from bioeval_tui.base.units import date, number
from bioeval_tui.base.widths import fitted
from bioeval_tui.grade.submissions import agent_or_file
from bioeval_tui.grade.tally import standing_of
from bioeval_tui.record import reviews
from bioeval_tui.record.condition_names import published_title
from bioeval_tui.report.messages import plain
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.medals.medals_view import MEDALS
from bioeval_tui.tui.review_items import NewReview, ReviewItem
from bioeval_tui.tui.shared.cells import Cell, Line, fitted_condition
from bioeval_tui.tui.shared.dialogs import Choice, FormChoice, FormDialog

if TYPE_CHECKING:
    from bioeval_tui.record.events import Mark, Reviewed

Kind = Literal["override", "mark", "fault", "note"]
FAULTS = {
    "agent": "the agent's",
    "evaluator": "the evaluator's",
    "judge": "the judge's",
    "infrastructure": "the infrastructure's",
    "unclear": "unclear whose",
    "program": "this program's",
    "none": "nobody's",
}
ID_END = 4
"""How many characters of a run's id are shown: its random end, by which runs of one second
differ.
"""
MARK_WORDS = {"valid": "valid", "invalid": "invalid", "suspicious": "suspicious"}
MARKS: dict[Mark, Cell] = {
    "valid": Cell("✓ valid", "good"),
    "invalid": Cell("✗ invalid", "bad"),
    "suspicious": Cell("? suspicious", "warn"),
}


def is_hidden(item: ReviewItem, blind: bool, me: str) -> bool:
    """Return whether the scores of the judge and of others are hidden: until `me` has given theirs;
    in a sample always.
    """
    return blind and item.row is None and (bool(item.sample) or me not in item.opinions)


def is_to_do(item: ReviewItem, me: str) -> bool:
    """Return whether `me` has neither scored nor marked the item."""
    return me not in item.opinions


def progress(items: Sequence[ReviewItem], me: str) -> str:
    """Return `3 of 8 reviewed`."""
    return f"{sum(not is_to_do(item, me) for item in items)} of {len(items):,} reviewed"


# The queue


def sign(item: ReviewItem, me: str) -> Cell:
    """Return whether I have reviewed the item, and whether reviewers differ."""
    if reviews.disagree(item.opinions) or len({entry.fault for entry in item.faults.values()}) > 1:
        return Cell("≠", "warn")
    mine = item.opinions.get(me)
    if mine is not None and mine.action == "accept":
        return Cell("✓", "good")
    if mine is not None:
        return Cell("✎", "good")
    if item.opinions:
        return Cell("○", "quiet")
    return Cell("·", "quiet")


def prefixes(items: Iterable[ReviewItem]) -> dict[str, str]:
    """Return what tells the tasks of several runs apart: the job, or the end of the run's id;
    nothing for one run.
    """
    # Submissions (those with a row) are of no run.
    job_of = {item.id.place: item.subject for item in items if item.row is None}
    if len(job_of) < 2:
        return {}
    runs_of_job = Counter(job_of.values())
    found = {}
    for recording, job in job_of.items():
        prefix = job
        if runs_of_job[job] > 1:
            prefix = f"…{Path(recording).stem[-ID_END:]}"
        found[recording] = f"{prefix} · "
    return found


def task_number(item: ReviewItem) -> str:
    """Return the task's number and a space; empty for a submission."""
    if item.id.task:
        return f"{item.id.task} "
    return ""


def heads(items: Iterable[ReviewItem]) -> tuple[str, str, str]:
    """Return what the queue's columns hold: tasks of conversations, or submissions."""
    judged = any(item.id.key is not None for item in items)
    if judged:
        return ("trial", "task", "score")
    return ("agent", "task", "medal")


def where(item: ReviewItem, width: int = 80) -> str:
    """Return `without the facts 1` in at most `width` characters, or the agent of a submission."""
    if item.id.key is not None:
        trial = str(item.id.key.trial)
        if item.conversation is not None and item.conversation.case is not None:
            trial = item.conversation.case.words or trial
        condition = item.condition or published_title(item.id.key.condition)
        return f"{fitted_condition(condition, max(4, width - 1 - cell_len(trial)))} {trial}"
    if item.row is None:
        return ""
    return agent_or_file(item.row.agent, item.row.file)


def outcome(item: ReviewItem, blind: bool, me: str) -> Cell:
    """Return `0.20 → 0.80`, the medal with the reviewers' mark, or a sign that it is hidden."""
    if is_hidden(item, blind, me):
        mine = item.opinions.get(me)
        # The judge's scores would colour those that are still to be given.
        if mine is None:
            return Cell("hidden", "quiet")
        return Cell(number(mine.after), "strong")
    if item.row is not None:
        return with_mark(
            MEDALS[standing_of(item.row.report)], item.graded, reviews.reviewed_mark(item.opinions)
        )
    before = item.judged.score if item.judged else None
    after = reviews.reviewed_score(item.opinions)
    shown = number(before)
    if after is None:
        return Cell(shown, "warn" if before is None else "plain")
    if before != after:
        shown += f" → {number(after)}"
    return Cell(shown, "strong")


def with_mark(medal: Cell, graded: Mark, mark: Mark | None) -> Cell:
    """Return a medal with the reviewers' mark: accepted, invalid or suspicious."""
    if mark is None:
        return medal
    if mark == graded:
        return medal._replace(text=f"{medal.text} ✓")
    if mark == "suspicious":
        return Cell(f"{medal.text} ?", "warn")
    if mark == "invalid":
        return Cell(f"{medal.text} → !", "bad")
    return Cell(f"{medal.text} → ✓", "warn")


def _differ(opinions: Mapping[str, Reviewed]) -> str:
    if reviews.disagree(opinions):
        return ", reviewers differ"
    return ""


def mark_lines(opinions: Mapping[str, Reviewed]) -> list[Line]:
    """Return a submission's reviews for its card, and an empty line; nothing without reviews."""
    mark = reviews.reviewed_mark(opinions)
    if mark is None:
        return []
    head = [Cell("reviewed: ", "quiet"), MARKS[mark], Cell(_differ(opinions), "warn")]
    return [head, *(_review_line(entry) for entry in opinions.values()), []]


# The selected item


LABEL = 11
"""Width of the column of labels, in cells."""


def label(name: str) -> Cell:
    """Return the first cell of a line, its label."""
    return Cell(fitted(name, LABEL), "quiet")


def heading(item: ReviewItem, blind: bool) -> list[Line]:
    """Return the title of the reviewed item and, of a task, the conversation that it belongs to,
    with its score.
    """
    title: Line = [Cell(f"{task_number(item)}{shorten(item.title, 300)}", "strong")]
    if item.id.key is None:
        return [title]
    scored, talk = "", item.conversation
    if not blind and talk is not None and talk.score is not None:
        scored = f", scored {number(talk.score.score)}"
    return [
        title,
        [label("in"), Cell(f"{where(item, 200)} of {item.subject}", "quiet"), Cell(scored)],
    ]


def lines(item: ReviewItem, blind: bool, me: str, *, seen: bool = False) -> list[Line]:
    """Return the item's details: criteria, the judge's score and reason, and reviews.

    `seen` means that the judge's score was shown before it was hidden.
    """
    kept_back = is_hidden(item, blind, me)
    shown: list[Line] = []
    if item.criteria:
        shown.append([label("criteria"), Cell(shorten(item.criteria, 400))])
    if kept_back:
        hidden = "hidden until you have given your score"
        if item.sample:
            hidden = "hidden here, since this is a sample"
        if seen:
            hidden += "; you have seen it, so yours is not blind"
        shown.append([label("judge"), Cell(hidden, "warn")])
    elif item.row is not None:
        shown += _graded_lines(item)
    elif item.judged is not None:
        shown += _judged_lines(item)
    if item.sample:
        shown.append([label("sample"), Cell(item.sample)])
    shown += _fault_lines(item)
    people = [entry for name, entry in item.opinions.items() if not kept_back or name == me]
    shown += [_review_line(entry) for entry in (*people, *item.faults.values())]
    shown += [_review_line(note) for note in item.notes if not kept_back or note.author == me]
    return shown


def _judged_lines(item: ReviewItem) -> list[Line]:
    judged = item.judged
    assert judged is not None
    after = reviews.reviewed_score(item.opinions)
    line = [label("judge")]
    task = judged.task
    if task is None:
        line.append(Cell(f"could not be measured: {judged.why_not or 'no verdict'}", "warn"))
    elif task.passed:
        line.append(Cell(f"✓ {number(task.score)}", "good"))
    else:
        line.append(Cell(f"✗ {number(task.score)}", "bad"))
    line.append(Cell(f"  {shorten(judged.judge, 60)}", "quiet"))
    if task is not None and task.spread:
        line.append(Cell(f"  verdicts differ by {number(task.spread)}", "warn"))
    shown = [line]
    if after is not None:
        said = reviews.words(judged.score, after)
        if len(item.opinions) != 1:
            said += f", mean of {len(item.opinions)}"
        shown.append([label("score"), Cell(said, "strong")])
    if task is None:
        return shown
    if task.reason:
        shown.append([label("reason"), Cell(terminal_text(task.reason, 2000))])
    turns = {}
    if item.conversation is not None:
        turns = {message.message: message.turn for message in item.conversation.messages}
    for quoted in task.evidence:
        place = Cell("not in the transcript", "warn")
        if quoted.message in turns:
            place = Cell(f"turn {turns[quoted.message]}", "quiet")
        shown.append([label("evidence"), Cell(f"“{shorten(plain(quoted.quote), 200)}” "), place])
    return shown


def _graded_lines(item: ReviewItem) -> list[Line]:
    assert item.row is not None
    shown: list[Line] = [[label("graded"), MEDALS[standing_of(item.row.report)]]]
    mark = reviews.reviewed_mark(item.opinions)
    if mark is not None:
        word = "accepted" if mark == item.graded else mark
        said = MARKS[mark]._replace(text=word + _differ(item.opinions))
        shown.append([label("reviewed"), said])
    return shown


def _fault_lines(item: ReviewItem) -> list[Line]:
    if not item.faults:
        if item.fault == "none":
            return []
        return [[label("fault"), Cell(f"{item.fault}")]]
    agreed = reviews.reviewed_fault(item.faults)
    if agreed is None:
        return [
            [
                label("fault"),
                Cell(f"reviewers differ, so the recorded fault counts: {item.fault}", "warn"),
            ]
        ]
    return [[label("fault"), Cell(f"{item.fault} → {agreed} (reviewed)", "strong")]]


def _review_line(entry: Reviewed) -> Line:
    """Return one review as a line: the author, what they did and why, and when."""
    said = {"accept": "accepts", "override": "says", "fault": "blames", "note": "notes"}.get(
        entry.action, ""
    )
    if entry.after is not None:
        said += f" {number(entry.after)}"
    elif entry.fault is not None:
        said += f" {entry.fault}"
    elif entry.mark is not None:
        said += f" {entry.mark}"
    if entry.blind:
        said += ", blind"
    if entry.why:
        said += f": {shorten(entry.why, 300)}"
    return [
        Cell(f"{shorten(entry.author or 'unknown', 30)} ", "busy"),
        Cell(said),
        Cell(f"  {date(entry.at, zone=UTC)} UTC", "quiet"),
    ]


def quotes(item: ReviewItem, blind: bool, me: str) -> list[tuple[int, str]]:
    """Return the judge's quotations that are in the transcript, as (message, quote); none while
    hidden.
    """
    if item.judged is None or item.judged.task is None or is_hidden(item, blind, me):
        return []
    return [
        (evidence.message, evidence.quote)
        for evidence in item.judged.task.evidence
        if evidence.message is not None
    ]


# What is given


@dataclass(frozen=True, slots=True)
class ReviewForm:
    """The current form: texts as typed, choices by their value."""

    kind: Kind
    score: str
    choice: str = ""
    why: str = ""

    @property
    def problem(self) -> str:
        """What is missing, in one sentence; empty if it is complete."""
        if self.kind == "override" and score_typed(self.score) is None:
            return "a score is a number from 0 to 1, such as 0.8"
        if not self.why.strip() and self.kind != "override":
            if self.kind != "note":
                return "say why in a few words"
            return "write the note"
        return ""

    def review(self, blind: bool) -> NewReview:
        """Return the review of a complete form."""
        why = clean(self.why.strip(), 10_000)
        if self.kind == "override":
            return NewReview("override", score=score_typed(self.score), why=why, blind=blind)
        if self.kind == "mark":
            return NewReview("override", mark=self.choice, why=why)  # type: ignore[arg-type]
        if self.kind == "fault":
            return NewReview("fault", fault=self.choice, why=why)  # type: ignore[arg-type]
        return NewReview("note", why=why)


def score_typed(text: str) -> float | None:
    """Parse a score from 0 to 1, with a point or a comma; None if invalid."""
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    if 0 <= value <= 1:
        return value
    return None


def next_to_do(items: Sequence[ReviewItem], after: int, me: str) -> int | None:
    """Return the index of the next item I have not reviewed, wrapping around; None if all are."""
    order: Iterable[int] = (*range(after + 1, len(items)), *range(after + 1))
    return next((at for at in order if at < len(items) and is_to_do(items[at], me)), None)


HEADINGS: dict[Kind, str] = {
    "override": "Your score",
    "mark": "Your mark of the submission",
    "fault": "Who is at fault",
    "note": "Add a note",
}
PLACEHOLDERS: dict[Kind, str] = {
    "mark": "what you saw in the file",
    "note": "your note",
    "override": "what you saw in the transcript (optional)",
}


class ReviewDialog(FormDialog[ReviewForm]):
    """One kind of review, with its reason."""

    NAME: ClassVar[str] = "Review form"
    ABOUT: ClassVar[str] = (
        "The reason is saved with the review, beside the recording, with your name and the time."
        " The recording and published results do not change."
    )
    LABEL_WIDTH = 10
    ENTER = "~review-field"
    BINDINGS: ClassVar[list[BindingType]] = bindings("review-form")
    DEFAULT_CSS = "ReviewDialog > .dialog--box { max-width: 90; }"

    def __init__(self, kind: Kind, about: str, choice: str) -> None:
        super().__init__(f"{HEADINGS[kind]}: {about}")
        self._kind = kind
        self._choice = choice

    def compose_body(self) -> Iterable[Widget]:
        """One line per field."""
        with Vertical(classes="dialog--body"):
            if self._kind == "override":
                yield self.line("score", "score", "", "0 to 1, such as 0.8")
            elif self._kind == "mark":
                yield self.row("mark", FormChoice(MARK_WORDS, self._choice, id="choice"))
            elif self._kind == "fault":
                yield self.row("fault", FormChoice(FAULTS, self._choice, id="choice"))
            placeholder = PLACEHOLDERS.get(self._kind, "what you saw in the transcript")
            label = "note" if self._kind == "note" else "why"
            yield self.line(label, "why", "", placeholder)
            yield Static(id="hint", markup=False)

    @property
    def form(self) -> ReviewForm:
        """The form as filled in so far."""
        typed = {field.id: field.value for field in self.query(Input)}
        choice = next((choice.value for choice in self.query(Choice)), "")
        return ReviewForm(self._kind, typed.get("score", ""), choice, typed.get("why", ""))

    def hint(self, *, trying: bool) -> Cell:
        """The missing part of the form, or a note that it is complete."""
        if problem := self.form.problem:
            return Cell(problem, "bad" if trying else "quiet")
        return Cell("enter saves it", "quiet")

    def action_give(self) -> None:
        """Close with the form, or go to the field that is missing."""
        form = self.form
        if not form.problem:
            self.dismiss(form)
            return
        self.tell(trying=True)
        at = "#score" if form.kind == "override" and score_typed(form.score) is None else "#why"
        self.query_one(at).focus()
