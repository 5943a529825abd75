"""Failing agents: how the conversation ends, whose fault it is, the exit code and the message."""

from __future__ import annotations

import socket

import pytest

from . import peers
from .cells import Cell
from .peers import Agent, Fault, instead, says, serving, status
from .program import LONGEST_WAIT_S, SHORT_S, Outcome, Program

FAILS = [
    Cell(
        "silent", peers.silent, "did not finish its answer within 0.4 s", asked=1, timeout_s=SHORT_S
    ),
    Cell(
        "slow drip",
        peers.drip,
        "did not finish its answer within 0.4 s",
        asked=1,
        timeout_s=SHORT_S,
    ),
    Cell("always 500", status(500), "answered 500 Sorry"),
    Cell("429 for an hour", status(429, "Retry-After: 3600\r\n"), "answered 429 Sorry"),
    Cell(
        "malformed JSON", says(b'{"sessionId": "s1", "mess'), "something that is not JSON", asked=1
    ),
    Cell(
        "wrong types",
        instead(message={"content": ["no", "text"]}),
        "message.content is not text",
        asked=1,
    ),
    Cell("50 MB", peers.fifty_megabytes, "sent more than 5,000,000 bytes as one answer", asked=1),
    Cell("an endless stream", peers.endless, "more than 5,000,000 bytes", asked=1),
    Cell(
        "another session", instead(sessionId="s9"), "sessionId belongs to another session", asked=1
    ),
]


def the_second_is_whole(done: Outcome) -> None:
    """The fault met the first conversation; the second must not know of it."""
    assert done.ended("supplied")["reason"] == "signed_off"
    assert done.scored("supplied")["score"] == 1.0
    assert done.events[-1]["kind"] == "run_ended"
    assert done.events[-1]["status"] == "completed"


def nothing_lost(done: Outcome, agent: Agent) -> None:
    """Every answer that the agent gave whole is in the recording, once."""
    said = [e for e in done.events if e["kind"] == "message_completed" and e["role"] == "assistant"]
    assert len(said) == len(agent.answered)


@pytest.mark.parametrize("cell", FAILS, ids=lambda cell: cell.name)
def test_a_failing_agent_loses_only_its_own_conversation(cell: Cell, program: Program) -> None:
    agent = Agent(fault=cell.fault)
    with serving(agent):
        done = program.run(agent.url, program.job(timeout_s=cell.timeout_s))
    ended = done.ended()
    assert (ended["reason"], ended["fault"]) == ("agent_failed", "agent")
    assert cell.tells(ended["detail"]), ended["detail"]
    assert done.code == 3, "it never answered: no conversation took place"
    assert "score" not in done.scored()
    assert done.scored()["reason"].startswith("no conversation took place: ")
    failed = done.of("request_failed")
    assert {event["peer"] for event in failed} == {"agent"}
    assert cell.was_met(agent.met)
    assert len(failed) == cell.asked
    assert done.scored()["failures"] == len(failed), "each attempt counts against the agent"
    assert max(event.get("wait_ms") or 0.0 for event in failed) <= LONGEST_WAIT_S * 1000, (
        "whatever it asks for"
    )
    the_second_is_whole(done)


def test_a_conversation_whose_connection_broke_before_the_first_answer_is_held_again(
    program: Program,
) -> None:
    with serving(agent := Agent(fault=peers.reset)):
        done = program.run(agent.url, program.job())
    assert (done.ended()["reason"], done.ended()["fault"]) == ("signed_off", "none")
    assert (done.scored()["score"], done.code) == (1.0, 3)
    assert "1 conversation held again" in done.err, "an agent could break it where it does badly"
    the_second_is_whole(done)


def test_an_agent_that_refuses_connections_is_at_fault(program: Program) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        done = program.run(f"http://127.0.0.1:{port}", program.job())
    for condition in ("withheld", "supplied"):
        ended = done.ended(condition)
        assert (ended["reason"], ended["fault"]) == ("agent_failed", "agent")
        assert ended["detail"] == f"127.0.0.1:{port} refused the connection"
        assert ended["ways"][0].startswith("start the agent, or")
        assert len(done.of("request_failed", condition)) == 4
        assert "score" not in done.scored(condition)
        assert done.scored(condition)["reason"].startswith(
            f"no conversation took place: 127.0.0.1:{port}"
        )
    assert done.code == 3, "not one word was exchanged: nothing was measured"


@pytest.mark.parametrize(
    ("fault", "name"), [(status(500), "500"), (status(429), "429"), (status(503), "503")]
)
def test_one_failed_request_costs_only_the_penalty(
    fault: Fault, name: str, program: Program
) -> None:
    agent = Agent(fault=fault, times=1)
    with serving(agent):
        done = program.run(agent.url, program.job())
    assert done.ended()["reason"] == "signed_off"
    assert (done.scored()["score"], done.scored()["failures"]) == (0.7, 1)
    assert done.code == 0
    nothing_lost(done, agent)
    the_second_is_whole(done)


def test_the_conversation_continues_with_an_agent_that_restarts_and_keeps_its_sessions(
    program: Program,
) -> None:
    agent = Agent(restarts=True)
    with serving(agent):
        done = program.run(agent.url, program.job())
    assert done.ended()["reason"] == "signed_off"
    assert done.code == 0
    nothing_lost(done, agent)
    the_second_is_whole(done)


def test_an_agent_that_loses_its_sessions_on_restart_has_failed(program: Program) -> None:
    agent = Agent(restarts=True, forgets=True)
    with serving(agent):
        done = program.run(agent.url, program.job())
    ended = done.ended()
    assert (ended["reason"], ended["fault"]) == ("agent_failed", "agent")
    assert "answered 404" in ended["detail"]
    # The request on the connection that the restart closes may fail, too, or find it closed and use
    # another.
    assert (done.scored()["score"] in (0.5, 0.7), done.code) == (True, 0), (
        "what it had done by then counts"
    )
    nothing_lost(done, agent)


@pytest.mark.parametrize(
    "trusts", [True, False], ids=["a certificate nobody trusts", "no TLS at all"]
)
def test_a_tls_error_is_reported_as_one(trusts: bool, program: Program) -> None:
    agent = Agent(tls=trusts)
    with serving(agent):
        done = program.run(agent.url.replace("http:", "https:"), program.job())
    ended = done.ended()
    assert (ended["reason"], ended["fault"], done.code) == ("agent_failed", "agent", 3)
    host = agent.url.partition("//")[2]
    said = (
        f"the TLS certificate of {host} is not trusted"
        if trusts
        else f"no TLS connection to {host}"
    )
    assert ended["detail"].startswith(said)
    assert len(done.of("request_failed")) == 1, "neither changes by asking again"
    assert not agent.received
