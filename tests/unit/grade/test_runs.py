"""Submissions, tasks and prepared data of a checkout are found from one folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from bioeval_tui.grade.report_files import report_files
from bioeval_tui.grade.runs import find_runs, is_runs, published_data_dir

GROUP = "2025-07-01T10-00-00-GMT_run-group_careful"
Checkout = Callable[..., Path]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A checkout with one run group of two runs, one of which handed nothing in, and the published
    cache.
    """
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
                {
                    "task_id": "lab/one",
                    "submission_path": there,
                    "logs_path": None,
                    "code_path": None,
                },
                {
                    "task_id": "lab/two",
                    "submission_path": None,
                    "logs_path": None,
                    "code_path": None,
                },
            ]
            (group / "submission.jsonl").write_text(
                "".join(json.dumps(line) + "\n" for line in lines)
            )
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
def test_unlisted_runs_are_found_by_their_folders(
    checkout: Checkout, options: dict[str, bool]
) -> None:
    runs = find_runs([checkout(**options) / "runs"])
    assert [(item.task_id, bool(item.path)) for item in runs.submissions] == [
        ("lab/one", True),
        ("lab/two", False),
    ]


def test_a_list_that_was_written_on_another_machine_names_the_files_that_are_here(
    checkout: Checkout,
) -> None:
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


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\ud800", "/etc", "a/" * 3000])
def test_no_name_of_a_run_or_a_file_ends_the_program(checkout: Checkout, name: str) -> None:
    root = checkout(listed=False)
    group = root / "runs" / GROUP
    known = {f"{name}_{UUID(int=5)}": {"task_id": "lab/one"}, f"lab/two_{UUID(int=1)}": {}}
    (group / "metadata.json").write_text(json.dumps({"runs": known}))
    line = {"task_id": "lab/two", "submission_path": f"{GROUP}/{name.replace(chr(0), '')}"}
    assert "lab/two" in [item.task_id for item in find_runs([root]).submissions]
    (group / "submission.jsonl").write_text(json.dumps(line) + "\n")
    (group / "grading_report.json").write_text("[]")
    assert "lab/two" in [item.task_id for item in find_runs([root]).submissions]


def test_metadata_cannot_name_a_run_outside_its_group(checkout: Checkout) -> None:
    root = checkout(listed=False)
    (root / "runs" / GROUP / "metadata.json").write_text(
        json.dumps({"runs": {"../../../x": {"task_id": "lab/one"}}})
    )
    assert find_runs([root]).submissions == ()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("metadata.json", "[]", r"metadata\.json does not list runs"),
        (
            "metadata.json",
            '{"runs": {"x": {}}}',
            r"metadata\.json does not list runs with their task_id: `x`",
        ),
        ("metadata.json", "{", r"metadata\.json: not JSON at column 2"),
        (
            "metadata.json",
            "version https://git-lfs.github.com/spec/v1\n",
            r"metadata\.json is a Git LFS pointer",
        ),
        (
            "submission.jsonl",
            "version https://git-lfs.github.com/spec/v1\n",
            r"submission\.jsonl is a Git LFS",
        ),
        ("submission.jsonl", '{"task_id": 3}\n', r"submission\.jsonl:1: `task_id` is missing"),
    ],
)
def test_a_bad_list_is_named_and_the_runs_are_found_by_their_folders(
    checkout: Checkout, name: str, content: str, said: str
) -> None:
    root = checkout(listed=False)
    (root / "runs" / GROUP / name).write_text(content)
    runs = find_runs([root])
    assert [(item.task_id, item.agent) for item in runs.submissions] == [
        ("lab/one", "careful"),
        ("lab/two", "careful"),
    ]
    (problem,) = runs.problems
    assert re.search(said, problem), problem


def test_runs_that_the_list_leaves_out_were_set_too(checkout: Checkout) -> None:
    root = checkout()
    file = root / "runs" / GROUP / "submission.jsonl"
    file.write_text(file.read_text().splitlines()[0] + "\n")
    runs = find_runs([root])
    assert [(item.task_id, bool(item.path)) for item in runs.submissions] == [
        ("lab/one", True),
        ("lab/two", False),
    ]
    assert "2 in 1 run group" in runs.looked[0]
    assert "1 of them left no file" in runs.looked[0]


def test_a_run_that_crashed_before_it_made_its_folder_of_submissions_counts(
    checkout: Checkout,
) -> None:
    root = checkout(listed=False, metadata=False)
    (root / "runs" / GROUP / "lab" / f"three_{UUID(int=9)}" / "logs").mkdir(parents=True)
    found = find_runs([root]).submissions
    assert [(item.task_id, bool(item.path)) for item in found] == [
        ("lab/one", True),
        ("lab/three", False),
        ("lab/two", False),
    ]


def test_a_renamed_group_has_the_agent_that_its_metadata_names(checkout: Checkout) -> None:
    root = checkout(listed=False)
    group = (root / "runs" / GROUP).rename(root / "runs" / "monday")
    known = json.loads((group / "metadata.json").read_text())
    (group / "metadata.json").write_text(json.dumps({**known, "run_group": GROUP}))
    assert {item.agent for item in find_runs([root / "runs"]).submissions} == {"careful"}


def test_reports_beside_and_in_run_groups_are_found_and_what_an_agent_left_is_not(
    checkout: Checkout,
) -> None:
    root = checkout()
    runs = root / "runs"
    (runs / "x_grading_report.json").write_text("{}")
    (runs / GROUP / "hourly").mkdir()
    (runs / GROUP / "hourly" / "grading_report_0.json").write_text("{}")
    (runs / GROUP / "grading_summary.json").write_text("{}")
    (runs / GROUP / "metadata.json").write_text(
        json.dumps(
            {
                "runs": {
                    "lab/odd": {"task_id": "lab/one"},
                    f"lab/one_{UUID(int=0)}": {"task_id": "lab/one"},
                }
            }
        )
    )
    for forged in (f"lab/one_{UUID(int=0)}", f"lab/one_{UUID(int=0)}/submission", "lab/odd"):
        (runs / GROUP / forged).mkdir(exist_ok=True)
        (runs / GROUP / forged / "best_grading_report.json").write_text("{}")
    assert is_runs(runs)
    assert not is_runs(root / "biomlbench")
    for place in (root, runs):
        (folder,) = find_runs([place]).reports
        assert [str(file.relative_to(runs)) for file in report_files(folder)] == [
            "x_grading_report.json",
            f"{GROUP}/grading_summary.json",
            f"{GROUP}/hourly/grading_report_0.json",
        ]
