"""The main features work without what only POSIX has.

This is no test on Windows or macOS, where the program was never run; it finds an import or a call
without a guard.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HIDING = Path(__file__).parents[1] / "other_systems"

IMPORT_ALL = """
import importlib, pkgutil, sys
import bioeval_tui
for module in pkgutil.walk_packages(bioeval_tui.__path__, "bioeval_tui."):
    # Run by a Python with packages of its own, or loaded only where terminals are POSIX's.
    script = module.name.endswith(("__main__", ".local_model", ".terminal_driver"))
    if ".sample_tasks." not in module.name and not script:
        importlib.import_module(module.name)
print(sys.modules["fcntl"], sys.modules["resource"], sys.modules["termios"])
"""

WRITE_AND_READ = """
import asyncio, os, sys
from pathlib import Path
from bioeval_tui.base.errors import RecordingError
from bioeval_tui.base.portable import lock, read_part
from bioeval_tui.record.moving import copy_open
from bioeval_tui.record.overlay import append_numbered, read_overlay
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.recorder import Recorder

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
events = list(read_recording(source).events)
recording = folder / "copy.jsonl"

async def record():
    recorder = Recorder(recording)
    for event in events:
        recorder.append(event)
    try:
        Recorder(recording, resume=True)
    except RecordingError as error:
        print(error)
    await recorder.aclose()

asyncio.run(record())
assert list(read_recording(recording).events) == events
append_numbered(recording, events[:1])
append_numbered(recording, events[1:2])
assert list(read_overlay(recording).events) == events[:2]

descriptor = os.open(recording, os.O_RDONLY)
os.lseek(descriptor, 7, os.SEEK_SET)
assert read_part(descriptor, 4, 0) == recording.read_bytes()[:4]
assert os.lseek(descriptor, 0, os.SEEK_CUR) == 7
(folder / "elsewhere").mkdir()
copy_open(descriptor, recording, folder / "elsewhere").close()
assert (folder / "elsewhere" / "copy.jsonl").read_bytes() == recording.read_bytes()
"""


@pytest.fixture
def hidden(tmp_path: Path) -> dict[str, str]:
    """An environment in which this program and every process that it starts are without POSIX."""
    path = os.pathsep.join([str(HIDING), str(Path(__file__).parents[2])])
    return {**os.environ, "PYTHONPATH": path, "BIOEVAL_DATA_DIR": str(tmp_path / "data")}


def python(*arguments: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], env=env, cwd=cwd, capture_output=True, text=True, timeout=300
    )


def test_every_module_can_be_imported(hidden: dict[str, str], tmp_path: Path) -> None:
    done = python("-c", IMPORT_ALL, env=hidden, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "None None None\n"


def test_recordings_can_be_written_locked_reviewed_and_moved(
    hidden: dict[str, str], tmp_path: Path
) -> None:
    source = Path(__file__).parents[1] / "golden" / "demo-run.jsonl"
    done = python("-c", WRITE_AND_READ, str(source), str(tmp_path), env=hidden, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "copy.jsonl: another process is writing to it\n"


def test_the_demo_has_its_usual_scores(hidden: dict[str, str], tmp_path: Path) -> None:
    done = python("-m", "bioeval_tui", "demo", "--headless", "--json", env=hidden, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["conditions"]
    assert {name: condition["score"] for name, condition in found.items()} == {
        "withheld": pytest.approx(0.5),
        "supplied": pytest.approx(1.0),
    }


def test_a_submission_is_graded_in_a_worker(hidden: dict[str, str], tmp_path: Path) -> None:
    arguments = ("-m", "bioeval_tui", "grade-sample", "careful", "oncology/breast-cancer", "--json")
    done = python(*arguments, env=hidden, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["valid_submission"] is True
