"""The user's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App, SuspendNotSupported

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.files import read_small
from bioeval_tui.base.text import clean, home_relative
from bioeval_tui.base.yaml_positions import read_yaml
from bioeval_tui.record.masking import masking
from bioeval_tui.record.runs import is_imported

if TYPE_CHECKING:
    from bioeval_tui.report.findings import Gain
    from bioeval_tui.report.result import RunResult

_AT_LINE = {
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "micro",
    "kak",
    "joe",
    "ne",
    "pico",
    "jed",
    "emacsclient",
}
"""Editors that take `+LINE` before the file."""


def edit(path: Path, line: int = 0) -> str | None:
    """Open a file in $VISUAL or $EDITOR and wait; return a sentence saying why that failed, if it
    did.
    """
    if masking():
        return "names are masked, and an editor would show the file as it is"
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _any_editor()
    if not chosen:
        return "no editor is set: set EDITOR to your editor's command"
    try:
        command = shlex.split(chosen, posix=os.name != "nt")
        at_line = []
        if line and Path(command[0]).stem in _AT_LINE:
            at_line.append(f"+{line}")
        # the user's own editor
        ended = subprocess.run([*command, *at_line, str(path)], check=False)  # noqa: S603
    except (OSError, ValueError, IndexError):
        return f"could not start the editor {clean(chosen, 80)}: set EDITOR to another"
    if ended.returncode:
        return f"the editor exited with code {ended.returncode}"
    return None


def edit_outside(app: App[Any], path: Path, line: int = 0) -> str | None:
    """Do the same while the screen makes room for the editor."""
    try:
        with app.suspend():
            return edit(path, line)
    except SuspendNotSupported:
        return "an editor cannot be opened here: this is not a real terminal"


MAX_JOB_BYTES = 1_000_000


def job_file(run: RunResult) -> Path:
    """Return the file of a run's job.

    Raises:
        UsageError: it is not there, or the recording was imported, whose paths are another
            machine's.
    """
    path = Path(run.started.options.get("job_file") or run.started.job_path)
    if is_imported(run.path):
        raise UsageError(f"run {run.run_id} was imported: its job file is on another machine")
    if not path.is_file():
        raise UsageError(f"the job file of run {run.run_id} is gone: {home_relative(path)}")
    return path


def deciding_line(path: Path, decided: Gain | None) -> int:
    """Return the line of a job file at which a task or assertion begins; 0 if there is none to
    show.

    A rubric's items are the tasks of its job.
    """
    if decided is None or decided.kind not in ("task", "assertion"):
        return 0
    try:
        document = read_yaml(
            read_small(path, MAX_JOB_BYTES).decode("utf-8-sig", "replace"), str(path), ""
        )
    except (OSError, ValueError):
        return 0
    if decided.kind == "assertion":
        return document.place(("assertions", decided.index)).line
    items = "tasks"
    if isinstance(document.value, dict) and document.value.get("rubric"):
        items = "rubric"
    index = decided.index - 1  # `Gain.index` of a task is its number, from 1
    return document.place((items, index)).line


def _any_editor() -> str:
    return next((name for name in ("nano", "vim", "vi", "notepad") if shutil.which(name)), "")
