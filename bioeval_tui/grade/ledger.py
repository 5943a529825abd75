"""The ledger of graded submissions: one line each, with the hash of the previous line.

Every score reveals something about the hidden answers: with enough attempts, one finds submissions
that score well there and nowhere else. `grading-ledger.jsonl` is in this program's own data folder,
and counts by the hash of the answers: the folder that the answers were read from may be another's.
Lines are only appended, under a lock, so that concurrent graders lose none.

`grading-ledger.head` has the number and hash of the last line. While a line is written, the head
also has that line: a grader that is killed leaves either nothing, or a line that the head knows and
the next grader completes. So a line that the head does not know was not written by this program,
and lines that only the head knows were removed. A grader compares the two before it adds its line,
and records a difference as a line of its own. Nothing is secret here: whoever rewrites the ledger
and its head as this program would, leaves no trace.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.files import (
    Folder,
    folder_below,
    folder_file,
    open_own,
    private_dir,
    write_fully,
)
from bioeval_tui.base.portable import BINARY, is_same_file, lock, read_part
from bioeval_tui.base.text import clean_line

NAME = "grading-ledger.jsonl"
HEAD = "grading-ledger.head"
FIRST = "0" * 64
"""The previous hash in the first line."""
_LARGEST = 2**53
"""No number is larger, also after someone has numbered a line so by hand."""

GRADED, SHOWN, CHANGED = "graded", "answers shown", "changed"


@dataclass(frozen=True, slots=True)
class Looks:
    """How many different files were scored against the answers, including this one: by all agents,
    and by its own, which is None if no agent is known.
    """

    all: int
    of_agent: int | None = None

    @property
    def words(self) -> str:
        """Such as `37 different files scored against these answers, 3 of them by this agent`."""
        if self.all == 1:
            return "the only file scored against these answers so far"
        words = f"{self.all:,} different files scored against these answers"
        match self.of_agent:
            case None:
                return words
            case self.all:
                return f"{words}, all by this agent"
            case own:
                return f"{words}, {own:,} of them by this agent"


class Ledger:
    """A ledger file, created with its first line. Several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def _forget(self) -> None:
        self._read_to = 0
        self._last_size = 0
        self._number, self._last = 0, FIRST
        self._seen: dict[str, dict[str, tuple[str | None, float | None]]] = {}
        self._of_agent: Counter[tuple[str, str | None]] = Counter()

    def look(
        self, task_id: str, submission: str, answers: str, agent: str | None, score: float
    ) -> Looks:
        """Add a scored submission and return the counts. The same file again does not count.

        Args:
            task_id: the task.
            submission, answers: the SHA-256 of the files, as hexadecimal text.
            agent: who submitted the file, if known.
            score: the submission's score.

        Raises:
            OSError: the ledger cannot be written.
        """
        entry = {"kind": GRADED, "submission": submission, "agent": agent, "score": score}
        self._add({"task_id": task_id, "answers": answers, **entry})
        first, _ = self._seen[answers][submission]
        if agent is None:
            return Looks(len(self._seen[answers]))
        return Looks(len(self._seen[answers]), self._of_agent[answers, agent] + (first != agent))

    def history(self, answers: str, agent: str | None) -> list[float]:
        """Return the scores of an agent's different submissions for these answers, in order.

        Raises:
            OSError: the ledger cannot be read.
        """
        if not self.path.exists():
            return []
        with _locked(self.path, lambda: self._open(self.path.name, os.O_RDWR)) as descriptor:
            self._catch_up(descriptor)
        seen = self._seen.get(answers, {}).values()
        return [score for who, score in seen if who == agent and score is not None]

    def note_shown(self, task_id: str, answers: str, submission: str, agent: str | None) -> None:
        """Record that answers were shown to a person.

        Raises:
            OSError: the ledger cannot be written.
        """
        entry = {"kind": SHOWN, "submission": submission, "agent": agent}
        self._add({"task_id": task_id, "answers": answers, **entry})

    def _add(self, entry: dict[str, Any]) -> None:
        private_dir(self.path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        with _locked(self.path, lambda: self._open(self.path.name, flags)) as descriptor:
            head = _read_head(self.path)
            if begun := self._catch_up(descriptor):
                whole = (
                    head.next_line if head and head.next_line.startswith(begun) else begun + b"\n"
                )
                write_fully(descriptor, whole[len(begun) :])
                self._add_line(whole)
            if not _is_end(self._number, self._last, head):
                hashes = list(map(_hash, _lines(self.path.read_bytes())))
                problem = _end_problem(hashes, self._number, head)
                self._write(descriptor, {"kind": CHANGED, "found": problem})
            self._write(descriptor, entry)

    def _open(self, name: str, flags: int) -> int:
        return open_own(folder_file(self._folder, name), flags)

    @cached_property
    def _folder(self) -> Folder:
        """The ledger's folder, whose way is looked at once, not for each entry."""
        return folder_below(self.path.parent)

    def _write(self, descriptor: int, entry: dict[str, Any]) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = _line(
            {"number": min(self._number + 1, _LARGEST), "at": at, **entry, "previous": self._last}
        )
        head = self._open(HEAD, os.O_WRONLY | os.O_CREAT)
        try:
            self._write_head(head, line)
            write_fully(descriptor, line)
            self._add_line(line)
            self._write_head(head)
        finally:
            os.close(head)

    def _write_head(self, head: int, next_line: bytes = b"") -> None:
        # Overwritten and then truncated, because emptying the file first is slow.
        os.lseek(head, 0, os.SEEK_SET)
        text = f"{self._number} {self._last}\n".encode("ascii") + next_line
        write_fully(head, text)
        if os.fstat(head).st_size != len(text):
            os.ftruncate(head, len(text))

    def _catch_up(self, descriptor: int) -> bytes:
        """Read what other processes have added, or everything if the file was replaced; return a
        line that has no end yet.
        """
        last = read_part(descriptor, self._last_size, self._read_to - self._last_size)
        if self._read_to and _hash(last) != self._last:
            self._forget()
        data = bytearray()
        while block := read_part(descriptor, 1 << 20, self._read_to + len(data)):
            data += block
        for line in _lines(bytes(data)):
            if not line.endswith(b"\n"):
                return line
            self._add_line(line)
        return b""

    def _add_line(self, line: bytes) -> None:
        """Go on behind a line: count its submission, if it has one that is new."""
        self._last, self._last_size = _hash(line), len(line)
        self._read_to += len(line)
        entry = _entry(line)
        # A line without an entry takes a number all the same.
        self._number = self._number + 1 if entry is None else max(self._number, entry["number"])
        if entry is None or entry.get("kind") != GRADED:
            return
        # A changed line may contain anything, also in place of a score, which is written as a
        # float. `verify` reports it; grading continues.
        answers, submission = str(entry.get("answers")), str(entry.get("submission"))
        agent, score = entry.get("agent"), entry.get("score")
        if not isinstance(agent, str):
            agent = None
        seen = self._seen.setdefault(answers, {})
        if submission not in seen:
            seen[submission] = agent, score if isinstance(score, float) else None
            self._of_agent[answers, agent] += 1


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether a ledger is intact, as `ledger verify --json` prints it."""

    file: str
    lines: int
    whole: bool
    head: str
    """Such as `37:9f86d0…`.

    Whoever was told it can check later that the lines up to it are the same (`verify`).
    """
    problems: tuple[str, ...]


def verify(path: Path, head_known: str = "") -> Verified:
    """Check every line of a ledger against the one before, and the last against
    `grading-ledger.head`.

    Args:
        path: the ledger.
        head_known: a head that the ledger had earlier, as `Verified.head`; empty if none is known.

    Raises:
        InputError: there is no such file, or it cannot be read, or `head_known` is no head.
    """
    number_known, hash_known = _known(head_known) if head_known else (0, FIRST)
    shown = clean_line(str(path), 300)
    try:
        # Locked, so that no line is being written; some systems lock only what is open for writing.
        flags = os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY
        with _locked(path, lambda: os.open(path, flags | BINARY)):
            lines, head = _lines(path.read_bytes()), _read_head(path)
    except FileNotFoundError:
        lines, head = [], _read_head(path)
        if head is None:
            why = "nothing was graded with that data yet"
            raise InputError(f"there is no ledger {shown}, because {why}") from None
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {clean_line(str(error), 160)}") from None
    if lines and not lines[-1].endswith(b"\n") and head and head.next_line.startswith(lines[-1]):
        lines.pop()  # by a grader that was killed
    problems: list[str] = []
    hashes = {0: FIRST}  # by the number of the entry
    last = 0
    for place, line in enumerate(lines, start=1):
        expected = last + 1
        entry = _entry(line)
        if entry is None:
            problems.append(f"line {place:,} is not an entry of a ledger")
            hashes[expected] = _hash(line)
            last = expected
            continue
        number, previous = entry["number"], entry["previous"]
        if number != expected:
            problems.append(
                f"line {place:,} has the number {number:,} where {expected:,} is expected: lines"
                " are missing or were moved"
            )
        if hashes.get(number - 1, previous) != previous:
            changed = f"entry {number - 1:,} was changed after entry {number:,} was written"
            if number == 1:
                changed = "entry 1 was changed: it names an entry before it"
            problems.append(changed)
        if entry.get("kind") == CHANGED:
            problems.append(
                f"before entry {number:,} was written: {clean_line(str(entry.get('found')), 300)}"
            )
        hashes[number] = _hash(line)
        last = max(last, number)
    if end := _end_problem(list(map(_hash, lines)), last, head):
        problems.append(end)
    if hashes.get(number_known) != hash_known:
        missing = "is missing" if number_known not in hashes else "is not the one"
        problems.append(
            f"entry {number_known:,} {missing} that the head names: lines up to it were changed"
        )
    return Verified(
        file=str(path),
        lines=len(lines),
        whole=not problems,
        head=f"{last}:{hashes[last]}" if last in hashes else "",
        problems=tuple(problems),
    )


def _known(head: str) -> tuple[int, str]:
    number, _, digest = head.strip().partition(":")
    if not number.isdecimal() or not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise InputError(
            f"`{clean_line(head, 100)}` is no head of a ledger: NUMBER:HASH, as `ledger verify`"
            " prints it"
        )
    return int(number), digest


@dataclass(frozen=True, slots=True)
class _Head:
    """The number and hash of the last line, and the line that is being written, if any.

    Without a hash, it is damaged.
    """

    number: int
    digest: str
    next_line: bytes = b""


def _read_head(ledger: Path) -> _Head | None:
    """Return the head of a ledger; None if it has none."""
    path = ledger.parent / HEAD
    try:
        _require_file(path)
        whole = path.read_bytes()
        if not whole:  # made by a grader that was killed
            return None
        first, _, rest = whole.partition(b"\n")
        number, digest = first.decode("ascii").split()
        # A grader that is killed may leave bytes of an earlier line, which names another line
        # before it.
        is_next = rest.endswith(f'"previous":"{digest}"}}\n'.encode("ascii"))
        return _Head(int(number), digest, rest if is_next else b"")
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return _Head(0, "")


def _is_end(number: int, digest: str, head: _Head | None) -> bool:
    """Return whether a ledger may end with the line of that number and hash, by its head."""
    if head is None:
        return digest == FIRST
    return (number, digest) == (head.number, head.digest) or digest == _hash(head.next_line)


def _end_problem(hashes: Sequence[str], last: int, head: _Head | None) -> str:
    """Return what is wrong with the end of a ledger, from the hashes of its lines and its last
    number; empty for nothing.
    """
    if _is_end(last, hashes[-1] if hashes else FIRST, head):
        return ""
    if head is None or not head.digest:
        return f"{HEAD} is missing or damaged: it is unknown whether the last lines are complete"
    if hashes and head.digest == hashes[-1]:
        return f"{HEAD} has the number {head.number:,} where {last:,} is expected"
    if head.number > last:
        return f"the last {head.number - last:,} of {head.number:,} entries are missing"
    known = [FIRST, *hashes]
    if head.digest not in known:
        return f"entry {head.number:,} was changed"
    place = known.index(head.digest)
    return (
        f"{HEAD} ends with line {place:,}: what follows was added by hand, or the head is an"
        " older one"
    )


def _require_file(path: Path) -> None:
    """Raise OSError for what exists and is no file: a pipe would be waited for, and a device may
    have no end.
    """
    with contextlib.suppress(FileNotFoundError):
        # pathlib takes three times as long
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            raise OSError(f"{path.name} is not a regular file")


@contextlib.contextmanager
def _locked(path: Path, open_ledger: Callable[[], int]) -> Iterator[int]:
    """Open and lock a ledger, waiting for whoever has it; yield its descriptor, which is closed at
    the end.

    `open_ledger` opens the file at `path` with the flags that the caller needs.
    """
    while True:
        _require_file(path)
        descriptor = open_ledger()
        try:
            lock(descriptor, wait=True)
            # Whoever had the lock may have replaced or removed the file meanwhile. What was written
            # to the old one would be lost, so the one that is there now is opened.
            if is_same_file(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _lines(data: bytes) -> list[bytes]:
    return BytesIO(data).readlines()


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return the entry in a line; None if the line has no entry."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("previous"), str):
        return None
    number = entry.get("number")
    if type(number) is int and 0 < number <= _LARGEST:
        return entry
    return None


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def _hash(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal text.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ordinal(number: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th`, …, `1,001st`."""
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    return f"{number:,}" + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
