"""An unavailable or silent Neo4j: one sentence, within the timeout."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from bioeval_tui.graphs.neo4j import Neo4jGraph
from bioeval_tui.protocols import PeerError


@pytest.fixture
async def silent_port() -> AsyncIterator[int]:
    """A server that takes connections and never says a word."""
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    done.set()
    server.close()


async def failure_of(uri: str, timeout_s: float = 5.0) -> PeerError:
    graph = Neo4jGraph(uri, "neo4j", "hunter2")
    with pytest.raises(PeerError) as raised:
        await graph.query("RETURN 1 AS one", timeout_s=timeout_s)
    await graph.aclose()
    assert raised.value.peer == "graph"
    assert "hunter2" not in str(raised.value)
    return raised.value


async def test_an_unreachable_neo4j_is_reported() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        error = await failure_of(f"bolt://127.0.0.1:{one.getsockname()[1]}")
    assert "cannot be reached" in str(error)
    assert error.retryable


async def test_a_silent_neo4j_times_out(silent_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bioeval_tui.graphs.neo4j.GRACE_S", 0.05)
    error = await failure_of(f"bolt://127.0.0.1:{silent_port}", timeout_s=0.1)
    assert "did not answer within 0.1 s" in str(error)
    assert error.retryable


@pytest.mark.parametrize(
    "uri", ["http://127.0.0.1:7687", "nonsense", "bolt://127.0.0.1:99999999", "bolt://[::1"]
)
async def test_an_invalid_neo4j_url_is_reported(uri: str) -> None:
    error = await failure_of(uri)
    assert "NEO_URI" in str(error)
    assert not error.retryable


async def test_a_user_name_in_the_neo4j_url_is_used_and_not_shown() -> None:
    graph = Neo4jGraph("bolt://ada:pw@db.example:7687", "", "x")
    assert graph.identity == "Neo4j at db.example:7687"
    await graph.aclose()


async def test_a_closed_neo4j_graph_is_unavailable() -> None:
    graph = Neo4jGraph("bolt://127.0.0.1:7687", "neo4j", "x")
    await graph.aclose()
    with pytest.raises(PeerError, match="is closed"):
        await graph.query("RETURN 1 AS one")
