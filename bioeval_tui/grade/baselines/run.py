"""Baseline submissions: guesses and very simple models to compare scores with.

| kind | numbers | probabilities | labels | survival |
|---|---|---|---|---|
| simple | mean of the training targets | share of positives | most frequent label | median time |
| majority | median | 1 or 0, whichever is more frequent | most frequent label | median time |
| random | drawn from the training targets | drawn from 0–1 | drawn from the labels | drawn from the times |
| ridge | ridge regression | logistic regression | ridge classifier | ridge on log time, censoring ignored |

The same task, kind and seed give the same file.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bioeval_tui.errors import InputError
from bioeval_tui.files import write_whole
from bioeval_tui.grade.tasks.task import Task
from bioeval_tui.text import clean_line

KINDS = ("simple", "majority", "random", "ridge")


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """One baseline submission that was written."""

    task_id: str
    kind: str
    seed: int
    path: Path


def run_baselines(
    task: Task, kinds: Iterable[str], *, seed: int, output_dir: Path
) -> tuple[list[BaselineFile], Path]:
    """Write a submission of each kind and a JSONL list of them; return the files and the list's path.

    Each file is in a folder `<time>_run-group_baseline-<kind>`, so that reports show the kind as the agent.

    Raises:
        InputError: the task is not prepared, has no training data to learn from, or a kind is unknown.
    """
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S-GMT")
    name = task.id.replace("/", "-")
    written = []
    for kind in kinds:
        folder = output_dir / f"{stamp}_run-group_baseline-{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        path = write_baseline(task, kind, seed=seed, path=folder / f"{name}{task.sample_submission.suffix}")
        written.append(BaselineFile(task.id, kind, seed, path))
    listing = output_dir / f"{name}_baselines.jsonl"
    lines = [
        json.dumps({"task_id": item.task_id, "submission_path": item.path.relative_to(output_dir).as_posix()})
        for item in written
    ]
    write_whole(listing, "".join(line + "\n" for line in lines))
    return written, listing


def write_baseline(task: Task, kind: str, *, seed: int, path: Path) -> Path:
    """Write one baseline submission to `path` and return it.

    Raises:
        InputError: as for `run_baselines`.
    """
    if kind not in KINDS:
        raise InputError(f"unknown baseline `{clean_line(kind, 40)}`; use one of {', '.join(KINDS)} and all")
    if not task.sample_submission.is_file():
        raise InputError(f"task {task.id} is not prepared: run `{task.prepare_command}`")
    generator = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    if task.sample_submission.suffix == ".h5ad":
        from bioeval_tui.grade.baselines.h5ad import predict_h5ad  # the kind of file that the task has, alone
        from bioeval_tui.grade.files.h5ad_reading import write_h5ad

        write_h5ad(predict_h5ad(task, kind, generator), path)
    else:
        from bioeval_tui.grade.baselines.csv import predict_csv

        write_whole(path, predict_csv(task, kind, generator).to_csv(index=False, lineterminator="\n"))
    return path
