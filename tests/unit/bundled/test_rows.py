"""`runs import` reads logs that have no format of their own: lists of messages, and tables of
messages or of answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.bundled.reading import import_of, refusal_of, written

USER, AGENT = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}
TALK = [("user", "Hi"), ("assistant", "Hello!")]
CALLING: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Paris"}}
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "sunny"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Sunny."}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
    {"type": "function_call", "call_id": "t1", "name": "weather", "arguments": '{"city": "Paris"}'},
    {"type": "function_call_output", "call_id": "t1", "output": "sunny"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Sunny."}],
    },
]
LANGCHAIN: list[dict[str, Any]] = [
    {"type": "human", "content": "Weather?"},
    {
        "lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": "",
            "tool_calls": [{"name": "weather", "args": {"city": "Paris"}, "id": "t1"}]},
    },
    {"type": "tool", "data": {"content": "sunny", "tool_call_id": "t1"}},
    {"type": "ai", "content": "Sunny."},
]  # fmt: skip
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Weather?"}]},
    {
        "role": "model",
        "parts": [{"functionCall": {"id": "t1", "name": "weather", "args": {"city": "Paris"}}}],
    },
    {
        "role": "user",
        "parts": [{"functionResponse": {"id": "t1", "name": "weather", "response": "sunny"}}],
    },
    {"role": "model", "parts": [{"text": "Sunny."}]},
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("name", "value", "talks"),
    [
        ("one.json", [USER, AGENT], [TALK]),
        ("several.json", [[USER, AGENT], [USER]], [TALK, TALK[:1]]),
        ("lists.jsonl", [[USER, AGENT], [USER, AGENT]], [TALK, TALK]),
        ("messages.jsonl", [USER, AGENT], [TALK]),
        ("pairs.json", [["human", "Hi"], ["ai", "Hello!"]], [TALK]),
        ("entries.jsonl", [{"id": "a", "conversation": [USER, AGENT]},
                {"id": "b", "conversation": [USER]}], [TALK, TALK[:1]]),
        ("dialogue.json", {"dialogue": [{"speaker": "patient", "text": "Hi"},
                    {"speaker": "bot", "text": "Hello!"}]}, [TALK]),
        ("named.jsonl", [{**USER, "session_id": "a"}, {**USER, "session_id": "b"},
                {**AGENT, "session_id": "a"}], [TALK, TALK[:1]]),
    ],
)  # fmt: skip
def test_bare_messages_are_conversations(name: str, value: Any, talks: Any, tmp_path: Path) -> None:
    read = import_of(written(tmp_path / name, value))
    assert read.talks == talks
    assert "so it was read: " in read.said


@pytest.mark.parametrize("messages", [CALLING, RESPONSES, LANGCHAIN, GEMINI])
def test_tool_calls_are_kept_however_a_framework_writes_them(messages: Any, tmp_path: Path) -> None:
    read = import_of(written(tmp_path / "m.json", messages))
    assert read.talks == [[("user", "Weather?"), ("assistant", "Sunny.")]]
    assert read.calls() == [("weather", {"city": "Paris"}, "sunny")]


def test_a_table_has_a_message_in_each_row(tmp_path: Path) -> None:
    """The order of a conversation is that of its rows, wherever they are; a cell may have lines of
    its own.
    """
    file = tmp_path / "chat.csv"
    file.write_text(
        "Conversation ID;Sender;Message;Created At\n"
        "a;customer;Hi;2026-01-01T10:00:00Z\n"
        "b;customer;\"two\nlines; here\";1767261600\n"
        "a;bot;Hello!;2026-01-01T10:00:05Z\n",
        encoding="utf-8-sig",
    )  # fmt: skip
    read = import_of(file)
    assert read.talks == [TALK, [("user", "two\nlines; here")]]
    assert [talk.session_id for talk in read.run.conversations] == ["a", "b"]
    assert read.run.started.at.isoformat() == "2026-01-01T10:00:00+00:00"
    assert (
        "conversations by `Conversation ID`; who speaks from `Sender`, what is said from `Message`,"
        " times from `Created At`" in read.said
    )


def test_a_table_without_a_conversations_name_is_one_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "chat.tsv"
    file.write_text("role\tcontent\nuser\tHi\nassistant\tHello!\n", encoding="utf-8")
    read = import_of(file)
    assert read.talks == [TALK]
    assert "all 2 messages are one conversation: no key names it" in read.said


def test_questions_and_answers_are_conversations_with_what_is_expected_as_their_task(
    tmp_path: Path,
) -> None:
    file = tmp_path / "qa.csv"
    file.write_text(
        'id,question,answer,ground_truth,model\nq1,"2, or 3?",Two.,2,m-1\nq2,Why?,,Because.,m-1\n',
        encoding="utf-8",
    )
    read = import_of(file)
    assert read.talks == [[("user", "2, or 3?"), ("assistant", "Two.")], [("user", "Why?")]]
    assert read.run.started.model == "m-1"
    first, _ = read.run.conversations
    assert first.case is not None
    assert first.case.name == "q1"
    assert first.case.tasks == ({"task": "2, or 3?", "acceptanceCriteria": "2"},)
    assert (
        "the question from `question`, the answer from `answer`, what is expected from"
        " `ground_truth`" in read.said
    )
    assert "questions without an answer: 1" in read.said


ROWS: list[dict[str, Any]] = [
    {"prompt": "Hi", "completion": "Hello!"},
    {"instruction": "Hi", "input": "", "output": "Hello!"},
    {"request": {"model": "m", "system": "be nice", "messages": [USER]},
        "response": {"role": "assistant", "content": [{"type": "text", "text": "Hello!"}]}},
    {"request": {"messages": [USER]}, "response": {"choices": [{"message": AGENT}]}},
    {"input": [USER], "output": "Hello!"},
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_a_document_may_list_its_rows(row: Any, tmp_path: Path) -> None:
    assert import_of(
        written(tmp_path / "cases.json", {"made": "today", "test_cases": [row]})
    ).talks == [TALK]
    assert import_of(written(tmp_path / "one.json", {"made": "today", **row})).talks == [TALK]


@pytest.mark.parametrize("row", ROWS)
def test_logs_of_requests_and_responses_are_read(row: Any, tmp_path: Path) -> None:
    assert import_of(written(tmp_path / "log.jsonl", [row, row])).talks == [TALK, TALK]


def test_an_answer_beside_the_messages_of_a_request_is_the_last_one(tmp_path: Path) -> None:
    log = {"model": "m", "messages": [USER], "response": {"choices": [{"message": AGENT}]}}
    read = import_of(written(tmp_path / "log.jsonl", [log, log]))
    assert read.talks == [TALK, TALK]
    assert (
        "so it was read: the last answer from `response`, which is beside `messages`" in read.said
    )


def test_a_step_inside_of_a_trace_is_no_conversation(tmp_path: Path) -> None:
    span = {"span_id": "b", "root_span_id": "a", "input": "Hi", "output": "Hello!"}
    assert "nor recognised as" in refusal_of(written(tmp_path / "spans.jsonl", [span, span]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("role,content\nuser,Hi\nnurse,Hello\n",
            "line 3: `role` is 'nurse'; it must be user, assistant, system or tool"),
        ("role,content\nuser,Hi, there\n",
            "line 2 has 3 cells for 2 columns (role, content); quote cells"),
        ("role,content\nuser,\"Hi\n", "line 2: unexpected end of data"),
        ("session,role,content\n,user,Hi\n", "line 2: `session` must name the conversation"),
        ("question,answer\n,Hi\n", "line 2: `question` must have what was asked"),
        ("utterance,when\nHi,now\n", 'The nearest is messages: [{"role": "user", "content": "…"}'),
        ('[{"role": "user", "content": "Hi"}, 3]', "message 2: must have a role and a content"),
        ('[{"role": "user", "content": "Hi"}, {"role": "assis', "not JSON at character"),
        ('{"dialogs": [{"role": "user", "content": "Hi"}]}', "The nearest is openai-jsonl: "),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_refused_with_the_place(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "chat.csv"
    file.write_text(text, encoding="utf-8")
    assert said in refusal_of(file)
