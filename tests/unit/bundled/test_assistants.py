"""`runs import` reads what people export from ChatGPT and Claude."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.bundled.reading import import_of, refusal_of, written

TALK = [("user", "Hi"), ("assistant", "Hello!")]


def node(
    name: str, parent: str | None, role: str = "", text: str = "", **metadata: Any
) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    said = {
        "id": name,
        "author": {"role": role},
        "create_time": 1_700_000_000.5,
        "content": content,
        "metadata": metadata,
    }
    return {"id": name, "parent": parent, "children": [], "message": said if role else None}


NODES = [
    node("root", None),
    node("context", "root", "user", "my profile", is_visually_hidden_from_conversation=True),
    node("asked", "context", "user", "Hi"),
    node("first", "asked", "assistant", "Hm?", model_slug="m-1"),
    node("second", "asked", "assistant", "Hello!", model_slug="m-1"),
]
CHATGPT: dict[str, Any] = {
    "title": "Greeting",
    "create_time": 1_700_000_000.5,
    "mapping": {each["id"]: each for each in NODES},
    "current_node": "second",
    "conversation_id": "c1",
}
CLAUDE: dict[str, Any] = {
    "uuid": "c1",
    "name": "Greeting",
    "created_at": "2026-01-02T03:04:05Z",
    "chat_messages": [
        {"uuid": "a", "sender": "human", "text": "Hi", "created_at": "2026-01-02T03:04:05Z",
            "content": []},
        {"uuid": "b", "sender": "assistant", "text": "", "created_at": "2026-01-02T03:04:07Z",
         "content": [{"type": "text", "text": "Hello!"}]},
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))


def test_of_chatgpts_tree_the_branch_that_was_seen_last_is_read(tmp_path: Path) -> None:
    empty = {**CHATGPT, "mapping": {"root": NODES[0]}, "current_node": "root"}
    read = import_of(written(tmp_path / "conversations.json", [CHATGPT, empty]))
    assert read.talks == [TALK]
    (talk,) = read.run.conversations
    assert talk.session_id == "c1"
    assert (read.run.started.agent, read.run.started.model) == ("ChatGPT", "m-1")
    assert (
        "messages of other branches, which an edit or a new answer replaced, left out: 1"
        in read.said
    )
    assert "conversations in which nothing was said, left out: 1" in read.said


def test_claudes_conversations_are_read_with_their_times(tmp_path: Path) -> None:
    read = import_of(
        written(tmp_path / "conversations.json", [CLAUDE, {**CLAUDE, "chat_messages": []}])
    )
    assert read.talks == [TALK]
    assert read.run.started.at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert "conversations in which nothing was said, left out: 1" in read.said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({**CHATGPT, "current_node": "gone"}, "conversation 1: `mapping` has no message 'gone'"),
        (
            {"mapping": {}, "current_node": "a", "x": 1},
            "conversation 1: `mapping` has no message 'a'",
        ),
        (
            {**CLAUDE, "chat_messages": [{"sender": "nurse"}]},
            "message 1: `sender` must be human or assistant",
        ),
    ],
)
def test_a_damaged_one_is_refused_with_its_place(value: Any, said: str, tmp_path: Path) -> None:
    assert said in refusal_of(written(tmp_path / "conversations.json", [value]))
