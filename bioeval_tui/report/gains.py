"""What would raise a conversation's score, largest gain first, where points were lost, and a run's preview with both.

Computed with `score`, the same formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui import score as composite
from bioeval_tui.record.events import ConversationScored, ScorePart, TaskScored
from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.report import rows
from bioeval_tui.report.brief import Brief
from bioeval_tui.report.findings import (
    AssertionFails,
    Gain,
    LossFinding,
    RequestsFailed,
    SlowAnswers,
    TaskFellShort,
)
from bioeval_tui.report.result import RunResult
from bioeval_tui.report.sentences import LONGEST_LOSS, sentence
from bioeval_tui.report.words import reason_of
from bioeval_tui.text import clean_line, shorten
from bioeval_tui.units import signed

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


GAINS, LOSSES, LAST = 4, 2, 2
"""How much of the lowest conversation a preview shows: gains, the reasons behind the largest or, without any, messages."""


@dataclass(frozen=True, slots=True)
class RunPreview:
    """The result of an ended run, for a preview beside a list."""

    sentence: str
    lowest: str = ""
    """The conversation that scored lowest, such as `withheld, trial 2`, to which the next four belong."""
    lost: tuple[Loss, ...] = ()
    """Why it lost most of its points, the largest loss first; empty if it lost nothing or has no score."""
    gains: tuple[tuple[str, str], ...] = ()
    """The largest possible gains of its score, and their size."""
    ways: tuple[str, ...] = ()
    """What to do about it if it never took place."""
    last: tuple[tuple[str, str], ...] = ()
    """Its last messages, role and text, if it has no loss to show."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the job calls the conditions."""
    brief: str = ""
    """The sentence in a few words."""
    about: Brief | None = None
    """Who was tested by whom, on what."""
    trials: int = 0
    seconds: float | None = None
    """How long a conversation took on average."""
    dollars: float | None = None
    """What a conversation cost on average; None if a part of it is unknown."""


def preview_of(run: RunResult) -> RunPreview:
    """Return a run's conclusion, and where its lowest conversation lost points."""
    found, trials = run.conclusion, run.planned_trials
    names: dict[str, str] = {condition: run.condition_name(condition) for condition in CONDITIONS}
    held = list(run.as_begun)
    scored = [(talk.score, talk) for talk in held if talk.score is not None]
    talk = min(scored, key=lambda one: one[0])[1] if scored else (held[-1] if held else None)
    if talk is None:
        return RunPreview(found.sentence, names=names, brief=found.brief, about=run.brief, trials=trials)
    times = [talk.ended.duration_ms / 1000 for talk in held if talk.ended and talk.ended.duration_ms]
    said = talk.messages
    if talk.end_reason == "signed_off" and said and said[-1].role == "user":
        said = said[:-1]
    cost = run.summary.spent.dollars
    possible = talk.gains[:GAINS]
    which = f", {talk.trial_words}" if len(run.trials) > 1 or talk.case else ""
    return RunPreview(
        found.sentence,
        talk.name + which,
        talk.losses(LOSSES),
        tuple((sentence(gain), signed(gain.by)) for gain in possible),
        talk.ways,
        () if possible else tuple((m.role, shorten(clean_line(m.text), LONGEST_LOSS)) for m in said[-LAST:]),
        names,
        found.brief,
        run.brief,
        trials,
        fmean(times) if times else None,
        None if cost is None else cost / len(held),
    )
