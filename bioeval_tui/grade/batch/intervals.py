"""Adds intervals to a batch's reports, after all of them were written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bioeval_tui.files import write_whole
from bioeval_tui.grade.batch.feeding import Backend, BatchItem
from bioeval_tui.grade.batch.output import BatchResult
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.grade.uncertainty import Uncertainty


def uncertainties(
    reports: Sequence[TaskReport], backend: Backend, *, call_code: bool = False
) -> Iterator[tuple[int, Uncertainty]]:
    """Yield the position of each valid report with its score's uncertainty, in any order.

    Args:
        reports: of submissions whose files are where the reports say.
        backend: a pool or a cluster.
        call_code: also call graders with code on resampled rows.
    """
    kind = "interval-code" if call_code else "interval"
    items = [
        BatchItem(number, report.task_id, report.submission_path, kind)
        for number, report in enumerate(reports)
        if report.valid_submission and report.submission_path
    ]
    for number, text in backend.stream(items) if items else ():
        answer = json.loads(text)
        if "uncertainty" in answer:
            yield number, Uncertainty.from_dict(answer["uncertainty"])
        else:
            yield number, Uncertainty(why_not=answer["not_graded"]["reason"])


def rewrite(
    result: BatchResult, change: Callable[[list[TaskReport]], Iterator[tuple[int, TaskReport]]]
) -> None:
    """Rewrite the reports of a finished batch with the results of `change`.

    An interruption during `change` leaves the reports unchanged.

    Raises:
        StorageError: the disk is full; each file is complete, either old or new.
    """
    whole: dict[str, Any] = json.loads(result.report_path.read_bytes())
    values = whole["task_reports"]
    changed = {
        number: report.to_dict() for number, report in change([TaskReport.from_dict(item) for item in values])
    }
    for number, value in changed.items():
        text = json.dumps(value, indent=2, ensure_ascii=False)
        write_whole(result.individual_dir / result.names[number], text + "\n", sync=False)
        values[number] = value
    lines = [f"  {json.dumps(key)}: {_rows(value)}" for key, value in whole.items()]
    write_whole(result.report_path, "{\n" + ",\n".join(lines) + "\n}\n")


def _rows(value: Any) -> str:
    """Return a value as JSON, a list with a line for each of its items."""
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    listed = ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in value)
    return f"[\n    {listed}\n  ]" if listed else "[]"
