"""Logs written by inspect_ai are imported with the scores that it reads, and exported again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.document import run_document
from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.integration.reports.test_inspect_log import python

pytestmark = pytest.mark.real_server

WRITE = '''
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Target, includes, mean, scorer
from inspect_ai.solver import TaskState, generate, use_tools
from inspect_ai.tool import tool

@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: the first.
            y: the second.
        """
        return x + y
    return execute

@scorer(metrics=[mean()])
def third():
    async def score(state: TaskState, target: Target):
        return Score(value=1 / 3, explanation="always a third")
    return score

@scorer(metrics={"polite": [mean()], "length": [mean()]})
def several():
    async def score(state: TaskState, target: Target):
        return Score(value={"polite": 0.25, "length": 7})
    return score

outputs = []
for number in range(6):
    outputs += [
        ModelOutput.for_tool_call("mockllm/model", "add", {"x": 1, "y": number}),
        ModelOutput.from_content("mockllm/model", f"It is {1 + number}."),
    ]
for output in outputs:
    output.usage = ModelUsage(input_tokens=5, output_tokens=7, total_tokens=12)
samples = [
    Sample(input="1+1?", target="2", id="one"),
    Sample(input="1+2?", target="3", id=2),
    Sample(input="?", target="It"),
]
task = Task(
    dataset=samples,
    solver=[use_tools(add()), generate()],
    scorer=[includes(), third(), several()],
    epochs=2,
)
written = []
for kind in ("eval", "json"):
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    (log,) = eval(
        task, model=model, log_dir=sys.argv[1], log_format=kind, display="none", max_samples=1
    )
    assert log.status == "success", log.error
    written.append(log.location)
sys.argv[1:] = written
'''
"""Writes a log of each kind to a folder, and names both to what follows in the same process."""
READ = """
import json, sys
from inspect_ai.log import read_eval_log
from inspect_ai.scorer import value_to_float
number = value_to_float()


def named_values(score):
    return score.value.items() if isinstance(score.value, dict) else [("", score.value)]


for log in map(read_eval_log, sys.argv[1:]):
    print(json.dumps({
        "scores": {
            f"{sample.id} {sample.epoch}": {
                f"{name}: {key}" if key else name: number(value)
                for name, score in sample.scores.items()
                for key, value in named_values(score)
            }
            for sample in log.samples
        },
        "samples": sorted(
            (s.model_dump(mode="json", exclude={"events_data"}) for s in log.samples),
            key=lambda s: (str(s["id"]), s["epoch"]),
        ),
        "header": log.model_dump(
            mode="json", exclude={"samples", "location", "etag", "reductions"}
        ),
    }))
"""


def inspect(script: str, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """Return what a script that ends with `READ` prints: what inspect_ai finds in each log."""
    done = subprocess.run(
        [python(), "-c", script, *arguments], capture_output=True, text=True, timeout=300,
        env={**os.environ, "HOME": str(folder), "INSPECT_LOG_LEVEL": "warning"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()[-2:]]


def test_scorers_epochs_and_tool_calls_of_an_inspect_log_survive_import_and_export(
    tmp_path: Path,
) -> None:
    told = inspect(WRITE + READ, tmp_path, str(tmp_path / "logs"))
    logs = [next((tmp_path / "logs").glob(f"*.{kind}")) for kind in ("eval", "json")]
    exported = [imported_and_exported(*pair, tmp_path) for pair in zip(logs, told, strict=True)]
    assert inspect(READ, tmp_path, *map(str, exported)) == told


def imported_and_exported(log: Path, told: dict[str, Any], folder: Path) -> Path:
    """Import a log, compare it with what inspect_ai told of it, and return the log that it is
    exported to.
    """
    run = load_run(import_file(log, folder / "runs").path)
    result = run_document(run)["conditions"]["supplied"]
    seen = {}
    for trial in result["trials"]:
        case = run.state.conversation("supplied", trial["trial"]).case  # type: ignore[union-attr]
        name = f"{trial['case']} {case.trial}"  # type: ignore[union-attr]
        scores = {task["title"]: task["score"] for task in trial["tasks"]}
        seen[name] = {**scores, "several: length": float(trial["given_scores"]["several: length"])}
    assert seen == told["scores"]
    assert run.started.model == "mockllm/model"
    assert run.started.source.times == "told"  # type: ignore[union-attr]
    for talk in run.state.conversations.values():
        call, output = [event for message in talk.messages for event in message.generation]
        assert call["request"]["function"]["name"] == "add"
        assert talk.messages[-1].text == f"It is {output['output']}."
    out = folder / f"out{log.suffix}"
    is_eval = log.suffix == ".eval"
    out.write_bytes(
        document_of("inspect", run, output=out) if is_eval else document_of("inspect", run).encode()
    )
    return out


def test_an_exported_run_can_be_imported_from_its_inspect_log(tmp_path: Path) -> None:
    demo = load_run(Path(__file__).parents[2] / "golden" / "demo-run.jsonl")
    file = tmp_path / "demo.eval"
    file.write_bytes(document_of("inspect", demo, output=file))
    back = load_run(import_file(file, tmp_path / "runs").path)
    assert back.state.scores() == demo.state.scores()
    for talk in demo.conversations:
        same = back.conversation(talk.condition, talk.trial)
        assert same is not None
        assert [(m.role, m.text, m.latency_ms) for m in same.messages] == [
            (m.role, m.text, m.latency_ms) for m in talk.sent_messages
        ]
