"""Any response of an endpoint becomes an answer or one `PeerError`, and no message contains a
key.
"""

import json

import pytest
from hypothesis import example, given, strategies as st

from bioeval_tui.peers.models.answer import AnswerReader, ChatAnswer, text_of
from bioeval_tui.peers.models.refusals import hide_keys
from bioeval_tui.peers.sse import ServerSentEvent
from bioeval_tui.protocols import PeerError

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def shaped(part):
    """Data that is nearly right, with anything at all in one place or another."""
    function = st.fixed_dictionaries({"name": ANY, "arguments": ANY}) | ANY
    call = st.fixed_dictionaries({"index": ANY, "function": function}) | ANY
    message = st.fixed_dictionaries(
        {
            "content": st.text(max_size=5) | ANY,
            "refusal": ANY,
            "tool_calls": st.lists(call, max_size=3) | ANY,
        }
    )
    choice = st.fixed_dictionaries({part: message | ANY, "finish_reason": ANY | st.just("stop")})
    usage = ANY | st.fixed_dictionaries({"prompt_tokens": ANY, "completion_tokens": ANY})
    choices = st.lists(choice, min_size=1, max_size=2) | st.lists(ANY, max_size=1) | ANY
    return st.fixed_dictionaries({"choices": choices, "usage": usage, "model": ANY})


def outcome(read):
    """Return what `read` gives: an answer, or the sentence of its `PeerError`."""
    try:
        return read()
    except PeerError as error:
        return str(error)


@given(shaped("message") | ANY)
@example({"choices": [{"message": {"content": "x", "tool_calls": 5}}]})
@example(
    {"choices": [{"message": {"content": "x", "tool_calls": [{"function": 1}]}}], "usage": "much"}
)
@example(
    {
        "choices": [
            {"message": {"content": "", "tool_calls": [{"function": {"arguments": "[" * 100_000}}]}}
        ]
    }
)
def test_any_model_response_is_an_answer_or_one_sentence(data):
    found = outcome(lambda: AnswerReader("agent", "host", 0.0).whole(json.dumps(data).encode()))
    assert isinstance(found, ChatAnswer) or "\n" not in found


@given(st.lists(shaped("delta") | ANY, max_size=4))
@example([{"choices": [{"delta": {"tool_calls": 5}, "finish_reason": {}}]}])
@example(
    [
        {
            "choices": [
                {
                    "delta": {"tool_calls": [{"index": [], "function": {"name": {}}}]},
                    "finish_reason": "stop",
                }
            ]
        }
    ]
)
def test_any_model_stream_is_an_answer_or_one_sentence(chunks):
    reader = AnswerReader("agent", "host", 0.0)

    def read():
        for chunk in chunks:
            reader.add(chunk)
        return reader.streamed()

    found = outcome(read)
    assert isinstance(found, ChatAnswer) or "\n" not in found


def test_a_stream_that_is_too_long_is_refused():
    reader = AnswerReader("agent", "host", 0.0)
    chunk = {"choices": [{"delta": {"content": "x" * 100_000}}]}
    for _ in range(10):
        reader.add(chunk)
    with pytest.raises(PeerError, match="more than 1,000,000 characters"):
        reader.add(chunk)


def test_usable_text_is_returned():
    assert text_of(ChatAnswer("Hi", 0.0, 1.0, finish="stop"), "judge") == "Hi"


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: my-secret",
        "Bearer my-secret",
        "sk-abcdEFGH1234",
        "key sk-proj-***9xyz given",
        "bearer tok-123456",
    ],
)
def test_keys_are_removed_from_an_answer(text):
    shown = hide_keys(text, "my-secret")
    assert "[key]" in shown
    for part in ("my-secret", "abcdEFGH", "9xyz", "tok-123456"):
        assert part not in shown


def call_delta(**function):
    return {
        "choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}}]
    }


@pytest.mark.parametrize(
    "repeated", [{}, {"name": "query"}], ids=["named once", "named in each piece"]
)
def test_the_arguments_of_a_call_may_be_long_and_arrive_in_small_pieces(repeated):
    reader = AnswerReader("agent", "host", 0.0)
    written = json.dumps({"sql": "S" * 200_000})
    reader.add(call_delta(name="query"))  # some servers leave out `arguments` until there are some
    for start in range(0, len(written), 4):
        reader.add(call_delta(arguments=written[start : start + 4], **repeated))
    reader.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    (call,) = reader.streamed().tool_calls
    assert (call.name, call.id, call.arguments) == ("query", "c1", {"sql": "S" * 200_000})
    assert call.written == written


def test_a_call_without_arguments_has_an_empty_object():
    reader = AnswerReader("agent", "host", 0.0)
    reader.add(call_delta(name="now"))
    reader.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    (call,) = reader.streamed().tool_calls
    assert (call.arguments, call.written) == ({}, "{}")


@pytest.mark.parametrize("field", ["content", "refusal", "name", "arguments"])
def test_everything_in_a_stream_counts_towards_its_limit(field):
    def piece(number):
        text = str(number) + "x" * 99_999
        in_call = field in ("name", "arguments")
        return call_delta(**{field: text}) if in_call else {"choices": [{"delta": {field: text}}]}

    reader = AnswerReader("agent", "host", 0.0)
    for number in range(10):
        reader.add(piece(number))
    with pytest.raises(PeerError, match="more than 1,000,000 characters"):
        reader.add(piece(10))


def delta(**message):
    return {"choices": [{"delta": message, "finish_reason": None}]}


def piece(name=None, arguments=None, **more):
    return {**more, "function": {"name": name, "arguments": arguments}}


CALLS = {
    "no index, a call each": [
        [piece("look", '{"a": 1}', id="1")],
        [piece("remind", '{"b": 2}', id="2")],
    ],
    "no index, both at once": [
        [piece("look", '{"a": 1}', id="1"), piece("remind", '{"b": 2}', id="2")]
    ],
    "two ids at index 0": [
        [piece("look", '{"a"', id="1", index=0)],
        [piece(None, ": 1}", index=0)],
        [piece("remind", '{"b": 2}', id="2", index=0)],
    ],
    "no ids, no index": [
        [piece("look", '{"a": 1}')],
        [piece("remind", '{"b": ')],
        [piece(None, "2}")],
    ],
    "no ids, index 0 for both": [
        [piece("look", '{"a": 1}', index=0)],
        [piece("remind", '{"b": 2}', index=0)],
    ],
    "an id in each piece": [
        [piece("look", '{"a"', id="1")],
        [piece(None, ": 1}", id="1")],
        [piece("remind", '{"b"', id="2")],
        [piece(None, ": 2}", id="2")],
    ],
    "another id in each piece of a call": [
        [piece("look", '{"a"', id="1", index=0)],
        [piece(None, ": 1}", id="1b", index=0)],
        [piece("remind", '{"b": 2}', id="2", index=1)],
    ],
    "the name in each piece": [
        [piece("look", '{"a"', id="1", index=0)],
        [piece("look", ": 1}", id="1", index=0)],
        [piece("remind", '{"b"', id="2", index=1)],
        [piece("remind", ": 2}", id="2", index=1)],
    ],
    "empty ids and names later": [
        [piece("look", '{"a"', id="1", index=0)],
        [piece("", ": 1}", id="", index=0)],
        [piece("remind", '{"b": 2}', id="2", index=1)],
    ],
    "in turns": [
        [piece("look", '{"a"', id="1", index=0), piece("remind", '{"b"', id="2", index=1)],
        [piece(None, ": 1}", index=0), piece(None, ": 2}", index=1)],
    ],
    "arguments as an object": [
        [piece("look", {"a": 1}, id="1"), piece("remind", {"b": 2}, id="2")]
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_tool_calls_in_pieces_are_told_apart_by_id_then_index_then_name(name):
    reader = AnswerReader("agent", "host", 0.0)
    for calls in CALLS[name]:
        reader.add(delta(tool_calls=calls))
    reader.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    found = [(call.name, call.arguments) for call in reader.streamed().tool_calls]
    assert found == [("look", {"a": 1}), ("remind", {"b": 2})]


def test_the_same_tool_may_be_called_twice():
    again = [[piece("look", '{"a": 1}', index=0)], [piece("look", '{"a": 1}', index=0)]]
    reader = AnswerReader("agent", "host", 0.0)
    for calls in again:
        reader.add(delta(tool_calls=calls))
    reader.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    assert [call.name for call in reader.streamed().tool_calls] == ["look", "look"]
    whole = {"choices": [{"message": {"tool_calls": [piece("look", "{}", id="1", index=0)] * 2}}]}
    answer = AnswerReader("agent", "host", 0.0).whole(json.dumps(whole).encode())
    assert len(answer.tool_calls) == 2, "a list of whole calls is one call each"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("message", '{"error": "no model"}'),
        ("message", '{"error": {"message": "no model", "code": 5}}'),
        ("message", '[{"error": {"message": "no model", "code": 5}}]'),
        ("message", '{"object": "error", "message": "no model"}'),
        ("error", '{"message": "no model"}'),
        ("error", '"no model"'),
        ("error", "no model"),
    ],
)
def test_an_error_in_a_stream_is_told_in_its_own_words_however_it_is_sent(name, data):
    with pytest.raises(PeerError) as caught:
        AnswerReader("agent", "host", 0.0).read_event(ServerSentEvent(name, data))
    assert str(caught.value) == "host ended its answer with an error: no model"


def message(content, finish=None, **more):
    return {"choices": [{"message": {"content": content, **more}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    "chunks",
    [
        [delta(content="Hel"), delta(content="lo you."), message("Hello you.", "stop")],
        [delta(content="\nHel"), delta(content="lo you."), message("Hello you.", "stop")],
        [delta(content="\nHello you."), message("Hello, you.", "stop")],
        [message("Hel"), message("Hello"), message("Hello you."), message("Hello you.", "stop")],
        [message("Hel"), message("lo y"), message("ou"), message(".", "stop")],
        [message("Hello you.", "stop"), message("Hello you.", "stop")],
        [delta(content="Hello you."), message("", "stop"), message(None, "stop")],
        [delta(content="Hello you."), message([{"type": "text", "text": "Hello you."}], "stop")],
        [message([{"type": "text", "text": "Hello you."}], "stop")],
    ],
)
def test_a_message_in_a_stream_is_the_whole_answer_the_answer_so_far_or_a_piece(chunks):
    reader = AnswerReader("agent", "host", 0.0)
    shown = "".join(reader.add(chunk) for chunk in chunks)
    assert shown.strip() == reader.streamed().content.strip() == "Hello you."


@pytest.mark.parametrize(
    "again",
    [
        delta(tool_calls=[piece("look", '{"a": 1}', id="1", index=0)]),
        delta(tool_calls=[piece(None, '{"a": 1}', index=0)]),
        message(None, "tool_calls", tool_calls=[piece("look", '{"a": 1}', id="1")]),
        message(None, "tool_calls", tool_calls=[piece("look", {"a": 1})]),
    ],
)
def test_a_call_that_is_sent_once_more_at_the_end_is_one_call(again):
    reader = AnswerReader("agent", "host", 0.0)
    reader.add(delta(tool_calls=[piece("look", '{"a":', id="1", index=0)]))
    reader.add(delta(tool_calls=[piece(None, " 1}", index=0)]))
    reader.add(again)
    reader.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    assert [(call.name, call.arguments) for call in reader.streamed().tool_calls] == [
        ("look", {"a": 1})
    ]


def test_a_content_in_parts_is_its_text_with_the_rest_beside_it():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Hel"},
        "lo",
        {"text": "."},
        picture,
    ]
    whole = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    answer = AnswerReader("agent", "host", 0.0).whole(json.dumps(whole).encode())
    assert answer.content == "Hello."
    assert (answer.parts, answer.reasoning) == ((picture,), "hm")
    reader = AnswerReader("agent", "host", 0.0)
    assert [reader.add(delta(content=[part])) for part in content] == ["", "Hel", "lo", ".", ""]


def test_what_cannot_be_read_is_named_before_it_is_shown():
    data = {"id": "x" * 300, "choices": [{"message": {"content": 5}}]}
    with pytest.raises(PeerError, match=r"not a chat completion \(choices\.0\.message\.content"):
        AnswerReader("agent", "host", 0.0).whole(json.dumps(data).encode())


@pytest.mark.parametrize("count", [-1, 2.5, "many", 10**20, True, [1]])
def test_a_number_of_tokens_that_cannot_be_is_unknown(count):
    data = {
        "choices": [{"message": {"content": "x"}}],
        "usage": {"prompt_tokens": count, "completion_tokens": 3},
    }
    answer = AnswerReader("agent", "host", 0.0).whole(json.dumps(data).encode())
    assert (answer.tokens_in, answer.tokens_out) == (None, 3)
