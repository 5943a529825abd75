"""The ledger loses no entry and shows tampering."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.files import write_fully
from bioeval_tui.grade.ledger import FIRST, HEAD, NAME, Ledger, ordinal, verify
from bioeval_tui.grade.task_report import ReportExtra

ONCE = "the only file scored against these answers so far"


def look(ledger: Ledger, number: int, agent: str | None = None) -> str:
    return ledger.look("lab/numbers", f"submission {number}", "answers", agent, number / 100).words


def test_every_grading_of_a_new_file_is_counted(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    assert look(ledger, 1) == ONCE
    for number in range(2, 37):
        look(ledger, number)
    assert look(ledger, 37) == "37 different files scored against these answers"
    words = "38 different files scored against these answers, 1 of them by this agent"
    assert look(ledger, 99, "ada") == words
    assert ledger.look("lab/numbers", "x", "other answers", None, 0.0).words == ONCE


def test_only_a_known_agent_has_files_of_its_own(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    first, second = (
        ledger.look("lab/numbers", name, "answers", agent, 0.5)
        for name, agent in (("a", "ada"), ("b", "ada"))
    )
    assert (first.of_agent, second.of_agent) == (1, 2)
    assert second.words == "2 different files scored against these answers, all by this agent"
    assert ledger.look("lab/numbers", "c", "answers", None, 0.5).of_agent is None


def test_grading_the_same_file_again_is_not_counted(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / NAME)
    for _ in range(3):
        assert look(ledger, 1) == ONCE
    assert verify(ledger.path).lines == 3, (
        "that it was graded three times is on record all the same"
    )


def test_a_ledger_continued_by_another_process_is_read_on(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / NAME), Ledger(tmp_path / NAME)
    look(one, 1)
    look(other, 2)
    assert look(one, 3) == "3 different files scored against these answers"
    assert verify(one.path).problems == ()


def _write(path: Path, first: int, count: int) -> None:
    ledger = Ledger(path)
    for number in range(first, first + count):
        look(ledger, number)


@pytest.mark.long
def test_parallel_graders_lose_no_ledger_entry(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        parts = [pool.submit(_write, path, 1000 * part, 50) for part in range(3)]
        while not all(part.done() for part in parts):
            assert not path.exists() or verify(path).problems == (), "also while lines are written"
        for done in parts:
            done.result()
    found = verify(path)
    assert (found.lines, found.problems) == (150, ())
    assert look(Ledger(path), 0) == "150 different files scored against these answers"


class Files:
    """A ledger of six lines and its head, to be tampered with."""

    def __init__(self, folder: Path) -> None:
        self.path, self.head = folder / NAME, folder / HEAD
        self.ledger = Ledger(self.path)
        for number in range(1, 7):
            look(self.ledger, number, "ada" if number % 2 else None)

    @property
    def lines(self) -> list[bytes]:
        return self.path.read_bytes().splitlines(keepends=True)

    @lines.setter
    def lines(self, lines: list[bytes]) -> None:
        self.path.write_bytes(b"".join(lines))

    def replace(self, place: int, old: bytes, new: bytes) -> None:
        lines = self.lines
        assert old in lines[place]
        lines[place] = lines[place].replace(old, new)
        self.lines = lines

    def entry(self, **changes: Any) -> bytes:
        """Return a further line with the right number and the right hash of the last line."""
        last = self.lines[-1]
        value = {**json.loads(last), "number": 7, "previous": hashlib.sha256(last).hexdigest()}
        return json.dumps({**value, "submission": "by hand", **changes}).encode() + b"\n"

    def renumber_head(self, number: int) -> None:
        self.head.write_text(f"{number} {self.head.read_text().split()[1]}\n")

    def rewrite(self, lines: list[bytes]) -> None:
        """Write lines with right numbers and hashes, and the head, as someone who knows this
        program can.
        """
        previous, whole = FIRST, []
        for number, line in enumerate(lines, start=1):
            value = {**json.loads(line), "number": number, "previous": previous}
            whole.append(json.dumps(value, separators=(",", ":")).encode() + b"\n")
            previous = hashlib.sha256(whole[-1]).hexdigest()
        self.lines = whole
        self.head.write_text(f"{len(whole)} {previous}\n")


def put(place: int, line: bytes) -> Callable[[Files], None]:
    def tamper(files: Files) -> None:
        files.lines = [*files.lines[:place], line, *files.lines[place:]]

    return tamper


def only(*places: int) -> Callable[[Files], None]:
    def tamper(files: Files) -> None:
        files.lines = [files.lines[place] for place in places]

    return tamper


def field(place: int, old: bytes, new: bytes) -> Callable[[Files], None]:
    return lambda files: files.replace(place, old, new)


def added(**changes: Any) -> Callable[[Files], None]:
    def tamper(files: Files) -> None:
        files.lines = [*files.lines, files.entry(**changes)]

    return tamper


def cut_and_added(files: Files) -> None:
    files.lines = files.lines[:3]
    files.lines = [*files.lines, files.entry(number=4)]


FOUND: dict[str, tuple[Callable[[Files], object], str]] = {
    "a score changed": (field(1, b'"score":0.02', b'"score":0.92'),
        "entry 2 was changed after entry 3"),
    "the first score changed": (field(0, b'"score":0.01', b'"score":0.91'),
        "entry 1 was changed after entry 2"),
    "the last score changed": (field(5, b'"score":0.06', b'"score":0.96'), "entry 6 was changed"),
    "an agent changed": (field(2, b'"ada"', b'"bob"'), "entry 3 was changed after entry 4"),
    "an agent removed": (field(2, b'"ada"', b"null"), "entry 3 was changed after entry 4"),
    "a time changed": (field(3, b'"at":"2', b'"at":"1'), "entry 4 was changed after entry 5"),
    "a task changed": (field(3, b"lab/numbers", b"lab/letters"),
        "entry 4 was changed after entry 5"),
    "a submission changed": (field(3, b"submission 4", b"submission 1"),
        "entry 4 was changed after entry 5"),
    "answers changed": (field(3, b'"answers":"answers"', b'"answers":"others"'),
        "entry 4 was changed after entry 5"),
    "a kind changed": (field(3, b'"graded"', b'"ignored"'), "entry 4 was changed after entry 5"),
    "a space added": (field(3, b'"kind":', b'"kind": '), "entry 4 was changed after entry 5"),
    "a field added twice": (field(3, b'"kind":', b'"score":1.0,"kind":'),
        "entry 4 was changed after entry 5"),
    "a carriage return added": (field(3, b"\n", b"\r\n"), "entry 4 was changed after entry 5"),
    "a byte order mark added": (field(0, b'{"number"', b'\xef\xbb\xbf{"number"'),
        "entry 1 was changed after entry 2"),
    "bytes that are no text": (field(3, b"submission", b"\xff\xfe"), "line 4 is not an entry"),
    "a previous hash changed": (field(3, b'"previous":"', b'"previous":"x'),
        "entry 3 was changed after entry 4"),
    "a previous hash removed": (field(3, b'"previous"', b'"before"'), "line 4 is not an entry"),
    "the first previous hash changed": (field(0, b'"previous":"0', b'"previous":"1'),
        "it names an entry before it"),
    "a number of infinity": (field(3, b'"number":4', b'"number":1e400'), "line 4 is not an entry"),
    "a number of NaN": (field(3, b'"number":4', b'"number":NaN'), "line 4 is not an entry"),
    "a number below 1": (field(3, b'"number":4', b'"number":-4'), "line 4 is not an entry"),
    "a number of many digits": (field(3, b'"number":4', b'"number":' + b"9" * 4000),
        "line 4 is not an entry"),
    "a number of too many digits": (field(3, b'"number":4', b'"number":' + b"9" * 9000),
        "line 4 is not an entry"),
    "a number in text": (field(3, b'"number":4', b'"number":"4"'), "line 4 is not an entry"),
    "a number changed": (field(3, b'"number":4', b'"number":9'),
        "line 4 has the number 9 where 4 is expected"),
    "the last number the largest that is read": (
        field(5, b'"number":6', b'"number":%d' % (2**53 - 1)),
        "line 6 has the number 9,007,199,254,740,991 where 6 is expected",
    ),
    "deep nesting": (put(3, b"[" * 100_000 + b"\n"), "line 4 is not an entry"),
    "a list": (put(3, b"[1]\n"), "line 4 is not an entry"),
    "an empty line": (put(3, b"\n"), "line 4 is not an entry"),
    "a line without an end": (put(6, b'{"number":7,"at":"20'), "line 7 is not an entry"),
    "text at the end": (put(6, b"good\n"), "line 7 is not an entry"),
    "the first line removed": (only(1, 2, 3, 4, 5), "line 1 has the number 2 where 1 is expected"),
    "a line removed": (only(0, 1, 3, 4, 5), "line 3 has the number 4 where 3 is expected"),
    "the last line removed": (only(0, 1, 2, 3, 4), "the last 1 of 6 entries are missing"),
    "several last lines removed": (only(0, 1), "the last 4 of 6 entries are missing"),
    "all lines removed": (only(), "the last 6 of 6 entries are missing"),
    "the ledger removed": (lambda files: files.path.unlink(),
        "the last 6 of 6 entries are missing"),
    "a line twice": (only(0, 1, 1, 2, 3, 4, 5), "line 3 has the number 2 where 3 is expected"),
    "the last line twice": (only(0, 1, 2, 3, 4, 5, 5),
        "line 7 has the number 6 where 7 is expected"),
    "lines exchanged": (only(0, 2, 1, 3, 4, 5), "line 2 has the number 3 where 2 is expected"),
    "lines in reverse": (only(5, 4, 3, 2, 1, 0), "line 1 has the number 6 where 1 is expected"),
    "a line added by hand": (added(), "what follows was added by hand"),
    "a score of infinity added by hand": (added(score=1e999), "what follows was added by hand"),
    "fields of odd types added by hand": (added(score=[], agent={}, answers=None),
        "what follows was added by hand"),
    "a line that records a change added by hand": (added(kind="changed", found="?"),
        "before entry 7 was written: ?"),
    "cut, and a line added by hand": (cut_and_added, "the last 2 of 6 entries are missing"),
    "the head removed": (lambda files: files.head.unlink(), "missing or damaged"),
    "the head emptied": (lambda files: files.head.write_text(""), "missing or damaged"),
    "the head not a number": (lambda files: files.head.write_text("1e400 x\n"),
        "missing or damaged"),
    "the head a folder": (lambda files: (files.head.unlink(), files.head.mkdir()),
        "missing or damaged"),
    "an earlier head": (
        lambda files: files.head.write_text(f"2 {hashlib.sha256(files.lines[1]).hexdigest()}\n"),
        "ends with line 2: what follows was added by hand, or the head is an older one",
    ),
    "a smaller number in the head": (lambda files: files.renumber_head(-1),
        "has the number -1 where 6 is expected"),
    "a larger number in the head": (lambda files: files.renumber_head(999),
        "has the number 999 where 6 is expected"),
    "another hash in the head": (lambda files: files.head.write_text(f"6 {'a' * 64}\n"),
        "entry 6 was changed"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_tampering_is_found_and_stays_found_after_more_gradings(tmp_path: Path, name: str) -> None:
    files = Files(tmp_path)
    tamper, expected = FOUND[name]
    tamper(files)
    if name != "the ledger removed":
        assert expected in "; ".join(verify(files.path).problems)
    if name == "the head a folder":
        files.head.rmdir()
    for number, ledger in ((50, Ledger(files.path)), (51, files.ledger), (52, Ledger(files.path))):
        assert "different files" in look(ledger, number) or name in (
            "all lines removed",
            "the ledger removed",
        )
        found = verify(files.path)
        assert expected in "; ".join(found.problems), "a grading hides no change"
    recorded = [
        line for line in files.path.read_bytes().splitlines() if b'"kind":"changed"' in line
    ]
    assert len(recorded) <= 1, "a change is recorded once"
    assert look(Ledger(files.path), 52) == look(Ledger(files.path), 52)


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
@pytest.mark.parametrize("name", [NAME, HEAD])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_neither_waited_for_nor_read(
    tmp_path: Path, name: str, kind: str
) -> None:
    path = Files(tmp_path).path
    (tmp_path / name).unlink()
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"not a regular file|a link, which is not followed"):
        look(Ledger(path), 50)
    if name == NAME:
        with pytest.raises(InputError, match="not a regular file"):
            verify(path)
    else:
        assert "missing or damaged" in "; ".join(verify(path).problems)


def test_each_kind_of_tampering_is_listed_once_where_it_was_done(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.replace(1, b'"score":0.02', b'"score":0.92')
    assert verify(files.path).problems == ("entry 2 was changed after entry 3 was written",)
    files.lines = files.lines[:-2]
    look(Ledger(files.path), 50)
    assert verify(files.path).problems == (
        "entry 2 was changed after entry 3 was written",
        "before entry 5 was written: the last 2 of 6 entries are missing",
    )


UNKNOWABLE: dict[str, Callable[[Files], object]] = {
    "ledger and head rewritten with another score": lambda files: files.rewrite(
        [line.replace(b'"score":0.06', b'"score":0.96') for line in files.lines]
    ),
    "ledger and head rewritten without a line": lambda files: files.rewrite(
        files.lines[:2] + files.lines[3:]
    ),
    "ledger and head rewritten with a further line": lambda files: files.rewrite(
        [*files.lines, files.entry()]
    ),
    "ledger and head cut": lambda files: files.rewrite(files.lines[:2]),
    "ledger and head emptied": lambda files: (files.path.write_bytes(b""), files.head.unlink()),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWABLE)
def test_whoever_rewrites_ledger_and_head_leaves_no_trace(tmp_path: Path, name: str) -> None:
    """As docs/grading.md says: without a secret or a third party, this cannot be found."""
    files = Files(tmp_path)
    UNKNOWABLE[name](files)
    assert verify(files.path).problems == ()
    look(Ledger(files.path), 50)
    assert verify(files.path).problems == ()


class Killed(BaseException):
    """Ends a grader in the middle of writing."""


@pytest.mark.parametrize("lines_before", [0, 8, 9])
@pytest.mark.parametrize(
    "step", ["head", "half a line", "no line", "whole line", "last head", "truncation"]
)
def test_a_grader_killed_at_any_step_of_writing_is_not_called_tampering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, lines_before: int
) -> None:
    path = tmp_path / NAME
    ledger = Ledger(path)
    for number in range(lines_before):
        look(ledger, number)
    calls = []

    def write(descriptor: int, data: bytes) -> None:
        calls.append(data)
        kill_at = {"head": 1, "last head": 3}.get(step, 2 if "line" in step else 9)
        part = {"half a line": len(data) // 2, "no line": 0, "head": 0, "last head": 0}.get(
            step, len(data)
        )
        write_fully(descriptor, data[:part] if len(calls) == kill_at else data)
        if len(calls) == kill_at:
            raise Killed

    def truncate(descriptor: int, size: int) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("bioeval_tui.grade.ledger.write_fully", write)
        if step == "truncation":
            patched.setattr("os.ftruncate", truncate)
        with pytest.raises(Killed):
            look(ledger, 99)
    assert verify(path).problems == ()
    look(ledger, 100)
    look(Ledger(path), 101)
    found = verify(path)
    is_written = step not in ("head", "no line")
    assert (found.lines, found.problems) == (lines_before + 2 + is_written, ())


def test_a_ledger_restored_from_a_copy_by_renaming_is_continued(tmp_path: Path) -> None:
    files = Files(tmp_path)
    copy = tmp_path / "copy"
    copy.write_bytes(files.path.read_bytes())
    copy.replace(files.path)
    look(files.ledger, 50)
    found = verify(files.path)
    assert (found.lines, found.problems) == (7, ())


def test_a_ledger_and_a_report_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    """They have a score that is no longer computed."""
    files = Files(tmp_path)
    files.rewrite([line.replace(b'"kind"', b'"ladder_score":0.5,"kind"') for line in files.lines])
    assert look(Ledger(files.path), 7) == "7 different files scored against these answers"
    assert verify(files.path).problems == ()
    assert ReportExtra.from_dict({"looks": 3, "ladder_score": 1.004}).to_dict() == {"looks": 3}


def test_there_is_nothing_to_verify_without_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no ledger"):
        verify(tmp_path / "other.jsonl")


def test_a_deleted_ledger_is_found_by_its_head(tmp_path: Path) -> None:
    files = Files(tmp_path)
    held = len(files.lines)
    files.path.unlink()
    assert verify(files.path).problems == (f"the last {held} of {held} entries are missing",)


@pytest.mark.parametrize(
    ("number", "words"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (112, "112th"), (1021, "1,021st")],
)
def test_an_ordinal_has_its_english_ending(number: int, words: str) -> None:
    assert ordinal(number) == words


def test_an_earlier_head_is_checked_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / NAME
    ledger = Ledger(path)
    for number in range(3):
        ledger.look("a/b", f"{number}" * 64, "f" * 64, "me", 0.5)
    early = verify(path).head
    assert re.fullmatch("3:[0-9a-f]{64}", early)
    ledger.look("a/b", "9" * 64, "f" * 64, "me", 0.5)
    assert verify(path, early).problems == ()
    # Ledger and head rewritten together: nothing to see, but for who knows an earlier head.
    path.unlink()
    (tmp_path / HEAD).unlink()
    again = Ledger(path)
    for number in range(5):
        again.look("a/b", f"{number + 1}" * 64, "f" * 64, "me", 0.5)
    assert verify(path).problems == ()
    assert verify(path, early).problems == (
        "entry 3 is not the one that the head names: lines up to it were changed",
    )
    assert "entry 9 is missing" in verify(path, "9" + early[1:]).problems[0]
    for wrong in ("3", "x:" + early[2:], early[:-1]):
        with pytest.raises(InputError, match="is no head of a ledger"):
            verify(path, wrong)
