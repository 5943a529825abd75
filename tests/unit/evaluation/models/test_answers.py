"""Any response of an endpoint becomes an answer or one `PeerError`, and no message contains a key."""

import json

import pytest
from hypothesis import example, given, strategies as st

from bioeval_tui.evaluation.models.answer import AnswerReader, ChatAnswer, hide_keys, text_of
from bioeval_tui.protocols import PeerError

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def shaped(part):
    """Data that is nearly right, with anything at all in one place or another."""
    function = st.fixed_dictionaries({"name": ANY, "arguments": ANY}) | ANY
    call = st.fixed_dictionaries({"index": ANY, "function": function}) | ANY
    message = st.fixed_dictionaries(
        {"content": st.text(max_size=5) | ANY, "refusal": ANY, "tool_calls": st.lists(call, max_size=3) | ANY}
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
@example({"choices": [{"message": {"content": "x", "tool_calls": [{"function": 1}]}}], "usage": "much"})
@example(
    {"choices": [{"message": {"content": "", "tool_calls": [{"function": {"arguments": "[" * 100_000}}]}}]}
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
                {"delta": {"tool_calls": [{"index": [], "function": {"name": {}}}]}, "finish_reason": "stop"}
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
    return {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}}]}


@pytest.mark.parametrize("repeated", [{}, {"name": "query"}], ids=["named once", "named in each piece"])
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
