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
    assert (
        outcome.reason.replace("float ", "")
        == "the grader scores the sample submission but not this file: ZeroDivisionError: division"
        " by zero (grade.py, line 2)"
    )


@pytest.mark.parametrize(
    "sample", ["id,y\n", "id,y\na,1\n", "id,y\n100,0\n101,0\n102,0\n", "id,pred\na,1\n"]
)
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
    for agent, wishes in {
        "honest": (0.45, 0.5),
        "broken": (0.43, None),
        "unlucky": (0.43, "lost"),
    }.items():
        for number, off in enumerate(wishes):
            path = f"2025_run-group_{agent}/{number}.csv"
            shift = off if isinstance(off, float) else 0.0
            tasks.submit(
                "" if off is None else f"id,y\na,{1 + shift}\nb,{2 + shift}\nc,{3 + shift}\n", path
            )
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
        (
            {"submission_path": "2025_run-group_a/s.csv", "logs_path": "2025_run-group_b/l"},
            ".",
            "a",
        ),
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
    code = (
        "import numpy as np\ndef grade(s, a):\n    return float(np.array([0.25])) +"
        " int(np.where(s['y'] == 1)[0]) + int('12', base=3)\n"
    )
    report = grade_submission(
        tasks.submit("id,y\na,1\nb,2\nc,3\n"), tasks.registry.get_task(tasks.add(code=code))
    )
    assert isinstance(report, TaskReport)
    assert report.score == 5.25


def test_a_grader_that_needs_an_older_numpy_names_the_version(tasks) -> None:
    code = (
        "def grade(s, a):\n    raise TypeError('only 0-dimensional arrays can be converted to"
        " Python scalars')\n"
    )
    outcome = TaskGrading(tasks.registry.get_task(tasks.add(code=code))).grade(
        tasks.submit("id,y\na,1\n")
    )
    assert isinstance(outcome, NotGraded)
    assert "needs numpy before 2.4" in outcome.reason
    assert outcome.elsewhere


def test_the_suggested_prepare_command_works_as_printed(
    tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks.registry.get_task(tasks.add())
    task.answers.unlink()
    assert str(task.why_not_prepared()).endswith("; it has no prepare.py, so put them there")
    (task.folder / "prepare.py").touch()
    options = f"--tasks-dir {tasks.root.resolve()} --data-dir {tasks.data}"
    assert f"`bioeval-tui tasks prepare lab/numbers {options}`" in str(task.why_not_prepared())
    monkeypatch.setenv("BIOEVAL_TASKS_DIR", str(tasks.root))
    assert task.prepare_command == f"bioeval-tui tasks prepare lab/numbers --data-dir {tasks.data}"


def test_the_answers_themselves_are_not_a_submission(tasks) -> None:
    task = tasks.registry.get_task(tasks.add())
    outcome = TaskGrading(task).grade(task.answers, handed_in=True)
    assert isinstance(outcome, Invalid)
    assert outcome.reason == "the file is the task's own answers"


# Answers that no file can be scored against
# -------------------------------------------------------------

ONE_CLASS = "id,y\na,1\nb,1\nc,1\n"
GUESS = "id,y\na,0.2\nb,0.5\nc,0.9\n"
UNDEFINED = {
    "roc_auc": ONE_CLASS,
    "average_precision": ONE_CLASS.replace(",1", ",0"),
    "spearman": ONE_CLASS,
    "pearson": ONE_CLASS,
    "kendall": ONE_CLASS,
    "r2": ONE_CLASS,
    "cohen_kappa": ONE_CLASS,
}


def checked(tasks) -> dict:
    arguments = ["tasks", "check", "--tasks-dir", tasks.root, "--data-dir", tasks.data, "--json"]
    return json.loads(call(*arguments).stdout)


def test_a_prepared_task_without_a_leaderboard_is_told(tasks) -> None:
    task_id = tasks.add()
    assert not any(row["warnings"] for row in checked(tasks))
    board = tasks.root / task_id / "leaderboard.csv"
    board.unlink()
    (found,) = [row for row in checked(tasks) if row["warnings"]]
    assert found["task_id"] == task_id
    (warning,) = found["warnings"]
    assert warning.startswith(f"the leaderboard of {task_id} is missing: {board}; write it")
    tasks.registry.get_task(task_id).answers.unlink()
    assert not any(row["warnings"] for row in checked(tasks))


@pytest.mark.parametrize("metric", UNDEFINED)
def test_answers_of_one_class_or_value_are_the_task_s_fault(tasks, metric: str) -> None:
    grader = {"name": metric, "metric": metric, "id": "id", "target": "y"}
    task_id = tasks.add(grader=grader, answers=UNDEFINED[metric])
    for text in (GUESS, UNDEFINED[metric]):
        outcome = TaskGrading(tasks.registry.get_task(task_id)).grade(tasks.submit(text))
        assert isinstance(outcome, NotGraded)
        assert "is undefined for their column `y`" in outcome.reason
        assert "no file can have a score" in outcome.reason
    assert "no file can have a score" in json.dumps(checked(tasks))


def test_times_without_an_event_cannot_be_compared(tasks) -> None:
    grader = {
        "name": "c",
        "metric": "concordance_index",
        "id": "id",
        "target": "y",
        "event": "event",
    }
    task_id = tasks.add(grader=grader, answers="id,y,event\na,1,0\nb,2,0\nc,3,0\n")
    outcome = TaskGrading(tasks.registry.get_task(task_id)).grade(tasks.submit(GUESS))
    assert isinstance(outcome, NotGraded)
    assert "concordance index is undefined for their column `y`" in outcome.reason


def test_cells_of_one_class_are_the_task_s_fault(tasks) -> None:
    import anndata
    import pandas as pd

    grader = {"name": "k", "metric": "cohen_kappa", "h5ad": {"obs": "kind"}}
    task_id = tasks.add(grader=grader)
    config = tasks.root / task_id / "config.yaml"
    config.write_text(config.read_text().replace(".csv", ".h5ad"))
    task = tasks.registry.get_task(task_id)
    cells = pd.DataFrame({"kind": ["T"] * 4}, index=list("abcd"))
    for path in (task.answers, task.sample_submission, tasks.submissions / "s.h5ad"):
        anndata.AnnData(obs=cells.copy()).write_h5ad(path)
    outcome = TaskGrading(task).grade(tasks.submissions / "s.h5ad")
    assert isinstance(outcome, NotGraded)
    assert "is undefined for their `obs` key `kind`" in outcome.reason


NAN = """
def grade(s, a):
    pair = a.merge(s, on="id")
    constant = pair["y_x"].nunique() == 1 or pair["y_y"].nunique() == 1
    return float("nan") if constant else pair["y_x"].corr(pair["y_y"])
"""


def test_a_grader_s_code_that_gives_nan_for_the_answers_is_not_blamed_on_a_file(tasks) -> None:
    task_id = tasks.add(code=NAN, answers=ONE_CLASS, sample="id,y\na,0\nb,0\nc,0\n")
    outcome = TaskGrading(tasks.registry.get_task(task_id)).grade(tasks.submit(GUESS))
    assert isinstance(outcome, NotGraded)
    assert "the task's own answers have no score" in outcome.reason
    assert "the task's own answers have no score" in json.dumps(checked(tasks))


def test_a_constant_file_is_invalid_where_the_answers_have_a_score(tasks) -> None:
    task_id = tasks.add(code=NAN, answers="id,y\na,1\nb,2\nc,3\n", sample=ONE_CLASS)
    outcome = TaskGrading(tasks.registry.get_task(task_id)).grade(tasks.submit(ONE_CLASS))
    assert isinstance(outcome, Invalid)
    assert "no score" not in json.dumps(checked(tasks))


# Ids that pandas reads as missing
# -----------------------------------------------------------------------

WORDS = ("NA", "null", "nan", "None", "N/A", "#N/A", "NULL", "n/a", "NaN", "<NA>")


@pytest.mark.parametrize("others", [("gene1", "gene2"), ("1", "2"), ("01", "02")])
def test_ids_that_look_like_missing_values_are_text(tasks, others: tuple[str, str]) -> None:
    ids = [*WORDS, *others]
    answers = "id,y\n" + "".join(f"{name},{n}\n" for n, name in enumerate(ids))
    task = tasks.registry.get_task(tasks.add(answers=answers))
    rows = answers.splitlines()
    report = grade_submission(tasks.submit("\n".join([rows[0], *rows[:0:-1]])), task)
    assert (report.score, report.valid_submission) == (0.0, True)
    findings = TaskGrading(task).examine(tasks.submit("\n".join(rows[:1] + rows[2:])))
    assert "1 id is missing: NA" in [problem.message for problem in findings]


def test_an_id_that_is_not_there_is_named_as_such(tasks) -> None:
    task = tasks.registry.get_task(tasks.add(answers="id,y\nNA,1\nb,2\n"))
    findings = [each.message for each in TaskGrading(task).examine(tasks.submit("id,y\n,1\nb,2\n"))]
    assert "column `id` has no id in line 2" in findings
    for answers, sentence in (
        ("id,y\nNA,1\nNA,2\nb,3\n", "the answers hold an id twice, in column `id`: NA"),
        ("id,y\n,1\nb,3\n", "the answers' column `id` has no id in line 2"),
    ):
        other = tasks.registry.get_task(tasks.add(f"lab/{len(answers)}", answers=answers))
        outcome = TaskGrading(other).grade(tasks.submit("id,y\nNA,1\nb,2\n"))
        assert isinstance(outcome, NotGraded)
        assert sentence in outcome.reason


def test_a_sample_with_the_id_na_is_compared_by_it(tasks) -> None:
    answers = "id,y\nNA,1\nb,2\n"
    task = tasks.registry.get_task(tasks.add(code=STRICT, answers=answers))
    assert TaskGrading(task).examine(tasks.submit(answers)) == []
