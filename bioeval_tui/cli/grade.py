"""Commands for grading: grade, grade-sample, validate; and `ledger`, which checks the ledger of
what was graded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from typing_extensions import TypedDict

from bioeval_tui.base.consoles import plain_console
from bioeval_tui.base.errors import BioevalError, ExitCode, UsageError
from bioeval_tui.base.streams import keep_exit_code
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.cli.options import (
    BOARD,
    FOLLOW,
    JSON,
    OF_VALIDATE,
    TASK,
    WHERE,
    need_file,
    options,
    options_given,
)
from bioeval_tui.grade import GraderPool, Invalid, NotGraded, Registry
from bioeval_tui.grade.batch.pool import DEFAULT_MEMORY_LIMIT_MB, DEFAULT_TIME_LIMIT_S
from bioeval_tui.grade.batch.run import explanations, grade_batch, rewrite, uncertainties
from bioeval_tui.grade.ledger import NAME as LEDGER, verify
from bioeval_tui.grade.printing.progress import batch_progress, long_work
from bioeval_tui.grade.printing.reports import batch_summary, report_card
from bioeval_tui.grade.report_files import load_reports
from bioeval_tui.grade.submissions import read_submissions
from bioeval_tui.grade.tasks.prepare import prepare_shipped
from bioeval_tui.grade.tasks.task import default_data_dir, own_folder
from bioeval_tui.grade.validation import Diagnosis, validation_of
from bioeval_tui.report.answer import answer_grading, answer_medals
from bioeval_tui.report.formats.console import print_answer
from bioeval_tui.sample.named import find_list, find_submission

if TYPE_CHECKING:
    from bioeval_tui.grade.batch.feeding import Backend
    from bioeval_tui.grade.task_report import TaskReport


class PrintedBatch(TypedDict):
    """A graded list: its files, and the counts of the published report, as `grade --json` prints
    them.
    """

    report: str
    individual_reports: str
    total_runs: int
    total_runs_with_submissions: int
    total_valid_submissions: int
    total_medals: int
    total_gold_medals: int
    total_silver_medals: int
    total_bronze_medals: int
    total_above_median: int
    total_beats_human: int
    avg_leaderboard_percentile: float | None
    best_leaderboard_percentile: float | None
    worst_leaderboard_percentile: float | None
    total_invalid: int
    avg_leaderboard_percentile_with_zeros: float | None
    not_graded: list[dict[str, Any]]


_limits = options(
    click.option(
        "--time-limit",
        type=click.FloatRange(0, min_open=True),
        default=DEFAULT_TIME_LIMIT_S,
        help="Time limit for one submission, in seconds.",
    ),
    click.option(
        "--memory-limit",
        type=click.IntRange(16),
        default=DEFAULT_MEMORY_LIMIT_MB,
        help="Memory limit for grading one submission, in MB.",
    ),
)
_additions = options(
    click.option(
        "--intervals",
        type=click.Choice(["declared", "all", "none"]),
        default="declared",
        help=(
            "Confidence intervals, by resampling test rows: declared (metrics named in config.yaml,"
            " and ProteinGym), all (also graders with code; each is called 2,000 times, or for a"
            " minute), or none."
        ),
    ),
    click.option(
        "--explain",
        is_flag=True,
        help="Explain the score: residuals, confusion, calibration, thresholds, ranks, folds.",
    ),
    click.option(
        "--by",
        metavar="COLUMN",
        help=(
            "With --explain: the score for each value of a column of the answers or of the task's"
            " public data."
        ),
    ),
    click.option(
        "--show-answers",
        is_flag=True,
        help=(
            "With --explain: explain the score even if the task's answers are private; the views"
            " reveal them. The ledger records this."
        ),
    ),
)
_GRADED = options(WHERE, BOARD, _limits, _additions, JSON)
"""The options of every command that grades."""

_file = click.argument("file", type=click.Path(path_type=Path))


def task_registry(given: Mapping[str, Any]) -> Registry:
    """Return the registry of the tasks that `WHERE` and `BOARD` name."""
    return Registry(given["tasks_dirs"] or None, given["data_dir"], given.get("leaderboard"))


def grader_pool(
    registry: Registry, given: Mapping[str, Any], workers: int | None = 1
) -> GraderPool:
    """Return a pool of workers with the limits that were given."""
    return GraderPool(registry, workers=workers, **_given_limits(given))


def _given_limits(given: Mapping[str, Any]) -> dict[str, Any]:
    limits = {"time_limit_s": given["time_limit"], "memory_limit_mb": given["memory_limit"]}
    return {**limits, "isolate": given.get("isolate", "task")}


def _wants_additions(given: Mapping[str, Any]) -> bool:
    return bool(given["intervals"] != "none" or given["explain"])


def added_reports(
    reports: list[TaskReport], backend: Backend, given: Mapping[str, Any]
) -> Iterator[tuple[int, TaskReport]]:
    """Yield the valid reports with the intervals and explanations that were asked for, by their
    positions.
    """
    valid = {number: report for number, report in enumerate(reports) if report.valid_submission}
    if given["intervals"] != "none":
        with long_work("intervals", len(valid)) as advance:
            for number, sure in uncertainties(
                reports, backend, call_code=given["intervals"] == "all"
            ):
                valid[number] = replace(valid[number], uncertainty=sure)
                advance()
    if given["explain"]:
        with long_work("error views", len(valid)) as advance:
            views = explanations(
                reports, backend, by=given["by"], show_answers=given["show_answers"]
            )
            for number, sections in views:
                valid[number] = replace(valid[number], explanation=sections)
                advance()
    yield from valid.items()


def say_progress(sentence: str) -> None:
    """Print a progress message on stderr."""
    say(sentence, err=True)


def ready_shipped(registry: Registry, task_ids: Iterable[str]) -> None:
    """Prepare the tasks that need no download and are not prepared yet, as `prepare_shipped`
    may.
    """
    for task_id in dict.fromkeys(task_ids):
        with contextlib.suppress(BioevalError):  # grading reports the problem for each submission
            prepare_shipped(registry.get_task(task_id), default_data_dir(), say_progress)


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui grade submissions.jsonl --output-dir results"
        "\n  bioeval-tui grade submissions --output-dir results   (a sample)"
    )
)
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for reports.  [required]",
)
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Number of grading processes [one per core]."
)
@click.option(
    "--scheduler", metavar="URL", help="Grade on a Dask cluster, such as tcp://host:8786."
)
@click.option(
    "--isolate",
    type=click.Choice(["task", "submission"]),
    default="task",
    help=(
        "What gets a process of its own: each task, whose submissions then share state, or each"
        " submission (slower)."
    ),
)
@click.option("--resume", is_flag=True, help="Resume an interrupted batch.")
@FOLLOW
@_GRADED
def grade(submissions: Path, output_dir: Path | None, as_json: bool, **given: Any) -> int:
    """Grade the submissions listed in a JSONL file, and write reports.

    Exit codes: 0 all valid, 1 some invalid, 2 usage error, 3 some could not be graded.
    """
    submissions = find_list(submissions)
    need_file(submissions, "a JSONL file with one submission per line")
    if output_dir is None:
        raise UsageError("give a folder for the reports: --output-dir DIR")

    registry = task_registry(given)
    listed = read_submissions(submissions, needs_any=True)
    listed = replace(listed, follow=given["follow_links"])
    ready_shipped(registry, (item.task_id for item in listed.submissions))
    backend: Any
    if given["scheduler"] is not None:
        from bioeval_tui.grade.batch.run import ClusterBackend  # distributed, which is optional

        backend = ClusterBackend(given["scheduler"], registry, **_given_limits(given))
    else:
        backend = grader_pool(registry, given, given["workers"])

    with backend:
        try:
            with batch_progress() as on_progress:
                resume = given["resume"]
                result = grade_batch(
                    listed, output_dir, backend, resume=resume, on_progress=on_progress
                )
        except KeyboardInterrupt:
            say_progress("interrupted; finished reports are kept, continue with --resume")
            return ExitCode.INTERRUPTED
        if not as_json:
            keep_exit_code()  # the reports are in the folder
            reports, failed = (
                load_reports(result.report_path),
                map(NotGraded.from_dict, result.not_graded),
            )
            answer = answer_medals([*reports, *failed], options_given(OF_VALIDATE))
            print_answer(answer, plain_console())
            batch_summary(result, reports)
        if _wants_additions(given):
            try:
                rewrite(result, lambda reports: added_reports(reports, backend, given))
            except KeyboardInterrupt:
                say_progress(
                    "interrupted; the reports are complete except for intervals and explanations"
                )
                return ExitCode.INTERRUPTED
    if as_json:
        printed = {
            "report": str(result.report_path),
            "individual_reports": str(result.individual_dir),
            **result.totals,
            "total_invalid": result.invalid,
            "avg_leaderboard_percentile_with_zeros": result.average_with_zeros,
            "not_graded": list(result.not_graded),
        }
        print_json(cast(PrintedBatch, printed))
    if result.not_graded:
        return ExitCode.NOT_MEASURED
    if result.invalid:
        return ExitCode.BELOW
    return ExitCode.OK


class PrintedFailure(TypedDict):
    """A submission that could not be graded, and why."""

    not_graded: dict[str, Any]


@click.command(
    "grade-sample",
    epilog="\b\nExample:\n  bioeval-tui grade-sample submission.csv oncology/breast-cancer",
)
@_file
@TASK
@_GRADED
def grade_sample(file: Path, task_id: str, as_json: bool, **given: Any) -> int:
    """Grade one CSV or h5ad FILE for TASK and show its report.

    Exit codes: 0 valid, 1 invalid, 2 usage error, 3 could not be graded.
    """
    file = find_submission(file, task_id)
    need_file(file, "a CSV or h5ad file")
    registry = task_registry(given)
    task_id = registry.entry(task_id).id
    ready_shipped(registry, [task_id])
    with grader_pool(registry, given) as pool:
        outcome = pool.grade(file, task_id)
        if _wants_additions(given) and not isinstance(outcome, Invalid | NotGraded):
            # Its report cannot hold a name that is not UTF-8, by which it could not be found.
            here = replace(outcome, submission_path=str(file))
            ((_, added),) = added_reports([here], pool, given)
            outcome = replace(added, submission_path=outcome.submission_path)

    if isinstance(outcome, NotGraded):
        if as_json:
            failed: PrintedFailure = {"not_graded": outcome.to_dict()}
            print_json(failed)
        say_progress(f"not graded: {outcome.reason}")
        return ExitCode.NOT_MEASURED
    report = outcome.report if isinstance(outcome, Invalid) else outcome
    if as_json:
        print_json(report.to_dict(), indent=2)
    else:
        answer = answer_grading(report, options_given(), options_given(OF_VALIDATE))
        print_answer(answer, plain_console())
        report_card(report, outcome.problems if isinstance(outcome, Invalid) else ())
    if isinstance(outcome, Invalid):
        return ExitCode.BELOW
    return ExitCode.OK


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui validate submission.csv oncology/breast-cancer"
        "\n  bioeval-tui validate broken oncology/breast-cancer   (a sample)"
    )
)
@_file
@TASK
@WHERE
@_limits
@JSON
def validate(file: Path, task_id: str, as_json: bool, **options: Any) -> int:
    """List everything that is wrong with FILE as a submission for TASK.

    Exit codes: 0 valid, 1 invalid, 2 usage error, 3 the grader could not run.
    """
    file = find_submission(file, task_id)
    need_file(file, "a CSV or h5ad file")
    registry = task_registry(options)
    task_id = registry.entry(task_id).id
    ready_shipped(registry, [task_id])
    with grader_pool(registry, options) as pool:
        outcome, findings = pool.examine(file, task_id)
    validation = validation_of(outcome, findings)
    if as_json:
        value: PrintedValidation = {
            "task_id": task_id,
            "file": str(file),
            "status": validation.status,
            "valid": validation.status == "valid",
            "rows_missing": validation.missing,
            "in_doubt": validation.in_doubt,
            "findings": list(validation.findings),
        }
        print_json(value)
    else:
        shown = clean_line(str(file))
        say(
            f"{shown}: {validation.words}"
            + (f" ({task_id})" if validation.is_only_for_grader else f" for {task_id}")
        )
        for sentence in validation.findings:
            say(f"  · {clean_line(sentence, 2000)}")
    return {"valid": ExitCode.OK, "invalid": ExitCode.BELOW}.get(
        validation.status, ExitCode.NOT_MEASURED
    )


class PrintedValidation(TypedDict):
    """What is wrong with a file, as `validate --json` prints it."""

    task_id: str
    file: str
    status: Diagnosis
    valid: bool
    rows_missing: int | None
    in_doubt: bool
    findings: list[str]


@click.group(epilog="\b\nExample:\n  bioeval-tui ledger verify")
def ledger() -> None:
    """Check the ledger of graded submissions."""


@ledger.command("verify", epilog="\b\nExample:\n  bioeval-tui ledger verify --head 37:9f86d08…")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--head",
    metavar="NUMBER:HASH",
    default="",
    show_default=False,
    help=(
        "A head that this ledger printed earlier: check that the lines up to it are still the same."
    ),
)
@JSON
def ledger_verify(file: Path | None, head: str, as_json: bool) -> int:
    """Check that no line of a ledger was changed, moved, removed or added by hand.

    Whoever rewrites both the ledger and its head (grading-ledger.head) leaves no trace, unless
    others know an earlier head: publish the one that this prints, and check with --head.

    The default FILE is the ledger in this program's own data folder. Exit codes: 0 intact, 1
    changed, 2 no ledger found.
    """
    path = file or own_folder() / LEDGER
    verified = verify(path, head)
    if as_json:
        print_json(asdict(verified))
    else:
        whole = "intact" if verified.whole else "changed"
        say(f"{clean_line(str(path), 300)}: {plural(verified.lines, 'line')}, {whole}")
        for problem in verified.problems:
            say(f"  · {problem}")
        if verified.head:
            say(f"head: {verified.head}")
    if verified.whole:
        return ExitCode.OK
    return ExitCode.BELOW
