"""Cost from recorded tokens and the price table; unknown costs are unknown, never 0."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from bioeval_tui.base.units import dollars
from bioeval_tui.formats import RunResult
from bioeval_tui.peers.prices import Price, Prices
from bioeval_tui.record.events import RequestFailed
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import result_of
from bioeval_tui.report.summary import summarise_runs
from bioeval_tui.report.words import cost_words, token_words, why_unknown
from tests.documents import document_of, pair_comparison
from tests.unit.report.recorded import START, Recorded, Talk

PRICES = Prices({"api.example": {"small": Price(1.0, 10.0), "large": Price(2.0, 20.0)}}, {})


def run(**options: Any) -> RunResult:
    """Two conversations with a chat endpoint; a model plays the user and another judges."""
    talk = Talk(latencies_ms=(500, 500))
    started = {
        "model": "large",
        "hosts": ("api.example",),
        "options": {
            "evaluator_model": "small",
            "judge_model": ["large"],
            "evaluator_host": "api.example",
            "judge_host": "api.example",
        },
    }
    loaded = Recorded([talk], [talk], started=started | options).loaded()
    loaded.state.job["target"] = {"protocol": "openai"}
    for held in loaded.state.conversations.values():
        for message in held.messages[1:]:  # the greeting is drawn, no model says it
            message.tokens_in, message.tokens_out = 1000, 100
        assert held.verdict is not None
        held.verdict = held.verdict.model_copy(update={"tokens_in": 5000, "tokens_out": 50})
    return replace(loaded, prices=PRICES)


def test_tokens_of_each_model_are_charged_at_its_own_price() -> None:
    spent = summarise_runs([run()])[0].conditions[0].spent
    found = {peer.peer: peer.dollars for peer in spent.peers}
    assert found == {"agent": 2 * 0.004, "evaluator": 0.002, "judge": 0.011}
    assert spent.dollars == spent.known == 0.021
    assert cost_words(spent) == "$0.0210"
    assert (
        token_words(spent)
        == "agent 2,000 in, 200 out; evaluator 1,000 in, 100 out; judge 5,000 in, 50 out"
    )


def test_an_unknown_part_makes_the_total_cost_unknown() -> None:
    other = run(hosts=("localhost:8000",), model="local")
    spent = summarise_runs([other])[0].spent
    assert spent.dollars is None
    assert cost_words(spent) == "$0.0260; the agent's is unknown"
    assert why_unknown(spent) == "agent: no price of local at localhost:8000 in prices.yml"
    silent = run()
    talk = silent.state.conversation("withheld")
    assert talk is not None
    talk.messages[3].tokens_out = None
    spent = summarise_runs([silent])[0].conditions[0].spent
    assert why_unknown(spent) == "agent: no token count in 1 of 2 answers"
    assert token_words(spent).startswith("agent at least 2,000 in, 100 out; ")
    talk.messages[3].tokens_in = talk.messages[1].tokens_in = talk.messages[1].tokens_out = None
    spent = summarise_runs([silent])[0].conditions[0].spent
    assert (
        token_words(spent) == "agent unknown; evaluator 1,000 in, 100 out; judge 5,000 in, 50 out"
    )
    rest = run()
    rest.state.job["target"] = {"protocol": "rest"}
    assert summarise_runs([rest])[0].spent.of("agent").dollars is None


def test_failed_requests_that_a_server_may_charge_for_do_not_cost_nothing() -> None:
    found = run()
    where = {"run_id": "r", "seq": 1, "at": START, "peer": "evaluator", "request_attempt": 1}
    for status, error, cost in ((401, "answered 401", 0.0), (None, "no end within 120 s", None)):
        for talk in found.state.conversations.values():
            del talk.messages[1:]
            talk.request_failures = [RequestFailed(**where, status=status, error=error)]
        spent = summarise_runs([found])[0].spent.of("evaluator")
        assert spent.dollars == cost
        assert bool(spent.why_unknown) is (cost is None)


def test_scripts_people_and_rules_cost_nothing() -> None:
    found = run()
    found.state.job["evaluator"], found.state.job["scorer"] = (
        {"kind": "scripted"},
        {"kind": "rules"},
    )
    spent = summarise_runs([found])[0].spent
    assert [spent.of("evaluator").dollars, spent.of("judge").dollars] == [0.0, 0.0]
    assert [dollars(each) for each in (0.0, None, 1234.5, 1e-6)] == [
        "$0",
        "unknown",
        "$1,234.50",
        "under $0.0001",
    ]


def test_a_panel_is_charged_at_its_highest_price() -> None:
    options = {
        "judge_model": ["small", "large"],
        "evaluator_model": "small",
        "evaluator_host": "api.example",
        "judge_host": "api.example",
    }
    assert (
        summarise_runs([run(options=options)])[0].conditions[0].spent.of("judge").dollars == 0.011
    )


def test_every_report_and_comparison_shows_tokens_and_cost() -> None:
    found = run()
    other = replace(run(model="unheard of"), path=found.path)
    page = document_of("html", found)
    assert "Tokens and cost" in page
    assert "$0.0210" in page
    text = document_of("md", found, other)
    assert "\\$0.0210" in text
    assert "no price of unheard of at api.example" in text
    data = json.loads(document_of("json", found))
    assert data["runs"][0]["cost"]["dollars"] == 0.042
    assert data["summary"][0]["conditions"]["supplied"]["cost"]["peers"]["judge"] == {
        "tokens_in": 5000, "tokens_out": 50, "uncounted": 0, "dollars": 0.011,
        "known_dollars": 0.011, "why_unknown": None,
    }  # fmt: skip
    sides = pair_comparison(compare(found, other))["conditions"]["withheld"]["cost"]
    assert (sides["a"]["dollars"], sides["b"]["dollars"]) == (0.021, None)


def test_the_printed_result_shows_tokens_and_cost() -> None:
    found = run_document(result_of(run().state, prices=PRICES))
    assert found["cost"]["dollars"] == 0.042
    assert run_document(None)["cost"] is None
