"""Watched reports: those written later appear, too."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from medal_rows import sample_rows

from bioeval_tui.grading import TaskReport
from bioeval_tui.settings import Settings
from bioeval_tui.tui.data.services import AppServices

ROWS = "bioeval_tui.tui.data.grading"


def written(path: Path, report: TaskReport) -> None:
    path.write_text(json.dumps({"task_reports": [report.to_dict()]}))


async def test_new_reports_in_a_watched_folder_appear_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{ROWS}.WATCH_S", 0.01)
    read, looks = Path.read_bytes, count()

    def at_first_half_written(path: Path) -> bytes:
        whole = read(path)
        return whole[:40] if path.name.startswith("b_") and next(looks) == 0 else whole

    first, second = [row.report for row in sample_rows() if row.report][:2]
    folder = tmp_path / "reports"
    folder.mkdir()
    written(folder / "a_grading_report.json", first)
    services = AppServices(Settings(data_dir_override=str(tmp_path / "data")), reports=[folder])
    rows: Any = services.medals()
    assert (at_once := await anext(rows)) is not None
    assert at_once.task_id == first.task_id
    assert await anext(rows) is None
    monkeypatch.setattr(Path, "read_bytes", at_first_half_written)
    written(folder / "b_grading_report.json", second)
    assert (later := await anext(rows)) is not None
    assert later.task_id == second.task_id
    assert await anext(rows) is None
    services.close()
