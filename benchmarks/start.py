"""How fast the program starts: its help against a bare `import click`, its first paint against a bare Textual app.

    uv run python benchmarks/start.py            # medians of eleven runs each, alternating; half a minute

First paint is the time from starting the process in a pseudo-terminal of 160×45 until a text of its first screen
came out; both programs answer to the same pseudo-terminal.
"""

from __future__ import annotations

import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl

from bioeval_tui.isolation import program_command

RUNS = 11
BARE_APP = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("painted")
Bare().run()
"""
Command = tuple[list[str], bytes]


def whole(command: list[str]) -> float:
    """Return the seconds that a process takes from start to exit."""
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def paint(command: list[str], marker: bytes, folder: str) -> float:
    """Return the seconds until `marker` came out of the pseudo-terminal."""
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "BIOEVAL_DATA_DIR": folder,
    }
    began = time.perf_counter()
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, environment)
    ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
    seen = b""
    try:
        while marker not in seen:
            if not select.select([master], [], [], 20)[0]:
                raise SystemExit(f"{command[:3]} painted no {marker!r}: {seen[-300:]!r}")
            seen += os.read(master, 1 << 16)
        return time.perf_counter() - began
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(master)


def main() -> None:
    """Measure, and print a table."""
    python = sys.executable
    # Where no bytecode is written, each start would compile everything that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        rows = {
            "`bioeval-tui --help` beside `import click`": (
                lambda: whole(program_command("--help")),
                lambda: whole([python, "-c", "import click"]),
            ),
            "first paint of the app beside a bare app": (
                lambda: paint(program_command("app"), b"bioeval-tui", folder),
                lambda: paint([python, "-c", BARE_APP], b"painted", folder),
            ),
        }
        for title, (ours, bare) in rows.items():
            ours(), bare()  # these write the bytecode
            pairs = [(ours(), bare()) for _ in range(RUNS)]
            mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"{title:44} {mine * 1000:5.0f} ms and {theirs * 1000:5.0f} ms: {mine / theirs:.2f}×")


if __name__ == "__main__":
    main()
