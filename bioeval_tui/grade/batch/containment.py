"""Containment of a grader's processes: memory limits, and protection of the program's own memory
(Linux).
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from bioeval_tui.base import isolation
from bioeval_tui.base.portable import resource

LINUX = sys.platform.startswith("linux") and hasattr(os, "fork")
"""Whether the system supports this module."""
CHECK_S = 1.0
"""Interval at which a supervisor checks whether the program is still running, in seconds."""
_END_WITHIN_S = 5.0
_PDEATHSIG, _DUMPABLE, _SUBREAPER, _NO_NEW_PRIVS = 1, 4, 36, 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_REFER, _SCOPE_SIGNAL = 1 << 13, 1 << 1


def hide_process() -> None:
    """Prevent this user's other processes from reading this program's environment and memory
    (Linux; root still can).

    Debuggers can no longer attach, and a crash leaves no core file. A process that uses this
    package as a library is not changed.
    """
    if LINUX and isolation.is_program:
        _prctl(_DUMPABLE, 0)


def enter_domain() -> bool:
    """Restrict this process and its children to reading and signalling each other; return whether
    that is possible.

    Uses Landlock (Linux 5.19 or newer): environment and memory of all other processes are
    inaccessible; root can still read environments. From Linux 6.12 on, others cannot be killed
    either. Files and network are not restricted.
    """
    if not LINUX:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 2:
        return False
    # The only handled right, moving files between folders, is granted everywhere, so nothing
    # changes for files.
    scoped = _SCOPE_SIGNAL if version >= 6 else 0
    ruleset = struct.pack("QQQ", _REFER, 0, scoped)[: 24 if version >= 6 else 8]
    created = libc.syscall(
        _LANDLOCK_CREATE, ruleset, ctypes.c_size_t(len(ruleset)), ctypes.c_uint32(0)
    )
    if created < 0:
        return False
    root = os.open("/", os.O_PATH)
    try:
        rule = struct.pack("=Qi", _REFER, root)
        return bool(
            libc.syscall(_LANDLOCK_ADD, created, 1, rule, ctypes.c_uint32(0)) == 0
            and libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            and libc.syscall(_LANDLOCK_RESTRICT, created, ctypes.c_uint32(0)) == 0
        )
    finally:
        os.close(root)
        os.close(created)


def collect_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends."""
    _prctl(_SUBREAPER, 1)


def supervise(parent: int) -> None:
    """Fork: the new process returns and is the worker; the calling process supervises it and never
    returns.

    Args:
        parent: the program's process id. The worker ends when it does.
    """
    collect_orphans()
    own = os.getpid()
    watched = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    worker = os.fork()
    if worker == 0:
        _prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != own:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, watched)
        return
    _watch(worker, parent, watched)


def _watch(worker: int, parent: int, watched: set[signal.Signals]) -> NoReturn:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    status: int | None = None
    while status is None and os.getppid() == parent:
        received = signal.sigtimedwait(watched, CHECK_S)
        if received is not None and received.si_signo == signal.SIGTERM:
            break
        status = reap(worker)
    end_below(os.getpid())
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, how = os.wait()
            if ended == worker:
                status = how
    end_process(signal.SIGKILL if status is None else status)


def end_process(status: int) -> NoReturn:
    """End this process as a child ended, whose status `os.wait` returned: the program names the
    signal.
    """
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(1)


def reap(worker: int) -> int | None:
    """Collect children that have ended; return the worker's status if it is one of them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, how = os.waitpid(-1, os.WNOHANG)
            if ended == 0:
                break
            if ended == worker:
                status = how
    return status


def below(pid: int) -> set[int]:
    """Return the processes below one: its children, theirs, and so on; not those that have
    ended.
    """
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 (twice as fast)
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # "PID (name) state parent …"; a name may contain anything.
                state, parent = (
                    Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()[:2]
                )
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(entry))
    pids: set[int] = set()
    waiting = [pid]
    while waiting:
        new = set(children.get(waiting.pop(), ())) - pids
        pids |= new
        waiting += new
    return pids


def end_below(pid: int) -> None:
    """Kill every process below one.

    All are stopped first, so that none starts another meanwhile.
    """
    deadline = time.monotonic() + _END_WITHIN_S
    while time.monotonic() < deadline:
        stopped: set[int] = set()
        while new := below(pid) - stopped:
            for process in new:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGSTOP)
            stopped |= new
        if not stopped:
            return
        for process in stopped:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.002)


def megabytes_below(pid: int) -> float:
    """Return the memory of all processes below one, counting shared memory once.

    For a process that hides its details, all resident memory counts.
    """
    total = 0
    for process in below(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            try:
                lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
                total += (
                    next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
                )
            except (OSError, StopIteration):
                pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
                total += pages * os.sysconf("SC_PAGE_SIZE")
    return total / (1024 * 1024)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


_own_process = False


def own_process() -> None:
    """Enable `bound_memory` in this process, which only grades; other programs are not limited."""
    global _own_process
    _own_process = LINUX


@contextlib.contextmanager
def bound_memory(megabytes: float) -> Iterator[bool]:
    """Limit how much more address space a worker may use in this context; yields whether a limit
    applies (Linux workers only).

    If it is exceeded, the library raises MemoryError or an error of HDF5.
    """
    if not _own_process:
        yield False
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _memory_used() + int(megabytes * 1_000_000)
    bounded = soft == resource.RLIM_INFINITY or wanted < soft
    if bounded:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield bounded
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def not_counted() -> Iterator[None]:
    """Exclude memory used in this context, such as by an import, from the surrounding
    `bound_memory`.
    """
    if not _own_process:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = _memory_used()
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        if soft != resource.RLIM_INFINITY:
            grown = soft + max(0, _memory_used() - before)
            soft = grown if hard == resource.RLIM_INFINITY else min(grown, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def limit_memory(megabytes: int | None) -> None:
    """Let this process take at most `megabytes` more address space than it has now (Linux only)."""
    if not megabytes or not LINUX:
        return
    wanted = _memory_used() + megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def _memory_used() -> int:
    """Return the bytes of address space that this process has now (Linux)."""
    page: int = resource.getpagesize()
    return int(Path("/proc/self/statm").read_text().split()[0]) * page


def free_megabytes() -> float:
    """Return the memory that this process and those it starts may still take; infinite where that
    is unknown.
    """
    free = math.inf
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(
            int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable:")
        )
        # A container's limit; without one, the file says `max`.
        free = min(free, int(Path("/sys/fs/cgroup/memory.max").read_text()) / (1024 * 1024))
    return free


def megabytes_of_group(pid: int) -> float:
    """Return the memory of a worker and all it started; `pid` is its supervisor's on Linux,
    elsewhere its own.

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
