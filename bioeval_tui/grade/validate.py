"""Validation: everything that is wrong with a submission, not just the first problem.

A declared metric knows what it needs. For a grader with code, the file is compared with the task's
sample submission, which shows the expected form; the grader itself decides.
"""

from __future__ import annotations

from pathlib import Path

from bioeval_tui.errors import InvalidSubmissionError, Problem
from bioeval_tui.grade.files import alignment
from bioeval_tui.grade.files.tables import read_frame
from bioeval_tui.grade.scorers import Scorer
from bioeval_tui.grade.submissions import why_not_a_file
from bioeval_tui.grade.tasks.task import Task


def examine(task: Task, scorer: Scorer, path: Path) -> list[Problem]:
    """Return all findings about the file at `path`; empty if nothing is wrong with it."""
    return faults_of_file(task, scorer, path) or _compare_with_sample(task, scorer, path)


def faults_of_file(task: Task, scorer: Scorer, path: Path) -> list[Problem]:
    """Return what is wrong with a file by itself or for a declared metric, whatever the sample submission looks like."""
    reason = why_not_a_file(path)
    if reason is not None:
        return [Problem(reason)]
    suffix = path.suffix.lower()
    if suffix not in scorer.suffixes:
        wanted = " or ".join(scorer.suffixes)
        return [Problem(f"{path.name} has the wrong file type for {task.id}: {wanted} is expected")]
    if task.grader.spec is not None or suffix == ".h5ad":
        return scorer.examine(path)
    try:
        frame = read_frame(path)
    except InvalidSubmissionError as error:
        return [Problem(str(error))]
    if not len(frame.columns):
        return [Problem("the file is empty")]
    return [] if len(frame) else [Problem("the file has a header and no rows")]


def _compare_with_sample(task: Task, scorer: Scorer, path: Path) -> list[Problem]:
    """Return how a file for a grader with code differs from the task's sample submission."""
    sample_path, suffix = task.sample_submission, path.suffix.lower()
    wanted = sample_path.suffix.lower()
    if task.grader.spec is not None or not sample_path.is_file():
        return []
    if wanted in scorer.suffixes and wanted != suffix:
        return [Problem(f"the file is {suffix} where the sample submission is {wanted}")]
    if suffix == ".h5ad":
        return []
    try:
        frame, sample = (read_frame(each).rename(columns=str) for each in (path, sample_path))
    except (InvalidSubmissionError, OSError):
        return []
    problems = alignment.missing_columns(list(frame.columns), list(sample.columns))
    if len(frame) != len(sample):
        problems.append(
            Problem(f"the file has {len(frame):,} rows where the sample submission has {len(sample):,}")
        )
    first = sample.columns[0]
    if first in frame.columns and sample[first].is_unique:
        expected = alignment.as_index(sample[first])
        ids = alignment.as_index(frame[first].dropna(), expected)
        problems += alignment.compare_names(ids, alignment.as_index(expected, ids), "id", str(first))[1]
    for name in sample.columns[1:]:
        if name in frame.columns and not sample[name].isna().any():
            check = alignment.numbers if sample[name].dtype.kind in "iuf" else alignment.labels
            problems += check(frame[name], str(name))[1]
    return problems
