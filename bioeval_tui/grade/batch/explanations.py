"""Explanations of graded submissions, computed by workers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from bioeval_tui.grade.batch.feeding import Backend, BatchItem
from bioeval_tui.grade.explanation import Section
from bioeval_tui.grade.task_report import TaskReport


def explanations(
    reports: Sequence[TaskReport],
    backend: Backend,
    *,
    by: str | None = None,
    show_answers: bool = False,
) -> Iterator[tuple[int, tuple[Section, ...]]]:
    """Yield the position of each valid report with its error views, in any order; see `explain.explain`.

    Without views, one section says why.
    """
    kind = "explain:" + json.dumps({"by": by, "show_answers": show_answers})
    items = [
        BatchItem(
            number,
            report.task_id,
            report.submission_path,
            kind,
            agent=report.extra.agent if report.extra else None,
        )
        for number, report in enumerate(reports)
        if report.valid_submission and report.submission_path
    ]
    for number, text in backend.stream(items) if items else ():
        answer = json.loads(text)
        if "explanation" in answer:
            yield number, tuple(Section.from_dict(section) for section in answer["explanation"])
        else:
            yield number, (Section("no error view", (), (), note=answer["not_graded"]["reason"]),)
