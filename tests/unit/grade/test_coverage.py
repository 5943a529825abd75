"""On how many rows a score stands: a grader that merges its rows can be satisfied with two of
them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest

from bioeval_tui.grade.grade import TaskGrading
from bioeval_tui.grade.intervals import measure_uncertainty
from bioeval_tui.grading import TaskReport
from tests.command import call
from tests.documents import medals_of

INNER = """
def grade(submission, answers):
    merged = submission.merge(answers, on="id", suffixes=("", "_true"))
    return float(merged["y"].corr(merged["y_true"], method="spearman"))
"""
ROWS = 30
TWO = "scored on 2 of 30 rows"


def table(rows: int) -> str:
    return "id,y\n" + "".join(f"v{n},{n / 7:.3f}\n" for n in range(rows))


@pytest.fixture
def ready(tasks) -> TaskGrading:
    """A task whose grader merges "inner", as ProteinGym's does."""
    scores = [n / 100 for n in range(100)][::-1]
    task = tasks.add(code=INNER, answers=table(ROWS), scores=scores)
    return TaskGrading(tasks.registry.get_task(task))


@pytest.fixture
def two(ready: TaskGrading, tasks) -> TaskReport:
    outcome = ready.grade(tasks.submit(table(2), "2025_run-group_sly/s.csv"))
    assert isinstance(outcome, TaskReport)
    return outcome


def test_the_score_stays_and_the_report_says_on_how_many_rows(two: TaskReport) -> None:
    assert (two.score, two.medal) == (1.0, "gold"), "as published"
    extra = two.to_dict()["extra"]
    assert (extra["rows_scored"], extra["rows_expected"]) == (2, ROWS)
    assert TaskReport.from_dict(two.to_dict()).rows_words == TWO


@pytest.mark.parametrize("rows", [ROWS - 1, ROWS])
def test_one_missing_row_is_a_part_of_the_rows(ready: TaskGrading, tasks, rows: int) -> None:
    report = ready.grade(tasks.submit(table(rows), "2025_run-group_sly/s.csv"))
    assert isinstance(report, TaskReport)
    assert ("1 score over a part of the rows" in medals_of("md", [report])) is (rows < ROWS)


def test_every_view_and_ranking_marks_the_row(two: TaskReport, tmp_path: Path) -> None:
    assert two.extra is not None
    whole = replace(two, extra=replace(two.extra, rows_scored=ROWS, agent="fair"))
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"task_reports": [two.to_dict(), whole.to_dict()]}))
    shown = [
        " ".join(line.split())
        for line in call("medals", file, catch_exceptions=False).stdout.splitlines()
    ]
    for words in (TWO, "scored on all 30 rows"):
        assert any(words in line for line in shown)
    assert any("sly" in line and "1 of 1 graded, 1 on a part of the rows" in line for line in shown)
    assert any("fair" in line and "1 of 1 graded" in line and "part" not in line for line in shown)
    for page in (medals_of("html", [two]), medals_of("md", [two])):
        assert TWO in page
        assert "1 score over a part of the rows" in page
    assert medals_of("csv", [two]).splitlines()[0].endswith("rows_scored,rows_expected,in_doubt")
    assert medals_of("csv", [two]).splitlines()[1].endswith(",2,30,")
    assert json.loads(medals_of("json", [two]))[0]["extra"]["rows_scored"] == 2


def test_rows_that_a_file_picks_have_no_chance_of_a_medal(ready: TaskGrading, tasks) -> None:
    found = measure_uncertainty(ready, tasks.submit(table(12)), call_code=True)
    assert found.low is None
    assert found.medal_words == ""
    assert found.why_not.startswith("scored on 12 of 30 rows")


def test_validate_says_what_is_missing(
    tasks, ready: TaskGrading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_TASKS_DIR", str(tasks.root))

    def validate(rows: int, *options: str) -> Any:
        args = [tasks.submit(table(rows)), "lab/numbers", "--data-dir", tasks.data, *options]
        return call("validate", *args, catch_exceptions=False)

    partial = validate(2)
    assert "valid for the task's grader; it does not score 28 rows (lab/numbers)" in partial.stdout
    assert partial.return_value == 0
    value = json.loads(validate(2, "--json").stdout)
    assert (value["status"], value["rows_missing"]) == ("valid", 28)


def test_a_batch_and_a_card_say_what_was_scored_in_part(
    tasks, ready: TaskGrading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_TASKS_DIR", str(tasks.root))
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    two = tasks.submit(table(2), "two.csv")
    tasks.submit(table(ROWS) + "\n", "all.csv")  # no copy of the answers, byte for byte
    wishes = [
        {"task_id": "lab/numbers", "submission_path": name} for name in ("two.csv", "all.csv")
    ]
    listed = tasks.submit("\n".join(map(json.dumps, wishes)), "list.jsonl")
    done = call(
        "grade", listed, "--output-dir", tmp_path / "out", "--data-dir", tasks.data, "--workers", 1
    )
    assert "1 score over a part of the rows" in done.stdout
    (report,) = (tmp_path / "out").glob("*_grading_report.json")
    assert json.loads(report.read_text())["extra"]["total_scored_on_part_of_rows"] == 1
    card = call("grade-sample", two, "lab/numbers", "--data-dir", tasks.data)
    assert f"  {TWO}" in card.stdout


def test_a_declared_metric_scores_every_row(tasks, good: Any) -> None:
    report = TaskGrading(tasks.registry.get_task(tasks.add())).grade(good())
    assert isinstance(report, TaskReport)
    assert report.rows_words == "scored on all 3 rows"


ANSWERS = "id,y\na,1\nb,0\nc,1\n"


@pytest.mark.parametrize(
    ("handed_in", "answers", "sample", "wanted"),
    [
        ("id,y\nc,0\na,0\nb,0\n", ANSWERS, None, (3, 3)),
        ("id,y\na,0\na,0\nz,0\n", ANSWERS, None, (1, 3)),
        ("id,y\na,0.1\nb,\nc,\n", ANSWERS, None, (1, 3)),
        ("id,y,z\na,0.1,1\nb,,1\nc,,1\n", ANSWERS, "id,y\na,0\n", (1, 3)),
        ("id,y\n1,0\n2,0\n", "id,y\n1,0\n2,1\nx3,0\n", None, (2, 3)),  # numbers here, texts there
        ("y\n0\n0\n", ANSWERS, None, (None, None)),  # y is not distinct in the answers
        ("y\n0.5\n0.7\n", "y\n0.5\n0.25\n", None, (None, None)),  # a number with decimals is no id
        ("id,y\nz,0\n", ANSWERS, None, (0, 3)),
    ],
)
def test_rows_are_compared_by_their_ids(
    tasks, handed_in: str, answers: str, sample: str | None, wanted: tuple[int | None, int | None]
) -> None:
    task = tasks.add(code="def grade(s, a):\n    return 0.5\n", answers=answers, sample=sample)
    ready = TaskGrading(tasks.registry.get_task(task))
    for _ in range(2):
        report = ready.grade(tasks.submit(handed_in))
        assert isinstance(report, TaskReport)
        assert report.extra is not None
        assert (report.extra.rows_scored, report.extra.rows_expected) == wanted


def test_without_ids_the_rows_are_not_known(tasks) -> None:
    code = "def grade(s, a):\n    return float(s['y'].mean())\n"
    task = tasks.add(code=code, answers="y\n1.5\n2.5\n")
    report = TaskGrading(tasks.registry.get_task(task)).grade(tasks.submit("y\n1.5\n"))
    assert isinstance(report, TaskReport)
    assert report.rows_words == "rows scored: not known"
    assert report.rows_missing == 0


def test_cells_of_an_h5ad_are_compared_by_name(tasks) -> None:
    code = "import anndata\ndef grade(s, a):\n    return float(anndata.read_h5ad(s).n_obs)\n"
    task_id = tasks.add(code=code, scores=[0.0, 1.0])
    task = tasks.registry.get_task(task_id)

    def write(path: Path, cells: int) -> Path:
        names = pd.DataFrame(index=[f"cell{n}" for n in range(cells)])
        anndata.AnnData(np.zeros((cells, 1)), obs=names).write_h5ad(path)
        return path

    config = tasks.root / task_id / "config.yaml"
    config.write_text(config.read_text().replace("answers.csv", "answers.h5ad"))
    task = tasks.registry.get_task(task_id)
    write(task.answers, 5)
    report = TaskGrading(task).grade(write(tasks.submissions / "s.h5ad", 3))
    assert isinstance(report, TaskReport)
    assert report.rows_words == "scored on 3 of 5 rows"


MASKS = "id,class,mask\n" + "".join(
    f"s{n},{kind},{n} {len(kind)}\n"
    for n in range(6)
    for kind in ("large", "small_bowel", "stomach")
)


def code_task(tasks: Any, answers: str, sample: str | None = None) -> TaskGrading:
    task = tasks.add(code="def grade(s, a):\n    return 0.5\n", answers=answers, sample=sample)
    return TaskGrading(tasks.registry.get_task(task))


@pytest.mark.parametrize("sample", ["the answers", "other masks"])
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda text: text, (18, 18)),
        (lambda text: text.replace("s3,large,3 5", "s3,large,9 9"), (18, 18)),
        (
            lambda text: "\n".join(line + "7" for line in text.splitlines()).replace("k7", "k"),
            (18, 18),
        ),
        (lambda text: text.replace("s3,large,3 5\n", ""), (17, 18)),
        (lambda text: "\n".join([text.splitlines()[0], *text.splitlines()[:0:-1]]), (18, 18)),
    ],
    ids=["right", "one mask differs", "all masks differ", "a row is missing", "another order"],
)
def test_where_ids_repeat_a_predicted_text_is_no_id(
    tasks: Any, change: Any, wanted: tuple[int, int], sample: str
) -> None:
    other = "\n".join(line.rpartition(",")[0] + ",x" for line in MASKS.splitlines())
    ready = code_task(
        tasks, MASKS, None if sample == "the answers" else other.replace(",x", ",mask", 1)
    )
    report = ready.grade(tasks.submit(change(MASKS)))
    assert isinstance(report, TaskReport)
    assert report.extra is not None
    assert (report.extra.rows_scored, report.extra.rows_expected) == wanted


def test_where_only_an_unnamed_row_can_be_meant_nothing_is_said_to_be_missing(tasks: Any) -> None:
    ready = code_task(tasks, "id,mask\na,1 2\na,3 4\nb,5 6\n")
    report = ready.grade(tasks.submit("id,mask\na,1 3\na,3 4\nb,5 7\n"))
    assert isinstance(report, TaskReport)
    assert report.rows_words == "rows scored: not known"


def test_a_prediction_may_be_empty_where_answers_are(tasks: Any) -> None:
    ready = code_task(tasks, MASKS.replace("3 5", "").replace("2 11", ""))
    report = ready.grade(tasks.submit(MASKS.replace("1 5", "").replace("4 7", "")))
    assert isinstance(report, TaskReport)
    assert report.rows_words == "scored on all 18 rows"
