"""The budget of a batch: calls and cost as they are made."""

from __future__ import annotations

import pytest

from bioeval_tui.peers.prices import Price
from bioeval_tui.peers.spending import (
    CallBudget,
    LimitReachedError,
    Rates,
    RunBudget,
    counting,
    report,
    request,
)

SAID = [{"role": "user", "content": "c" * 400}]


def test_the_last_call_within_the_limit_is_made_and_no_other() -> None:
    budget = RunBudget(CallBudget(max_calls=2), Rates())
    with counting(budget):
        for _ in range(2):
            with request("judge", SAID):
                pass
        with (
            pytest.raises(LimitReachedError, match="2 calls made, the limit is 2"),
            request("judge", SAID),
        ):
            pytest.fail("it was sent")
    assert budget.whole.calls == {"judge": 2}


def test_cost_is_computed_from_tokens_at_the_price_of_the_role() -> None:
    whole = CallBudget(max_cost=1.5)
    rates = Rates(evaluator=Price(1.0, 10.0), judge=Price(2.0, 0.0))
    with counting(RunBudget(whole, rates)) as used:
        with request("evaluator", SAID) as sent:
            sent.tokens_in, sent.tokens_out = 1_000_000, 0
        assert whole.cost == pytest.approx(1.0)
        assert whole.stop_reason() is None
        with request("judge", SAID) as sent:
            sent.tokens_in, sent.tokens_out = 250_000, 1
    assert whole.cost == pytest.approx(1.5)
    assert whole.stop_reason() == "the limit is reached: about $1.50 spent, the limit is $1.5"
    assert (used.answers, used.uncounted, used.tokens_in, used.tokens_out) == (2, 0, 1_250_000, 1)


def test_an_answer_without_a_count_is_not_free_but_a_refused_request_is() -> None:
    whole = CallBudget()
    with counting(RunBudget(whole, Rates(judge=Price(1e6, 1e6)))) as used:
        with request("judge", SAID) as sent:
            sent.is_free = True
        assert (whole.cost, used.answers) == (0, 0)
        with request("judge", SAID) as sent:
            sent.characters = 40
    assert whole.cost == 101 + 11
    assert (used.answers, used.uncounted, used.tokens_in) == (1, 1, None)


def test_a_model_without_a_price_costs_nothing_and_outside_of_a_run_nothing_is_counted() -> None:
    whole = CallBudget(max_cost=1)
    with counting(RunBudget(whole, Rates())), request("agent", SAID) as sent:
        sent.tokens_in = 10**9
    assert whole.cost == 0
    with request("agent", SAID):
        report(1, 1)
    assert whole.calls == {"agent": 1}
