"""Run groups: folders with the runs of one agent, what their `metadata.json` says, and which
folders are single runs.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.files import real
from bioeval_tui.base.text import clean_line, json_problem
from bioeval_tui.grade.submissions import RUN_GROUP, agent_in, lfs_words

METADATA = "metadata.json"
_MOST_BYTES = 50_000_000
"""Maximum size of a group's `metadata.json`."""
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
RUN_ID = re.compile(rf"(?P<task>.+)_{_UUID}")
"""The name of a run's folder: its task and a UUID."""
_SEED = re.compile(r"[_-]?(run[_-]?)?(group|seed)[_-]?\d*$", re.IGNORECASE)


def is_run_folder(folder: Path) -> bool:
    """Return whether a folder is of a single run, in which an agent worked."""
    if RUN_GROUP in folder.name:
        return False
    return RUN_ID.fullmatch(folder.name) is not None or (folder / "submission").is_dir()


def read_metadata(group: Path) -> dict[str, Any] | None:
    """Return what `metadata.json` in a run group says; None without that file.

    Raises:
        InputError: it cannot be read, is too large, or lists no runs.
    """
    path = group / METADATA
    shown = clean_line(str(path), 300)
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InputError(f"{shown} is larger than {_MOST_BYTES:,} bytes")
        text = content.decode("utf-8-sig")
        if pointer := lfs_words(text):
            raise InputError(f"{shown} {pointer}")
        data = json.loads(text)
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {clean_line(str(error), 160)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown}: {json_problem(error)}") from None
    if not isinstance(data, dict) or not isinstance(data.get("runs"), dict):
        raise InputError(
            f"{shown} does not list runs with their task_id: it needs an object `runs`"
        )
    return data


def listed_runs(group: Path) -> list[tuple[str, Path]] | None:
    """Return the task and the folder of each run in a group's `metadata.json`; None without that
    file.

    A folder outside the group is left out.

    Raises:
        InputError: as `read_metadata`; a run has no task.
    """
    data = read_metadata(group)
    if data is None:
        return None
    found = []
    for name, run in data["runs"].items():
        task = _run_task(str(name), run)
        if task is None:
            shown = clean_line(str(group / METADATA), 300)
            raise InputError(
                f"{shown} does not list runs with their task_id: "
                f"`{clean_line(str(name), 80)}` needs one, or a name such as `task_<UUID>`"
            )
        folder = group / str(name)
        with contextlib.suppress(OSError, ValueError):  # no name that a folder can have
            if real(folder).is_relative_to(real(group)):
                found.append((task, folder))
    return found


def _run_task(name: str, run: Any) -> str | None:
    """Return a run's task: what its entry names, else what its folder is named after, as MLE-bench
    does.
    """
    fields = run if isinstance(run, dict) else {}
    named = next((fields[key] for key in ("task_id", "competition_id") if fields.get(key)), None)
    if isinstance(named, str) and named.strip():
        return named.strip()
    match = RUN_ID.fullmatch(name)
    if match:
        return match["task"]
    return None


def run_folders(group: Path) -> Iterator[tuple[str, Path]]:
    """Yield the task and the folder of each run that lies in a group: `<task>_<UUID>`, or one
    folder further down.
    """
    for folder in sorted((*group.glob("*"), *group.glob("*/*"))):
        name = RUN_ID.fullmatch(folder.relative_to(group).as_posix())
        inside = folder.parent == group or RUN_ID.fullmatch(folder.parent.name) is None
        if name is not None and inside and folder.is_dir():
            yield name["task"], folder


def group_agent(group: Path) -> str | None:
    """Return the agent that a group's path or its metadata names; None if neither does."""
    try:
        data = read_metadata(group) or {}
    except InputError:
        data = {}
    names = [
        value for key in ("run_group", "agent") if isinstance(value := data.get(key), str) and value
    ]
    if (agent := agent_in(group, *names)) is not None:
        return agent
    plain = next((name for name in reversed(names) if RUN_GROUP not in name), None)
    if plain:
        return clean_line(plain, 200)
    return None


def folder_agent(folder: Path) -> str | None:
    """Return who a folder directly in `runs` is named after, without the number of its seed; None
    for others.
    """
    for place in (folder, folder.parent):
        if place.parent.name == "runs":
            return clean_line(_SEED.sub("", place.name) or place.name, 200)
    return None
