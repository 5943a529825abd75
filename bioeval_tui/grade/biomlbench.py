"""BioML-bench's names, for the published graders, preparers and examples that import `biomlbench`.

They exist only after `install`: in grading workers, and in a process that asked for them with `from
bioeval_tui.compat import biomlbench`. Where BioML-bench itself is installed, it is left alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import sys
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from bioeval_tui import __version__
from bioeval_tui.base.errors import InputError, InvalidSubmissionError
from bioeval_tui.base.files import real
from bioeval_tui.base.isolation import find_installed
from bioeval_tui.grade.batch.run import grade_jsonl
from bioeval_tui.grade.grade import (
    calculate_human_performance_metrics,
    grade_csv,
    grade_submission,
    validate_submission,
)
from bioeval_tui.grade.grader import Grader
from bioeval_tui.grade.published_tables import read_as_published
from bioeval_tui.grade.published_totals import aggregate_reports
from bioeval_tui.grade.report_fields import time_stamp
from bioeval_tui.grade.submissions import extract_agent_from_submission_path
from bioeval_tui.grade.tables import read_exactly
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.grade.tasks import registry
from bioeval_tui.grade.tasks.source_types import get_source, source_types
from bioeval_tui.grade.tasks.task import Task
from bioeval_tui.grade.tasks.task_code import NEEDS_POLARIS, MissingPackageError, load_as

_ROOT = "biomlbench"
_SOURCES = f"{_ROOT}.data_sources"


def install(tasks_dirs: Iterable[Path] = (), known: registry.Registry | None = None) -> ModuleType:
    """Make `biomlbench` importable and return it: the stand-in, or the installed one.

    `known` is its default registry.

    `biomlbench.tasks…` is looked for below `tasks_dirs`. `polaris`, which many graders import
    without using it, becomes an empty module if it is not installed; using it says what to install.
    A missing `tqdm` becomes one that shows nothing.
    """
    present = sys.modules.get(_ROOT)
    if present is None and (spec := _installed()) is not None:
        return load_as(_ROOT, spec)
    if present is None:
        for name, members in _MODULES.items():
            _make(name, members)
        present = sys.modules[_ROOT]
        if find_installed("polaris") is None:
            sys.modules["polaris"] = _Polaris("polaris")
        if find_installed("tqdm") is None:
            for name in ("tqdm", "tqdm.auto"):
                _make(name, {"tqdm": lambda items=(), *_, **__: items})
    tasks = sys.modules.get(f"{_ROOT}.tasks")
    if tasks is not None and getattr(tasks, "__bioeval__", False):
        tasks.__path__ = list(dict.fromkeys([*tasks.__path__, *map(str, tasks_dirs)]))
        if known is not None:
            vars(sys.modules[f"{_ROOT}.registry"])["registry"] = known
    return present


def _installed() -> ModuleSpec | None:
    # A folder `biomlbench` that happens to be on the path, such as a checkout beside a user's
    # script, does not count as installed: its own packages are missing.
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


def _make(name: str, members: dict[str, Any]) -> None:
    spec = ModuleSpec(name, None, is_package=name in (_ROOT, f"{_ROOT}.tasks", _SOURCES, "tqdm"))
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(members)
    module.__dict__["__bioeval__"] = True
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)


# biomlbench.grade_helpers, .grade, .registry and .data


class PublishedRegistry(registry.Registry):
    """The registry with its published signature: only the data folder.

    Tasks import it as `Registry`.
    """

    def __init__(self, data_dir: Path | None = None) -> None:
        super().__init__(None, data_dir)


def is_dataset_prepared(task: Task, grading_only: bool = False) -> bool:
    """Whether the task can be graded, and (unless `grading_only`) worked on."""
    return task.is_prepared and (grading_only or task.sample_submission.is_file())


def get_leaderboard(task: Task) -> pd.DataFrame:
    """Return the leaderboard's table."""
    return read_as_published(task.leaderboard)


# biomlbench.metrics


def average_precision_at_k(actual: set[Any], predicted: Sequence[Any], k: int) -> float:
    """Average precision of a ranking's first `k`: a repeated guess counts once; without relevant
    items it is 0.
    """
    if not actual:
        return 0.0
    hits, total = 0, 0.0
    seen: set[Any] = set()
    for place, guess in enumerate(predicted[:k], start=1):
        if guess in actual and guess not in seen:
            hits += 1
            total += hits / place
        seen.add(guess)
    return total / min(len(actual), k)


def mean_average_precision_at_k(
    actual: Sequence[set[Any]], predicted: Sequence[Sequence[Any]], k: int
) -> np.float64:
    """Mean of `average_precision_at_k` over queries."""
    pairs = zip(actual, predicted, strict=False)
    return np.float64(
        np.mean([average_precision_at_k(truth, guesses, k) for truth, guesses in pairs])
    )


def dice_coefficient(
    predicted_mask: NDArray[Any], true_mask: NDArray[Any], both_empty_value: float = np.nan
) -> Any:
    """Dice's coefficient of two 0/1 masks of the same shape; `both_empty_value` if both are empty.

    Raises:
        AssertionError: the masks differ in shape.
    """
    if predicted_mask.shape != true_mask.shape:
        raise AssertionError(f"masks differ in shape: {predicted_mask.shape} and {true_mask.shape}")
    marked = np.sum(predicted_mask) + np.sum(true_mask)
    if marked == 0:
        return both_empty_value
    return 2 * np.sum(predicted_mask * true_mask) / marked


# biomlbench.utils


def get_module_dir() -> Path:
    """Return the folder `biomlbench` of the checkout whose tasks are graded; without one, that of
    these stand-ins.
    """
    roots = [real(Path(root)).parent for root in sys.modules["biomlbench.tasks"].__path__]
    return next(
        (folder for folder in roots if folder.name == "biomlbench"), Path(__file__).with_suffix("")
    )


def get_repo_dir() -> Path:
    """Return the checkout's folder."""
    return get_module_dir().parent


def get_runs_dir() -> Path:
    """Return the checkout's folder of runs."""
    return get_repo_dir() / "runs"


def get_logger(
    name: str, level: int = logging.INFO, filename: Path | None = None
) -> logging.Logger:
    """Return a logger.

    Unlike the published one, it does not change the program's logging configuration.
    """
    return logging.getLogger(name)


def read_csv(*args: Any, **kwargs: Any) -> pd.DataFrame:
    """Call pandas.read_csv with round-trip precision; an empty file gives an empty table."""
    try:
        return read_exactly(*args, **kwargs)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()


def read_jsonl(file_path: str, skip_commented_out_lines: bool = False) -> list[Any]:
    """Return the JSON value of each line; on request without blank lines and those starting `#` or
    `//`.
    """
    with Path(file_path).open(encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    if skip_commented_out_lines:
        lines = [line for line in lines if line and not line.startswith(("#", "//"))]
    return [json.loads(line) for line in lines]


def load_answers(path_to_answers: Path) -> Any:
    """Read answers from CSV or JSONL.

    Raises:
        ValueError: the file is neither CSV nor JSONL.
    """
    path = Path(path_to_answers)
    if path.suffix == ".csv":
        return read_csv(path)
    if path.suffix == ".jsonl":
        return read_jsonl(str(path))
    raise ValueError(f"answers of this kind are not supported: {path} (.csv or .jsonl)")


def load_yaml(fpath: Path) -> Any:
    """Read a YAML file, safely."""
    return yaml.safe_load(Path(fpath).read_text(encoding="utf-8"))


def get_timestamp() -> str:
    """Return the time in UTC as `YYYY-MM-DDTHH-MM-SS-GMT`."""
    return time_stamp(datetime.now(UTC))


def import_fn(fn_import_string: str) -> Callable[..., Any]:
    """Return the function that `module:function` names."""
    module, _, name = fn_import_string.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def is_compressed(fpath: Path) -> bool:
    """Whether a file's name says that it is an archive."""
    return Path(fpath).suffix in {".zip", ".tar", ".gz", ".tgz", ".rar", ".7z"}


def is_empty(dir: Path) -> bool:
    """Whether a folder is empty."""
    return not any(Path(dir).iterdir())


def extract(compressed: Path, dst: Path, recursive: bool = False) -> None:
    """Unpack a zip archive into a folder, archives inside it too if `recursive`.

    Raises:
        NotImplementedError: the archive is not a zip file.
    """
    compressed, dst = Path(compressed), Path(dst)
    if compressed.suffix != ".zip":
        raise NotImplementedError(f"only .zip can be unpacked here: {compressed.name}")
    with zipfile.ZipFile(compressed) as archive:
        archive.extractall(dst)
    if recursive:
        for inner in [item for item in dst.iterdir() if item.suffix == ".zip"]:
            extract(inner, inner.parent / inner.stem, recursive=True)


def compress(src: Path, compressed: Path, exist_ok: bool = False) -> None:
    """Pack the files below a folder into a zip archive.

    Raises:
        AssertionError: `src` is no folder, or the archive exists and may not.
        NotImplementedError: the archive is not to be a zip file.
    """
    src, compressed = Path(src), Path(compressed)
    if not src.is_dir():
        raise AssertionError(f"Expected a directory, but got `{src}`.")
    if compressed.exists() and not exist_ok:
        raise AssertionError(f"Compressed file `{compressed}` already exists.")
    if compressed.suffix != ".zip":
        raise NotImplementedError(f"only .zip can be packed here: {compressed.name}")
    files = [path for path in src.rglob("*") if path.is_file()]
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, arcname=file.relative_to(src))


def purple(text: str) -> str:
    """Return `text` unchanged, without colour."""
    return text


# biomlbench.data_sources


class DataSourceError(Exception):
    """Data could not be obtained."""

    def __init__(self, message: str, source_type: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.source_type = source_type


class DataSourceNotFoundError(DataSourceError):
    """No source has this type."""


class DataSourceConfigError(DataSourceError):
    """A source's config is wrong."""


class DataSource(ABC):
    """A source of tasks' data, as published."""

    @abstractmethod
    def download(self, source_config: dict[str, Any], data_dir: Path) -> Path | None:
        """Put the raw files into `data_dir`; return the archive if one was downloaded."""

    @abstractmethod
    def get_leaderboard(self, source_config: dict[str, Any]) -> pd.DataFrame:
        """Return the leaderboard."""


class _OwnSource(DataSource):
    """One of this program's sources under the published names."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def download(self, source_config: dict[str, Any], data_dir: Path) -> Path | None:
        return get_source({**source_config, "type": self._kind}).download(source_config, data_dir)

    def get_leaderboard(self, source_config: dict[str, Any]) -> pd.DataFrame:
        rows = get_source({**source_config, "type": self._kind}).leaderboard(source_config)
        values = [(row.team_name, row.score, row.submission_date) for row in rows]
        return pd.DataFrame(values, columns=["teamName", "score", "submissionDate"])


class DataSourceFactory:
    """Creates sources by their type."""

    _sources: dict[str, type[DataSource]] = {}  # noqa: RUF012 (shared, as published)

    @classmethod
    def register(cls, source_type: str, source_class: type[DataSource]) -> None:
        """Register a source of a task's own."""
        cls._sources[source_type] = source_class

    @classmethod
    def create(cls, source_type: str) -> DataSource:
        """Return a source.

        Raises:
            DataSourceNotFoundError: no source has this type.
        """
        if source_type in cls._sources:
            return cls._sources[source_type]()
        try:
            get_source({"type": source_type})
        except InputError as error:
            raise DataSourceNotFoundError(str(error), source_type) from None
        return _OwnSource(source_type)

    @classmethod
    def list_available(cls) -> list[str]:
        """Return all types."""
        return list(dict.fromkeys([*cls._sources, *source_types()]))

    @classmethod
    def is_available(cls, source_type: str) -> bool:
        """Whether a source has this type."""
        return source_type in cls.list_available()


def register_data_source(source_type: str) -> Callable[[type[DataSource]], type[DataSource]]:
    """Return a decorator that registers a source of a task's own."""

    def register(kind: type[DataSource]) -> type[DataSource]:
        DataSourceFactory.register(source_type, kind)
        return kind

    return register


def _named(*members: Any) -> dict[str, Any]:
    return {member.__name__: member for member in members}


_OF_SOURCES = {
    **_named(
        DataSource,
        DataSourceConfigError,
        DataSourceError,
        DataSourceFactory,
        DataSourceNotFoundError,
    ),
    "create_data_source": DataSourceFactory.create,
    "list_available_sources": DataSourceFactory.list_available,
    "register_data_source": register_data_source,
}

_MODULES: dict[str, dict[str, Any]] = {
    _ROOT: {"__version__": __version__, "__doc__": "BioML-bench's names, answered by bioeval-tui."},
    f"{_ROOT}.tasks": {"__path__": []},
    f"{_ROOT}.utils": _named(
        compress, extract, get_logger, get_module_dir, get_repo_dir, get_runs_dir, get_timestamp,
        import_fn, is_compressed,
        is_empty, load_answers, load_yaml, purple, read_csv, read_jsonl,
    ),
    f"{_ROOT}.metrics": _named(average_precision_at_k, dice_coefficient,
        mean_average_precision_at_k),
    f"{_ROOT}.grade_helpers": _named(Grader, InvalidSubmissionError, TaskReport),
    f"{_ROOT}.grade": {
        **_named(
            aggregate_reports, calculate_human_performance_metrics,
            extract_agent_from_submission_path, grade_csv,
            grade_jsonl, grade_submission, validate_submission,
        ),
        "Path": Path,  # the published example uses it without importing it
    },
    f"{_ROOT}.registry": {"Registry": PublishedRegistry, "registry": registry.registry,
        "Task": Task},
    f"{_ROOT}.data": _named(get_leaderboard, is_dataset_prepared),
    _SOURCES: _OF_SOURCES,
    f"{_SOURCES}.base": _OF_SOURCES,
    f"{_SOURCES}.factory": _OF_SOURCES,
}  # fmt: skip
