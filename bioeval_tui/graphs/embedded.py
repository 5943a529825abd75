"""The embedded knowledge graph: Cypher on a SQLite file, by the graphqlite extension in apsw's
SQLite, used from one thread.

And what every graph says of itself: a random id beside its file, and a digest of its content that
does not depend on ids or order.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import importlib.util
import json
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.files import below, make_database, private_dir, read_small, write_new
from bioeval_tui.base.installation import install_command
from bioeval_tui.base.text import clean_line
from bioeval_tui.graphs.cypher import check_read_only, check_setup
from bioeval_tui.graphs.graphqlite import check_embedded
from bioeval_tui.peers.seams import GraphSnapshot, PeerError, Rows

_PREFIX = re.compile(
    r"^(?:SyntaxError|TypeError|ArgumentError): (?:\w+: )?(?:Line \d+, Col \d+: )?"
)
_TOO_BIG = "string or blob too big"


def query_error(message: str, cypher: str) -> QueryError:
    """Return the error for a message of the extension: JSON `{error, code, line, column}`, or plain
    text.
    """
    line = column = 0
    try:
        said = json.loads(message)
        message = str(said["error"])
        line, column = int(said.get("line") or 0), int(said.get("column") or 0)
    except (ValueError, RecursionError, TypeError, KeyError):
        pass
    if _TOO_BIG in message:
        return QueryError("a value or the result is larger than 5,000,000 bytes: reduce it")
    text = clean_line(_PREFIX.sub("", message))
    return QueryError(text, _column_in_text(cypher, line, column))


def _column_in_text(cypher: str, line: int, column: int) -> int:
    if not line or not column:
        return 0
    before = cypher.split("\n")[: line - 1]
    return sum(len(text) + 1 for text in before) + column


def peer_error(error: Exception, path: Path) -> PeerError:
    """Return the error for trouble with the file itself; `error` is one of apsw's."""
    kind = type(error).__name__.removesuffix("Error")
    match kind:
        case "Busy" | "Locked":
            return PeerError("graph", f"{path} is locked by another process", retryable=True)
        case "NotADB":
            return PeerError("graph", f"{path} is not a graph file")
        case "Corrupt":
            return PeerError("graph", f"{path} is damaged")
        case "Full":
            return PeerError("graph", f"no space is left for {path}")
        case "CantOpen" | "ReadOnly" | "Perm" | "IO":
            return PeerError("graph", f"{path} cannot be opened for writing")
        case _:
            return PeerError("graph", f"{path}: {clean_line(str(error))}")


MAX_RESULT_BYTES = 5_000_000
"""Maximum length of a value that SQLite may build; it limits results and a query's memory."""

_PROGRESS_STEPS = 5_000
_PAGE = 2_000
_TOO_NEW = (3, 54, 1)
_EXTENSIONS = {"darwin": "graphqlite.dylib", "win32": "graphqlite.dll"}


def available() -> str | None:
    """Return None when the embedded graph can be used here, or the sentence that says why not."""
    missing = [name for name in ("apsw", "graphqlite") if importlib.util.find_spec(name) is None]
    if missing:
        return (
            f"the embedded graph needs {' and '.join(missing)}: install with"
            f" `{install_command(missing)}` (graphqlite has no wheel for macOS on Intel), or use"
            " Neo4j"
        )
    if not _library().is_file():
        return (
            f"the embedded graph's library {_library().name} is missing: graphqlite has none for"
            f" musl; elsewhere install it again with `{install_command(['graphqlite'])}`, or use"
            " Neo4j"
        )
    version = importlib.metadata.version("apsw")
    if tuple(int(part) for part in version.split(".")[:3]) >= _TOO_NEW:
        return (
            f"apsw {version} loses JSON types: install an older one with"
            f" `{install_command(['apsw'])}`"
        )
    return None


def _library() -> Path:
    spec = importlib.util.find_spec("graphqlite")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    return folder / _EXTENSIONS.get(sys.platform, "graphqlite.so")


class Allowance:
    """The deadline of one call. The caller creates and cancels it; the working thread checks it."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._expires = float("inf")
        self._cancelled = False

    def start(self) -> None:
        """Start the clock: waiting for other calls does not count."""
        self._expires = time.monotonic() + self.timeout_s

    def cancel(self) -> None:
        """Cancel the call, because nobody waits for its result any more."""
        self._cancelled = True

    def is_over(self) -> bool:
        """Return whether the work has to stop."""
        return self._cancelled or time.monotonic() > self._expires

    def error(self) -> PeerError:
        """Return the error after the deadline.

        It is not retryable, because the same query would take as long again.
        """
        if self._cancelled:
            return PeerError("graph", "the query was interrupted")
        return PeerError("graph", f"the query ran longer than {self.timeout_s:g} s and was stopped")


class EmbeddedFile:
    """The connection. Every method must be called from the same thread.

    They raise `QueryError` for what is wrong with a query and `PeerError` for what is wrong with
    the file.
    """

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._connection: Any = None
        self._allowance = Allowance(0)
        self._may_commit = False

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def read(self, cypher: str, parameters: Mapping[str, Any] | None, allowance: Allowance) -> Rows:
        """Run one query that SQLite does not let write."""
        with self._statement(cypher, allowance) as connection:
            connection.pragma("query_only", True)
            try:
                answer = self._cypher(cypher, parameters)
            finally:
                connection.pragma("query_only", False)
        columns = tuple(answer[0]) if answer else ()
        return Rows(columns, tuple(tuple(row.get(name) for name in columns) for row in answer))

    def write(
        self, cypher: str, parameters: Mapping[str, Any] | None, allowance: Allowance
    ) -> None:
        """Run one query in a transaction.

        Raises:
            PeerError: the time is used up, or SQLite rolled the write back.
            QueryError: the graph rejects the query.
        """
        with self._statement(cypher, allowance) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._cypher(cypher, parameters)
                if allowance.is_over():
                    raise allowance.error()
                if not connection.in_transaction:
                    raise PeerError("graph", f"{self._path}: SQLite rolled the write back")
                self._may_commit = True
                connection.execute("COMMIT")
            except BaseException:
                # SQLite may have rolled back by itself: it does when an interrupt meets an INSERT.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._may_commit = False

    def snapshot(self, allowance: Allowance) -> GraphSnapshot:
        """Count and digest the content as of one moment."""
        # The text is the user's query, which an error quotes; here there is none.
        with self._statement("", allowance) as connection:
            # All queries of one transaction see the same content.
            connection.execute("BEGIN")
            try:
                labels, types = self._count(COUNT_LABELS), self._count(COUNT_TYPES)
                digest = ContentDigest()
                for node in self._pages("MATCH (x)", "labels(x) AS labels"):
                    digest.add_node(node["id"], node["labels"], node["properties"])
                # `end` is a word of Cypher's own.
                ends = "type(x) AS type, id(a) AS start, id(b) AS end_"
                for edge in self._pages("MATCH (a)-[x]->(b)", ends):
                    digest.add_relationship(
                        edge["type"], edge["start"], edge["end_"], edge["properties"]
                    )
            finally:
                # Nothing was written, and only `write` may commit (`_is_unasked_commit`).
                connection.execute("ROLLBACK")
        return GraphSnapshot(labels, types, digest.hexdigest((labels, types)))

    def _count(self, cypher: str) -> dict[str, int]:
        return {
            row["name"]: row["many"]
            for row in sorted(self._cypher(cypher, None), key=lambda r: r["name"])
        }

    def _pages(self, match: str, columns: str) -> Iterator[dict[str, Any]]:
        """Yield the values that `match` binds to x, ordered by id and in pages, at most
        `MAX_DIGESTED` rows.
        """
        after = 0
        page = (
            f"{match} WHERE id(x) > $after RETURN id(x) AS id, {columns}, properties(x) AS"
            f" properties ORDER BY id LIMIT {_PAGE}"
        )
        for _ in range(MAX_DIGESTED // _PAGE):
            rows = self._cypher(page, {"after": after})
            yield from rows
            if len(rows) < _PAGE:
                return
            after = rows[-1]["id"]

    def _cypher(self, cypher: str, parameters: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        try:
            given = json.dumps(dict(parameters or {}), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise QueryError(f"a parameter cannot be passed to the graph: {error}") from None
        ((text,),) = self._connection.execute("SELECT cypher(?, ?)", (cypher, given))
        answer = json.loads(text) if text else []
        if isinstance(answer, list):
            return answer
        return []

    @contextmanager
    def _statement(self, cypher: str, allowance: Allowance) -> Iterator[Any]:
        """Open the file if need be, set the deadline, and turn apsw's errors into this
        program's.
        """
        reason = available() if self._connection is None else None
        if reason:
            raise PeerError("graph", reason)
        # Here and below: it has no wheel for some systems, which `available` says.
        import apsw

        self._allowance = allowance
        allowance.start()
        try:
            if allowance.is_over():
                raise allowance.error()
            if self._connection is None:
                self._connection = self._open()
            yield self._connection
        except apsw.SQLError as error:
            if allowance.is_over():
                raise allowance.error() from None
            raise query_error(str(error), cypher) from None
        except apsw.InterruptError:
            raise allowance.error() from None
        except apsw.Error as error:
            if allowance.is_over():
                raise allowance.error() from None
            raise peer_error(error, self._path) from None
        except OSError as error:
            raise PeerError("graph", f"{self._path} cannot be opened: {error.strerror}") from None

    def _is_over(self) -> bool:
        return self._allowance.is_over()

    def _is_unasked_commit(self) -> bool:
        """Return whether a commit is not `write`'s own, so that SQLite rolls it back instead.

        An interrupt during an INSERT makes SQLite roll the whole transaction back. The extension
        continues with its next INSERT for a while, and outside a transaction each of them would be
        committed.
        """
        return not self._may_commit

    def _open(self) -> Any:
        """Open read-write and let the extension write its tables: a read-only open of a file
        without them crashes.
        """
        import apsw

        make_database(below(private_dir(self._path.parent), self._path.name))
        give_up = time.monotonic() + self._busy_timeout_s
        while True:
            connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                self._prepare(connection)
                return connection
            except (apsw.BusyError, apsw.LockedError, apsw.ExtensionLoadingError):
                # If two processes open a new file at the same time, SQLite does not wait while the
                # journal mode changes.
                connection.close()
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.02)
            except BaseException:
                connection.close()
                raise

    def _prepare(self, connection: Any) -> None:
        import apsw

        connection.set_busy_timeout(int(self._busy_timeout_s * 1000))
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "normal")
        connection.enable_load_extension(True)
        connection.load_extension(str(_library().with_suffix("")))
        connection.enable_load_extension(False)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, MAX_RESULT_BYTES)
        connection.set_progress_handler(self._is_over, _PROGRESS_STEPS)
        # Only now: loading the extension commits its tables.
        connection.set_commit_hook(self._is_unasked_commit)


Answer = TypeVar("Answer")

GRACE_S = 2.0
"""How many seconds after a statement's own deadline the caller stops waiting for the thread."""

SNAPSHOT_S = 20.0


class EmbeddedGraph:
    """A `KnowledgeGraph` in one file. Nothing is opened before the first call.

    One thread owns the only connection, so calls queue and the event loop never waits for SQLite.
    Other processes may have the same file open (write-ahead log, busy timeout).
    """

    def __init__(self, path: Path, *, busy_timeout_s: float = 5.0) -> None:
        self.path = path
        self.identity = "embedded graph"
        self._file = EmbeddedFile(path, busy_timeout_s)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedded-graph")
        self._under_way: set[Allowance] = set()
        self._closed = False

    async def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0
    ) -> Rows:
        """Run one read-only query and return its rows as JSON-like values.

        A result without rows has no columns either. Raises `QueryError` when the query is wrong,
        refused, not supported here or its result larger than 5 MB, `PeerError` when it ran out of
        time (not retryable, because it would happen again) or the file cannot be used.
        """
        check_read_only(cypher)
        check_embedded(cypher, parameters)
        return await self._call(partial(self._file.read, cypher, parameters), timeout_s)

    async def execute(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 30.0
    ) -> None:
        """Run one query that may write, in its own transaction.

        Raises the same errors as `query`.
        """
        check_setup(cypher)
        check_embedded(cypher, parameters)
        await self._call(partial(self._file.write, cypher, parameters), timeout_s)

    async def graph_id(self) -> str:
        """Return the id of the file, which the agent that uses it can report."""
        return graph_id(self.path)

    async def snapshot(self) -> GraphSnapshot:
        """Return counts by label and relationship type and a digest of the content."""
        return await self._call(self._file.snapshot, SNAPSHOT_S)

    async def aclose(self) -> None:
        """Close the file and interrupt running queries. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        for allowance in self._under_way:
            allowance.cancel()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._file.close)
        self._thread.shutdown(wait=False)

    async def _call(self, work: Callable[[Allowance], Answer], timeout_s: float) -> Answer:
        if self._closed:
            raise PeerError("graph", f"{self.identity} is closed")
        allowance = Allowance(timeout_s)
        self._under_way.add(allowance)
        try:
            async with asyncio.timeout(timeout_s + GRACE_S):
                return await asyncio.get_running_loop().run_in_executor(
                    self._thread, work, allowance
                )
        except TimeoutError:
            raise PeerError(
                "graph", f"{self.identity} is busy: no answer in {timeout_s:g} s"
            ) from None
        finally:
            # The caller has stopped waiting or has the answer, so no part of this call may continue
            # in the thread.
            allowance.cancel()
            self._under_way.discard(allowance)


def graph_id(path: Path) -> str:
    """Return the id of the graph at `path`; create it if it does not exist.

    Raises:
        StorageError: it cannot be written.
    """
    file = below(path.parent, path.with_suffix(".id").name)
    if not file.exists():
        write_new(file, secrets.token_hex(16))
    return read_small(file).decode("ascii", "replace").strip()


COUNT_LABELS = "MATCH (n) UNWIND labels(n) AS name RETURN name, count(*) AS many"
COUNT_TYPES = "MATCH ()-[r]->() RETURN type(r) AS name, count(*) AS many"
MAX_DIGESTED = 50_000
"""Maximum number of nodes, and of relationships, whose content is digested.

For larger graphs, only the counts are.
"""

_BYTES = 16


class ContentDigest:
    """Computes a digest of nodes and relationships as they are read.

    Two graphs with the same labels, properties and connections have the same digest, whatever ids
    the database gave them and in whatever order they are read: a graph that a setup cleared and
    wrote again counts as unchanged. Each element is hashed, a relationship together with the hashes
    of its two ends, and the hashes are added.
    """

    def __init__(self) -> None:
        self._nodes: dict[Any, bytes] = {}
        self._sum = 0

    def add_node(self, node: Any, labels: Sequence[str], properties: Mapping[str, Any]) -> None:
        """Add one node; `node` is its id in the database, used only to find a relationship's
        ends.
        """
        content = _hash("node", sorted(labels), properties)
        self._nodes[node] = content
        self._sum += int.from_bytes(content)

    def add_relationship(
        self, kind: str, start: Any, end: Any, properties: Mapping[str, Any]
    ) -> None:
        """Add one relationship; an end that was not read counts as unknown."""
        ends = [self._nodes.get(start, b"").hex(), self._nodes.get(end, b"").hex()]
        self._sum += int.from_bytes(_hash(kind, ends, properties))

    def hexdigest(self, counts: Iterable[Mapping[str, int]]) -> str:
        """Return the digest; `counts` (labels, relationship types) distinguish graphs that are too
        large to read.
        """
        total = self._sum % (1 << (8 * _BYTES))
        return _hash(
            "graph", [format(total, "x")], {str(n): dict(c) for n, c in enumerate(counts)}
        ).hex()


def _hash(kind: str, parts: Sequence[str], properties: Mapping[str, Any]) -> bytes:
    text = json.dumps([kind, parts, properties], sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
