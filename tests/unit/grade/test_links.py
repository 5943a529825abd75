"""Which links to submissions are followed: as the published program does, where an agent cannot use
them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.grading import (
    Invalid,
    TaskReport,
    grade_submission,
    load_reports,
    validate_submission,
)
from tests.command import call

GOOD = "id,y\na,1.5\nb,2.5\nc,3.5\n"


@pytest.fixture
def run(tasks, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BIOEVAL_TASKS_DIR", str(tasks.root))

    def run_(name: str, *args: object) -> Any:
        return call(name, *args, "--data-dir", tasks.data, catch_exceptions=False)

    return run_


def linked(folder: Path, path: str, target: Path) -> Path:
    link = folder / path
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return link


@pytest.mark.long
def test_a_link_that_the_user_names_is_followed(tasks, run: Any) -> None:
    task = tasks.registry.get_task(tasks.add())
    # Without an extension, as DVC and Hugging Face's cache keep files.
    blob = tasks.submit(GOOD, "store/5d41402abc")
    link = linked(tasks.submissions, "run/submission.csv", blob)
    assert grade_submission(link, task).score == 0.5
    assert validate_submission(link, task) == (True, "Submission is valid.")
    assert json.loads(run("grade-sample", link, "lab/numbers", "--json").stdout)["score"] == 0.5
    assert "valid for lab/numbers" in run("validate", link, "lab/numbers").stdout


def graded(
    tasks, run: Any, paths: Sequence[str], out: Path, *options: object
) -> dict[str, TaskReport]:
    """Grade files as a run group lists them; return the report of each."""
    wishes = [json.dumps({"task_id": "lab/numbers", "submission_path": path}) for path in paths]
    listed = tasks.submit("\n".join(wishes), "G_run-group_me/l.jsonl")
    run("grade", listed, "--output-dir", out, *options)
    return dict(zip(paths, load_reports(out), strict=True))


def test_a_listed_link_is_followed_in_its_run_group_and_into_named_folders(
    tasks, run: Any, tmp_path: Path
) -> None:
    tasks.add()
    group = tasks.submissions / "G_run-group_me"
    inside = tasks.submit(GOOD, "G_run-group_me/work/p.csv")
    outside = tasks.submit(GOOD, "cache/blobs/abc")
    linked(group, "a/submission.csv", inside)
    linked(group, "b/submission.csv", outside)
    found = graded(tasks, run, ["a/submission.csv", "b/submission.csv"], tmp_path / "1")
    assert found["a/submission.csv"].score == 0.5
    refused = found["b/submission.csv"]
    assert refused.score is None
    assert refused.extra is not None
    assert "a link out of its run group" in str(refused.extra.error)
    assert "--follow-links DIR" in str(refused.extra.error)
    options = ("--follow-links", tasks.submissions / "cache")
    (followed,) = graded(tasks, run, ["b/submission.csv"], tmp_path / "2", *options).values()
    assert followed.score == 0.5


def test_no_option_leads_into_another_run_group_or_to_answers(
    tasks, run: Any, tmp_path: Path
) -> None:
    task = tasks.registry.get_task(tasks.add())
    group = tasks.submissions / "G_run-group_me"
    theirs = tasks.submit(GOOD, "G_run-group_you/p.csv")
    linked(group, "a/submission.csv", theirs)
    linked(group, "b/submission.csv", task.answers)
    linked(group, "c", theirs.parent)  # a folder, too
    tasks.submit("", "elsewhere/x").unlink()
    linked(tasks.submissions, "elsewhere/chain.csv", theirs)
    linked(group, "d/submission.csv", tasks.submissions / "elsewhere" / "chain.csv")
    refused = {
        "a/submission.csv": "into another run group",
        "b/submission.csv": "private files",
        "c/p.csv": "into another run group",
        "d/submission.csv": "into another run group",
    }
    found = graded(tasks, run, [*refused], tmp_path / "out", "--follow-links", tmp_path)
    for path, said in refused.items():
        report = found[path]
        assert report.score is None, path
        assert report.extra is not None
        assert said in str(report.extra.error), path


def test_the_answers_are_no_submission_by_any_link(tasks, tmp_path: Path) -> None:
    task = tasks.registry.get_task(tasks.add())
    soft = linked(tmp_path, "s.csv", task.answers)
    hard = tmp_path / "h.csv"
    hard.hardlink_to(task.answers)
    from bioeval_tui.grade.grade import TaskGrading

    for path in (soft, hard):
        outcome = TaskGrading(task).grade(path, handed_in=True)
        assert isinstance(outcome, Invalid)
        assert outcome.reason == "the file is the task's own answers"


@pytest.mark.long
def test_a_run_group_on_another_disk_is_its_own(tasks, run: Any, tmp_path: Path) -> None:
    tasks.add()
    disk = tmp_path / "disk" / "G_run-group_me"
    (disk / "t" / "submission").mkdir(parents=True)
    (disk / "t" / "submission" / "submission.csv").write_text(GOOD)
    (tasks.submissions / disk.name).symlink_to(disk)
    paths = ["t/submission/submission.csv", "missing.csv", "a" * 5000 + ".csv"]
    good, *odd = graded(tasks, run, paths, tmp_path / "out").values()
    assert good.score == 0.5
    for report in odd:
        assert report.score is None
        assert report.extra is not None
        assert "link" not in str(report.extra.error)


def test_a_loop_of_links_is_a_file_that_cannot_be_opened(tasks, tmp_path: Path) -> None:
    task = tasks.registry.get_task(tasks.add())
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    report = grade_submission(tmp_path / "a.csv", task)
    assert report.valid_submission is False
