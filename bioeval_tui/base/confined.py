"""A process without keys or files that answers requests about untrusted text, and can be killed.

`Confined` starts the program of such a process, which calls `serve`. What the program's own limits
cannot count, such as loops in loops, is stopped by those of the process. Messages in both
directions are the length as 4 bytes, then JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from bioeval_tui.base.isolation import module_command
from bioeval_tui.base.portable import resource
from bioeval_tui.base.settings import plain_environment

DIES_S = 0.2
"""How long a process may take to end by itself once its standard input is closed."""
MEMORY = 512 << 20
"""Maximum address space of the process, in bytes."""
MAX_ANSWER = 16 << 20
"""Maximum length of an answer of the process, in bytes."""
LENGTH = struct.Struct(">I")
"""The prefix of each message between the processes, which is JSON."""


class ConfinedError(Exception):
    """A request that got no answer; the message says what it took too much of, as the end of a
    sentence that begins with what was asked.
    """


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one request may take: `cpu_s` of processor time and, if the system cannot limit that or
    the machine is very busy, `wall_s` in all. `doing` is what it does, such as "render".
    """

    cpu_s: int
    wall_s: float
    doing: str


class Confined:
    """Asks a process, one request after another.

    Belongs to one event loop; the process starts with the first request.
    """

    def __init__(self, module: str) -> None:
        """`module` is the program of the process: it calls `serve`."""
        self._module = module
        self.process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def ask(self, request: dict[str, Any], allowed: Allowance) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            ConfinedError: the request takes too much time or memory, or no process can be started.
        """
        asked = json.dumps(request).encode()
        async with self._turn:
            try:
                async with asyncio.timeout(allowed.wall_s):
                    return await self._ask(asked, allowed)
            except TimeoutError:
                await self._kill()
                why = f"it takes longer than {allowed.wall_s:g} s to {allowed.doing}"
                raise ConfinedError(why) from None
            except (asyncio.IncompleteReadError, ConnectionError):
                raise ConfinedError(await self._why_it_ended(allowed)) from None
            except OSError as error:
                raise ConfinedError(f"its process cannot be started: {error.strerror}") from None
            except BaseException:  # cancelled: nobody waits for its answer any more
                await self._kill()
                raise

    async def aclose(self) -> None:
        """End the process, if one was started."""
        await self._kill()

    async def _ask(self, asked: bytes, allowed: Allowance) -> dict[str, Any]:
        if self.process is None:
            self.process = await asyncio.create_subprocess_exec(
                *module_command(self._module, str(allowed.cpu_s)),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=plain_environment(), start_new_session=True,
            )  # fmt: skip
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(LENGTH.pack(len(asked)) + asked)
        await stdin.drain()
        (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
        if length > MAX_ANSWER:
            raise ConnectionError
        answer: dict[str, Any] = json.loads(await stdout.readexactly(length))
        return answer

    async def _why_it_ended(self, allowed: Allowance) -> str:
        code = await self._kill()
        if code == -getattr(signal, "SIGXCPU", 0):
            return f"it takes more than {allowed.cpu_s} s of processor time to {allowed.doing}"
        return f"it takes too much time or memory to {allowed.doing}"

    async def _kill(self) -> int | None:
        """End the process; return its exit code, or None if there was none."""
        process, self.process = self.process, None
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


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer the requests on stdin until it ends, without files from the first one on.

    Whatever a library prints meanwhile goes nowhere: the answers have stdout for themselves.
    """
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    _limit()
    seconds = int(sys.argv[1])
    while (head := source.read(LENGTH.size)) and len(head) == LENGTH.size:
        asked = json.loads(source.read(LENGTH.unpack(head)[0]))
        _allow_cpu(seconds)
        _write(sink, answer(asked))


def _write(sink: BinaryIO, answer: dict[str, Any]) -> None:
    data = json.dumps(answer).encode()
    sink.write(LENGTH.pack(len(data)) + data)
    sink.flush()


def _limit() -> None:
    """Remove access to what no request needs: memory, files, and processes."""
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
