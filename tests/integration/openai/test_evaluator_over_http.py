"""The evaluator's model over real HTTP: its prompt, its messages, and every way to fail."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.peers.models.evaluator import LLMEvaluator
from bioeval_tui.peers.models.model import MODEL_TIMEOUTS, ChatModel
from bioeval_tui.protocols import Delta, EvaluatorView, PeerError, Utterance
from tests.servers import openai_server as srv

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
async def chats():
    """Make chat endpoints of the evaluator's that are closed after the test."""
    made: list[ChatModel] = []

    def make(url: str, **more: object) -> ChatModel:
        made.append(ChatModel("evaluator", **{"api_key": KEY, "base_url": url, **more}))
        return made[-1]

    yield make
    for chat in made:
        await chat.aclose()


@pytest.fixture
def evaluator(job, server, tmp_path, chats):
    return LLMEvaluator(job, model="gpt-x", job_dir=tmp_path, chat=chats(server.url))


@pytest.fixture
def view(job, transcript):
    return EvaluatorView(job, "withheld", 1, (), transcript)


async def heard(evaluator, view):
    *deltas, last = [piece async for piece in evaluator.speak(view)]
    assert all(isinstance(delta, Delta) for delta in deltas)
    assert isinstance(last, Utterance)
    return "".join(delta.text for delta in deltas), last


async def test_the_evaluator_streams_its_message_and_counts_tokens(evaluator, server, view):
    server.will(srv.say("And what does it cost?"))
    streamed, last = await heard(evaluator, view)
    assert streamed == last.content == "And what does it cost?"
    assert (last.tokens_in, last.tokens_out, last.model) == (11, 7, "stand-in")
    assert server.received[0].headers["Authorization"] == f"Bearer {KEY}"
    assert (server.received[0].body["model"], server.received[0].body["temperature"]) == (
        "gpt-x",
        0.5,
    )


async def test_the_evaluator_gets_facts_only_where_supplied_and_never_criteria(
    evaluator, server, view, job, transcript
):
    await heard(evaluator, view)
    await heard(
        evaluator, EvaluatorView(job, "supplied", 1, job.facts, transcript, "Say it shorter.")
    )
    withheld, supplied = (received.text for received in server.received)
    assert "8:15" not in withheld
    assert "8:15" in supplied
    assert "CRITERION" not in withheld + supplied
    assert "Say it shorter." in supplied


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("<think>I should ask.\nYes.</think>\n\nHow much?", "How much?"),
        ("Socrates: How much?", "How much?"),
        ("User: How much?", "How much?"),
        ('"How much?"', "How much?"),
        ('"A" and "B"', '"A" and "B"'),
        ("<3 that, how much?", "<3 that, how much?"),
    ],
)
async def test_quotes_labels_and_reasoning_are_removed_from_a_message(
    evaluator, server, view, sent, said
):
    server.will(srv.say(sent))
    streamed, last = await heard(evaluator, view)
    assert last.content == said
    assert "think" not in streamed


@pytest.mark.parametrize(
    ("answer", "says", "retryable", "wait"),
    [
        (srv.status(429, "slow down", retry_after="7"), r"is rate-limiting \(429\): slow down",
            True, 7.0),
        (srv.status(503, "busy"), r"failed \(503\): busy", True, None),
        (srv.status(429, "pay", error={"code": "insufficient_quota"}), "pay", False, None),
        (srv.status(401, f"Incorrect API key provided: {KEY}"), r"rejected the API key \(401\)",
            False, None),
        (srv.status(404, "no such model"), "does not know this URL or model", False, None),
        (srv.redirect("https://elsewhere.example/v1"), "redirect, which is not followed", False,
            None),
        (srv.refuse("I cannot do that."), "the model refused: I cannot do that.", False, None),
        (srv.say("And then", finish="length"), "cut off at the model's length limit", False, None),
        (srv.say("", finish="content_filter"), "content filter", False, None),
        (srv.say(""), "was empty", True, None),
        (srv.call_tool("search", {"q": "x"}), r"called a tool \(search\) instead of answering",
            False, None),
        (srv.breaks_off("And"), "closed the connection", False, None),
        (srv.ends_without_finish("And"), "ended before the answer was finished", False, None),
        (srv.raw("<html>Welcome</html>", "text/html"), "not JSON: <html>", False, None),
        (srv.raw("data: {broken\n\n", "text/event-stream"), "not JSON", False, None),
        (srv.raw('"just a text"'), "not a chat completion: just a text", False, None),
        (srv.raw('{"choices": null}'), "without choices", False, None),
        (srv.raw('data: {"error": {"message": "out of memory"}}\n\n', "text/event-stream"),
            "out of memory", True, None),
        (srv.packed("{}"), "sent Content-Encoding: gzip", False, None),
        (srv.endless(b"data: " + b"x" * 100_000), "more than 16,000,000 bytes", False, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
async def test_each_http_failure_is_one_sentence_without_the_key(
    evaluator, server, view, answer, says, retryable, wait
):
    server.will(answer)
    with pytest.raises(PeerError, match=says) as caught:
        await heard(evaluator, view)
    error = caught.value
    assert (error.peer, error.retryable, error.retry_after_s) == ("evaluator", retryable, wait)
    assert KEY not in str(error) + error.received
    assert "\n" not in str(error)
    assert len(server.received) == 1


async def test_an_unreachable_model_is_one_sentence(job, view, tmp_path, chats):
    async with srv.OpenAIServer() as gone:
        url = gone.url
    evaluator = LLMEvaluator(job, model="m", job_dir=tmp_path, chat=chats(url))
    with pytest.raises(PeerError, match=r"127\.0\.0\.1:\d+ refused the connection") as caught:
        await heard(evaluator, view)
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("answer", "retryable"),
    [
        (
            srv.raw(
                f'data: {{"error": {{"message": "{KEY} is rejected"}}}}\n\n', "text/event-stream"
            ),
            True,
        ),
        (srv.raw(f"data: {KEY} broke\n\n", "text/event-stream"), False),
        (srv.raw(f"{KEY} and nothing else"), False),
    ],
)
async def test_a_key_that_the_server_repeats_is_not_shown(
    evaluator, server, view, answer, retryable
):
    server.will(answer)
    with pytest.raises(PeerError) as caught:
        await heard(evaluator, view)
    assert KEY not in str(caught.value) + caught.value.received
    assert "[key]" in str(caught.value) + caught.value.received
    assert caught.value.retryable is retryable


async def test_a_refusal_with_a_long_body_is_recognised(evaluator, server, view):
    error = {"message": "too long " + "x" * 5_000, "code": "context_length_exceeded"}
    server.will(srv.status(400, "", error=error))
    with pytest.raises(
        PeerError, match=r"no longer fits the context of the model at .*: too long x"
    ):
        await heard(evaluator, view)
    assert len(server.received) == 1, "it is no option that the server refuses"


async def test_concurrent_requests_with_a_refused_option_are_all_answered(
    job, server, view, tmp_path, chats
):
    def without_temperature(body):
        refuses = "temperature" in body
        return srv.status(400, "unsupported parameter: temperature") if refuses else srv.say("And?")

    server.otherwise = without_temperature
    shared = LLMEvaluator(job, model="m", job_dir=tmp_path, chat=chats(server.url))
    said = await asyncio.gather(*(heard(shared, view) for _ in range(4)))
    assert [last.content for _, last in said] == ["And?"] * 4


@pytest.mark.parametrize(
    "end", ["\n\n", "\n", "", "\n\ndata: [DONE]", "\r\n\r\ndata: [DONE]\r\n\r\n: bye\r\n\r\n"]
)
async def test_a_stream_may_end_with_or_without_done(evaluator, server, view, end):
    last = json.dumps(srv.chunk({"content": "Fine."}, "stop"))
    server.will(srv.raw(f"data: {last}{end}", "text/event-stream"))
    _, utterance = await heard(evaluator, view)
    assert utterance.content == "Fine."


@pytest.mark.parametrize("answer", [srv.hangs(), srv.hangs("And")], ids=["before", "within"])
async def test_a_silent_model_times_out_and_the_connection_is_closed(
    job, server, view, tmp_path, chats, answer
):
    chat = chats(server.url, timeouts=replace(MODEL_TIMEOUTS, whole=0.3))
    evaluator = LLMEvaluator(job, model="m", job_dir=tmp_path, chat=chat)
    server.will(answer)
    with pytest.raises(PeerError, match=r"did not finish its answer within 0\.3 s") as caught:
        await heard(evaluator, view)
    assert not caught.value.retryable, "it may have been delivered"
    await server.left.wait()


async def test_cancelling_a_model_request_closes_the_connection(evaluator, server, view):
    server.will(srv.hangs("And"))
    pieces = evaluator.speak(view)
    assert (await anext(pieces)).text == "And"
    waiting = asyncio.create_task(anext(pieces))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await pieces.aclose()
    await server.left.wait()


async def test_refused_options_are_left_out_from_then_on(evaluator, server, view):
    server.will(
        srv.refuse_option("temperature"), srv.refuse_option("stream_options"), srv.say("Fine.")
    )
    assert (await heard(evaluator, view))[1].content == "Fine."
    await heard(evaluator, view)
    assert ["temperature" in r.body for r in server.received] == [True, False, False, False]
    assert ["stream_options" in r.body for r in server.received] == [True, True, False, False]


async def test_an_answer_that_is_not_streamed_is_accepted(evaluator, server, view):
    server.will(srv.raw(json.dumps(srv.completion({"role": "assistant", "content": "Whole."}))))
    streamed, last = await heard(evaluator, view)
    assert (streamed, last.content) == ("", "Whole.")


async def test_the_jobs_own_prompt_is_used_and_never_evaluates_its_data(
    job, server, tmp_path, transcript, chats
):
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "socrates.jinja").write_text(
        "MINE {{ config.tasks[0].task }} {{ transcript[0].content }}"
    )
    transcript[0] = type(transcript[0])(1, "user", "{{ 7 * 7 }}")
    evaluator = LLMEvaluator(job, model="m", job_dir=tmp_path, chat=chats(server.url, api_key=None))
    await heard(evaluator, EvaluatorView(job, "withheld", 1, (), transcript))
    assert server.received[0].text.startswith("MINE Ask for a reminder {{ 7 * 7 }}")


async def test_a_missing_prompt_is_reported_before_anything_is_sent(job, tmp_path, chats):
    other = job.model_copy(
        update={"evaluator": job.evaluator.model_copy(update={"prompt": "eval/nope"})}
    )
    with pytest.raises(UsageError, match="prompt `eval/nope`: not found"):
        LLMEvaluator(other, model="m", job_dir=tmp_path, chat=chats("http://127.0.0.1:1"))


async def test_conversations_share_what_they_learn_about_refused_options(
    job, server, view, tmp_path, chats
):
    chat = chats(server.url)
    first, second = (LLMEvaluator(job, model="m", job_dir=tmp_path, chat=chat) for _ in range(2))
    server.will(srv.refuse_option("temperature"))
    await heard(first, view)
    await first.aclose()
    await heard(second, view)
    assert ["temperature" in r.body for r in server.received] == [True, False, False]
