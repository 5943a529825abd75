"""Captions that explain a run, one sentence at a time, to people who see one for the first time.

Rules derive them from the state alone, so a caption never says more than the screen shows.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from bioeval_tui.report import findings as of, rows
from bioeval_tui.report.result import result_of
from bioeval_tui.report.sentences import sentence

if TYPE_CHECKING:
    from bioeval_tui.record.state import ConversationState, MessageState, RunState


def caption(state: RunState, trial: int) -> str:
    """Return what the newest event's conversation brings; empty if its newest turn brings nothing
    new.
    """
    if state.ended is not None:
        result = result_of(state)
        if result:
            return result.answer.what
        return ""
    conversation = state.conversations.get(state.newest) if state.newest else None
    if conversation is None:
        return ""
    if conversation.ended is not None:
        return sentence(_end(state, conversation))
    finding: of.Finding | None = None
    if conversation.messages:
        finding = _newest(state, conversation, trial) or _no_longer_true(state, conversation)
    if finding is None and conversation.turns <= 1:
        finding = _beginning(state, conversation)
    if finding:
        return sentence(finding)
    return ""


def _beginning(state: RunState, conversation: ConversationState) -> of.Beginning:
    listed = state.trial_job(conversation.key.trial).get("facts")
    facts = state.condition(conversation.key.condition).known(
        listed if isinstance(listed, list) else ()
    )
    conditions = state.started.conditions if state.started else ()
    return of.Beginning(
        conditions.index(conversation.key.condition) + 1,
        len(conditions),
        not facts,
        len(facts),
        _is_local_model(state),
    )


def _newest(state: RunState, conversation: ConversationState, trial: int) -> of.Finding | None:
    """Return what the newest turn brings, the most telling first; None if it brings nothing new."""
    newest = conversation.messages[-1]
    if newest.failures:
        failed = newest.failures[-1]
        return of.RequestJustFailed(failed.peer, failed.error)
    if holds := _now_true(conversation, newest.turn):
        return of.NowTrue(holds[0], len(holds) - 1)
    turn = [message for message in conversation.messages if message.turn == newest.turn]
    if facts := list(chain.from_iterable(message.facts for message in turn)):
        return of.FactJustGiven(facts[-1].fact, facts[-1].asked)
    parting = rows.parting(state, trial)
    if newest.message == parting and list(state.conversations)[-1] == conversation.key:
        return of.ConversationsPart()
    if _asks(state, conversation, newest):
        return of.AgentAsks()
    return None


def _now_true(conversation: ConversationState, turn: int) -> list[str]:
    """Return the titles of the assertions that have become true since the last turn."""
    pairs = (checks[-2:] for checks in conversation.checks.values() if len(checks) > 1)
    return [
        now.title
        for before, now in pairs
        if now.status == "passed" and before.status == "failed" and now.after_turn >= turn - 1
    ]


def _asks(state: RunState, conversation: ConversationState, newest: MessageState) -> bool:
    """Whether a user who knows nothing was asked, not merely greeted, and now avoids the answer."""
    knows_nothing = state.condition(conversation.key.condition).facts == "none"
    if newest.role != "user" or len(conversation.messages) < 2 or not knows_nothing:
        return False
    asked = conversation.messages[-2]
    return asked.turn > 1 and asked.done and "?" in asked.text


def _no_longer_true(state: RunState, conversation: ConversationState) -> of.NoLongerHolds | None:
    """Return an assertion that held and does not any more since the newest turn."""
    for checks in conversation.checks.values():
        before = checks[-2].status if len(checks) > 1 else ""
        if before == "passed" and checks[-1].status == "failed":
            side = of.Side(
                conversation.key.condition, state.condition_title(conversation.key.condition)
            )
            return of.NoLongerHolds(side, checks[-1].title)
    return None


def _end(state: RunState, conversation: ConversationState) -> of.Finding:
    """Return what came of a conversation, as far as it is judged."""
    side = of.Side(conversation.key.condition, state.condition_title(conversation.key.condition))
    if conversation.score is None:
        return of.AwaitsVerdict(side, _is_local_model(state))
    if conversation.score.score is None:
        return of.EndsWithoutScore(conversation.score.reason)
    checks = sorted(conversation.latest_checks(), key=lambda check: check.index)
    failed = [check.title for check in checks if check.status == "failed"]
    named = failed or [check.title for check in checks]
    return of.EndsWithScore(
        of.SideScore(side, conversation.score.score),
        len(conversation.final_checks),
        len(failed),
        named[0] if named else "",
    )


def _is_local_model(state: RunState) -> bool:
    return state.started is not None and bool(state.started.options.get("local_model"))
