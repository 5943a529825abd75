"""A tab of `serve`: drawn over the WebSocket, controlled by keys, closed, and crashed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyte
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from bioeval_tui.base.errors import ExitCode
from tests.integration.program import started
from tests.terminals import LONGEST_S

from .test_crash import breaking
from .world import REPOSITORY, RUN, recorded

COLUMNS, ROWS = 140, 40


class Tab:
    """One tab: what its terminal shows, until it is closed."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        """What the tab shows, line by line."""
        return "\n".join(self._screen.display)

    async def sees(self, *words: str, without: str = "\0") -> None:
        """Wait until the tab shows all these words, and no `without`."""
        async with asyncio.timeout(LONGEST_S):
            while not all(some in self.text for some in words) or without in self.text:
                message = await self._socket.receive()
                assert message.type is WSMsgType.BINARY, f"the tab is closed\n{self.text}"
                self._stream.feed(message.data)

    async def types(self, keys: str, *words: str) -> None:
        """Press keys, then wait until the tab shows all these words."""
        await self._socket.send_json(["stdin", keys])
        await self.sees(*words)

    async def is_closed(self) -> None:
        """Wait until the server has closed the tab."""
        async with asyncio.timeout(LONGEST_S):
            async for _ in self._socket:
                pass


@asynccontextmanager
async def tab_of(process: subprocess.Popen[str]) -> AsyncIterator[Tab]:
    """Open the link that `serve` prints, as a browser does."""
    assert process.stdout is not None
    link = await asyncio.to_thread(process.stdout.readline)
    parts = urlsplit(link.strip())
    origin = f"{parts.scheme}://{parts.netloc}"
    async with ClientSession() as client:
        page = await (await client.get(link.strip())).text()
        ticket = page.partition('data-ticket="')[2].partition('"')[0]
        size = {"width": COLUMNS, "height": ROWS}
        async with client.ws_connect(
            f"{origin}/ws/{ticket}", params=size, headers={"Origin": origin}
        ) as socket:
            yield Tab(socket)


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """End the server as by Ctrl-C or `kill`; return its exit code and what it said."""
    process.send_signal(number)
    _, said = process.communicate(timeout=LONGEST_S)
    return process.returncode, said


OPTIONS: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {
    "all": (
        [str(REPOSITORY / "sample_jobs")],
        [("", "› Jobs    8 jobs", "enter run"), ("3", "› Runs    2 runs"), ("?", "esc close")],
    ),
    "read-only": (["--read-only"], [("", "› Runs    2 runs"), ("?", "esc close")]),
    "replay": (
        ["--read-only", "--run", RUN],
        [("", "› Live", "REPLAY"), ("E", "0.44 → 1.00 with the facts", "more ▸")],
    ),
}


@pytest.mark.parametrize(
    "name",
    # a replay is read-only, too
    [
        "all",
        pytest.param("read-only", marks=pytest.mark.long),
        "replay",
    ],
)
async def test_a_browser_tab_shows_the_application_takes_keys_and_can_be_left(
    tmp_path: Path, name: str
) -> None:
    options, steps = OPTIONS[name]
    with started("serve", *options, data_dir=recorded(tmp_path)) as process:
        async with tab_of(process) as tab:
            for keys, *words in steps:
                await tab.types(keys, *words)
            await tab.types("\x1b")
            await tab.sees("? help", without="esc close")
            await tab.types("q")
            await tab.is_closed()
        code, said = ended(process, signal.SIGTERM)
        assert (code, said.count("\n")) == (ExitCode.OK, 1), said


@pytest.mark.long
async def test_a_crashed_tab_closes_and_the_server_reports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", breaking(recorded(tmp_path)))
    with started("serve", data_dir=tmp_path) as process:
        async with tab_of(process) as tab:
            await tab.is_closed()
        code, said = ended(process, signal.SIGINT)
    assert code == ExitCode.INTERRUPTED
    assert (
        "a session ended early: error: the screen crashed, a bug in bioeval-tui (BrokenPipeError"
        in said
    )
    assert "Traceback" not in said
    assert "the title is broken" in (tmp_path / "logs" / "errors.log").read_text(encoding="utf-8")
