"""Splits a task's answers by a secret seed into a public and a private part, each in a data folder
of its own.

Participants are told the score on the public part while a competition lasts; the private part
decides at its end. Whoever has no seed cannot tell which rows are public, so nobody can hand in
other predictions for them. Submissions have all rows: `part.json` beside a part's answers names the
ids of all of them, and `scorers` keeps those of the part.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bioeval_tui.base.errors import InputError, StorageError
from bioeval_tui.base.files import checked_below, folder_below, folder_file, write_whole
from bioeval_tui.grade.answers import PART_FILE, read_part

if TYPE_CHECKING:
    import pandas as pd

    from bioeval_tui.grade.tasks.task import Task

PARTS = ("public", "private")
SHORTEST_SEED = 16
"""Minimum length of a seed in bytes: a shorter one could be guessed."""


@dataclass(frozen=True, slots=True)
class Split:
    """The folders of the two parts with their numbers of rows, by name, and the seed's SHA-256, to
    be published.
    """

    folders: dict[str, Path]
    rows: dict[str, int]
    commitment: str


def split_task(task: Task, seed: bytes, share: float, output: Path) -> Split:
    """Write the two parts of a task's answers below `output`: `public` and `private`, each a data
    folder.

    Rows are ordered by a keyed hash of their ids, within each class for metrics of classes and
    probabilities; the first ones are public. The same seed and answers give the same parts.

    Args:
        task: a prepared task with answers in a CSV file.
        seed: the secret.
        share: the share of rows that become public, between 0 and 1.
        output: the folder to write to; a part that is there already is not overwritten.

    Raises:
        InputError: the task cannot be split, the seed is too short, or a part exists.
    """
    from bioeval_tui.grade.tables import read_frame  # pandas: only for who splits

    if len(seed) < SHORTEST_SEED:
        raise InputError(
            f"the seed has {len(seed)} bytes; at least {SHORTEST_SEED} are needed to keep it secret"
        )
    if (reason := task.why_not_prepared()) is not None:
        raise InputError(reason)
    if read_part(task.private_dir) is not None:
        raise InputError(f"the answers of {task.id} are a part already")
    if task.answers.suffix.lower() != ".csv":
        raise InputError(f"{task.id} has no CSV answers; only those can be split")
    _require_own_files(task)
    spec = task.grader.spec
    answers = read_frame(task.answers, None if spec is None else spec.id)
    name = _id_column(task, answers)
    public = _public(seed, answers, name, _classes(task, answers), share)
    ids = answers[name].tolist()
    folders, rows = {}, {}
    rows_of = {"public": public, "private": sorted(set(range(len(answers))) - set(public))}
    for part, own in rows_of.items():
        folder = output / part / task.id / "prepared"
        if folder.exists():
            raise InputError(f"{folder} exists already; name another folder")
        if not own:
            raise InputError(
                f"the {part} part of {task.id} would have no rows; choose another share"
            )
        folders[part], rows[part] = output / part, len(own)
    for part, own in rows_of.items():
        folder = folder_below(output, part, task.id)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".splitting-") as draft:
            prepared = folder_below(Path(draft), "prepared")
            shutil.copytree(task.public_dir, folder_file(prepared, "public"))
            private = folder_below(prepared, "private")
            write_whole(
                folder_file(private, task.answers.name), answers.iloc[own].to_csv(index=False)
            )
            value = {"part": part, "id": name, "rows": rows[part], "ids": ids}
            write_whole(folder_file(private, PART_FILE), json.dumps(value))
            prepared.replace(folder_file(folder, "prepared"))
    return Split(folders, rows, hashlib.sha256(seed).hexdigest())


def _require_own_files(task: Task) -> None:
    """Raise InputError for a public file that is a link to elsewhere: participants would be given
    what it leads to.
    """
    for path in task.public_dir.rglob("*"):
        try:
            checked_below(task.data_dir, path.relative_to(task.data_dir))
        except StorageError as error:
            raise InputError(f"{error}; put a copy in its place") from None


def _id_column(task: Task, answers: pd.DataFrame) -> str:
    spec = task.grader.spec
    names = list(map(str, answers.columns))
    if spec is not None:
        names = [spec.id]
    for name in names:
        if name in answers.columns and answers[name].dtype.kind != "f" and answers[name].is_unique:
            return name
    raise InputError(f"the answers of {task.id} have no column of ids, so they cannot be split")


def _classes(task: Task, answers: pd.DataFrame) -> list[str]:
    """Return the class of each row; the same for all where the metric knows no classes."""
    spec = task.grader.spec
    if spec is None or spec.metric.kind not in ("label", "probability"):
        return [""] * len(answers)
    return [str(value) for value in answers[spec.targets[0]]]


def _public(
    seed: bytes, answers: pd.DataFrame, name: str, classes: Sequence[str], share: float
) -> list[int]:
    """Return the positions of the public rows, in order."""
    keys = [hmac.new(seed, str(value).encode(), hashlib.sha256).digest() for value in answers[name]]
    public: list[int] = []
    for own in sorted(set(classes)):
        group = [place for place, other in enumerate(classes) if other == own]
        ordered = sorted(group, key=keys.__getitem__)
        public += ordered[: round(share * len(ordered))]
    return sorted(public)
