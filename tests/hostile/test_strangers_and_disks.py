"""A disk that fills up at any write, and notebooks with a stranger's words: one sentence each."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bioeval_tui import Results
from bioeval_tui.sample.paths import sample_jobs
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
GROUP = "2026-11-20T09-00-00-GMT_run-group_careful"
RUN = "20261120-210356-44c7"
TASK = "oncology/breast-cancer"
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


CIRCLES = {
    "cases": ("check", "cases.yml"),
    "prompt": ("check", "prompt.yml"),
    "jobs": ("check", "circle"),
    "run": ("run", "cases.yml", "--rehearsal", "--headless", "--agent-url", "http://127.0.0.1:9"),
    "run groups": ("medals", "runs"),
    "a run group": ("medals", f"runs/{GROUP}"),
    "data": ("grade-sample", "ok.csv", "oncology/breast-cancer", "--data-dir", "circle"),
    "graph": ("agent", "--port", "0", "--graph", "circle/graph.db"),
    "recording": ("runs", "explain", RUN),
    "list": ("runs", "list"),
    "deletion": ("runs", "delete", RUN, "--yes"),
}
"""Commands that meet links in a circle in somebody else's folder, or in the data folder."""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
@pytest.mark.parametrize("name", CIRCLES)
def test_links_in_a_circle_are_one_sentence_wherever_they_lie(name: str, tmp_path: Path) -> None:
    for link in (
        "circle",
        "circle.csv",
        "circle.jinja",
        f"runs/{GROUP}/circle",
        f"runs/{GROUP}/metadata.json",
        "runs/x_run-group_y",
        f"data/runs/{RUN}.jsonl",
    ):
        (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / link).symlink_to(Path(link).name)
    job = yaml.safe_load((sample_jobs() / "medication_reminder.yml").read_text("utf-8"))
    judge = {"kind": "llm", "prompt": "circle.jinja"}
    (tmp_path / "cases.yml").write_text(json.dumps({**job, "cases": {"file": "circle.csv"}}))
    (tmp_path / "prompt.yml").write_text(json.dumps({**job, "scorer": judge}))
    (tmp_path / "ok.csv").write_text("id,malignant\n")
    done = completed(*CIRCLES[name], env=environment(tmp_path / "data"), cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode in ((0,) if name == "list" else (2, 3)), said
    assert said.strip()
    assert "Traceback" not in said
    assert "bug" not in said, said


def test_json_that_is_nested_too_deeply_is_one_sentence_or_as_if_it_were_not_there(
    tmp_path: Path,
) -> None:
    runs = tmp_path / "data" / "runs"
    runs.mkdir(parents=True)
    recording = Recorded([scoring(0.5)], [scoring(1.0)]).write(runs)
    deep = "[" * 100_000
    recording.with_suffix(".live").write_text(deep)
    (tmp_path / "state.json").write_text(deep)

    shown = completed(
        "assert", "1 == 1", "--context", str(tmp_path / "state.json"),
        env=environment(tmp_path / "data"),
    )  # fmt: skip
    assert shown.returncode == 2, shown.stderr
    assert "state.json: nested too deeply; use at most" in shown.stderr
    deleted = completed(
        "runs", "delete", recording.stem, "--yes", env=environment(tmp_path / "data")
    )
    assert deleted.returncode == 0, deleted.stderr
    assert not recording.exists()


AS_A_USER = """
import ctypes, os, sys
DAC_OVERRIDE, DAC_READ_SEARCH, CAPBSET_DROP = 1, 2, 24
for right in (DAC_OVERRIDE, DAC_READ_SEARCH) if os.geteuid() == 0 else ():
    if ctypes.CDLL(None).prctl(CAPBSET_DROP, right, 0, 0, 0):
        sys.exit("root cannot give up its rights")
os.execv(sys.executable, [sys.executable, "-m", "bioeval_tui", *sys.argv[1:]])
"""
"""Runs the program as whom permissions concern, also where the tests run as root."""
CLOSED = {
    "runs": (("runs", "list"), "data/runs", 3),
    "data": (("runs", "list"), "data", 2),
    "masking key": (("runs", "list", "--redact", "rules.yml"), "data/masking.key", 3),
    "run group": (("medals", "runs"), "runs/x_run-group_closed", 0),
    "answers": (("tasks", "list"), f"data/tasks/{TASK}/prepared/private", 0),
}


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
@pytest.mark.parametrize("name", CLOSED)
def test_what_is_closed_to_this_user_is_one_sentence_and_hides_nothing_else(
    name: str, tmp_path: Path
) -> None:
    command, closed, code = CLOSED[name]
    for group in ("open", "closed"):
        folder = tmp_path / f"runs/x_run-group_{group}"
        folder.mkdir(parents=True)
        (folder / "submission.jsonl").write_text(
            json.dumps({"task_id": TASK, "submission_path": "s.csv"}) + "\n"
        )
    (tmp_path / "rules.yml").write_text("names: [Ann]\n")
    if name == "masking key":
        (tmp_path / "data").mkdir()
        (tmp_path / closed).write_bytes(b"k" * 32)
    else:
        (tmp_path / closed).mkdir(parents=True, exist_ok=True)
    (tmp_path / closed).chmod(0)
    try:
        done = subprocess.run(
            [sys.executable, "-c", AS_A_USER, *command], capture_output=True, text=True,
            env=environment(tmp_path / "data"), cwd=tmp_path,
        )  # fmt: skip
    finally:
        (tmp_path / closed).chmod(0o700)
    said = done.stdout + done.stderr
    assert "bug" not in said, said
    assert done.returncode == code, said
    if code or name == "run group":
        assert re.search("permission denied", said, re.IGNORECASE), said
    if name == "run group":
        assert "1 of 1" in said or "1 submission" in said, said
    if name == "answers":
        assert "7 tasks" in said
