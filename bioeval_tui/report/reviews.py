"""What came after a run, as documents list it: people's reviews of conversations and of graded submissions, and verdicts of later judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record import reviews
from bioeval_tui.record.events import ConversationScored, Reviewed, RunEvent, TaskScored, TranscriptScored
from bioeval_tui.record.names import Condition
from bioeval_tui.record.overlay import Overlay, judgings, read_overlay
from bioeval_tui.record.runs import overlay_path
from bioeval_tui.record.state import ConversationKey, RunState
from bioeval_tui.report.findings import VerdictsReplaced
from bioeval_tui.text import clean_line


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
    words = " ".join(filter(None, (event.action, event.fault, event.mark)))
    kind = f"{words}, blind" if event.blind else words
    return Review(
        kind, who, at, event.condition, event.trial, event.task, event.before, event.after, event.why
    )


REPORT_REVIEWS = "reviews"
"""The overlay of a folder of grading reports is called this, with the overlay's ending."""


def reports_folder(path: Path) -> Path:
    """Return the folder of a batch's report, given the report, one task's report or the folder itself."""
    folder = path if path.is_dir() else path.absolute().parent
    return folder.parent if folder.name.endswith("_individual_reports") else folder


def report_reviews(folder: Path) -> reviews.Reviews:
    """Return the reviews of the submissions whose grading report is in this folder.

    Raises:
        RecordingError: the file is there and cannot be read.
    """
    place = folder / REPORT_REVIEWS
    if not overlay_path(place).is_file():
        return reviews.Reviews()
    return reviews.fold_reviews(read_overlay(place).events)


def submission_key(report: TaskReport) -> str:
    """Return the key of a graded submission in the reviews: task, file and time of grading."""
    return f"{report.task_id} {report.submission_path} {report.created_at.isoformat()}"


def marks_at(path: Path, reports: Iterable[TaskReport]) -> list[str]:
    """Return the reviews of each report loaded from `path`, a file or a folder; empty without any."""
    by_submission = report_reviews(reports_folder(path)).submissions
    return [reviews.mark_words(by_submission.get(submission_key(report), {})) for report in reports]


# Later verdicts


@dataclass(frozen=True, slots=True)
class JudgingRow:
    """One verdict on one conversation. `author` and `at` are empty for the recorded one."""

    verdict: TranscriptScored
    prompts: Mapping[str, str]
    """The hash of each prompt, by its name."""
    score: float | None
    counts: bool
    author: str = ""
    at: str = ""

    @property
    def judge(self) -> str:
        """The judge's name."""
        return clean_line(self.verdict.judge, 200)

    @property
    def prompt_words(self) -> str:
        """The prompts by name with the beginning of their hashes."""
        return (
            ", ".join(f"{name} {digest[:8]}" for name, digest in sorted(self.prompts.items())) or "no prompt"
        )

    @property
    def task_words(self) -> str:
        """Such as `1: 0.20, 2: 0.90`."""
        return ", ".join(f"{task.task}: {task.words}" for task in self.verdict.tasks) or "no verdict"


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """One conversation: its recorded verdict, then each later one in order."""

    key: ConversationKey
    where: str
    """Which conversation, such as `facts withheld, trial 1`."""
    recorded_verdict: TranscriptScored | None
    rows: tuple[JudgingRow, ...]


def judged_again(state: RunState, overlay: Overlay, *, counts: bool) -> dict[ConversationKey, JudgedAgain]:
    """Return what was judged again; when it `counts`, the latest verdict of each conversation does."""
    by_talk: dict[ConversationKey, JudgedAgain] = {}
    for key, same in judgings(state, overlay).items():
        talk = state.conversations[key]
        rows = [
            JudgingRow(
                one.verdict,
                one.verdict.prompts,
                one.score.score if one.score else None,
                counts and one is same[-1],
                clean_line(one.author, 100),
                one.at,
            )
            for one in same
        ]
        if talk.verdict:
            score = talk.score.score if talk.score else None
            rows.insert(0, JudgingRow(talk.verdict, recorded_prompts(state, talk.verdict), score, not counts))
        where = f"{state.condition_title(key.condition)}, {talk.trial_words}"
        by_talk[key] = JudgedAgain(key, where, talk.verdict, tuple(rows))
    return by_talk


def recorded_prompts(state: RunState, verdict: TranscriptScored) -> dict[str, str]:
    """Return the prompt of a recorded verdict, by name: the run's, unless it was resumed with another."""
    if verdict.prompts:
        return verdict.prompts
    scorer = state.job.get("scorer")
    name = scorer.get("prompt") if isinstance(scorer, dict) and scorer.get("kind") != "rules" else None
    recorded = state.started.prompts if state.started else {}
    return {name: recorded[name]} if name in recorded else {}


def verdicts_replaced(
    judged: Mapping[ConversationKey, JudgedAgain], conversations: int, *, run: str = ""
) -> VerdictsReplaced | None:
    """Return which verdicts count of `held` conversations; None if nothing was judged again."""
    if not judged:
        return None
    latest = [again.rows[-1] for again in judged.values()]
    judges = tuple(sorted({row.judge for row in latest}))
    return VerdictsReplaced(len(judged), conversations, latest[0].counts, judges, run)


class PrintedJudging(TypedDict):
    """One verdict on a conversation; `counts` marks the one in use."""

    condition: Condition
    trial: int
    judge: str
    prompts: dict[str, str]
    author: str | None
    at: str | None
    recorded: bool
    tasks: list[dict[str, Any]]
    tone: float | None
    score: float | None
    counts: bool


def _printed_task(task: TaskScored) -> dict[str, Any]:
    fields = task.model_dump(mode="json") | {"unproved": task.unproved}
    return fields if task.measured else fields | {"score": None, "passed": None}


def judged_again_dicts(judged: Mapping[ConversationKey, JudgedAgain]) -> list[PrintedJudging]:
    """Return one object for each verdict on a conversation that was judged again, the recorded one first."""
    return [
        {
            "condition": again.key.condition,
            "trial": again.key.trial,
            "judge": row.judge,
            "prompts": dict(sorted(row.prompts.items())),
            "author": row.author or None,
            "at": row.at or None,
            "recorded": not row.at,
            "tasks": [_printed_task(task) for task in row.verdict.tasks],
            "tone": row.verdict.tone,
            "score": row.score,
            "counts": row.counts,
        }
        for again in judged.values()
        for row in again.rows
    ]
