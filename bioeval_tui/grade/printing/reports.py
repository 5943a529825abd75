"""Reports of submissions on stdout: a table of medals, the card of one report, and what is wrong
with the submissions of a batch.

`bioeval-tui medals` prints the table, `grade` and `validate` the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from bioeval_tui.base.consoles import CellColumn, plain_console, write_table
from bioeval_tui.base.errors import Problem
from bioeval_tui.base.text import clean, clean_line
from bioeval_tui.base.units import score_text
from bioeval_tui.grade.score_numbers import better_words
from bioeval_tui.grade.submissions import agent_title, row_names

if TYPE_CHECKING:
    from bioeval_tui.grade.batch.output import BatchResult
    from bioeval_tui.grade.outcomes import NotGraded
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.grade.uncertainty import Uncertainty


NOTHING = "·"

LISTED = 10
"""Maximum number of invalid submissions, and of not graded ones, that are listed in the terminal.
"""


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
    agents = [*(report.agent for report in reports), *(item.known_agent for item in not_graded)]
    files = [report.submission_path for report in reports]
    files += [item.submission_path for item in not_graded]
    named = [name or NOTHING for name in row_names(zip(ids, agents, files, strict=True))]
    medals = [*(_medal(report) for report in reports), *(["not graded"] * len(not_graded))]
    percentiles = (_number(report.leaderboard_percentile) for report in reports)
    above = (report.above_median if report.valid_submission else None for report in reports)
    columns = [
        CellColumn("task", tasks, lead=True),
        CellColumn(agent_title(agents), named, lead=True),
        CellColumn("medal", medals),
        column("score", (_score(report.score) for report in reports), right=True),
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
    out = plain_console(soft_wrap=True)
    for item in not_graded[:LISTED]:
        _say_one("not graded", item.task_id, item.submission_path, item.reason, out)
    if len(not_graded) > LISTED:
        console.print(f"… and {len(not_graded) - LISTED:,} more")


def _medal(report: TaskReport) -> str:
    if not report.valid_submission:
        return "invalid"
    if report.doubts:
        return f"{report.medal or 'none'}, in doubt"
    return report.medal or NOTHING


def _yes(value: bool | None) -> str:
    return {None: NOTHING, True: "✓ yes", False: "✗ no"}[value]


def _number(value: float | None) -> str:
    if value is None:
        return NOTHING
    return str(value + 0.0)  # no -0.0


def _score(value: float | None) -> str:
    if value is None:
        return NOTHING
    return score_text(value)


def report_card(report: TaskReport, problems: Sequence[Problem]) -> None:
    """Print one report: score, medal, place, thresholds, warnings; or why it is invalid."""
    out, extra = plain_console(soft_wrap=True), report.extra
    if report.valid_submission:
        _say_result(report, out)
    else:
        for problem in problems:
            out.print(f"  · {clean_line(problem.message, 2000)}")
    bronze, silver, gold = map(score_text, report.medal_scores.values())
    better = better_words(report.is_lower_better)
    out.print(f"  {better}: gold {gold}, silver {silver}, bronze {bronze}")
    if extra and extra.leaderboard:
        out.print(f"  leaderboard: {clean_line(extra.leaderboard, 300)}")
    if extra and extra.environment:
        out.print(f"  graded with {extra.environment}")
    # The answer above the card says the doubts of a valid report: they are not said twice.
    said = {doubt.sentence for doubt in report.doubts if report.valid_submission}
    if extra:
        for warning in (words for words in extra.warnings if words not in said):
            out.print(f"  warning: {clean_line(warning, 500)}")
    for section in report.explanation:
        out.print()
        for line in section.lines():
            out.print(Text(clean(line, 400)))


def _say_result(report: TaskReport, out: Console) -> None:
    """Print what a valid submission came to: its rows, its place and how sure that is."""
    out.print(Text(f"  {report.rows_words}", style="yellow" * (report.rows_missing > 0)))
    if report.leaderboard_percentile is not None:
        out.print(f"  better than {report.leaderboard_percentile} % of the leaderboard")
    if report.needed_words:
        out.print(f"  {report.needed_words}")
    if report.uncertainty is not None:
        doubted = ""
        if report.doubts and report.uncertainty.low is not None:
            doubted = "; in doubt, as said above"
        for line in _sure_lines(report.uncertainty):
            out.print(f"  {line}{doubted}")
    if report.looks_words:
        out.print(f"  {report.looks_words}")
    median = score_text(report.median_threshold)
    out.print(f"  {_above(report.above_median)} the median ({median})")
    if report.beats_human is not None:
        above = _above(report.beats_human)
        out.print(f"  {above} the human median, human percentile {report.human_percentile}")


def _above(is_above: bool) -> str:
    if is_above:
        return "above"
    return "not above"


def _sure_lines(uncertainty: Uncertainty) -> list[str]:
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


def batch_summary(result: BatchResult, reports: Sequence[TaskReport]) -> None:
    """Print what is wrong with the submissions of a batch, and where its report is."""
    out = plain_console(soft_wrap=True)
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
