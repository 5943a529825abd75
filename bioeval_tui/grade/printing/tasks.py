"""Tasks on stdout: the list of them, one with its leaderboard, and what checking them found.

`bioeval-tui tasks` calls these: the tables and cards for people, and for `--json` what the
`Printed…` types describe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text
from typing_extensions import ReadOnly, TypedDict

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.files import csv_text
from bioeval_tui.base.text import clean, clean_line, plural, shorten, spreadsheet_cell
from bioeval_tui.base.units import score_text
from bioeval_tui.grade.score_numbers import better_words, score_that_reaches
from bioeval_tui.grade.tasks.sources import BoardSource, PublishedBoard

if TYPE_CHECKING:
    from bioeval_tui.grade.batch.pool import CheckedTask
    from bioeval_tui.grade.tasks.task import Task, TaskEntry


class PrintedBroken(TypedDict):
    """A task that cannot be loaded."""

    task_id: str
    broken: str
    file: str
    line: int


class PrintedFacts(TypedDict):
    """What `tasks list` and `tasks show` print of a task.

    A `Task` itself has code, paths and boards, which are no JSON.
    """

    task_id: str
    name: str
    domain: str | None
    task_type: str | None
    difficulty: str | None
    data_source: ReadOnly[object]
    awards_medals: bool
    prepared: bool


class PrintedTaskRow(PrintedFacts):
    """A task, as `tasks list --json` prints it."""

    data_source: str | None
    self_trained: bool
    leaderboard: str | None
    warnings: list[str]


class PrintedBoard(TypedDict):
    """A task's leaderboard."""

    size: int
    is_lower_better: bool
    best: float
    worst: float
    gold_threshold: float
    silver_threshold: float
    bronze_threshold: float
    median_threshold: float
    self_trained: bool
    reference: dict[str, Any] | None
    origin: str


class PrintedDetails(PrintedFacts):
    """A task with its leaderboard and paths, as `tasks show --json` prints it."""

    data_source: dict[str, Any]
    why_not_prepared: str | None
    grader: str
    public_dir: str
    sample_submission: str
    warnings: list[str]
    leaderboard: PrintedBoard | None
    description: str


_NOTHING = "·"


def task_row(entry: TaskEntry) -> PrintedTaskRow | PrintedBroken:
    """Return a task's entry in `tasks list --json`."""
    if entry.problem is not None:
        problem = entry.problem
        return {
            "task_id": entry.id,
            "broken": problem.message,
            "file": problem.file,
            "line": problem.line,
        }
    task = entry.task
    return {
        **_facts(task),
        "data_source": (task.data_source or {}).get("type"),
        "self_trained": task.self_trained,
        "leaderboard": _origin_or_none(task),
        "warnings": list(task.warnings),
    }


def task_table(entries: Sequence[TaskEntry]) -> None:
    """Print tasks as a table; broken ones with file and line."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "domain", "type", "difficulty", "source", "prepared", "leaderboard"):
        table.add_column(name, overflow="fold")
    broken = [entry for entry in entries if entry.problem is not None]
    sources: dict[str, BoardSource] = {}
    for entry in entries:
        row = task_row(entry)
        if "broken" in row:
            table.add_row(Text(entry.id), Text("broken config", style="red"), "", "", "", "", "")
            continue
        words = (
            row[key] or _NOTHING for key in ("domain", "task_type", "difficulty", "data_source")
        )
        # A task that is not prepared yet is not an error, so it gets no cross.
        prepared = Text("✓ yes", style="green") if row["prepared"] else Text(_NOTHING, style="dim")
        board = _board_or_none(entry.task)
        if isinstance(board, PublishedBoard):
            sources[board.source.title] = board.source
        shown = Text(_board_words(entry.task, board))
        table.add_row(Text(entry.id), *(Text(str(word)) for word in words), prepared, shown)
    console = plain_console()
    console.print(table)
    for source in sources.values():
        console.print(
            f"{source.title}: {source.date}, commit {source.commit[:12]}, {source.url},"
            f" {source.licence}",
            soft_wrap=True,
        )
    for entry in broken:
        console.print(f"broken: {entry.problem}", soft_wrap=True)
    ready = sum(entry.problem is None and entry.task.is_prepared for entry in entries)
    console.print(f"{plural(len(entries), 'task')}, {ready:,} prepared, {len(broken):,} broken")
    waiting = [e for e in entries if e.problem is None and not e.task.is_prepared]
    if any((entry.task.data_source or {}).get("type") == "builtin" for entry in waiting):
        console.print(
            "builtin tasks are prepared when they are first used; `bioeval-tui tasks prepare --all`"
            " does it now"
        )


def task_details(task: Task) -> PrintedDetails:
    """Return the result of `tasks show --json`: the row, the leaderboard with its thresholds,
    paths, the description.
    """
    # pandas: the list of tasks does not wait for it
    from bioeval_tui.grade.grade import leaderboard_of

    details: PrintedDetails = {
        **_facts(task),
        "data_source": dict(task.data_source or {}),
        "why_not_prepared": task.why_not_prepared(),
        "grader": task.grader.name,
        "public_dir": str(task.public_dir),
        "sample_submission": str(task.sample_submission),
        "warnings": list(task.warnings),
        "leaderboard": None,
        "description": task.description,
    }
    try:
        board = leaderboard_of(task)
    except BioevalError as error:
        details["warnings"].append(str(error))
        return details
    ranking = board.rank(None)
    details["leaderboard"] = {
        "size": ranking.size,
        "is_lower_better": ranking.is_lower_better,
        "best": float(board.best_first()[0]),
        "worst": float(board.best_first()[-1]),
        "gold_threshold": ranking.gold_threshold,
        "silver_threshold": ranking.silver_threshold,
        "bronze_threshold": ranking.bronze_threshold,
        "median_threshold": ranking.median_threshold,
        "self_trained": board.self_trained,
        "reference": None if task.reference is None else asdict(task.reference),
        "origin": board.origin,
    }
    details["warnings"] += board.warnings
    return details


def _facts(task: Task) -> PrintedFacts:
    return {
        "task_id": task.id,
        "name": task.name,
        "domain": task.domain,
        "task_type": task.task_type,
        "difficulty": task.difficulty,
        "data_source": task.data_source,
        "awards_medals": task.awards_medals,
        "prepared": task.is_prepared,
    }


def _board_or_none(task: Task) -> PublishedBoard | Path | None:
    """Return the leaderboard in use; None where it is missing or damaged, which stops no list."""
    try:
        return task.board_in_use()
    except BioevalError:
        return None


def _board_words(task: Task, board: PublishedBoard | Path | None) -> str:
    if isinstance(board, PublishedBoard):
        return f"published, {plural(len(board.entries), 'entry', 'entries')}"
    origin = _origin_or_none(task)
    if origin:
        return origin.removeprefix("the task's ").replace(" leaderboard.csv", "")
    return _NOTHING


def _origin_or_none(task: Task) -> str | None:
    """Return where the leaderboard in use is from; None as for `_board_or_none`."""
    try:
        return task.board_origin()
    except BioevalError:
        return None


def task_card(task: Task) -> None:
    """Print a task: facts, leaderboard, warnings, then the description."""
    out, details = plain_console(soft_wrap=True), task_details(task)
    out.print(Text(f"{task.id}: {task.name}", style="bold"))
    facts = [task.task_type, task.domain, task.difficulty, f"grader {task.grader.name}"]
    out.print("  " + ", ".join(str(fact) for fact in facts if fact))
    prepared = details["why_not_prepared"]
    if task.is_prepared:
        prepared = f"prepared: {task.public_dir}"
    out.print(f"  {prepared}")
    board = details["leaderboard"]
    if board is not None:
        out.print(f"  leaderboard: {board['origin']}")
        out.print(
            f"  scores from {score_text(board['best'])} to {score_text(board['worst'])},"
            f" {better_words(board['is_lower_better'])}"
        )
        lower = board["is_lower_better"]
        four = {
            "gold": score_that_reaches(board["gold_threshold"], lower),
            "silver": score_that_reaches(board["silver_threshold"], lower),
            "bronze": score_that_reaches(board["bronze_threshold"], lower),
            "median": board["median_threshold"],
        }
        thresholds = ", ".join(f"{name} {score_text(score)}" for name, score in four.items())
        out.print(f"  {thresholds}")
        if board["reference"]:
            out.print(
                f"  reference (not ranked): {board['reference']['score']},"
                f" {board['reference']['team']}"
            )
    for warning in details["warnings"]:
        out.print(f"  warning: {clean_line(warning, 500)}")
    if task.description:
        out.print()
        console = plain_console()
        if console.is_terminal:
            console.print(Markdown(task.description, hyperlinks=False))
        else:  # a file or a pipe gets the text as it was written
            console.print(clean(task.description))


def board_csv(task: Task) -> None:
    """Print the leaderboard in use as CSV, in the columns of `leaderboard.csv`; scores are the
    source's text.
    """
    rows = (
        (spreadsheet_cell(entry.team), entry.score, spreadsheet_cell(entry.date))
        for entry in task.board_entries()
    )
    text = csv_text([("teamName", "score", "submissionDate"), *rows])
    plain_console(soft_wrap=True).print(text, end="")


def board_table(task: Task) -> None:
    """Print the leaderboard in use, with its source."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("team", overflow="fold")
    table.add_column("score", justify="right")
    table.add_column("date")
    for entry in task.board_entries():
        table.add_row(Text(entry.team), Text(entry.score), Text(entry.date or _NOTHING))
    out = plain_console(soft_wrap=True)
    out.print(f"{task.id}: {clean_line(task.board_origin(), 300)}")
    board = task.board_in_use()
    if isinstance(board, PublishedBoard):
        out.print(f"{board.source.url}, {board.source.licence}")
    plain_console().print(table)
    if reference := task.reference:
        out.print(f"reference (not ranked): {reference.score}, {reference.team}")


def check_lines(rows: Sequence[CheckedTask]) -> None:
    """Print the findings and the totals."""
    out = plain_console(soft_wrap=True)
    for row in rows:
        task_id = clean_line(row.task_id, 200)
        if row.problem:
            out.print(f"{task_id}: {shorten(clean_line(row.problem, 1000), 400)}")
        for warning in row.warnings:
            out.print(f"{task_id}: warning: {clean_line(warning, 400)}")
    broken = sum(bool(row.problem) for row in rows)
    warned = sum(bool(row.warnings) for row in rows)
    scored = sum(row.scored is not None for row in rows)
    out.print(
        f"{plural(len(rows), 'task')} checked: {len(rows) - broken:,} can be loaded, {broken:,}"
        f" cannot, {warned:,} with warnings; {plural(scored, 'grader')} scored a file of the"
        " task's own"
    )
