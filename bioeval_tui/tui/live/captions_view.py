"""Captions that explain a run, one sentence at a time, to people who see one for the first time.

Rules derive them from the state alone, so a caption never says more than the screen shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.report import rows
from bioeval_tui.report.conclusion import conclude, in_condition
from bioeval_tui.text import plural, shorten, upper_first
from bioeval_tui.tui.shared.cells_view import Cell, score

if TYPE_CHECKING:
    from bioeval_tui.record.state import ConversationState, MessageState, RunState

LONGEST_TITLE = 60


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
        Cell("Does an agent do better when its user can answer its questions?", "strong"),
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
    started = [conversation for conversation in rows.talks(state, trial).values() if conversation is not None]
    if not started:
        return ""
    conversation = max(started, key=lambda each: each.started_at.timestamp() if each.started_at else 0.0)
    number, of = started.index(conversation) + 1, len(rows.conditions(state))
    begins = f"Conversation {number} of {of}"
    if conversation.ended is not None:
        return _after(state, conversation)
    if not conversation.messages:
        return f"{begins}: {_knows(state, conversation)}."
    knows = f"{begins}: {_knows(state, conversation)}."
    return _moment(state, conversation, trial) or _checked(begins, conversation) or knows


def _knows(state: RunState, conversation: ConversationState) -> str:
    if _is_local_model(state):
        withheld = conversation.key.condition == "withheld"
        told = "does not name the medicine" if withheld else "names the medicine this time"
        return f"a script plays the user and {told}; the agent is a real language model"
    if conversation.key.condition == "withheld":
        return "the user knows no facts, and cannot answer when the agent asks"
    facts = state.job_of(conversation.key.trial).get("facts")
    count = plural(len(facts) if isinstance(facts, list) else 0, "fact")
    return f"the same user again, who now knows {count} and shares them when asked"


def _moment(state: RunState, conversation: ConversationState, trial: int) -> str:
    """Return a caption for the newest turn, or an empty string if it needs none."""
    newest = conversation.messages[-1]
    if newest.failures:
        failed = newest.failures[-1]
        return f"A request to the {failed.peer} failed ({shorten(failed.error, LONGEST_TITLE)}); failures of the agent lower its score."
    turn = [message for message in conversation.messages if message.turn == newest.turn]
    holds = [
        checks[-1].title
        for checks in conversation.checks.values()
        if len(checks) > 1
        and checks[-1].status == "passed"
        and checks[-2].status == "failed"
        and checks[-1].after_turn >= newest.turn - 1
    ]
    if holds:
        more = f" and {plural(len(holds) - 1, 'more')}" if len(holds) > 1 else ""
        return f"Now true: {_title(holds[0])}{more.replace('mores', 'more')}. This is checked in the agent's state, not in its answers."
    facts = [fact for message in turn for fact in message.facts]
    if facts:
        why = "because the agent asked" if facts[-1].asked else "without being asked"
        return f"The user gives fact {facts[-1].fact} {why}."
    parting = rows.parting(state, trial)
    if parting is not None and newest.message in (parting, parting + 1):
        return "The conversations differ from here. Until now, they were the same, word for word."
    if _asks(conversation, newest):
        return "The agent asks. This user knows no facts, so the agent has to go on without the answer."
    if newest.signs_off:
        reads = "Rules judge" if _is_local_model(state) else "The judge reads"
        return f"The user signs off. {reads} the conversation, and every assertion is checked once more."
    return ""


def _asks(conversation: ConversationState, newest: MessageState) -> bool:
    """Whether a user who knows nothing was just asked, not merely greeted, or avoids the answer."""
    asked = conversation.messages[-2] if newest.role == "user" and len(conversation.messages) > 1 else newest
    withheld = conversation.key.condition == "withheld"
    return withheld and asked.role == "assistant" and asked.turn > 1 and asked.done and "?" in asked.text


def _checked(begins: str, conversation: ConversationState) -> str:
    """Return how many assertions hold since the last turn but the first; an empty string before that."""
    checks = conversation.latest_checks()
    turns = {check.after_turn for check in checks}
    if turns <= {0, 1} or len(turns) > 1:
        return ""
    failed = [check.title for check in checks if check.status != "passed"]
    passed = len(checks) - len(failed)
    hold = f"{passed} of {plural(len(checks), 'assertion')} {'holds' if passed == 1 else 'hold'}"
    return f"{begins}: after turn {turns.pop()}, {hold}{f', not yet {_title(failed[0])}' if failed else ''}."


def _after(state: RunState, conversation: ConversationState) -> str:
    if conversation.score is None:
        reads = "Rules judge" if _is_local_model(state) else "The judge reads"
        return f"The conversation has ended. {reads} it, and every assertion is checked once more."
    if conversation.score.score is None:
        return f"This conversation could not be scored: {shorten(conversation.score.reason, 120)}."
    failed = [check.title for check in conversation.latest_checks() if check.status == "failed"]
    count = len(conversation.final_checks)
    if failed:
        found = f"{len(failed)} of {plural(count, 'assertion')} do not hold, such as {_title(failed[0])}"
        found = found if len(failed) > 1 else f"{_title(failed[0])} does not hold"
    else:
        found = f"all {plural(count, 'assertion')} hold" if count else "it had no assertions"
    condition = conversation.key.condition
    where = in_condition(state.condition_title(condition), condition)
    return f"{upper_first(where)} the agent scores {score(conversation.score.score)}: {found}."


def _is_local_model(state: RunState) -> bool:
    return state.started is not None and bool(state.started.options.get("local_model"))


def _title(title: str) -> str:
    return f"“{shorten(title, LONGEST_TITLE)}”"
