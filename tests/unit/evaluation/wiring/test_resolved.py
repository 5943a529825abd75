"""What a run would do is told before anything is sent, and where each part of it was set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import Resolved, RunRequest, spec_of
from bioeval_tui.evaluation.wiring.estimate import estimate_batch
from bioeval_tui.evaluation.wiring.resolved import will_happen
from bioeval_tui.jobs.template import Answers, job_text


@pytest.fixture
def request_(tmp_path: Path) -> RunRequest:
    path = tmp_path / "dose.yml"
    path.write_text(job_text(Answers(url="http://127.0.0.1:29102")), encoding="utf-8")
    return RunRequest(jobs=(path,))


def settings(folder: Path, **more: str) -> Settings:
    return Settings.from_environment(
        {"BIOEVAL_DATA_DIR": str(folder), "OPENAI_BASE_URL": "http://127.0.0.1:29109/v1", **more}
    )


def told(request: RunRequest, known: Settings) -> dict[str, Resolved]:
    return {line.label: line for line in will_happen(request, known)}


def test_each_part_says_who_it_is_and_where_that_was_set(
    request_: RunRequest, tmp_path: Path
) -> None:
    lines = told(request_, settings(tmp_path, BIOEVAL_EVALUATOR_MODEL="large"))
    assert lines["agent"][1:3] == ("127.0.0.1:29102 · rest", "from dose.yml")
    user = lines["user"]
    assert user.what == "large at 127.0.0.1:29109"
    assert user.source == "from BIOEVAL_EVALUATOR_MODEL and OPENAI_BASE_URL"
    assert lines["judge"].source.startswith("from the default and OPENAI_BASE_URL")
    given = replace(
        request_,
        agent_url="http://127.0.0.1:1",
        agent_url_is_given=True,
        evaluator_model=("small",),
        judge_model=("a", "b"),
    )
    lines = told(given, settings(tmp_path, BIOEVAL_EVALUATOR_MODEL="large"))
    assert lines["agent"][1:3] == ("127.0.0.1:1 · rest", "given here")
    assert lines["user"][1:3] == ("small at 127.0.0.1:29109", "given here and OPENAI_BASE_URL")
    assert lines["judge"].model == "a, b"


def test_what_would_be_sent_is_what_a_dry_run_says(request_: RunRequest, tmp_path: Path) -> None:
    known, request = settings(tmp_path), replace(request_, trials=3)
    (estimate,) = estimate_batch(spec_of(request, known.runs_dir), known)
    roles = estimate["roles"]
    assert (
        told(request, known)["will send"].what
        == f"6 conversations, up to {roles['agent']['calls']} calls of the agent,"
        f" {roles['evaluator']['calls']} of the user, {roles['judge']['calls']} of the judge;"
        " cost unknown: no price"
    )
    rehearsal = told(replace(request, mode="rehearsal"), known)
    assert (rehearsal["user"].what, rehearsal["judge"].what) == ("a script", "rules, no model")
    assert rehearsal["will send"].what.endswith("$0 and the agent's own cost")


def test_without_a_key_it_is_still_told_who_would_be_asked(
    request_: RunRequest, tmp_path: Path
) -> None:
    lines = told(request_, Settings.from_environment({"BIOEVAL_DATA_DIR": str(tmp_path)}))
    assert lines["user"].what.endswith(" at api.openai.com")
    assert "will send" not in lines
