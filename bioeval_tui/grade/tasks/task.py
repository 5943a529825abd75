"""One task: its `config.yaml`, its files and its grader. Files are read when needed."""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from bioeval_tui.base.errors import InputError, Problem
from bioeval_tui.base.files import real
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean, clean_line, clean_value, plural
from bioeval_tui.base.yaml_positions import load_yaml, syntax_problem
from bioeval_tui.grade.grader import grader_from_config
from bioeval_tui.grade.tasks.sources import BoardEntry, PublishedBoard, published_board
from bioeval_tui.grade.tasks.task_code import load_function

if TYPE_CHECKING:
    from bioeval_tui.grade.grader import Grader

SHIPPED_TASKS = Path(__file__).parents[2] / "sample" / "tasks"
"""The tasks that come with this program; every registry includes them."""


def own_folder() -> Path:
    """Return this program's own data folder: `BIOEVAL_DATA_DIR`, otherwise the user's."""
    return _own().data_dir


def default_data_dir() -> Path:
    """Return the folder of prepared data in this program's own."""
    return _own().own_tasks_dir


def _own() -> Settings:
    return Settings(data_dir_override=os.environ.get("BIOEVAL_DATA_DIR"))


def default_tasks_dirs() -> tuple[Path, ...]:
    """Return the folders of `BIOEVAL_TASKS_DIR`, which are separated as in PATH."""
    value = os.environ.get("BIOEVAL_TASKS_DIR", "")
    return tuple(Path(item).expanduser() for item in value.split(os.pathsep) if item)


def tasks_root(folder: Path) -> Path:
    """Return the tasks root of a folder; in a checkout of BioML-bench, that is a subfolder."""
    inside = folder / "biomlbench" / "tasks"
    return real(inside if inside.is_dir() else folder)


class TaskConfigError(InputError):
    """A task's `config.yaml` is broken."""


@dataclass(frozen=True, eq=False)
class Task:
    """A task as published, with paths resolved. `id` is `folder/task`, from its place on disk.

    `warnings` says what is odd about the config; the grader is imported when `grader.grade_fn` is
    first used, the preparer when `prepare_fn` is.
    """

    id: str
    name: str
    folder: Path
    root: Path
    grader: Grader
    answers: Path
    gold_submission: Path
    sample_submission: Path
    raw_dir: Path
    private_dir: Path
    public_dir: Path
    checksums: Path
    leaderboard: Path
    biomedical_metadata: Mapping[str, Any] | None = None
    human_baselines: Mapping[str, Any] | None = None
    compute_requirements: Mapping[str, Any] | None = None
    data_source: Mapping[str, Any] | None = None
    task_type: str | None = None
    domain: str | None = None
    difficulty: str | None = None
    time_limit: int | None = None
    awards_medals: bool = False
    self_trained: bool = False
    partial_leaderboard: bool = False
    board_choice: str | None = None
    preparer: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()

    @cached_property
    def description(self) -> str:
        """The text of `description.md`, cleaned; empty without one."""
        path = self.folder / "description.md"
        if not path.is_file():
            return ""
        return clean(path.read_text(encoding="utf-8", errors="replace"))

    @property
    def has_preparer(self) -> bool:
        """Whether the task says how its data is prepared; otherwise, it is put there by hand."""
        return self.preparer is not None or (self.folder / "prepare.py").is_file()

    @property
    def preparer_reference(self) -> str:
        """The preparer as `module:function`.

        Raises:
            InputError: the task has none.
        """
        if not self.has_preparer:
            raise InputError(
                f"task {self.id} cannot be prepared, because it has no prepare.py in {self.folder}"
            )
        return self.preparer or "prepare:prepare"

    @property
    def prepare_fn(self) -> Callable[[Path, Path, Path], Any]:
        """The preparer, `prepare(raw, public, private)`.

        Raises:
            InputError: the task has none, or it cannot be imported.
        """
        return load_function(self.preparer_reference, self.folder, self.root)

    @property
    def is_prepared(self) -> bool:
        """Whether the task can be graded: answers and leaderboard exist."""
        return self.why_not_prepared() is None

    @property
    def prepare_command(self) -> str:
        """The complete command that prepares this task, with the folders that differ from the
        defaults.
        """
        words = ["bioeval-tui", "tasks", "prepare", self.id]
        roots = {tasks_root(folder) for folder in default_tasks_dirs()}
        if self.root not in roots | {SHIPPED_TASKS}:
            words += ["--tasks-dir", str(self.root)]
        if self.data_dir != default_data_dir():
            words += ["--data-dir", str(self.data_dir)]
        return shlex.join(words)

    @property
    def data_dir(self) -> Path:
        """The folder of all tasks' data, which `raw_dir` is below."""
        return self.raw_dir.parents[len(Path(self.id).parts)]

    def why_not_prepared(self) -> str | None:
        """Return why the task cannot be graded yet and what to do, as a sentence; None if it
        can.
        """
        try:
            has_answers = self.answers.is_file()
        except PermissionError:  # a task's private folder may be closed to who takes part
            return f"task {self.id} cannot be graded: you may not open its answers ({self.answers})"
        if not has_answers:
            todo = f"run `{self.prepare_command}`"
            if not self.has_preparer:
                todo = "it has no prepare.py, so put them there"
            return (
                f"task {self.id} is not prepared: its answers are missing ({self.answers}); {todo}"
            )
        try:
            self.board_in_use()
        except InputError as error:
            return str(error)
        return None

    @property
    def published_board(self) -> PublishedBoard | None:
        """The included published leaderboard of this task."""
        return published_board(self.id, self.data_source or {})

    def board_in_use(self) -> PublishedBoard | Path:
        """Return the leaderboard in use: the task's own file if it has entries, otherwise the
        published one.

        `board_choice`, `own` or `published`, forces one of the two.

        Raises:
            InputError: there is no leaderboard, or the published one does not match the task.
        """
        published = None if self.board_choice == "own" else self.published_board
        if self.board_choice != "published" and (
            published is None or _has_entries(self.leaderboard)
        ):
            if not self.leaderboard.is_file():
                raise InputError(
                    f"the leaderboard of {self.id} is missing: {self.leaderboard}; write it, a CSV"
                    " file with a column `score`, or name another with --leaderboard"
                )
            return self.leaderboard
        if published is None:
            raise InputError(f"this program has no published leaderboard of {self.id}")
        metric = self.grader.spec.metric.name if self.grader.spec else None
        graders = tuple(filter(None, (self.grader.name, metric)))
        if reason := published.why_unfit(graders, self.grader.lower_is_better):
            raise InputError(
                f"the published leaderboard does not match {self.id}: {clean_line(reason, 300)}"
            )
        return published

    def board_entries(self) -> list[BoardEntry]:
        """Return the entries of the leaderboard in use: as in the task's file, or the published
        ones, best first.

        Raises:
            InputError: there is no leaderboard, or it cannot be read.
        """
        board = self.board_in_use()
        if isinstance(board, Path):
            return _read_entries(board)
        return list(board.entries)

    @property
    def reference(self) -> BoardEntry | None:
        """The reference model from `reference.csv`, which is not an entry of the leaderboard."""
        path = self.folder / "reference.csv"
        rows = _read_entries(path) if path.is_file() else []
        if rows:
            return rows[0]
        return None

    def board_origin(self) -> str:
        """Return in one line where the leaderboard in use comes from, and how many entries it has.

        A row without a finite score is none, as in `build_leaderboard`.

        Raises:
            InputError: as `board_entries`.
        """
        board = self.board_in_use()
        if not isinstance(board, Path):
            return f"published: {board.origin}"
        scored = [_is_score(row.get("score")) for row in _read_rows(board)]
        count = plural(sum(scored), "entry", "entries")
        if not all(scored):
            count += f" in {plural(len(scored), 'row')}"
        whose = "the task's own" if board.parent == self.folder else "the given file"
        return f"{whose} {clean_line(board.name, 100)}, {count}"


@dataclass(eq=False)
class TaskEntry:
    """A task folder. Its config is read once, when first needed."""

    id: str
    config_path: Path
    root: Path
    data_dir: Path
    leaderboard: str | None = None

    @cached_property
    def _loaded(self) -> Task | TaskConfigError:
        try:
            return _build(self)
        except TaskConfigError as error:
            return error

    @property
    def config_id(self) -> str | None:
        """The id that `config.yaml` gives, which may be another task's, or else the folder's; None
        if the config is broken.
        """
        if self.problem is not None:
            return None
        return str(self.task.config.get("id") or self.id)

    @property
    def problem(self) -> Problem | None:
        """What is wrong with `config.yaml`, with file and line; None if it is fine."""
        if isinstance(self._loaded, Task):
            return None
        problems = self._loaded.problems
        if problems:
            return problems[0]
        return Problem(str(self._loaded), str(self.config_path))

    @property
    def task(self) -> Task:
        """The task.

        Raises:
            TaskConfigError: `config.yaml` is broken.
        """
        if isinstance(self._loaded, Task):
            return self._loaded
        raise self._loaded


def _read_entries(path: Path) -> list[BoardEntry]:
    return [
        BoardEntry(
            clean_line(row.get("teamName") or "", 200),
            clean_line(row.get("score") or "", 60),
            clean_line(row.get("submissionDate") or "", 60),
        )
        for row in _read_rows(path)
    ]


def _read_rows(path: Path) -> Iterator[dict[str, str | None]]:
    """Yield the rows of a leaderboard's file, as they are written.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from csv.DictReader(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"the leaderboard {path} cannot be read: {clean_line(str(error), 200)}"
        ) from None


def _is_score(text: str | None) -> bool:
    try:
        return isfinite(float(text or ""))
    except ValueError:
        return False


def _has_entries(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return sum(bool(line.strip()) for line in islice(file, 20)) > 1
    except OSError:
        return False


def _fail(
    entry: TaskEntry, message: str, line: int = 0, column: int = 0, key: str = ""
) -> TaskConfigError:
    problem = Problem(clean_line(message), str(entry.config_path), line, column, key)
    return TaskConfigError(str(problem), (problem,))


def _read_yaml(entry: TaskEntry) -> dict[str, Any]:
    try:
        written = entry.config_path.read_bytes()
        data = load_yaml(written)
    except yaml.MarkedYAMLError as error:
        text = written.decode("utf-8", "replace")
        problem = syntax_problem(error, text, str(entry.config_path))
        raise TaskConfigError(str(problem), (problem,)) from None
    except (yaml.YAMLError, OSError, ValueError, RecursionError) as error:
        raise _fail(entry, f"cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise _fail(entry, "a task's config must be a mapping of keys to values")
    cleaned: dict[str, Any] = clean_value(data)
    return cleaned


def _section(
    entry: TaskEntry, config: Mapping[str, Any], key: str, needs: str = ""
) -> dict[str, Any]:
    """Return a mapping of the config; empty without one that is not needed."""
    value = config.get(key)
    if value is None and not needs:
        return {}
    if not isinstance(value, dict):
        what = f"is missing: it needs {needs}" if value is None else "must be a mapping"
        raise _fail(entry, f"`{key}` {what}", key=key)
    return value


def _build(entry: TaskEntry) -> Task:
    config = _read_yaml(entry)
    dataset = _section(entry, config, "dataset", "`answers` and `sample_submission`")
    grader = _section(entry, config, "grader", "`name` and `metric` or `grade_fn`")
    board = _section(entry, config, "leaderboard")
    folder = entry.config_path.parent
    warnings = []
    # 80 published configs name another task: its id, answers or code. The folder is what users see
    # and prepare.
    config_id = config.get("id") or entry.id
    if config_id != entry.id:
        other_id = clean_line(str(config_id), 100)
        warnings.append(f"config.yaml says id `{other_id}`; the folder's id `{entry.id}` is used")
    else:
        other = _other_module(entry, grader.get("grade_fn")) or _other_module(
            entry, config.get("preparer")
        )
        if other:
            warnings.append(f"config.yaml names the code of `{other}`; the folder's own is used")
    paths = {}
    for key in ("answers", "sample_submission", "gold_submission"):
        value = dataset.get(key, dataset.get("answers") if key == "gold_submission" else None)
        if not isinstance(value, str):
            part = "public" if key == "sample_submission" else "private"
            such_as = f"{entry.id}/prepared/{part}/{key}.csv"
            raise _fail(
                entry,
                f"`dataset.{key}` must be a path below the data folder, such as {such_as}",
                key=f"dataset.{key}",
            )
        paths[key] = _data_path(entry, value, str(config_id))
    try:
        built = grader_from_config(grader, folder, entry.root)
    except InputError as error:
        raise _fail(entry, str(error), key="grader") from None
    data = entry.data_dir / entry.id
    choice = entry.leaderboard
    file = None if choice in (None, "own", "published") else Path(str(choice))
    return Task(
        id=entry.id,
        name=clean_line(str(config.get("name") or entry.id), 200),
        folder=folder,
        root=entry.root,
        grader=built,
        answers=paths["answers"],
        gold_submission=paths["gold_submission"],
        sample_submission=paths["sample_submission"],
        raw_dir=data / "raw",
        private_dir=data / "prepared" / "private",
        public_dir=data / "prepared" / "public",
        checksums=folder / "checksums.yaml",
        leaderboard=file or folder / "leaderboard.csv",
        biomedical_metadata=config.get("biomedical_metadata"),
        human_baselines=config.get("human_baselines"),
        compute_requirements=config.get("compute_requirements"),
        data_source=config.get("data_source"),
        task_type=_word(config.get("task_type") or config.get("competition_type")),
        domain=_word(config.get("domain")),
        difficulty=_word(config.get("difficulty")),
        time_limit=config.get("time_limit"),
        awards_medals=bool(config.get("awards_medals", False)),
        self_trained=file is None and bool(board.get("self_trained", False)),
        partial_leaderboard=file is None and bool(board.get("partial", False)),
        board_choice="own" if file else choice,
        preparer=config.get("preparer"),
        config=config,
        warnings=tuple(warnings),
    )


def _other_module(entry: TaskEntry, reference: Any) -> str | None:
    """Return the task whose code a published reference names, if it is not this one's."""
    prefix = "biomlbench.tasks."
    if not isinstance(reference, str) or not reference.startswith(prefix):
        return None
    named = reference.removeprefix(prefix).partition(":")[0].rpartition(".")[0]
    if named == entry.id.replace("/", "."):
        return None
    return clean_line(named, 100)


def _word(value: Any) -> str | None:
    if value is None:
        return None
    return clean_line(str(value), 100)


def _data_path(entry: TaskEntry, relative: str, config_id: str) -> Path:
    # A config copied from another folder still names that folder's data, so its own data comes
    # first.
    as_written = entry.data_dir / relative
    if config_id != entry.id and relative.startswith(config_id + "/"):
        own = entry.data_dir / (entry.id + relative[len(config_id) :])
        if own.exists() or not as_written.exists():
            return own
    return as_written
