"""The shapes in which servers and models return the simulated user's message, each over real
HTTP.
"""

from __future__ import annotations

import json
import time

import pytest

from bioeval_tui.peers.models.evaluator import SHORTER, LLMEvaluator, Stream, read, whole_sentences
from bioeval_tui.peers.models.model import ChatModel
from bioeval_tui.protocols import Delta, EvaluatorView, PeerError, Utterance
from tests.integration.openai.conftest import make_job
from tests.servers import openai_server as srv

WORDS = "How much does it cost?"
JSON = json.dumps({"message": WORDS})


@pytest.fixture
async def chat(server):
    made = ChatModel("evaluator", api_key="k", base_url=server.url)
    yield made
    await made.aclose()


@pytest.fixture
def job():
    return make_job(target={"user": "test-user", "chatbot": "Bot"})


@pytest.fixture
def evaluator(job, tmp_path, chat):
    return LLMEvaluator(job, model="m", job_dir=tmp_path, chat=chat)


@pytest.fixture
def view(job, transcript):
    return EvaluatorView(job, "withheld", 1, (), transcript)


async def heard(evaluator, view) -> tuple[str, Utterance]:
    *deltas, last = [piece async for piece in evaluator.speak(view)]
    assert all(isinstance(delta, Delta) for delta in deltas)
    assert isinstance(last, Utterance)
    return "".join(delta.text for delta in deltas), last


@pytest.mark.parametrize(
    "sent",
    [
        # Structured output: as asked for, fenced, wrapped, said twice, and broken
        JSON,
        f" \n{JSON}\n",
        json.dumps({"message": WORDS}, indent=2),
        f"```json\n{JSON}\n```",
        f"```\n{JSON}\n```",
        f"```json\n{JSON}",
        f"Here is the JSON:\n{JSON}",
        f"{JSON} // the user asks for the price",
        f'{{ /* in role */\n  "message": "{WORDS}" // short\n}}',
        f"<function=answer>{JSON}</function>",
        "<tool_call>\n<function=answer>\n"
        f"<parameter=message>\n{WORDS}\n</parameter>\n</function>\n</tool_call>",
        # Marks of text and mathematics
        f"<p>{WORDS}</p>",
        f"\\boxed{{{WORDS}}}",
        f"$\\boxed{{\\text{{{WORDS}}}}}$",
        f"- {WORDS}",
        f"{WORDS}\n\n(Note: The user has not mentioned the dose yet.)",
        f"Here is the answer:\n```json\n{JSON}\n```",
        f"{JSON}\n{JSON}",
        f"{JSON}<|im_end|>",
        json.dumps(JSON),
        json.dumps([{"message": WORDS}]),
        json.dumps({"role": "user", "content": WORDS}),
        json.dumps({"role": "assistant", "content": WORDS}),
        json.dumps({"role": "user", "content": [{"type": "text", "text": WORDS}]}),
        json.dumps({"content": WORDS}),
        json.dumps({"response": WORDS}),
        json.dumps({"answer": {"message": WORDS}}),
        json.dumps({"name": "answer", "arguments": {"message": WORDS}}),
        json.dumps({"name": "answer", "arguments": JSON}),
        "<tool_call>\n"
        f"{json.dumps({'name': 'answer', 'arguments': {'message': WORDS}})}\n</tool_call>",
        f"[TOOL_CALLS] {json.dumps([{'name': 'answer', 'arguments': {'message': WORDS}}])}",
        f"[TOOL_CALLS]answer[ARGS]{JSON}",
        json.dumps({"messages": [{"role": "user", "content": WORDS}]}),
        json.dumps({"test-user": WORDS}),
        f"~~~json\n{JSON}\n~~~",
        json.dumps({"type": "object", "properties": {"message": WORDS}}),
        json.dumps({"message": {"role": "user", "content": WORDS}}),
        json.dumps({"thought": "I should ask.", "message": WORDS}),
        f'{{"message": "{WORDS}",}}',
        f"{{'message': '{WORDS}'}}",
        f'{{"message": "{WORDS}"',
        f'{{"message": "{WORDS}"}}}}',
        json.dumps(WORDS),
        # Reasoning
        f"<think>I should ask.</think>{WORDS}",
        f"I should ask.\nYes.\n</think>\n\n{WORDS}",
        f"<think>\n\n</think>\n\n{JSON}",
        f"<think>One.</think><think>Two.</think>{WORDS}",
        f"<thinking>I should ask {{it}}.</thinking>\n```json\n{JSON}\n```",
        f"[THINK]I should ask.[/THINK]{WORDS}",
        f"◁think▷I should ask.◁/think▷{WORDS}",
        f"<seed:think>I should ask.</seed:think>{WORDS}",
        "<|begin_of_thought|>Hm.<|end_of_thought|>\n"
        f"<|begin_of_solution|>{WORDS}<|end_of_solution|>",
        f"<unused94>thought\nI should ask.<unused95>{WORDS}",
        f"<|channel>thought\nI should ask.<channel|>{WORDS}",
        f"<|channel>thought\n<channel|>{JSON}<turn|>",
        f"<|START_THINKING|>I should ask.<|END_THINKING|><|START_RESPONSE|>{WORDS}<|END_RESPONSE|>",
        f"I should ask.\n[BEGIN FINAL RESPONSE]\n{WORDS}\n[END FINAL RESPONSE]",
        f"Here is my thought process: I should ask. Here is my response: {WORDS}",
        # gpt-oss's channels, where a server does not read them
        "<|channel|>analysis<|message|>I ask.<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{WORDS}<|return|>",
        f"<|channel|>final<|message|>{WORDS}",
        "<|channel|>analysis<|message|>I ask.<|end|>"
        f"<|start|>assistant<|channel|>final <|constrain|>json<|message|>{JSON}",
        f"<|start|>assistant<|message|>{WORDS}<|end|>",
        f"analysisI should ask the price.assistantfinal{WORDS}",
        # Tokens of chat templates
        f"{WORDS}<|im_end|>",
        f"<|im_start|>assistant\n{WORDS}<|im_end|>\n<|im_start|>user\nIt is free.<|im_end|>",
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{WORDS}<|eot_id|>",
        f"{WORDS}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nBye!",
        f"{WORDS}<end_of_turn>\n<start_of_turn>model\nIt is free.",
        f"[INST] {WORDS} [/INST]",
        f"{WORDS} [/INST] It is free.",
        f"<s> {WORDS} </s>",
        f"{WORDS}<｜end▁of▁sentence｜>",
        f"<|assistant|>\n{WORDS}<|endoftext|>",
        f"<|START_RESPONSE|>{WORDS}<|END_RESPONSE|>",
        f"assistant\n\n{WORDS}",
        f"{WORDS}assistant\n\nIt is free.",
        f"{WORDS}<end_of_utterance>",
        # Labels and introductions
        f"@test-user: {WORDS}",
        f'test-user says: "{WORDS}"',
        f"test-user's next message: {WORDS}",
        f"**Final answer:** {WORDS}",
        f"Here is the next message:\n\n---\n\n{WORDS}\n\n---",
        f"Sure! Here is the next message:\n\n> {WORDS}",
        f"test-user: {WORDS}",
        f"**test-user:** {WORDS}",
        f"**test-user**: {WORDS}",
        f"Test-User (user): {WORDS}",
        f"[test-user]: {WORDS}",
        f"Socrates: {WORDS}",
        f"User: {WORDS}",
        f"### User:\n{WORDS}",
        f"test-user: {WORDS}\nBot: It is free.\ntest-user: Thanks.",
        f"Here is the next message of test-user:\n\n{WORDS}",
        f"Here's the next message of test-user: \"{WORDS}\"",
        f"Sure! Here is the next message:\n\n{WORDS}",
        f"Sure, here's a possible reply from the user:\n\n**test-user:** {WORDS}",
        f"Next message: {WORDS}",
        f'"{WORDS}"',
        f"“{WORDS}”",
        f"«{WORDS}»",
        f"'{WORDS}'",
        f"`{WORDS}`",
        f"**{WORDS}**",
        f"<message>{WORDS}</message>",
        f"<answer>\n{WORDS}\n</answer>",
        f"<user>{WORDS}</user>",
    ],
)  # fmt: skip
async def test_the_message_is_read_from_each_shape(evaluator, server, view, sent):
    server.will(srv.say(sent))
    streamed, last = await heard(evaluator, view)
    assert last.content == WORDS
    assert "ask." not in streamed or not sent.startswith(("<", "[", "◁")), (
        "reasoning with a beginning is not shown"
    )


@pytest.mark.parametrize(
    "sent",
    [
        "I looked at {this} and [that], why?",
        'Here is my message to the doctor: "stop". Is that polite?',
        "My user: who is that?",
        "I was told: take two. True?",
        'He said "no" and "maybe".',
        "I have a question: is it free?",
        "'Tis fine, isn't it?",
        "{} is what the app shows me",
        "It costs <5 euros, right?",
        "<3 that, how much?",
        "First.\n\nSecond paragraph, because I have more to say.",
        "I don't know. Maybe. I don't know.",
        "**Please** help, it is **urgent**",
        "Patient: No fever.",
        "I am an assistant\n\nin a shop, is that a risk?",
        "I take > 3 a day\n> that is what the app shows",
        "Is it 3 --- or 4?",
        "Bot: It is free.",
    ],
)
async def test_words_that_only_look_like_a_wrapping_stay(evaluator, server, view, sent):
    server.will(srv.say(sent))
    streamed, last = await heard(evaluator, view)
    assert last.content == sent
    assert streamed == sent or sent.startswith("{")


@pytest.mark.parametrize(
    "sent",
    ["<think>I should", "<unused94>thought\nI should", "<|channel>thought\nI should",
        "<|START_THINKING|>I should", "<|channel|>analysis<|message|>I should ask.",
        "I should ask.</think>", '{"message": ""}', '""'],
)  # fmt: skip
async def test_reasoning_alone_is_no_message(evaluator, server, view, sent):
    server.will(srv.say(sent))
    with pytest.raises(PeerError, match="empty but for its reasoning") as caught:
        await heard(evaluator, view)
    assert caught.value.unusable


async def test_the_words_in_json_are_shown_while_they_arrive(evaluator, server, view):
    said = 'Is “5 mg” fine? \u00e9\U0001f600 \\ "so" \n yes'
    for encoded in (
        json.dumps({"message": said}),
        json.dumps({"message": said}, ensure_ascii=False),
    ):
        pieces = [srv.chunk({"content": character}) for character in encoded]

        async def answer(server, request, body, pieces=pieces):
            return await srv.stream(request, pieces, "stop")

        server.will(answer)
        streamed, last = await heard(evaluator, view)
        assert streamed == last.content == said


async def test_the_conversation_is_sent_as_turns_that_alternate_after_a_constant_beginning(
    evaluator, server, view, job, transcript
):
    await heard(evaluator, view)
    longer = [*transcript, *transcript[2:]]
    await heard(evaluator, EvaluatorView(job, "withheld", 1, (), longer))
    first, second = (received.body["messages"] for received in server.received)
    assert second[: len(first)] == first, (
        "what was sent before stays as it was, so that servers can cache it"
    )
    assert [message["role"] for message in first] == [
        "system",
        *["user", "assistant"] * ((len(first) - 1) // 2),
        "user",
    ]
    assert first[-1]["content"] == transcript[-1].content
    assert json.loads(first[-2]["content"]) == {"message": transcript[-2].content}
    schema = server.received[0].body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["message"]["pattern"] == r'^[^"\\\n]{1,400}$'


async def test_a_prompt_that_shows_the_transcript_is_sent_as_before(
    job, server, view, tmp_path, chat
):
    (tmp_path / "mine.jinja").write_text(
        "MINE {% for m in transcript %}{{ m.content }} {% endfor %}"
    )
    own = job.model_copy(update={"evaluator": job.evaluator.model_copy(update={"prompt": "mine"})})
    evaluator = LLMEvaluator(own, model="m", job_dir=tmp_path, chat=chat)
    await heard(evaluator, view)
    (received,) = server.received
    assert [message["role"] for message in received.body["messages"]] == ["system", "user"]
    assert received.body["messages"][1]["content"] == "Write the next message of test-user."
    assert "response_format" not in received.body


@pytest.mark.long
@pytest.mark.parametrize(
    "block", ["And another thing and ", '{"message": "and another thing ', "\n{ and "]
)
async def test_a_message_without_end_is_stopped_at_the_server(evaluator, server, view, block):
    pieces = iter([block])

    async def answer(server, request, body):
        response = await srv._begin(request)
        while True:
            text = next(pieces, "and on and on ")
            await response.write(srv._event(srv.chunk({"content": text})))

    server.will(answer)
    with pytest.raises(
        PeerError, match=r"longer than 1,500 characters \(evaluator.maxMessageLength\)"
    ) as caught:
        await heard(evaluator, view)
    assert caught.value.unusable
    assert caught.value.again == SHORTER
    await server.left.wait()


async def test_a_sentence_that_is_said_over_and_over_ends_the_message(evaluator, server, view):
    async def answer(server, request, body):
        response = await srv._begin(request)
        text = "It hurts here. "
        while True:
            await response.write(srv._event(srv.chunk({"content": text})))
            text = "Please help me. "

    server.will(answer)
    _, last = await heard(evaluator, view)
    assert (last.content, last.cut) == (
        "It hurts here. Please help me.",
        "repeats one sentence over and over",
    )
    await server.left.wait()


async def test_blanks_after_the_message_are_not_waited_for(evaluator, server, view):
    async def answer(server, request, body):
        response = await srv._begin(request)
        await response.write(srv._event(srv.chunk({"content": JSON})))
        while True:
            await response.write(srv._event(srv.chunk({"content": " \n"})))

    server.will(answer)
    _, last = await heard(evaluator, view)
    assert (last.content, last.cut) == (WORDS, "")
    await server.left.wait()


async def test_a_message_that_was_cut_off_is_asked_for_again_and_then_its_whole_sentences_count(
    evaluator, server, view, job, transcript
):
    cut = srv.say("It hurts. I feel sick and", finish="length")
    server.will(cut, cut, srv.say("It hurts and", finish="length"))
    with pytest.raises(PeerError, match="cut off at the model's length limit") as caught:
        await heard(evaluator, view)
    assert caught.value.again == SHORTER
    again = EvaluatorView(job, "withheld", 1, (), transcript, SHORTER)
    _, last = await heard(evaluator, again)
    assert (last.content, last.cut) == ("It hurts.", "was cut off at the model's length limit")
    with pytest.raises(PeerError) as caught:
        await heard(evaluator, again)
    assert caught.value.unusable
    assert caught.value.again == ""


@pytest.mark.parametrize(
    "words",
    [
        "<p>It hurts.</p><p>Here.</p>",
        "- It hurts.\n- I feel sick.",
        "I take warfarin (Note: since May).",
        'It says {"dose": 5} // of what?',
    ],
)
async def test_what_may_be_the_users_own_words_is_left_alone(words, evaluator, server, view):
    server.will(srv.say(words))
    _, last = await heard(evaluator, view)
    assert last.content == words


LONG = 10_000
SWEEP = (
    "<",
    "{",
    '{"',
    '{"message": "',
    "[",
    "`",
    "```\n",
    '"',
    "<think>",
    "</think>",
    "<|",
    "<|channel|>",
    "\n",
    " ",
    "a",
    "a. ",
    "no. ",
    ": ",
    "**",
    "\\",
    "\\u",
    "\\ud83d",
    "<s>",
    "'",
    ",",
    ", }",
    '" ',
    "analysis",
    "//",
    "/*",
    "*",
    "\n(Note: ",
    "<p>",
    "\\boxed{",
    "<function=a>",
    "User:\n",
    "\nUser: ",
)


@pytest.mark.long
@pytest.mark.parametrize(
    "start", ["", "{", '{"message": "', "User: ", "<think>", "Sure, here is the next message: "]
)
def test_reading_takes_linear_time_whatever_was_written(start):
    for block in SWEEP:
        text = start + block * (LONG // len(block))
        began = time.process_time()
        read(text, ("test-user", "Socrates"), chatbot="Bot")
        whole_sentences(text)
        stream = Stream(LONG * 2)
        for place in range(0, len(text), 4):
            stream.take(text[place : place + 4])
        assert time.process_time() - began < 0.25, repr(block)
