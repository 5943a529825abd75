"""A language model that nobody scripted, behind llama.cpp's server in a process of its own, with
its log.

BIOEVAL_REAL_MODEL_PYTHON names the Python that has the packages (`scripts/real-model --install`
prints it).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bioeval_tui.sample import paths

PYTHON = os.environ.get("BIOEVAL_REAL_MODEL_PYTHON", "")
PACKAGES = (
    str(next(Path(PYTHON).parents[1].glob("lib/python*/site-packages"), "")) if PYTHON else ""
)
"""Where those packages are, for a program that starts the server by itself."""
SERVER = Path(paths.__file__).with_name("local_model.py")
NAME = "SmolLM2-135M-Instruct"
PATIENCE_S = 300.0

_TIMING = re.compile(
    r"\| task (\d+) \| +(prompt eval|eval|total) time = +([\d.]+) ms / +(\d+) tokens"
)


@dataclass
class Served:
    """What the server's log says of one request.

    `first_ms` and `total_ms` are its own processing, without the queue.
    """

    first_ms: float = 0.0
    total_ms: float = 0.0
    tokens_out: int = 0


class RealModel:
    """A server that runs inside a `with`; `kill` and `start` again keep its port."""

    def __init__(self, log: Path, **options: int) -> None:
        """`options` are those of `bioeval_tui/sample/local_model.py`: context, limit, slots."""
        self._log = log
        self._options = [
            part for name, value in options.items() for part in (f"--{name}", str(value))
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        port = self.url.rpartition(":")[2] or "0"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [PYTHON, str(SERVER), "--log", "--exit-with-stdin", "--port", port, *self._options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the model's server did not start: {self.log()[-2000:]}"
        self.url = str(json.loads(line)["url"])

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def served(self) -> list[Served]:
        """Return every request that was answered so far, in the order in which it was begun."""
        found: dict[int, Served] = {}
        for task, what, took, tokens in _TIMING.findall(self.log()):
            one = found.setdefault(int(task), Served())
            if what == "prompt eval":
                one.first_ms = float(took)
            elif what == "eval":
                one.tokens_out = int(tokens)
            else:
                one.total_ms = float(took)
        return [found[task] for task in sorted(found)]

    def slots(self) -> list[dict[str, Any]]:
        """Return what each slot does now."""
        with urllib.request.urlopen(f"{self.url}/slots", timeout=PATIENCE_S) as answer:
            return list(json.load(answer))

    @property
    def is_writing(self) -> bool:
        return any(slot["is_processing"] for slot in self.slots())


def wait_until(holds: Callable[[], bool], what: Callable[[], str]) -> None:
    """Look until something holds. The clock only bounds the wait; it decides no outcome."""
    ends = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends, what()
        time.sleep(0.02)  # polling another process: there is nothing to await
