"""The sections that explain a score: the error views of one submission, and an agent's scores so
far.

A grading worker calls both (`batch/item_grader.py`). `explain` says first whether the answers may
be shown at all: enough views of private ones would give them away.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.base.files import real
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import score_text
from bioeval_tui.grade.explaining.cells import h5ad_views
from bioeval_tui.grade.explaining.groups import MOST_GROUPS, fold_scores, group_scores, row_groups
from bioeval_tui.grade.explaining.rows import declared_rows, rows_of_code
from bioeval_tui.grade.explaining.sections import PRIVATE, Section, table
from bioeval_tui.grade.explaining.views import VIEWS, no_view
from bioeval_tui.grade.scorers import GRADER_READS_H5AD, H5AD, CodeScorer, CsvScorer

if TYPE_CHECKING:
    from bioeval_tui.grade.explaining.rows import ExplainedRows
    from bioeval_tui.grade.grade import TaskGrading
    from bioeval_tui.grade.tasks.task import Task


def explain(
    ready: TaskGrading, path: Path, *, by: str | None = None, show_answers: bool = False
) -> list[Section]:
    """Return the error views of a valid submission; of private answers, only that they are private.

    Args:
        ready: the task, ready to grade.
        path: the submission.
        by: a column of the answers or of a public table of the task; each of its groups gets a
            score.
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
            return [no_view(GRADER_READS_H5AD)]
        return h5ad_views(scorer, path, by)
    targets = _explained_rows(scorer, path)
    if not targets:
        return [
            no_view("its grader is code, and no column is in both the submission and the answers")
        ]
    sections: list[Section] = []
    for rows in targets:
        sections += VIEWS[rows.kind](rows)
    if (ready.task.data_source or {}).get("type") == "proteingym-dms":
        sections += fold_scores(ready, targets)
    if by is not None:
        groups = row_groups(ready, targets[0].ids, by)
        sections += [group_scores(rows, groups, by) for rows in targets]
    return sections


def _are_public(task: Task) -> bool:
    """Return whether the answers are among the public files; their path may lead out of the folder
    by `..` or a link.
    """
    return real(task.answers).is_relative_to(real(task.public_dir))


def _explained_rows(scorer: CsvScorer | CodeScorer, path: Path) -> list[ExplainedRows]:
    if isinstance(scorer, CsvScorer):
        return declared_rows(scorer, path)
    return rows_of_code(scorer, path)


def scores_so_far(
    scores: Sequence[float],
    lower_is_better: bool,
    marks: Sequence[tuple[str, float]],
    agent: str | None,
) -> Section:
    """Return an agent's scores for one task as the ledger has them, the best so far, and where
    medals begin.

    They are no numbered attempts: the files of one batch are scored side by side, in any order.

    Args:
        scores: of the agent's different files, in the order in which they were scored.
        lower_is_better: the direction.
        marks: each medal and the score that reaches it.
        agent: who made the files; None if no agent is known.
    """
    bests = accumulate(scores, min if lower_is_better else max)
    rows = [
        (number, float(score), float(best))
        for number, (score, best) in enumerate(zip(scores, bests, strict=True), start=1)
    ]
    begin = ", ".join(f"{name} begins at {score_text(mark)}" for name, mark in marks)
    note = "; ".join(filter(None, (begin, "the files of one batch are scored in no order")))
    title = "scores so far of files that name no agent"
    if agent:
        title = f"scores so far of {clean_line(agent, 60)}"
    return table(
        title,
        ("scored", "score", "best so far"),
        rows[-MOST_GROUPS:],
        bar=1,
        note=note,
    )
