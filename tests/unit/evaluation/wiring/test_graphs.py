"""Which graph a run uses may depend on how its agent describes itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bioeval_tui.evaluation.graphs.embedded import EmbeddedGraph
from bioeval_tui.evaluation.graphs.identity import graph_id
from bioeval_tui.evaluation.wiring import graphs
from bioeval_tui.settings import Settings

pytest.importorskip("graphqlite")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("piece", [b"", b" ", b" " * 50_000])
async def test_an_agent_with_an_endless_self_description_is_not_taken_for_the_sample_agent(
    piece: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.from_environment({"BIOEVAL_DATA_DIR": str(tmp_path)})
    graph = EmbeddedGraph(settings.graph_file)
    await graph.query("RETURN 1 AS opened")
    await graph.aclose()
    ours = graph_id(settings.graph_file)
    sent = 0

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        try:
            while not (writer.is_closing() or reader.at_eof()):
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
                await asyncio.sleep(0)
        except (OSError, asyncio.CancelledError):
            pass  # it has gone, or the test has ended
        finally:
            writer.transport.abort()

    async def honest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b'{"graphId": "' + ours.encode() + b'"}')
        writer.close()

    monkeypatch.setattr(graphs, "ABOUT_S", 0.5)
    async with asyncio.timeout(60):
        for answer, expected in ((honest, True), (endless, False)):
            async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
                port = server.sockets[0].getsockname()[1]
                assert await graphs._uses_our_graph(settings, f"http://127.0.0.1:{port}") is expected
    assert sent < 20_000_000
