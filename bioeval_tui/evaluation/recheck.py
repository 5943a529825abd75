"""Check a recorded conversation's assertions again, without its agent: on its last state, its
transcript and its tool calls.

A graph, a FHIR server and an agent's files are not in a recording. What is asked of them keeps its
recorded outcome if it asks the same, and is not measured otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.assertions import check_expression, check_tool_calls
from bioeval_tui.evaluation.conversation.observe import check_fields
from bioeval_tui.jobs.loading import job_snapshot
from bioeval_tui.jobs.models import (
    Assertion,
    CypherAssertion,
    EvaluationJob,
    ExpressionAssertion,
    FhirAssertion,
    MedalAssertion,
    ToolCallsAssertion,
)
from bioeval_tui.peers.seams import AssertionView, CheckResult
from bioeval_tui.peers.transcript import SpokenTranscript, recorded_transcript
from bioeval_tui.record import events
from bioeval_tui.record.cases import asserted
from bioeval_tui.record.state import ConversationState

NO_GRAPH = "it asks the graph, of which the recording has no copy"
NO_RECORDS = "it asks the FHIR server, of which the recording has no copy"
NO_FILE = "it grades a file of the agent, of which the recording has no copy"
NO_STATE = "the recording has no object context of the end"


@dataclass(frozen=True, slots=True)
class CheckedAgain:
    """One assertion's outcome.

    `unchecked` says why it is the recorded one, or not measured; empty if it was checked.
    """

    check: events.AssertionChecked
    unchecked: str


def check_again(
    job: EvaluationJob,
    held: EvaluationJob,
    talk: ConversationState,
    model: str | None,
    where: Mapping[str, Any],
) -> list[CheckedAgain]:
    """Return the outcome of each assertion of `job` that counts in a conversation, which was held
    with `held`.

    `where` has the fields that say of which conversation an event is, and whose.
    """
    transcript = recorded_transcript(job, talk, model)
    context, turn = None, talk.turns
    if talk.observations:
        context = talk.observations[-1].object_context
        turn = talk.observations[-1].after_turn
    view = AssertionView(
        context,
        transcript.as_evaluation(),
        _untraced_turns(talk),
        agent_failed=talk.ended is not None and talk.ended.reason == "agent_failed",
    )
    start = _start(job, talk, model)
    found = []
    for index, assertion in enumerate(job.assertions):
        if not assertion.applies(talk.key.condition):
            continue
        if unseen := _not_recorded(assertion):
            found.append(_kept(index, assertion, unseen, held, talk, where, turn))
            continue
        result, unchecked = _checked(assertion, view, talk)
        held_before = start is not None and bool(_check(assertion, start).passed)
        fields = check_fields(
            index, assertion, result, turn, final=True, held_from_start=held_before
        )
        found.append(CheckedAgain(events.AssertionChecked(**where, **fields), unchecked))
    return found


def _check(assertion: Assertion, view: AssertionView) -> CheckResult:
    if isinstance(assertion, ExpressionAssertion):
        return check_expression(assertion.expression, view)
    assert isinstance(assertion, ToolCallsAssertion)
    return check_tool_calls(assertion.tool_calls, view)


def _checked(
    assertion: Assertion, view: AssertionView, talk: ConversationState
) -> tuple[CheckResult, str]:
    """Return the outcome on what is recorded, and why it could not be checked, if the state at the
    end, which it needs, is not there; empty if it was checked.

    That it is not there is nobody's fault: the recording lacks it.
    """
    needs_state = (
        isinstance(assertion, ExpressionAssertion) and "objectContext" in assertion.expression
    )
    # `view` has the state of the last observation. An agent without a state has null there, without
    # an error.
    at_end = talk.observations[-1] if talk.observations else None
    is_known = view.object_context is not None or (at_end is not None and not at_end.error)
    if not needs_state or is_known:
        return _check(assertion, view), ""
    error = clean_line(at_end.error or "") if at_end is not None else ""
    if view.agent_failed or _was_refused(talk, error):
        return CheckResult(False, error=error), ""
    why = ": ".join(filter(None, (NO_STATE, error)))
    return CheckResult(None, error=why, fault="none"), why


def _was_refused(talk: ConversationState, error: str) -> bool:
    """Return whether assertions failed then because the agent refused its state, with this
    error.
    """
    return any(
        check.status == "failed" and check.error == error for check in talk.final_checks.values()
    )


def _not_recorded(assertion: Assertion) -> str:
    """Return why an assertion cannot be checked on any recording; empty if it can."""
    match assertion:
        case CypherAssertion():
            return NO_GRAPH
        case FhirAssertion():
            return NO_RECORDS
        case MedalAssertion():
            return NO_FILE
        case ExpressionAssertion() | ToolCallsAssertion():
            return ""


def _kept(
    index: int,
    assertion: Assertion,
    unseen: str,
    held: EvaluationJob,
    talk: ConversationState,
    where: Mapping[str, Any],
    turn: int,
) -> CheckedAgain:
    """Return the recorded outcome of an assertion that asks the same; otherwise it is not
    measured.

    Args:
        index: the assertion's place in the job that is checked now.
        assertion: the assertion.
        unseen: why it cannot be checked on the recording.
        held: the job with which the conversation was held.
        talk: the conversation.
        where: the fields that say of which conversation an event is.
        turn: the turn after which it counts as checked.
    """
    question = asserted(assertion.model_dump(mode="json", by_alias=True))
    recorded = next(
        (
            check
            for place, one in enumerate(job_snapshot(held)["assertions"])
            if asserted(one) == question and (check := talk.final_checks.get(place)) is not None
        ),
        None,
    )
    if recorded is None:
        # It is nobody's fault that the recording has no copy. What is not measured did not hold
        # from the start either.
        result = CheckResult(None, error=f"not checked again: {unseen}", fault="none")
        fields = check_fields(index, assertion, result, turn, final=True, held_from_start=False)
        return CheckedAgain(events.AssertionChecked(**where, **fields), unseen)
    named = {"index": index, "title": clean_line(assertion.title), "weight": assertion.weight}
    return CheckedAgain(
        recorded.model_copy(update={**where, **named}), f"{unseen}; the recorded verdict stays"
    )


def _start(job: EvaluationJob, talk: ConversationState, model: str | None) -> AssertionView | None:
    """Return what there was before the greeting; None if that was not recorded."""
    seen = next((seen for seen in talk.observations if seen.after_turn == 0), None)
    if seen is None or seen.error:
        return None
    nothing_said = SpokenTranscript(
        job, talk.key.condition, talk.key.trial, model, talk.session_id or ""
    )
    return AssertionView(seen.object_context, nothing_said.as_evaluation())


def _untraced_turns(talk: ConversationState) -> tuple[int, ...]:
    """Return the turns in which calls may be missing: all, if not every span came.

    A recording says that some are missing, but not of which turn. If no span came at all, those of
    the protocol count.
    """
    if not any(warning.code == "spans" for warning in talk.warnings):
        return ()
    answers = talk.answers
    if not any(answer.spans for answer in answers) and any(answer.generation for answer in answers):
        return ()
    return tuple(sorted({message.turn for message in answers}))
