"""Servers with hundreds of half-sent requests still answer their owner."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.program import environment

FILES = int(os.environ.get("BIOEVAL_HALF_FILES", "300"))
"""How many file descriptors the server may have."""
CONNECTIONS = int(os.environ.get("BIOEVAL_HALF_CONNECTIONS", "450"))
"""How many connections ask for one."""

INTENTS = """
import asyncio, json, sys
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.intents import listen
async def main():
    async with listen(Control()) as (port, token):
        print(json.dumps({"port": port, "token": token}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(line))
            print("connected", flush=True)
            writer.close()
asyncio.run(main())
"""


@contextmanager
def few_files(command: list[str], data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a server that may have few file descriptors; what it says on stderr is in a file."""

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))

    with (data_dir / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            env=environment(data_dir), preexec_fn=lower,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def half_open(port: int, said: bytes) -> Iterator[None]:
    """Hold connections that have said half of something; those that the server closed are not
    opened again.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 200
    if soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            pytest.skip("this process may not have so many files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    with contextlib.ExitStack() as held:
        for _ in range(CONNECTIONS):
            connection = held.enter_context(socket.create_connection(("127.0.0.1", port), 30))
            with contextlib.suppress(OSError):
                connection.sendall(said)
        yield


def asked(port: int, intent: dict[str, Any], token: str) -> dict[str, Any]:
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(
            json.dumps({"token": token}).encode() + b"\n" + json.dumps(intent).encode() + b"\n"
        )
        with connection.makefile() as answers:
            found: dict[str, Any] = json.loads(answers.readline())
        return found


def test_half_sent_requests_block_neither_the_owner_nor_the_engine(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as agent,
        few_files([sys.executable, "-c", INTENTS], tmp_path) as engine,
    ):
        assert engine.stdout is not None
        assert engine.stdin is not None
        where = json.loads(engine.stdout.readline())
        for said in (b"", b'{"token": "'):
            with half_open(where["port"], said):
                assert asked(where["port"], {"id": 1, "kind": "pause"}, where["token"]) == {
                    "id": 1,
                    "ok": True,
                }
                engine.stdin.write(f"{agent.getsockname()[1]}\n")
                engine.stdin.flush()
                assert engine.stdout.readline() == "connected\n"
    assert (tmp_path / "stderr").stat().st_size < 200_000


HALF_BODY = (
    b'PUT /api/v1/chat/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"user"'
)


HALVES = (b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", HALF_BODY)


@pytest.mark.parametrize("name", ["serve", "agent"])
def test_half_sent_requests_do_not_block_complete_ones(name: str, tmp_path: Path) -> None:
    options = ["--read-only"] if name == "serve" else []
    command = [sys.executable, "-m", "bioeval_tui", name, "--port", "0", *options]
    with few_files(command, tmp_path) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        link = line.strip() if name == "serve" else json.loads(line)["url"] + "/api/v1/about"
        port = urllib.request.urlparse(link).port  # type: ignore[attr-defined]
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for said in HALVES:
            with half_open(port, said), opener.open(link, timeout=300) as answer:
                assert answer.status == 200, said
            if name == "serve":
                for _ in range(5):  # whole questions without the token cost no more
                    with pytest.raises(urllib.error.HTTPError) as refused:
                        opener.open(link.partition("token=")[0] + "token=wrong", timeout=300)
                    refused.value.close()
            assert server.poll() is None, said
    assert (tmp_path / "stderr").stat().st_size < len(HALVES) * 100_000


@pytest.mark.parametrize("name", ["serve", "agent"])
def test_malformed_requests_do_not_fill_the_log(name: str, tmp_path: Path) -> None:
    options = ["--read-only"] if name == "serve" else []
    command = [sys.executable, "-m", "bioeval_tui", name, "--port", "0", *options]
    with few_files(command, tmp_path) as server:
        assert server.stdout is not None
        port = int(re.findall(r":([0-9]+)", server.stdout.readline())[0])
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", port), 30) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nHost : b\x1b[31m\r\n\r\n")
                assert connection.recv(100).startswith(b"HTTP/1.0 400")
    assert (tmp_path / "stderr").stat().st_size < 1_000
