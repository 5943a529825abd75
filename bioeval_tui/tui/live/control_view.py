"""Which actions that control a run apply now, and which need its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.tui.live.heads_view import LinkState, operator_has

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import RunState

CONTROL = frozenset({"pause", "resume", "step", "take_over", "say", "give_back", "cancel", "cancel_all"})


def applies(action: str, state: RunState, link: LinkState, condition: Condition, trial: int) -> bool:
    """Return whether `action` applies in this state, for the active conversation."""
    if action in CONTROL:
        return _can_control(action, state, link, condition, trial)
    match action:
        case "score_card":
            return any(
                conversation.score or conversation.ended for conversation in state.conversations.values()
            )
        case "again":
            return link in ("failed", "interrupted") or state.ended is not None
        case _:
            return True


def _can_control(action: str, state: RunState, link: LinkState, condition: Condition, trial: int) -> bool:
    if link != "live" or state.ended is not None or state.started is None:
        return False
    conversation = state.conversation(condition, trial)
    is_running = conversation is not None and conversation.ended is None
    match action:
        case "pause":
            return not state.paused
        case "resume" | "step":
            return bool(state.paused)
        case "take_over":
            return is_running and not operator_has(state, condition)
        case "say" | "give_back":
            return is_running and operator_has(state, condition)
        case "cancel":
            return is_running
        case _:
            return True
