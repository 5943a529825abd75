"""What the grading commands print: tables and cards on stdout, progress on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from bioeval_tui.consoles import QuietConsole, plain_console
from bioeval_tui.errors import BioevalError, Problem
from bioeval_tui.text import clean, clean_line, plural, shorten

if TYPE_CHECKING:
    from bioeval_tui.grade.batch import run
    from bioeval_tui.grade.batch.output import BatchResult
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.grade.tasks.task import Task as GradingTask
    from bioeval_tui.grade.tasks.task import TaskEntry

MEDAL_STYLE = {"gold": "bold yellow", "silver": "bold bright_white", "bronze": "bold dark_orange3"}
NOTHING = "·"
LISTED = 10
"""So many submissions that are invalid, and as many that were not graded, are named in the terminal."""


def _out() -> Console:
    return QuietConsole(highlight=False, markup=False, emoji=False, soft_wrap=True)


class _Rate(ProgressColumn):
    """Items a second."""

    def render(self, task: Task) -> Text:
        """Return the rate of a progress row."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="dim")


@contextmanager
def long_work(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a progress bar with rate and time left on stderr; yields what to call after each item."""
    with _bar() as bar:
        row = bar.add_task(what, total=total)
        yield lambda: bar.advance(row)


@contextmanager
def batch_progress() -> Iterator[Callable[[run.Progress], None]]:
    """Show how far a batch is on stderr; yields what `run_batch` reports to."""
    with _bar() as bar:
        row = bar.add_task("grading", total=None)

        def show(progress: run.Progress) -> None:
            notes = [f"{progress.invalid:,} invalid"] if progress.invalid else []
            notes += [f"{progress.not_graded:,} not graded"] if progress.not_graded else []
            notes += [f"{progress.resumed:,} from before"] if progress.resumed else []
            what = "grading" + (f" ({', '.join(notes)})" if notes else "")
            bar.update(row, description=what, total=progress.total, completed=progress.done)

        yield show


def _bar() -> Progress:
    console = plain_console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)


def batch_summary(result: BatchResult) -> None:
    """Print how a batch went."""
    out, totals = _out(), result.totals
    invalid = f", {result.invalid:,} invalid" if result.invalid else ""
    not_graded = f", {len(result.not_graded):,} not graded" if result.not_graded else ""
    out.print(f"{plural(result.valid, 'submission')} graded{invalid}{not_graded}")
    counts = [f"{totals[f'total_{name}_medals']:,} {name}" for name in ("gold", "silver", "bronze")]
    out.print(
        f"medals: {', '.join(counts)}; above the median: {totals['total_above_median']:,}; beating people: {totals['total_beats_human']:,}"
    )
    if totals["avg_leaderboard_percentile"] is not None:
        average, worst, best = (totals[f"{name}_leaderboard_percentile"] for name in ("avg", "worst", "best"))
        zeros = f" ({result.average_with_zeros} with each invalid one as 0)" if result.invalid else ""
        over = f"over {result.valid:,} valid of {totals['total_runs']:,}"
        out.print(f"leaderboard percentile: {average} on average {over}{zeros}, from {worst} to {best}")
    if result.invalid:
        _say_invalid(result, out)
    for item in result.not_graded[:LISTED]:
        out.print(
            f"not graded: {item['task_id']} {clean_line(str(item['submission_path']), 120)}: {clean_line(item['reason'], 300)}"
        )
    if len(result.not_graded) > LISTED:
        out.print(f"… and {len(result.not_graded) - LISTED:,} more, in the report")
    out.print(f"report: {result.report_path}")


def _say_invalid(result: BatchResult, out: Console) -> None:
    """Print which submissions are invalid, and why: the count alone sends people to the report's JSON."""
    from bioeval_tui.grade.reports import load_reports

    invalid = [report for report in load_reports(result.report_path) if not report.valid_submission]
    for report in invalid[:LISTED]:
        reason = report.extra.error if report.extra and report.extra.error else "no reason is given"
        where = clean_line(str(report.submission_path or "nothing was handed in"), 120)
        out.print(f"invalid: {clean_line(report.task_id, 80)} {where}: {clean_line(reason, 300)}")
    if len(invalid) > LISTED:
        out.print(f"… and {len(invalid) - LISTED:,} more, in the report")


def medal_word(report: TaskReport) -> Text:
    """Return the medal as a word with its colour, `invalid`, or nothing."""
    if not report.valid_submission:
        return Text("invalid", style="red")
    return Text(report.medal or NOTHING, style=MEDAL_STYLE.get(report.medal or "", "dim"))


def _yes(value: bool | None) -> Text:
    if value is None:
        return Text(NOTHING, style="dim")
    return Text("✓ yes", style="green") if value else Text("✗ no", style="dim")


def _number(value: float | None, form: str = "") -> str:
    return NOTHING if value is None else format(value, form)


def medal_table(reports: Sequence[TaskReport], reviews: Sequence[str] = ()) -> None:
    """Print reports as a table, one row each, and their totals; `reviews` says of each what its reviewers do."""
    said = [clean_line(words, 120) for words in reviews] or [""] * len(reports)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", no_wrap=True, overflow="ellipsis", min_width=20)
    table.add_column("agent", no_wrap=True, overflow="ellipsis")
    table.add_column("medal", no_wrap=True)
    for name in ("score", "percentile", "place"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("> median", "> people"):
        table.add_column(name, no_wrap=True)
    if any(said):
        table.add_column("reviewed", overflow="fold")
    for report, words in zip(reports, said, strict=True):
        extra = report.extra
        place = extra.leaderboard_position if extra else None
        size = f" of {report.leaderboard_size:,}" if place and report.leaderboard_size else ""
        table.add_row(
            Text(clean_line(report.task_id, 80)),
            Text(_agent(report)),
            medal_word(report),
            _number(report.score),
            _number(report.leaderboard_percentile),
            f"{place:,}{size}" if place else NOTHING,
            _yes(report.above_median if report.valid_submission else None),
            _yes(report.beats_human),
            *([Text(words)] if any(said) else []),
        )
    console = plain_console()
    console.print(table)
    valid = sum(report.valid_submission for report in reports)
    medals = [f"{sum(report.medal == name for report in reports):,} {name}" for name in MEDAL_STYLE]
    console.print(f"{plural(len(reports), 'report')}, {valid:,} valid; {', '.join(medals)}")


def _agent(report: TaskReport) -> str:
    from bioeval_tui.grade.paths import extract_agent_from_submission_path

    agent = report.extra.agent if report.extra else None
    agent = agent or extract_agent_from_submission_path(report.submission_path)
    return NOTHING if agent == "unknown" else clean_line(agent, 60)


def report_card(report: TaskReport, problems: Sequence[Problem] = ()) -> None:
    """Print one report: score, medal, place, thresholds, warnings; or why it is invalid."""
    out, extra = _out(), report.extra
    if not report.valid_submission:
        out.print(Text.assemble(f"{report.task_id}: ", ("invalid", "red")))
        for problem in problems:
            out.print(f"  · {clean_line(problem.message, 2000)}")
    else:
        out.print(
            Text.assemble(
                f"{report.task_id}: score {report.score}, ",
                (
                    "no medal" if report.medal is None else report.medal,
                    MEDAL_STYLE.get(report.medal or "", ""),
                ),
            )
        )
        place = extra.leaderboard_position if extra else None
        if place is not None:
            out.print(
                f"  would place {place:,} of {report.leaderboard_size:,}, better than {report.leaderboard_percentile} % of the leaderboard"
            )
        if extra and extra.score_needed is not None:
            out.print(f"  {extra.next_medal} needs {extra.score_needed}")
        above = "above" if report.above_median else "not above"
        out.print(f"  {above} the median ({report.median_threshold})")
        if report.beats_human is not None:
            beats = "beats" if report.beats_human else "does not beat"
            out.print(f"  {beats} the median person; reaches {report.human_percentile} % of people")
    direction = "lower" if report.is_lower_better else "higher"
    out.print(
        f"  {direction} is better: gold {report.gold_threshold}, silver {report.silver_threshold}, bronze {report.bronze_threshold}"
    )
    for warning in extra.warnings if extra else ():
        out.print(f"  warning: {clean_line(warning, 500)}")


def task_row(entry: TaskEntry) -> dict[str, Any]:
    """Return what `tasks list --json` says of a task."""
    if entry.problem is not None:
        problem = entry.problem
        return {"id": entry.id, "broken": problem.message, "file": problem.file, "line": problem.line}
    task = entry.task
    return {
        "id": task.id,
        "name": task.name,
        "domain": task.domain,
        "task_type": task.task_type,
        "difficulty": task.difficulty,
        "data_source": (task.data_source or {}).get("type"),
        "awards_medals": task.awards_medals,
        "prepared": task.is_prepared,
        "self_trained": task.self_trained,
        "warnings": list(task.warnings),
    }


def task_table(entries: Sequence[TaskEntry]) -> None:
    """Print tasks as a table; broken ones with file and line."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "domain", "type", "difficulty", "source", "prepared"):
        table.add_column(name, overflow="fold")
    broken = [entry for entry in entries if entry.problem is not None]
    for entry in entries:
        row = task_row(entry)
        if "broken" in row:
            table.add_row(Text(entry.id), Text("broken config", style="red"), "", "", "", "")
            continue
        words = (row[key] or NOTHING for key in ("domain", "task_type", "difficulty", "data_source"))
        # Not prepared yet is nothing wrong: no cross.
        prepared = Text("✓ yes", style="green") if row["prepared"] else Text(NOTHING, style="dim")
        table.add_row(Text(entry.id), *(Text(str(word)) for word in words), prepared)
    console = plain_console()
    console.print(table)
    for entry in broken:
        console.print(f"broken: {entry.problem}", soft_wrap=True)
    ready = sum(entry.problem is None and entry.task.is_prepared for entry in entries)
    console.print(f"{plural(len(entries), 'task')}, {ready:,} prepared, {len(broken):,} broken")
    waiting = [e for e in entries if e.problem is None and not e.task.is_prepared]
    if any((entry.task.data_source or {}).get("type") == "builtin" for entry in waiting):
        console.print(
            "builtin tasks are prepared when they are first used; `bioeval-tui tasks prepare --all` does it now"
        )


def task_details(task: GradingTask) -> dict[str, Any]:
    """Return what `tasks show --json` says: the row, the leaderboard with its thresholds, paths, the text."""
    from bioeval_tui.grade.leaderboard import leaderboard_of

    details: dict[str, Any] = {
        "id": task.id,
        "name": task.name,
        "domain": task.domain,
        "task_type": task.task_type,
        "difficulty": task.difficulty,
        "data_source": dict(task.data_source or {}),
        "awards_medals": task.awards_medals,
        "prepared": task.is_prepared,
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
    }
    details["warnings"] += board.warnings
    return details


def task_card(task: GradingTask) -> None:
    """Print a task: facts, leaderboard, warnings, then the description."""
    out, details = _out(), task_details(task)
    out.print(Text(f"{task.id}: {task.name}", style="bold"))
    facts = [task.task_type, task.domain, task.difficulty, f"grader {task.grader.name}"]
    out.print("  " + ", ".join(str(fact) for fact in facts if fact))
    out.print(f"  {'prepared: ' + str(task.public_dir) if task.is_prepared else details['why_not_prepared']}")
    board = details["leaderboard"]
    if board is not None:
        direction = "lower" if board["is_lower_better"] else "higher"
        out.print(
            f"  leaderboard: {plural(board['size'], 'entry', 'entries')} from {board['best']} to {board['worst']}, {direction} is better"
        )
        thresholds = ", ".join(
            f"{name} {board[f'{name}_threshold']}" for name in ("gold", "silver", "bronze", "median")
        )
        out.print(f"  {thresholds}")
    for warning in details["warnings"]:
        out.print(f"  warning: {clean_line(warning, 500)}")
    if task.description:
        out.print()
        console = plain_console()
        if console.is_terminal:
            console.print(Markdown(task.description, hyperlinks=False))
        else:  # a file or a pipe gets the text as it was written
            console.print(clean(task.description))


def check_lines(rows: Sequence[dict[str, Any]]) -> None:
    """Print what checking found, and the sum."""
    out = _out()
    for row in rows:
        if row["problem"]:
            out.print(f"{row['task_id']}: {shorten(clean_line(row['problem'], 1000), 400)}")
        for warning in row["warnings"]:
            out.print(f"{row['task_id']}: warning: {clean_line(warning, 400)}")
    broken = sum(bool(row["problem"]) for row in rows)
    warned = sum(bool(row["warnings"]) for row in rows)
    out.print(
        f"{plural(len(rows), 'task')} checked: {len(rows) - broken:,} can be loaded, {broken:,} cannot, {warned:,} with warnings"
    )
