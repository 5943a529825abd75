"""What would raise a conversation's score, largest gain first, and where points were lost. Computed with `score`, the same formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bioeval_tui import score as composite
from bioeval_tui.record.events import ScorePart, job_number
from bioeval_tui.record.state import ConversationState, RunState
from bioeval_tui.report import rows
from bioeval_tui.report.numbers import signed
from bioeval_tui.report.run_summary import Loss
from bioeval_tui.report.words import seconds
from bioeval_tui.text import clean_line, plural, shorten


@dataclass(frozen=True, slots=True)
class Gain:
    """A possible improvement, and by how much it alone would raise the score."""

    kind: Literal["assertion", "task", "timing", "failures"]
    index: int
    """Of an assertion its index from 0, of a task its number from 1; 0 otherwise."""
    title: str
    what: str
    by: float

    @property
    def words(self) -> str:
        """The gain with its sign."""
        return signed(self.by)


LONGEST = 200
"""Maximum number of characters of a reason or a passage."""


def gains(state: RunState, conversation: ConversationState) -> list[Gain]:
    """Return the ways to raise a conversation's score, the largest gain first; none without a score."""
    scored = conversation.score
    if scored is None or scored.score is None:
        return []
    found: list[Gain] = []

    def weigh(gain: Gain, parts: list[ScorePart], failures: int) -> None:
        better = composite.compose(parts, failures).score
        if better is not None and scored.score is not None and better > scored.score:
            by = round(better - scored.score, 2)
            found.append(Gain(gain.kind, gain.index, gain.title, gain.what, by))

    def instead(name: str, part: ScorePart) -> list[ScorePart]:
        return [part if old.name == name else old for old in scored.parts]

    checks = conversation.latest_checks()
    results = [(check.weight, check.status == "passed") for check in checks]
    for place, check in enumerate(checks):
        if check.status == "failed":
            mended = [*results[:place], (check.weight, True), *results[place + 1 :]]
            gain = Gain("assertion", check.index, check.title, f"assertion “{check.title}”", 0.0)
            weigh(gain, instead("assertion", composite.assertion_part(mended)), scored.failures)
    tasks = (
        list(conversation.verdict.tasks) if conversation.verdict and not conversation.verdict.error else []
    )
    for place, task in enumerate(tasks):
        best = 1.0 if task.points is None or task.points > 0 else 0.0
        what = (
            f"task “{task.title}” to 1.0"
            if task.points is None
            else f"“{task.title}” {'met' if best else 'not met'}"
        )
        better = [*tasks[:place], task.model_copy(update={"score": best}), *tasks[place + 1 :]]
        gain = Gain("task", task.task, task.title, what, 0.0)
        weigh(gain, instead("task", composite.judged_part(better, len(better))), scored.failures)
    perfect = [part.model_copy(update={"value": 1.0}) for part in scored.parts if part.name == "timing"]
    if perfect:
        target_s = job_number(state.job, "aspirationalAverage", 0.0) / 1000
        gain = Gain("timing", 0, "response times", f"answers within {target_s:.1f} s on average", 0.0)
        weigh(gain, instead("timing", perfect[0]), scored.failures)
    if scored.failures:
        gain = Gain("failures", 0, "failed requests", f"no failures (now {scored.failures})", 0.0)
        weigh(gain, list(scored.parts), 0)
    return sorted(found, key=lambda gain: -gain.by)


def lost_points(talk: ConversationState, found: Sequence[Gain]) -> tuple[Loss, ...]:
    """Return why a conversation lost its points: the reasons behind these gains, in their order."""
    return tuple(_loss(talk, gain) for gain in found)


def _loss(talk: ConversationState, gain: Gain) -> Loss:
    turn, quoted = None, None
    match gain.kind:
        case "task":
            task = next(
                task for task in (talk.verdict.tasks if talk.verdict else ()) if task.task == gain.index
            )
            why = task.reason or f"the judge scored it {task.words}"
            if (evidence := rows.task_evidence(task)) is not None and (at := talk.message(evidence[0])):
                turn, quoted = at.turn, _line(evidence[1])
            reason = f"“{gain.title}”: {why}"
        case "assertion":
            checks = talk.checks.get(gain.index, [])
            last = talk.final_checks.get(gain.index) or checks[-1]
            turn = rows.decided_in(checks)  # one that never passed has no turn of its own
            since = f" since turn {turn}" if turn else ""
            reason = f"“{gain.title}” fails{since}" + (f": {last.reason}" if last.reason else "")
        case "timing":
            message = rows.slowest(talk)
            reason = "slow answers"
            if message is not None:
                reason += f": the slowest, in turn {message.turn}, took {seconds(message.latency_ms)}"
        case "failures":
            failed = next((failure for failure in talk.request_failures if failure.counted), None)
            reason = plural(talk.failures, "failed request") + (f": {failed.error}" if failed else "")
    return Loss(_line(reason), turn if quoted else None, quoted or "")


def _line(text: str) -> str:
    return shorten(clean_line(text), LONGEST)
