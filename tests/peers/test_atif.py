"""Exported trajectories are valid according to ATIF's published models.

    uv run --with atif==1.8.0 pytest tests/peers/test_atif.py

Without the package, `conftest.py` leaves this file out.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from atif import Trajectory

from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.result import load_run
from tests.documents import document_of

GOLDEN = Path(__file__).parents[1] / "golden"


def trajectories(text: str) -> list[Trajectory]:
    try:
        return [Trajectory.model_validate(json.loads(text))]
    except json.JSONDecodeError:
        return [Trajectory.model_validate(json.loads(line)) for line in text.splitlines()]


def test_the_demo_exports_as_two_valid_trajectories_with_tool_calls() -> None:
    demo = load_run(GOLDEN / "demo-run.jsonl")
    found = trajectories(document_of("atif", demo))
    assert [step.message for step in found[0].steps] == [
        message.text for message in demo.conversations[0].sent_messages
    ]
    assert any(step.tool_calls for one in found for step in one.steps)


@pytest.mark.parametrize(
    "name", ["tau-bench-excerpt.json", "tau2.json", "chat.jsonl", "trajectory.json"]
)
def test_imported_conversations_export_as_valid_trajectories(name: str, tmp_path: Path) -> None:
    run = load_run(import_file(GOLDEN / "foreign" / name, tmp_path).path)
    assert len(trajectories(document_of("atif", run))) == len(run.state.conversations)
