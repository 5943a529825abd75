"""Error views of one submission: where it is right and wrong, and for which groups.

Regression: residuals and the worst rows. Classification: confusion, each class, thresholds, calibration. Survival: what
happened to those predicted to live longest. Every kind: scores for groups of rows. ProteinGym: each split and fold.
h5ad: cell types or gene groups.

Where a task keeps its answers private, no view is shown unless the user asks for the answers. Every view counts or averages
the answers of rows that the predictions or a column select, and who makes up the predictions selects any rows. Hiding
small or pure groups and rounding do not help: from the rounded calibration of 200 files with random predictions, least
squares finds every answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.grade.explain.groups import MOST_GROUPS, by_fold, by_group, groups_of
from bioeval_tui.grade.explain.rows import declared_rows, rows_of_code
from bioeval_tui.grade.explain.views import VIEWS
from bioeval_tui.grade.explanation import PRIVATE, Section, table
from bioeval_tui.grade.scorers import H5AD, CodeScorer, CsvScorer
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.grade.grade import TaskGrading
    from bioeval_tui.grade.tasks.task import Task


def explain(
    ready: TaskGrading, path: Path, *, by: str | None = None, show_answers: bool = False
) -> list[Section]:
    """Return the error views of a valid submission; of private answers, only that they are private.

    Args:
        ready: the task, ready to grade.
        path: the submission.
        by: a column of the answers or of a public table of the task; each of its groups gets a score.
        show_answers: show the views even if the answers are private.

    Raises:
        InputError: there is no column `by`.
        InvalidSubmissionError: the file is not valid.
    """
    if not show_answers and not _are_public(ready.task):
        return [PRIVATE]
    scorer: Any = ready.scorer
    if path.suffix.lower() == H5AD:
        if isinstance(scorer, CodeScorer):
            return [_nothing("its grader is code that reads h5ad files itself")]
        from bioeval_tui.grade.explain.h5ad import of_h5ad  # anndata: for single-cell tasks alone

        return of_h5ad(scorer, path, by)
    targets = declared_rows(scorer, path) if isinstance(scorer, CsvScorer) else rows_of_code(scorer, path)
    if not targets:
        return [_nothing("its grader is code, and no column is in both the submission and the answers")]
    sections: list[Section] = []
    for rows in targets:
        sections += VIEWS[rows.kind](rows)
    if (ready.task.data_source or {}).get("type") == "proteingym-dms":
        sections += by_fold(ready, targets)
    if by is not None:
        groups = groups_of(ready, targets[0].ids, by)
        sections += [by_group(rows, groups, by) for rows in targets]
    return sections


def _are_public(task: Task) -> bool:
    """Return whether the answers are among the public files; their path may lead out of the folder by `..` or a link."""
    return task.answers.resolve().is_relative_to(task.public_dir.resolve())


def _nothing(reason: str) -> Section:
    return Section("no error view", (), (), note=reason)


def attempts(
    scores: Sequence[float], lower_is_better: bool, marks: Sequence[tuple[str, float]], agent: str | None
) -> Section:
    """Return an agent's scores for one task in the order of its attempts, the best so far, and where medals begin."""
    best, rows = None, []
    for number, score in enumerate(scores, start=1):
        if best is None or (score < best if lower_is_better else score > best):
            best = score
        rows.append((number, float(score), float(best)))
    note = ", ".join(f"{name} begins at {mark:.5g}" for name, mark in marks)
    whose = f" of {clean_line(agent, 60)}" if agent else ""
    return table(
        f"score by attempt{whose}", ("attempt", "score", "best so far"), rows[-MOST_GROUPS:], bar=1, note=note
    )
