"""A judge that is the agent's own model gets a warning, if that model is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.base.settings import Secret, Settings
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.prepare import prepare_run
from bioeval_tui.evaluation.wiring.resuming import prepare_resumed, resume_spec
from tests.unit.record.test_versions import GOLDEN

JOB = """
target: {{user: u, chatbot: c, protocol: {protocol}}}
aspirationalAverage: 1000
tasks: [{{task: t}}]
facts: []
scorer: {{model: gpt-4.1-mini}}
"""


@pytest.mark.parametrize(
    ("protocol", "model", "warned"),
    [
        ("rest", None, False),  # what it runs, it alone knows
        ("rest", "gpt-4.1-mini", True),
        ("rest", "another", False),
        ("openai", None, True),  # asked for by its name, here the default
    ],
)
def test_the_warning_about_a_judge_of_the_agents_own_model_needs_a_known_model(
    tmp_path: Path, protocol: str, model: str | None, warned: bool
) -> None:
    job = tmp_path / "job.yml"
    job.write_text(JOB.format(protocol=protocol), encoding="utf-8")
    run = RunSpec("20260101-000000-abcd", str(job), model)
    settings = Settings(openai_api_key=Secret("k"))
    prepared = prepare_run(EngineSpec((run,), agent_url="http://127.0.0.1:1"), run, settings)
    assert any("the agent's own model" in warning for warning in prepared.warnings) is warned


@pytest.mark.parametrize(("model", "warned"), [("gpt-4.1-mini", False), ("another", True)])
def test_a_resumed_run_was_asked_for_no_model_if_only_the_usual_one_is_recorded(
    tmp_path: Path, model: str, warned: bool
) -> None:
    text = (GOLDEN / "version-1.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(text[0])
    first["job"]["scorer"] = {"kind": "llm", "model": model}
    first["model"] = model
    first["agent"], first["prompts"], first["options"] = (
        "127.0.0.1:1",
        {},
        {"agent_url": "http://127.0.0.1:1"},
    )
    settings = Settings(openai_api_key=Secret("k"), data_dir_override=str(tmp_path))
    settings.runs_dir.mkdir()
    path = settings.runs_dir / f"{first['run_id']}.jsonl"
    path.write_text("\n".join([json.dumps(first), *text[1:50]]) + "\n", encoding="utf-8")
    spec = resume_spec(path)
    assert spec is not None
    prepared = prepare_resumed(replace(spec, force=True), spec.runs[0], settings)
    assert any("the agent's own model" in warning for warning in prepared.warnings) is warned
