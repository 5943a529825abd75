"""The Neo4j that tests use: the one of `scripts/neo4j-for-tests`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bioeval_tui.graphs.neo4j import Neo4jGraph

SCRIPT = Path(__file__).parents[3] / "scripts" / "neo4j-for-tests"
REQUIRED = os.environ.get("BIOEVAL_REQUIRE_REAL") == "1"

_SEEN_EMPTY: set[str] = set()


@dataclass(frozen=True)
class Server:
    """How a server is reached. `name` is the script's name for it."""

    uri: str
    username: str
    password: str
    name: str = "tests"
    is_given: bool = False
    """It is somebody's own (NEO_URI), so nothing in it may be deleted."""


def call_script(*arguments: str, own: bool = False) -> Server | None:
    """Run the script; return the server that it names.

    `own` leaves a server given by NEO_URI aside.
    """
    if sys.platform == "win32":
        return None
    environment = {
        key: value for key, value in os.environ.items() if not (own and key.startswith("NEO_"))
    }
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, env=environment
    )
    said = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    if done.returncode != 0 or "NEO_URI" not in said:
        sys.stderr.write(done.stderr)  # pytest shows it beside a failure
        return None
    is_given = environment.get("NEO_URI") == said["NEO_URI"]
    return Server(said["NEO_URI"], said["NEO_USERNAME"], said["NEO_PASSWORD"], is_given=is_given)


def require_server() -> Server:
    """Return the server for tests; skip where none runs, start one (and fail without it) where one
    is required.
    """
    server = call_script("start") if REQUIRED else call_script("status", own=True)
    if server is None:
        reason = "no Neo4j for tests runs: `scripts/neo4j-for-tests start` brings one up"
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)
    return server


@contextlib.asynccontextmanager
async def empty_graph(server: Server) -> AsyncIterator[Neo4jGraph]:
    """Give the server's graph, emptied before. One test at a time: they share the server."""
    import fcntl

    with (Path(tempfile.gettempdir()) / f"bioeval-tui-neo4j-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        graph = Neo4jGraph(server.uri, server.username, server.password)
        try:
            if server.is_given and server.uri not in _SEEN_EMPTY:
                if (await graph.snapshot()).labels:
                    pytest.fail(
                        "the Neo4j at NEO_URI is not empty, and these tests would empty it; give"
                        " another"
                    )
                _SEEN_EMPTY.add(server.uri)
            await graph.execute("MATCH (n) DETACH DELETE n")
            yield graph
        finally:
            await graph.aclose()
            if server.is_given:
                await _empty(server)


async def _empty(server: Server) -> None:
    """Empty a given server with a graph of its own: the test may have closed the one that it
    had.
    """
    graph = Neo4jGraph(server.uri, server.username, server.password)
    try:
        await graph.execute("MATCH (n) DETACH DELETE n")
    finally:
        await graph.aclose()
