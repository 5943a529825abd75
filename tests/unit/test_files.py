"""A file is written completely or not at all, and a full disk is reported."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bioeval_tui import files
from bioeval_tui.errors import ExitCode, StorageError
from bioeval_tui.files import write_beside, write_fully, write_new, write_whole, writing_whole

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


def test_a_file_is_replaced_atomically_without_leftovers(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    write_whole(path, "new é")
    write_whole(tmp_path / "private", b"x", mode=0o600, sync=False)
    assert path.read_text(encoding="utf-8") == "new é"
    assert {item.name for item in tmp_path.iterdir()} == {"report.json", "private"}
    if os.name == "posix":
        assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600


def test_partial_writes_of_the_system_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(files.os, "write", lambda descriptor, data: whole(descriptor, bytes(data[:3])))
    write_whole(tmp_path / "file", "0123456789")
    assert (tmp_path / "file").read_text() == "0123456789"


@posix
def test_a_device_or_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    # As root, `--md /dev/null` made a file of the device, for every program on the machine.
    full, pipe = tmp_path / "full", tmp_path / "pipe"
    full.symlink_to("/dev/full")
    with pytest.raises(StorageError, match="the disk is full"):
        write_whole(full, "x")
    with pytest.raises(StorageError, match="the disk is full"), writing_whole(full) as file:
        file.write(b"x")
    assert full.is_char_device()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "one ")
    with writing_whole(pipe) as file:
        file.write(b"two")
    assert os.read(reader, 100) == b"one two"
    os.close(reader)
    assert {item.name for item in tmp_path.iterdir()} == {"full", "pipe"}


@posix
def test_a_full_disk_leaves_the_old_file_and_is_reported(tmp_path: Path) -> None:
    # A limit on the size of files makes the system take a part of what is written, and then refuse, as a full disk does.
    path = tmp_path / "report.json"
    path.write_text("old")
    code = (
        "import resource, signal, sys; from bioeval_tui.files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_whole(sys.argv[1], 'x' * 5000)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert (
        done.stdout
        == f"StorageError {path} cannot be written: the disk is full or over its quota; free some space\n"
    )
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["report.json"]


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_space_left_is_a_storage_error() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="No space left") as caught:
            write_fully(descriptor, b"x")
    finally:
        os.close(descriptor)
    assert files.is_full(caught.value)
    error = files.storage_error("a\x1b[2Jb", caught.value)
    assert "the disk is full" in str(error)
    assert "\x1b" not in str(error)
    assert error.exit_code == ExitCode.NOT_MEASURED


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="missing/file cannot be written: No such file"):
        write_whole(tmp_path / "missing" / "file", "x")
    assert not files.is_full(OSError(errno.EACCES, "no"))


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_never_replaces_another(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:  # as on FAT

        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(files.os, "link", refuse)
    path = tmp_path / "key"
    assert write_new(path, b"first")
    assert not write_new(path, b"second")
    assert path.read_bytes() == b"first"
    assert [item.name for item in tmp_path.iterdir()] == ["key"]
    names = [write_beside(tmp_path, "picture", ".svg", "x").name for _ in range(3)]
    assert names == ["picture.svg", "picture~2.svg", "picture~3.svg"]


def test_a_file_written_in_pieces_appears_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("old")
    with contextlib.suppress(KeyError), writing_whole(path) as file:
        file.write(b"half")
        raise KeyError
    assert path.read_text() == "old"
    with writing_whole(path) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert [item.name for item in tmp_path.iterdir()] == ["data"]
    with pytest.raises(StorageError, match="cannot be written"), writing_whole(tmp_path / "no" / "data"):
        pass
