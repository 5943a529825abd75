"""Runs commands of the program in processes that are forked from one that has loaded it: a tenth of the CPU time.

`completed` stands for `subprocess.run([sys.executable, "-m", "bioeval_tui", …])` where a test looks at what a command says,
writes and returns. What is about the start itself (import paths, encodings, signals, a terminal) starts a Python of its own.
`each` starts one Python for several commands that need the same environment, say a plug-in on its path.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

EACH = """
import gc, json, os, sys, tempfile
commands, before = json.loads(sys.argv[1])
gc.set_threshold(200_000, 20, 20)  # as in __main__
exec(before)
from bioeval_tui import isolation
from bioeval_tui.cli import main
isolation.is_program = True
gc.freeze()
done = []
for words in commands:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if child := os.fork():
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0), err.seek(0)
            done.append([code, out.read().decode(), err.read().decode()])
        else:
            os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
            sys.argv[1:] = words
            main.main()
print(json.dumps(done))
"""

if __name__ != "__main__":
    import functools

    CONNECTED_S = 300.0

    @functools.cache
    def _server() -> str:
        """Start the process that forks, once for each process of the tests; return its address."""
        folder = tempfile.TemporaryDirectory(prefix="bioeval-forks-")
        address = str(Path(folder.name) / "socket")
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, address], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=folder.name,
        )  # fmt: skip

        def end() -> None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
            folder.cleanup()

        atexit.register(end)
        deadline = time.monotonic() + CONNECTED_S
        while not Path(address).exists():
            assert process.poll() is None, "the process that forks has ended"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return address

    def completed(
        *arguments: str, env: dict[str, str], cwd: Path | None = None, timeout: float = 300.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the program to its end, with nothing on stdin.

        Raises:
            TimeoutError: it has not ended in time.
        """
        given = {name for name, value in env.items() if os.environ.get(name) != value}
        # A Python that runs already would not read such a variable.
        if not hasattr(os, "fork") or any(name.startswith("PYTHON") for name in given):
            return subprocess.run(
                [sys.executable, "-m", "bioeval_tui", *arguments], capture_output=True, text=True,
                timeout=timeout, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        asked = json.dumps({"arguments": arguments, "env": env, "cwd": str(cwd or Path.cwd())}).encode()
        with (
            tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
            socket.socket(socket.AF_UNIX) as server,
        ):  # fmt: skip
            server.settimeout(timeout)
            server.connect(_server())
            socket.send_fds(server, [len(asked).to_bytes(4, "big")], [out.fileno(), err.fileno()])
            server.sendall(asked)
            code = int(server.recv(16) or b"-9")
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(
                list(arguments), code, out.read().decode(), err.read().decode()
            )

    def each(
        commands: Sequence[Sequence[str]],
        *,
        env: dict[str, str],
        cwd: Path,
        before: str = "",
        timeout: float = 300.0,
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run each command in a fork of one Python, which starts with this environment and runs the code `before`.

        What several commands need is best imported there: each fork would import it by itself.
        """
        done = subprocess.run(
            [sys.executable, "-P", "-c", EACH, json.dumps([commands, before])],
            capture_output=True, text=True, timeout=timeout, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [
            subprocess.CompletedProcess(list(words), code, out, err)
            for words, (code, out, err) in zip(commands, json.loads(done.stdout), strict=True)
        ]


def _serve(address: str) -> dict[str, Any]:
    """Fork for each connection; return what was asked for in the process that is to do it."""
    ready = address + "-ready"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(ready)
    listening.listen(64)
    Path(ready).rename(address)
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        connection, _ = listening.accept()
        if os.fork():
            connection.close()
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listening.close()
        size, descriptors, _, _ = socket.recv_fds(connection, 4, 2)
        with connection.makefile("rb") as file:
            asked: dict[str, Any] = json.loads(file.read(int.from_bytes(size, "big")))
        if child := os.fork():
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            connection.sendall(str(code).encode())
            os._exit(0)
        connection.close()
        for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), *descriptors)):
            os.dup2(descriptor, number)
            os.close(descriptor)
        return asked


def _reap(number: int, frame: object) -> None:
    """Take note of the children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    import gc
    import importlib

    from bioeval_tui import isolation
    from bioeval_tui.cli import main

    isolation.is_program = True
    gc.set_threshold(200_000, 20, 20)  # as in __main__
    for name in (
        "installed",
        "headless",
        "jobs",
        "run",
        "runs_report",
        "runs_again",
    ):
        importlib.import_module(f"bioeval_tui.cli.{name}")
    gc.freeze()  # no fork looks for garbage among what all of them share
    asked = _serve(sys.argv[1])
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.argv[1:] = asked["arguments"]
    main.main()
