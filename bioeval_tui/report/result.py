"""A run's result as one JSON object: what `--json` prints and what gates read."""

from __future__ import annotations

from typing import Any

from bioeval_tui.evaluate.prices import Prices
from bioeval_tui.record.state import ConversationState, RunState
from bioeval_tui.report.words import why_no_mean, why_no_score


def result_of(state: RunState) -> dict[str, Any]:
    """Return the run's result.

    Keys: run_id, job, status, score (the published mean of both conditions; None, with why_no_score, where it
    could not be measured or one was not held), clean (None where that could not be seen), compared (what of the
    starting states was), rehearsal, warnings, and under `conditions` one object per condition (its first trial), with all trials under
    `trials` where there are several. Times are milliseconds.
    """
    started, ended = state.started, state.ended
    conditions: dict[str, Any] = {}
    for condition in started.conditions if started else ():
        held = sorted(
            (talk for key, talk in state.conversations.items() if key.condition == condition),
            key=lambda talk: talk.key.trial,
        )
        conditions[condition] = _conversation(held[0]) if held else None
        if len(held) > 1:
            conditions[condition]["trials"] = [_conversation(talk) for talk in held]
    return {
        "run_id": started.run_id if started else None,
        "job": started.job_name if started else None,
        "status": ended.status if ended else "interrupted",
        "detail": ended.detail if ended else "",
        "score": ended.mean if ended else None,
        "why_no_score": None if ended and ended.mean is not None else why_no_mean(state),
        "clean": None if state.clean_unknown or not state.conversations else state.clean,
        "compared": list(ended.compared) if ended else [],
        "rehearsal": started.rehearsal if started else False,
        "evaluator": started.evaluator if started else None,
        "judge": started.judge if started else None,
        "judge_prompt": (started.judge_prompt or None) if started else None,
        "warnings": [warning.message for warning in _warnings(state)],
        "conditions": conditions,
    }


def result_with_cost(state: RunState, prices: Prices) -> dict[str, Any]:
    """Return the run's result and, under `cost`, what its models took; None when the run never started."""
    from bioeval_tui.report.costs import cost_dict, spent
    from bioeval_tui.report.gate import from_state

    run = from_state(state, prices=prices)
    talks = state.conversations.values()
    return {**result_of(state), "cost": cost_dict(spent((run, talk) for talk in talks)) if run else None}


def _warnings(state: RunState) -> list[Any]:
    return [*state.warnings, *(warning for talk in state.conversations.values() for warning in talk.warnings)]


def _conversation(talk: ConversationState) -> dict[str, Any]:
    score, ended, verdict = talk.score, talk.ended, talk.verdict
    return {
        "score": score.score if score else None,
        "reason": score.reason if score and score.score is not None else why_no_score(talk),
        "parts": {part.name: part.model_dump(exclude={"name"}) for part in score.parts} if score else {},
        "penalty": score.penalty if score else None,
        "failures": talk.failures,
        "end_reason": ended.reason if ended else None,
        "end_detail": ended.detail if ended else "",
        "fault": ended.fault if ended else None,
        "messages": [
            {
                "message": m.message,
                "role": m.role,
                "speaker": m.speaker,
                "content": m.text,
                "operator": m.operator,
                "sent": talk.sent(m),
            }
            for m in talk.messages
        ],
        "latencies": [
            {
                "message": m.message,
                "latency_ms": m.latency_ms,
                "first_token_ms": m.first_token_ms,
                "waited_ms": m.waited_ms,
            }
            for m in talk.messages
            if m.role == "assistant"
        ],
        "average_latency_ms": score.average_latency_ms if score else None,
        "facts": [
            {"fact": f.fact, "text": f.text, "message": f.message, "asked": f.asked} for f in talk.facts
        ],
        "guards": [
            {"message": v.message, "rule": v.rule, "effect": v.effect, "mended": v.mended, "detail": v.detail}
            for v in talk.violations
        ],
        "tone": verdict.tone if verdict else None,
        "tasks": [task.model_dump(mode="json") for task in verdict.tasks] if verdict else [],
        "judge_error": verdict.error if verdict else None,
        "assertions": [
            {
                "title": check.title,
                "weight": check.weight,
                "status": check.status,
                "observed": check.observed,
                "expected": check.expected,
                "error": check.error,
                "warning": check.warning,
            }
            for check in talk.latest_checks()
        ],
    }
