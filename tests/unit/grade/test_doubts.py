"""Graders with code that take rows or columns by their place: the score stays as published, and its
doubts are said.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.grade.doubts import Doubt
from bioeval_tui.grade.grade import TaskGrading
from bioeval_tui.grading import Invalid, TaskReport, load_reports, validate_submission
from tests.command import call
from tests.documents import medals_of

COLUMNS_BY_PLACE = """
import pandas as pd
def grade(submission, answers):
    merged = pd.merge(submission, answers, on="id", how="inner")
    return float(merged.iloc[:, 1].corr(merged.iloc[:, 2], method="spearman"))
"""
COLUMNS_BY_NAME = """
def grade(submission, answers):
    merged = submission.merge(answers, on="id", suffixes=("", "_true"))
    return float((merged["y"] - merged["y_true"]).abs().mean())
"""
ROWS_BY_PLACE = """
def grade(submission, answers):
    submission["y"] = submission["y"].fillna(0)  # as graders do, to the table that they are given
    return float((submission["y"].to_numpy() - answers["y"].to_numpy()).__abs__().mean())
"""
ANSWERS = "id,y\n" + "".join(f"v{n},{(n * 7 % 10) / 10}\n" for n in range(10))
PERFECT = ANSWERS + "\n"
"""The same values in other bytes."""
SAMPLE = "id,y\n" + "".join(f"v{n},0.0\n" for n in range(10))
EXTRA = "id,y,mean\n" + "".join(f"v{n},{n * 3 % 10},{n * 3 % 10}.5\n" for n in range(10))


def shuffled(table: str, by: int = 3) -> str:
    head, *rows = table.splitlines()
    return "\n".join([head, *(rows[n * by % len(rows)] for n in range(len(rows)))]) + "\n"


@pytest.fixture
def grade(tasks) -> Any:
    """Grade a table with a grader, and return its report."""

    def graded(code: str, table: str, **given: Any) -> TaskReport:
        task = tasks.add(code=code, **{"answers": ANSWERS, "sample": SAMPLE, **given})
        outcome = TaskGrading(tasks.registry.get_task(task)).grade(tasks.submit(table))
        assert isinstance(outcome, TaskReport), outcome
        return outcome

    return graded


def sentences(report: TaskReport) -> list[str]:
    """Return the doubts' sentences, which are among the warnings, and survive JSON."""
    found = [doubt.sentence for doubt in report.doubts]
    assert report.extra is not None
    assert set(found) <= set(report.extra.warnings)
    again = TaskReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again.doubts == report.doubts
    return found


def test_rows_by_place(grade) -> None:
    report = grade(ROWS_BY_PLACE, shuffled(ANSWERS))
    assert report.score == 0.28, "as published"
    assert sentences(report) == [
        "this grader depends on the order of rows: 0.28 as handed in, 0 in the answers' order"
    ]


def test_rows_by_place_in_order(grade) -> None:
    assert not sentences(grade(ROWS_BY_PLACE, PERFECT))


@pytest.mark.parametrize("place", ["last", "first"])
def test_rows_that_the_answers_lack_come_last_in_their_order(grade, place: str) -> None:
    first_rows = ROWS_BY_PLACE.replace(".to_numpy() - ", ".to_numpy()[: len(answers)] - ")
    (head, rows), more = ANSWERS.split("\n", 1), "w1,0.5\nw2,0.5\n"
    report = grade(
        first_rows, f"{head}\n{rows}{more}" if place == "last" else f"{head}\n{more}{rows}"
    )
    found = [(doubt.kind, doubt.rearranged) for doubt in report.doubts]
    assert found == ([] if place == "last" else [("order", 0.0)])


def test_rows_by_name_in_any_order(grade) -> None:
    assert not sentences(grade(COLUMNS_BY_NAME, shuffled(ANSWERS)))


def test_sums_of_another_order_are_no_doubt(grade) -> None:
    code = "def grade(submission, answers):\n    return sum(submission['y'].tolist()) * 1e7 / 3\n"
    assert not sentences(grade(code, shuffled(ANSWERS.replace("0.7", "0.1000000001"))))


def test_several_rows_of_an_image_are_told_apart_by_their_class(grade) -> None:
    rows = [
        (f"s{n}", kind, f"{n * 3} {len(kind)}") for n in range(5) for kind in ("bowel", "stomach")
    ]
    answers = "id,class,predicted,height\n" + "".join(f"{i},{c},{p},9\n" for i, c, p in rows)
    sample = "id,class,predicted\n" + "".join(f"{i},{c},\n" for i, c, _ in rows)
    perfect = "id,class,predicted\n" + "".join(f"{i},{c},{p}\n" for i, c, p in rows)
    code = (
        "def grade(submission, answers):\n    return float((submission['predicted'].to_numpy() =="
        " answers['predicted'].to_numpy()).mean())\n"
    )
    report = grade(code, shuffled(perfect), answers=answers, sample=sample)
    assert sentences(report) == [
        f"this grader depends on the order of rows: {report.score:g} as handed in, 1 in the"
        " answers' order"
    ]


def test_without_ids_nothing_is_said(grade) -> None:
    answers = ANSWERS.replace("id,", "group,").replace("v1,", "v0,").replace("v3,", "v2,")
    assert not sentences(grade(ROWS_BY_PLACE, shuffled(answers), answers=answers, sample=answers))


def test_ids_that_only_the_sample_submission_has(grade) -> None:
    answers = "y\n" + "".join(line.partition(",")[2] + "\n" for line in ANSWERS.splitlines()[1:])
    (words,) = sentences(grade(ROWS_BY_PLACE, shuffled(ANSWERS), answers=answers))
    assert words.endswith("0 in the sample submission's order")


def test_columns_by_place(grade) -> None:
    report = grade(COLUMNS_BY_PLACE, EXTRA)
    assert report.score == 1.0, "as published: it compares the file with itself"
    (words,) = sentences(report)
    assert words.startswith("this grader takes columns by their place: 1 as handed in, ")
    assert words.endswith(
        " with the sample submission's columns; the file has `mean`, which the sample submission"
        " does not have"
    )


def test_columns_in_another_order(grade) -> None:
    code = COLUMNS_BY_PLACE.replace("submission, answers,", "submission.iloc[:, :2], answers,")
    sample = SAMPLE.replace("id,y", "id,y,z").replace(",0.0", ",0.0,0.0")
    table = "id,z,y\n" + "".join(f"v{n},{-n},{n * 7 % 10}\n" for n in range(10))
    (words,) = sentences(grade(code, table, sample=sample))
    assert (
        "the file has the columns `id`, `z`, `y` where the sample submission has `id`, `y`, `z`"
        in words
    )


def test_no_score_because_of_another_column_names_it(tasks) -> None:
    code = (
        "def grade(submission, answers):\n    return float('nan') if 'sequence' in submission else"
        " 0.5\n"
    )
    task = tasks.add(code=code, answers=ANSWERS, sample=SAMPLE)
    table = "id,y,sequence\n" + "".join(f"v{n},{n},ACDE\n" for n in range(10))
    outcome = TaskGrading(tasks.registry.get_task(task)).grade(tasks.submit(table))
    assert isinstance(outcome, Invalid)
    assert outcome.reason.endswith(
        "; the file has `sequence`, which the sample submission does not have"
    )


def test_columns_and_rows_at_once(grade) -> None:
    (words,) = sentences(grade(COLUMNS_BY_PLACE, shuffled(EXTRA)))
    assert words.startswith("this grader takes rows or columns by their place: ")
    assert "with the sample submission's columns and its rows in the answers' order" in words


def test_another_column_that_changes_nothing_is_only_a_note(grade) -> None:
    table = "id,y,fold\n" + "".join(f"{line},1\n" for line in ANSWERS.splitlines()[1:])
    report = grade(COLUMNS_BY_NAME, table)
    assert not sentences(report)
    assert (
        report.extra.warnings[-1]
        == "the file has `fold`, which the sample submission does not have; "
        "with the sample submission's columns the score is the same"
    )


def test_a_missing_column_that_changes_nothing_is_only_a_note(grade) -> None:
    report = grade(
        COLUMNS_BY_NAME, PERFECT, sample=SAMPLE.replace("\n", ",0\n").replace("y,0", "y,unused")
    )
    assert not sentences(report)
    assert (
        report.extra.warnings[-1]
        == "the file lacks the sample submission's `unused`; with its columns in reverse order the"
        " score is the same"
    )


def test_renamed_columns_are_tried_in_reverse_order(grade) -> None:
    (words,) = sentences(grade(COLUMNS_BY_PLACE, EXTRA.replace("id,y", "id,first")))
    assert words.startswith("this grader takes columns by their place: 1 as handed in, ")
    assert "with its columns in reverse order; " in words
    assert "has `first`, `mean`, which the sample submission does not have" in words
    assert "lacks the sample submission's `y`" in words


def test_rows_with_more_values_than_the_header_has_columns(grade) -> None:
    table = "id,y\n" + "".join(f"{n},v{n},{n * 3 % 10}\n" for n in range(10))
    (words,) = sentences(grade(COLUMNS_BY_NAME, table))
    assert "more values than the header has columns" in words


def test_a_copy_that_the_grader_refuses(grade) -> None:
    code = ROWS_BY_PLACE + "\n_called = []\n_own = grade\ndef grade(submission, answers):\n"
    code += (
        "    _called.append(1)\n    if len(_called) > 1: raise SystemExit(3)\n    return"
        " _own(submission, answers)\n"
    )
    (words,) = sentences(grade(code, shuffled(ANSWERS)))
    assert words.endswith("0.28 as handed in, no score in the answers' order")


def test_one_more_call_at_most(grade, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    counted = f"    with open({str(calls)!r}, 'a') as file: file.write('x')\n    submission["
    grade(ROWS_BY_PLACE.replace("    submission[", counted, 1), shuffled(ANSWERS))
    assert calls.read_text() == "xx"


def test_every_view_says_it_beside_the_medal(grade, tasks, tmp_path: Path) -> None:
    report = grade(COLUMNS_BY_PLACE, EXTRA)
    (words,) = sentences(report)
    table = report.to_dict()
    table["extra"]["agent"] = "sly"
    file = tmp_path / "r.json"
    fair = {**table, "extra": {**table["extra"], "agent": "fair", "doubts": [], "warnings": []}}
    file.write_text(json.dumps({"task_reports": [table, fair]}))
    shown = call("medals", str(file), "--table").output
    assert " ".join(shown.split()).count("this grader takes columns by their place") >= 1
    agents = call("medals", str(file), "--agents").output
    assert "1 in doubt" in agents
    assert words.replace("`", "") in agents.replace("`", "").replace("\n", "")
    standing = {
        one["agent"]: one
        for one in json.loads(call("medals", str(file), "--agents", "--json").output)
    }
    assert standing["sly"]["in_doubt"] == [f"lab/numbers: {words}"]
    assert standing["fair"]["in_doubt"] == []
    for kind in ("html", "md", "csv", "json"):
        assert "takes columns by their place" in medals_of(kind, load_reports(file)), kind


def test_a_copy_of_the_answers_is_in_doubt_wherever_doubts_are_said_and_keeps_its_score(
    grade, tasks, tmp_path: Path
) -> None:
    words = "equal to the answers in every value: perfect predictions, or a copy of them"
    report = grade(COLUMNS_BY_NAME, ANSWERS)
    assert sentences(report) == [words]
    same_values = tasks.submit(PERFECT, "perfect.csv")
    perfect = TaskGrading(tasks.registry.get_task(report.task_id)).grade(same_values)
    published = {**perfect.to_dict(), "extra": None}
    ours = {**report.to_dict(), "extra": None}
    for one in (published, ours):
        one.pop("created_at")
        one.pop("submission_path")
    assert ours == published, "the doubt stands beside the published report"
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"task_reports": [report.to_dict()]}))
    assert f"gold, in doubt 0 90.9 1 of 12 ✓ yes · {words}" in " ".join(
        call("medals", str(file)).output.split()
    )
    for kind in ("html", "md", "csv", "json"):
        assert words in medals_of(kind, load_reports(file)), kind
    path, task = tasks.submit(ANSWERS, "copy.csv"), report.task_id
    where = ("--tasks-dir", str(tasks.root), "--data-dir", str(tasks.data))
    card = call("grade-sample", str(path), task, *where)
    assert card.output.splitlines()[1] == f"SURE  no: in doubt: {words}"
    value = json.loads(call("validate", str(path), task, "--json", *where).output)
    assert (value["in_doubt"], value["findings"]) == (True, [words])


def test_the_card_and_validation_say_it(tasks) -> None:
    task = tasks.add(code=ROWS_BY_PLACE, answers=ANSWERS, sample=SAMPLE)
    path = tasks.submit(shuffled(ANSWERS))
    where = ("--tasks-dir", str(tasks.root), "--data-dir", str(tasks.data))
    words = "this grader depends on the order of rows: 0.28 as handed in, 0 in the answers' order"
    card = call("grade-sample", str(path), task, *where)
    assert card.exit_code == 0
    assert card.output.splitlines()[1] == f"SURE  no: in doubt: {words}"
    assert card.output.count(words) == 1
    checked = call("validate", str(path), task, *where)
    assert checked.exit_code == 0
    assert "valid for the task's grader; its score is in doubt (lab/numbers)" in checked.output
    assert f"  · {words}" in checked.output
    value = json.loads(call("validate", str(path), task, "--json", *where).output)
    assert (value["in_doubt"], value["findings"]) == (True, [words])
    assert validate_submission(path, tasks.registry.get_task(task)) == (
        True, f"Submission is valid. But its score is in doubt: {words}."
    )  # fmt: skip


def test_a_grader_that_takes_most_of_its_time_is_not_called_again(tasks) -> None:
    task = tasks.add(code=ROWS_BY_PLACE, answers=ANSWERS, sample=SAMPLE)
    ready = TaskGrading(tasks.registry.get_task(task))
    ready.time_limit_s = 1e-9
    outcome = ready.grade(tasks.submit(shuffled(ANSWERS)))
    assert isinstance(outcome, TaskReport)
    assert not outcome.doubts
    assert outcome.extra is not None
    assert "was not tested, because the grader took" in outcome.extra.warnings[-1]


@pytest.mark.parametrize(
    "wrong",
    ["x", [1], [{"kind": "other"}], [{"kind": "order"}], [{"kind": "order", "as_handed_in": "a"}]],
)
def test_a_report_with_other_doubts_is_refused(grade, wrong: object) -> None:
    value = grade(ROWS_BY_PLACE, ANSWERS).to_dict()
    value["extra"]["doubts"] = wrong
    with pytest.raises(ValueError, match="doubts"):
        TaskReport.from_dict(value)


def test_a_doubt_is_one_value() -> None:
    doubt = Doubt("order", 0.05142, 0.6789, "in the answers' order")
    assert Doubt.from_dict(doubt.to_dict()) == doubt
