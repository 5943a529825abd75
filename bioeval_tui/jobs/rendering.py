"""Renders untrusted templates in a process without keys or files, which can be killed.

What the sandbox (`sandbox.py`) cannot count (loops in loops, recursion, filters that multiply) is
stopped by the limits of the process. Callers keep a `Templates`, which starts it for the first
template that is not this program's own. Messages in both directions are the length as 4 bytes, then
JSON.

This file is also the program of the process: `main` and what follows it run only there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import signal
import struct
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.isolation import module_command
from bioeval_tui.base.portable import resource
from bioeval_tui.base.settings import plain_environment
from bioeval_tui.base.text import clean_line
from bioeval_tui.jobs.sandbox import render

CPU_S = 3
"""Maximum processor time of one rendering, in seconds; a usual one takes about a millisecond."""
WALL_S = 30.0
"""Timeout of one rendering, in seconds, if the system cannot limit processor time or the machine is
very busy.
"""
DIES_S = 0.2
"""How long a process may take to end by itself once its standard input is closed."""
MEMORY = 512 << 20
"""Maximum address space of the process, in bytes."""
MAX_ANSWER = 16 << 20
"""Maximum length of an answer of the process, in bytes."""
LENGTH = struct.Struct(">I")
"""The prefix of each message between the processes, which is JSON."""
_USUAL = (
    "{{ nope }}",
    "{% if %}",
    "{{ '\\n\u00e9' ~ 1.5 }}",
    "{{ [1] | pprint | upper }}",
    "{{ lipsum(n=1) | striptags }}",
)
"""Rendered before access to files ends, because Python and Jinja import some modules only when
needed.
"""


class Templates:
    """Renders untrusted templates, one after another.

    Belongs to one event loop; the process starts with the first template.
    """

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def render(self, name: str, text: str, context: Mapping[str, Any]) -> str:
        """Render the template `text`, called `name`, with `context`.

        Raises:
            UsageError: the template is wrong, is rejected by the sandbox, or takes too much time or
                memory.
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
                *module_command("bioeval_tui.jobs.rendering", str(CPU_S)),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
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
        """End the process; return its exit code, or None if there was none."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.stdin is not None:
            process.stdin.close()
        # A process that died by itself gives the reason, which SIGKILL at once would hide.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DIES_S):
                return await process.wait()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return await process.wait()


# In the process.


def main() -> None:
    """Render the requests on stdin until it ends."""
    for text in _USUAL:
        _answer_request({"name": "", "text": text, "context": {}})
    _limit()
    seconds = int(sys.argv[1])
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while (head := source.read(LENGTH.size)) and len(head) == LENGTH.size:
        asked = json.loads(source.read(LENGTH.unpack(head)[0]))
        _allow_cpu(seconds)
        _answer(sink, _answer_request(asked))


def _answer_request(asked: dict[str, Any]) -> dict[str, str]:
    try:
        return {"text": render(asked["name"], asked["text"], asked["context"])}
    except UsageError as error:
        return {"error": str(error)}
    except OSError:
        return {
            "error": (
                f"prompt `{clean_line(asked['name'], 100)}`: not allowed: a template opens no files"
            )
        }


def _answer(sink: BinaryIO, answer: dict[str, str]) -> None:
    data = json.dumps(answer).encode()
    sink.write(LENGTH.pack(len(data)) + data)
    sink.flush()


def _limit() -> None:
    """Remove access to what no template needs: memory, files, and processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl+C is for who asked
    if resource is None:  # Windows: the time alone is limited, by who asked
        return
    for kind, most in (
        ("RLIMIT_AS", MEMORY),
        ("RLIMIT_NOFILE", 3),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
    ):
        with contextlib.suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, kind), (most, most))


def _allow_cpu(seconds: int) -> None:
    """Let the system end this process if it computes for too long."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.suppress(ValueError, OSError):
        most = math.ceil(used.ru_utime + used.ru_stime) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
