"""What an agent sends is the agent's: it cannot take its bad conversations out of the mean, and is
not charged for what is allowed.

Twenty conversations, of which one would go badly; in that one, the agent sends something odd
instead of its bad answer. If the conversation were left out, 19 of 20 would be left, which a gate
for the quality of models allows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.peer_limits import MAX_HEADER_BYTES, MAX_HEADERS
from bioeval_tui.evaluation import assertions
from bioeval_tui.evaluation.conversation import attempts, observe, run_job, scoring, turns
from bioeval_tui.peers import offline, transcript
from bioeval_tui.peers.agents import connection, rest
from bioeval_tui.record import score

from .peers import ASKED, Agent, Fault, Request, http, says, serving, status
from .program import Outcome, Program

DIGITS = "9" * 400
TRIALS = 10
Made = Callable[[str], bytes]
"""Makes the body of an answer in a session."""


@dataclass
class Voider(Agent):
    """Does badly in its third conversation: when it is asked for something, it sends `odd` instead
    of a bad answer.
    """

    odd: Fault | None = None
    bad_state: Fault | None = None
    sessions_met: list[str] = field(default_factory=list)

    def is_bad(self, session: str) -> bool:
        """Say whether this is the conversation that goes badly."""
        return session == "s3"

    def fault_of(self, request: Request) -> Fault | None:
        """Be odd in the bad conversation: in the answer to the request, or from then on in the
        state.
        """
        is_message = request.path.endswith("/messages") and self.is_bad(request.body["sessionId"])
        if is_message and request.body["message"]["content"] == ASKED:
            self.sessions_met.append(request.body["sessionId"])
            return self.odd
        if request.method == "GET" and self.bad_state is not None:
            session = request.path.rpartition("/")[2]
            return self.bad_state if session in self.sessions_met else None
        return None


@dataclass
class Various(Voider):
    """Sends something odd in several conversations: in each session, what `odds` has for it."""

    odds: dict[str, Fault] = field(default_factory=dict)

    def is_bad(self, session: str) -> bool:
        return session in self.odds

    def fault_of(self, request: Request) -> Fault | None:
        if request.path.endswith("/messages"):
            self.odd = self.odds.get(request.body["sessionId"])
        return super().fault_of(request)


def answer(extra: str = "", content: str = "no idea") -> Fault:
    """Answer the message with more JSON beside it; `extra` begins with a comma."""

    async def fault(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
        session = json.loads(due.partition(b"\r\n\r\n")[2])["sessionId"]
        message = f'{{"content":"{content}","role":"assistant"}}'
        body = f'{{"sessionId":"{session}","message":{message}{extra}}}'
        writer.write(http(body.encode("utf-8", "surrogatepass")))

    return fault


def headed(more: str, code: str = "200 OK", kind: str = "application/json") -> Fault:
    """Answer as was due, with another head."""

    async def fault(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
        body = due.partition(b"\r\n\r\n")[2]
        head = f"HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode("latin-1") + more.encode("latin-1") + b"\r\n" + body)

    return fault


def call(arguments: str) -> str:
    """Return a tool call as an event beside an answer."""
    return (
        f',"events":[{{"request":{{"function":{{"name":"f"}},"arguments":{arguments},"id":"1"}}}}]'
    )


STATE = """
assertions:
  - name: it keeps nothing
    expression: objectContext.resources.size == 0
"""
NO_CALL = "{name: it deletes nothing, toolCalls: {mustNotCall: [deleteAll]}}"
NAMED = {
    "400 digits in a tool call": (answer(call('{"a":' + DIGITS + "}")),
        "events[0].request.arguments.a"),
    "5,000 digits": (answer(call('{"a":[1,' + DIGITS * 13 + "]}")),
        "events[0].request.arguments.a[1]"),
    "a negative number of 400 digits": (answer(call('{"a":-' + DIGITS + "}")),
        "larger than a double holds"),
    "1e999": (answer(call('{"a":1e999}')), "events[0].request.arguments.a"),
    "NaN": (answer(call('{"a":{"b":NaN}}')), "events[0].request.arguments.a.b"),
    "deep": (answer(call('{"a":' + "[" * 90 + "]" * 90 + "}")), "nested deeper than 64"),
    "very deep": (answer(call('{"a":' + "[" * 99_999 + "]" * 99_999 + "}")),
        "nested deeper than 64"),
    "gzip": (headed("Content-Encoding: gzip\r\n"), "Content-Encoding: gzip"),
    "gzip, as an element of a list": (headed("Content-Encoding: , GZIP\r\n"),
        "Content-Encoding: gzip,"),
    "two codings": (
        headed("Content-Encoding: identity, aws-chunked\r\nContent-Encoding: zstd\r\n"),
        "Content-Encoding: aws-chunked, zstd,",
    ),
    "a long header": (headed(f"X-A: {'a' * (MAX_HEADER_BYTES + 1)}\r\n"),
        "a header of more than 65,536 bytes"),
    "a long reason": (headed("", code=f"200 {'a' * (MAX_HEADER_BYTES + 1)}"),
        "a header of more than 65,536"),
    "many headers": (headed("X-A: a\r\n" * (MAX_HEADERS - 1)), "more than 250 headers"),
    "not UTF-8": (says(b'{"sessionId":"s3","message":{"content":"\xff"}}'), "not JSON"),
    "another type": (answer(',"events":7'), "events is not a list"),
    "a status": (status(418), "answered 418"),
    "a length that is none": (headed("Content-Length: -5\r\n"), "HTTP"),
    "two lengths": (headed("Content-Length: 3\r\n"), "HTTP"),
}  # fmt: skip


def run(program: Program, agent: Agent, *more: str, job: Path | None = None) -> Outcome:
    """Run the job in twenty conversations, with a threshold that a single bad one misses."""
    with serving(agent):
        return program.call(
            "run", str(job or program.job()), "--agent-url", agent.url, "--graph", "none",
            "--headless", "--json",
            "--repeat", str(TRIALS), "--fail-under", "withheld:0.99,supplied:0.99", *more,
        )  # fmt: skip


def with_assertions(program: Program, *more: str) -> Path:
    """Write the job with an assertion on the state, one on tool calls, and `more`."""
    job = program.job()
    text = job.read_text("utf-8").replace("target: {", "target: {tellsToolCalls: true, ")
    job.write_text(
        text + STATE + "".join(f"  - {line}\n" for line in (NO_CALL, *more)), encoding="utf-8"
    )
    return job


def bad_one(done: Outcome, kind: str) -> dict[str, Any]:
    """Return an event of the conversation that went badly: the third."""
    found = [event for event in done.of(kind) if event["trial"] == 2]
    return found[-1]


def of_session(done: Outcome, session: str, kind: str) -> dict[str, Any]:
    """Return an event of the conversation in a session."""
    (begun,) = [
        event
        for event in done.events
        if event["kind"] == "conversation_started" and event["session_id"] == session
    ]
    where = [(begun["condition"], begun["trial"])]
    return next(
        event
        for event in done.events
        if event["kind"] == kind and (event["condition"], event["trial"]) in where
    )


@pytest.mark.parametrize("names", [[*NAMED][start::3] for start in range(3)], ids="; ".join)
def test_what_an_agent_sends_never_takes_its_bad_conversation_out_of_the_mean(
    names: list[str], program: Program
) -> None:
    # Every third conversation goes badly, each in its own way.
    bad = {f"s{3 * number}": name for number, name in enumerate(names, start=1)}
    done = run(program, Various(odds={session: NAMED[name][0] for session, name in bad.items()}))
    for session, name in bad.items():
        ended = of_session(done, session, "conversation_ended")
        assert (ended["reason"], ended["fault"]) == ("agent_failed", "agent"), name
        assert NAMED[name][1] in ended["detail"], name
        scored = of_session(done, session, "conversation_scored")
        assert scored.get("score", 1.0) < 0.99, f"{name}: it counts: {scored}"
    assert done.code == 1, done.err
    assert done.err.count("(10 of 10 used)") == 2, done.err


def test_a_bad_conversation_counts_also_if_this_program_did_not_run_during_its_answers(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Voider(odd=answer(call('{"a":1e999}')))
    monkeypatch.setattr(turns, "MOST_OF_A_LATENCY", -1.0)  # no latency counts
    done = run(program, agent)
    scored = bad_one(done, "conversation_scored")
    assert scored["score"] == 0.7, "the rest of it, and one failure"
    (timing,) = (part for part in scored["parts"] if part["name"] == "timing")
    assert (timing["left_out"], timing["reason"]) == (True, score.DID_NOT_RUN)
    others = [event for event in done.of("conversation_scored") if event["seq"] != scored["seq"]]
    assert {event.get("score") for event in others} == {None}
    assert {event["fault"] for event in others} == {"infrastructure"}
    assert done.code != 0


READERS = [
    (connection, "parse_json"),
    (rest, "parse_message"),
    (rest, "read_state"),
    (attempts, "require_usable"),
    (attempts, "clean_value"),
    (observe, "_clean_state"),
    (transcript.SpokenTranscript, "as_evaluation"),
    (assertions, "check_expression"),
    (assertions, "check_tool_calls"),
    (run_job, "judge_view"),
    (offline.RulesJudge, "score"),
    (scoring, "combine_verdicts"),
    (scoring, "score_fields"),
]
"""Each reads what an agent sent: its bytes, its message, its state, what was recorded of them, and
what is asserted and judged.
"""


@pytest.mark.parametrize(
    ("owner", "reader"), READERS, ids=lambda one: getattr(one, "__name__", one)
)
def test_a_bug_over_a_peers_data_is_nobodys_score_and_passes_no_gate(
    owner: Any, reader: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Voider(odd=answer(call('{"a": 1}')), bad_state=says(b'{"resources": []}'))
    own = getattr(owner, reader)

    def broken(*given: Any, **named: Any) -> Any:
        if agent.sessions_met and len(agent.sessions) == 3:
            raise ArithmeticError("a bug")
        return own(*given, **named)

    monkeypatch.setattr(owner, reader, broken)
    program.meets_a_bug = True
    done = run(program, agent, job=with_assertions(program))
    ended, scored = bad_one(done, "conversation_ended"), bad_one(done, "conversation_scored")
    assert "score" not in scored
    assert "program" in (ended["fault"], scored["fault"])
    assert done.code == 3, "19 of 20 reach the threshold"
    assert "9 of 10 used (this program failed in 1: " in done.err
    assert "a bug in this program: ArithmeticError: a bug; please report it" in done.err
    assert "1 conversation left out because of a bug in this program: please report it" in done.err
    others = [
        event
        for event in done.events
        if event["kind"] == "conversation_scored" and event is not scored
    ]
    assert [event["score"] for event in others] == [1.0] * 19


STATES = {
    "400 digits": (says(b'{"resources": [], "n": %s}' % DIGITS.encode()), "at n"),
    "gone": (status(500), "answered 500"),
    "HTML": (says(b"<html>"), "HTML"),
    "compressed": (headed("Content-Encoding: br\r\n"), "Content-Encoding: br"),
    "6 MB": (says(b'{"resources": [], "n": "%s"}' % (b"n" * 6_000_000)), "5,000,000 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_a_state_that_cannot_be_read_any_more_fails_what_is_asserted_of_it(
    name: str, program: Program
) -> None:
    state, named = STATES[name]
    agent = Voider(odd=answer(content="I made a note of it"), bad_state=state)
    done = run(program, agent, job=with_assertions(program))
    checked = next(
        each for each in done.of("assertion_checked") if each["trial"] == 2 and each.get("final")
    )
    assert checked["status"] == "failed"
    assert named in checked["error"]
    assert done.code == 1, done.err


def test_tool_calls_that_are_not_reported_when_they_would_fail_pass_no_gate(
    program: Program,
) -> None:
    job = program.job()
    asserted = "assertions: [{name: it looks first, toolCalls: {mustCall: [f]}}]"
    job.write_text(f"{job.read_text('utf-8')}\n{asserted}", encoding="utf-8")

    @dataclass
    class Telling(Voider):
        """Reports its call in every conversation but the bad one."""

        def answer(self, request: Request) -> tuple[bytes, str]:
            body, kind = super().answer(request)
            if not request.path.endswith("/messages") or self.is_bad(request.body["sessionId"]):
                return body, kind
            return body[:-1].replace(b', "events": []', b"") + call("{}").encode() + b"}", kind

    done = run(program, Telling(), job=job)
    assert done.code == 3, done.err
    assert "the agent reported no tool calls" in done.err
    assert "because of what the agent sent, or did not send" in done.err


LEGAL = {
    "obs-text": headed("X-Server: Z\xfcrich\r\n"),
    "UTF-8 in a header": headed("X-Server: Z\xc3\xbcrich\r\n"),
    "a name": headed('Content-Disposition: inline; filename="Zo\xeb.json"\r\n'),
    "a codec": headed("", kind="application/json; charset=rot13"),
    "a charset that is none": headed("", kind="application/json; charset=undefined"),
    "utf-16": headed("", kind="application/json; charset=utf-16"),
    "identity": headed("Content-Encoding: Identity\r\n"),
    "no coding": headed("Content-Encoding:\r\n"),
    "an empty list of codings": headed("Content-Encoding: ,, identity ,\r\nContent-Encoding: \r\n"),
    "a long header": headed(f"X-A: {'a' * MAX_HEADER_BYTES}\r\n"),
    "many headers": headed("Set-Cookie: a=b\r\n" * (MAX_HEADERS - 2)),
    "Retry-After": headed("Retry-After: \xd9\xa3\r\n"),
    "a reason in Latin-1": headed("", code="200 D\xe1cc\xf6rd\xf6"),
    "the largest double": answer(call('{"a":[1e308,-1e308,1' + "0" * 308 + "]}"),
        "I made a note of it"),
}  # fmt: skip


def test_what_the_standards_allow_costs_an_agent_nothing(program: Program) -> None:
    sent = {f"s{number}": name for number, name in enumerate(LEGAL, start=1)}
    done = run(program, Various(odds={session: LEGAL[name] for session, name in sent.items()}))
    for session, name in sent.items():
        ended = of_session(done, session, "conversation_ended")
        assert ended["reason"] == "signed_off", (name, done.err)
    assert done.code == 0, done.err


def test_a_wait_in_digits_of_another_script_is_none(program: Program) -> None:
    agent = Voider(odd=headed("Retry-After: \xd9\xa3\r\n", code="429 Too Many Requests"))
    done = run(program, agent)
    assert bad_one(done, "request_failed")["error"].endswith("answered 429 Too Many Requests")
    assert len(agent.sessions_met) == 4, "tried as often as any 429"
