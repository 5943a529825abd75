"""Limits on a worker's memory: RLIMIT_AS where the system keeps it, else sampled from outside."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_own_process = False


def own_process() -> None:
    """Let `at_most` bound this process: it only grades. In a program that grades among other things it does not."""
    global _own_process
    _own_process = not needs_sampling()


@contextlib.contextmanager
def at_most(megabytes: float) -> Iterator[bool]:
    """Let a worker take at most so much more address space in here; gives whether that is bounded (Linux workers only).

    What fails for want of it says so as its library does: MemoryError, or an error of HDF5.
    """
    if not _own_process:
        yield False
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _in_use() + int(megabytes * 1_000_000)
    bounded = soft == resource.RLIM_INFINITY or wanted < soft
    if bounded:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield bounded
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def not_counted() -> Iterator[None]:
    """Let what is done in here, such as an import, take nothing of what `at_most` allows around it."""
    if not _own_process:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = _in_use()
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        if soft != resource.RLIM_INFINITY:
            grown = soft + max(0, _in_use() - before)
            soft = grown if hard == resource.RLIM_INFINITY else min(grown, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def limit_memory(megabytes: int | None) -> None:
    """Let this process take at most `megabytes` more address space than it has now (Linux only)."""
    if not megabytes or needs_sampling():
        return
    import resource

    wanted = _in_use() + megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def _in_use() -> int:
    """Return the bytes of address space that this process has now (Linux)."""
    import resource

    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def needs_sampling() -> bool:
    """Whether `limit_memory` does nothing here, so that the parent has to look."""
    return not sys.platform.startswith("linux") or importlib.util.find_spec("resource") is None


def resident_megabytes(pid: int) -> float:
    """Return the resident memory of a process by asking `ps`; 0 if that is not possible."""
    try:
        asked = subprocess.run(  # noqa: S603
            ["ps", "-o", "rss=", "-p", str(pid)],  # noqa: S607 (where ps lives differs between systems)
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
        return int(asked.stdout.strip() or 0) / 1024
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0.0
