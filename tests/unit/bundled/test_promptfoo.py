"""`runs import` reads promptfoo's results, with its verdicts as scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.bundled.reading import import_of, refusal_of, written


def result(number: int, output: Any, score: float, provider: str = "openai:m-1") -> dict[str, Any]:
    """A result as promptfoo 0.1xx writes it (version 3)."""
    return {
        "promptIdx": 0,
        "testIdx": number,
        "testCase": {
            "description": f"case {number}",
            "vars": {"city": "Paris"},
            "assert": [{"type": "contains", "value": "sunny"}],
        },
        "promptId": "p1",
        "provider": {"id": provider, "label": ""},
        "prompt": {
            "raw": '[{"role": "system", "content": "be nice"},'
            ' {"role": "user", "content": "Weather in Paris?"}]',
            "label": "p",
        },
        "vars": {"city": "Paris"},
        "response": {"output": output, "tokenUsage": {"total": 10, "prompt": 7, "completion": 3},
            "cached": False},
        "success": score == 1,
        "score": score,
        "latencyMs": 812,
        "gradingResult": {
            "pass": score == 1,
            "score": score,
            "reason": "All assertions passed",
            "componentResults": [{"pass": score == 1, "score": score,
                    "reason": "Expected output to contain sunny"}],
        },
        "namedScores": {"tone": 0.5},
        "cost": 0.001,
    }  # fmt: skip


def document(*results: dict[str, Any]) -> dict[str, Any]:
    inner = {
        "version": 3,
        "timestamp": "2026-01-02T03:04:05.000Z",
        "prompts": [],
        "results": [*results],
        "stats": {},
    }
    return {
        "evalId": "eval-1",
        "results": inner,
        "config": {"description": "weather"},
        "shareableUrl": None,
    }


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))


@pytest.mark.parametrize("name", ["output.json", "output.jsonl"])
def test_results_are_conversations_with_their_scores(name: str, tmp_path: Path) -> None:
    results = [result(0, "It is sunny", 1), result(1, "It rains", 0)]
    read = import_of(
        written(tmp_path / name, results if name.endswith("l") else document(*results))
    )
    assert read.talks == [
        [("user", "Weather in Paris?"), ("assistant", said)] for said in ("It is sunny", "It rains")
    ]
    first, second = read.run.conversations
    answer = first.messages[1]
    assert (answer.latency_ms, answer.tokens) == (812, (7, 3))
    assert first.case is not None
    assert first.case.name == "case 0"
    assert first.verdict is not None
    assert second.verdict is not None
    assert [task.score for task in first.verdict.tasks] == [1, 0.5]
    assert second.verdict.tasks[0].reason == "Expected output to contain sunny"
    assert read.run.started.model == "openai:m-1"
    assert "the answer from `response.output`, scores from `gradingResult`" in read.said


def test_answers_of_several_providers_are_told_apart_in_words(tmp_path: Path) -> None:
    """An error without an answer is the agent's failure, not a conversation that is left out."""
    failed = {**result(0, None, 0, "other:m-2"), "response": {"error": "429"}, "error": "429"}
    read = import_of(written(tmp_path / "o.json", document(result(0, {"a": 1}, 1), failed)))
    assert "trials of the same cases here: openai:m-1 (1), other:m-2 (1)" in read.said
    assert read.talks == [
        [("user", "Weather in Paris?"), ("assistant", '{"a":1}')],
        [("user", "Weather in Paris?")],
    ]
    assert read.run.conversations[1].end_reason == "agent_failed"


def test_a_damaged_result_is_refused_with_its_number(tmp_path: Path) -> None:
    file = written(tmp_path / "o.json", document(result(0, "a", 1), {"vars": {}}))
    assert "result 2: must be a result with `prompt`, `vars` and `response`" in refusal_of(file)
