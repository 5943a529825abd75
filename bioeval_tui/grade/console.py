"""The output of grading: tables and cards of reports, and what the commands for tasks print, on
stdout; progress on stderr.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task as ProgressTask,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text
from typing_extensions import ReadOnly, TypedDict

from bioeval_tui.base.consoles import CellColumn, plain_console, write_table
from bioeval_tui.base.errors import BioevalError, Problem
from bioeval_tui.base.files import csv_text
from bioeval_tui.base.streams import is_plain
from bioeval_tui.base.text import clean, clean_line, plural, shorten, spreadsheet_cell
from bioeval_tui.grade.submissions import UNKNOWN_AGENT
from bioeval_tui.grade.task_report import better_words
from bioeval_tui.grade.tasks.sources import BoardSource, PublishedBoard

if TYPE_CHECKING:
    from bioeval_tui.grade.batch import run
    from bioeval_tui.grade.batch.output import BatchResult
    from bioeval_tui.grade.batch.pool import CheckedTask
    from bioeval_tui.grade.outcomes import NotGraded
    from bioeval_tui.grade.task_report import TaskReport, Uncertainty
    from bioeval_tui.grade.tasks.task import Task, TaskEntry


MEDAL_STYLE = {"gold": "bold yellow", "silver": "bold bright_white", "bronze": "bold dark_orange3"}
NOTHING = "·"
LISTED = 10
"""Maximum number of invalid submissions, and of not graded ones, that are listed in the terminal.
"""


def lines_out() -> Console:
    """Return a console that does not break lines."""
    return plain_console(soft_wrap=True)


class _Rate(ProgressColumn):
    """Items per second."""

    def render(self, task: ProgressTask) -> Text:
        """Return the rate of a progress row."""
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:,.0f}/s", style="dim")


@contextmanager
def long_work(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a progress bar with rate and time left on stderr; yield a function to call after each
    item.
    """
    with _bar() as bar:
        row = bar.add_task(what, total=total)
        yield lambda: bar.advance(row)


@contextmanager
def batch_progress() -> Iterator[Callable[[run.GradingProgress], None]]:
    """Show the progress of a batch on stderr; yields the object that `grade_batch` reports to."""
    with _bar() as bar:
        row = bar.add_task("grading", total=None)

        def show(progress: run.GradingProgress) -> None:
            notes = []
            if progress.invalid:
                notes.append(f"{progress.invalid:,} invalid")
            if progress.not_graded:
                notes.append(f"{progress.not_graded:,} not graded")
            if progress.resumed:
                notes.append(f"{progress.resumed:,} from before")
            what = "grading"
            if notes:
                what += f" ({', '.join(notes)})"
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
    return Progress(*columns, console=console, disable=not console.is_terminal or is_plain())


def batch_summary(result: BatchResult, reports: Sequence[TaskReport]) -> None:
    """Print what is wrong with the submissions of a batch, and where its report is."""
    out = lines_out()
    _say_each("in doubt", [(one, one.doubt_words) for one in reports if one.doubts], out)
    invalid = [one for one in reports if not one.valid_submission]
    _say_each("invalid", [(one, one.why_invalid) for one in invalid], out)
    for item in result.not_graded[:LISTED]:
        _say_one("not graded", item["task_id"], item["submission_path"], item["reason"], out)
    if len(result.not_graded) > LISTED:
        out.print(f"… and {len(result.not_graded) - LISTED:,} more, in the report")
    out.print(f"report: {result.report_path}")


def _say_each(outcome: str, found: Sequence[tuple[TaskReport, str]], out: Console) -> None:
    """Print of which submissions this is the outcome, and why."""
    for report, reason in found[:LISTED]:
        _say_one(outcome, report.task_id, report.submission_path, reason, out)
    if len(found) > LISTED:
        out.print(f"… and {len(found) - LISTED:,} more, in the report")


def _say_one(outcome: str, task_id: str, path: str | None, reason: str, out: Console) -> None:
    what = clean_line(task_id, 120)
    if path:
        what += f" {clean_line(path, 4096)}"
    out.print(f"{outcome}: {what}: {clean_line(reason, 300)}")


def _medal(report: TaskReport) -> str:
    if not report.valid_submission:
        return "invalid"
    if report.doubts:
        return f"{report.medal or 'none'}, in doubt"
    return report.medal or NOTHING


def _agent(name: str | None) -> str:
    if name in (None, UNKNOWN_AGENT):
        return NOTHING
    return clean_line(name, 60)


def _yes(value: bool | None) -> str:
    return {None: NOTHING, True: "✓ yes", False: "✗ no"}[value]


def _number(value: float | None, form: str = "") -> str:
    if value is None:
        return NOTHING
    return format(value + 0.0, form)  # no -0.0


def medal_table(
    reports: Sequence[TaskReport], reviews: Sequence[str] = (), not_graded: Sequence[NotGraded] = ()
) -> None:
    """Print reports as a table with one row each, then those not graded.

    `reviews` has each report's reviews as text.
    """
    review_cells = [clean_line(words, 120) for words in reviews] or [""] * len(reports)
    intervals = [report.interval_words or NOTHING for report in reports]
    partial = any(report.rows_note for report in reports)
    doubts = [report.doubt_words for report in reports]
    none = [NOTHING] * len(not_graded)

    def column(title: str, cells: Iterable[str], *, right: bool = False) -> CellColumn:
        return CellColumn(title, [*cells, *none], right)

    ids = [*(report.task_id for report in reports), *(item.task_id for item in not_graded)]
    tasks = [clean_line(task_id, 80) for task_id in ids]
    named = [*(report.agent for report in reports), *(item.known_agent for item in not_graded)]
    medals = [*(_medal(report) for report in reports), *(["not graded"] * len(not_graded))]
    percentiles = (_number(report.leaderboard_percentile) for report in reports)
    above = (report.above_median if report.valid_submission else None for report in reports)
    columns = [
        CellColumn("task", tasks, lead=True),
        CellColumn("agent", list(map(_agent, named)), lead=True),
        CellColumn("medal", medals),
        column("score", (_number(report.score) for report in reports), right=True),
    ]
    if {*intervals} - {NOTHING}:
        columns.append(column("95 % interval", intervals, right=True))
    columns += [
        column("percentile", percentiles, right=True),
        column("place", (report.place_words or NOTHING for report in reports), right=True),
        column("> median", map(_yes, above)),
        column("> human", (_yes(report.beats_human) for report in reports)),
    ]
    if partial:
        columns.append(column("rows", (report.rows_words for report in reports)))
    if any(doubts):
        columns.append(column("in doubt", (clean_line(words, 1000) for words in doubts)))
    if any(review_cells):
        columns.append(column("reviewed", review_cells))
    console = plain_console()
    write_table(console, columns, gap=2, paged=True)
    for item in not_graded[:LISTED]:
        _say_one("not graded", item.task_id, item.submission_path, item.reason, lines_out())
    if len(not_graded) > LISTED:
        console.print(f"… and {len(not_graded) - LISTED:,} more")


def report_card(report: TaskReport, problems: Sequence[Problem] = ()) -> None:
    """Print one report: score, medal, place, thresholds, warnings; or why it is invalid."""
    out, extra = lines_out(), report.extra
    if not report.valid_submission:
        for problem in problems:
            out.print(f"  · {clean_line(problem.message, 2000)}")
    else:
        out.print(Text(f"  {report.rows_words}", style="yellow" * (report.rows_missing > 0)))
        if report.leaderboard_percentile is not None:
            out.print(f"  better than {report.leaderboard_percentile} % of the leaderboard")
        if report.needed_words:
            out.print(f"  {report.needed_words}")
        if report.uncertainty is not None:
            doubted = ""
            if report.doubts and report.uncertainty.low is not None:
                doubted = "; in doubt, as said above"
            for line in sure_lines(report.uncertainty):
                out.print(f"  {line}{doubted}")
        if report.looks_words:
            out.print(f"  {report.looks_words}")
        median = threshold_words(report.median_threshold)
        out.print(f"  {_above(report.above_median)} the median ({median})")
        if report.beats_human is not None:
            above = _above(report.beats_human)
            out.print(f"  {above} the human median, human percentile {report.human_percentile}")
    marks = (report.gold_threshold, report.silver_threshold, report.bronze_threshold)
    gold, silver, bronze = map(threshold_words, marks)
    better = better_words(report.is_lower_better)
    out.print(f"  {better}: gold {gold}, silver {silver}, bronze {bronze}")
    if extra and extra.leaderboard:
        out.print(f"  leaderboard: {clean_line(extra.leaderboard, 300)}")
    if extra and extra.environment:
        out.print(f"  graded with {extra.environment}")
    said = {doubt.sentence for doubt in report.doubts if report.valid_submission}
    if extra:
        for warning in (words for words in extra.warnings if words not in said):
            out.print(f"  warning: {clean_line(warning, 500)}")
    for section in report.explanation:
        out.print()
        for line in section.lines():
            out.print(Text(clean(line, 400)))


def _above(is_above: bool) -> str:
    if is_above:
        return "above"
    return "not above"


def sure_lines(uncertainty: Uncertainty) -> list[str]:
    """Return the uncertainty of a score as lines: its interval, the chance of each medal, and its
    possible places.
    """
    if uncertainty.low is None:
        return [clean_line(uncertainty.interval_words, 400)]
    rests_on = f"{uncertainty.rows or 0:,} test rows"
    if uncertainty.place_words:
        rests_on += f"; place {uncertainty.place_words}"
    return [
        f"95 % interval {uncertainty.interval_words} ({rests_on})",
        f"{uncertainty.chance_words}: {uncertainty.medal_words}",
    ]


def threshold_words(value: float) -> str:
    """Return a threshold in the decimals that scores have."""
    return f"{value:.5f}".rstrip("0").rstrip(".")


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
        "leaderboard": _origin(task),
        "warnings": list(task.warnings),
    }


def _shown_board(task: Task) -> PublishedBoard | Path | None:
    try:
        return task.board_in_use()
    except BioevalError:
        return None


def _short(task: Task, board: PublishedBoard | Path | None) -> str:
    if isinstance(board, PublishedBoard):
        return f"published, {plural(len(board.entries), 'entry', 'entries')}"
    origin = _origin(task)
    if origin:
        return origin.removeprefix("the task's ").replace(" leaderboard.csv", "")
    return NOTHING


def _origin(task: Task) -> str | None:
    try:
        return task.board_origin()
    except BioevalError:
        return None


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
            row[key] or NOTHING for key in ("domain", "task_type", "difficulty", "data_source")
        )
        # A task that is not prepared yet is not an error, so it gets no cross.
        prepared = Text("✓ yes", style="green") if row["prepared"] else Text(NOTHING, style="dim")
        board = _shown_board(entry.task)
        if isinstance(board, PublishedBoard):
            sources[board.source.title] = board.source
        shown = Text(_short(entry.task, board))
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
    from bioeval_tui.grade.grade import (
        leaderboard_of,
    )

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


def task_card(task: Task) -> None:
    """Print a task: facts, leaderboard, warnings, then the description."""
    out, details = lines_out(), task_details(task)
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
            f"  scores from {threshold_words(board['best'])} to {threshold_words(board['worst'])},"
            f" {better_words(board['is_lower_better'])}"
        )
        four = {
            "gold": board["gold_threshold"],
            "silver": board["silver_threshold"],
            "bronze": board["bronze_threshold"],
            "median": board["median_threshold"],
        }
        thresholds = ", ".join(f"{name} {threshold_words(score)}" for name, score in four.items())
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
    lines_out().print(csv_text([("teamName", "score", "submissionDate"), *rows]), end="")


def board_table(task: Task) -> None:
    """Print the leaderboard in use, with its source."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("team", overflow="fold")
    table.add_column("score", justify="right")
    table.add_column("date")
    for entry in task.board_entries():
        table.add_row(Text(entry.team), Text(entry.score), Text(entry.date or NOTHING))
    out = lines_out()
    out.print(f"{task.id}: {clean_line(task.board_origin(), 300)}")
    board = task.board_in_use()
    if isinstance(board, PublishedBoard):
        out.print(f"{board.source.url}, {board.source.licence}")
    plain_console().print(table)
    if reference := task.reference:
        out.print(f"reference (not ranked): {reference.score}, {reference.team}")


def check_lines(rows: Sequence[CheckedTask]) -> None:
    """Print the findings and the totals."""
    out = lines_out()
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
