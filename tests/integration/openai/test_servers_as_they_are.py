"""What model servers do besides answering, and whose fault it is: whole runs, and a judge, over
real HTTP.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.evaluation.conversation.attempts import stream_whole
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers import seams
from bioeval_tui.peers.arrivals import STAMPED
from bioeval_tui.peers.models.judge import LLMJudge
from bioeval_tui.peers.models.model import ChatModel
from bioeval_tui.protocols import JudgeView, PeerError
from tests.servers import openai_server as srv
from tests.servers.agents import chat_agent
from tests.servers.whole_runs import WholeRun, hold, uplifts, with_models

JOB: dict[str, Any] = {
    "target": {"user": "ada", "chatbot": "bot", "protocol": "openai", "model": "m"},
    "aspirationalAverage": 60000,
    "evaluator": {"kind": "scripted", "lines": [{"say": "One"}, {"say": "Two"}, {"say": "Three"}]},
    "scorer": {"kind": "rules"},
    "facts": ["It is 5 mg"],
    "tasks": [{"task": "Get help", "rules": [{"pattern": "help", "who": "agent"}]}],
}
CONTEXT = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 574, "n_ctx": 512}
TOO_LONG = "request (574 tokens) exceeds the available context size (512 tokens), try increasing it"
NO_ITEM = "Cannot determine type of 'item'"
NO_SCHEMA = (
    "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
    "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}]"
)


async def run_with(
    url: str, folder: Path, *, spec: dict[str, Any] | None = None, **target: Any
) -> WholeRun:
    job = {**JOB, "target": {**JOB["target"], "url": url, **target}}
    return await hold(json.dumps(job), folder, settings=with_models(url), **(spec or {}))


@asynccontextmanager
async def closes_after_each_answer(received: list[bytes]) -> AsyncIterator[str]:
    """Serve streamed answers as llama.cpp does: with keep-alive, and the connection closed at the
    next request.
    """
    event = b"data: " + json.dumps(srv.chunk({"content": "I help."}, "stop")).encode() + b"\n\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    answer = head + b"Keep-Alive: timeout=5, max=100\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (
        len(event),
        event,
    )

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for served in (False, True):
            try:
                asked = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    line
                    for line in asked.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                )
                received.append(await reader.readexactly(int(length.partition(b":")[2])))
            except asyncio.IncompleteReadError:
                break
            if not served:
                writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    async with server:
        yield f"http://{host}:{port}/v1"


async def test_a_request_on_a_connection_that_the_server_closed_is_sent_on_another(
    tmp_path: Path,
) -> None:
    received: list[bytes] = []
    async with closes_after_each_answer(received) as url:
        run = await run_with(url, tmp_path)
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    assert not run.of("request_failed")
    assert len(received) == 2 * (1 + 2 * 3), "each but the first of a conversation was lost once"


@pytest.mark.skipif(not STAMPED, reason="the kernel does not say when bytes arrived")
async def test_no_agent_is_quick_by_answering_before_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its response time would be negative, and leave the slow ones out of the mean."""
    monkeypatch.setattr(seams, "MOST_S", 0.0)  # as if the next message came later
    served: list[asyncio.StreamWriter] = []
    message = {"role": "assistant", "content": "I help."}
    body = json.dumps(srv.completion(message)).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer % (len(body), body))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    async with server:
        agent = chat_agent(f"http://{host}:{port}/v1", streaming=False)
        await agent.open()
        assert (await stream_whole(agent.send("Hi"), None)).content == "I help."
        served[0].write(answer % (len(body), body))
        with pytest.raises(PeerError, match="the agent sent an answer before it was asked"):
            await stream_whole(agent.send("And now?"), None)
        await agent.aclose()
    assert len(served) == 1


async def test_no_agent_is_quick_by_failing_between_two_parts_of_an_answer(
    server: srv.OpenAIServer, tmp_path: Path
) -> None:
    """It goes on from the part that it has, so the wait is after the start of its answer."""
    help_ = srv.say("I help.")
    first = (srv.call_tool("look", {}), srv.status(500), help_)
    server.will(*(help_, *first, help_, help_) * 2)
    run = await run_with(server.url, tmp_path, tools=[{"name": "look", "answer": "ok"}])
    (failed, _), answers = run.of("request_failed"), run.of("message_completed")
    answer = next(each for each in answers if each.message == failed.message)
    assert answer.waited_ms > failed.wait_ms / 2, "else it would be in no time at all"


async def test_an_agent_that_remembers_does_not_get_a_message_twice(tmp_path: Path) -> None:
    received: list[bytes] = []
    async with closes_after_each_answer(received) as url:
        run = await run_with(url, tmp_path, remembers=True)
    assert [ended.reason for ended in run.of("conversation_ended")] == ["agent_failed"] * 2
    assert len(received) == 2 * 2 * 2, (
        "each conversation is held again from its start, no message is sent twice"
    )


async def test_an_answer_cut_off_at_a_models_limit_is_judged_and_marked(tmp_path: Path) -> None:
    async with srv.OpenAIServer(
        otherwise=lambda body: srv.say("I help, and", finish="length")
    ) as server:
        run = await run_with(server.url, tmp_path)
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    answers = [said for said in run.of("message_completed") if said.role == "assistant"]
    assert [said.cut_off for said in answers] == [True] * 8


@pytest.mark.parametrize(
    "refusal",
    [
        srv.status(400, NO_ITEM, error={"code": 400, "type": "invalid_request_error"}),
        srv.status(404, "model not found"),
        srv.status(422, "messages: unexpected role"),
    ],
    ids=["400", "404", "422"],
)
async def test_an_endpoint_that_disagrees_with_this_program_measures_nothing(
    tmp_path: Path, refusal: srv.Answer
) -> None:
    def answer(body: dict[str, Any]) -> srv.Answer:
        return srv.say("I help.") if len(body["messages"]) == 1 else refusal

    async with srv.OpenAIServer(otherwise=answer) as server:
        run = await run_with(server.url, tmp_path)
    ends = run.of("conversation_ended")
    assert [(end.reason, end.fault) for end in ends] == [("cancelled", "unclear")] * 2
    assert str(server.url.split("/")[2]) in ends[0].detail
    assert [(scored.score, scored.failures) for scored in run.of("conversation_scored")] == [
        (None, 0)
    ] * 2


async def test_a_full_context_is_the_agents_failure_and_named_so(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> srv.Answer:
        full = len(body["messages"]) > 3
        return srv.status(400, TOO_LONG, error=CONTEXT) if full else srv.say("I help.")

    async with srv.OpenAIServer(otherwise=answer) as server:
        run = await run_with(server.url, tmp_path)
    ends = run.of("conversation_ended")
    assert [(end.reason, end.fault) for end in ends] == [("agent_failed", "agent")] * 2
    assert "no longer fits the context of the model" in ends[0].detail
    assert TOO_LONG in ends[0].detail


@pytest.mark.parametrize(
    "words",
    [
        TOO_LONG,
        "This model's maximum context length is 512 tokens. However, you requested 574 tokens",
        "prompt is too long: 574 tokens > 512 maximum",
        "The input token count (574) exceeds the maximum number of tokens allowed (512).",
        "`inputs` tokens + `max_new_tokens` must be <= 512. Given: 574 `inputs` tokens",
        "Please reduce the length of the messages or completion.",
    ],
)
async def test_every_servers_words_for_a_full_context_are_known(
    server: srv.OpenAIServer, words: str
) -> None:
    server.will(srv.status(400, words))
    agent = chat_agent(server.url, model="m")
    with pytest.raises(PeerError, match="no longer fits the context") as caught:
        [piece async for piece in agent.send("Hi")]
    await agent.aclose()
    assert not caught.value.disagrees


def answers_only_alone(
    alone: bool = True, busy_until: int = 4
) -> tuple[srv.OpenAIServer, list[int]]:
    """Return a server that answers while it has one request, as one with too many for its time
    limit, and its counts.

    With `busy_until`, not even then before that request.
    """
    counts: list[int] = []
    under_way = 0

    def otherwise(body: dict[str, Any]) -> srv.Answer:
        async def answer(server: Any, request: Any, body: dict[str, Any]) -> Any:
            nonlocal under_way
            under_way += 1
            counts.append(under_way)
            try:
                if under_way > 1 or not alone or len(counts) < busy_until:
                    return await srv.hangs()(server, request, body)
                return await srv.say("I help.")(server, request, body)
            finally:
                under_way -= 1

        return answer

    return srv.OpenAIServer(otherwise=otherwise), counts


CROWD = {"concurrency": 4, "trials": 2, "parallel": True}


async def test_a_timeout_among_our_own_requests_is_tried_again_alone(tmp_path: Path) -> None:
    server, _ = answers_only_alone()
    async with server:
        run = await run_with(server.url, tmp_path, spec=CROWD, timeoutMs=1000)
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    failed = run.of("request_failed")
    assert failed
    assert not any(failure.counted for failure in failed)
    assert all(failure.crowded for failure in failed)
    slowed = [warned.message for warned in run.of("warned") if warned.code == "slowed"]
    assert "too slow for so many requests at once (timeout): reduced from 4 to 1" in slowed[0]


async def test_an_agent_that_does_not_answer_alone_either_is_blamed(tmp_path: Path) -> None:
    server, _ = answers_only_alone(alone=False)
    async with server:
        run = await run_with(server.url, tmp_path, spec=CROWD, timeoutMs=300)
    assert {(end.reason, end.fault) for end in run.of("conversation_ended")} == {
        ("agent_failed", "agent")
    }
    assert sum(failure.counted for failure in run.of("request_failed")) == 4


async def test_a_server_that_still_works_on_what_we_gave_up_is_not_the_agents_failure(
    tmp_path: Path,
) -> None:
    server, counts = answers_only_alone(busy_until=6)
    async with server:
        run = await run_with(server.url, tmp_path, spec=CROWD, timeoutMs=1000)
    assert counts[4] == 1, "the fifth request was sent alone, and not answered either"
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    assert not any(failure.counted for failure in run.of("request_failed"))


async def test_an_agent_that_remembers_is_not_asked_again_after_our_own_queue(
    tmp_path: Path,
) -> None:
    server, counts = answers_only_alone(alone=False)
    async with server:
        run = await run_with(server.url, tmp_path, spec=CROWD, timeoutMs=300, remembers=True)
    crowded = [end for end in run.of("conversation_ended") if end.fault == "unclear"]
    assert crowded
    assert "while other requests of this program waited" in crowded[0].detail
    assert len(counts) == 4


@pytest.mark.parametrize("finish", ["stop", "content_filter"])
async def test_a_chat_endpoint_without_a_greeting_is_not_told_to_be_another_protocol(
    tmp_path: Path, finish: str
) -> None:
    said = "" if finish == "stop" else "I he"
    async with srv.OpenAIServer(otherwise=lambda body: srv.say(said, finish=finish)) as server:
        run = await run_with(server.url, tmp_path)
    assert [end.ways for end in run.of("conversation_ended")] == [("look at the agent's log",)] * 2


async def test_a_chat_endpoint_keeps_nothing_so_that_its_runs_are_clean(tmp_path: Path) -> None:
    async with srv.OpenAIServer(otherwise=lambda body: srv.say("I help.")) as server:
        run = await run_with(server.url, tmp_path)
        (tmp_path / "other").mkdir()
        other = await run_with(server.url, tmp_path / "other", remembers=True)
    assert run.state.cleanness == "clean"
    assert uplifts(run)[1] == 0.0
    assert other.state.cleanness == "cleanliness unknown"
    assert uplifts(other)[1] is None


async def test_an_option_is_left_out_only_if_the_server_names_it_and_the_run_says_so(
    tmp_path: Path,
) -> None:
    def answer(body: dict[str, Any]) -> srv.Answer:
        shape = body.get("response_format", {}).get("type")
        if shape == "json_schema":
            return srv.status(500, NO_SCHEMA, error={"type": "internal_server_error", "code": None})
        evidence = ["I help you with the dose."]
        task = {"task": 1, "score": 1.0, "reason": "It helped.", "evidence": evidence}
        return srv.say_json({"tone": 0.5, "tasks": [task]})

    said = srv.say("I help you with the dose.")
    async with (
        srv.OpenAIServer(otherwise=answer) as judge,
        srv.OpenAIServer(otherwise=lambda body: said) as agent,
    ):
        job = {**JOB, "target": {**JOB["target"], "url": agent.url}, "scorer": {"model": "j"}}
        run = await hold(json.dumps(job), tmp_path, settings=with_models(judge.url))
    assert not any(judged.error for judged in run.of("transcript_scored"))
    shapes = [asked.body["response_format"]["type"] for asked in judge.received]
    assert shapes == ["json_schema", "json_object", "json_object"]
    (told,) = [warned.message for warned in run.of("warned") if warned.code == "options"]
    assert told.startswith("the judge's model is asked without json_schema: ")


async def test_an_unrelated_refusal_leaves_the_judges_schema_in_later_requests(
    server: srv.OpenAIServer, job: EvaluationJob, transcript: list[Any]
) -> None:
    chat = ChatModel("judge", api_key="k", base_url=server.url)
    judge = LLMJudge(models=("m",), job_dir=None, chat=chat)
    server.will(
        srv.status(400, TOO_LONG, error=CONTEXT),
        srv.status(400, NO_ITEM),
        srv.say("{}"),
        srv.say("{}"),
    )
    for _ in range(3):
        with pytest.raises((PeerError, NotMeasuredError)):
            await judge.score(JudgeView(job, "withheld", transcript))
    await chat.aclose()
    assert {asked.body["response_format"]["type"] for asked in server.received} == {"json_schema"}


async def test_a_functions_name_that_is_repeated_in_each_chunk_is_read_once(
    server: srv.OpenAIServer,
) -> None:
    pieces = [
        {
            "index": 0,
            "id": "c1",
            "type": "function",
            "function": {"name": "lookUp", "arguments": part},
        }
        for part in ("", '{"drug": ', '"x"}')
    ]

    async def answer(server: Any, request: Any, body: dict[str, Any]) -> Any:
        return await srv.stream(
            request, [srv.chunk({"tool_calls": [piece]}) for piece in pieces], "tool_calls"
        )

    server.will(answer)
    agent = chat_agent(server.url, model="m")
    reply = [piece async for piece in agent.send("Hi")][-1]
    await agent.aclose()
    assert reply.generation[0]["request"]["function"]["name"] == "lookUp"
    assert reply.generation[0]["request"]["arguments"] == {"drug": "x"}


async def test_each_item_of_a_responses_request_says_its_type(server: srv.OpenAIServer) -> None:
    whole = {
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "I help."}]}]
    }
    server.will(*[srv.raw(json.dumps(whole))] * 2)
    agent = chat_agent(server.url, model="m", api="responses", streaming=False)
    for said in ("One", "Two"):
        [piece async for piece in agent.send(said)]
    await agent.aclose()
    assert {item.get("type") for item in server.received[-1].body["input"]} == {"message"}


HELPS = json.dumps(srv.chunk({"content": "I help."}))
ENDS = json.dumps(srv.chunk({}, "stop"))
NO_DELTA = json.dumps({"id": "", "choices": [{"index": 0, "delta": None, "finish_reason": None}]})
NO_CHOICES = json.dumps({"id": "", "choices": None, "usage": srv.USAGE})


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(["null", HELPS, "null", ENDS, "[DONE]"], id="null as a sign of life"),
        pytest.param([HELPS, NO_CHOICES, ENDS, NO_CHOICES, "[DONE]"], id="choices are null"),
        pytest.param([NO_DELTA, HELPS, NO_DELTA.replace('reason": null', 'reason": "stop"')],
            id="a delta is null"),
        pytest.param(['{"type": "ping"}', HELPS, ENDS, '{"type": "ping"}'],
            id="a sign of life of another kind"),
        pytest.param([HELPS.replace(", ", ",\r\ndata: "), ENDS, "[DONE]"],
            id="JSON in several lines"),
    ],
)  # fmt: skip
async def test_a_gateways_signs_of_life_and_nulls_are_no_failure_of_the_agent(
    tmp_path: Path, events: list[str]
) -> None:
    body = "".join(f"data: {event}\r\n\r\n" for event in events)
    async with srv.OpenAIServer(
        otherwise=lambda body_: srv.raw(body, "text/event-stream")
    ) as server:
        run = await run_with(server.url, tmp_path, spec={"conditions": ("supplied",)})
    answers = {m.content for m in run.of("message_completed") if m.role == "assistant"}
    assert (answers, run.of("request_failed")) == ({"I help."}, [])
    assert run.result["score"] is not None or run.state.scores()["supplied"] is not None
