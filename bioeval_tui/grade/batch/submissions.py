"""The list of submissions to grade: a JSONL file with one object per line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bioeval_tui.errors import InputError, Problem
from bioeval_tui.grade.paths import UNKNOWN_AGENT, extract_agent_from_submission_path
from bioeval_tui.text import clean_line, json_problem, plural


@dataclass(frozen=True, slots=True)
class Submission:
    """One line: its number, its task, and the path as reports show it (None: nothing was submitted).

    `agent` is the one that its paths name, or None.
    """

    number: int
    task_id: str
    path: str | None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class SubmissionList:
    """The content of a list; `digest` is the SHA-256 of its bytes. Links are followed into the folders `follow`."""

    submissions: tuple[Submission, ...]
    digest: str
    follow: tuple[Path, ...] = ()


def read_submissions(path: Path) -> SubmissionList:
    """Read a submissions JSONL. Blank lines and lines that start with `#` or `//` are skipped.

    Each object has `task_id` and `submission_path` (relative to the file's folder; null if nothing was submitted);
    `logs_path` and `code_path` are optional. Other keys are ignored. The agent is read from the first of these paths
    that contains a run group, otherwise from the list's folder.

    Raises:
        InputError: the file cannot be read, or lines are wrong; every wrong line is a problem.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {clean_line(str(error), 160)}") from None
    own_agent = _agent([str(path.absolute())])
    submissions: list[Submission] = []
    problems: list[Problem] = []
    for line_number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "//")):
            continue
        try:
            task_id, relative, others = _fields(stripped)
        except ValueError as error:
            problems.append(Problem(str(error), str(path), line_number))
            continue
        shown = None if relative is None else str(path.parent / relative)
        agent = _agent([shown or "", *(str(path.parent / other) for other in others)]) or own_agent
        submissions.append(Submission(len(submissions), task_id, shown, agent))
    if problems:
        more = f" (and {plural(len(problems) - 1, 'more wrong line')})" if len(problems) > 1 else ""
        raise InputError(f"{problems[0]}{more}", tuple(problems))
    return SubmissionList(tuple(submissions), hashlib.sha256(data).hexdigest())


def _agent(paths: Iterable[str]) -> str | None:
    agents = (extract_agent_from_submission_path(path) for path in paths)
    return next((clean_line(agent, 200) for agent in agents if agent != UNKNOWN_AGENT), None)


def _fields(line: str) -> tuple[str, str | None, list[str]]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(json_problem(error)) from None
    if not isinstance(value, dict):
        raise ValueError("must be an object with `task_id` and `submission_path`")
    task_id, relative = value.get("task_id"), value.get("submission_path")
    if not isinstance(task_id, str) or not task_id.strip():
        raise ValueError("`task_id` is missing or not a text")
    if "submission_path" not in value:
        raise ValueError("`submission_path` is missing (use null if nothing was submitted)")
    if relative is not None and (not isinstance(relative, str) or not relative or "\0" in relative):
        raise ValueError("`submission_path` must be a path or null")
    others = [value.get(key) for key in ("logs_path", "code_path")]
    return (
        task_id.strip(),
        relative,
        [other for other in others if isinstance(other, str) and "\0" not in other],
    )
