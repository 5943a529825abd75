"""What came after a run, as documents list it: people's reviews of conversations and of graded
submissions, and verdicts of later judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import DASH
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record import reviews
from bioeval_tui.record.assertions import same_assertions
from bioeval_tui.record.cases import job_part, judge_question, judged_items
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import (
    AssertionChecked,
    ConversationScored,
    CriteriaGiven,
    Reviewed,
    RunEvent,
    TaskScored,
    TranscriptScored,
)
from bioeval_tui.record.masking import masking
from bioeval_tui.record.overlay import Judging, Overlay, counting, judgings, read_overlay
from bioeval_tui.record.runs import overlay_path
from bioeval_tui.record.state import ConversationKey, ConversationState, RunState
from bioeval_tui.report.findings import AssertionChanged, CriteriaChanged, VerdictsReplaced


@dataclass(frozen=True, slots=True)
class Review:
    """One entry: a person's review of a conversation or task.

    `before` and `after` are scores in [0, 1].
    """

    kind: str
    author: str
    at: str
    condition: str | None
    trial: int | None
    task: int | None = None
    before: float | None = None
    after: float | None = None
    why: str = ""

    @property
    def about(self) -> str:
        """Such as `withheld, trial 1, task 2`."""
        parts: list[str] = []
        if self.condition:
            parts.append(self.condition)
        if self.trial:
            parts.append(f"trial {self.trial}")
        if self.task:
            parts.append(f"task {self.task}")
        return ", ".join(parts) or "the run"


def listed_reviews(overlay: Overlay) -> tuple[Review, ...]:
    """Return the entries of an overlay in order, without later verdicts, which `judged_again`
    has.
    """
    verdicts = (CriteriaGiven, TranscriptScored, AssertionChecked, ConversationScored)
    return tuple(_review(event) for event in overlay.events if not isinstance(event, verdicts))


def _review(event: RunEvent) -> Review:
    who, at = event.author or "unknown", event.at.isoformat()
    if not isinstance(event, Reviewed):
        return Review(event.kind.replace("_", " "), who, at, event.condition, event.trial)
    kind = " ".join(filter(None, (event.action, event.fault, event.mark)))
    if event.blind:
        kind += ", blind"
    return Review(
        kind,
        who,
        at,
        event.condition,
        event.trial,
        event.task,
        event.before,
        event.after,
        event.why,
    )


REPORT_REVIEWS = "reviews"
"""The overlay of a folder of grading reports is called this, with the overlay's ending."""


def reports_folder(path: Path) -> Path:
    """Return the folder of a batch's report, given the report, one task's report or the folder
    itself.
    """
    folder = path if path.is_dir() else path.absolute().parent
    if folder.name.endswith("_individual_reports"):
        return folder.parent
    return folder


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
    return f"{report.task_id} {report.submission_path} {report.created_words}"


def report_marks(path: Path, reports: Iterable[TaskReport]) -> list[str]:
    """Return the reviews of each report loaded from `path`, a file or a folder; empty without
    any.
    """
    by_submission = report_reviews(reports_folder(path)).submissions
    return [reviews.mark_words(by_submission.get(submission_key(report), {})) for report in reports]


# Later verdicts


@dataclass(frozen=True)
class JudgingRow:
    """One verdict on one conversation."""

    verdict: TranscriptScored
    prompts: Mapping[str, str]
    """The hash of each prompt, by its name."""
    score: float | None
    counts: bool
    criteria: Mapping[int, str]
    """By which criteria it judged each task or item, by its number, in the words that people read.
    """
    alike: frozenset[int]
    """The tasks about which it was asked the same as those that count."""
    judging: Judging | None = None
    """When it was judged again, and by whom; None for the recorded one."""
    waits: bool = False
    """Whether it does not count yet, because not every conversation is judged by these criteria."""

    @property
    def author(self) -> str:
        """Who had it judged; empty for the recorded one."""
        if self.judging:
            return clean_line(self.judging.author, 100)
        return ""

    @property
    def at(self) -> str:
        """When it was judged; empty for the recorded one."""
        if self.judging:
            return self.judging.at
        return ""

    @property
    def job(self) -> str:
        """The job file whose criteria are not the recorded ones; empty for these."""
        if self.judging and self.judging.begun:
            return self.judging.begun.job_name
        return ""

    @property
    def judge(self) -> str:
        """The judge's name."""
        return clean_line(self.verdict.judge, 200)

    @cached_property
    def comparable(self) -> TranscriptScored:
        """The verdict with those tasks only about which it was asked the same as the one that
        counts.
        """
        if self.alike.issuperset(self.criteria):
            return self.verdict
        members = tuple(
            {
                **one,
                "tasks": [
                    task for task in one.get("tasks") or () if task.get("task") in self.alike
                ],
            }
            for one in self.verdict.verdicts
        )
        tasks = tuple(task for task in self.verdict.tasks if task.task in self.alike)
        return self.verdict.model_copy(update={"tasks": tasks, "verdicts": members})

    @property
    def job_words(self) -> str:
        """Whose criteria it judged by."""
        if self.job:
            return f"criteria of {clean_line(self.job, 80)}"
        return "criteria as recorded"

    @property
    def asked_words(self) -> str:
        """The beginning of the hash of what the judge was asked, and whether it was asked before; a
        dash where it is unknown.
        """
        asked = clean_line(self.verdict.question)[:8] or DASH
        if self.verdict.kept:
            return f"{asked} before, kept"
        return asked

    @property
    def prompt_words(self) -> str:
        """The prompts by name with the beginning of their hashes."""
        return (
            ", ".join(f"{name} {digest[:8]}" for name, digest in sorted(self.prompts.items()))
            or "no prompt"
        )

    @property
    def task_words(self) -> str:
        """Such as `1: 0.20, 2: 0.90`."""
        return (
            ", ".join(f"{task.task}: {task.words}" for task in self.verdict.tasks) or "no verdict"
        )


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """One conversation: its recorded verdict, then each later one in order."""

    key: ConversationKey
    where: str
    """Which conversation, such as `without the facts, trial 1`."""
    recorded_verdict: TranscriptScored | None
    rows: tuple[JudgingRow, ...]
    recorded_criteria: Mapping[int, str]
    changed_assertions: tuple[AssertionChanged, ...]
    """The assertions, in the order of the latest job by which they were checked again, whose
    outcome is not the recorded one.
    """

    @property
    def new_criteria(self) -> list[CriteriaChanged]:
        """Each task, in order, that was judged by other criteria than the recorded ones."""
        changed = set()
        for row in self.rows:
            if not row.job:
                continue
            for number, words in row.criteria.items():
                recorded = self.recorded_criteria.get(number, "")
                if words != recorded:
                    changed.add((number, recorded, words, row.job))
        return [CriteriaChanged(*one) for one in sorted(changed)]


def judged_again(
    state: RunState, overlay: Overlay, *, counts: bool
) -> dict[ConversationKey, JudgedAgain]:
    """Return what was judged again; when it `counts`, the latest verdict of each conversation by
    the criteria in force does.
    """
    by_talk: dict[ConversationKey, JudgedAgain] = {}
    found = judgings(state, overlay)
    counted = counting(state, found) if counts else []
    every = list(chain.from_iterable(found.values()))
    newest = max(every, key=lambda one: one.verdict.seq, default=None)
    in_force = {one.criteria for one in counted} or {""}
    waits = None
    if counts and newest is not None and newest.criteria not in in_force:
        waits = newest.criteria
    in_use = set(map(id, counted))
    begun = {one.begun.judging: one.begun for one in every if one.begun is not None}
    states = {"": state} | {judging: state.judged_anew(event) for judging, event in begun.items()}
    now = next((states[one.verdict.judging] for one in counted if one.begun is not None), state)
    for key, talk in state.conversations.items():  # verdicts may come in another order
        same = found.get(key)
        if same is None:
            continue
        recorded_questions, current = questions(state, key), questions(now, key)
        rows = [
            _judging_row(
                one.verdict,
                asked=questions(states[one.begun.judging if one.begun is not None else ""], key),
                counted=current,
                prompts=one.verdict.prompts,
                score=one.score.score if one.score else None,
                counts=id(one) in in_use,
                judging=one,
                waits=one.criteria == waits,
            )
            for one in same
        ]
        if talk.verdict:
            recorded = _judging_row(
                talk.verdict,
                asked=recorded_questions,
                counted=current,
                prompts=recorded_prompts(state, talk.verdict),
                score=talk.score.score if talk.score else None,
                counts=not any(each.counts for each in rows),
            )
            rows.insert(0, recorded)
        where = f"{state.condition_title(key.condition)}, {talk.trial_words}"
        own = {number: _criteria_words(one) for number, one in recorded_questions.items()}
        last = same[-1]
        changed: tuple[AssertionChanged, ...] = ()
        if last.has_checks and last.begun is not None:
            anew = states[last.begun.judging].trial_job(key.trial)
            recorded_job = state.trial_job(key.trial)
            changed = tuple(_changed_assertions(where, talk, recorded_job, anew, last))
        by_talk[key] = JudgedAgain(key, where, talk.verdict, tuple(rows), own, changed)
    return by_talk


def _changed_assertions(
    where: str,
    talk: ConversationState,
    recorded: Mapping[str, Any],
    given: Mapping[str, Any],
    last: Judging,
) -> Iterator[AssertionChanged]:
    """Yield each assertion with another outcome than the recorded one, and those that only one of
    the jobs has.
    """
    pairs = same_assertions(recorded.get("assertions") or (), given.get("assertions") or ())
    job = last.begun.job_name if last.begun is not None else ""
    old_of = {new: talk.final_checks[old] for new, old in pairs.items() if old in talk.final_checks}
    for check in last.checks:
        old = old_of.pop(check.index, None)
        was = old.status if old is not None else ""
        if was != check.status:
            yield AssertionChanged(where, check.title, was, check.status, job, check.reason)
    asked = {pairs.get(check.index) for check in last.checks}
    for index, old in talk.final_checks.items():
        if index not in asked:
            yield AssertionChanged(where, old.title, old.status, "", job)


def _judging_row(
    verdict: TranscriptScored,
    *,
    asked: Mapping[int, Mapping[str, Any]],
    counted: Mapping[int, Mapping[str, Any]],
    **fields: Any,
) -> JudgingRow:
    """Return a row, given what the judge was asked about each task, and what counts now."""
    alike = frozenset(number for number, one in asked.items() if counted.get(number) == one)
    words = {number: _criteria_words(one) for number, one in asked.items()}
    return JudgingRow(verdict, criteria=words, alike=alike, **fields)


def questions(state: RunState, key: ConversationKey) -> dict[int, dict[str, Any]]:
    """Return what is asked about each task or item of a conversation, by its number."""
    job = state.trial_job(key.trial)
    listed = judged_items(job, key.condition)
    return {number: judge_question(job, item, key.condition) for number, item in listed.items()}


def _criteria_words(asked: Mapping[str, Any]) -> str:
    """Return the criteria of a task, those of an item of a rubric being the item itself, or its
    rules.
    """
    criteria = asked["criteria"] or ""
    if not criteria and asked["points"] is not None:
        criteria = asked["task"]
    return clean_line(criteria) or "; ".join(clean_line(rule["pattern"]) for rule in asked["rules"])


def recorded_prompts(state: RunState, verdict: TranscriptScored) -> dict[str, str]:
    """Return the prompt of a recorded verdict, by name: the run's, unless it was resumed with
    another.
    """
    if verdict.prompts:
        return verdict.prompts
    scorer = job_part(state.job, "scorer")
    if scorer.get("kind") == "rules" or not state.started:
        return {}
    name, recorded = scorer.get("prompt"), state.started.prompts
    if name in recorded:
        return {name: recorded[name]}
    return {}


def verdicts_replaced(
    judged: Mapping[ConversationKey, JudgedAgain], conversations: int, *, run: str = ""
) -> VerdictsReplaced | None:
    """Return which verdicts count of `held` conversations; None if nothing was judged again."""
    if not judged:
        return None
    later = [[row for row in again.rows if row.at] for again in judged.values()]
    waiting = [rows[-1] for same in later if (rows := [row for row in same if row.waits])]
    counted = [row for row in chain.from_iterable(later) if row.counts]
    shown = waiting or counted or [same[-1] for same in later]
    judges = tuple(sorted({row.judge for row in shown}))
    counts = bool(counted) and not waiting
    return VerdictsReplaced(
        len(shown), conversations, counts, judges, run, shown[-1].job, bool(waiting)
    )


class PrintedJudging(TypedDict):
    """One verdict on a conversation; `counts` marks the one in use.

    `question` is the hash of what the judge was asked, null in older recordings and with --redact,
    which leaves out `prompts`, too; `job` the job file whose criteria were used instead of the
    recorded ones. Each of `tasks` has the `criteria` that
    it was judged by.
    """

    condition: Condition
    trial: int
    judge: str
    prompts: dict[str, str]
    question: str | None
    job: str | None
    author: str | None
    at: str | None
    recorded: bool
    tasks: list[dict[str, Any]]
    tone: float | None
    score: float | None
    counts: bool
    kept: bool
    """Whether it is an earlier verdict, because the judge would have been asked the same."""


def _printed_task(task: TaskScored, criteria: str) -> dict[str, Any]:
    fields = task.model_dump(mode="json") | {"unproved": task.unproved, "criteria": criteria}
    if task.measured:
        return fields
    return fields | {"score": None, "passed": None}


def judged_again_dicts(judged: Mapping[ConversationKey, JudgedAgain]) -> list[PrintedJudging]:
    """Return one object for each verdict on a conversation that was judged again, the recorded one
    first.
    """
    printed: list[PrintedJudging] = []
    for again in judged.values():
        printed += [_printed_judging(again.key, row) for row in again.rows]
    return printed


def _printed_judging(key: ConversationKey, row: JudgingRow) -> PrintedJudging:
    return {
        "condition": key.condition,
        "trial": key.trial,
        "judge": row.judge,
        "prompts": {} if masking() else dict(sorted(row.prompts.items())),
        "question": None if masking() else row.verdict.question or None,
        "job": row.job or None,
        "author": row.author or None,
        "at": row.at or None,
        "recorded": not row.at,
        "tasks": [
            _printed_task(task, row.criteria.get(task.task, "")) for task in row.verdict.tasks
        ],
        "tone": row.verdict.tone,
        "score": row.score,
        "counts": row.counts,
        "kept": row.verdict.kept is not None,
    }
