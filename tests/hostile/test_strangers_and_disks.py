"""A disk that fills up at any write, and notebooks with a stranger's words: one sentence each."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from bioeval_tui import Results
from tests.faults.test_machine import small_disk
from tests.forked import completed
from tests.integration.program import environment, run
from tests.unit.report.recorded import Recorded, scoring

SIZES = ("4k", "16k", "64k")
"""tmpfs gives whole pages: each size stops another write."""
COMMANDS = {
    "copy samples": ("samples", "DISK/samples"),
    "new job": ("new", "DISK/job.yml", "--yes"),
    "schemas": ("schema", "--output-dir", "DISK/schemas"),
    "report": ("runs", "report", "RUN", "--output", "DISK/report.html"),
    "export": ("runs", "export", "RUN", "--to", "inspect", "--output", "DISK/log.eval"),
    "replay": ("runs", "replay", "RUN", "--html", "DISK/talk.html"),
    "import": ("runs", "import", "RUN"),
    "baseline": ("baseline", "oncology/breast-cancer", "--output-dir", "DISK/baselines"),
    "grade": ("grade", "submissions", "--output-dir", "DISK/graded"),
}
FULL = re.compile("disk is full|no space left|disk full", re.IGNORECASE)


@pytest.mark.parametrize("size", [pytest.param(size, marks=pytest.mark.long) for size in SIZES])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_is_full_at_any_write_is_said_and_leaves_nothing_half_written(
    name: str, size: str, tmp_path: Path
) -> None:
    recording = Recorded([scoring(0.5)], [scoring(1.0)]).write(tmp_path)
    with small_disk(tmp_path / "disk", size) as disk:
        words = [
            word.replace("DISK", str(disk)).replace("RUN", str(recording))
            for word in COMMANDS[name]
        ]
        data = disk if name == "import" else tmp_path / "data"
        done = completed(*words, env=environment(data), cwd=tmp_path)
        assert "Traceback" not in done.stderr, done.stderr
        assert "bug" not in done.stderr, done.stderr
        if done.returncode not in (0, 1):  # 1: it was graded, and some submissions are invalid
            assert done.returncode in (2, 3), done.stderr
            assert FULL.search(done.stderr), done.stderr
        for file in disk.rglob("*"):
            if file.suffix == ".json" and file.is_file():
                json.loads(file.read_text())
            if file.suffix == ".html":
                assert file.read_text().rstrip().endswith("</html>")


def test_a_notebook_shows_a_strangers_words_as_text() -> None:
    """What `evaluate` and `load_run` show below a cell comes from recordings, and so from agents
    and job files.
    """
    attack = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)>"
    made = Recorded(
        [scoring(0.5)], [scoring(1.0)], job=attack, started={"agent": attack, "model": attack}
    ).loaded()
    shown = Results((made,))._repr_html_()
    assert not re.search(r"<(script|img|svg|iframe|a|style|link)\b", shown)
    assert set(re.findall(r"</?(\w+)", shown)) <= {"p", "b", "table", "tr", "th", "td", "code"}


def test_a_strangers_notebook_is_no_recording_and_runs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    code = f"import pathlib; pathlib.Path({str(marker)!r}).touch()"
    cell = {
        "cell_type": "code",
        "source": [code],
        "outputs": [{"data": {"text/html": "<script>1</script>"}}],
    }
    book = tmp_path / "talk.ipynb"
    book.write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    for command in (("runs", "import"), ("guards",), ("check",), ("medals",)):
        done = run(*command, str(book), data_dir=tmp_path / "data")
        assert done.returncode == 2, (command, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
    assert not marker.exists()


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_data_folder_that_links_to_itself_is_named_as_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("data")
    words = (
        "run",
        "medication_reminder",
        "--rehearsal",
        "--headless",
        "--agent-url",
        "http://127.0.0.1:9",
    )
    done = run(*words, data_dir=tmp_path / "data")
    assert done.returncode == 2
    assert "its links form a circle; set BIOEVAL_DATA_DIR" in done.stderr
    assert "Traceback" not in done.stderr
