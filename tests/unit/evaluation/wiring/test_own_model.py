"""A judge that is the agent's own model gets a warning, if that model is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.evaluation.engine.spec import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.parts import prepare_run
from bioeval_tui.settings import Secret, Settings

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
