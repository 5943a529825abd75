"""Failing evaluators and judges: their conversations are excluded with the reason and never count
as 0.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from . import peers
from .cells import Cell
from .peers import (
    Agent,
    Fault,
    Models,
    completion,
    instead,
    says,
    serving,
    status,
    streams,
    verdict,
)
from .program import LONGEST_WAIT_S, SHORT_S, Outcome, Program

CALL = {
    "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    ]
}


NETWORK = [
    Cell("reset in mid-answer", peers.reset, "closed the connection", asked=1),
    Cell(
        "silent",
        peers.silent,
        "did not finish its answer within 0.4 s",
        asked=1,
        timeout_s=SHORT_S,
    ),
    Cell(
        "slow drip",
        peers.drip,
        "did not finish its answer within 0.4 s",
        asked=1,
        timeout_s=SHORT_S,
    ),
    Cell("always 500", status(500), "failed (500)"),
    Cell("429 for an hour", status(429, "Retry-After: 3600\r\n"), "is rate-limiting (429)"),
    Cell("malformed JSON", says(b'{"choices": [{"mess'), "not JSON", asked=1),
    Cell("50 MB", peers.fifty_megabytes, "more than 16,000,000 bytes", asked=1),
]
EVALUATOR = [
    *NETWORK,
    Cell(
        "an endless stream",
        peers.endless,
        "longer than 1,500 characters|within 0.4 s",
        "evaluator",
        asked=0,
    ),
    Cell(
        "wrong types",
        streams(5),  # type: ignore[arg-type]
        "something that is not a chat completion",
        asked=1,
    ),
    Cell("refusal", streams(None, refusal="I can't."), "the model refused: I can't.", "unclear", 1),
    Cell(
        "cut off",
        streams("Please no", "length"),
        "cut off at the model's length limit",
        "evaluator",
        2,
    ),
    Cell("empty", streams(""), "the model's answer was empty", "evaluator"),
    Cell(
        "a tool call",
        streams(None, "tool_calls", **CALL),
        "called a tool (look_up)",
        "evaluator",
        1,
    ),
]


def judged(value: dict[str, Any]) -> Fault:
    """Answer with this verdict."""
    return instead(**completion(json.dumps(value)))


JUDGE = [
    *NETWORK,
    Cell("an endless stream", peers.endless, "more than|within 0.4 s", asked=0, timeout_s=SHORT_S),
    Cell(
        "wrong types", instead(choices="none"), "something that is not a chat completion", asked=1
    ),
    Cell(
        "refusal",
        instead(**completion(None, refusal="I can't.")),
        "the model refused: I can't.",
        "unclear",
        2,
    ),
    Cell(
        "cut off",
        instead(**completion('{"tone": 0', "length")),
        "cut off at the model's",
        "judge",
        2,
    ),
    Cell("empty", instead(**completion("")), "the model's answer was empty", "judge", 2),
    Cell(
        "a tool call",
        instead(**completion(None, "tool_calls", **CALL)),
        "called a tool",
        "judge",
        2,
    ),
    Cell(
        "a score above 1",
        judged(verdict(1.5)),
        "the score of task 1 is 1.5; it must be from 0 to 1",
        "judge",
        2,
    ),
    Cell("a score below 0", judged(verdict(-0.1)), "it must be from 0 to 1", "judge", 2),
    Cell(
        "a score that is text",
        judged(verdict("full")),
        "the score of task 1 is not a number",
        "judge",
        2,
    ),  # type: ignore[arg-type]
    Cell(
        "a task missing", judged({"tone": 1, "tasks": []}), "no score for task 1 (of 1)", "judge", 2
    ),
    Cell("a task twice", judged(verdict(1.0, 1, 1)), "task 1 is scored twice", "judge", 2),
    Cell("a task too many", judged(verdict(1.0, 1, 2)), "there is no task 2", "judge", 2),
    Cell(
        "words alone", instead(**completion("They get 1.0 from me.")), "it is not JSON", "judge", 2
    ),
]


def run(program: Program, cell: Cell, role: str) -> tuple[Outcome, Models]:
    """Run with a model in one role and the script or the rules in the other."""
    agent, models = Agent(), Models(fault=cell.fault, role=role, times=cell.times)
    job = program.job(**{role: "llm"})
    program.models_have(cell.timeout_s)
    with serving(agent, models):
        done = program.run(agent.url, job, models_url=models.url)
    assert cell.was_met(models.met)
    assert {e["peer"] for e in done.events if e["kind"] == "request_failed"} <= {"evaluator"}
    assert done.scored()["failures"] == 0, "nothing of it counts against the agent"
    said = [e for e in done.events if e["kind"] == "message_completed" and e["role"] == "assistant"]
    assert len(said) == len(agent.answered), "every answer is recorded, once"
    assert done.ended("supplied")["reason"] == "signed_off"
    assert done.scored("supplied")["score"] > 0.8
    return done, models


@pytest.mark.parametrize("cell", EVALUATOR, ids=lambda cell: cell.name)
def test_a_failing_evaluator_loses_only_its_own_conversation(cell: Cell, program: Program) -> None:
    done, _ = run(program, cell, "evaluator")
    ended, scored = done.ended(), done.scored()
    assert (ended["reason"], ended["fault"]) == ("evaluator_failed", cell.whose)
    assert cell.tells(ended["detail"]), ended["detail"]
    assert scored.get("score") is None
    assert scored["reason"].startswith("evaluator failed: ")
    assert len(done.of("request_failed")) == (cell.asked or 1) or not cell.asked
    waits = [event.get("wait_ms") or 0.0 for event in done.of("request_failed")]
    assert max(waits, default=0.0) <= LONGEST_WAIT_S * 1000, "whatever it asks for"
    assert done.result["score"] is None
    assert done.code == 3, "could not be measured"
    why = {
        "evaluator": "the simulated user failed",
        "unclear": "it is unclear whether the agent failed",
    }
    assert f"1 of 2 used ({why.get(cell.whose, 'the measurement failed')} in 1)" in done.err


@pytest.mark.parametrize("cell", JUDGE, ids=lambda cell: cell.name)
def test_a_judge_that_fails_leaves_a_transcript_and_no_score(cell: Cell, program: Program) -> None:
    done, _ = run(program, cell, "judge")
    assert done.ended()["reason"] == "signed_off", "the conversation itself is whole"
    scored = done.scored()
    assert (scored.get("score"), scored["fault"]) == (None, cell.whose)
    assert cell.tells(scored["reason"]), scored["reason"]
    (verdict_event,) = done.of("transcript_scored")
    assert cell.tells(verdict_event["error"])
    assert not verdict_event.get("tasks")
    assert done.code == 3


@pytest.mark.parametrize("role", ["evaluator", "judge"])
def test_one_failure_of_a_model_costs_nothing(role: str, program: Program) -> None:
    done, models = run(program, Cell("once", status(503), "", asked=1, times=1), role)
    assert (done.ended()["reason"], done.code) == ("signed_off", 0)
    assert done.scored()["score"] == done.scored("supplied")["score"]
    assert models.met == 1


@pytest.mark.parametrize("role", ["evaluator", "judge"])
def test_models_that_restart_between_answers_cost_nothing(role: str, program: Program) -> None:
    agent, models = Agent(), Models(restarts=True)
    with serving(agent, models):
        done = program.run(agent.url, program.job(**{role: "llm"}), models_url=models.url)
    assert not models.restarts, "it did restart"
    assert [done.ended(c)["reason"] for c in ("withheld", "supplied")] == ["signed_off"] * 2
    assert done.scored()["score"] == done.scored("supplied")["score"] > 0.8
    assert done.code == 0


@pytest.mark.parametrize("role", ["evaluator", "judge"])
@pytest.mark.parametrize("what", ["refused", "tls"])
def test_unreachable_models_are_reported_as_such(what: str, role: str, program: Program) -> None:
    agent, models = Agent(), Models(tls=what == "tls")
    with serving(agent, models):
        url = models.url if what == "tls" else "http://127.0.0.1:1"
        done = program.run(agent.url, program.job(**{role: "llm"}), models_url=url)
    for condition in ("withheld", "supplied"):
        ended, scored = done.ended(condition), done.scored(condition)
        assert ended["reason"] == ("evaluator_failed" if role == "evaluator" else "signed_off")
        assert (scored.get("score"), scored["fault"]) == (None, "infrastructure")
        said = "the TLS certificate of" if what == "tls" else "127.0.0.1:1 refused the connection"
        assert said in scored["reason"], scored["reason"]
    assert done.code == 3


def test_an_evaluator_that_twice_speaks_as_the_chatbot_is_at_fault(program: Program) -> None:
    cell = Cell("role swap", streams("How can I help you today?"), "role_swap", "evaluator", 2)
    done, _ = run(program, cell, "evaluator")
    ended = done.ended()
    assert (ended["reason"], ended["fault"], done.code) == ("evaluator_failed", "evaluator", 3)
    assert cell.tells(ended["detail"])
    assert [event["rule"] for event in done.of("evaluator_violated")] == ["role_swap", "role_swap"]
