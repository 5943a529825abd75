"""Reviews for the screens: the queue of reviewable items, and the overlay files that reviews are
saved in.

Everything here blocks; call it from a thread. A run's reviews are stored beside its recording.
Those of graded submissions stand in `reviews.overlay.jsonl` in the folder of the grading report,
which itself never changes.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean, clean_line
from bioeval_tui.evaluation.conversation.resume import is_finished
from bioeval_tui.grade.service import Grading
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record import events, reviews
from bioeval_tui.record.cases import judged_items, task_criteria
from bioeval_tui.record.catalogue import find_recording
from bioeval_tui.record.masking import NO_REVIEWS, masked, masking
from bioeval_tui.record.overlay import (
    Overlay,
    append_reviews,
    counting,
    judgings,
    read_overlay,
    state_in_force,
)
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.state import ConversationKey, ConversationState, RunState, apply_all
from bioeval_tui.report.brief import make_brief
from bioeval_tui.report.correction import last_draw, progress
from bioeval_tui.report.result import load_run
from bioeval_tui.report.reviews import REPORT_REVIEWS, report_reviews
from bioeval_tui.report.run import reason_of
from bioeval_tui.tui.data.grading import read_rows
from bioeval_tui.tui.grading_items import MedalRow
from bioeval_tui.tui.review_items import ItemId, Judgement, NewReview, ReviewItem, ReviewSource


class ReviewDesk:
    """Reads reviewable items and saves reviews. An unchanged recording is folded only once."""

    def __init__(self, settings: Settings, grading: Grading) -> None:
        self._runs_dir = settings.runs_dir
        self._grading = grading
        self._states: dict[Path, tuple[tuple[int, int], RunState]] = {}
        self._rows: dict[Path, list[MedalRow]] = {}

    def queue(self, source: ReviewSource) -> list[ReviewItem]:
        """Return what can be reviewed, in the order of runs, trials, conditions and tasks.

        Of a source that is `drawn`, these are the tasks drawn from its runs, in the order of the
        draw; its rows and reports are left out.

        Raises:
            RecordingError, InputError, UsageError: a recording or report cannot be read or found.
        """
        queue: list[ReviewItem] = []
        paths = [find_recording(run_id, self._runs_dir) for run_id in source.run_ids]
        for run_id, path in zip(source.run_ids, paths, strict=True):
            queue += run_items(run_id, self._state(path), read_overlay(path))
        if source.drawn:
            return _sampled_items(queue, paths, source)
        rows = list(source.rows)
        for path in source.reports:
            if path not in self._rows:
                self._rows[path] = read_rows(self._grading, path)
            rows += self._rows[path]
        return [*queue, *self._submissions(rows)]

    def give(self, item: ReviewItem, given: NewReview, author: str) -> str:
        """Append a review of an item; return the entry's id.

        A reviewer who scored a task and undid it has seen the judge's score, so a second score is
        not blind.

        Raises:
            UsageError: the item's report is no file, so that nothing can stand beside it.
            RecordingError: the overlay cannot be written.
        """
        if given.blind and self._has_scored(item, author):
            given = replace(given, blind=False)
        return self._append(item, author, **_review_fields(item, given))

    def _has_scored(self, item: ReviewItem, author: str) -> bool:
        if item.id.key is None:
            return False
        entries = read_overlay(find_recording(item.id.place, self._runs_dir)).events
        return any(
            isinstance(entry, events.Reviewed)
            and (entry.author, _key(entry), entry.task) == (author, item.id.key, item.id.task)
            and entry.action in ("accept", "override")
            for entry in entries
        )

    def undo(self, item: ReviewItem, entry: str, author: str) -> None:
        """Append that an entry is undone; both stay on record. Raises as `give` does."""
        self._append(item, author, action="undo", undoes=entry)

    def marks(self, rows: Sequence[MedalRow]) -> list[reviews.Opinions]:
        """Return the reviews of each row's submission; none where it has no report file."""
        reviewed = cache(report_reviews)

        def opinions(row: MedalRow) -> reviews.Opinions:
            if row.folder is None:
                return {}
            return dict(reviewed(row.folder).submissions.get(row.submission, {}))

        return list(map(opinions, rows))

    def _state(self, path: Path) -> RunState:
        stat = path.stat()
        mark = (stat.st_size, stat.st_mtime_ns)
        known = self._states.get(path)
        if known is None or known[0] != mark:
            known = (mark, apply_all(RunState(), read_recording(path).events))
            self._states[path] = known
        return known[1]

    def _submissions(self, rows: Iterable[MedalRow]) -> Iterator[ReviewItem]:
        read = cache(report_reviews)
        for row in rows:
            if row.folder is None or row.report is None:
                continue
            reviewed = read(row.folder)
            key = row.submission
            yield ReviewItem(
                id=ItemId(str(row.folder), None, None, key),
                subject=masked(row.task_id),
                title=masked(row.task_id),
                row=row,
                opinions=reviewed.submissions.get(key, {}),
                notes=tuple(note for note in reviewed.notes if note.submission == key),
                graded=_graded_mark(row.report),
            )

    def _append(self, item: ReviewItem, author: str, **fields: Any) -> str:
        if masking():
            raise UsageError(NO_REVIEWS)
        where: dict[str, Any] = {
            "run_id": "report",
            "submission": item.id.submission,
            "task": item.id.task,
        }
        if item.id.key is None:
            if item.row is None or item.row.folder is None:
                raise UsageError(
                    "this was graded without a report; use `grade --output-dir` to keep one"
                )
            path = item.row.folder / REPORT_REVIEWS
        else:
            path = find_recording(item.id.place, self._runs_dir)
            assert item.conversation is not None
            where |= {"run_id": path.stem, "attempt": item.conversation.attempt}
            where |= {"condition": item.id.key.condition, "trial": item.id.key.trial}
        entry = secrets.token_hex(8)
        now = datetime.now(UTC)
        append_reviews(
            path, [events.Reviewed(**where, **fields, review=entry, author=author, seq=0, at=now)]
        )
        return entry


def _sampled_items(
    items: Sequence[ReviewItem], paths: Sequence[Path], source: ReviewSource
) -> list[ReviewItem]:
    """Return the sampled items in the order of the sample, with the estimate from the reviews so
    far.
    """
    places: dict[tuple[str, ConversationKey | None, int | None], int] = {}
    for run_id, path in zip(source.run_ids, paths, strict=True):
        if (draw := last_draw(path)) is None:
            continue
        for each in draw.items:
            key = ConversationKey(each.condition, each.trial)
            places[run_id, key, each.task] = each.place
    words = progress([load_run(path) for path in paths])
    placed = [
        (places[item.id.place, item.id.key, item.id.task], replace(item, sample=words))
        for item in items
        if (item.id.place, item.id.key, item.id.task) in places
    ]
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]


def run_items(place: str, state: RunState, overlay: Overlay) -> list[ReviewItem]:
    """Return a run's judged tasks, with the verdict in force, and the submissions that were graded
    in it.
    """
    now = state_in_force(state, overlay)
    folded = reviews.fold_reviews(overlay.events, state, now)
    begun = counting(state, judgings(state, overlay))
    judging = next((one.verdict.judging for one in begun if one.criteria), "")
    items: list[ReviewItem] = []
    order = state.started.conditions if state.started else ()
    places = {condition: at for at, condition in enumerate(order)}
    conversations = sorted(
        state.conversations.items(),
        key=lambda pair: (pair[0].trial, places.get(pair[0].condition, 9)),
    )
    for key, conversation in conversations:
        if not is_finished(conversation):
            continue
        verdict = now.conversations[key].verdict
        for number, item in judged_items(now.trial_job(key.trial), key.condition).items():
            made = _task_item(place, now, folded, conversation, verdict, number, item)
            items.append(replace(made, judging=judging))
        items += _graded_items(place, state, folded, conversation)
    return items


def _task_item(
    place: str,
    state: RunState,
    folded: reviews.Reviews,
    conversation: ConversationState,
    verdict: events.TranscriptScored | None,
    number: int,
    item: dict[str, Any],
) -> ReviewItem:
    # Those of its own condition, as its judge had them: what is right with the facts is often wrong
    # without them.
    job = state.trial_job(conversation.key.trial)
    criteria = task_criteria(job, item, conversation.key.condition)
    notes = (n for n in folded.notes if n.task == number and _key(n) == conversation.key)
    return ReviewItem(
        id=ItemId(place, conversation.key, number, None),
        subject=_subject(state),
        title=clean_line(str(item.get("task", ""))),
        brief=make_brief(state, state.started, conversation.key.trial) if state.started else None,
        criteria=clean_line(criteria, 2000),
        judged=_judgement(conversation, verdict, number),
        conversation=conversation,
        opinions=folded.tasks.get(reviews.TaskKey(conversation.key, number), {}),
        faults=folded.faults.get(conversation.key, {}),
        notes=tuple(notes),
        fault=conversation.fault or "none",
        condition=state.condition_title(conversation.key.condition),
    )


def _judgement(
    conversation: ConversationState, verdict: events.TranscriptScored | None, number: int
) -> Judgement:
    judge = why = ""
    task = None
    if verdict is not None:
        judge, why = clean_line(verdict.judge, 100), verdict.error or ""
        if not why:
            task = next((task for task in verdict.tasks if task.task == number), None)
    if task is None:
        if not why and conversation.score:
            why = conversation.score.reason
        return Judgement(judge, None, clean_line(why or "not judged"))
    if not task.measured:
        return Judgement(judge, None, clean_line(reason_of(task)))
    quoted = tuple(
        quote.model_copy(update={"quote": clean(quote.quote, 2000)}) for quote in task.evidence
    )
    update = {"reason": clean(task.reason, 10_000), "evidence": quoted}
    return Judgement(judge, task.model_copy(update=update))


def _graded_items(
    place: str, state: RunState, folded: reviews.Reviews, conversation: ConversationState
) -> Iterator[ReviewItem]:
    for graded in conversation.submissions:
        if graded.report is None:
            continue
        try:
            report = TaskReport.from_dict(graded.report)
        except (ValueError, TypeError, AttributeError):
            continue  # written by a newer program
        key = f"{conversation.key.condition}/{conversation.key.trial}/{graded.assertion}"
        agent = state.started.agent if state.started else ""
        task_id = clean_line(report.task_id, 200)
        row = MedalRow(task_id, clean_line(agent, 80), clean_line(report.submission_path), report)
        yield ReviewItem(
            id=ItemId(place, conversation.key, None, key),
            subject=_subject(state),
            title=masked(task_id),
            conversation=conversation,
            row=row,
            opinions=folded.submissions.get(key, {}),
            faults=folded.faults.get(conversation.key, {}),
            notes=tuple(n for n in folded.notes if n.submission == key),
            fault=conversation.fault or "none",
            graded=_graded_mark(report),
            condition=state.condition_title(conversation.key.condition),
        )


def _review_fields(item: ReviewItem, given: NewReview) -> dict[str, Any]:
    """Return the event's fields: the values before and after the review."""
    fields: dict[str, Any] = {"action": given.action, "why": given.why, "blind": given.blind}
    if given.action == "fault":
        before = reviews.reviewed_fault(item.faults) or item.fault
        return {**fields, "fault_before": before, "fault": given.fault}
    if given.action == "note":
        return fields
    if item.row is not None:
        before_mark = reviews.reviewed_mark(item.opinions) or item.graded
        return {**fields, "mark_before": before_mark, "mark": given.mark}
    judged = item.judged
    score = reviews.reviewed_score(item.opinions)
    if score is None and judged is not None:
        score = judged.score
    fields |= {"before": score, "after": given.score, "judging": item.judging}
    return {**fields, "judge": judged.judge if judged else None}


def _graded_mark(report: TaskReport) -> events.Mark:
    if report.valid_submission:
        return "valid"
    return "invalid"


def _subject(state: RunState) -> str:
    if state.started:
        return clean_line(state.started.job_name, 80)
    return "unknown"


def _key(entry: events.Reviewed) -> ConversationKey | None:
    if entry.condition and entry.trial:
        return ConversationKey(entry.condition, entry.trial)
    return None
