"""Which graph a run uses may depend on how its agent describes itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bioeval_tui.evaluation.wiring import graphs
from bioeval_tui.graphs.embedded import graph_id

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("piece", [b"", b" ", b" " * 50_000])
async def test_an_agent_with_an_endless_self_description_says_no_graph(
    piece: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = graph_id(tmp_path / "graph.db")
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
        for answer, expected in ((honest, ours), (endless, "")):
            async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
                port = server.sockets[0].getsockname()[1]
                assert await graphs.agents_graph_id(f"http://127.0.0.1:{port}") == expected
    assert sent < 20_000_000
