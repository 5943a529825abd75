"""Commands for machine-learning tasks: list, show, leaderboard, prepare, check, split."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NotRequired

import click
from typing_extensions import TypedDict

from bioeval_tui.base.errors import BioevalError, ExitCode, UsageError
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import clean_line
from bioeval_tui.cli.grade import grader_pool, say_progress, task_registry
from bioeval_tui.cli.options import BOARD, EXISTING_FILE, JSON, JSON_LIST, TASK, WHERE
from bioeval_tui.grade import prepare_task
from bioeval_tui.grade.batch.pool import DEFAULT_MEMORY_LIMIT_MB
from bioeval_tui.grade.printing import tasks as printed
from bioeval_tui.grade.printing.progress import long_work
from bioeval_tui.grade.tasks.split import PARTS, split_task
from bioeval_tui.grade.tasks.task import TaskEntry


class PrintedAnswersPart(TypedDict):
    """One part of a task's answers: the data folder to grade with, and how many rows it has."""

    data_dir: str
    rows: int


class PrintedSplit(TypedDict):
    """A task's answers split by a secret seed, as `tasks split --json` prints it."""

    task_id: str
    seed_sha256: str
    public: PrintedAnswersPart
    private: PrintedAnswersPart


class PrintedPrepared(TypedDict):
    """A task whose data was prepared; if it `failed`, the reason."""

    task_id: str
    status: Literal["ready", "prepared", "failed"]
    verified: NotRequired[bool]
    reason: NotRequired[str]


@click.group(epilog="\b\nExamples:\n  bioeval-tui tasks list\n  bioeval-tui tasks prepare --all")
def tasks() -> None:
    """List, show, prepare, check and split machine-learning tasks."""


@tasks.command("list", epilog="\b\nExample:\n  bioeval-tui tasks list --domain oncology")
@WHERE
@BOARD
@click.option("--domain", help="Only this domain.")
@click.option("--type", "task_type", help="Only this task type.")
@click.option("--difficulty", help="Only this difficulty.")
@click.option(
    "--prepared/--not-prepared", default=None, help="Only tasks that can (not) be graded yet."
)
@click.option("--medals/--no-medals", default=None, help="Only tasks that award (no) medals.")
@JSON_LIST
def tasks_list(as_json: bool, **options: Any) -> int:
    """List all tasks, broken ones with file and line."""
    filters = ("domain", "task_type", "difficulty", "prepared", "medals")
    known = task_registry(options)
    entries = known.select(**{name: options[name] for name in filters})
    if as_json:
        print_json([printed.task_row(entry) for entry in entries])
    else:
        printed.task_table(entries)
    if not entries:
        _say_values(known.select(), options)
    return ExitCode.OK


def _say_values(entries: Sequence[TaskEntry], options: Mapping[str, Any]) -> None:
    """Say of each filter that no task passes which values there are."""
    for name, word in (("domain", "domain"), ("task_type", "type"), ("difficulty", "difficulty")):
        values = {getattr(one.task, name) for one in entries if one.problem is None} - {None}
        if options[name] is not None and options[name] not in values:
            there = ", ".join(sorted(values))
            say(
                f"no task has the {word} `{clean_line(options[name], 60)}`; there are {there}",
                err=True,
            )


@tasks.command("show", epilog="\b\nExample:\n  bioeval-tui tasks show oncology/breast-cancer")
@TASK
@WHERE
@BOARD
@JSON
def tasks_show(task_id: str, as_json: bool, **options: Any) -> int:
    """Show a task: its description, whether it is prepared, its leaderboard and thresholds."""
    task = task_registry(options).get_task(task_id)
    if as_json:
        print_json(json.loads(json.dumps(printed.task_details(task), default=str)))
    else:
        printed.task_card(task)
    return ExitCode.OK


@tasks.command(
    "leaderboard",
    epilog="\b\nExample:\n  bioeval-tui tasks leaderboard oncology/breast-cancer --csv",
)
@TASK
@WHERE
@BOARD
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: teamName, score, submissionDate.")
def tasks_leaderboard(task_id: str, as_csv: bool, **options: Any) -> int:
    """Show the leaderboard of TASK, best first: its source, and every entry as published."""
    task = task_registry(options).get_task(task_id)
    if as_csv:
        printed.board_csv(task)
    else:
        printed.board_table(task)
    return ExitCode.OK


@tasks.command(
    "prepare",
    epilog=(
        "\b\nExamples:\n  bioeval-tui tasks prepare oncology/breast-cancer\n  bioeval-tui tasks"
        " prepare --all"
    ),
)
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All tasks that need no download.")
@click.option("--force", is_flag=True, help="Prepare tasks again that are already prepared.")
@WHERE
@JSON_LIST
def tasks_prepare(
    task_ids: tuple[str, ...], everything: bool, force: bool, as_json: bool, **options: Any
) -> int:
    """Prepare the data of tasks. Tasks that are already prepared are skipped.

    Exit codes: 0 all prepared, 3 the data of a task is not available; the reason and a fix are
    printed for each.
    """
    registry = task_registry(options)
    if bool(task_ids) == everything:
        raise UsageError("name the tasks to prepare, or use --all")
    if everything:
        chosen = [
            entry.id
            for entry in registry.entries()
            if entry.problem is None and (entry.task.data_source or {}).get("type") == "builtin"
        ]
    else:
        chosen = [registry.entry(task_id).id for task_id in task_ids]
    rows: list[PrintedPrepared] = []
    code = ExitCode.OK
    for task_id in chosen:
        try:
            done = prepare_task(registry.get_task(task_id), force=force, tell=say_progress)
            rows.append(
                {
                    "task_id": task_id,
                    "status": "ready" if done.was_ready else "prepared",
                    "verified": done.verified,
                }
            )
        except BioevalError as error:
            code = max(code, error.exit_code)
            rows.append({"task_id": task_id, "status": "failed", "reason": str(error)})
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            say(
                f"{row['task_id']}:"
                f" {row.get('reason') or {'ready': 'was ready'}.get(row['status'], row['status'])}"
            )
    return code


@tasks.command("check", epilog="\b\nExample:\n  bioeval-tui tasks check --tasks-dir biomlbench")
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@WHERE
@JSON_LIST
def tasks_check(task_ids: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Load the config and the grader of each task (by default, of all), and list what is wrong.

    If a task is prepared, its grader scores the sample submission or, without one, the answers.

    Exit codes: 0 no problems, 1 some tasks are broken.
    """
    registry = task_registry(options)
    chosen = [registry.entry(task_id).id for task_id in task_ids] or registry.list_task_ids()
    rows = []
    limits = {"time_limit": 60.0, "memory_limit": DEFAULT_MEMORY_LIMIT_MB}
    with (
        grader_pool(registry, limits, 2) as pool,
        long_work("checking tasks", len(chosen)) as advance,
    ):
        for checked in pool.check(chosen):
            rows.append(checked)
            advance()
    rows.sort(key=lambda row: row.task_id)
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        printed.check_lines(rows)
    if any(row.problem for row in rows):
        return ExitCode.BELOW
    return ExitCode.OK


@tasks.command(
    "split",
    epilog=(
        "\b\nExample:\n  head -c 32 /dev/urandom > seed"
        "\n  bioeval-tui tasks split oncology/breast-cancer --seed-file seed --output-dir parts"
    ),
)
@TASK
@click.option(
    "--seed-file",
    required=True,
    type=EXISTING_FILE,
    help="A file with the secret seed, of at least 16 random bytes. Keep it.",
)
@click.option(
    "--output-dir",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for the two parts.",
)
@click.option(
    "--public",
    "share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.3,
    help="The share of rows that become public.",
)
@WHERE
@JSON
def tasks_split(
    task_id: str, seed_file: Path, output_dir: Path, share: float, as_json: bool, **options: Any
) -> int:
    """Split a task's answers by a secret seed into a public and a private part.

    Each part is a data folder: grade with --data-dir OUTPUT/public to tell participants their
    score, and with --data-dir OUTPUT/private for the final board. Submissions have the rows of
    both. Publish the seed's SHA-256 now and the seed at the end, and everybody can check that the
    parts were not chosen afterwards.
    """
    task = task_registry(options).get_task(task_id)
    divided = split_task(task, seed_file.read_bytes(), share, output_dir)
    if as_json:
        public, private = (
            PrintedAnswersPart(data_dir=str(divided.folders[name]), rows=divided.rows[name])
            for name in PARTS
        )
        printed: PrintedSplit = {
            "task_id": task.id,
            "seed_sha256": divided.commitment,
            "public": public,
            "private": private,
        }
        print_json(printed)
        return ExitCode.OK
    for name in PARTS:
        say(f"{name}: {divided.rows[name]:,} rows, grade with --data-dir {divided.folders[name]}")
    say(f"the seed's SHA-256: {divided.commitment}")
    return ExitCode.OK
