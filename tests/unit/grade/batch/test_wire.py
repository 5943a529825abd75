"""What a worker notes about the submission that it grades, while another process reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bioeval_tui.grade.batch.worker_protocol import IDLE, UNKNOWN, ProgressPage

GRADES = """
import sys
from pathlib import Path
from bioeval_tui.grade.batch.worker_protocol import ProgressPage
page = ProgressPage(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    page.note_begun(number, float(number))
    page.note_ended()
"""


def test_a_submission_never_seems_to_have_begun_before_it_did(tmp_path: Path) -> None:
    page = ProgressPage(tmp_path / "progress", new=True)
    seen: set[tuple[int, float]] = set()
    with subprocess.Popen([sys.executable, "-c", GRADES, str(tmp_path / "progress")]) as worker:
        try:
            while len(seen) < 1000:
                seen.add(page.read())
        finally:
            worker.kill()
    page.close()
    assert [found for found in seen if found[0] != IDLE and found[1] < found[0]] == []


def test_a_page_that_was_cut_says_that_its_number_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    page = ProgressPage(path, new=True)
    assert page.read() == (IDLE, 0.0)
    page.note_begun(7, 2.5)
    for size, found in ((16, (7, 2.5)), (12, (7, 0.0)), (5, (UNKNOWN, 0.0)), (0, (UNKNOWN, 0.0))):
        os.truncate(path, size)
        assert page.read() == found
    page.note_begun(8, 3.5)
    assert page.read() == (8, 3.5)
    page.close()
    page.close()
    with pytest.raises(ValueError, match="closed"):
        page.read()
