"""Add to a batch's reports how sure each score is, after all of them have been written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from bioeval_tui.files import write_whole
from bioeval_tui.grade.batch.feeding import BatchItem, Result
from bioeval_tui.grade.batch.output import BatchResult
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.grade.uncertainty import Uncertainty


class Backend(Protocol):
    """Where scores are resampled."""

    def stream(self, items: Sequence[BatchItem]) -> Iterator[Result]:
        """Yield each item's number and answer exactly once, in any order."""
        ...


def uncertainties(
    reports: Sequence[TaskReport], backend: Backend, *, call_code: bool = False
) -> Iterator[tuple[int, Uncertainty]]:
    """Yield the position of each valid report with how sure its score is, in any order.

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


def add_intervals(
    result: BatchResult,
    backend: Backend,
    *,
    call_code: bool = False,
    on_progress: Callable[[], None] = lambda: None,
) -> None:
    """Write `uncertainty` into every report of a finished batch; an interruption leaves the reports as they were.

    Raises:
        StorageError: the disk is full; each file is whole, as it was or with what was added.
    """
    whole: dict[str, Any] = json.loads(result.report_path.read_bytes())
    values = whole["task_reports"]
    reports = [TaskReport.from_dict(item) for item in values]
    for number, found in uncertainties(reports, backend, call_code=call_code):
        values[number]["uncertainty"] = found.to_dict()
        on_progress()
    for value, name in zip(values, result.names, strict=True):
        if "uncertainty" in value:
            _write(result.individual_dir / name, json.dumps(value, indent=2, ensure_ascii=False), sync=False)
    lines = [f"  {json.dumps(key)}: {_rows(value)}" for key, value in whole.items()]
    _write(result.report_path, "{\n" + ",\n".join(lines) + "\n}", sync=True)


def _rows(value: Any) -> str:
    """Return a value as JSON, a list with a line for each of its items."""
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    listed = ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in value)
    return f"[\n    {listed}\n  ]" if listed else "[]"


def _write(path: Path, text: str, *, sync: bool) -> None:
    write_whole(str(path), text + "\n", sync=sync)
