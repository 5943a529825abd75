"""The differences from the published grading that docs/grading.md lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.grading import (
    NotGradedError,
    TaskReport,
    grade_jsonl,
    grade_submission,
    validate_submission,
)

RETURNS = """
import numpy as np
from bioeval_tui.grading import InvalidSubmissionError

def grade(submission, answers):
    what = submission["do"].iloc[0]
    if what == "raise":
        raise RuntimeError("no luck")
    if what == "invalid":
        raise InvalidSubmissionError("not like this")
    if what == "mutate":
        answers["y"] = 0.0
        return 0.5
    if what == "first_answer":
        return float(answers["y"].iloc[0])
    return {"undefined": float("nan"), "infinite": float("-inf"), "none": None,
            "float32": np.float32(0.123456789), "int64": np.int64(3),
            "array": np.array([0.25])}[what]
"""


def ask(tasks, what: str) -> Path:
    return tasks.submit(f"do\n{what}\n", f"{what}.csv")


def listing(tasks, lines: list[tuple[str, str | None]]) -> Path:
    text = "".join(
        json.dumps({"task_id": task, "submission_path": path}) + "\n" for task, path in lines
    )
    return tasks.submit(text, "submissions.jsonl")


# One failing submission aborts the batch → three outcomes, the batch goes on.


def test_a_batch_continues_after_a_failure_and_reports_three_outcomes(
    tasks, tmp_path: Path
) -> None:
    task = tasks.add(code=RETURNS, sample="")
    bare = tasks.add("lab/no-board", code=RETURNS)
    (tasks.root / bare / "leaderboard.csv").unlink()
    for what in ("float32", "raise", "invalid"):
        ask(tasks, what)
    lines = [
        (task, "float32.csv"),
        (task, "raise.csv"),
        (task, "invalid.csv"),
        ("lab/unknown", "float32.csv"),
        (bare, "float32.csv"),
        (task, None),
    ]
    report_path, single = grade_jsonl(listing(tasks, lines), tmp_path / "out", tasks.registry)
    report = json.loads(report_path.read_text())
    assert [item["valid_submission"] for item in report["task_reports"]] == [True, False, False]
    assert report["total_runs"] == 3
    assert report["total_runs_with_submissions"] == 2
    reasons = [item["reason"] for item in report["not_graded"]]
    assert [item["attempts"] for item in report["not_graded"]] == [2, 1, 1]
    assert "RuntimeError: no luck" in reasons[0]
    assert "unknown task `lab/unknown`" in reasons[1]
    assert "the leaderboard of lab/no-board is missing" in reasons[2]
    assert report["task_reports"][1]["extra"]["error"] == "not like this"
    assert report["task_reports"][2]["extra"]["error"] == "nothing was submitted"
    assert len(list(single.iterdir())) == 3


# `task_id` must be folder/task → a unique bare name works too.


def test_a_unique_bare_name_finds_the_task_and_an_ambiguous_one_lists_the_candidates(tasks) -> None:
    tasks.add("polarishub/tdcommons-caco2-wang")
    assert tasks.registry.get_task("caco2-wang").id == "polarishub/tdcommons-caco2-wang"
    assert tasks.registry.get_task("tdcommons-caco2-wang").id == "polarishub/tdcommons-caco2-wang"
    tasks.add("other/tdcommons-caco2-wang")
    with pytest.raises(
        InputError, match="other/tdcommons-caco2-wang, polarishub/tdcommons-caco2-wang"
    ):
        tasks.registry.get_task("caco2-wang")


def test_a_copy_that_names_the_original_does_not_make_a_bare_name_ambiguous(tasks) -> None:
    tasks.add("polarishub/tdcommons-caco2-wang")
    tasks.add("extended/tdcommons-caco2-wang", config={"id": "polarishub/tdcommons-caco2-wang"})
    assert tasks.registry.get_task("caco2-wang").id == "polarishub/tdcommons-caco2-wang"


# The direction is guessed → a configured one wins; the guess warns when it cannot tell; boards are
# sorted.


def mae_report(tasks, **task: object) -> TaskReport:
    task_id = tasks.add(**task)
    return grade_submission(
        tasks.submit("id,y\na,1.5\nb,2.5\nc,3.5\n"), tasks.registry.get_task(task_id)
    )


CODE_MAE = "def grade(submission, answers):\n    return 0.5\n"


def warnings_of(report: TaskReport) -> str:
    assert report.extra is not None
    return " · ".join(report.extra.warnings)


@pytest.mark.parametrize("scores", [[0.4], [0.4] * 12])
def test_a_leaderboard_without_a_direction_is_higher_is_better_with_a_warning(
    tasks, scores: list[float]
) -> None:
    report = mae_report(tasks, code=CODE_MAE, scores=scores)
    assert report.is_lower_better is False
    assert report.gold_medal is True
    assert "direction guessed as higher is better" in warnings_of(report)


def test_a_configured_direction_takes_precedence(tasks) -> None:
    grader = {"name": "code", "grade_fn": "grade:grade", "is_lower_better": True}
    report = mae_report(tasks, code=CODE_MAE, grader=grader, scores=[0.4] * 12)
    assert report.is_lower_better is True
    assert report.any_medal is False
    assert "guessed" not in warnings_of(report)


def test_an_unsorted_leaderboard_is_sorted_with_a_warning(tasks) -> None:
    board = [0.1, 0.9, 0.2, 0.3, 0.8, 0.4, 0.5, 0.6, 0.7, 1.0, 1.1]
    report = mae_report(tasks, code=CODE_MAE, scores=board)
    assert report.is_lower_better is True
    assert report.gold_threshold == 0.1
    assert report.extra is not None
    assert report.extra.leaderboard_position == 5
    assert (
        "was not sorted and has been sorted; direction guessed as lower is better"
        in warnings_of(report)
    )


# NaN or ±inf scores → invalid, and never in the JSON.


@pytest.mark.parametrize(
    ("what", "reason"), [("undefined", "the score is NaN"), ("infinite", "the score is infinite")]
)
def test_a_score_that_is_not_finite_is_invalid(tasks, what: str, reason: str) -> None:
    task = tasks.registry.get_task(tasks.add(code=RETURNS))
    report = grade_submission(ask(tasks, what), task)
    assert report.score is None
    assert report.valid_submission is False
    assert report.extra is not None
    assert reason in str(report.extra.error)
    json.dumps(report.to_dict(), allow_nan=False)


# numpy float32/int64 scores abort → accepted.


@pytest.mark.parametrize(("what", "score"), [("float32", 0.12346), ("int64", 3.0), ("array", 0.25)])
def test_numpy_scores_are_accepted(tasks, what: str, score: float) -> None:
    report = grade_submission(ask(tasks, what), tasks.registry.get_task(tasks.add(code=RETURNS)))
    assert report.score == score
    assert type(report.score) is float


# None from a CSV grader is a TypeError → invalid.


def test_a_missing_score_is_invalid(tasks) -> None:
    report = grade_submission(ask(tasks, "none"), tasks.registry.get_task(tasks.add(code=RETURNS)))
    assert report.valid_submission is False
    assert report.extra is not None
    assert report.extra.error == "the grader returned no score"


# InvalidSubmissionError from an h5ad grader aborts → invalid.


def test_an_h5ad_grader_can_call_a_file_invalid(tasks) -> None:
    code = (
        "from bioeval_tui.grading import InvalidSubmissionError\ndef grade(a, b):\n    raise"
        " InvalidSubmissionError(a.name)\n"
    )
    task = tasks.registry.get_task(tasks.add(code=code))
    report = grade_submission(tasks.submit("not read", "cells.h5ad"), task)
    assert report.valid_submission is False
    assert report.extra is not None
    assert report.extra.error == "cells.h5ad"


# An empty leaderboard is an IndexError → an error that names task and file.


@pytest.mark.parametrize(
    ("board", "what"),
    [
        ("teamName,score,submissionDate\n", "is empty"),
        ("", "is empty"),
        ("teamName,points\na,1\n", "has no column `score`"),
        ("teamName,score\na,0.1\nb,best\n", "line 3: score `best` is not a number"),
        ("teamName,score\na,\n", "is empty"),
    ],
)
def test_an_unusable_leaderboard_is_an_error_that_names_task_and_file(
    tasks, board: str, what: str
) -> None:
    task_id = tasks.add(board=board)
    with pytest.raises(NotGradedError) as caught:
        grade_submission(tasks.submit("id,y\na,1\nb,2\nc,3\n"), tasks.registry.get_task(task_id))
    assert what in str(caught.value)
    assert task_id in str(caught.value)
    assert "leaderboard.csv" in str(caught.value)


# A second report of a task overwrites the first; timestamps collide → unique names.


def test_every_report_has_a_file_of_its_own(tasks, tmp_path: Path) -> None:
    task = tasks.add(code=RETURNS)
    ask(tasks, "int64")
    ask(tasks, "float32")
    listed = listing(tasks, [(task, "int64.csv"), (task, "float32.csv"), (task, "int64.csv")])
    first = grade_jsonl(listed, tmp_path / "out", tasks.registry)
    second = grade_jsonl(listed, tmp_path / "out", tasks.registry)
    assert first[0] != second[0]
    assert first[1] != second[1]
    scores = {path.name: json.loads(path.read_text())["score"] for path in first[1].iterdir()}
    assert scores == {
        "lab_numbers.json": 3.0,
        "lab_numbers-2.json": 0.12346,
        "lab_numbers-3.json": 3.0,
    }


# The preparer's imports are needed to grade → only when preparing.


def test_grading_does_not_import_the_preparer(tasks) -> None:
    task_id = tasks.add(config={"preparer": "prepare:prepare"})
    (tasks.root / task_id / "prepare.py").write_text("import no_such_module_anywhere\n")
    task = tasks.registry.get_task(task_id)
    assert grade_submission(tasks.submit("id,y\na,1\nb,2\nc,3\n"), task).score == 0.0
    with pytest.raises(Exception, match="needs the package no_such_module_anywhere"):
        _ = task.prepare_fn


# Answers are read once a task; a grader that changes them cannot poison the next.


def test_a_grader_that_changes_the_answers_affects_no_other_submission(tasks) -> None:
    task = tasks.registry.get_task(tasks.add(code=RETURNS))
    assert grade_submission(ask(tasks, "mutate"), task).score == 0.5
    assert grade_submission(ask(tasks, "first_answer"), task).score == 1.0


# And what stays as published.


def test_an_unprepared_task_is_a_value_error_as_published(tasks) -> None:
    task_id = tasks.add()
    (tasks.data / task_id / "prepared" / "private" / "answers.csv").unlink()
    task = tasks.registry.get_task(task_id)
    for function in (grade_submission, validate_submission):
        with pytest.raises(ValueError, match=r"it has no prepare\.py, so put them there"):
            function(tasks.submit("id,y\n"), task)


def test_validate_submission_says_valid_or_why_not(tasks) -> None:
    task = tasks.registry.get_task(tasks.add())
    assert validate_submission(tasks.submit("id,y\na,1\nb,2\nc,3\n"), task) == (
        True,
        "Submission is valid.",
    )
    valid, sentence = validate_submission(tasks.submit("id,y\na,1\nb,2\n"), task)
    assert valid is False
    assert "1 id is missing: c" in sentence
    valid, sentence = validate_submission(tasks.submissions / "nothing.csv", task)
    assert valid is False
    assert "does not exist" in sentence


def test_a_score_is_compared_with_people_where_there_are_human_baselines(tasks) -> None:
    task_id = tasks.add(
        humans="team_name,score,human_type,source\nx,0.4,expert,a study\ny,0.9,expert,a study\n"
    )
    report = grade_submission(
        tasks.submit("id,y\na,1.5\nb,2.5\nc,3.5\n"), tasks.registry.get_task(task_id)
    )
    assert (report.beats_human, report.human_percentile) == (True, 50.0)
    named = tasks.registry.get_task(tasks.add("lab/misnamed", humans="team_name,Score\nx,0.4\n"))
    report = grade_submission(tasks.submissions / "submission.csv", named)
    assert report.beats_human is None
    assert report.extra is not None
    assert (
        "human baselines (human_baselines.csv) cannot be read: it has no column `score`; it has"
        " team_name, Score"
    ) in report.extra.warnings


def test_an_invalid_list_of_submissions_names_every_invalid_line(tasks, tmp_path: Path) -> None:
    text = (
        '# a comment\n\n{"task_id": "lab/numbers"}\n// another\nnot json\n{"task_id": 3,'
        ' "submission_path": null}\n'
    )
    with pytest.raises(InputError) as caught:
        grade_jsonl(tasks.submit(text, "list.jsonl"), tmp_path / "out", tasks.registry)
    assert [problem.line for problem in caught.value.problems] == [3, 5, 6]
