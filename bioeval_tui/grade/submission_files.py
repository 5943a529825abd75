"""Whether a submission's file is read: an ordinary file, and through which links."""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.submissions import RUN_GROUP


def why_not_a_file(path: Path, name: str | None = None) -> str | None:
    """Return why `path` is not an ordinary file that can be read, as a sentence; None if it is
    one.
    """
    shown = clean_line(name or str(path), 300)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"submission file {shown} does not exist"
    except (OSError, ValueError) as error:
        return f"submission file {shown} cannot be opened: {clean_line(str(error), 120)}"
    if stat.S_ISDIR(mode):
        return f"submission file {shown} is a folder"
    if not stat.S_ISREG(mode):
        return f"submission file {shown} is not an ordinary file"
    return None


def why_not_followed(path: Path, follow: Sequence[Path], name: str | None = None) -> str | None:
    """Return why a listed submission is not read through its links, as a sentence; None if it is.

    An agent may have left the link: it could point at the answers, at another agent's submission,
    or at something that a report would quote. So its target must be in the submission's own run
    group (without one, in its folder) or below one of the folders in `follow`, and never in another
    run group or among a task's private files.
    """
    lexical = Path(os.path.abspath(path))  # noqa: PTH100 (links are looked at below)
    if "\0" in str(lexical):
        return None  # opening it says why
    target = _real(lexical.parent) / lexical.name
    if os.path.islink(lexical):  # noqa: PTH114 (pathlib raises on a name that is too long)
        target = Path(os.path.realpath(lexical))
    elif target == lexical:
        return None
    shown = clean_line(name or str(path), 300)
    group, of_target = _group(lexical), _group(target)
    own = _real(group) if group else _real(lexical.parent)
    if of_target and of_target != _group(own / lexical.name):
        return (
            f"submission file {shown} is a link into another run group; such links are not followed"
        )
    if any(
        folder.name == "private" and folder.parent.name == "prepared" for folder in target.parents
    ):
        return (
            f"submission file {shown} is a link to a task's private files; such links are not"
            " followed"
        )
    if not any(target.is_relative_to(folder) for folder in (own, *map(_real, follow))):
        where = "run group" if group else "folder"
        return (
            f"submission file {shown} is a link out of its {where}; such links are followed only"
            " into folders that you name (--follow-links DIR)"
        )
    return None


@lru_cache(maxsize=1024)
def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _group(path: Path) -> Path | None:
    """Return the first folder of a path that is a run group."""
    return next((folder for folder in reversed(path.parents) if RUN_GROUP in folder.name), None)


def is_same_file(path: Path, other: Path) -> bool:
    """Return whether both are the same file, by any path or link; False if that is unknown."""
    try:
        return path.samefile(other)
    except OSError:
        return False


def is_equal_file(path: Path, other: Path) -> bool:
    """Return whether two files have the same bytes; False if one cannot be read."""
    try:
        return filecmp.cmp(path, other, shallow=False)
    except OSError:
        return False
