"""Commands for grading: grade, grade-sample, validate, tasks, medals."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bioeval_tui.cli.task_options import BOARD, WHERE, need_file, options, settings_for, with_runs
from bioeval_tui.consoles import print_json, say
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.report.formats.registry import choose, names

if TYPE_CHECKING:
    from bioeval_tui.grade import GraderPool, Outcome, Registry
    from bioeval_tui.grade.reports import Loaded
    from bioeval_tui.grade.runs import Runs
    from bioeval_tui.settings import Settings

DEFAULT_TIME_LIMIT_S = 600.0
DEFAULT_MEMORY_LIMIT_MB = 8192


_limits = options(
    click.option(
        "--time-limit",
        type=click.FloatRange(0, min_open=True),
        default=DEFAULT_TIME_LIMIT_S,
        show_default=True,
        help="Seconds that one submission may take.",
    ),
    click.option(
        "--memory-limit",
        type=click.IntRange(16),
        default=DEFAULT_MEMORY_LIMIT_MB,
        show_default=True,
        help="Megabytes that grading one submission may take.",
    ),
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_file = click.argument("file", type=click.Path(path_type=Path))
_task = click.argument("task_id", metavar="TASK")


def _registry(given: dict[str, Any]) -> Registry:
    from bioeval_tui.grade import Registry

    return Registry(given["tasks_dirs"] or None, given["data_dir"], given.get("leaderboard"))


def _pool(registry: Registry, options: dict[str, Any], workers: int | None = 1) -> GraderPool:
    from bioeval_tui.grade import GraderPool

    limits = {"time_limit_s": options["time_limit"], "memory_limit_mb": options["memory_limit"]}
    return GraderPool(registry, workers=workers, **limits)


def _talk(sentence: str) -> None:
    say(sentence, err=True)


def _ready_shipped(registry: Registry, task_ids: Iterable[str]) -> None:
    """Prepare the tasks among these that need no download and are not ready yet."""
    from bioeval_tui.errors import BioevalError

    for task_id in dict.fromkeys(task_ids):
        try:
            task = registry.get_task(task_id)
            if task.is_prepared or (task.data_source or {}).get("type") != "builtin":
                continue
            from bioeval_tui.grade import prepare_task

            _talk(f"preparing {task.id}")
            prepare_task(task)
        except BioevalError:
            continue  # grading will say what is wrong, for each submission


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui grade submissions.jsonl --output-dir results"
    "\n  bioeval-tui grade submissions --output-dir results   (a sample)"
)
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option(
    "--output-dir", type=click.Path(file_okay=False, path_type=Path), help="Where reports go.  [required]"
)
@WHERE
@BOARD
@click.option("--workers", type=click.IntRange(1, 256), help="Processes that grade [one a core].")
@_limits
@click.option("--scheduler", metavar="URL", help="Grade on a Dask cluster, such as tcp://host:8786.")
@click.option("--resume", is_flag=True, help="Go on with a batch that was cut short.")
@_json
def grade(submissions: Path, output_dir: Path | None, as_json: bool, **options: Any) -> int:
    """Grade the submissions that a JSONL file lists, and write the reports.

    Exit 0: all graded and valid. 1: some are invalid. 2: wrong use. 3: some could not be graded.
    """
    from bioeval_tui.sample.paths import find_list

    submissions = find_list(submissions)
    need_file(submissions, "a JSONL file with one submission a line")
    if output_dir is None:
        raise UsageError("say where the reports go: --output-dir DIR")
    from bioeval_tui.grade.batch.run import run_batch
    from bioeval_tui.grade.batch.submissions import read_submissions

    registry = _registry(options)
    listed = read_submissions(submissions).submissions
    _ready_shipped(registry, (item.task_id for item in listed))
    backend: Any
    if options["scheduler"] is not None:
        from bioeval_tui.grade.batch.cluster import ClusterBackend

        limits = {"time_limit_s": options["time_limit"], "memory_limit_mb": options["memory_limit"]}
        backend = ClusterBackend(options["scheduler"], registry, **limits)
    else:
        backend = _pool(registry, options, options["workers"])
    from bioeval_tui.grade.console import batch_progress, batch_summary

    try:
        with backend, batch_progress() as on_progress:
            resume = options["resume"]
            result = run_batch(submissions, output_dir, backend, resume=resume, on_progress=on_progress)
    except KeyboardInterrupt:
        _talk("interrupted; the reports so far are kept, go on with --resume")
        return ExitCode.INTERRUPTED
    if as_json:
        paths = {"report": str(result.report_path), "individual_reports": str(result.individual_dir)}
        counts = {
            **result.totals,
            "total_invalid": result.invalid,
            "avg_leaderboard_percentile_with_zeros": result.average_with_zeros,
            "not_graded": list(result.not_graded),
        }
        print_json({**paths, **counts})
    else:
        batch_summary(result)
    if result.not_graded:
        return ExitCode.NOT_MEASURED
    return ExitCode.BELOW if result.invalid else ExitCode.OK


@click.command(
    "grade-sample", epilog="\b\nExample:\n  bioeval-tui grade-sample submission.csv oncology/breast-cancer"
)
@_file
@_task
@WHERE
@BOARD
@_limits
@_json
def grade_sample(file: Path, task_id: str, as_json: bool, **options: Any) -> int:
    """Grade one CSV or h5ad FILE for TASK and show its report.

    Exit 0: valid. 1: invalid. 2: wrong use. 3: could not be graded.
    """
    from bioeval_tui.sample.paths import find_submission

    file = find_submission(file, task_id)
    need_file(file, "a CSV or h5ad file")
    registry = _registry(options)
    task_id = registry.entry(task_id).id
    _ready_shipped(registry, [task_id])
    with _pool(registry, options) as pool:
        outcome = pool.grade(file, task_id)
    from bioeval_tui.grade import Invalid, NotGraded

    if isinstance(outcome, NotGraded):
        if as_json:
            print_json({"not_graded": outcome.to_dict()})
        _talk(f"not graded: {outcome.reason}")
        return ExitCode.NOT_MEASURED
    report = outcome.report if isinstance(outcome, Invalid) else outcome
    if as_json:
        print_json(report.to_dict(), indent=2)
    else:
        from bioeval_tui.grade.console import report_card

        report_card(report, outcome.problems if isinstance(outcome, Invalid) else ())
    return ExitCode.BELOW if isinstance(outcome, Invalid) else ExitCode.OK


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui validate submission.csv oncology/breast-cancer"
    "\n  bioeval-tui validate broken oncology/breast-cancer   (a sample)"
)
@_file
@_task
@WHERE
@_limits
@_json
def validate(file: Path, task_id: str, as_json: bool, **options: Any) -> int:
    """Say everything that is wrong with FILE as a submission for TASK.

    Exit 0: valid. 1: invalid. 2: wrong use. 3: the grader could not be run.
    """
    from bioeval_tui.sample.paths import find_submission

    file = find_submission(file, task_id)
    need_file(file, "a CSV or h5ad file")
    registry = _registry(options)
    task_id = registry.entry(task_id).id
    _ready_shipped(registry, [task_id])
    with _pool(registry, options) as pool:
        outcome, findings = pool.examine(file, task_id)
    status, sentences = _diagnosis(outcome, [item.message for item in findings])
    if as_json:
        value = {
            "task_id": task_id,
            "file": str(file),
            "status": status,
            "valid": status == "valid",
            "findings": sentences,
        }
        print_json(value)
    else:
        from bioeval_tui.text import clean_line

        say(f"{clean_line(str(file))}: {status.replace('_', ' ')} for {task_id}")
        for sentence in sentences:
            say(f"  · {clean_line(sentence, 2000)}")
    return {"valid": ExitCode.OK, "invalid": ExitCode.BELOW}.get(status, ExitCode.NOT_MEASURED)


def _diagnosis(outcome: Outcome, findings: list[str]) -> tuple[str, list[str]]:
    from bioeval_tui.grade import Invalid, NotGraded

    if isinstance(outcome, NotGraded):
        return "not_graded", [*findings, outcome.reason]
    if isinstance(outcome, Invalid):
        own = [item.message for item in outcome.problems] or [outcome.reason]
        return "invalid", list(dict.fromkeys([*own, *findings]))
    return "valid", findings


@click.group(epilog="\b\nExamples:\n  bioeval-tui tasks list\n  bioeval-tui tasks prepare --all")
def tasks() -> None:
    """List, show, prepare and check machine-learning tasks."""


@tasks.command("list", epilog="\b\nExample:\n  bioeval-tui tasks list --domain oncology")
@WHERE
@BOARD
@click.option("--domain", help="Only this domain.")
@click.option("--type", "task_type", help="Only this task type.")
@click.option("--difficulty", help="Only this difficulty.")
@click.option("--prepared/--not-prepared", default=None, help="Only tasks that can (not) be graded yet.")
@click.option("--medals/--no-medals", default=None, help="Only tasks that award (no) medals.")
@_json
def tasks_list(
    as_json: bool,
    tasks_dirs: tuple[Path, ...],
    data_dir: Path | None,
    leaderboard: str | None,
    **filters: Any,
) -> int:
    """List all tasks, broken ones with file and line. --json prints a list of objects."""
    from bioeval_tui.grade.console import task_row, task_table

    entries = _registry({"tasks_dirs": tasks_dirs, "data_dir": data_dir, "leaderboard": leaderboard}).select(
        **filters
    )
    if as_json:
        print_json([task_row(entry) for entry in entries])
    else:
        task_table(entries)
    return ExitCode.OK


@tasks.command("show", epilog="\b\nExample:\n  bioeval-tui tasks show oncology/breast-cancer")
@_task
@WHERE
@BOARD
@_json
def tasks_show(task_id: str, as_json: bool, **options: Any) -> int:
    """Show a task: what it is, whether it is prepared, its leaderboard and thresholds, its description."""
    from bioeval_tui.grade.console import task_card, task_details

    task = _registry(options).get_task(task_id)
    if as_json:
        print_json(json.loads(json.dumps(task_details(task), default=str)))
    else:
        task_card(task)
    return ExitCode.OK


@tasks.command(
    "leaderboard", epilog="\b\nExample:\n  bioeval-tui tasks leaderboard oncology/breast-cancer --csv"
)
@_task
@WHERE
@BOARD
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: teamName, score, submissionDate.")
def tasks_leaderboard(task_id: str, as_csv: bool, **options: Any) -> int:
    """Show the leaderboard that TASK is ranked on, best first: where it comes from, and every entry as published."""
    from bioeval_tui.grade.console import board_csv, board_table

    task = _registry(options).get_task(task_id)
    if as_csv:
        board_csv(task)
    else:
        board_table(task)
    return ExitCode.OK


@tasks.command(
    "prepare",
    epilog="\b\nExamples:\n  bioeval-tui tasks prepare oncology/breast-cancer\n  bioeval-tui tasks prepare --all",
)
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All tasks that need no download.")
@click.option("--force", is_flag=True, help="Prepare again what is ready.")
@WHERE
@_json
def tasks_prepare(
    task_ids: tuple[str, ...], everything: bool, force: bool, as_json: bool, **options: Any
) -> int:
    """Make tasks ready to be worked on and graded. A task that is ready is left alone.

    Exit 3: the data of a task could not be had; what to do is said for each.
    """
    from bioeval_tui.errors import BioevalError
    from bioeval_tui.grade import prepare_task

    registry = _registry(options)
    if bool(task_ids) == everything:
        raise UsageError("name the tasks to prepare, or say --all")
    if everything:
        chosen = [
            entry.id
            for entry in registry.entries()
            if entry.problem is None and (entry.task.data_source or {}).get("type") == "builtin"
        ]
    else:
        chosen = [registry.entry(task_id).id for task_id in task_ids]
    rows: list[dict[str, Any]] = []
    code = ExitCode.OK
    for task_id in chosen:
        try:
            done = prepare_task(registry.get_task(task_id), force=force, tell=_talk)
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
                f"{row['task_id']}: {row.get('reason') or {'ready': 'was ready'}.get(row['status'], row['status'])}"
            )
    return code


@tasks.command("check", epilog="\b\nExample:\n  bioeval-tui tasks check --tasks-dir biomlbench")
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@WHERE
@_json
def tasks_check(task_ids: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Load the config and the grader of each task (all, if none is named) and say what is wrong.

    The grader of a task that is prepared grades the sample submission, or else the answers.

    Exit 0: nothing. 1: some tasks are broken.
    """
    from bioeval_tui.grade.console import long_work

    registry = _registry(options)
    chosen = [registry.entry(task_id).id for task_id in task_ids] or registry.list_task_ids()
    rows = []
    limits = {"time_limit": 60.0, "memory_limit": DEFAULT_MEMORY_LIMIT_MB}
    with (
        _pool(registry, limits, 2) as pool,
        long_work("checking tasks", len(chosen)) as advance,
    ):
        for checked in pool.check(chosen):
            rows.append(checked)
            advance()
    rows.sort(key=lambda row: row.task_id)
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        from bioeval_tui.grade.console import check_lines

        check_lines(rows)
    return ExitCode.BELOW if any(row.problem for row in rows) else ExitCode.OK


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui medals results/\n  bioeval-tui medals results/ --output medals.html"
    "\n  bioeval-tui medals biomlbench/runs"
)
@click.argument(
    "places", metavar="REPORT_OR_RUNS...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@WHERE
@BOARD
@click.option("--json", "as_json", is_flag=True, help="Print a list of reports.")
@click.option("--table", is_flag=True, help="Print a table even in a terminal.")
@click.option(
    "--format", "kind", type=click.Choice(names("medals")),
    help="What to write [by the name of --output].",
)  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Where to write [stdout].")
def medals(
    places: tuple[Path, ...],
    as_json: bool,
    table: bool,
    kind: str | None,
    output: Path | None,
    **given: Any,
) -> int:
    """Show graded reports (of this program, BioML-bench or MLE-bench; files or folders) as a medal table.

    A folder of runs, such as the `runs` of a checkout of BioML-bench, is graded first: its tasks and their data are
    found by themselves, and what was looked at is said.

    In a terminal this opens the medal screen; with --format or --output it writes one HTML file, Markdown, CSV or
    JSON.
    """
    from bioeval_tui.grade import load_outcomes
    from bioeval_tui.record.masking.current import current
    from bioeval_tui.record.report_reviews import marks_at

    settings, runs, reports = with_runs(settings_for(given), places)
    on_screen = not (as_json or table or kind or output) and sys.stdout.isatty() and sys.stdin.isatty()
    if on_screen:
        from bioeval_tui.cli.open_screen import show_medals

        show_medals(settings, reports, runs)
        return ExitCode.OK
    found = [(path, load_outcomes(path)) for path in reports]
    if runs is not None:
        found.append((places[0], _graded(runs, settings)))
    reviews = [words for path, some in found for words in marks_at(path, some.reports)]
    loaded = current().value([report for _, some in found for report in some.reports])
    failed = current().value([item for _, some in found for item in some.not_graded])
    if kind is not None or output is not None:
        from bioeval_tui.report.files import write_or_print

        write_or_print(choose(output, kind, "medals").write("medals", loaded, reviews, failed), output)
        return ExitCode.OK
    if as_json:
        from bioeval_tui.report.formats.medal_pages import medals_dicts

        print_json(medals_dicts(loaded, failed))
        return ExitCode.OK
    from bioeval_tui.grade.console import medal_table

    medal_table(loaded, reviews, failed)
    return ExitCode.OK


def _graded(runs: Runs, settings: Settings) -> Loaded:
    """Grade the submissions of runs, in their order, and say where they were looked for."""
    from bioeval_tui.grade import GraderPool, Invalid, NotGraded, Registry
    from bioeval_tui.grade.console import long_work
    from bioeval_tui.grade.reports import Loaded

    for line in runs.looked:
        _talk(line)
    registry = Registry(settings.tasks_dirs, settings.tasks_data_dir, settings.leaderboard)
    _ready_shipped(registry, (item.task_id for item in runs.submissions))
    outcomes: dict[int, Outcome] = {}
    pairs = [(item.task_id, item.path) for item in runs.submissions]
    with GraderPool(registry) as pool, long_work("grading", len(pairs)) as advance:
        for number, outcome in pool.grade_many(pairs):
            outcomes[number] = outcome
            advance()
    ordered = [outcomes[number] for number in sorted(outcomes)]
    return Loaded(
        tuple(
            item.report if isinstance(item, Invalid) else item
            for item in ordered
            if not isinstance(item, NotGraded)
        ),
        tuple(item for item in ordered if isinstance(item, NotGraded)),
    )


COMMANDS: list[click.Command] = [grade, grade_sample, validate, tasks, medals]
