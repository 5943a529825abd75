"""A recording of any size is imported and listed in a bounded amount of memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.forked import completed
from tests.integration.program import environment
from tests.unit.record.test_versions import GOLDEN

LARGE_MB = int(os.environ.get("BIOEVAL_LARGE_MB", "60"))
"""How large the recording is; 500 takes a minute and a half."""
IMPORT_MB, LIST_MB = 300, 200
DEMO = GOLDEN.parent / "demo-run.jsonl"

MEASURED = """
import sys
from pathlib import Path
from bioeval_tui.cli.main import main
sys.argv = ["bioeval-tui", *sys.argv[1:]]
try:
    main()
finally:
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells on Linux includes the memory of the process that \
started this one
        kb = int(status.read_text().split("VmHWM:")[1].split()[0])
    else:
        import resource
        kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(kb >> 10, file=sys.stderr)
"""


def large(path: Path, megabytes: int) -> None:
    """Write a long conversation whose agent's state grows with every turn, and whose words come in
    small pieces.
    """
    rows = [json.loads(line) for line in (GOLDEN / "version-1.jsonl").read_bytes().splitlines()]
    where = {name: rows[3][name] for name in ("run_id", "at", "condition", "trial", "attempt")}
    with path.open("w", encoding="utf-8") as file:
        for row in rows[:4]:
            file.write(json.dumps(row) + "\n")
        seq = turn = 0
        while file.tell() < megabytes * 1_000_000:
            turn = turn % 1000 + 1
            entities = [
                {"id": n, "type": "Reminder", "text": "take 5 mg at nine"} for n in range(turn * 2)
            ]
            seen = {
                "kind": "state_observed",
                "after_turn": turn,
                "object_context": {"entities": entities},
            }
            said = [
                {"kind": "message_delta", "message": turn, "text": "a few words "}
                for _ in range(turn % 50)
            ]
            for event in (*said, seen):
                seq += 1
                file.write(json.dumps({**where, "seq": seq + 10, **event}) + "\n")
        for row in rows[-6:]:
            file.write(json.dumps({**row, "seq": seq + 100}) + "\n")


def peak_mb(*arguments: str, data_dir: Path, code: int = 0) -> tuple[int, str]:
    """Return the most memory that a command had, in MB, and what it printed; if it fails, its
    error.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments],
        capture_output=True, text=True, env=environment(data_dir), timeout=600,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return int(done.stderr.split()[-1]), done.stdout if code == 0 else done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the peak this way")
@pytest.mark.long
def test_a_large_recording_can_be_imported_and_listed_in_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl"
    large(file, LARGE_MB)
    importing, _ = peak_mb("runs", "import", str(file), data_dir=tmp_path)
    listing, shown = peak_mb("runs", "list", "--json", data_dir=tmp_path)
    (listed,) = json.loads(shown)
    assert listed["status"] == "completed"
    print(f"{LARGE_MB} MB: import {importing} MB, list {listing} MB")
    assert importing < IMPORT_MB
    assert listing < LIST_MB


@pytest.fixture(scope="module")
def log_of_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's run as a log of inspect_ai: a zip."""
    folder = tmp_path_factory.mktemp("log")
    file = folder / "log.eval"
    arguments = ("runs", "export", str(DEMO), "--to", "inspect", "--output", str(file))
    completed(*arguments, env=environment(folder)).check_returncode()
    return file


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the peak this way")
@pytest.mark.long
@pytest.mark.parametrize(("heavy", "most_mb"), [("events", 120), ("attachments", 170)])
def test_a_member_of_60_mb_of_a_strangers_zip_is_never_held_whole(
    heavy: str, most_mb: int, log_of_demo: Path, tmp_path: Path
) -> None:
    large_log = tmp_path / "large.eval"
    with (
        zipfile.ZipFile(log_of_demo) as log,
        zipfile.ZipFile(large_log, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for name in log.namelist():
            data = log.read(name)
            if name.startswith("samples/") and heavy:
                piece = json.dumps({"event": "model", "output": "x" * 1_000})
                pieces = ",".join([piece] * 58_500)
                if heavy == "attachments":
                    pieces = ",".join(f'"{n}": {piece}' for n in range(58_500))
                sample = json.loads(data)
                sample.pop(heavy, None)
                brackets = "[]" if heavy == "events" else "{}"
                text = (
                    json.dumps(sample)[:-1] + f', "{heavy}": {brackets[0]}{pieces}{brackets[1]}}}'
                )
                data, heavy = text.encode(), ""
            made.writestr(name, data)
    assert max(member.file_size for member in zipfile.ZipFile(large_log).infolist()) > 60_000_000
    mb, said = peak_mb("runs", "import", str(large_log), data_dir=tmp_path / "data")
    assert (tmp_path / "data" / "runs" / f"{said.strip()}.jsonl").is_file()
    print(f"{mb} MB")
    assert mb < most_mb, "it takes 90, and 130 with a list of all attachments"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the peak this way")
@pytest.mark.long
@pytest.mark.parametrize(
    ("sample", "why"),
    [
        (b'{"id": "' + b"a" * 120_000_000 + b'"}', "not JSON at character"),
        (b'{"messages": [' + b"[]," * 10_000_000 + b"1]}", "more than 500,000 messages"),
    ],
    ids=["one text of 120 MB", "ten million messages"],
)
def test_a_bomb_in_a_strangers_zip_is_refused_in_200_mb(
    sample: bytes, why: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(
            "header.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "t"}})
        )
        made.writestr("samples/1.json", sample)
    mb, said = peak_mb(
        "runs", "import", str(tmp_path / "bomb.eval"), data_dir=tmp_path / "data", code=2
    )
    assert f"samples/1.json cannot be read: {why}" in said
    assert mb < 200
