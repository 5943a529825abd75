"""Whatever stands in a field of a foreign file, it is imported, or refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.unit.bundled.test_assistants import CHATGPT, CLAUDE
from tests.unit.bundled.test_otlp_reading import INFERENCE, traces
from tests.unit.bundled.test_promptfoo import document, result
from tests.unit.bundled.test_rows import CALLING, GEMINI, LANGCHAIN, RESPONSES
from tests.unit.bundled.test_sharegpt import TALK
from tests.unit.bundled.test_traces_of_others import RUNS, TRACES, mlflow

FILES: dict[str, Any] = {
    "chatgpt": [CHATGPT],
    "claude": [CLAUDE],
    "langfuse": TRACES,
    "langsmith": RUNS,
    "messages": [CALLING, RESPONSES, LANGCHAIN, GEMINI],
    "mlflow": [mlflow(1, "Hi", "Hello!"), mlflow(2, "Hi", "Hello!", 2)],
    "otlp": traces(*INFERENCE),
    "promptfoo": document(result(0, "a", 1), result(1, None, 0)),
    "questions": [
        {"id": 1, "question": "Hi", "answer": "Hello!", "expected": "Hello", "model": "m"}
    ],
    "sharegpt": [TALK],
}
STRANGE: list[Any] = [
    None,
    True,
    -1,
    1e308,
    float("nan"),
    "",
    "x",
    "[1]",
    "{}",
    [],
    {},
    [None],
    [[]],
    {"a": None},
    10**20,
]


def changed(whole: Any, random: Random) -> Any:
    """Return a copy in which three values, however deep, are something else."""
    data = json.loads(json.dumps(whole))
    for _ in range(3):
        place: Any = data
        while True:
            key = random.choice(list(place) if isinstance(place, dict) else list(range(len(place))))
            if not isinstance(place[key], dict | list) or not place[key] or random.random() < 0.2:
                place[key] = json.loads(json.dumps(random.choice(STRANGE)))
                break
            place = place[key]
    return data


@pytest.mark.parametrize("name", FILES)
def test_any_value_is_imported_or_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    random = Random(name)
    for number in range(60):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(changed(FILES[name], random)), encoding="utf-8")
        try:
            run = load_run(import_file(file, tmp_path / "runs", kind=name).path)
        except BioevalError:
            continue
        assert run.problems == ()
        document_of("atif", run)
        document_of("openai-jsonl", run)
