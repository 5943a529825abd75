"""The tasks that can be graded: folders in BioML-bench's layout, below any number of roots.

Layout of one tasks folder (a root); a task's id is `folder/task`, whatever its `config.yaml` says:

    <root>/<folder>/<task>/config.yaml        required
    <root>/<folder>/<task>/description.md     Markdown
    <root>/<folder>/<task>/leaderboard.csv    columns teamName, score, submissionDate; best first
    <root>/<folder>/<task>/prepare.py         prepare(raw, public, private) -> Path, all three paths
    <root>/<folder>/<task>/grade.py           only for graders with code
    <root>/<folder>/<task>/checksums.yaml     optional

Data of a task: `<data_dir>/<folder>/<task>/{raw, prepared/public, prepared/private}`. `data_dir` is
the environment's `BIOEVAL_DATA_DIR` + `/tasks`, else the user's data folder for `bioeval-tui` +
`/tasks`.

`config.yaml` (published keys; those marked + are this program's, all of them optional):

    id: oncology/breast-cancer            # where the folder differs, it wins, with a warning
    name: Breast cancer diagnosis
    task_type: classification
    domain: oncology
    difficulty: easy
    awards_medals: true
    description: oncology/breast-cancer/description.md    # ignored: the one beside it is read
    time_limit: 3600                      # seconds an agent has
    data_source: {type: builtin}          # kaggle | polaris | proteingym-dms | manual | builtin (+)
    dataset:                              # relative to data_dir
      answers: oncology/breast-cancer/prepared/private/answers.csv
      sample_submission: oncology/breast-cancer/prepared/public/sample_submission.csv
      gold_submission: …                  # optional; the answers if absent
    preparer: prepare:prepare             # module:function; a bare module name is a file beside
                                          #   config.yaml. Absent: prepare.py's `prepare`, if any
    grader:
      name: roc-auc
      grade_fn: grade:grade               # code (a), OR declarative (b):
      metric: roc_auc                     # + see bioeval_tui.grading.metrics.METRICS
      id: id                              # + the id column (CSV) of answers and submissions
      target: target                      # + the target column, or a list of columns (averaged)
      event: event                        # + concordance_index: the answers' column of 0/1 (1 =
                                          #   event seen); `target` is the time in the answers, and
                                          #   in the submission the predicted time or survival score
                                          #   (higher = lives longer)
      prediction: probability             # + the submission's column, if it is not called `target`
      h5ad: {obs: cell_type}              # + h5ad tasks: one of {obs: column} {obsm: key}
                                          #   {layers: name} {X: true}; cells and genes are aligned
                                          #   by name; `id` and `target` are not used
      is_lower_better: false              # + wins over the guess from the first and last row
    leaderboard: {self_trained: true}     # + shown as a warning with every grade
    biomedical_metadata: {…}              # free
    compute_requirements: {…}             # free

Declarative tasks of kind h5ad name `answers.h5ad` and `sample_submission.h5ad` in `dataset`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

from bioeval_tui.base.errors import UNKNOWN_TASK, InputError
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.tasks.task import (
    SHIPPED_TASKS,
    Task,
    TaskEntry,
    default_data_dir,
    default_tasks_dirs,
    tasks_root,
)

WHERE_TASKS = "name it in BIOEVAL_TASKS_DIR, or with --tasks-dir"


class UnknownTaskError(InputError, ValueError):
    """No task, or more than one, has that id."""


class Registry:
    """Tasks by id, from the given folders and the included ones.

    Args:
        tasks_dirs: roots in the layout above, or checkouts of BioML-bench; the first one that has a
            task wins. None: the folders of `BIOEVAL_TASKS_DIR`.
        data_dir: where prepared data lives. None: `default_data_dir()`.
        leaderboard: what ranks on: `own`, the task's file; `published`, what ships with this
            program; or the path of another file. None: the task's own if it has entries, else the
            published one.
    """

    def __init__(
        self,
        tasks_dirs: Iterable[Path | str] | Path | str | None = None,
        data_dir: Path | str | None = None,
        leaderboard: str | None = None,
    ) -> None:
        if tasks_dirs is None:
            tasks_dirs = default_tasks_dirs()
        elif isinstance(tasks_dirs, (str, Path)):
            tasks_dirs = (tasks_dirs,)
        self._roots = tuple(tasks_root(Path(item).expanduser()) for item in tasks_dirs)
        self.leaderboard = leaderboard
        self._chosen_data_dir = None if data_dir is None else Path(data_dir).expanduser()

    @property
    def tasks_dirs(self) -> tuple[Path, ...]:
        """The roots that are searched, in order; the included tasks come last."""
        return (*self._roots, SHIPPED_TASKS)

    @cached_property
    def data_dir(self) -> Path:
        """The folder of prepared data, with a folder for each task."""
        return self._chosen_data_dir or default_data_dir()

    def get_data_dir(self) -> Path:
        """Return `data_dir`, under its published name."""
        return self.data_dir

    def set_data_dir(self, new_data_dir: Path) -> Registry:
        """Return a registry of the same tasks with another `data_dir`, as published."""
        return Registry(self._roots, new_data_dir, self.leaderboard)

    def get_tasks_dir(self) -> Path:
        """Return the first root, under its published name."""
        return self.tasks_dirs[0]

    @cached_property
    def _entries(self) -> dict[str, TaskEntry]:
        entries: dict[str, TaskEntry] = {}
        for root in self.tasks_dirs:
            for folder, name, config in _configs(root):
                task_id = f"{folder}/{name}" if folder else name
                entries.setdefault(
                    task_id, TaskEntry(task_id, config, root, self.data_dir, self.leaderboard)
                )
        return dict(sorted(entries.items()))

    def entries(self) -> list[TaskEntry]:
        """Return every task found, broken ones too, sorted by id.

        A config is read when first asked for.
        """
        return list(self._entries.values())

    def list_task_ids(self) -> list[str]:
        """Return all ids, sorted."""
        return list(self._entries)

    def entry(self, task_id: str) -> TaskEntry:
        """Return the entry of `task_id`: `folder/task`, or a bare name that is unique.

        A bare name is a task's folder name, or the end of it (`caco2-wang` for
        `tdcommons-caco2-wang`). Spaces around an id are ignored.

        Raises:
            UnknownTaskError: no task has that id, or several do, which the message lists.
        """
        task_id = task_id.strip()
        if task_id in self._entries:
            return self._entries[task_id]
        quick = self._directly(task_id)
        if quick is not None:
            return quick
        matches = self._matching(task_id) if "/" not in task_id else []
        if len(matches) == 1:
            return self._entries[matches[0]]
        shown = clean_line(task_id, 100)
        if matches:
            raise UnknownTaskError(f"task `{shown}` is not unique; use one of {', '.join(matches)}")
        hint = _suggestion(task_id, self._entries)
        if not hint:
            hint = "; `bioeval-tui tasks list` shows all"
            if not self._roots:
                hint += f", and tasks of BioML-bench need a checkout of it: {WHERE_TASKS}"
        raise UnknownTaskError(f"{UNKNOWN_TASK} `{shown}`{hint}")

    def get_task(self, task_id: str) -> Task:
        """Return the task with this id, ready to grade; see `entry` for bare names.

        Raises:
            UnknownTaskError: no task, or several, have that id.
            InputError: its `config.yaml` is broken; file and line are named.
        """
        return self.entry(task_id).task

    def select(
        self,
        *,
        domain: str | None = None,
        task_type: str | None = None,
        difficulty: str | None = None,
        prepared: bool | None = None,
        medals: bool | None = None,
    ) -> list[TaskEntry]:
        """Return the entries that match everything given.

        A broken entry matches only without any filter.
        """
        wanted = {"domain": domain, "task_type": task_type, "difficulty": difficulty}
        chosen = []
        for entry in self.entries():
            asked = any(value is not None for value in (*wanted.values(), prepared, medals))
            if entry.problem is not None:
                if not asked:
                    chosen.append(entry)
                continue
            task = entry.task
            same = all(
                value is None or getattr(task, key) == value for key, value in wanted.items()
            )
            if (
                same
                and prepared in (None, task.is_prepared)
                and medals in (None, task.awards_medals)
            ):
                chosen.append(entry)
        return chosen

    def get_tasks_by_domain(self, domain: str) -> list[str]:
        """Return the ids of a domain's tasks."""
        return [entry.id for entry in self.select(domain=domain)]

    def get_tasks_by_type(self, task_type: str) -> list[str]:
        """Return the ids of the tasks of a type."""
        return [entry.id for entry in self.select(task_type=task_type)]

    def get_tasks_by_difficulty(self, difficulty: str) -> list[str]:
        """Return the ids of the tasks of a difficulty."""
        return [entry.id for entry in self.select(difficulty=difficulty)]

    def _directly(self, task_id: str) -> TaskEntry | None:
        # A task added since the folders were listed.
        if not re.fullmatch(r"[^/\\]+/[^/\\]+", task_id) or ".." in task_id.split("/"):
            return None
        for root in self.tasks_dirs:
            config = root / task_id / "config.yaml"
            if config.is_file():
                entry = TaskEntry(task_id, config, root, self.data_dir, self.leaderboard)
                self._entries[task_id] = entry
                return entry
        return None

    def _matching(self, name: str) -> list[str]:
        matching = [item for item in self._entries if item.rpartition("/")[2] == name]
        matching = matching or [
            item for item in self._entries if item.endswith(("-" + name, "_" + name))
        ]
        # A folder whose config names another candidate is a copy of that one.
        copies = {
            item for item in matching if self._entries[item].config_id in set(matching) - {item}
        }
        return [item for item in matching if item not in copies]


def _configs(root: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield the folder, the name and the config of each task below a root; the folder is empty for
    a task that is directly in the root.
    """
    if not root.is_dir():
        return
    for folder in sorted(
        item for item in root.iterdir() if item.is_dir() and item.name[0] not in "._"
    ):
        if (folder / "config.yaml").is_file():
            yield "", folder.name, folder / "config.yaml"
            continue
        for task in sorted(item for item in folder.iterdir() if item.is_dir()):
            if (task / "config.yaml").is_file():
                yield folder.name, task.name, task / "config.yaml"


LIKE = 0.6
MUCH_LIKE = 0.1
"""Minimum similarity of a suggested name to the requested one, and how much less similar than the
nearest it may be.
"""


def _suggestion(task_id: str, known: Iterable[str]) -> str:
    def likeness(name: str) -> float:
        whole = SequenceMatcher(None, task_id, name).ratio()
        bare = SequenceMatcher(None, task_id.rpartition("/")[2], name.rpartition("/")[2]).ratio()
        return max(whole, bare)

    alike = sorted(((likeness(name), name) for name in known), reverse=True)
    close = [name for like, name in alike[:3] if like >= max(LIKE, alike[0][0] - MUCH_LIKE)]
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return ""


registry = Registry()
