"""The exported Inspect log, read by the pinned inspect_ai.

`BIOEVAL_INSPECT_PYTHON` names a Python that has the extra `inspect`; `uv venv` and
`uv pip install inspect_ai==0.3.285` make one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.formats import RunResult
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.documents import document_of
from tests.unit.report.recorded import GOLDEN, Recorded, Talk, scoring

pytestmark = pytest.mark.real_server

READ = """
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
def said(sample):
    return [message for message in sample.messages if message.role != "tool" and message.text]
print(json.dumps({
    "status": log.status,
    "task": log.eval.task,
    "scorers": [scorer.name for scorer in log.eval.scorers],
    "metrics": {
        score.name: {name: metric.value for name, metric in score.metrics.items()}
        for score in log.results.scores
    },
    "counts": [log.results.total_samples, log.results.completed_samples],
    "samples": [
        {
            "id": sample.id,
            "epoch": sample.epoch,
            "roles": [message.role for message in said(sample)],
            "texts": [message.text for message in said(sample)],
            "latencies": [message.metadata["latency_ms"] for message in said(sample)],
            "calls": [
                c.function
                for m in sample.messages
                if m.role == "assistant"
                for c in m.tool_calls or ()
            ],
            "scores": {name: score.value for name, score in sample.scores.items()},
            "events": sorted({event.event for event in sample.events}),
            "error": sample.error.message if sample.error else None,
        }
        for sample in log.samples
    ],
}))
"""


def python() -> str:
    """Return a Python that can import inspect_ai; without one the test is skipped, or fails where
    required.
    """
    named = os.environ.get("BIOEVAL_INSPECT_PYTHON")
    if named:
        return named
    if importlib.util.find_spec("inspect_ai") is not None:
        return sys.executable
    if os.environ.get("BIOEVAL_REQUIRE_REAL") == "1":
        pytest.fail(
            "inspect_ai is not installed and BIOEVAL_INSPECT_PYTHON names no Python that has it"
        )
    pytest.skip("inspect_ai is not installed; BIOEVAL_INSPECT_PYTHON can name a Python that has it")


def read_back(run: RunResult, folder: Path) -> dict[str, Any]:
    log = folder / "log.json"
    log.write_text(document_of("inspect", run), encoding="utf-8")
    done = subprocess.run(
        [python(), "-c", READ, str(log)], capture_output=True, text=True, timeout=300,
        env={**os.environ, "HOME": str(folder), "INSPECT_LOG_LEVEL": "warning"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


LIST = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries
found = list_eval_logs(sys.argv[1])
logs = [read_eval_log(log) for log in found]
print(json.dumps({
    "listed": [log.name.rpartition("/")[2] for log in found],
    "samples": [[[s.id, len(s.messages)] for s in log.samples] for log in logs],
    "header": [
        read_eval_log(log, header_only=True).results.scores[0].metrics["mean"].value
        for log in found
    ],
    "summaries": [
        [
            [s.id, s.scores["composite"].value, s.message_count]
            for s in read_eval_log_sample_summaries(log)
        ]
        for log in found
    ],
}))
"""


def test_inspect_lists_and_opens_an_exported_eval_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    logs = tmp_path / "logs"
    logs.mkdir()
    arguments = ["export", str(GOLDEN), "--to", "inspect", "--output", str(logs)]
    done = call("runs", *arguments)
    assert done.return_value == 0, done.exception
    (written,) = logs.iterdir()
    assert written.suffix == ".eval"
    listed = subprocess.run(
        [python(), "-c", LIST, str(logs)], capture_output=True, text=True, timeout=300,
        env={**os.environ, "HOME": str(tmp_path), "INSPECT_LOG_LEVEL": "warning"},
    )  # fmt: skip
    assert listed.returncode == 0, listed.stderr[-3000:]
    found = json.loads(listed.stdout.splitlines()[-1])
    assert found["listed"] == [written.name]
    assert found["header"] == [0.72]
    assert [[name, score] for name, score, _ in found["summaries"][0]] == [
        ["withheld", 0.44],
        ["supplied", 1.0],
    ]
    assert sorted(found["samples"][0]) == sorted(
        [name, count] for name, _, count in found["summaries"][0]
    )


def test_a_name_without_extension_is_a_folder_and_a_wrong_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    arguments = ("runs", "export", str(GOLDEN), "--to", "inspect", "--output")
    done = call(*arguments, str(tmp_path / "logs"))
    assert done.return_value == 0, done.exception
    (written,) = (tmp_path / "logs").iterdir()
    assert written.suffix == ".eval"
    refused = call(*arguments, str(tmp_path / "log.txt"))
    assert "log.txt: Inspect reads .eval and .json files" in str(refused.exception)
    assert not (tmp_path / "log.txt").exists()


def test_exporting_warns_about_a_file_name_that_inspect_does_not_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    arguments = ["export", str(GOLDEN), "--to", "inspect", "--output", str(tmp_path / "log.json")]
    done = call("runs", *arguments)
    assert "lists only names that begin with a time" in done.stderr


def test_inspect_reads_what_was_recorded(tmp_path: Path) -> None:
    run = load_run(GOLDEN)
    log = read_back(run, tmp_path)
    assert (log["status"], log["task"], log["counts"]) == ("success", "medication_reminder", [2, 2])
    assert log["metrics"]["composite"] == {"mean": 0.72, "withheld": 0.44, "supplied": 1.0}
    for sample in log["samples"]:
        talk = run.state.conversation(sample["id"], sample["epoch"])
        assert talk is not None
        sent = [message for message in talk.messages if talk.sent(message)]  # all but the sign-off
        assert sample["texts"] == [message.text for message in sent]
        assert sample["roles"] == [message.role for message in sent]
        assert sample["latencies"] == [message.latency_ms for message in sent]
        assert {"span_begin", "model", "tool", "score", "info"} <= set(sample["events"])
        assert sample["error"] is None


def test_inspect_reads_several_trials_and_what_was_not_measured(tmp_path: Path) -> None:
    away = Talk(reason="evaluator_failed", fault="infrastructure", says="<b>half</b>")
    run = Recorded(
        [scoring(0.5), away, Talk(ends=False)], [scoring(0.9), Talk(tasks=None), Talk(failures=2)]
    )
    log = read_back(run.loaded(), tmp_path)
    assert [(s["id"], s["epoch"]) for s in log["samples"]] == [
        (condition, trial) for condition in ("withheld", "supplied") for trial in (1, 2, 3)
    ]
    assert [s["scores"].get("composite") for s in log["samples"]] == [
        0.5,
        None,
        None,
        0.9,
        None,
        0.5,
    ]
    assert log["counts"] == [6, 3]
    assert log["metrics"]["composite"]["withheld"] == 0.5
