"""Memory limits of a worker: RLIMIT_AS for each process on Linux, and the sum of the group."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bioeval_tui.grade.batch.containment import LINUX, megabytes_below
from bioeval_tui.portable import resource

_own_process = False


def own_process() -> None:
    """Enable `at_most` in this process, which only grades; other programs are not limited."""
    global _own_process
    _own_process = LINUX


@contextlib.contextmanager
def at_most(megabytes: float) -> Iterator[bool]:
    """Limit how much more address space a worker may use in this context; yields whether a limit applies (Linux workers only).

    If it is exceeded, the library raises MemoryError or an error of HDF5.
    """
    if not _own_process:
        yield False
        return
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
    """Exclude memory used in this context, such as by an import, from the surrounding `at_most`."""
    if not _own_process:
        yield
        return
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
    if not megabytes or not LINUX:
        return
    wanted = _in_use() + megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def _in_use() -> int:
    """Return the bytes of address space that this process has now (Linux)."""
    page: int = resource.getpagesize()
    return int(Path("/proc/self/statm").read_text().split()[0]) * page


def megabytes_of_group(pid: int) -> float:
    """Return the memory of a worker and all it started; `pid` is its supervisor's on Linux, elsewhere its own.

    Elsewhere `ps` is asked for the process group; 0 where that is not possible (Windows).
    """
    if LINUX:
        return megabytes_below(pid)
    try:
        asked = subprocess.run(
            ["ps", "-A", "-o", "pgid=,rss="],  # noqa: S607 (where ps lives differs between systems)
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
        rows = [line.split() for line in asked.stdout.splitlines()]
        return sum(int(rss) for group, rss in rows if int(group) == pid) / 1024
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0.0
