"""A file is validated before its grader is blamed, and invalid submissions gain nothing."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import pytest

from bioeval_tui.grade.batch.run import InProcess, grade_batch
from bioeval_tui.grade.grade import TaskGrading
from bioeval_tui.grading import (
    Invalid,
    NotGraded,
    NotGradedError,
    TaskReport,
    grade_submission,
    load_outcomes,
    validate_submission,
)
from tests.command import call

STRICT = """
import numpy as np
def grade(submission, answers):
    merged = answers.merge(submission, on="id", how="left")
    assert merged["y_y"].notna().all()
    return float(np.abs(merged["y_x"] - merged["y_y"]).mean())
"""
BROKEN = {
    "zero bytes": ("", "the file is empty"),
    "a header alone": ("id,y\n", "the file has a header and no rows"),
    "semicolons": ("id;y\na;1\nb;2\nc;3\n", "column `id` is missing; the file has id;y"),
    "no header": ("a,1\nb,2\nc,3\n", "column `id` is missing; the file has a, 1"),
    "another id column": ("key,y\na,1\nb,2\nc,3\n", "column `id` is missing; the file has key, y"),
    "text": ("id,y\na,1\nb,high\nc,3\n", "column `y` must contain numbers, found `high` in line 3"),
    "a missing row": ("id,y\na,1\nb,2\n", "1 id is missing: c"),
    "an empty cell": ("id,y\na,1\nb,\nc,3\n", "column `y` has no value (NaN) in line 3"),
    "not UTF-8": ("id,y\na,\udcff\n", "is not UTF-8 text"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_invalid_with_the_reason_from_validation(tasks, what: str) -> None:
    text, reason = BROKEN[what]
    path = tasks.submissions / "s.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    task = tasks.registry.get_task(tasks.add(code=STRICT))
    outcome = TaskGrading(task).grade(path)
    assert isinstance(outcome, Invalid)
    assert reason in outcome.reason
    assert outcome.report.valid_submission is False
    valid, sentence = validate_submission(path, task)
    assert (valid, reason in sentence) == (False, True)


def test_a_grader_that_scores_the_sample_submission_is_not_blamed_for_another_file(tasks) -> None:
    code = "def grade(s, a):\n    return 1 / float(s['y'].iloc[0])\n"
    task = tasks.registry.get_task(tasks.add(code=code))
    outcome = TaskGrading(task).grade(tasks.submit("id,y\na,0\nb,2\nc,3\n"))
    assert isinstance(outcome, Invalid)
    # Python 3.14 no longer says "float division".
    assert outcome.reason.replace("float ", "") == (
        "the grader scores the sample submission but not this file: ZeroDivisionError: division by zero (grade.py, line 2)"
    )


@pytest.mark.parametrize("sample", ["id,y\n", "id,y\na,1\n", "id,y\n100,0\n101,0\n102,0\n", "id,pred\na,1\n"])
def test_a_file_is_not_blamed_by_a_sample_on_which_the_grader_fails_too(tasks, sample: str) -> None:
    code = "def grade(s, a):\n    raise KeyError('y')\n"
    task = tasks.registry.get_task(tasks.add(code=code, sample=sample))
    file = tasks.submit("id,y\na,1\nb,2\nc,3\n")
    ready = TaskGrading(task)
    outcome = ready.grade(file)
    assert isinstance(outcome, NotGraded), "the sample submission is no known-good file"
    assert "KeyError: 'y'" in outcome.reason
    # The pool asks once more, in another process, after a grader failed.
    again = ready.diagnose(file, "s.csv", None, "as before")
    assert isinstance(again, NotGraded)
    assert again.reason == "as before"
    assert ready.examine(file), "validation still lists the differences"


def test_the_answers_show_that_a_grader_works_where_the_sample_does_not(tasks) -> None:
    task = tasks.registry.get_task(tasks.add(code=STRICT, sample="id,y\n"))
    outcome = TaskGrading(task).grade(tasks.submit("id,y\na,1\nb,2\n"))
    assert isinstance(outcome, Invalid)
    assert (
        "1 row" in outcome.reason
        or "not expected" in outcome.reason
        or "scores the answers" in outcome.reason
    )


def test_a_grader_that_scores_nothing_is_blamed(tasks) -> None:
    task = tasks.registry.get_task(tasks.add(code="def grade(s, a):\n    raise KeyError('y')\n"))
    file = tasks.submit("id,y\na,1\nb,2\nc,3\n")
    assert isinstance(TaskGrading(task).grade(file), NotGraded)
    with pytest.raises(NotGradedError, match=r"KeyError: 'y' \(grade.py, line 2\)"):
        grade_submission(file, task)


@pytest.mark.parametrize("what", ["empty", "text", "no cells"])
def test_a_broken_h5ad_file_is_invalid_for_a_custom_grader(tasks, what: str) -> None:
    code = "import h5py\ndef grade(s, a):\n    return float(h5py.File(s)['obs']['x'][0])\n"
    task = tasks.registry.get_task(tasks.add(code=code))
    path = tasks.submit("" if what == "empty" else "no HDF5 at all", "cells.h5ad")
    if what == "no cells":
        path.unlink()
        h5py.File(path, "w").close()
    task.sample_submission.unlink()
    outcome = TaskGrading(task).grade(path)
    assert isinstance(outcome, Invalid)
    assert {"empty": "is empty", "text": "not a readable h5ad", "no cells": "no `obs`"}[
        what
    ] in outcome.reason


def test_invalid_submissions_do_not_raise_an_agents_rank(tasks, tmp_path: Path) -> None:
    scores = [n / 100 for n in range(100)]
    task = tasks.add(scores=scores)
    lost = tasks.add("lab/lost", code="def grade(s, a):\n    raise KeyError('y')\n", scores=scores)
    lines = []
    for agent, wishes in {"honest": (0.45, 0.5), "broken": (0.43, None), "unlucky": (0.43, "lost")}.items():
        for number, off in enumerate(wishes):
            path = f"2025_run-group_{agent}/{number}.csv"
            shift = off if isinstance(off, float) else 0.0
            tasks.submit("" if off is None else f"id,y\na,{1 + shift}\nb,{2 + shift}\nc,{3 + shift}\n", path)
            lines.append({"task_id": lost if off == "lost" else task, "submission_path": path})
    listed = tasks.submit("".join(json.dumps(line) + "\n" for line in lines), "list.jsonl")
    result = grade_batch(listed, tmp_path / "out", InProcess(tasks.registry))
    assert (result.valid, result.invalid, len(result.not_graded)) == (4, 1, 1)
    ranked = [54.0, 49.0, 56.0, 56.0]
    assert result.totals["avg_leaderboard_percentile"] == round(sum(ranked) / 4, 1)
    assert result.average_with_zeros == round(sum(ranked) / 6, 1)

    agents = json.loads(call("medals", result.report_path, "--agents", "--json").stdout)
    assert [(each["agent"], each["submissions"], each["graded"]) for each in agents] == [
        ("honest", 2, 2), ("broken", 2, 1), ("unlucky", 2, 1),
    ]  # fmt: skip


def test_ungraded_submissions_are_loaded_with_agent_and_reason(tasks, tmp_path: Path) -> None:
    path = tasks.submit("id,y\na,1\n", "2025_run-group_aide/s.csv")
    line = {"task_id": "lab/unknown", "submission_path": str(path)}
    result = grade_batch(
        tasks.submit(json.dumps(line), "l.jsonl"), tmp_path / "out", InProcess(tasks.registry)
    )
    for place in (result.report_path, tmp_path / "out"):
        (item,) = load_outcomes(place).not_graded
        assert (item.task_id, item.agent) == ("lab/unknown", "aide")
        assert item.reason.startswith("unknown task `lab/unknown`")


@pytest.mark.parametrize(
    ("line", "folder", "agent"),
    [
        ({"submission_path": None, "logs_path": "2025_run-group_aide/run.log"}, ".", "aide"),
        ({"submission_path": None, "code_path": "2025_run-group_stella/code"}, ".", "stella"),
        ({"submission_path": None}, "2025_run-group_biomni", "biomni"),
        ({"submission_path": "2025_run-group_a/s.csv", "logs_path": "2025_run-group_b/l"}, ".", "a"),
        ({"submission_path": None}, ".", None),
    ],
)
def test_a_run_without_a_submission_keeps_its_agent(
    tasks, tmp_path: Path, line: dict, folder: str, agent: str | None
) -> None:
    listed = tasks.submit(json.dumps({"task_id": tasks.add(), **line}), f"{folder}/list.jsonl")
    result = grade_batch(listed, tmp_path / "out", InProcess(tasks.registry))
    (report,) = load_outcomes(result.report_path).reports
    assert report.extra is not None
    assert report.extra.agent == agent


def test_a_blank_after_a_task_id_does_not_make_it_unknown(tasks) -> None:
    tasks.add("lab/ok")
    assert tasks.registry.get_task("lab/ok ").id == "lab/ok"


def test_a_grader_written_for_an_older_numpy_scores(tasks) -> None:
    code = "import numpy as np\ndef grade(s, a):\n    return float(np.array([0.25])) + int(np.where(s['y'] == 1)[0]) + int('12', base=3)\n"
    report = grade_submission(
        tasks.submit("id,y\na,1\nb,2\nc,3\n"), tasks.registry.get_task(tasks.add(code=code))
    )
    assert isinstance(report, TaskReport)
    assert report.score == 5.25


def test_a_grader_that_needs_an_older_numpy_names_the_version(tasks) -> None:
    code = "def grade(s, a):\n    raise TypeError('only 0-dimensional arrays can be converted to Python scalars')\n"
    outcome = TaskGrading(tasks.registry.get_task(tasks.add(code=code))).grade(tasks.submit("id,y\na,1\n"))
    assert isinstance(outcome, NotGraded)
    assert "needs numpy before 2.4" in outcome.reason
    assert outcome.elsewhere


def test_the_suggested_prepare_command_works_as_printed(tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    task = tasks.registry.get_task(tasks.add())
    task.answers.unlink()
    options = f"--tasks-dir {tasks.root.resolve()} --data-dir {tasks.data}"
    assert f"`bioeval-tui tasks prepare lab/numbers {options}`" in str(task.why_not_prepared())
    monkeypatch.setenv("BIOEVAL_TASKS_DIR", str(tasks.root))
    assert task.prepare_command == f"bioeval-tui tasks prepare lab/numbers --data-dir {tasks.data}"


def test_the_answers_themselves_are_not_a_submission(tasks) -> None:
    task = tasks.registry.get_task(tasks.add())
    outcome = TaskGrading(task).grade(task.answers, handed_in=True)
    assert isinstance(outcome, Invalid)
    assert outcome.reason == "the file is the task's own answers"
