"""What would raise a conversation's score, largest gain first, and where points were lost. Computed with `score`, the same formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui import score as composite
from bioeval_tui.record.events import ConversationScored, ScorePart, TaskScored
from bioeval_tui.report import rows
from bioeval_tui.report.findings import (
    AssertionFails,
    Gain,
    LossFinding,
    RequestsFailed,
    SlowAnswers,
    TaskFellShort,
)
from bioeval_tui.report.sentences import LONGEST_LOSS, sentence
from bioeval_tui.report.words import reason_of
from bioeval_tui.text import clean_line, shorten

if TYPE_CHECKING:
    from bioeval_tui.report.result import ConversationResult

Mended = tuple[Gain, list[ScorePart], int]
"""A possible gain, with the parts and failed requests that it would lead to."""


class Loss(NamedTuple):
    """Why a conversation lost points, and what the judge quotes about it: of a partly done task, this may be what was done."""

    reason: str
    turn: int | None = None
    """The turn of the quotation; None without one."""
    quoted: str = ""


def gains(talk: ConversationResult) -> list[Gain]:
    """Return the ways to raise a conversation's score, the largest gain first; none without a score."""
    scored = talk.scored
    if scored is None or scored.score is None:
        return []
    found = []
    for mended in (_assertions, _tasks, _timing, _failures):
        for gain, parts, failures in mended(talk, scored):
            better = composite.compose(parts, failures).score
            if better is not None and better > scored.score:
                found.append(replace(gain, by=round(better - scored.score, 2)))
    return sorted(found, key=lambda gain: -gain.by)


def _assertions(talk: ConversationResult, scored: ConversationScored) -> Iterator[Mended]:
    checks = talk.checks
    results = [(check.weight, check.status == "passed") for check in checks]
    for place, check in enumerate(checks):
        if check.status == "failed":
            mended = [*results[:place], (check.weight, True), *results[place + 1 :]]
            part = composite.assertion_part(mended)
            gain = Gain("assertion", check.index, check.title)
            yield gain, _instead(scored, "assertion", part), scored.failures


def _tasks(talk: ConversationResult, scored: ConversationScored) -> Iterator[Mended]:
    tasks = [] if talk.judge_error else list(talk.tasks)
    for place, task in enumerate(tasks):
        # An item of a rubric that takes points away is best not met.
        best = 1.0 if task.points is None or task.points > 0 else 0.0
        met = None if task.points is None else bool(best)
        better = [*tasks[:place], task.model_copy(update={"score": best}), *tasks[place + 1 :]]
        part = composite.judged_part(better, len(better))
        yield Gain("task", task.task, task.title, met=met), _instead(scored, "task", part), scored.failures


def _timing(talk: ConversationResult, scored: ConversationScored) -> Iterator[Mended]:
    for part in scored.parts:
        if part.name == "timing":
            gain = Gain("timing", 0, "response times", target_s=talk.target_ms / 1000)
            best = part.model_copy(update={"value": 1.0})
            yield gain, _instead(scored, "timing", best), scored.failures


def _failures(_: ConversationResult, scored: ConversationScored) -> Iterator[Mended]:
    if scored.failures:
        yield Gain("failures", 0, "failed requests", failures=scored.failures), list(scored.parts), 0


def _instead(scored: ConversationScored, name: str, part: ScorePart) -> list[ScorePart]:
    return [part if old.name == name else old for old in scored.parts]


def lost_points(talk: ConversationResult, found: Sequence[Gain]) -> tuple[Loss, ...]:
    """Return why a conversation lost its points: the reasons behind these gains, in their order."""
    losses = []
    for gain in found:
        turn, quoted = _quotation(talk, gain)
        losses.append(Loss(sentence(_loss(talk, gain)), turn if quoted else None, quoted))
    return tuple(losses)


def _loss(talk: ConversationResult, gain: Gain) -> LossFinding:
    match gain.kind:
        case "task":
            task = _judged(talk, gain)
            return TaskFellShort(gain.title, reason_of(task), task.words)
        case "assertion":
            checks = talk.timelines.get(gain.index, [])
            last = talk.final_checks.get(gain.index) or checks[-1]
            # One that never passed has no turn of its own.
            return AssertionFails(gain.title, rows.decided_in(checks), last.reason)
        case "timing":
            slowest = talk.slowest_answer
            return SlowAnswers(slowest.turn, slowest.latency_ms) if slowest else SlowAnswers(None, None)
        case "failures":
            failed = next((failure for failure in talk.request_failures if failure.counted), None)
            return RequestsFailed(talk.failures, failed.error if failed else "")


def _quotation(talk: ConversationResult, gain: Gain) -> tuple[int | None, str]:
    """Return the turn and the words that the judge quotes about a task; empty without any."""
    evidence = rows.task_evidence(_judged(talk, gain)) if gain.kind == "task" else None
    message = talk.message(evidence[0]) if evidence is not None else None
    if evidence is None or message is None:
        return None, ""
    return message.turn, shorten(clean_line(evidence[1]), LONGEST_LOSS)


def _judged(talk: ConversationResult, gain: Gain) -> TaskScored:
    return next(task for task in talk.tasks if task.task == gain.index)
