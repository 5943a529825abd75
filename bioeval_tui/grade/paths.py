"""Submission paths: their agent, and whether they can be read."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from bioeval_tui.text import clean_line

_MARK = "_run-group_"
UNKNOWN_AGENT = "unknown"
"""The published result of `extract_agent_from_submission_path` for a path without an agent."""


def extract_agent_from_submission_path(submission_path: Any) -> str:
    """Return the agent in the path's first folder named `<timestamp>_run-group_<agent>`; `unknown` if none is."""
    if not isinstance(submission_path, (str, Path)) or _MARK not in str(submission_path):
        return UNKNOWN_AGENT
    for part in Path(submission_path).parts:
        if _MARK in part:
            return part.rpartition(_MARK)[2]
    return UNKNOWN_AGENT


def why_not_a_file(path: Path, name: str | None = None) -> str | None:
    """Return why `path` is not an ordinary file that can be read, as a sentence; None if it is one."""
    shown = clean_line(name or str(path), 300)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"submission file {shown} does not exist"
    except (OSError, ValueError) as error:
        return f"submission file {shown} cannot be opened: {clean_line(str(error), 120)}"
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        # A submitted link could point at the answers, or at something that a report would quote.
        return f"submission file {shown} is a link out of its folder; such links are not followed"
    if stat.S_ISDIR(mode):
        return f"submission file {shown} is a folder"
    if not stat.S_ISREG(mode):
        return f"submission file {shown} is not an ordinary file"
    return None


def is_same_file(path: Path, other: Path) -> bool:
    """Return whether both are the same file, by any path or link; False if that is unknown."""
    try:
        return path.samefile(other)
    except OSError:
        return False
