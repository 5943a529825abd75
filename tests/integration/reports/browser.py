"""A real headless Chromium, and a server on 127.0.0.1 that records every connection."""

from __future__ import annotations

import os
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
REQUIRED = os.environ.get("BIOEVAL_REQUIRE_REAL") == "1"
PATIENCE_S = 300


@dataclass
class Canary:
    """Every connection's first bytes. `port` is where it listens."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)

    @property
    def leaks(self) -> list[bytes]:
        """What asked for one of the test's addresses; a browser's own errands do not."""
        return [said for said in self.heard if b"leak" in said]


@contextmanager
def canary() -> Iterator[Canary]:
    """Listen until the test is over."""
    found = Canary()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(5)
            try:
                found.heard.append(self.request.recv(4096))
                self.request.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            except OSError:
                return  # the browser was gone first

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def chromium() -> str:
    """Return the browser's path; without one the test is skipped, or fails where it is required."""
    if CHROMIUM is None:
        if REQUIRED:
            pytest.fail("no Chromium is installed")
        pytest.skip("no Chromium is installed")
    return CHROMIUM


def visit(page: Path, port: int, *options: str) -> tuple[str, str]:
    """Open a file; return the document as the browser then has it, and what it logged.

    Every name resolves to the canary, so that nothing can leave this machine.
    """
    profile = page.parent / f"{page.stem}-profile"
    profile.mkdir(exist_ok=True)
    done = subprocess.run(
        [
            chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--enable-logging=stderr",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--host-resolver-rules=MAP * 127.0.0.1:{port}", f"--user-data-dir={profile}",
            "--virtual-time-budget=3000", *(options or ("--dump-dom",)), page.as_uri(),
        ],
        capture_output=True, text=True, timeout=PATIENCE_S,
        env={**os.environ, "HOME": str(profile)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, done.stderr
