"""The embedded knowledge graph: Cypher on a SQLite file, by the graphqlite extension in apsw's SQLite.

Only graphqlite's SQL function `cypher(query, parameters)` is used. Its Python wrapper is not imported: it
swallows errors with apsw, and it would bring a second SQLite library near the extension, which crashes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bioeval_tui.evaluation.graphs.cypher import check_query, check_statement
from bioeval_tui.evaluation.graphs.embedded_file import Allowance, EmbeddedFile, available
from bioeval_tui.evaluation.graphs.identity import graph_id
from bioeval_tui.evaluation.seams import GraphSnapshot, PeerError, Rows

__all__ = ["EmbeddedGraph", "available"]

Answer = TypeVar("Answer")

_GRACE_S = 2.0
"""How many seconds after a statement's own deadline the caller stops waiting for the thread."""

_SNAPSHOT_S = 20.0


class EmbeddedGraph:
    """A `KnowledgeGraph` in one file. Nothing is opened before the first call.

    One thread owns the only connection, so calls queue and the event loop never waits for SQLite. Other
    processes may have the same file open (write-ahead log, busy timeout).
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

        A result without rows has no columns either. Raises `QueryError` when the query is wrong, refused, not supported
        here or its result larger than 5 MB, `PeerError` when it ran out of time (not retryable, because it would happen
        again) or the file cannot be used.
        """
        check_query(cypher, parameters, embedded=True)
        return await self._call(partial(self._file.read, cypher, parameters), timeout_s)

    async def execute(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 30.0
    ) -> None:
        """Run one query that may write, in its own transaction. Raises the same errors as `query`."""
        check_statement(cypher, parameters, embedded=True)
        await self._call(partial(self._file.write, cypher, parameters), timeout_s)

    async def graph_id(self) -> str:
        """Return the id of the file, which the agent that uses it can report."""
        return graph_id(self.path)

    async def snapshot(self) -> GraphSnapshot:
        """Return counts by label and relationship type and a digest of the content."""
        return await self._call(self._file.snapshot, _SNAPSHOT_S)

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
            async with asyncio.timeout(timeout_s + _GRACE_S):
                return await asyncio.get_running_loop().run_in_executor(self._thread, work, allowance)
        except TimeoutError:
            raise PeerError("graph", f"{self.identity} is busy: no answer in {timeout_s:g} s") from None
        finally:
            # The caller has stopped waiting or has the answer, so no part of this call may continue in the thread.
            allowance.cancel()
            self._under_way.discard(allowance)
