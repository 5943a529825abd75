"""What a run takes from its job where no option says it, and what is recorded of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.base.settings import Secret, Settings
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.prepare import prepare_run

JOB = """
target: {user: ada, chatbot: bot, url: "http://127.0.0.1:1"}
aspirationalAverage: 1000
facts: []
tasks: [{task: a}]
scorer: {model: [gpt-4.1, gpt-4.1-mini]}
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(openai_api_key=Secret("k"), data_dir_override=str(tmp_path))


def test_keys_of_the_job_set_what_the_options_leave_to_it(
    tmp_path: Path, settings: Settings
) -> None:
    keys = JOB.replace("target: {", "target: {recordEvents: false, maxRequestsPerMinute: 30, ")
    own, other = tmp_path / "own.yml", tmp_path / "other.yml"
    own.write_text(keys + "order: parallel\n", encoding="utf-8")
    other.write_text(
        JOB.replace("target: {", "target: {maxRequestsPerMinute: 90, ") + "order: parallel\n",
        encoding="utf-8",
    )
    first, second = (
        RunSpec("20260101-000000-abcd", str(own)),
        RunSpec("20260101-000000-abce", str(other)),
    )
    spec = EngineSpec(runs=(first, second))
    runs = [prepare_run(spec, each, settings) for each in spec.runs]
    assert [(run.plan.parallel, run.keep_prompts) for run in runs] == [(True, False), (True, True)]
    assert runs[0].plan.options["requests_per_minute"] == 30
    assert [(run.plan.shared_agent, run.requests_per_minute) for run in runs] == [(2, 30), (2, 90)]
    given = replace(spec, order="random", requests_per_minute=120.0)
    run = prepare_run(given, first, settings)
    assert (run.plan.parallel, run.plan.random_order, run.requests_per_minute) == (False, True, 120)


def test_the_options_of_a_run_are_recorded_without_credentials(
    tmp_path: Path, settings: Settings
) -> None:
    path = tmp_path / "job.yml"
    path.write_text(JOB, encoding="utf-8")
    spec = EngineSpec(
        runs=(), agent_url="http://user:secret@127.0.0.1:5/base?key=secret", concurrency=3
    )
    plan = prepare_run(spec, RunSpec("20260101-000000-abcd", str(path)), settings).plan
    assert plan.options["agent_url"] == "http://127.0.0.1:5/base"
    assert plan.options["concurrency"] == plan.shared_agent == 3
    assert plan.options["judge_model"] == ["gpt-4.1", "gpt-4.1-mini"]
    assert "secret" not in str(plan.options)
