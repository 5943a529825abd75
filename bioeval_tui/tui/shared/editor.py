"""The user's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from bioeval_tui.record.masking import masking
from bioeval_tui.text import clean

_AT_LINE = {"vi", "vim", "nvim", "nano", "emacs", "micro", "kak", "joe", "ne", "pico", "jed", "emacsclient"}
"""Editors that take `+LINE` before the file."""


def edit(path: Path, line: int = 0) -> str | None:
    """Open a file in $VISUAL or $EDITOR and wait; return a sentence saying why that failed, if it did."""
    if masking():
        return "names are masked, and an editor would show the file as it is"
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _any_editor()
    if not chosen:
        return "no editor is set: set EDITOR to your editor's command"
    try:
        command = shlex.split(chosen, posix=os.name != "nt")
        at_line = [f"+{line}"] if line and Path(command[0]).stem in _AT_LINE else []
        ended = subprocess.run([*command, *at_line, str(path)], check=False)  # noqa: S603 - the user's own editor
    except (OSError, ValueError, IndexError):
        return f"could not start the editor {clean(chosen, 80)}: set EDITOR to another"
    return f"the editor exited with code {ended.returncode}" if ended.returncode else None


def _any_editor() -> str:
    return next((name for name in ("nano", "vim", "vi", "notepad") if shutil.which(name)), "")
