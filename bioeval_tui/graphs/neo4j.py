"""A Neo4j server as the knowledge graph, through the official driver: its errors and values become
this program's.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from neo4j import AsyncGraphDatabase, Query, exceptions

from bioeval_tui.base.addresses import NEO4J, url_problem
from bioeval_tui.base.errors import BioevalError, QueryError
from bioeval_tui.base.text import clean_line
from bioeval_tui.graphs.cypher import check_read_only, check_setup, split_statements
from bioeval_tui.graphs.embedded import (
    COUNT_LABELS,
    COUNT_TYPES,
    GRACE_S,
    MAX_DIGESTED,
    SNAPSHOT_S,
    ContentDigest,
)
from bioeval_tui.peers.seams import GraphSnapshot, PeerError, Rows

_COLUMN = re.compile(r"\(line (\d+), column (\d+) \(offset: (\d+)\)\)")
_TIMED_OUT = re.compile(r"Transaction(?:TimedOut|Terminated)|LockClientStopped")
_WRITES = "Neo.ClientError.Statement.AccessMode"


def graph_error(error: Exception, place: str, timeout_s: float) -> BioevalError:
    """Convert an exception of the driver.

    `QueryError` if the query is at fault; otherwise `PeerError`, retryable if the server is
    unreachable or busy, but not if it rejects the password or stopped a slow query.
    """
    match error:
        case exceptions.AuthError():
            return PeerError(
                "graph",
                f"Neo4j at {place} refuses the user name or password; set NEO_USERNAME and"
                " NEO_PASSWORD to its own",
            )
        case exceptions.Neo4jError():
            return _server_error(error, place, timeout_s)
        case exceptions.UnsupportedServerProduct():
            return PeerError("graph", f"{place} is not a Neo4j server that this driver supports")
        case exceptions.ConfigurationError() | ValueError():
            return PeerError("graph", f"NEO_URI cannot be used: {_line(error)}")
        case exceptions.DriverError() | OSError():
            return PeerError(
                "graph",
                f"Neo4j at {place} cannot be reached; start it, or set NEO_URI",
                retryable=True,
            )
        case _:
            what = f"{type(error).__name__}: {_line(error)}"
            return PeerError("graph", f"Neo4j at {place} gave an unexpected answer: {what}")


def _server_error(error: exceptions.Neo4jError, place: str, timeout_s: float) -> BioevalError:
    code = str(error.code or "")
    message = str(error.message or error)
    if _TIMED_OUT.search(code):
        return PeerError("graph", f"the query ran longer than {timeout_s:g} s and was stopped")
    if code == _WRITES or isinstance(error, exceptions.ForbiddenOnReadOnlyDatabase):
        return QueryError("the query writes; only reading is allowed here")
    if code.startswith("Neo.ClientError.Security"):
        return PeerError("graph", f"Neo4j at {place} does not allow this: {_line(message)}")
    if code.startswith("Neo.ClientError.Database"):
        return PeerError("graph", f"Neo4j at {place} does not have the database: {_line(message)}")
    if code.startswith(
        ("Neo.ClientError.Statement", "Neo.ClientError.Procedure", "Neo.ClientError.Schema")
    ):
        where = _COLUMN.search(message)
        return QueryError(_line(_COLUMN.sub("", message)), int(where[3]) + 1 if where else 0)
    if "MemoryPool" in code or "MemoryLimit" in code:
        return QueryError("the query needs more memory than Neo4j gives it: ask for less")
    return PeerError("graph", f"Neo4j at {place}: {_line(message)}", retryable=error.is_retryable())


def _line(error: object) -> str:
    """Return the first line with text; below it, the driver repeats the query with a caret."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return clean_line(lines[0] if lines else type(error).__name__, 300).strip()


def plain(value: Any) -> Any:
    """Convert a value of the driver to JSON types.

    Nodes, relationships and paths become objects of the same shape as the embedded graph's;
    moments, dates and durations ISO 8601 text; points objects; bytes base64; infinities and NaN
    their names.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if math.isfinite(value):
                return value
            return str(value)
        case list():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case bytes() | bytearray():
            return base64.b64encode(value).decode("ascii")
        case _:
            return _graph_value(value)


def _graph_value(value: Any) -> Any:
    if hasattr(value, "labels"):
        return {
            "id": value.element_id,
            "labels": sorted(value.labels),
            "properties": _properties(value),
        }
    if hasattr(value, "start_node") and hasattr(value, "type"):
        return {
            "id": value.element_id,
            "type": value.type,
            "startNode": value.start_node.element_id if value.start_node else None,
            "endNode": value.end_node.element_id if value.end_node else None,
            "properties": _properties(value),
        }
    if hasattr(value, "relationships") and hasattr(value, "nodes"):
        return {
            "nodes": [plain(n) for n in value.nodes],
            "rels": [plain(r) for r in value.relationships],
        }
    if hasattr(value, "iso_format"):
        return value.iso_format()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "srid"):
        return {"srid": value.srid, "coordinates": [plain(float(part)) for part in value]}
    return str(value)


def _properties(entity: Any) -> dict[str, Any]:
    return {str(key): plain(item) for key, item in entity.items()}


MAX_ROWS = 10_000
MAX_RESULT_CHARACTERS = 5_000_000
_CONNECT_S = 5.0
_ID_S = 5.0
_IDLE_CHECK_S = 1.0
"""A connection that was idle for this many seconds is tested before use, because the server may
have restarted.
"""


class Neo4jGraph:
    """A `KnowledgeGraph` on a server. The first call opens the connection.

    A user name in the URI is used if `username` is empty, and never shown. With `unrestricted`,
    setups are passed on unchanged, statement by statement; queries always only read.
    """

    def __init__(
        self, uri: str, username: str, password: str, *, unrestricted: bool = False
    ) -> None:
        self._problem = url_problem(uri, NEO4J)
        self._uri, in_uri, self._place = split_address(uri)
        self.identity = f"Neo4j at {self._place}"
        self._credentials = (username or in_uri or "neo4j", password)
        self._unrestricted = unrestricted
        self._driver: Any = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0
    ) -> Rows:
        """Run one query in a read transaction and return its rows as JSON-like values.

        Raises `QueryError` when the query is wrong, writes, or gives more than 10,000 rows or
        5,000,000 characters; `PeerError` when the server is unreachable, rejects the password or
        exceeds the time limit.
        """
        check_read_only(cypher)
        async with self._session(read=True, timeout_s=timeout_s) as session:
            return await _rows(
                await session.run(self._timed(cypher, timeout_s), dict(parameters or {}))
            )

    async def execute(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 30.0
    ) -> None:
        """Run one query that may write, in its own transaction; with `unrestricted`, several.

        Raises the same errors as `query`.
        """
        if not self._unrestricted:
            check_setup(cypher)
        statements = split_statements(cypher) if self._unrestricted else [cypher]
        for statement in statements:
            async with self._session(read=False, timeout_s=timeout_s) as session:
                result = await session.run(
                    self._timed(statement, timeout_s), dict(parameters or {})
                )
                await result.consume()

    async def graph_id(self) -> str:
        """Return the id of the database, which an agent that uses it can report; empty if the
        server does not tell it.
        """
        try:
            async with self._session(read=True, timeout_s=_ID_S) as session:
                result = await _rows(
                    await session.run(self._timed("CALL db.info() YIELD id RETURN id", _ID_S))
                )
        except (QueryError, PeerError):
            return ""
        if result.rows:
            return str(result.rows[0][0])
        return ""

    async def snapshot(self) -> GraphSnapshot:
        """Return counts by label and relationship type and a digest of the content."""
        async with self._session(read=True, timeout_s=SNAPSHOT_S) as session:
            transaction = await session.begin_transaction(timeout=SNAPSHOT_S)
            async with transaction:
                return await _summary(transaction)

    async def aclose(self) -> None:
        """Close every connection. Closing twice is fine."""
        self._closed = True
        if self._driver is not None:
            driver, self._driver = self._driver, None
            await driver.close()

    def _timed(self, cypher: str, timeout_s: float) -> Any:
        return Query(cypher, timeout=timeout_s)

    @asynccontextmanager
    async def _session(self, *, read: bool, timeout_s: float) -> AsyncIterator[Any]:
        """Yield a session; convert the driver's exceptions, and limit the total time."""
        driver = await self._open()

        try:
            async with (
                asyncio.timeout(timeout_s + GRACE_S),
                driver.session(
                    default_access_mode="READ" if read else "WRITE",
                    fetch_size=1000,
                ) as session,
            ):
                yield session
        except BioevalError:
            raise
        except TimeoutError:
            raise PeerError(
                "graph", f"{self.identity} did not answer within {timeout_s:g} s", retryable=True
            ) from None
        except Exception as error:
            # Besides its documented errors the driver lets private ones through (of its protocol,
            # of packing) when the server is not Neo4j. Each becomes one sentence; unknown ones name
            # their type.
            raise graph_error(error, self._place, timeout_s) from None

    async def _open(self) -> Any:
        if self._closed:
            raise PeerError("graph", f"{self.identity} is closed")
        if self._problem:
            raise PeerError("graph", f"NEO_URI: {self._problem}")
        async with self._opening:
            if self._driver is None:
                try:
                    self._driver = AsyncGraphDatabase.driver(
                        self._uri,
                        auth=self._credentials,
                        connection_timeout=_CONNECT_S,
                        connection_acquisition_timeout=_CONNECT_S + GRACE_S,
                        max_transaction_retry_time=0,
                        liveness_check_timeout=_IDLE_CHECK_S,
                        notifications_min_severity="OFF",
                        telemetry_disabled=True,
                    )
                except (exceptions.DriverError, OSError, ValueError) as error:  # a URI or setting
                    raise graph_error(error, self._place, 0) from None
        return self._driver


async def _rows(result: Any) -> Rows:
    rows: list[tuple[Any, ...]] = []
    size = 0
    async for record in result:
        row = tuple(plain(value) for value in record.values())
        size += len(json.dumps(row, ensure_ascii=False))
        rows.append(row)
        if len(rows) > MAX_ROWS or size > MAX_RESULT_CHARACTERS:
            raise QueryError(
                f"the result is larger than {MAX_ROWS:,} rows or {MAX_RESULT_CHARACTERS:,}"
                " characters: reduce it"
            )
    return Rows(tuple(result.keys()) if rows else (), tuple(rows))


async def _summary(transaction: Any) -> GraphSnapshot:
    labels = await _counts(transaction, COUNT_LABELS)
    types = await _counts(transaction, COUNT_TYPES)
    digest = ContentDigest()
    nodes = "MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties"
    async for node in await transaction.run(f"{nodes} ORDER BY id(n) LIMIT {MAX_DIGESTED}"):
        digest.add_node(node["id"], node["labels"], plain(node["properties"]))
    edges = (
        "MATCH (a)-[r]->(b) RETURN type(r) AS type, elementId(a) AS start, elementId(b) AS finish, "
        f"properties(r) AS properties ORDER BY id(r) LIMIT {MAX_DIGESTED}"
    )
    async for edge in await transaction.run(edges):
        digest.add_relationship(
            edge["type"], edge["start"], edge["finish"], plain(edge["properties"])
        )
    return GraphSnapshot(labels, types, digest.hexdigest((labels, types)))


async def _counts(transaction: Any, cypher: str) -> dict[str, int]:
    counts = {record["name"]: record["many"] async for record in await transaction.run(cypher)}
    return dict(sorted(counts.items()))


def split_address(uri: str) -> tuple[str, str, str]:
    """Return the URI without its user, the user, and `host:port` to show; only the last of an
    invalid URI.

    The published default has a user name in the URI, which the driver rejects.
    """
    if url_problem(uri, NEO4J):
        return "", "", "NEO_URI"
    parts = urlsplit(uri)
    port = f":{parts.port}" if parts.port else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    query = f"?{parts.query}" if parts.query else ""
    return (
        f"{parts.scheme}://{host}{port}{query}",
        parts.username or "",
        clean_line(f"{host}{port}", 200),
    )
