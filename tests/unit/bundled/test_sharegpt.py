"""`runs import` reads ShareGPT's conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.bundled.reading import import_of, refusal_of, written

TALK: dict[str, Any] = {
    "id": "one",
    "system": "be nice",
    "conversations": [
        {"from": "human", "value": "Weather?"},
        {"from": "function_call", "value": '{"name": "weather", "arguments": {"city": "Paris"}}'},
        {"from": "observation", "value": "sunny"},
        {"from": "gpt", "value": "Sunny."},
    ],
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("name", "value", "many"),
    [("a.json", [TALK, TALK], 2), ("a.jsonl", [TALK, TALK, TALK], 3), ("b.json", TALK, 1)],
)
def test_conversations_are_read_with_their_calls(
    name: str, value: Any, many: int, tmp_path: Path
) -> None:
    read = import_of(written(tmp_path / name, value))
    assert read.talks == [[("user", "Weather?"), ("assistant", "Sunny.")]] * many
    assert read.calls() == [("weather", {"city": "Paris"}, "sunny")]
    assert {talk.case.name for talk in read.run.conversations if talk.case} == {"one"}
    assert "so it was read: who speaks from `from`, what is said from `value`" in read.said


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            {"from": "nurse", "value": "Hi"},
            "line 2, message 1: `from` is 'nurse'; it must be human, gpt",
        ),
        ({"from": "human"}, "line 2, message 1: must have `from` and `value`"),
        (
            {"from": "function_call", "value": "weather()"},
            "`value` of a call must be JSON with `name`",
        ),
    ],
)
def test_a_damaged_one_is_refused_with_its_place(message: Any, said: str, tmp_path: Path) -> None:
    assert said in refusal_of(written(tmp_path / "a.jsonl", [TALK, {"conversations": [message]}]))
