"""Tells one graph file from another: a random id beside it, which the agent that uses the file can name."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def graph_id(path: Path) -> str:
    """Return the id of the graph at `path`; the first to ask makes it."""
    file = path.with_suffix(".id")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text("ascii").strip()
    with os.fdopen(descriptor, "w") as out:
        made = secrets.token_hex(16)
        out.write(made)
    return made
