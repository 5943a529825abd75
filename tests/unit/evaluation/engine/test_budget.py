"""The calls and cost of a batch are counted from its events."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.evaluation.engine.budget import PROMPT_TOKENS, VERDICT_TOKENS, CallBudget, Rates
from bioeval_tui.evaluation.prices import Price
from bioeval_tui.evaluation.wiring import estimate
from bioeval_tui.record import events
from tests.unit.evaluation.conversation.fakes import where


def started(message: int, role: str, speaker: str = "x") -> events.MessageStarted:
    return events.MessageStarted(**where(message=message, turn=1, role=role, speaker=speaker))


def completed(message: int, role: str, **more: Any) -> events.MessageCompleted:
    return events.MessageCompleted(
        **where(message=message, turn=1, role=role, speaker="x", content="c" * 400, **more)
    )


def test_every_attempt_counts_as_a_call_but_greetings_and_operator_messages_do_not() -> None:
    budget = CallBudget()
    rates = Rates(evaluator_is_model=True, judge_calls=6)
    for event in (
        started(1, "user"),
        started(2, "assistant"),
        started(2, "assistant"),
        started(3, "user"),
        started(5, "user", "operator"),
        events.TranscriptScored(**where(judge="a, b × 3")),
    ):
        budget.take(event, rates)
    assert budget.calls == {"agent": 2, "evaluator": 1, "judge": 6}


def test_scripts_and_rules_make_no_calls() -> None:
    budget = CallBudget()
    budget.take(started(3, "user"), Rates())
    budget.take(events.TranscriptScored(**where(judge="rules")), Rates())
    assert sum(budget.calls.values()) == 0


def test_no_conversation_starts_after_the_last_call() -> None:
    budget = CallBudget(max_calls=2)
    budget.take(started(2, "assistant"), Rates())
    assert budget.stop_reason() is None
    budget.take(started(4, "assistant"), Rates())
    assert budget.stop_reason() == "no more conversations were started: 2 calls made, the limit is 2"


def test_cost_is_computed_from_tokens_and_estimated_without_them() -> None:
    rates = Rates(evaluator=Price(1.0, 10.0), judge=Price(2.0, 0.0), judge_calls=1, evaluator_is_model=True)
    budget = CallBudget(max_cost=1.5)
    budget.take(completed(3, "user", tokens_in=1_000_000, tokens_out=0), rates)
    assert budget.cost == pytest.approx(1.0)
    assert budget.stop_reason() is None
    budget.take(events.TranscriptScored(**where(judge="j", tokens_in=250_000)), rates)
    assert budget.cost == pytest.approx(1.5)
    assert budget.stop_reason() is not None
    untold = CallBudget()
    untold.take(completed(3, "user"), rates)
    assert untold.cost > 0, "unknown tokens are not free"


def test_unknown_tokens_are_estimated_as_in_a_dry_run() -> None:
    assert (PROMPT_TOKENS, VERDICT_TOKENS) == (estimate.PROMPT_TOKENS, estimate.VERDICT_TOKENS)
    a_token = Price(1e6, 0.0)
    rates = Rates(evaluator=a_token, agent=a_token, judge=a_token, judge_calls=3, evaluator_is_model=True)
    budget = CallBudget()
    budget.take(completed(1, "user"), rates)
    assert budget.cost == 0, "the greeting asks nobody"
    said = 101
    budget.take(completed(2, "assistant"), rates)
    assert budget.cost == said, "a chat agent is sent what was said"
    budget.take(completed(3, "user"), rates)
    assert budget.cost == said + PROMPT_TOKENS + 2 * said
    before = budget.cost
    budget.take(events.TranscriptScored(**where(judge="a, b, c")), rates)
    assert budget.cost - before == 3 * (PROMPT_TOKENS + 3 * said), "each member of the panel reads it"


def test_an_agent_without_a_price_costs_nothing() -> None:
    budget = CallBudget()
    budget.take(completed(2, "assistant", tokens_in=10, tokens_out=10), Rates())
    assert budget.cost == 0


def test_greetings_and_typed_messages_cost_nothing() -> None:
    rates = Rates(evaluator=Price(1.0, 10.0), evaluator_is_model=True)
    budget = CallBudget()
    budget.take(completed(1, "user"), rates)
    budget.take(completed(3, "user", operator=True), rates)
    assert budget.cost == 0
    budget.take(completed(5, "user"), rates)
    assert budget.cost > 0
