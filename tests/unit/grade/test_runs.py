"""Submissions, tasks and prepared data of a checkout are found from one folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from bioeval_tui.errors import InputError
from bioeval_tui.grade.runs import find_runs, is_runs, published_data_dir

GROUP = "2025-07-01T10-00-00-GMT_run-group_careful"
Checkout = Callable[..., Path]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A checkout with one run group of two runs, one of which handed nothing in, and the published cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "own"))
    monkeypatch.delenv("BIOEVAL_TASKS_DIR", raising=False)

    def make(*, listed: bool = True, metadata: bool = True, base: str = "") -> Path:
        root = tmp_path / "biomlbench"
        for task in ("lab/one", "lab/two"):
            (root / "biomlbench" / "tasks" / task).mkdir(parents=True)
            (published_data_dir() / task / "prepared").mkdir(parents=True)
        group = root / "runs" / GROUP
        runs = {f"{task}_{UUID(int=n)}": task for n, task in enumerate(("lab/one", "lab/two"))}
        for name in runs:
            (group / name / "submission").mkdir(parents=True)
        file = group / f"lab/one_{UUID(int=0)}" / "submission" / "submission.csv"
        file.write_text("id,y\n1,1\n")
        if metadata:
            known = {"runs": {name: {"task_id": task} for name, task in runs.items()}}
            (group / "metadata.json").write_text(json.dumps(known))
        if listed:
            there = f"{base}/{file.relative_to(root / 'runs')}" if base else str(file)
            lines = [
                {"task_id": "lab/one", "submission_path": there, "logs_path": None, "code_path": None},
                {"task_id": "lab/two", "submission_path": None, "logs_path": None, "code_path": None},
            ]
            (group / "submission.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return root

    return make


@pytest.mark.parametrize("place", ["", "runs", f"runs/{GROUP}"])
def test_from_any_folder_of_a_checkout_tasks_and_the_published_cache_are_found(
    checkout: Checkout, place: str
) -> None:
    root = checkout()
    assert is_runs(root / place)
    runs = find_runs([root / place])
    assert [(item.task_id, bool(item.path), item.agent) for item in runs.submissions] == [
        ("lab/one", True, "careful"),
        ("lab/two", False, "careful"),
    ]
    assert runs.tasks_dirs == (root,)
    assert runs.data_dir == published_data_dir()
    assert [line.partition(":")[0] for line in runs.looked[:2]] == ["submissions", "tasks"]
    assert "bioml-bench/data has 2 of 2 tasks, taken" in "\n".join(runs.looked)
    assert "own/tasks has 0 of 2 tasks" in "\n".join(runs.looked)


@pytest.mark.parametrize("options", [{"listed": False}, {"listed": False, "metadata": False}])
def test_unlisted_runs_are_found_by_their_folders(checkout: Checkout, options: dict[str, bool]) -> None:
    runs = find_runs([checkout(**options) / "runs"])
    assert [(item.task_id, bool(item.path)) for item in runs.submissions] == [
        ("lab/one", True),
        ("lab/two", False),
    ]


def test_a_list_that_was_written_on_another_machine_names_the_files_that_are_here(checkout: Checkout) -> None:
    runs = find_runs([checkout(base="/home/somebody/biomlbench/runs") / "runs"])
    path = runs.submissions[0].path
    assert path is not None
    assert Path(path).is_file()


def test_a_folder_that_the_user_names_comes_first(checkout: Checkout, tmp_path: Path) -> None:
    own = tmp_path / "tasks"
    own.mkdir()
    runs = find_runs([checkout()], [own], tmp_path / "data")
    assert runs.tasks_dirs == (own, tmp_path / "biomlbench")
    assert runs.data_dir == tmp_path / "data"


def test_metadata_cannot_name_a_run_outside_its_group(checkout: Checkout) -> None:
    root = checkout(listed=False)
    (root / "runs" / GROUP / "metadata.json").write_text(
        json.dumps({"runs": {"../../../x": {"task_id": "lab/one"}}})
    )
    assert find_runs([root]).submissions == ()


def test_metadata_that_lists_no_runs_is_named(checkout: Checkout) -> None:
    root = checkout(listed=False)
    (root / "runs" / GROUP / "metadata.json").write_text("[]")
    with pytest.raises(InputError, match=r"metadata\.json does not list runs"):
        find_runs([root])


def test_a_folder_of_grading_reports_is_not_a_folder_of_runs(checkout: Checkout) -> None:
    root = checkout()
    (root / "runs" / "x_grading_report.json").write_text("{}")
    assert not is_runs(root / "runs")
    assert not is_runs(root / "biomlbench")
