"""Limits on a worker's memory: RLIMIT_AS where the system keeps it, else sampled from outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def limit_memory(megabytes: int | None) -> None:
    """Let this process take at most `megabytes` more address space than it has now (Linux only)."""
    if not megabytes or not sys.platform.startswith("linux"):
        return
    import resource

    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    wanted = in_use + megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def needs_sampling() -> bool:
    """Whether `limit_memory` does nothing here, so that the parent has to look."""
    return not sys.platform.startswith("linux")


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
