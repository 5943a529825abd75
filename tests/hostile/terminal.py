"""Type into the program in a terminal and leave it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.terminals import LONGEST_S, Terminal

KEY_S = 1.0


def typed(
    command: Sequence[str],
    keys: Sequence[bytes],
    environment: Mapping[str, str],
    folder: Path | None = None,
) -> tuple[bytes, int | None]:
    """Run a command in a terminal of 140×40, type `keys` one by one, leave; return what it wrote,
    and its exit code.

    Dialogs are closed and the program left as often as it takes on a busy machine; the code is None
    if it never ended.
    """
    with Terminal(command, environment, folder=folder) as terminal:
        terminal.until_quiet(b"\x1b[?1049h")
        for key in keys:
            if terminal.process.poll() is None:
                terminal.press(key)
                terminal.until_quiet(longest_s=KEY_S)
        end = time.monotonic() + LONGEST_S
        while terminal.process.poll() is None and time.monotonic() < end:
            for key in (b"\x1b", b"\x11"):
                terminal.press(key)
                terminal.until_quiet(longest_s=KEY_S)
        return terminal.written, terminal.process.poll()
