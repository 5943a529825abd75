"""What a run says of the last one of its job, how its job is run again, and where it is edited."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.report.findings import Gain
from bioeval_tui.report.result import load_run
from bioeval_tui.report.since import changes_since_run, previous_run
from bioeval_tui.tui.run_form import RunForm, repeated
from bioeval_tui.tui.shared.editor import deciding_line, job_file
from tests.tui.history import run as catalogued
from tests.unit.report.recorded import Recorded, Talk

TOLD = Talk(tasks=(0.9,), fact=True)
FAILS, HOLDS = Talk(tasks=(0.2,), holds=(False,)), Talk(tasks=(0.9,), holds=(True,))
JOB = """\
# a job
tasks:
  - task: one
  - task: two
    acceptanceCriteria: asks
assertions:
  - name: first
    expression: a
  - expression: b
"""


def test_what_changed_names_the_scores_the_task_and_what_was_fixed() -> None:
    before, now = Recorded([FAILS], [FAILS]).loaded(), Recorded([FAILS], [HOLDS]).loaded()
    said = changes_since_run(before, now)
    assert said.startswith("since the last run of this job (2026-01-02 ")
    assert "0.20 → 0.90" in said
    assert "fixed: “" in said
    assert "broken" not in said
    assert "broken: “" in changes_since_run(now, before)
    assert changes_since_run(now, now).endswith(": the same scores")


def test_the_last_run_of_another_agent_or_model_is_called_by_its_name() -> None:
    before, now = (
        Recorded([FAILS], [one], started={"model": model}).loaded()
        for one, model in ((FAILS, "careful"), (HOLDS, "careless"))
    )
    said = changes_since_run(before, now)
    assert said.startswith(
        "since the last run of this job, which was of another agent or model, careful (2026-01-02 "
    )
    assert "since the last run of this job (" in changes_since_run(now, now)


def test_the_last_run_is_one_of_the_same_agent_and_model_if_there_is_one() -> None:
    models = ("careful", "careless", "careful", "careful")
    runs = [
        catalogued(number, "job", 0.5, ago=timedelta(hours=number), model=model)
        for number, model in enumerate(models, start=1)
    ]
    newest, careless, last, first = (one.run_id for one in runs)
    assert previous_run(runs, newest) == last
    assert previous_run(runs, careless) == last, "another model's, since there is no other"
    assert previous_run(runs, first) is None


def test_the_line_is_that_of_the_task_or_assertion_that_decided(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    path.write_text(JOB, encoding="utf-8")
    assert deciding_line(path, Gain("task", 2, "two")) == 4
    assert deciding_line(path, Gain("assertion", 1, "b")) == 9
    assert deciding_line(path, Gain("timing", 0, "")) == 0
    assert deciding_line(path, None) == 0
    assert deciding_line(tmp_path / "gone.yml", Gain("task", 2, "two")) == 0
    path.write_text("rubric:\n- criterion: a\n- criterion: b\n", encoding="utf-8")
    assert deciding_line(path, Gain("task", 2, "b")) == 3


def test_an_answer_says_which_task_or_assertion_decided(tmp_path: Path) -> None:
    answer = load_run(
        Recorded([HOLDS], [Talk(tasks=(0.9,), holds=(False,))]).write(tmp_path)
    ).answer
    assert answer.decided is not None
    assert (answer.decided.kind, answer.decided.index) == ("assertion", 0)
    assert load_run(Recorded([HOLDS], [HOLDS]).write(tmp_path)).answer.decided is None or answer.why


def test_a_run_is_repeated_with_its_settings_but_what_the_job_says_is_left_to_the_job(
    tmp_path: Path,
) -> None:
    job = tmp_path / "dose.yml"
    job.write_text(JOB, encoding="utf-8")
    options = {
        "job_file": str(job),
        "agent_url": "http://a:1",
        "evaluator_model": "big",
        "judge_model": ["j"],
    }
    run = Recorded([FAILS], [TOLD], started={"options": options}).loaded()
    assert repeated(run) == (
        job,
        RunForm(agent="url", url="http://a:1", repeats="5", evaluator="big", judge="j"),
    )
    same = {
        "target": {"url": "http://a:1"},
        "evaluator": {"model": "big"},
        "scorer": {"model": "j"},
    }
    run.state.job.update(same)
    assert repeated(run)[1] == RunForm(repeats="5")


def test_a_job_that_is_gone_is_neither_run_again_nor_edited(tmp_path: Path) -> None:
    run = Recorded(
        [FAILS], [HOLDS], started={"options": {"job_file": str(tmp_path / "gone.yml")}}
    ).loaded()
    for refused in (repeated, job_file):
        with pytest.raises(
            UsageError, match=r"the job file of run 20260102-030405-abcd is gone: .*gone\.yml"
        ):
            refused(run)
