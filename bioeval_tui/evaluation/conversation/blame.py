"""Whose fault it is: a conversation that ended early, and a score that is missing.

Only what the agent did by itself counts against it. What this program or its machine caused, and
what a model of the evaluation did, is never the agent's; where nobody can tell, that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bioeval_tui import plugins
from bioeval_tui.base.text import clean_line, is_html, page_title, shorten
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.record.events import EXCUSED, Ending, Fault, TaskScored


class BlamedEnding(Ending):
    """How a conversation ended, and what the run needs to know besides.

    `never_held`: the agent opened no session, or never answered. `broken_at` is the number of the
    user's message during whose answer the connection to the agent broke, else 0.
    """

    fault: Fault = "none"
    never_held: bool = False
    broken_at: int = 0

    @property
    def recorded(self) -> dict[str, Any]:
        """What is recorded of it, as fields of `ConversationEnded`."""
        return {name: getattr(self, name) for name in Ending.model_fields}

    def after(self, first: BlamedEnding) -> BlamedEnding:
        """Return how a conversation ended that was held again after `first`, which broke."""
        ending = self
        if ending.never_held:
            where = f"the connection to the agent broke at message {first.broken_at}"
            detail = f"{where}, and when it was held again: {ending.detail}"
            ending = ending.model_copy(update={"detail": detail})
        if ending.broken_at and ending.broken_at != first.broken_at:
            where = f"at message {first.broken_at}, then at message {ending.broken_at}"
            detail = f"the connection to the agent broke twice, {where}: {ending.detail}"
            ending = BlamedEnding(reason="cancelled", fault="unclear", detail=detail)
        return ending


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is to blame for a failed request: of an agent that speaks `protocol`, and is asked by
    `shared` conversations at once.
    """

    protocol: str
    shared: int

    def is_ours(self, error: PeerError) -> bool:
        """Return whether this program or machine is to blame: too many requests at once, or no free
        sockets.
        """
        too_many = error.status == 429 and self.shared > 1
        return error.peer == "agent" and (too_many or error.exhausted or error.crowded)

    def deserves_patience(self, error: PeerError) -> bool:
        """Return whether a request is worth more attempts than usual: others of ours are under way,
        or it never left.
        """
        return self.is_ours(error) and (self.shared > 1 or error.exhausted)

    def ending(self, error: PeerError, *, answers: int, messages: int) -> BlamedEnding:
        """Return how a peer's last failure ends a conversation of so many messages, of which
        `answers` are the agent's.
        """
        never_held = error.peer == "agent" and not answers
        ways: tuple[str, ...] = ()
        if never_held:
            ways = _ways_out(error, self.protocol)
        detail, received = clean_line(str(error)), _received_instead(error)
        if error.peer == "agent" and error.exhausted:
            return BlamedEnding(
                reason="cancelled",
                fault="infrastructure",
                detail=detail,
                ways=ways,
                received=received,
            )
        if self.is_ours(error) or (error.disagrees and error.peer == "agent"):
            return BlamedEnding(
                reason="cancelled", fault="unclear", detail=detail, ways=ways, received=received
            )
        if error.peer == "agent":
            broken_at = messages if error.broken else 0
            return BlamedEnding(
                reason="agent_failed",
                fault="agent",
                detail=detail,
                never_held=never_held,
                ways=ways,
                received=received,
                broken_at=broken_at,
            )
        return BlamedEnding(
            reason="evaluator_failed", fault=error.fault, detail=detail, received=received
        )


def blame_for_score(faults: Sequence[Fault], judged: Sequence[TaskScored] | None) -> Fault:
    """Return who is to blame for a missing score, given the faults: of a judge without a verdict,
    and of each assertion that could not be measured.

    First what is not excused (`EXCUSED`): one missing answer of a model must not cover it.
    `evaluator` if the user did not ask for a task; `none` if each assertion only asks for what the
    agent does not report.
    """
    unexcused = [fault for fault in faults if fault not in EXCUSED and fault != "none"]
    if unexcused:
        return unexcused[0]
    if any(not task.measured for task in judged or ()):
        return "evaluator"
    return next(
        (fault for fault in faults if fault != "none"), "none" if faults else "infrastructure"
    )


_WHERE = "with --agent-url, BIOEVAL_AGENT_URL or target.url"
START_AGENT = f"start the agent, or give its address {_WHERE}"
"""What you can do if nothing answers where the agent should be."""


def _ways_out(error: PeerError, protocol: str) -> tuple[str, ...]:
    """Return what you can do if no conversation took place, for one who reads only this."""
    known = plugins.agent_protocol(protocol)
    if known is not None and known.is_function:
        return ()
    if error.status in (401, 403):
        return ("set BIOEVAL_AGENT_API_KEY to the key that the agent expects",)
    if error.unreachable:
        return (START_AGENT,)
    failed = error.status is not None and error.status >= 500 and error.status != 501
    elsewhere = error.status in (301, 302, 303, 307, 308, 404, 405, 410, 501)
    # An unusable answer of a chat endpoint is empty, filtered or too long, but one in this
    # protocol.
    foreign = error.unusable and protocol != "openai"
    if elsewhere or foreign or (error.received.lstrip().startswith("<") and not failed):
        address = f"give the agent's address {_WHERE}"
        if protocol == "rest":
            address += ", without /api/v1"
        if is_html(error.received):
            address = f"no agent seems to answer there: {address}"
        others = [
            one.name
            for one in plugins.own_agent_protocols()
            if not one.is_function and one.name != protocol
        ]
        return (
            address,
            (
                f"it was asked with the protocol {protocol}: if it speaks {', '.join(others[:-1])}"
                f" or {others[-1]}, say so in target.protocol"
            ),
        )
    return ("look at the agent's log",)


def _received_instead(error: PeerError) -> str:
    """Return what was received instead of an answer, unless the error says so; of an HTML page only
    its title.
    """
    said, came = clean_line(str(error)), shorten(clean_line(error.received), 120)
    if is_html(error.received):
        came = "HTML"
        if title := page_title(error.received):
            came = f"the page “{title}”"
    if came.rstrip("…") not in said:
        return came
    return ""
