"""The live screen's title, the headings of its conversations, and its notices: waiting,
interrupted, not clean, not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Literal

from bioeval_tui.base.text import plural, upper_first
from bioeval_tui.base.units import clock, latency_short, number
from bioeval_tui.report.findings import NoUplift
from bioeval_tui.report.sentences import sentence
from bioeval_tui.tui.shared.cells import Cell, Tone, score_tone

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.events import OperatorActed
    from bioeval_tui.record.state import ConversationState, RunState

FROM_JOB = "the job:"
"""Prefix of the sender of intents that come from the job itself."""
LinkState = Literal["empty", "waiting", "live", "replay", "interrupted", "failed"]

ENDINGS: dict[str, Cell] = {
    "signed_off": Cell("■ signed off", "plain"),
    "max_turns": Cell("✗ message limit", "warn"),
    "agent_failed": Cell("✗ agent failed", "bad"),
    "evaluator_failed": Cell("! user failed", "warn"),
    "timed_out": Cell("! timed out", "warn"),
    "cancelled": Cell("– cancelled", "quiet"),
    "unknown": Cell("· imported", "quiet"),
    "not_held": Cell("? not run", "warn"),
}


def other_condition(both: Sequence[Condition], here: Condition) -> Condition:
    """Return the condition after this one; the first after the last, and after one that is not
    shown.
    """
    at = both.index(here) if here in both else -1
    return both[(at + 1) % len(both)]


def title_notes(state: RunState) -> list[Cell]:
    """Return the notes that stay visible: rehearsal, whether the run was imported, and whether it
    is clean.
    """
    started = state.started
    if started is None:
        return []
    notes = []
    if started.rehearsal:
        notes.append(Cell("rehearsal", "warn"))
    if started.source:
        notes.append(Cell("imported", "quiet"))
    if not state.clean:
        notes.append(Cell(f"! {state.cleanness}", "warn"))
    return notes


def title_state(
    state: RunState,
    link: LinkState,
    now: datetime | None,
    *,
    speed: float | None = 1.0,
    waits: bool = False,
    demo: bool = False,
) -> Cell:
    """Return the sign and word for the run's status, with the run's time or, for a replay, its
    speed.

    The first that is true is shown: the run has ended, its engine is gone, it is paused (not
    in a replay); then whether this is a demo, a replay or live. `waits` says that the demo or the
    replay is paused.

    A replay's position is on its bar. A `demo` has its own pace, so speed and time are left out.
    """
    seconds = run_seconds(state, now)
    after = elapsed = ""
    if seconds is not None:
        after, elapsed = f" after {clock(seconds)}", f" · elapsed {clock(seconds)}"
    if state.ended is not None:
        replayed = "RECORDING · " if link == "replay" and not demo else ""
        word, tone = _RUN_ENDS[state.ended.status]
        return Cell(f"{replayed}{word}{after}", tone)
    if link == "interrupted":
        return Cell(f"! INTERRUPTED{after}", "bad")
    if state.paused and link != "replay":
        return Cell(f"‖ PAUSED{elapsed}", "warn")
    if demo:
        if waits:
            return Cell("‖ DEMO", "warn")
        return Cell("▸ DEMO", "busy")
    if link == "replay":
        pace = "" if speed in (None, 1) else f" {speed:g}×"
        if waits:
            return Cell(f"‖ REPLAY{pace}", "warn")
        return Cell(f"▸ REPLAY{pace}", "busy")
    return Cell(f"● LIVE{elapsed}", "good")


_RUN_ENDS: dict[str, tuple[str, Tone]] = {
    "completed": ("■ ENDED", "plain"),
    "cancelled": ("– CANCELLED", "warn"),
    "failed": ("! NOT MEASURED", "bad"),
}


def run_seconds(state: RunState, now: datetime | None = None) -> float | None:
    """Return how long the run has worked; None before it started, and for an import, whose times
    may be its own.
    """
    if state.started is None or state.started.source is not None:
        return None
    return state.seconds(now)


def which_trial(state: RunState, trial: int) -> str:
    """Return the case, or `trial 2 of 3`; empty for the only trial."""
    case = state.case(trial)
    if case is not None:
        return case.title
    if state.started is not None and state.started.trials > 1:
        return f"trial {trial} of {state.started.trials}"
    return ""


@dataclass(frozen=True, slots=True)
class Head:
    """The line above a conversation: condition, state and score."""

    title: str
    """What the condition is called."""
    state: Cell
    score: Cell
    """The score; until there is one, how many assertions hold."""
    means: str = ""
    """What the condition means, in plain words."""


def head(state: RunState, condition: Condition, trial: int, now: datetime | None) -> Head:
    """Return the header of one conversation; `now` is in the run's own time."""
    conversation, title = state.conversation(condition, trial), state.condition_title(condition)
    if conversation is None:
        waiting = Cell("– not run" if state.ended else "◌ queued", "quiet")
        return Head(title, waiting, Cell("–", "quiet"), meaning(state, condition, trial))
    said = _conversation_state(state, conversation, now)
    return Head(title, said, score_cell(conversation), meaning(state, condition, trial))


def meaning(state: RunState, condition: Condition, trial: int) -> str:
    """Explain a condition in plain words: `the user knows no facts`, `the user knows 2 facts`."""
    listed = state.trial_job(trial).get("facts")
    if not isinstance(listed, list) or not (known := state.condition(condition).known(listed)):
        return "the user knows no facts"
    return f"the user knows {plural(len(known), 'fact')}"


def short_state(state: RunState, condition: Condition, trial: int) -> Cell:
    """Return a conversation's state for a narrow tab: a sign and a few words."""
    conversation = state.conversation(condition, trial)
    if conversation is None:
        return Cell("–" if state.ended else "◌", "quiet")
    if conversation.score is not None or conversation.ended is not None:
        sign, value = Cell("■"), None
        if conversation.ended is not None:
            sign = ENDINGS[conversation.ended.how]
        if conversation.score is not None:
            value = conversation.score.score
        tone = score_tone(value) if sign.tone == "plain" else sign.tone
        return Cell(f"{sign.text.split()[0]} {number(value)}", tone)
    turn = conversation.turns
    if not turn:
        return Cell("● preparing", "busy")
    if condition in state.paused:
        return Cell(f"‖ turn {turn}", "warn")
    return Cell(f"● turn {turn}", "busy")


def operator_has(state: RunState, condition: Condition) -> bool:
    """Whether a person plays the user in this condition now."""
    act = _newest_turn(state, condition)
    return act is not None and act.action == "take_over"


def played_by_hand(state: RunState, condition: Condition) -> bool:
    """Whether the job has a person play the user, so that every viewer is asked."""
    act = _newest_turn(state, condition)
    return act is not None and act.action == "take_over" and act.sender.startswith(FROM_JOB)


def _newest_turn(state: RunState, condition: Condition) -> OperatorActed | None:
    """Return when a person last took over or gave back."""
    for act in reversed(state.operator):
        if act.condition in (None, condition) and act.action in ("take_over", "give_back"):
            return act
    return None


def _conversation_state(
    state: RunState, conversation: ConversationState, now: datetime | None
) -> Cell:
    """Return what happens in a conversation now, or how it ended, and in which turn."""
    if conversation.ended is not None:
        ending = ENDINGS[conversation.ended.how]
        count = plural(conversation.turns, "turn")
        if conversation.phase == "judging" and conversation.score is None and state.ended is None:
            return Cell(f"{ending.text} · {count} · judge reads…", "busy")
        return Cell(f"{ending.text} · {count}", ending.tone)
    if state.ended is not None:
        return Cell("– not finished", "quiet")
    if not conversation.messages:
        return Cell("● preparing the session…", "busy")
    newest = conversation.messages[-1]
    where = "before turn 1"
    if conversation.turns:
        where = f"turn {conversation.turns}"
        if state.started is None or state.started.source is None:  # an imported one has no limit
            # A turn has two messages: the user's and the answer.
            where += f" of at most {conversation.max_messages // 2}"
    if conversation.key.condition in state.paused and newest.done:
        return Cell(f"‖ paused · {where}", "warn")
    # The person is next once an answer is whole, and as long as the user's message is not.
    if operator_has(state, conversation.key.condition) and (newest.role == "user") != newest.done:
        return Cell(f"✎ waiting for your message · {where}", "warn")
    doing = _doing(state, conversation, now)
    return Cell(f"● {where} · {doing}", "busy")


def _doing(state: RunState, conversation: ConversationState, now: datetime | None) -> str:
    newest = conversation.messages[-1]
    if newest.done and newest.role == "user" and not newest.signs_off:
        return "agent answers…"
    if newest.done:
        if state.job.get("assertions"):
            return "checks assertions…"
        return "reads its state…"
    waited = ""
    if now is not None:
        waited = f" {latency_short(max(0.0, (now - newest.started_at).total_seconds() * 1000))}"
    if newest.role == "assistant":
        return f"agent answers{waited}…"
    return f"evaluator thinks{waited}…"


def score_cell(conversation: ConversationState) -> Cell:
    """Return the score; until there is one, how many assertions hold, because nothing else is known
    of the result.
    """
    if conversation.score is not None:
        return Cell(number(conversation.score.score), score_tone(conversation.score.score))
    if conversation.ended is not None and conversation.ended.reason == "cancelled":
        return Cell("–", "quiet")
    checks = conversation.latest_checks()
    if not checks:
        return Cell("–", "quiet")
    hold = sum(check.status == "passed" for check in checks)
    said = f"assertions {hold} of {len(checks)}"
    if conversation.ended is None:
        said += " so far"
    return Cell(said, "quiet")


NEWS_S = 15.0
"""How long, in the run's time, a warning that does not affect the result is shown above the
conversations.
"""


def banner(state: RunState, link: LinkState, failure: str, now: datetime | None) -> str:
    """Return the warning to show above the conversations, or an empty string."""
    if link == "interrupted":
        talks = state.conversations.values()
        messages = chain.from_iterable(conversation.messages for conversation in talks)
        kept = sum(message.done for message in messages)
        why = failure.rstrip(".") or "the engine stopped before the run ended"
        run = state.started.run_id if state.started else ""
        return (
            f"! {why[0].upper()}{why[1:]}. {plural(kept, 'message')} kept; "
            f"bioeval-tui runs resume {run} continues from there."
        )
    if state.ended is not None and state.ended.status == "failed":
        return f"! Could not be measured: {state.ended.detail or 'the run failed'}"
    if state.unclean:
        finding = NoUplift(state.cleanness, state.unclean_details, not state.only_condition)
        return f"! {upper_first(sentence(finding))}."
    if state.ended is None and state.warnings and now is not None:
        newest = state.warnings[-1]
        if (now - newest.at).total_seconds() < NEWS_S:
            return f"! {newest.message}"
    return ""
