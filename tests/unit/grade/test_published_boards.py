"""Published leaderboards equal their sources, and rank only matching tasks."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.grade.grade import leaderboard_of
from bioeval_tui.grading import NotGradedError, Registry, Task, TaskReport, grade_submission

TESTS = Path(__file__).parents[2]
PUBLISHED = TESTS.parent / "bioeval_tui" / "grade" / "published"
GOLDEN = TESTS / "golden" / "published_boards" / "openproblems.json"
OPEN_PROBLEMS: dict[str, Any] = json.loads(GOLDEN.read_text())["tasks"]
ASSAY = "A4_HUMAN_Seuma_2022_indels"
GRADER = "def grade(submission, answers):\n    return 0.81\n"
SAMPLE = "id,y\na,1.0\nb,2.0\nc,3.0\n"


def proteingym(
    tasks, *, grader: str = "proteingym-metric", own: str | None = None, **more: Any
) -> Task:
    """A task of ProteinGym's as BioML-bench has it, with a grader that gives 0.81."""
    config = {
        "data_source": {"type": "proteingym-dms", "benchmark_id": ASSAY},
        "grader": {"name": grader, "grade_fn": "grade:grade", **more},
    }
    task_id = tasks.add(f"proteingym-dms/{ASSAY}", code=GRADER, config=config)
    board = tasks.root / task_id / "leaderboard.csv"
    board.unlink() if own is None else board.write_text(own)
    return tasks.registry.get_task(task_id)


def graded(tasks, task: Task) -> TaskReport:
    return grade_submission(tasks.submit(SAMPLE), task)


# The data


@pytest.mark.parametrize(
    ("name", "blob"),
    [
        ("proteingym_substitutions.csv", "d9b8c80ee1f22208012492664d2b0689a062bbce"),
        ("proteingym_indels.csv", "b09c8291009927d666eceaa7d4ecccaf9ff8baf5"),
    ],
)
def test_the_proteingym_tables_equal_the_files_of_its_repository(name: str, blob: str) -> None:
    """`blob` is what git calls the file at ProteinGym's commit bb685245."""
    data = (PUBLISHED / name).read_bytes()
    assert hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == blob


def test_every_proteingym_value_is_an_entry_of_its_assays_leaderboard(tasks) -> None:
    task, boards = proteingym(tasks), 0
    for name in ("proteingym_substitutions.csv", "proteingym_indels.csv"):
        with (PUBLISHED / name).open(newline="") as file:
            for row in csv.DictReader(file):
                assay = row.pop("DMS_id")
                source = {"type": "proteingym-dms", "benchmark_id": assay}
                board = replace(task, data_source=source).published_board
                assert board is not None
                assert {entry.team: entry.score for entry in board.entries} == {
                    k: v for k, v in row.items() if v
                }
                scores = [float(entry.score) for entry in board.entries]
                assert scores == sorted(scores, reverse=True)
                boards += 1
    assert boards == 283


@pytest.mark.parametrize("name", OPEN_PROBLEMS)
def test_an_open_problems_leaderboard_is_its_source_without_controls_and_failures(
    tasks, name: str
) -> None:
    source = OPEN_PROBLEMS[name]
    task_id = tasks.add(f"manual/{name}", config={"data_source": {"type": "manual"}})
    board = tasks.registry.get_task(task_id).published_board
    assert board is not None
    expected = {
        method: value
        for method, value in source["values"].items()
        if method not in source["controls"] and value not in (None, "NA")
    }
    assert {entry.team: entry.score for entry in board.entries} == expected
    assert board.is_lower_better is not source["maximize"]
    assert source["metric"] in board.metric
    scores = [float(entry.score) for entry in board.entries]
    assert scores == sorted(scores, reverse=source["maximize"])


@pytest.mark.parametrize(
    "source", [{}, {"type": "polaris", "benchmark_id": ASSAY}, {"type": "manual"}]
)
def test_other_tasks_have_no_published_leaderboard(tasks, source: dict[str, str]) -> None:
    assert (
        tasks.registry.get_task(tasks.add(config={"data_source": source})).published_board is None
    )


# Which board ranks


def test_a_task_without_a_leaderboard_is_ranked_on_the_published_one_and_the_report_names_it(
    tasks,
) -> None:
    report = graded(tasks, proteingym(tasks))
    assert report.leaderboard_size == 3
    assert report.gold_threshold == report.silver_threshold == report.bronze_threshold == 0.814
    assert report.medal is None
    assert report.extra is not None
    assert report.extra.leaderboard == (
        "published: ProteinGym, supervised (Spearman), 2025-07-21, commit bb685245f8f4, 3 entries"
    )
    assert (
        "gold, silver and bronze are all first place on a leaderboard this small"
        in report.extra.warnings
    )


OWN = "teamName,score,submissionDate\nus,0.9,2026-01-01\nyou,0.2,2026-01-01\n"


def test_a_tasks_own_leaderboard_comes_first(tasks) -> None:
    report = graded(tasks, proteingym(tasks, own=OWN))
    assert (report.leaderboard_size, report.gold_threshold) == (2, 0.9)
    assert report.extra is not None
    assert report.extra.leaderboard == "the task's own leaderboard.csv, 2 entries"


def test_an_empty_own_leaderboard_is_replaced_by_the_published_one(tasks) -> None:
    assert (
        graded(tasks, proteingym(tasks, own="teamName,score,submissionDate\n\n")).leaderboard_size
        == 3
    )


@pytest.mark.parametrize(("choice", "size"), [("own", 2), ("published", 3), ("file", 1)])
def test_the_leaderboard_can_be_chosen(tasks, tmp_path: Path, choice: str, size: int) -> None:
    task_id = proteingym(tasks, own=OWN).id
    if choice == "file":
        choice = str(tmp_path / "board.csv")
        Path(choice).write_text("teamName,score,submissionDate\nx,0.5,\n")
    task = Registry([tasks.root], tasks.data, choice).get_task(task_id)
    assert graded(tasks, task).leaderboard_size == size


def test_a_forced_own_leaderboard_is_not_replaced(tasks) -> None:
    task = Registry([tasks.root], tasks.data, "own").get_task(proteingym(tasks).id)
    with pytest.raises(NotGradedError, match="is missing"):
        graded(tasks, task)


# What does not fit ranks nothing


def test_a_leaderboard_of_another_metric_is_not_used(tasks) -> None:
    task = proteingym(tasks, grader="mean-squared-error")
    with pytest.raises(InputError, match="ranks Spearman, the task's grader is mean-squared-error"):
        leaderboard_of(task)
    with pytest.raises(NotGradedError, match="does not match"):
        graded(tasks, task)


def test_a_leaderboard_of_the_opposite_direction_is_not_used(tasks) -> None:
    with pytest.raises(InputError, match="higher is better, the task the opposite"):
        leaderboard_of(proteingym(tasks, is_lower_better=True))
