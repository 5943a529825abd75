"""Stand-ins for the `biomlbench` modules that published graders and examples import.

They exist only after `install`: in grading workers, and in a process that asked for them with
`from bioeval_tui.compat import biomlbench`. Where BioML-bench itself is installed, it is left alone.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Any

from bioeval_tui import __version__
from bioeval_tui.errors import InvalidSubmissionError
from bioeval_tui.grade.files.tables import read_as_published
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.grade.tasks import registry, task
from bioeval_tui.grade.tasks.task import Task
from bioeval_tui.grade.tasks.task_code import NEEDS_POLARIS, MissingPackageError, load_as
from bioeval_tui.isolation import find_installed

_ROOT = "biomlbench"
_SOURCES = f"{_ROOT}.data_sources"


def install(tasks_dirs: Iterable[Path] = (), known: registry.Registry | None = None) -> ModuleType:
    """Make `biomlbench` importable and return it: the stand-in, or the installed one. `known` is its default registry.

    `biomlbench.tasks…` is looked for below `tasks_dirs`. `polaris`, which many graders import without
    using it, becomes an empty module if it is not installed; using it says what to install. A missing
    `tqdm` becomes one that shows nothing.
    """
    present = sys.modules.get(_ROOT)
    if present is None and (spec := _installed()) is not None:
        return load_as(_ROOT, spec)
    if present is None:
        for name, fill in _MODULES.items():
            _make(name, fill)
        present = sys.modules[_ROOT]
        if find_installed("polaris") is None:
            sys.modules["polaris"] = _Polaris("polaris")
        if find_installed("tqdm") is None:
            for name in ("tqdm", "tqdm.auto"):
                _make(name, lambda: {"tqdm": lambda items=(), *_, **__: items})
    tasks = sys.modules.get(f"{_ROOT}.tasks")
    if tasks is not None and getattr(tasks, "__bioeval__", False):
        tasks.__path__ = list(dict.fromkeys([*tasks.__path__, *map(str, tasks_dirs)]))
        if known is not None:
            vars(sys.modules[f"{_ROOT}.registry"])["registry"] = known
    return present


def _installed() -> ModuleSpec | None:
    # A folder `biomlbench` that happens to be on the path, such as a checkout beside a user's script, does not count as installed:
    # its own packages are missing.
    try:
        distribution("bioml-bench")
    except PackageNotFoundError:
        return None
    return find_installed(_ROOT)


class _Polaris(ModuleType):
    __bioeval__ = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingPackageError(f"the grader uses polaris.{name}: {NEEDS_POLARIS}")


def _make(name: str, fill: Callable[[], dict[str, Any]]) -> None:
    spec = ModuleSpec(name, None, is_package=name in (_ROOT, f"{_ROOT}.tasks", _SOURCES, "tqdm"))
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(fill())
    module.__dict__["__bioeval__"] = True
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)


def _package() -> dict[str, Any]:
    return {"__version__": __version__, "__doc__": "BioML-bench's names, answered by bioeval-tui."}


def _tasks() -> dict[str, Any]:
    return {"__path__": []}


def _utils() -> dict[str, Any]:
    # Here and below: a grader gets the modules that it imports, and waits for no others.
    from bioeval_tui.grade.biomlbench import standin_utils

    return {name: getattr(standin_utils, name) for name in standin_utils.__all__}


def _metrics() -> dict[str, Any]:
    from bioeval_tui.grade.biomlbench import standin_metrics

    return {name: getattr(standin_metrics, name) for name in standin_metrics.__all__}


def _helpers() -> dict[str, Any]:
    from bioeval_tui.grade.grader import Grader

    return {"Grader": Grader, "InvalidSubmissionError": InvalidSubmissionError, "TaskReport": TaskReport}


def _grade() -> dict[str, Any]:
    from bioeval_tui.grade import grade, paths, reports
    from bioeval_tui.grade.batch import run

    return {
        "extract_agent_from_submission_path": paths.extract_agent_from_submission_path,
        "grade_jsonl": run.grade_jsonl,
        "grade_submission": grade.grade_submission,
        "grade_csv": grade.grade_csv,
        "validate_submission": grade.validate_submission,
        "aggregate_reports": reports.aggregate_reports,
        "calculate_human_performance_metrics": grade.calculate_human_performance_metrics,
        # The published example uses Path without importing it.
        "Path": Path,
    }


def _registry() -> dict[str, Any]:
    class Registry(registry.Registry):
        """The registry with its published signature: only the data folder."""

        def __init__(self, data_dir: Path | None = None) -> None:
            super().__init__(None, data_dir)

    return {"Registry": Registry, "registry": registry.registry, "Task": task.Task}


def _sources() -> dict[str, Any]:
    from bioeval_tui.grade.biomlbench import standin_sources

    return {name: getattr(standin_sources, name) for name in standin_sources.__all__}


def _data() -> dict[str, Any]:
    import pandas as pd

    def is_dataset_prepared(task: Task, grading_only: bool = False) -> bool:
        """Whether the task can be graded, and (unless `grading_only`) worked on."""
        return task.is_prepared and (grading_only or task.sample_submission.is_file())

    def get_leaderboard(task: Task) -> pd.DataFrame:
        """Return the leaderboard's table."""
        return read_as_published(task.leaderboard)

    return {"is_dataset_prepared": is_dataset_prepared, "get_leaderboard": get_leaderboard}


_MODULES: dict[str, Callable[[], dict[str, Any]]] = {
    _ROOT: _package,
    f"{_ROOT}.tasks": _tasks,
    f"{_ROOT}.utils": _utils,
    f"{_ROOT}.metrics": _metrics,
    f"{_ROOT}.grade_helpers": _helpers,
    f"{_ROOT}.grade": _grade,
    f"{_ROOT}.registry": _registry,
    f"{_ROOT}.data": _data,
    _SOURCES: _sources,
    f"{_SOURCES}.base": _sources,
    f"{_SOURCES}.factory": _sources,
}
