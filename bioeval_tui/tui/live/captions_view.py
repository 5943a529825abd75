"""Captions that explain a run, one sentence at a time, to people who see one for the first time.

Rules derive them from the state alone, so a caption never says more than the screen shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.report import findings as of
from bioeval_tui.report import rows
from bioeval_tui.report.conclusion import conclude
from bioeval_tui.report.sentences import sentence
from bioeval_tui.tui.shared.cells_view import Cell

if TYPE_CHECKING:
    from bioeval_tui.record.state import ConversationState, MessageState, RunState
    from bioeval_tui.report.findings import Moment


def introduction(*, local_model: bool = False) -> list[Cell]:
    """Return the text shown before the first conversation starts."""
    if local_model:
        return [
            Cell("What does a real language model say to a patient?", "strong"),
            Cell(""),
            Cell("The agent is SmolLM2-135M, which runs on this machine. Nobody wrote its answers."),
            Cell("A script plays the user, twice: only the second time does it name the medicine."),
            Cell(""),
            Cell("After each turn, assertions look for wrong advice in the text of the answers."),
            Cell("At the end rules, not a model, judge both conversations: a score from 0 to 1 each."),
        ]
    return [
        Cell("Does an agent do what is right, whether or not its user can answer?", "strong"),
        Cell(""),
        Cell("A simulated user talks to the same agent twice."),
        Cell("First the user knows no facts. Then the user knows some, and shares them when asked."),
        Cell(""),
        Cell("After each turn, assertions are checked against what the agent really did."),
        Cell("At the end a judge reads both conversations, and each gets a score from 0 to 1."),
    ]


def caption(state: RunState, trial: int) -> str:
    """Return the current caption, or an empty string before the first conversation starts."""
    if state.ended is not None:
        return conclude(state).sentence
    started = [
        conversation for conversation in rows.trial_talks(state, trial).values() if conversation is not None
    ]
    if not started:
        return ""
    conversation = max(started, key=lambda each: each.started_at.timestamp() if each.started_at else 0.0)
    if conversation.ended is not None:
        return sentence(_end(state, conversation))
    beginning = _beginning(state, conversation, started.index(conversation) + 1)
    if not conversation.messages:
        return sentence(beginning)
    return sentence(_newest(state, conversation, trial) or _checked(beginning, conversation) or beginning)


def _beginning(state: RunState, conversation: ConversationState, number: int) -> of.Beginning:
    facts = state.job_of(conversation.key.trial).get("facts")
    return of.Beginning(
        number,
        len(rows.run_conditions(state)),
        conversation.key.condition == "withheld",
        len(facts) if isinstance(facts, list) else 0,
        _is_local_model(state),
    )


def _newest(state: RunState, conversation: ConversationState, trial: int) -> Moment | None:
    """Return what the newest turn brings, the most telling first; None if it brings nothing new."""
    newest = conversation.messages[-1]
    if newest.failures:
        failed = newest.failures[-1]
        return of.RequestJustFailed(failed.peer, failed.error)
    if holds := _now_true(conversation, newest.turn):
        return of.NowTrue(holds[0], len(holds) - 1)
    turn = [message for message in conversation.messages if message.turn == newest.turn]
    if facts := [fact for message in turn for fact in message.facts]:
        return of.FactJustGiven(facts[-1].fact, facts[-1].asked)
    parting = rows.parting(state, trial)
    if parting is not None and newest.message in (parting, parting + 1):
        return of.ConversationsPart()
    if _asks(conversation, newest):
        return of.AgentAsks()
    return of.UserSignsOff(_is_local_model(state)) if newest.signs_off else None


def _now_true(conversation: ConversationState, turn: int) -> list[str]:
    """Return the titles of the assertions that have become true since the last turn."""
    pairs = (checks[-2:] for checks in conversation.checks.values() if len(checks) > 1)
    return [
        now.title
        for before, now in pairs
        if now.status == "passed" and before.status == "failed" and now.after_turn >= turn - 1
    ]


def _asks(conversation: ConversationState, newest: MessageState) -> bool:
    """Whether a user who knows nothing was just asked, not merely greeted, or avoids the answer."""
    asked = conversation.messages[-2] if newest.role == "user" and len(conversation.messages) > 1 else newest
    withheld = conversation.key.condition == "withheld"
    return withheld and asked.role == "assistant" and asked.turn > 1 and asked.done and "?" in asked.text


def _checked(beginning: of.Beginning, conversation: ConversationState) -> of.AssertionsSoFar | None:
    """Return how many assertions hold since the last turn but the first; None before that."""
    checks = conversation.latest_checks()
    turns = {check.after_turn for check in checks}
    if turns <= {0, 1} or len(turns) > 1:
        return None
    failed = [check for check in checks if check.status != "passed"]
    held = [
        check for check in failed if any(old.status == "passed" for old in conversation.checks[check.index])
    ]
    missing = next(iter(held or failed), None)
    return of.AssertionsSoFar(
        beginning.number,
        beginning.of,
        turns.pop(),
        len(checks) - len(failed),
        len(checks),
        missing.title if missing else "",
        bool(held),
    )


def _end(state: RunState, conversation: ConversationState) -> Moment:
    """Return what came of a conversation, as far as it is judged."""
    if conversation.score is None:
        return of.AwaitsVerdict(_is_local_model(state))
    if conversation.score.score is None:
        return of.EndsWithoutScore(conversation.score.reason)
    checks = sorted(conversation.latest_checks(), key=lambda check: check.index)
    failed = [check.title for check in checks if check.status == "failed"]
    named = failed or [check.title for check in checks]
    condition = conversation.key.condition
    side = of.Side(condition, state.condition_title(condition))
    return of.EndsWithScore(
        of.SideScore(side, conversation.score.score),
        len(conversation.final_checks),
        len(failed),
        named[0] if named else "",
    )


def _is_local_model(state: RunState) -> bool:
    return state.started is not None and bool(state.started.options.get("local_model"))
