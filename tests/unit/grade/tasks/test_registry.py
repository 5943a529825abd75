"""Tasks are found in any number of folders; a broken one never hides the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.grading import Grader, Registry, grade_submission

from .conftest import SHIPPED


def test_a_broken_config_is_listed_with_file_and_line(tasks) -> None:
    tasks.add("lab/good")
    broken = tasks.root / "lab" / "broken" / "config.yaml"
    broken.parent.mkdir()
    broken.write_text('id: lab/broken\nname: "a": b\n')
    registry = tasks.registry
    assert {"lab/good", "lab/broken"} <= set(registry.list_task_ids())
    problem = registry.entry("lab/broken").problem
    assert problem is not None
    assert (problem.file, problem.line, problem.column) == (str(broken.resolve()), 2, 10)
    assert registry.get_task("lab/good").is_prepared
    with pytest.raises(InputError, match=r"config\.yaml:2:10: not valid YAML"):
        registry.get_task("lab/broken")


def test_a_config_that_would_end_the_process_is_listed_and_hides_no_other(tasks) -> None:
    tasks.add("lab/good")
    broken = tasks.root / "lab" / "broken" / "config.yaml"
    broken.parent.mkdir()
    broken.write_text("[" * 100_000)
    registry = tasks.registry
    assert {"lab/good", "lab/broken"} <= set(registry.list_task_ids())
    problem = registry.entry("lab/broken").problem
    assert problem is not None
    assert "too large or too deep" in problem.message
    assert registry.get_task("lab/good").id == "lab/good"


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ("- a list\n", "must be a mapping"),
        ("id: x\n", "`dataset` is missing: it needs `answers` and `sample_submission`"),
        ("dataset: {answers: a, sample_submission: b}\n", "`grader` is missing"),
        (
            (
                "dataset: {answers: 3, sample_submission: b}\ngrader: {name: x, metric: mse,"
                " target: y}\n"
            ),
            "below the data folder, such as lab/task/prepared/private/answers.csv",
        ),
        (
            "dataset: {answers: a, sample_submission: b}\ngrader: {name: x}\n",
            "needs `grade_fn` or `metric`",
        ),
        (
            "dataset: {answers: a, sample_submission: b}\ngrader: {metric: speerman, target: y}\n",
            "did you mean spearman",
        ),
        ("dataset: {answers: a, sample_submission: b}\ngrader: {metric: mse}\n", "grader.target"),
        (
            (
                "dataset: {answers: a, sample_submission: b}\ngrader: {metric: mse, h5ad: {cells:"
                " x}}\n"
            ),
            "one of obs, obsm",
        ),
        (
            (
                "dataset: {answers: a, sample_submission: b}\ngrader: {metric: concordance_index,"
                " target: t}\n"
            ),
            "grader.event",
        ),
        (
            "dataset: {answers: a, sample_submission: b}\ngrader: {name: x, grade_fn: grade}\n",
            "module:function",
        ),
        (
            (
                "dataset: {answers: a, sample_submission: b}\ngrader: {metric: mse, target: y,"
                " is_lower_better: low}\n"
            ),
            "true or false",
        ),
    ],
)
def test_each_mistake_in_a_config_has_its_sentence(tmp_path: Path, config: str, what: str) -> None:
    folder = tmp_path / "lab" / "task"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(config)
    problem = Registry([tmp_path], tmp_path).entry("lab/task").problem
    assert problem is not None
    assert what in str(problem)


def test_a_config_without_an_id_has_that_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "lab" / "task"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        "dataset: {answers: a, sample_submission: b}\ngrader: {metric: mse, id: id, target: y}\n"
    )
    entry = Registry([tmp_path], tmp_path).entry("lab/task")
    assert (entry.config_id, entry.task.warnings) == ("lab/task", ())


def test_the_shipped_tasks_are_always_available(tmp_path: Path) -> None:
    entries = Registry([], tmp_path).entries()
    assert len(entries) >= 7
    assert all(entry.root == SHIPPED for entry in entries)
    assert [str(entry.problem) for entry in entries if entry.problem] == []
    assert all(entry.task.self_trained for entry in entries)


def test_the_chosen_leaderboard_ranks_tasks_that_are_added_later(tasks, tmp_path: Path) -> None:
    """A worker's registry is read once, and lives while tasks are written."""
    tasks.add("lab/first")
    board = tmp_path / "board.csv"
    board.write_text("teamName,score,submissionDate\nother,0.123,2026-01-01\n")
    registry = Registry([tasks.root], tasks.data, str(board))
    assert registry.get_task("lab/first").board_in_use() == board
    tasks.add("lab/later")
    assert registry.get_task("lab/later").board_in_use() == board
    assert registry.set_data_dir(tmp_path).get_task("lab/later").board_in_use() == board


def test_tasks_can_be_filtered(tasks) -> None:
    tasks.add(
        "lab/one",
        config={
            "domain": "oncology",
            "difficulty": "easy",
            "task_type": "x",
            "awards_medals": True,
        },
    )
    unprepared = tasks.add("lab/two", config={"domain": "oncology"})
    (tasks.data / unprepared / "prepared" / "private" / "answers.csv").unlink()
    registry = tasks.registry

    def ids(**asked: object) -> list[str]:
        return [entry.id for entry in registry.select(**asked) if entry.id.startswith("lab/")]

    assert ids(domain="oncology") == ["lab/one", "lab/two"]
    assert ids(domain="oncology", prepared=True) == ["lab/one"]
    assert ids(prepared=False) == ["lab/two"]
    assert ids(medals=True) == ["lab/one"]
    assert ids(difficulty="easy") == ids(task_type="x") == ["lab/one"]
    assert "lab/two" in registry.get_tasks_by_domain("oncology")


def test_the_folder_names_the_task_and_a_mismatch_gives_a_warning(tasks) -> None:
    tasks.add("copies/task", config={"id": "originals/task"})
    task = tasks.registry.get_task("copies/task")
    assert task.id == "copies/task"
    assert task.warnings == (
        "config.yaml says id `originals/task`; the folder's id `copies/task` is used",
    )
    assert grade_submission(tasks.submit("id,y\na,1\nb,2\nc,3\n"), task).task_id == "copies/task"


def test_ids_cannot_leave_the_tasks_folder(tasks) -> None:
    tasks.add("lab/one")
    for task_id in ("../lab/one", "lab/../lab/one", "lab/..", "/lab/one", "..\\lab/one"):
        with pytest.raises(InputError, match="unknown task"):
            tasks.registry.get_task(task_id)


def test_graders_load_from_folders_with_hyphens_and_dots_with_relative_imports(tasks) -> None:
    code = (
        "from .constants import SCORE\nfrom . import helper\ndef grade(s, a):\n    return SCORE +"
        " helper.more()\n"
    )
    reference = {"name": "x", "grade_fn": "biomlbench.tasks.lab-a.task-v1.2.grade:grade"}
    task_id = tasks.add("lab-a/task-v1.2", code=code, grader=reference)
    folder = tasks.root / task_id
    (folder / "constants.py").write_text("SCORE = 0.25\n")
    (folder / "helper.py").write_text("def more():\n    return 0.5\n")
    task = tasks.registry.get_task(task_id)
    assert grade_submission(tasks.submit("id,y\na,1\n"), task).score == 0.75


def test_two_tasks_can_have_modules_of_the_same_name(tasks) -> None:
    ids = [tasks.add(f"lab/task-{n}", code=f"def grade(s, a):\n    return 0.{n}\n") for n in (1, 2)]
    file = tasks.submit("id,y\na,1\n")
    assert [grade_submission(file, tasks.registry.get_task(task_id)).score for task_id in ids] == [
        0.1,
        0.2,
    ]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (
            "import no_such_package_here\n",
            "needs the package no_such_package_here, which is not installed",
        ),
        ("def score(s, a): ...\n", "has no function `grade`"),
        ("1/0\n", "ZeroDivisionError"),
    ],
)
def test_code_that_cannot_be_loaded_says_why(tasks, code: str, what: str) -> None:
    task = tasks.registry.get_task(tasks.add(code=code))
    with pytest.raises(ImportError, match=what):
        _ = task.grader.grade_fn


def test_a_checkout_of_bioml_bench_is_a_tasks_folder(tasks, tmp_path: Path) -> None:
    tasks.add("lab/one")
    checkout = tmp_path / "checkout" / "biomlbench"
    checkout.mkdir(parents=True)
    tasks.root.rename(checkout / "tasks")
    assert "lab/one" in Registry([tmp_path / "checkout"], tasks.data).list_task_ids()


def test_environment_variables_set_the_folders_of_tasks_and_data(
    tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks.add("lab/one")
    monkeypatch.setenv(
        "BIOEVAL_TASKS_DIR", os.pathsep.join([str(tmp_path / "nothing"), str(tasks.root)])
    )
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "elsewhere"))
    registry = Registry()
    assert "lab/one" in registry.list_task_ids()
    assert registry.data_dir == tmp_path / "elsewhere" / "tasks"


def in_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_grading_loads_no_pandas() -> None:
    code = (
        "import bioeval_tui.grading, sys; print({'pandas', 'numpy', 'sklearn', 'anndata',"
        " 'pyarrow'} & set(sys.modules))"
    )
    assert in_python(code) == "set()\n"


def test_every_public_name_can_be_imported() -> None:
    assert (
        in_python(
            "import bioeval_tui.grading as g; print(all(getattr(g, name) for name in g.__all__))"
        )
        == "True\n"
    )


def test_the_published_examples_run_after_one_line(tasks, tmp_path: Path) -> None:
    task = tasks.add("polarishub/tdcommons-caco2-wang")
    work = tmp_path / "work"
    (work / "runs" / "my-run-group").mkdir(parents=True)
    (work / "submission.csv").write_text("id,y\na,1\nb,2\nc,3\n")
    line = json.dumps({"task_id": task, "submission_path": "../../submission.csv"})
    (work / "runs" / "my-run-group" / "submission.jsonl").write_text(line)
    single = """
from bioeval_tui.compat import biomlbench
from pathlib import Path
from biomlbench.grade import grade_csv
from biomlbench.registry import registry
task = registry.get_task("caco2-wang")
submission_path = Path("submission.csv")
report = grade_csv(submission_path, task)
print(report.score, report.gold_medal, report.beats_human)
"""
    several = """
from biomlbench.grade import grade_jsonl
grade_jsonl(
    path_to_submissions=Path("runs/my-run-group/submission.jsonl"), output_dir=Path("results/")
)
"""
    data = tmp_path / "home"
    data.mkdir()
    tasks.data.rename(data / "tasks")
    env = {**os.environ, "BIOEVAL_TASKS_DIR": str(tasks.root), "BIOEVAL_DATA_DIR": str(data)}
    done = subprocess.run(
        [sys.executable, "-c", single + several],
        cwd=work,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0.0 True None\n")
    assert len(list((work / "results").glob("*_grading_report.json"))) == 1


def test_biomlbench_exists_only_after_the_import() -> None:
    code = (
        "import bioeval_tui.grade.grade, importlib.util;"
        " print(importlib.util.find_spec('biomlbench'))"
    )
    assert in_python(code) == "None\n"


@pytest.mark.long
def test_a_folder_called_biomlbench_in_the_working_folder_changes_nothing(tmp_path: Path) -> None:
    for package in ("plain", "package"):
        folder = tmp_path / package / "biomlbench"
        folder.mkdir(parents=True)
        if package == "package":
            (folder / "__init__.py").write_text("raise RuntimeError('the checkout itself')\n")
        code = (
            "from bioeval_tui.compat import biomlbench; from biomlbench.grade import grade_csv;"
            " print(grade_csv)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "function grade_csv" in done.stdout, done.stderr


@pytest.mark.long
def test_graders_of_one_folder_can_import_one_another_after_compat(tasks) -> None:
    task = tasks.add(
        "kaggle/one",
        code="from biomlbench.tasks.kaggle.utils import half\ndef grade(s, a):\n    return half\n",
    )
    (tasks.root / "kaggle" / "utils.py").write_text("half = 0.5\n")
    file = tasks.submit("id,y\na,1\nb,2\nc,3\n")
    code = (
        "from bioeval_tui.compat import biomlbench; from bioeval_tui.grading import Grader,"
        f" Registry, grade_submission; print(grade_submission({str(file)!r},"
        f" Registry([{str(tasks.root)!r}], {str(tasks.data)!r}).get_task({task!r})).score)"
    )
    assert in_python(code) == "0.5\n"


def test_a_grader_that_cannot_be_imported_fails_when_it_is_made() -> None:
    with pytest.raises(ImportError, match="needs the package nope"):
        Grader("x", "nope:f")
    assert Grader("x", "math:sqrt").grade_fn(4) == 2


def test_an_unknown_name_without_a_checkout_says_where_its_tasks_come_from(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown task `caco2-wang`.*BIOEVAL_TASKS_DIR"):
        Registry([], tmp_path).get_task("caco2-wang")
