"""A recorded run: the form of its id, the paths of its files, which engine owns it now, and what
the list of runs has of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bioeval_tui.base.errors import RecordingError, StorageError
from bioeval_tui.base.files import below, read_small, real, write_whole
from bioeval_tui.base.portable import BINARY, is_same_file, lock
from bioeval_tui.base.text import clean_line

SUFFIX = ".jsonl"
OVERLAY = ".overlay.jsonl"
LARGE = 4 << 20
"""The size in bytes from which a recording is read as rows: a smaller one is read in less than a
second.
"""
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4,8}")


def new_run_ids(count: int, runs_dir: Path) -> list[str]:
    """Return that many ids, such as 20261120-195407-7f3a, that differ from each other and from
    every run in the folder.
    """
    now = datetime.now(UTC)
    ids: dict[str, None] = {}
    while len(ids) < count:
        # In a large batch, two of the short tags would often be equal.
        run_id = f"{now:%Y%m%d-%H%M%S}-{os.urandom(2 if count < 50 else 4).hex()}"
        if not recording_path(runs_dir, run_id).exists():
            ids[run_id] = None
    return list(ids)


def is_run_id(text: str) -> bool:
    """Return whether `text` has the form of a run id (and so is safe as a file name)."""
    return _ID.fullmatch(text) is not None


def recording_path(runs_dir: Path, run_id: str) -> Path:
    """Return the recording's path."""
    return runs_dir / f"{run_id}{SUFFIX}"


def live_path(recording: Path) -> Path:
    """Return the path of the file that exists while an engine owns the run."""
    return recording.with_suffix(".live")


def imported_path(recording: Path) -> Path:
    """Return the path of the mark that a recording came from elsewhere: its paths and addresses are
    not the user's.
    """
    return recording.with_suffix(".imported")


def is_imported(recording: Path) -> bool:
    """Return whether a recording was imported with `runs import`."""
    return imported_path(recording).exists()


def is_own(recording: Path, runs_dir: Path) -> bool:
    """Return whether the paths in a recording are trusted: it is in the runs folder, and was not
    imported.
    """
    return real(recording.parent) == real(runs_dir) and not is_imported(recording)


def overlay_path(recording: Path) -> Path:
    """Return the path of later scores and reviews."""
    return recording.with_suffix(OVERLAY)


def is_large(recording: Path) -> bool:
    """Return whether a recording is read as rows."""
    try:
        return recording.stat().st_size >= LARGE
    except OSError:
        return False  # who reads it says why


def moved_file(recording: Path) -> Path | None:
    """Return the file of a recording that was moved to another folder; None if it is no link to
    one.

    Only `runs record-to` puts such links, to a file of the same name: a link to anything else is
    not followed by who writes.
    """
    if not recording.is_symlink() or recording.suffix != SUFFIX or not is_run_id(recording.stem):
        return None
    target = real(recording)
    if target.name == recording.name:
        return target
    return None


Status = Literal["running", "completed", "cancelled", "failed", "interrupted"]


AGENT_FAILED, NO_SCORE, NOT_MEASURED = "✗ agent failed", "? not measured", "! not measured"
"""What lists say of runs without a result: because of the agent, although the run ended, or because
the run failed.
"""

REHEARSAL = "■ rehearsal"

_STATUS_WORDS = {
    "running": "● live",
    "cancelled": "– cancelled",
    "failed": NOT_MEASURED,
    "interrupted": "◐ interrupted",
}


class CataloguedRun(NamedTuple):
    """One run in the list. `score` is the mean of both conditions; None if either has no score.

    It is a row of the catalogue, of which thousands are read at once; a `RunDocument` is made of
    the whole recording.
    """

    run_id: str
    job: str
    status: Status
    started_at: str
    score: float | None
    fault: str
    scores: dict[str, float | None]
    messages: int
    model: str | None
    rehearsal: bool
    batch_id: str | None
    folder: Path
    reviewed: dict[str, Any] | None = None
    """The scores after people's reviews, in the form of `record.reviews.ReviewedScores.to_dict`;
    None without reviews.
    """
    clean: bool = True
    judged_again: bool = False
    """Whether the scores include later verdicts."""
    imported: bool = False
    """Whether it was imported with `runs import`."""
    identity: Mapping[str, str] = {}
    """Who was tested by whom, and with what."""
    difference: float | None = None
    """Supplied − withheld on what both conditions share; None of a run that is not clean, or if one
    has no score.
    """
    chatbot: str = ""
    """Which of its server's agents was tested; empty in protocols that do not ask for one."""
    names_chatbot: bool = False
    """Whether other runs in the list, of the same agent and model, tested another chatbot."""

    @property
    def measured(self) -> bool:
        """Whether it has its main score: the mean of both conditions, or the score of its only
        one.
        """
        return self.score is not None or (
            len(self.scores) == 1 and None not in self.scores.values()
        )

    @property
    def status_words(self) -> str:
        """Its status as lists show it, with a sign: of a completed run also if its agent failed or
        it has no score.
        """
        if self.status != "completed":
            return _STATUS_WORDS[self.status]
        if self.imported:
            return "↓ imported"
        if "agent" in self.fault.split(", "):
            return AGENT_FAILED
        if not self.measured:
            return NO_SCORE
        if self.rehearsal:
            return REHEARSAL
        return "■ completed"

    @property
    def agent(self) -> str:
        """What the job or its address calls the agent."""
        return self.identity.get("agent", "")

    @property
    def agent_words(self) -> str:
        """The agent and the model that was asked for, because several may share an address; its
        chatbot, where that tells it from others; never the same twice.
        """
        chatbot = self.chatbot if self.names_chatbot else ""
        return " · ".join(dict.fromkeys(filter(None, (self.agent, chatbot, self.model))))

    @property
    def began(self) -> datetime:
        """When it started."""
        return datetime.fromisoformat(self.started_at)

    @property
    def reviewers(self) -> tuple[str, ...]:
        """Who has reviewed it."""
        if self.reviewed:
            return tuple(clean_line(name, 80) for name in self.reviewed["reviewers"])
        return ()

    @property
    def only_condition(self) -> str | None:
        """Its only condition; None if it has both, or never started."""
        if len(self.scores) == 1:
            return next(iter(self.scores))
        return None

    def differences(self, other: CataloguedRun) -> list[str]:
        """Return in what the runs differ besides their results, such as `agent`; nothing of a run
        whose identity is unknown.
        """
        theirs = other.identity
        return [
            name for name, told in self.identity.items() if name in theirs and theirs[name] != told
        ]

    @property
    def path(self) -> Path:
        """The recording."""
        return recording_path(self.folder, self.run_id)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, with the recording's path for its folder."""
        values = self._asdict()
        del values["names_chatbot"]  # it is of the list, not of the run
        return values | {"path": f"{values.pop('folder')}{os.sep}{self.run_id}{SUFFIX}"}


def name_chatbots(runs: Iterable[CataloguedRun]) -> list[CataloguedRun]:
    """Return the runs, which name their chatbot where runs of the same agent and model differ in
    it, as reports do.
    """
    runs = list(runs)
    chatbots: dict[tuple[str, str | None], set[str]] = {}
    for run in runs:
        chatbots.setdefault((run.agent, run.model), set()).add(run.chatbot)
    return [
        run._replace(names_chatbot=True) if len(chatbots[run.agent, run.model]) > 1 else run
        for run in runs
    ]


@dataclass(frozen=True, slots=True)
class LiveInfo:
    """An engine: process id and start time, and the port and token for intents."""

    pid: int
    started: str
    port: int
    token: str

    def alive(self) -> bool:
        """Return whether the process is still running (a reused process id does not count)."""
        if sys.platform == "win32" or not self.started:
            return _listens(self.port)  # the process id may have been reused
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return self.started == process_start(self.pid)


def write_live(recording: Path, info: LiveInfo) -> None:
    """Write the file atomically, readable only by its owner.

    Raises:
        RecordingError: it cannot be written.
    """
    try:
        # It is meaningless after a power failure, so there is no need to sync it.
        live = below(recording.parent, live_path(recording).name)
        write_whole(live, json.dumps(asdict(info)), mode=0o600, sync=False)
    except StorageError as error:
        raise RecordingError(str(error)) from None


def read_live(recording: Path) -> LiveInfo | None:
    """Return the owner of the run; None without one."""
    try:
        data = json.loads(read_small(live_path(recording)))
        return LiveInfo(
            int(data["pid"]), str(data["started"]), int(data["port"]), str(data["token"])
        )
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def remove_live(recording: Path) -> None:
    """Remove the file; the run is no longer owned."""
    with contextlib.suppress(OSError):
        live_path(recording).unlink()


def is_live(recording: Path) -> bool:
    """Return whether an engine owns the run right now."""
    info = read_live(recording)
    return info is not None and info.alive()


def require_same_file(descriptor: int, recording: Path) -> None:
    """Raise unless a recording that is open and locked is still at its place: between the two, it
    may have been deleted or moved.
    """
    if not is_same_file(descriptor, recording):
        raise RecordingError(f"{recording.name}: was just deleted or moved; try again")


@contextlib.contextmanager
def only_here(recording: Path) -> Iterator[None]:
    """Lock a recording against writers, so that what is read inside the block stays valid.

    Raises:
        RecordingError: a process writes it, or it was deleted or moved just now.
    """
    if is_live(recording):
        raise RecordingError(f"{recording.stem} is in progress; cancel it first")
    try:
        descriptor = os.open(recording, os.O_RDONLY | BINARY)
    except FileNotFoundError:
        yield  # a link without target, or already deleted: nobody can write it
        return
    except OSError as error:
        raise RecordingError(f"{recording}: cannot be read: {error.strerror}") from None
    try:
        try:
            lock(descriptor)
        except OSError:
            raise RecordingError(
                f"{recording.stem} is in progress or being judged again in another process; wait"
                " for it or cancel it"
            ) from None
        require_same_file(descriptor, recording)
        if os.name == "nt":  # an open file cannot be deleted there
            os.close(descriptor)
            descriptor = -1
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def process_start(pid: int) -> str:
    """Return when a process started, in the kernel's own clock; empty if the system does not report
    it.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        state, *rest = stat.rpartition(")")[2].split()
        if state == "Z":
            return ""
        return rest[18]
    except (OSError, IndexError, ValueError):
        return ""


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 0.2):
            return True
    except OSError:
        return False
