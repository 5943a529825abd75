"""One tab: its process, in a separate process group, which ends with the tab.

The process is this program with Textual's driver for the web. It and the server exchange packets over pipes:
one byte for the kind (D data, M JSON), four for the length (big endian), then the payload.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from typing import Any

from bioeval_tui.errors import UnavailableError
from bioeval_tui.text import clean_line

READY = b"__GANGLION__\n"
"""The line that Textual's driver writes before its first packet."""

START_S = 30.0
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has the one
QUIT_S = 3.0
MAX_PACKET = 16 << 20
SMALLEST, LARGEST = (20, 8), (500, 200)
"""Columns and rows that a tab may have; a tab that asks for more would only cost memory."""


def bounded(width: Any, height: Any) -> tuple[int, int] | None:
    """Return a size within limits; None if it is not a size."""
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in (width, height)):
        return None
    columns, rows = (
        min(max(n, low), high) for n, low, high in zip((width, height), SMALLEST, LARGEST, strict=True)
    )
    return columns, rows


class Session:
    """The process behind one tab."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._stderr = b""
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, command: Sequence[str], driver: str, size: tuple[int, int]) -> Session:
        """Start the process and wait until it draws.

        Raises:
            UnavailableError: it ended, or did not start in time; with its error output.
        """
        environment = {
            **os.environ,
            "TEXTUAL_DRIVER": driver,
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "TERM": "xterm-256color",
            "COLUMNS": str(size[0]),
            "ROWS": str(size[1]),
        }
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )
        session = cls(process)
        try:
            async with asyncio.timeout(START_S):
                await session._until_ready()
        except BaseException:
            await session.aclose()
            raise
        return session

    async def _until_ready(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # a line that is too long counts as no start, too
            while line := await self._process.stdout.readline():
                if line == READY:
                    return
        await self._listening
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        raise UnavailableError(
            clean_line(lines[-1], 300) if lines else "the program ended before it showed anything"
        )

    async def _listen(self) -> None:
        """Keep only the end of its error output, which may contain texts of conversations."""
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(4096):
            self._stderr = (self._stderr + data)[-2000:]

    async def drawn(self) -> AsyncIterator[bytes]:
        """Yield the terminal output until the program has ended."""
        assert self._process.stdout is not None
        read = self._process.stdout.readexactly
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, size = await read(1), int.from_bytes(await read(4), "big")
                if size > MAX_PACKET:
                    return
                data = await read(size)
                if kind == b"D":
                    yield data
                elif kind == b"M" and json.loads(data).get("type") == "exit":
                    return  # other wishes (open a link, deliver a file) are not granted

    async def type(self, text: str) -> None:
        """Pass on input; an empty packet would mean the end of input to the driver."""
        if text:
            await self._send(b"D", text.encode("utf-8", "replace"))

    async def tell(self, what: str, **more: int) -> None:
        """Send a message to the driver: resize, focus, blur, quit."""
        await self._send(b"M", json.dumps({"type": what, **more}).encode())

    async def _send(self, kind: bytes, payload: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):
            stdin.write(kind + len(payload).to_bytes(4, "big") + payload)
            async with asyncio.timeout(QUIT_S):
                await stdin.drain()

    @property
    def failure(self) -> str:
        """The last line of the error output, if the program ended by itself with an error; otherwise empty."""
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        if (self._process.returncode or 0) <= 0:  # it is running, ended normally, or was stopped by a signal
            return ""
        return clean_line(lines[-1], 600) if lines else f"exit code {self._process.returncode}"

    async def aclose(self) -> None:
        """End the process and its group: ask first, then terminate, then kill."""
        with contextlib.suppress(TimeoutError):
            await self.tell("quit")
        if self._process.stdin is not None:
            self._process.stdin.close()
        drain = asyncio.create_task(self._drop_output())
        try:
            for stop in (None, signal.SIGTERM, KILL):
                if stop is not None:
                    self._signal(stop)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(QUIT_S):
                        await self._process.wait()
                    break
        finally:
            self._signal(KILL)  # remaining processes of its group
            drain.cancel()
            await asyncio.wait({self._listening}, timeout=QUIT_S)  # its remaining output
            self._listening.cancel()
            await asyncio.gather(drain, self._listening, return_exceptions=True)

    async def _drop_output(self) -> None:
        """Keep reading, because a program whose output is not read could not end."""
        assert self._process.stdout is not None
        with contextlib.suppress(RuntimeError):
            while await self._process.stdout.read(1 << 16):
                pass

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            elif self._process.returncode is None:
                self._process.send_signal(number)
