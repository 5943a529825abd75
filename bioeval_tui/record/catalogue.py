"""The list of runs: a SQLite file that can be deleted and rebuilt from the recordings. It also
keeps the rows of large ones (`stored.py`), which are numbers and places in the file, never texts.

It is rebuilt whenever it is not exactly what this module writes: its tables are compared, SQLite
checks every page and the kind of every value, and what a row says is checked when it is read.

Listing reads only what may have changed. If a folder's modification time is unchanged, no file was
added or removed, and a finished run is never written again without a new file (a resumed run gets
its `.live` file first), so then only unfinished runs are checked.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import math
import os
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from urllib.parse import quote

from bioeval_tui.base.errors import RecordingError, UsageError
from bioeval_tui.base.files import below, check_database, database_files, make_database, real
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.record.condition_names import is_name
from bioeval_tui.record.masking import current, masked, masking
from bioeval_tui.record.runs import (
    OVERLAY,
    SUFFIX,
    CataloguedRun,
    Status,
    is_imported,
    is_live,
    is_run_id,
    name_chatbots,
    overlay_path,
    recording_path,
)
from bioeval_tui.statistics.means import TINY, exact_difference

if TYPE_CHECKING:  # reading recordings is needed for new ones only, and its modules load slowly
    from bioeval_tui.record.reading import Outline
    from bioeval_tui.record.state import RunState

STATUSES: tuple[Status, ...] = get_args(Status)
TRUSTED_AFTER_NS = 2_000_000_000
"""Minimum age in seconds at which a folder's modification time is trusted, because file systems'
clocks are coarse.
"""

_UNKNOWN = -1
"""A modification time that no folder has: not 0, which a folder may have whose times were left out
of an archive.
"""

LOCKED_S = 5.0
"""How long to wait for another process that writes the list."""

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([mhdw])", re.IGNORECASE)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_VERSION = 12


def _number(value: Any) -> float | None:
    if value is None:
        return None
    return float(value)


def _flag(value: int) -> bool:
    return value == 1


def _object(value: Any) -> Any:
    if value is None:
        return None
    return json.loads(value)


class _Kind(NamedTuple):
    """A kind of value: SQLite's type, and what is checked, so that SQLite finds a value of another
    kind, however it came into the file; and how it is read.
    """

    sql_type: str
    check: str
    read: Callable[[Any], Any] | None = None


_OBJECT = "json_type({0}) = 'object'"  # no other JSON, and an error for what is none
_KINDS = {
    "id": _Kind(
        "text",
        "typeof({0}) = 'text' and length({0}) between 20 and 24 and {0} not glob '*[^-0-9a-f]*' and"
        " not instr({0}, char(0))",
    ),
    "text": _Kind("text", "typeof({0}) = 'text'"),
    "text or null": _Kind("text", "typeof({0}) in ('text', 'null')"),
    "integer": _Kind("integer", "typeof({0}) = 'integer'"),
    "flag": _Kind("integer", "typeof({0}) = 'integer'", _flag),
    "real": _Kind("real", "typeof({0}) = 'real'"),
    "real or null": _Kind("real", "typeof({0}) in ('real', 'null')", _number),
    "object": _Kind("text", f"typeof({{0}}) = 'text' and {_OBJECT}", _object),
    "object or null": _Kind(
        "text", f"{{0}} is null or typeof({{0}}) = 'text' and {_OBJECT}", _object
    ),
    "bytes": _Kind("blob", "typeof({0}) = 'blob'"),
}


def _columns(**kinds: str) -> str:
    """Return the columns of a table by their names and kinds."""
    columns = []
    for name, kind in kinds.items():
        columns.append(f"{name} {_KINDS[kind].sql_type} check ({_KINDS[kind].check.format(name)})")
    return ",\n".join(columns)


_RUNS = {
    "run_id": "id", "size": "integer", "modified": "integer", "ended": "flag", "job": "text",
    "status": "text", "started_at": "text", "started": "real", "score": "real or null",
    "fault": "text", "scores": "object", "messages": "integer", "model": "text or null",
    "rehearsal": "flag", "batch_id": "text or null", "clean": "flag", "imported": "flag",
    "identity": "object", "difference": "real or null", "chatbot": "text",
}  # fmt: skip
_OVERLAYS = {
    "run_id": "id", "size": "integer", "modified": "integer", "reviewed": "object or null",
    "judged_again": "object or null",
}  # fmt: skip
_KEPT = _columns(run_id="id", part="text", digest="text", made_by="text", content="bytes")
MOST_KEPT = 40
"""The most parts of large recordings that are kept: those that were read last."""
_SCHEMA = f"""
create table runs ({_columns(**_RUNS)}, primary key (run_id)) without rowid;
create index runs_started on runs (started);
create index runs_open on runs (ended);
create table overlays ({_columns(**_OVERLAYS)}, primary key (run_id)) without rowid;
create table kept ({_KEPT});
create unique index kept_parts on kept (run_id, part);
create table folder ({_columns(modified="integer")});
insert into folder values ({_UNKNOWN});
"""  # noqa: S608  # nosec B608 - our own words
_TABLES = "select type, name, tbl_name, sql from sqlite_master order by type, name"
_INSERT = f"insert or replace into runs values ({', '.join(f':{name}' for name in _RUNS)})"  # noqa: S608  # nosec B608
_NOW = {
    name: (
        f"case when judged_again is null then {name} else json_extract(judged_again,"
        f" '$.{name}') end"
    )
    for name in ("score", "scores", "fault", "difference")
}
"""Where transcripts were judged again, the latest verdicts count.

Their score is a text, which SQLite does not round.
"""
_LISTED = [name for name in CataloguedRun._fields if name not in ("folder", "names_chatbot")]
"""What the catalogue has of a run in the list, in the order of its fields."""
_FOLDER = CataloguedRun._fields.index("folder")
_SQL_OF = {**_NOW, "judged_again": "judged_again is not null"}
_SELECTED = ", ".join(_SQL_OF.get(name, name) for name in _LISTED)
_KIND_OF = {**_OVERLAYS, **_RUNS, "judged_again": "flag"}
_READERS = [
    (at, read)
    for at, name in enumerate(_LISTED)
    if (read := _KINDS[_KIND_OF[name]].read) is not None
]
"""The places of values that are read, with their readers."""


@functools.cache
def _made_by() -> str:
    """Return a hash of the files of the code that makes what is kept, by their names, sizes and
    times: what other code made is never shown, as that of an older version or of one in work.
    """
    package = Path(__file__).parents[1]
    found = []
    for room in ("record", "report", "guards", "languages", "statistics"):
        for file in (package / room).rglob("*.py"):
            stat = file.stat()
            found.append(f"{file.relative_to(package)} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(found)).encode("utf-8", "replace")).hexdigest()


class _DamagedError(sqlite3.DatabaseError):
    """The catalogue is not what this program writes."""


_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a catalogue raises; also the text of an error may hold what is not UTF-8."""


def _is_damaged(error: Exception) -> bool:
    """Return whether a catalogue must be rebuilt; a lock, a full disk or a missing permission is
    not damage.
    """
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF in (
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
    )


@functools.cache
def _expected_tables() -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_SCHEMA)
        return database.execute(_TABLES).fetchall()


def _prepare(database: sqlite3.Connection) -> None:
    """Create the tables in an empty file; raise `_DamagedError` for another that is not as this
    version leaves it.
    """
    tables = database.execute(_TABLES).fetchall()
    if not tables:
        database.executescript(f"{_SCHEMA} pragma user_version = {_VERSION};")
        return
    if (
        database.execute("pragma user_version").fetchone()[0] != _VERSION
        or tables != _expected_tables()
    ):
        raise _DamagedError("other tables")
    # Not the pragma itself, whose answer may have text that is not UTF-8.
    whole = database.execute(
        "select integrity_check = 'ok' from pragma_integrity_check(1)"
    ).fetchone()
    if whole != (1,):
        raise _DamagedError("a damaged page or value")


def _listed_run(row: tuple[Any, ...], folder: Path) -> CataloguedRun:
    """Return the run in a row of `_SELECTED`.

    Raises `_DamagedError` if it cannot be one that this program wrote.
    """
    values = [*row]
    try:
        for at, read in _READERS:
            values[at] = read(values[at])
        values.insert(_FOLDER, folder)
        run = CataloguedRun(*values)
        if _is_listable(run):
            return run
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise _DamagedError("a row that says something else")


def _is_listable(run: CataloguedRun) -> bool:
    """Return whether a run has values that every list can show, as all have that this module
    writes.
    """
    review = run.reviewed or {"scores": {}, "score": None, "reviewers": []}
    numbers = [
        run.score,
        run.difference,
        *run.scores.values(),
        review["score"],
        *review["scores"].values(),
    ]
    texts = [run.fault, run.chatbot, *run.identity.values(), *review["reviewers"]]
    return (
        is_run_id(run.run_id)
        and run.status in STATUSES
        and run.began.tzinfo is not None
        and all(map(is_name, run.scores))
        and isinstance(review["reviewers"], list)
        and all(isinstance(text, str) for text in texts)
        and all(value is None or math.isfinite(value) for value in numbers)
    )


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list; None means any.

    `job` and `model` match a part of the name, ignoring case.
    """

    job: str | None = None
    model: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    status: Status | Literal["rehearsal", "imported"] | None = None
    """Lists call a completed run a rehearsal, or imported, where it is; `completed` finds these,
    too.
    """
    fault: str | None = None
    min_score: float | None = None

    def clause(self) -> tuple[str, list[object]]:
        """Return the condition for SQL, and its values."""
        parts: list[tuple[str, object]] = []
        if self.job is not None:
            parts.append(("instr(lower(job), ?) > 0", self.job.lower()))
        if self.model is not None:
            parts.append(("instr(lower(model), ?) > 0", self.model.lower()))
        if self.since is not None:
            parts.append(("started >= ?", self.since.timestamp()))
        if self.before is not None:
            parts.append(("started < ?", self.before.timestamp()))
        if self.status in ("rehearsal", "imported"):
            parts.append((f"status = 'completed' and {self.status} = ?", True))
        elif self.status is not None:
            parts.append(("status = ?", self.status))
        if self.fault is not None:
            parts.append(("instr(', ' || fault || ',', ', ' || ? || ',') > 0", self.fault))
        if self.min_score is not None:
            parts.append((f"cast({_NOW['score']} as real) >= ?", self.min_score - TINY))
        return " and ".join(part for part, _ in parts) or "1", [value for _, value in parts]


def parse_time(text: str, now: datetime) -> datetime:
    """Return the time that `text` names: `2026-11-20`, `2026-11-20T09:30`, or `7d` (also m, h, w)
    before `now`.

    A date without a zone is local time.

    Raises:
        UsageError: `text` has another form.
    """
    age = _AGE.fullmatch(text.strip())
    try:
        if age:
            return now - timedelta(**{_UNITS[age[2].lower()]: float(age[1])})
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        shown = clean_line(text, 40)
        raise UsageError(
            f"{shown!r} is not a time; use a date such as 2026-11-20, or an age such as 12h or 30d"
        ) from None


class _File(NamedTuple):
    path: Path
    size: int
    modified: int


class Catalogue:
    """Lists the recordings of a folder, reading only files that are new or have changed."""

    def __init__(self, runs_dir: Path, *, writes: bool = True) -> None:
        """Without `writes`, nothing is written to the folder, and the list is built in memory."""
        self.runs_dir = runs_dir
        self._lock = threading.Lock()
        self._memory: sqlite3.Connection | None = None if writes else self._memory_copy()

    def runs(
        self, wanted: RunFilter | None = None, limit: int | None = None
    ) -> list[CataloguedRun]:
        """Return runs, newest first. Damaged recordings are listed as far as they can be read."""
        if self.runs_dir.is_dir():
            listed = map(_without_hashes, self._list(wanted or RunFilter(), limit))
            return masked(name_chatbots(listed))
        return []

    def find(self, text: str, *, least: int = 1) -> Path:
        """Return the recording whose id is `text`, or starts or ends with it; `text` needs at least
        `least` characters.

        Raises:
            UsageError: none or several match, or `text` is too short.
        """
        if len(text) < least:
            raise UsageError(
                f"`{clean_line(text, 20)}`: give at least {plural(least, 'character')} of the id;"
                " see `bioeval-tui runs list`"
            )
        if is_run_id(text) and recording_path(self.runs_dir, text).is_file():
            return recording_path(self.runs_dir, text)
        matching = [
            run_id
            for run_id in self.ids()
            if text and (run_id.startswith(text) or run_id.endswith(text.lower()))
        ]
        if len(matching) == 1:
            return recording_path(self.runs_dir, matching[0])
        if matching:
            raise UsageError(
                f"{len(matching)} runs match: {', '.join(matching[-5:])}; give more characters of"
                " the id"
            )
        raise UsageError("no such run; see `bioeval-tui runs list`")

    def ids(self) -> list[str]:
        """Return the ids of all runs, oldest first, from the names of the files alone."""
        return sorted(entry.name.removesuffix(SUFFIX) for entry in self._entries())

    def kept(self, run_id: str, part: str, digest: str | None = None) -> bytes | None:
        """Return a part of what was kept of a recording when its bytes had this hash, or any; None
        without it, if the code that made it has changed, or if it cannot be read.
        """
        if not self._file.exists():
            return None
        query = (
            "select content from kept where run_id = ?1 and part = ?2 and (?3 is null or digest ="
            " ?3) and made_by = ?4"
        )
        values = (run_id, part, digest, _made_by())
        try:
            if self._memory is not None:
                found = self._memory.execute(query, values).fetchone()
            else:
                with contextlib.closing(self._open()) as database:
                    found = database.execute(query, values).fetchone()
        except (*_ERRORS, OSError):
            return None
        if found is None:
            return None
        content: bytes = found[0]
        return content

    def keep(self, run_id: str, part: str, digest: str, content: bytes) -> None:
        """Keep a part of what is known of a recording for as long as its bytes have this hash; if
        that cannot be, it is made again.
        """
        if self._memory is not None:
            return
        row = (run_id, part, digest, _made_by(), content)
        with contextlib.suppress(*_ERRORS):
            try:
                self._keep(row)
            except _ERRORS as error:
                if not _is_damaged(error):
                    raise
                self._remove_file()
                self._keep(row)

    def _keep(self, row: tuple[object, ...]) -> None:
        with contextlib.closing(self._open()) as database, database:
            database.execute("insert or replace into kept values (?, ?, ?, ?, ?)", row)
            last = "select rowid from kept order by rowid desc limit ?"
            database.execute(
                f"delete from kept where rowid not in ({last})",  # noqa: S608  # nosec B608
                (MOST_KEPT,),
            )

    def _remove_file(self) -> None:
        for file in database_files(self._file):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)

    @property
    def _file(self) -> Path:
        return self.runs_dir / "catalogue.sqlite"

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        if self.runs_dir.is_dir():
            with os.scandir(self.runs_dir) as entries:
                for entry in entries:
                    # Reading a pipe or a device with such a name might never end.
                    if (
                        entry.name.endswith(SUFFIX)
                        and is_run_id(entry.name[: -len(SUFFIX)])
                        and _is_file(entry)
                    ):
                        yield entry

    def _list(self, wanted: RunFilter, limit: int | None) -> list[CataloguedRun]:
        clause, values = wanted.clause()
        joined = "runs left join overlays using (run_id)"
        # These are our own words; values are bound.
        query = (
            f"select {_SELECTED} from {joined} where {clause} "  # noqa: S608  # nosec B608
            "order by started desc, run_id desc limit ?"
        )
        values = [*values, -1 if limit is None else limit]
        if self._memory is None:
            try:
                return self._read_file(query, values)
            except _ERRORS as error:
                if _is_damaged(error):
                    self._remove_file()
                    with contextlib.suppress(*_ERRORS):
                        return self._read_file(query, values)
        # The disk is full or read-only, or another process locks the file for too long: use memory
        # instead.
        with self._lock:
            self._memory = self._memory or self._memory_copy()
            try:
                return self._read(self._memory, query, values)
            except _ERRORS:  # what was copied is damaged
                self._memory = self._empty()
                return self._read(self._memory, query, values)

    def _read_file(self, query: str, values: Sequence[object]) -> list[CataloguedRun]:
        with contextlib.closing(self._open()) as database:
            return self._read(database, query, values)

    def _read(
        self, database: sqlite3.Connection, query: str, values: Sequence[object]
    ) -> list[CataloguedRun]:
        with database:
            self._refresh(database)
        return [_listed_run(row, self.runs_dir) for row in database.execute(query, values)]

    def _memory_copy(self) -> sqlite3.Connection:
        """Return an in-memory catalogue, with the content of the file if that can be read and is
        not damaged.
        """
        memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        weakref.finalize(self, memory.close)
        name = quote(str(self._file.absolute()))
        try:
            check_database(self._file)
            with contextlib.closing(
                sqlite3.connect(f"file:{name}?mode=ro", uri=True, timeout=1)
            ) as there:
                there.execute("begin")
                # A copy would wait for a lock without end.
                there.execute("select modified from folder").fetchone()
                there.backup(memory)
            _prepare(memory)
        except (*_ERRORS, OSError):
            return self._empty()
        return memory

    def _empty(self) -> sqlite3.Connection:
        memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        weakref.finalize(self, memory.close)
        _prepare(memory)
        return memory

    def _open(self) -> sqlite3.Connection:
        try:
            make_database(below(self.runs_dir, self._file.name))
            if os.name != "nt" and self._file.stat().st_mode & 0o077:
                self._file.chmod(0o600)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EINVAL, errno.EMLINK):
                raise _DamagedError("a link, or a file of another kind") from None
            # Otherwise SQLite says what is wrong.
        database = sqlite3.connect(self._file, timeout=LOCKED_S)
        try:
            # No journal file: creating one would change the folder, and lost data can be rebuilt.
            database.execute("pragma journal_mode = memory").fetchone()
            _prepare(database)
        except _ERRORS:
            database.close()
            raise
        return database

    def _refresh(self, database: sqlite3.Connection) -> None:
        now = time.time_ns()
        modified = self.runs_dir.stat().st_mtime_ns
        seen = database.execute("select modified from folder").fetchone()
        if seen is None or seen[0] != modified:
            self._refresh_all(database)
            trusted = modified if now - modified > TRUSTED_AFTER_NS else _UNKNOWN
            database.execute("update folder set modified = ?", (trusted,))
        else:
            self._refresh_open(database)
            self._refresh_overlays(database)

    def _refresh_all(self, database: sqlite3.Connection) -> None:
        known = {
            row[0]: row[1:]
            for row in database.execute("select run_id, size, modified, ended from runs")
        }
        present = {entry.name[: -len(SUFFIX)]: entry for entry in self._entries()}
        gone = [(run_id,) for run_id in known.keys() - present.keys()]
        database.executemany("delete from runs where run_id = ?", gone)
        for run_id, entry in present.items():
            # deleted meanwhile, or a link to what cannot be reached
            with contextlib.suppress(OSError):
                stat = entry.stat()
                seen = known.get(run_id)
                if seen is None or seen[:2] != (stat.st_size, stat.st_mtime_ns):
                    self._take_file(
                        database, run_id, _File(Path(entry.path), stat.st_size, stat.st_mtime_ns)
                    )
                elif not seen[2]:
                    self._note_status(database, run_id)
        database.executemany("delete from overlays where run_id = ?", gone)
        database.executemany("delete from kept where run_id = ?", gone)
        with os.scandir(self.runs_dir) as entries:
            beside = {
                entry.name.removesuffix(OVERLAY)
                for entry in entries
                if entry.name.endswith(OVERLAY)
            }
        taken = {row[0] for row in database.execute("select run_id from overlays")}
        for run_id in (beside & present.keys()) - taken:
            self._take_overlay(database, run_id)
        self._refresh_overlays(database)

    def _refresh_overlays(self, database: sqlite3.Connection) -> None:
        known = database.execute("select run_id, size, modified from overlays").fetchall()
        for run_id, size, modified in known:
            path = f"{self.runs_dir}{os.sep}{run_id}{OVERLAY}"
            try:
                stat = os.stat(path)  # noqa: PTH116 (a third of a Path's time)
            except OSError:
                stat = None
            if stat is None or (stat.st_size, stat.st_mtime_ns) != (size, modified):
                self._take_overlay(database, run_id)

    def _take_overlay(
        self, database: sqlite3.Connection, run_id: str, *, anew: bool = False
    ) -> None:
        """Read a run's reviews and later verdicts if its overlay has changed or, with `anew`, its
        recording.
        """
        path = recording_path(self.runs_dir, run_id)
        try:
            stat = overlay_path(path).stat()
        except OSError:
            database.execute("delete from overlays where run_id = ?", (run_id,))
            return
        now = (stat.st_size, stat.st_mtime_ns)
        seen = database.execute(
            "select size, modified from overlays where run_id = ?", (run_id,)
        ).fetchone()
        if anew or seen != now:
            row = (run_id, *now, *_overlaid(path))
            database.execute("insert or replace into overlays values (?, ?, ?, ?, ?)", row)

    def _refresh_open(self, database: sqlite3.Connection) -> None:
        still_open = database.execute(
            "select run_id, size, modified from runs where not ended"
        ).fetchall()
        for run_id, size, modified in still_open:
            path = recording_path(self.runs_dir, run_id)
            with contextlib.suppress(OSError):
                stat = path.stat()
                if (size, modified) != (stat.st_size, stat.st_mtime_ns):
                    self._take_file(database, run_id, _File(path, stat.st_size, stat.st_mtime_ns))
                else:
                    self._note_status(database, run_id)

    def _note_status(self, database: sqlite3.Connection, run_id: str) -> None:
        status = "running" if is_live(recording_path(self.runs_dir, run_id)) else "interrupted"
        database.execute(
            "update runs set status = ? where run_id = ? and status <> ?", (status, run_id, status)
        )

    def _take_file(self, database: sqlite3.Connection, run_id: str, file: _File) -> None:
        # Here and below: the models of events, which a list of known runs does not wait for.
        from bioeval_tui.record.reading import Outline, outline

        try:
            outlined = outline(file.path)
        except RecordingError:
            outlined = Outline()
        run = summarise(run_id, file.path, outlined)
        if not _is_listable(run):
            run = summarise(run_id, file.path, Outline())
        row = {
            **run._asdict(),
            "size": file.size,
            "modified": file.modified,
            "ended": outlined.ended is not None,
            "started": datetime.fromisoformat(run.started_at).timestamp(),
            "scores": json.dumps(run.scores),
            "identity": json.dumps(run.identity),
        }
        database.execute(_INSERT, row)
        self._take_overlay(database, run_id, anew=True)


def _score_text(score: float | None) -> str | None:
    if score is None:
        return None
    return json.dumps(score)


def _overlaid(path: Path) -> tuple[str | None, str | None]:
    """Return a run's reviewed scores and the scores by later judges as JSON; None without any."""
    from bioeval_tui.record.events import ReviewsDrawn
    from bioeval_tui.record.overlay import judgings, read_overlay, state_in_force
    from bioeval_tui.record.reading import fold_file
    from bioeval_tui.record.reviews import fold_reviews, reviewed_scores

    try:
        overlay = read_overlay(path, as_written=True, in_force_only=True)
        if not overlay.events:
            return None, None
        state = fold_file(path, light=True)
    except RecordingError:
        return None, None
    now = state_in_force(state, overlay)
    scores = reviewed_scores(now, fold_reviews(overlay.events, state, now))
    again = None
    if judgings(state, overlay):
        mean = now.ended.mean if now.ended else None
        values = {
            "score": _score_text(mean),
            "scores": now.scores(),
            "fault": _faults(now),
            "difference": _score_text(_difference(now)),
        }
        again = json.dumps(values)
    if scores and any(isinstance(event, ReviewsDrawn) for event in overlay.events):
        scores = replace(scores, drawn=True)
    return json.dumps(scores.to_dict()) if scores else None, again


def _difference(state: RunState) -> float | None:
    """Return the mean of the trials' differences, like the scores only of a run that has all of
    these.
    """
    from bioeval_tui.record.effect import run_difference

    if None in state.scores().values():
        return None
    return run_difference(state)


def _outlined_difference(path: Path, outlined: Outline) -> float | None:
    """Return the same of an outline, which has enough for it unless the conditions have criteria or
    cases of their own.
    """
    from bioeval_tui.record import conditions, effect, reading

    if outlined.started is None or not outlined.clean:
        return None
    both = conditions.job_contrast(outlined.started.job)
    if both is None:
        return None
    without, with_facts = (outlined.scores().get(condition) for condition in both)
    if without is None or with_facts is None:
        return None
    if effect.compares_everything(outlined.started):
        return exact_difference(with_facts, without)
    try:
        return _difference(reading.fold_file(path, light=True))
    except RecordingError:
        return None


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether it is a file, or a link to one, even if that cannot be reached (an unmounted
    disk, a loop).
    """
    try:
        return entry.is_file() or (entry.is_symlink() and not Path(entry.path).exists())
    except OSError:
        return True


def _faults(state: RunState) -> str:
    """Return the faults of a run in the form of the list."""
    faults = {talk.fault for talk in state.conversations.values() if talk.fault is not None}
    return ", ".join(sorted(faults - {"none"})) or "none"


def summarise(run_id: str, path: Path, outline: Outline) -> CataloguedRun:
    """Return a run's entry in the list."""
    started = outline.started
    if outline.ended is not None:
        status: Status = outline.ended.status
    else:
        status = "running" if is_live(path) else "interrupted"
    run = CataloguedRun(
        run_id=run_id,
        job="unknown",
        status=status,
        started_at=datetime.fromtimestamp(0).astimezone().isoformat(),
        score=outline.ended.mean if outline.ended else None,
        fault=", ".join(outline.faults) or "none",
        scores=outline.scores(),
        messages=outline.messages,
        model=None,
        rehearsal=False,
        batch_id=None,
        folder=path.parent,
        clean=outline.clean,
        imported=is_imported(path),
        difference=_outlined_difference(path, outline),
    )
    if started is None:
        return run
    return run._replace(
        job=started.job_name,
        started_at=started.at.isoformat(),
        model=started.asked_model,
        rehearsal=started.rehearsal,
        batch_id=started.batch_id,
        chatbot=started.chatbot,
        identity=started.identity | {"job file": started.job_sha256[:8]},
    )


_HASHED = frozenset({"prompts", "job file"})
"""What of a run's identity has hashes of texts."""


def _without_hashes(run: CataloguedRun) -> CataloguedRun:
    """Return a run whose hashes tell nothing but whether two are equal, if this process masks."""
    if not masking():
        return run
    hashes = {name: run.identity[name] for name in _HASHED & run.identity.keys()}
    return run._replace(identity=run.identity | current().hashed(hashes))


def find_recording(text: str, runs_dir: Path) -> Path:
    """Return the recording that `text` names: a file, or a run id or part of one.

    Raises:
        UsageError: no run or several match.
    """
    path = Path(text)
    if text.endswith(SUFFIX) and path.is_file():
        return path
    return Catalogue(runs_dir).find(text)


def find_recordings(texts: Iterable[str], runs_dir: Path) -> list[Path]:
    """Return the recordings that the texts name, each once: also if it is named by another part of
    its id, or as a file. A run that counted twice would make everything look surer than it is.

    Raises:
        UsageError: no run or several match one of the texts.
    """
    found: dict[Path, Path] = {}
    for text in texts:
        path = find_recording(text, runs_dir)
        found.setdefault(real(path), path)
    return list(found.values())
