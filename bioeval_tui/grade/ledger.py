"""The ledger of graded submissions: one line each, with the hash of the previous line.

Every score reveals something about the hidden answers: with enough attempts, one finds submissions that score well there and
nowhere else. `grading-ledger.jsonl` is in the folder of the tasks' data. Lines are only appended, under a lock, so that
concurrent graders lose none. `verify` finds lines that were changed, moved, added by hand or removed, including the last ones:
`grading-ledger.head` contains the number and the hash of the last line.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bioeval_tui.errors import InputError
from bioeval_tui.files import write_fully
from bioeval_tui.portable import BINARY, lock
from bioeval_tui.text import clean_line

NAME = "grading-ledger.jsonl"
HEAD = "grading-ledger.head"
FIRST = "0" * 64
"""The previous hash in the first line."""

GRADED, SHOWN = "graded", "answers shown"
LADDER_STEP = 3.0
"""Number of standard errors by which an attempt must be better to count as better.

With one, the best of a few dozen random submissions would still rise: it is about two above the first.
"""


@dataclass(frozen=True, slots=True)
class Looks:
    """How many submissions were scored against the answers, including this one: by all agents, and by its own."""

    all: int
    of_agent: int

    @property
    def words(self) -> str:
        """`graded once`, or such as `37th submission scored against these answers, 3rd by this agent`."""
        if self.all == 1:
            return "graded once"
        of_agent = "" if self.of_agent == self.all else f", {ordinal(self.of_agent)} by this agent"
        return f"{ordinal(self.all)} submission scored against these answers{of_agent}"


class Ledger:
    """A ledger file, created with its first line. Several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_to = 0
        self._number, self._last = 0, FIRST
        self._seen: dict[str, dict[str, tuple[str | None, float | None]]] = {}
        self._of_agent: Counter[tuple[str, str | None]] = Counter()

    def look(self, task_id: str, submission: str, answers: str, agent: str | None, score: float) -> Looks:
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
        self._add(task_id, answers, entry)
        first, _ = self._seen[answers][submission]
        return Looks(len(self._seen[answers]), self._of_agent[answers, agent] + (first != agent))

    def history(self, answers: str, agent: str | None) -> list[float]:
        """Return the scores of an agent's different submissions for these answers, in order.

        Raises:
            OSError: the ledger cannot be read.
        """
        if not self.path.exists():
            return []
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | BINARY)
        try:
            lock(descriptor, wait=True)
            self._catch_up(descriptor)
        finally:
            os.close(descriptor)
        seen = self._seen.get(answers, {}).values()
        return [score for who, score in seen if who == agent and score is not None]

    def note_shown(self, task_id: str, answers: str, submission: str, agent: str | None) -> None:
        """Record that answers were shown to a person.

        Raises:
            OSError: the ledger cannot be written.
        """
        self._add(task_id, answers, {"kind": SHOWN, "submission": submission, "agent": agent})

    def _add(self, task_id: str, answers: str, more: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o644)
        try:
            lock(descriptor, wait=True)
            self._catch_up(descriptor)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            entry = {"number": self._number + 1, "at": at, "task_id": task_id, "answers": answers, **more}
            entry["previous"] = self._last
            line = _line(entry)
            write_fully(descriptor, line)
            self._take_in(line)
            self._read_to += len(line)
            self._write_head()
        finally:
            os.close(descriptor)

    def _write_head(self) -> None:
        # Overwritten and then truncated, because emptying the file first is slow.
        descriptor = os.open(self.path.parent / HEAD, os.O_WRONLY | os.O_CREAT | BINARY, 0o644)
        try:
            text = f"{self._number} {self._last}\n".encode("ascii")
            write_fully(descriptor, text)
            if os.fstat(descriptor).st_size != len(text):
                os.ftruncate(descriptor, len(text))
        finally:
            os.close(descriptor)

    def _catch_up(self, descriptor: int) -> None:
        """Read what other processes have added since the last time."""
        size = os.fstat(descriptor).st_size
        if size < self._read_to:
            self._read_to, self._number, self._last = 0, 0, FIRST
            self._seen.clear()
            self._of_agent.clear()
        os.lseek(descriptor, self._read_to, os.SEEK_SET)
        data = bytearray()
        while block := os.read(descriptor, 1 << 20):
            data += block
        for line in bytes(data).splitlines(keepends=True):
            if not line.endswith(
                b"\n"
            ):  # cut by a crash: `verify` says so; what follows starts a line of its own
                write_fully(descriptor, b"\n")
                line += b"\n"
                data += b"\n"
            self._take_in(line)
        self._read_to += len(data)

    def _take_in(self, line: bytes) -> None:
        self._number += 1
        self._last = _hash(line)
        try:
            entry = json.loads(line)
            if entry["kind"] == GRADED:
                answers, submission = str(entry["answers"]), str(entry["submission"])
                seen = self._seen.setdefault(answers, {})
                if submission not in seen:
                    seen[submission] = entry["agent"], entry["score"]
                    self._of_agent[answers, entry["agent"]] += 1
        except (ValueError, KeyError, TypeError):
            pass  # `verify` names it; grading goes on


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of checking a ledger: the number of lines, and the problems."""

    lines: int
    problems: tuple[str, ...]


def verify(path: Path) -> Verified:
    """Check every line of a ledger against the one before, and the last against `grading-ledger.head`.

    Raises:
        InputError: there is no such file, or it cannot be read.
    """
    shown = clean_line(str(path), 300)
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        raise InputError(
            f"there is no ledger {shown}, because nothing was graded with that data yet"
        ) from None
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {clean_line(str(error), 160)}") from None
    problems: list[str] = []
    hashes = {0: FIRST}  # by the number of the entry
    last = 0
    for place, line in enumerate(lines, start=1):
        expected = last + 1
        try:
            entry = json.loads(line)
            number, previous = int(entry["number"]), entry["previous"]
        except (ValueError, KeyError, TypeError, RecursionError):
            problems.append(f"line {place:,} is not an entry of a ledger")
            hashes[expected] = _hash(line)
            last = expected
            continue
        if number != expected:
            problems.append(
                f"line {place:,} has the number {number:,} where {expected:,} is expected: lines are missing or were moved"
            )
        if hashes.get(number - 1, previous) != previous:
            problems.append(f"entry {number - 1:,} was changed after entry {number:,} was written")
        hashes[number] = _hash(line)
        last = max(last, number)
    problems += _head_problems(path.parent / HEAD, hashes, last)
    return Verified(len(lines), tuple(problems))


def _head_problems(head: Path, hashes: Mapping[int, str], last: int) -> Iterator[str]:
    try:
        number, digest = head.read_text(encoding="ascii").split()
        count = int(number)
    except (OSError, ValueError, UnicodeDecodeError):
        yield f"{HEAD} is missing or damaged: it is unknown whether the last lines are complete"
        return
    if count > last:
        yield f"the last {count - last:,} of {count:,} entries are missing"
    elif hashes.get(count) != digest:
        yield f"entry {count:,} was changed"


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


def ladder(scores: Sequence[float], step: float, *, lower_is_better: bool) -> list[float]:
    """Return the Ladder score after each attempt: the best score so far, updated only if a new one beats it by more than `step`.

    A score that counts is rounded to a multiple of `step`; these scores alone reveal almost nothing of the answers through
    attempts that are not really better. Source: Blum and Hardt, The Ladder: A Reliable Leaderboard for Machine Learning
    Competitions (2015), algorithm 1.

    Args:
        scores: in the order of the attempts.
        step: the smallest improvement that counts, above 0.
        lower_is_better: the direction.
    """
    sign = -1.0 if lower_is_better else 1.0
    best: float | None = None
    found = []
    for score in scores:
        if best is None or sign * (score - best) > step:
            best = round(score / step) * step
        found.append(best)
    return found
