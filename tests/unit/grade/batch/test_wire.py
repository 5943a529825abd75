"""What a worker notes about the submission that it grades, while another process reads it."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path

from bioeval_tui.grade.batch.worker_process import IDLE, PROGRESS

GRADES = """
import mmap, sys
from bioeval_tui.grade.batch.worker_process import PROGRESS, note_begun, note_ended
with open(sys.argv[1], "r+b") as file:
    page = mmap.mmap(file.fileno(), PROGRESS.size)
number = 0
while True:
    number += 1
    note_begun(page, number, float(number))
    note_ended(page)
"""


def test_a_submission_never_seems_to_have_begun_before_it_did(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    path.write_bytes(PROGRESS.pack(IDLE, 0.0))
    with path.open("r+b") as file:
        page = mmap.mmap(file.fileno(), PROGRESS.size)
    seen: set[tuple[int, float]] = set()
    with subprocess.Popen([sys.executable, "-c", GRADES, str(path)]) as worker:
        try:
            while len(seen) < 1000:
                seen.add(PROGRESS.unpack_from(page, 0))
        finally:
            worker.kill()
    assert [found for found in seen if found[0] != IDLE and found[1] < found[0]] == []
