"""Watched reports: those written later appear, too."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from medal_rows import sample_rows

from bioeval_tui.errors import InputError
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.tui.data import grading
from bioeval_tui.tui.data.grading import report_rows


class NoBoards:
    """A registry that knows no task."""

    def leaderboard(self, task_id: str) -> tuple[float, ...]:
        return ()

    def domain(self, task_id: str) -> str:
        return ""


def written(path: Path, report: TaskReport) -> None:
    path.write_text(json.dumps({"task_reports": [report.to_dict()]}))


async def test_new_reports_in_a_watched_folder_appear_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading, "WATCH_S", 0.01)
    load, looks = grading._load, count()

    def at_first_half_written(path: Path) -> list[TaskReport]:
        if next(looks) == 1:
            raise InputError("half of a report")
        return load(path)

    monkeypatch.setattr(grading, "_load", at_first_half_written)
    first, second = [row.report for row in sample_rows() if row.report][:2]
    written(tmp_path / "a_grading_report.json", first)
    none: Any = NoBoards()
    rows = report_rows(none, [tmp_path])
    assert (at_once := await anext(rows)) is not None
    assert at_once.task_id == first.task_id
    assert await anext(rows) is None
    written(tmp_path / "b_grading_report.json", second)
    assert (later := await anext(rows)) is not None
    assert later.task_id == second.task_id
    assert await anext(rows) is None
