"""Identifies a graph file by a random id stored next to it, which the agent that uses the file can report."""

from __future__ import annotations

import secrets
from pathlib import Path

from bioeval_tui.files import write_new


def graph_id(path: Path) -> str:
    """Return the id of the graph at `path`; create it if it does not exist.

    Raises:
        StorageError: it cannot be written.
    """
    file = path.with_suffix(".id")
    if not file.exists():
        write_new(file, secrets.token_hex(16))
    return file.read_text("ascii").strip()
