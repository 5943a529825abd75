"""A file is written completely or not at all, and a full disk is reported."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bioeval_tui.base import files
from bioeval_tui.base.errors import ExitCode, StorageError
from bioeval_tui.base.files import (
    below,
    folder_below,
    folder_file,
    make_database,
    open_own,
    write_fully,
    write_named,
    write_new,
    write_numbered,
    write_whole,
    writing_whole,
    written_by_path,
)

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


def test_partial_writes_of_the_system_are_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.write
    monkeypatch.setattr(
        files.os, "write", lambda descriptor, data: whole(descriptor, bytes(data[:3]))
    )
    write_whole(tmp_path / "file", "0123456789")
    assert (tmp_path / "file").read_text() == "0123456789"


@posix
def test_a_device_or_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    # As root, `--md /dev/null` made a file of the device, for every program on the machine.
    full, pipe = tmp_path / "full", tmp_path / "pipe"
    full.symlink_to("/dev/full")
    with pytest.raises(StorageError, match="the disk is full"):
        write_named(full, "x")
    assert full.is_char_device()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_named(pipe, "one ")
    write_named(pipe, b"two")
    assert os.read(reader, 100) == b"one two"
    os.close(reader)
    assert {item.name for item in tmp_path.iterdir()} == {"full", "pipe"}


@posix
def test_a_file_that_the_program_names_takes_the_place_of_whatever_is_there(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    places = [tmp_path / name for name in ("link", "dangling", "second", "pipe")]
    places[0].symlink_to(theirs)
    places[1].symlink_to(tmp_path / "new")
    os.link(theirs, places[2])
    os.mkfifo(places[3])
    for place in places:
        write_whole(below(tmp_path, place.name), "ours")
        assert place.read_text() == "ours"
        assert not place.is_symlink()
        with writing_whole(below(tmp_path, place.name)) as file:
            file.write(b"ours again")
        with written_by_path(below(tmp_path, place.name)) as partial:
            partial.write_text("ours at last")
        assert place.read_text() == "ours at last"
    assert theirs.read_text() == "theirs"
    assert not (tmp_path / "new").exists()
    assert {item.name for item in tmp_path.iterdir()} == {
        "theirs",
        *(place.name for place in places),
    }


@posix
def test_a_path_below_a_folder_follows_no_link_out_of_it(tmp_path: Path) -> None:
    named, outside = tmp_path / "named", tmp_path / "outside"
    (named / "inside").mkdir(parents=True)
    outside.mkdir()
    (tmp_path / "as a link").symlink_to(named)  # the folder itself, which its owner named
    (named / "out").symlink_to(outside)
    (named / "gone").symlink_to(tmp_path / "nowhere")
    (named / "beside").symlink_to("inside")
    (named / "circle").symlink_to("circle")
    for folder in (named, tmp_path / "as a link"):
        assert below(folder, "file") == folder / "file"
        assert below(folder, "new", "file") == folder / "new" / "file"
        assert below(folder, "beside", "file") == named / "inside" / "file"
        assert below(folder, "out") == folder / "out", "the link itself is replaced"
        assert folder_below(folder, "a", "b").is_dir()
        for parts in (
            ("out", "file"),
            ("gone", "file"),
            ("..", "file"),
            ("inside", "..", "..", "file"),
            (str(outside), "file"),
        ):
            with pytest.raises(StorageError, match="leads out of"):
                below(folder, *parts)
        for name in ("out", "gone", "..", str(outside)):
            with pytest.raises(StorageError, match="leads out of"):
                folder_below(folder, name)
        with pytest.raises(StorageError, match="circle"):
            below(folder, "circle", "file")
    for name in ("", ".", "..", "a/b", "/etc/passwd"):
        with pytest.raises(ValueError, match="not a name in a folder"):
            folder_file(folder_below(named), name)
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


@posix
@pytest.mark.parametrize(
    ("plant", "why"),
    [
        (lambda place, theirs: place.symlink_to(theirs), "it is a link"),
        (lambda place, theirs: place.symlink_to(place.with_name("new")), "it is a link"),
        (os.link, "it has a second name"),
        (lambda place, theirs: os.mkfifo(place), "not a regular file"),
        (lambda place, theirs: place.mkdir(), "not a regular file"),
    ],
)
def test_what_is_changed_in_place_is_a_file_of_the_programs_own(
    plant: Callable[[Path, Path], None], why: str, tmp_path: Path
) -> None:
    theirs, place = tmp_path / "theirs", tmp_path / "place"
    theirs.write_text("theirs")
    plant(*((theirs, place) if plant is os.link else (place, theirs)))
    for flags in (
        os.O_RDWR,
        os.O_WRONLY | os.O_CREAT | os.O_APPEND,
        os.O_RDWR | os.O_CREAT | os.O_EXCL,
    ):
        with pytest.raises(OSError, match=why):
            open_own(below(tmp_path, "place"), flags)
    with pytest.raises(OSError, match=why):
        make_database(below(tmp_path, "place"))
    assert theirs.read_text() == "theirs"
    assert not (tmp_path / "new").exists()


def test_a_file_of_the_programs_own_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    os.close(open_own(below(tmp_path, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    make_database(below(tmp_path, "list"))
    make_database(below(tmp_path, "list"))
    if os.name == "posix":
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@posix
def test_a_full_disk_leaves_the_old_file_and_is_reported(tmp_path: Path) -> None:
    # A limit on the size of files makes the system take a part of what is written, and then refuse,
    # as a full disk does.
    path = tmp_path / "report.json"
    path.write_text("old")
    code = (
        "import resource, signal, sys; from bioeval_tui.base.files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_whole(sys.argv[1], 'x' * 5000)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert (
        done.stdout
        == f"StorageError {path} cannot be written: the disk is full or over its quota; free some"
        " space\n"
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
    names = [write_numbered(tmp_path, "picture", ".svg", "x").name for _ in range(3)]
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
    with (
        pytest.raises(StorageError, match="cannot be written"),
        writing_whole(tmp_path / "no" / "data"),
    ):
        pass
