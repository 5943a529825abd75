"""The list of submissions, a JSONL file with one object per line, and the agent and the run that
their paths name.

Which of the files are read is in `submission_files.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import InputError, Problem
from bioeval_tui.base.text import clean_line, json_problem, plural
from bioeval_tui.base.widths import count_shared
from bioeval_tui.grade.formats import LFS

RUN_GROUP = "_run-group_"
"""What the name of a run group's folder has before the agent's."""
LONGEST_NAME = 255
"""The most characters that a file's name has: cut earlier, two that differ at their ends would look
the same.
"""
UNKNOWN_AGENT = "unknown"
"""The published result of `extract_agent_from_submission_path` for a path without an agent."""


def extract_agent_from_submission_path(submission_path: Any) -> str:
    """Return the agent in the path's first folder named `<timestamp>_run-group_<agent>`; `unknown`
    if none is.
    """
    if not isinstance(submission_path, (str, Path)) or RUN_GROUP not in str(submission_path):
        return UNKNOWN_AGENT
    for part in Path(submission_path).parts:
        if RUN_GROUP in part:
            return part.rpartition(RUN_GROUP)[2]
    return UNKNOWN_AGENT


def agent_in(*paths: Path | str) -> str | None:
    """Return the agent in the first path that names one, cleaned; None if none does."""
    agents = map(extract_agent_from_submission_path, paths)
    return next((clean_line(agent, 200) for agent in agents if agent != UNKNOWN_AGENT), None)


def agent_or_file(agent: str | None, path: Path | str | None) -> str:
    """Return an agent's name or, where none is known, the name of the file, cleaned; empty without
    either.
    """
    if agent and agent != UNKNOWN_AGENT:
        return clean_line(agent, LONGEST_NAME)
    if not path:
        return ""
    return clean_line(Path(path).name, LONGEST_NAME)


def row_names(rows: Iterable[tuple[str, str | None, str]]) -> list[str]:
    """Return what a table calls each submission, given as its task, agent and path: `agent_or_file`
    or, where files of one task have the same name, the folders that tell their paths apart.

    Whoever keeps each try in a folder of its own would see `submission.csv` in every row.
    """
    names: list[str] = []
    alike: dict[tuple[str, str], dict[str, list[int]]] = {}
    for task_id, agent, path in rows:
        name = agent_or_file(agent, path)
        if path and agent in (None, "", UNKNOWN_AGENT):
            alike.setdefault((task_id, name), {}).setdefault(path, []).append(len(names))
        names.append(name)
    for places in alike.values():
        if len(places) > 1:
            for path, folders in _folders_apart(places).items():
                for at in places[path]:
                    names[at] = clean_line(folders, LONGEST_NAME) or names[at]
    return names


def _folders_apart(paths: Iterable[str]) -> dict[str, str]:
    """Return each path without the parts that all of them begin with and end with."""
    parts = {path: path.split("/") for path in paths}
    start = count_shared(min(parts.values()), max(parts.values()))
    inner = {path: own[start:] for path, own in parts.items()}
    backwards = [own[::-1] for own in inner.values()]
    end = count_shared(min(backwards), max(backwards))
    return {path: "/".join(own[: len(own) - end]) for path, own in inner.items()}


def agent_title(agents: Iterable[str | None]) -> str:
    """Return the heading of a column of `agent_or_file`."""
    if any(agent in (None, "", UNKNOWN_AGENT) for agent in agents):
        return "agent or file"
    return "agent"


def lfs_words(text: str) -> str:
    """Return `is a Git LFS pointer` and what fetches the file, if the text is that of one; else an
    empty text.
    """
    if text.startswith(LFS):
        return "is a Git LFS pointer, not the file itself: `git lfs pull` fetches it"
    return ""


@dataclass(frozen=True, slots=True)
class Submission:
    """One line: its number, its task, and the path of its file as it was given (None: nothing was
    submitted).

    `agent` is the one that its paths name, or None. `key` tells it from others when it is graded
    again, and `batch` is where it is listed; both are set of runs only.
    """

    number: int
    task_id: str
    path: str | None
    agent: str | None = None
    key: tuple[str, ...] | None = field(default=None, kw_only=True)
    batch: str = field(default="", kw_only=True)
    run: str = field(default="", kw_only=True)
    """The folder of its run, if its paths name one."""


@dataclass(frozen=True, slots=True)
class SubmissionList:
    """The content of a list; `digest` is the SHA-256 of its bytes.

    Links are followed into the folders `follow`.
    """

    submissions: tuple[Submission, ...]
    digest: str
    follow: tuple[Path, ...] = ()


def read_list(path: Path) -> tuple[bytes, str]:
    """Return a list of submissions, or a grading report, that others wrote: the bytes of the file,
    and its text.

    Raises:
        InputError: it does not exist, cannot be read, is not UTF-8, or a Git LFS pointer stands in
            its place.
    """
    shown = clean_line(str(path), 300)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{shown} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{shown} cannot be read: {clean_line(str(error), 160)}") from None
    if pointer := lfs_words(text):
        raise InputError(f"{shown} {pointer}")
    return data, text


def read_submissions(path: Path, *, needs_any: bool = False) -> SubmissionList:
    """Read a submissions JSONL. Blank lines and lines that start with `#` or `//` are skipped.

    With `needs_any`, an empty list is wrong: a batch of nothing would look like one that went well.

    Each object has `task_id` and `submission_path` (relative to the file's folder; null if nothing
    was submitted); `agent`, `logs_path` and `code_path` are optional. Other keys are ignored.
    Without `agent`, it is read from the first of these paths that contains a run group, otherwise
    from the list's folder.

    Raises:
        InputError: the file cannot be read, or is no list; or lines are wrong, of which each is a
            problem.
    """
    path = Path(path)
    if path.suffix.lower() == ".h5ad" and path.is_file():
        raise InputError(_not_a_list(path, "an h5ad file"))
    data, text = read_list(path)
    own_agent = agent_in(path.absolute())
    submissions: list[Submission] = []
    problems: list[Problem] = []
    for line_number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "//")):
            continue
        try:
            task_id, relative, named, others = _fields(stripped)
        except ValueError as error:
            problems.append(Problem(str(error), str(path), line_number))
            continue
        shown = None if relative is None else str(path.parent / relative)
        in_paths = agent_in(shown or "", *(path.parent / other for other in others))
        agent = named or in_paths or own_agent
        run = next(
            (folder for name in (relative, *others) if name and (folder := _run_folder(name))), ""
        )
        submissions.append(Submission(len(submissions), task_id, shown, agent, run=run))
    if problems and not submissions:
        _refuse_other_forms(path, text)
    if problems:
        more = f" (and {plural(len(problems) - 1, 'more wrong line')})" if len(problems) > 1 else ""
        raise InputError(f"{problems[0]}{more}", tuple(problems))
    if needs_any and not submissions:
        raise InputError(
            f"{clean_line(str(path), 300)} lists no submission; give each a line such as {_EXAMPLE}"
        )
    return SubmissionList(tuple(submissions), hashlib.sha256(data).hexdigest())


_EXAMPLE = '{"task_id": "folder/task", "submission_path": "run/submission.csv"}'


def _refuse_other_forms(path: Path, text: str) -> None:
    """Raise InputError if a file is of another form as a whole: its lines would each be wrong."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("#", "//"))]
    if len(lines) < 2:
        return
    if not any(line.startswith(("{", "[")) for line in lines):
        kind = "a CSV file" if path.suffix.lower() == ".csv" or "," in lines[0] else "plain text"
        raise InputError(_not_a_list(path, kind))
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    raise InputError(
        f"{clean_line(str(path), 300)} is one JSON value over {len(lines):,} lines; a list of"
        f" submissions has an object in each line, such as {_EXAMPLE}"
    )


def _not_a_list(path: Path, kind: str) -> str:
    return (
        f"{clean_line(str(path), 300)} is {kind} and no list of submissions, which has a line such"
        f" as {_EXAMPLE} for each; `bioeval-tui grade-sample FILE TASK` grades one file"
    )


def _run_folder(path: str) -> str:
    """Return the run's folder of a listed path, `<run>/submission/<file>`, `<run>/logs` or
    `<run>/code`; empty without.
    """
    parts = Path(path).parts
    inner = next((at for at, part in enumerate(parts) if part in ("submission", "logs", "code")), 0)
    if inner:
        return str(Path(*parts[:inner]))
    return ""


def _fields(line: str) -> tuple[str, str | None, str | None, list[str]]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(json_problem(error)) from None
    if not isinstance(value, dict):
        raise ValueError("must be an object with `task_id` and `submission_path`")
    task_id, relative = value.get("task_id"), value.get("submission_path")
    if not isinstance(task_id, str) or not task_id.strip():
        problem = "`task_id` is missing or not a text"
        if "competition_id" in value:
            problem += "; MLE-bench's `competition_id` is called `task_id` here"
        raise ValueError(problem)
    if "submission_path" not in value:
        raise ValueError("`submission_path` is missing (use null if nothing was submitted)")
    if relative is not None and (not isinstance(relative, str) or not relative or "\0" in relative):
        raise ValueError("`submission_path` must be a path or null")
    agent = value.get("agent")
    if agent is not None and not (isinstance(agent, str) and clean_line(agent, 200)):
        raise ValueError("`agent` must be a name or null")
    others = [value.get(key) for key in ("logs_path", "code_path")]
    return (
        task_id.strip(),
        relative,
        clean_line(agent, 200) if agent else None,
        [other for other in others if isinstance(other, str) and "\0" not in other],
    )
