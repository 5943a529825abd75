"""The process that renders untrusted templates: without keys or files, and can be killed.

Callers keep a `Templates`, which starts the process for the first template that is not this
program's own. Messages in both directions are the length as 4 bytes, then JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import struct
from collections.abc import Mapping
from typing import Any

from bioeval_tui.errors import UsageError
from bioeval_tui.isolation import module_command
from bioeval_tui.settings import plain_environment
from bioeval_tui.text import clean_line

CPU_S = 3
"""Maximum processor time of one rendering, in seconds; a usual one takes about a millisecond."""
WALL_S = 30.0
"""Timeout of one rendering, in seconds, if the system cannot limit processor time or the machine is very busy."""
MAX_ANSWER = 16 << 20
LENGTH = struct.Struct(">I")
"""The prefix of each message between the processes, which is JSON."""


class Templates:
    """Renders untrusted templates, one after another. Belongs to one event loop; the process starts with the first template."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def render(self, name: str, text: str, context: Mapping[str, Any]) -> str:
        """Render the template `text`, called `name`, with `context`.

        Raises:
            UsageError: the template is wrong, is rejected by the sandbox, or takes too much time or memory.
        """
        where = f"prompt `{clean_line(name, 100)}`"
        asked = json.dumps({"name": name, "text": text, "context": context}).encode()
        async with self._turn:
            try:
                async with asyncio.timeout(WALL_S):
                    answer = await self._ask(asked)
            except TimeoutError:
                await self._kill()
                raise UsageError(f"{where}: it takes longer than {WALL_S:g} s to render") from None
            except (asyncio.IncompleteReadError, ConnectionError):
                raise UsageError(f"{where}: {await self._why_it_ended()}") from None
            except OSError as error:
                raise UsageError(f"{where}: cannot be rendered: {error.strerror}") from None
            except BaseException:  # cancelled: nobody waits for its answer any more
                await self._kill()
                raise
        if "error" in answer:
            raise UsageError(str(answer["error"]))
        return str(answer["text"])

    async def aclose(self) -> None:
        """End the process, if one was started."""
        await self._kill()

    async def _ask(self, asked: bytes) -> dict[str, Any]:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *module_command("bioeval_tui.evaluation.models.templates", str(CPU_S)),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                env=plain_environment(), start_new_session=True,
            )  # fmt: skip
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(LENGTH.pack(len(asked)) + asked)
        await stdin.drain()
        (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
        if length > MAX_ANSWER:
            raise ConnectionError
        answer: dict[str, Any] = json.loads(await stdout.readexactly(length))
        return answer

    async def _why_it_ended(self) -> str:
        code = await self._kill()
        if code == -getattr(signal, "SIGXCPU", 0):
            return f"it takes more than {CPU_S} s of processor time to render"
        return "it takes too much time or memory to render"

    async def _kill(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):  # a process that died by itself gives the reason
                return await process.wait()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return await process.wait()
