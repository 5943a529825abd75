"""The Neo4j for tests, with an empty graph."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bioeval_tui.graphs.neo4j import Neo4jGraph

from .server import Server, empty_graph, require_server


@pytest.fixture(scope="module")
def server() -> Server:
    return require_server()


@pytest.fixture
async def graph(server: Server) -> AsyncIterator[Neo4jGraph]:
    async with empty_graph(server) as graph:
        yield graph
