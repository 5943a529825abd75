"""Graded reports as one HTML file, Markdown, CSV or JSON. JSON keeps the published keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from bioeval_tui import __version__
from bioeval_tui.base.files import csv_text
from bioeval_tui.base.units import DASH, number1, score_text, share
from bioeval_tui.grade.outcomes import NotGraded
from bioeval_tui.grade.submissions import UNKNOWN_AGENT, agent_title, row_names
from bioeval_tui.grade.task_report import ReportExtra, TaskReport
from bioeval_tui.grade.uncertainty import Uncertainty
from bioeval_tui.report.agents import Standings, entries_of, standings
from bioeval_tui.report.answer import answer_medals
from bioeval_tui.report.formats.html import environment, policy
from bioeval_tui.report.formats.markdown import answer_lines, escape, table
from bioeval_tui.report.frames import csv_cell
from bioeval_tui.report.sentences import rank_words
from bioeval_tui.report.words import medal_word, next_words
from bioeval_tui.statistics.ranks import AgentRank

COLUMNS = (
    "task_id", "agent", "medal", "score", "lower_is_better", "leaderboard_percentile", "place",
    "leaderboard_size",
    "above_median", "beats_human", "next_medal", "score_needed", "valid", "error",
    "submission_path", "created_at",
    "review", "outcome", "low", "high", "p_gold", "p_silver", "p_bronze", "place_best",
    "place_worst", "rows_scored",
    "rows_expected", "in_doubt",
)  # fmt: skip
NOT_GRADED = "? Not graded"
MOST_CARDS = 500
"""Maximum number of reports with cards in the HTML file; with more, it has only the table."""


AGENT_COLUMNS = (
    "agent", "submissions", "any medal", "any medal, graded only", "percentile",
    "percentile, graded only", "rank",
    "rank, graded only", "difference from the agent above", "over",
)  # fmt: skip


def agent_rows(standings: Standings) -> list[list[str]]:
    """Return the cells of each agent, in the order of `AGENT_COLUMNS`."""
    return [
        [
            one.agent,
            one.graded_words,
            one.medal_words,
            share(one.any_medal_share_graded, 1),
            number1(one.percentile),
            number1(one.percentile_graded),
            _rank(one.rank),
            _rank(one.rank_graded),
            one.behind_words or DASH,
            one.basis_words,
        ]
        for one in standings.agents
    ]


def _rank(rank: AgentRank | None) -> str:
    if rank is None:
        return DASH
    return rank_words(rank).removeprefix("rank ")


AGENTS_NOTE = (
    "any medal: the share of tasks with a medal, with a 95 % interval from ten tasks on; invalid"
    " and not graded submissions count as no medal and percentile 0, and “graded only” leaves"
    " them out"
)


def _agents(reports: Sequence[TaskReport], not_graded: Sequence[NotGraded]) -> Standings | None:
    """Return the comparison of agents; None if there is only one."""
    entries = entries_of(reports, not_graded)
    if len({entry.agent for entry in entries}) > 1:
        return standings(entries)
    return None


def medals_html(
    reports: Sequence[TaskReport],
    reviews: Sequence[str] = (),
    not_graded: Sequence[NotGraded] = (),
    options: Sequence[str] = (),
) -> str:
    """Return one self-contained HTML file: the answer, agents, a table, and a card with its scale
    for each report.
    """
    agents = _agents(reports, not_graded)
    return (
        environment()
        .get_template("medals.html.jinja")
        .render(
            policy=policy(),
            program_version=__version__,
            reports=reports,
            names=_names(reports, not_graded),
            agent_title=_agent_title(reports, not_graded),
            reviews=reviews or [""] * len(reports),
            not_graded=not_graded,
            table_answer=answer_medals([*reports, *not_graded], options),
            agents=agents,
            agent_columns=AGENT_COLUMNS,
            agent_rows=agent_rows(agents) if agents else [],
            agents_note=AGENTS_NOTE,
            cards=len(reports) <= MOST_CARDS,
        )
    )


def medals_markdown(
    reports: Sequence[TaskReport],
    reviews: Sequence[str] = (),
    not_graded: Sequence[NotGraded] = (),
    options: Sequence[str] = (),
) -> str:
    """Return a heading, the answer, for several agents their comparison, and a table."""
    reviews = reviews or [""] * len(reports)
    names = _names(reports, not_graded)
    rows = []
    for report, name, review in zip(reports, names, reviews, strict=False):
        row = _markdown_row(report, name)
        if any(reviews):
            row.append(escape(review))
        rows.append(row)
    more = [""] if any(reviews) else []
    for item, name in zip(not_graded, names[len(reports) :], strict=True):
        start = [escape(item.task_id), escape(name or DASH), NOT_GRADED]
        rows.append([*start, *[DASH] * 6, escape(item.reason), *more])
    head = [
        "task",
        _agent_title(reports, not_graded),
        "medal",
        "score",
        "95 % interval",
        "chance of a medal",
        "percentile",
        "above median",
        "above human median",
        "",
    ]
    if any(reviews):
        head.append("reviewed")
    answer = answer_lines(answer_medals([*reports, *not_graded], options).lines)
    lines = ["# Medals", "", *answer, ""]
    agents = _agents(reports, not_graded)
    if agents is not None:
        cells = [[escape(cell) for cell in row] for row in agent_rows(agents)]
        lines += ["## Agents", "", *table(AGENT_COLUMNS, cells), "", f"{AGENTS_NOTE}.", ""]
        lines += ["## Submissions", ""]
    return "\n".join([*lines, *table(head, rows), ""])


def _names(reports: Sequence[TaskReport], not_graded: Sequence[NotGraded]) -> list[str]:
    """Return what the rows of the reports, then those of what was not graded, are called."""
    rows = [(one.task_id, one.agent, one.submission_path) for one in reports]
    failed = [(one.task_id, one.known_agent, one.submission_path) for one in not_graded]
    return row_names([*rows, *failed])


def _agent_title(reports: Sequence[TaskReport], not_graded: Sequence[NotGraded]) -> str:
    return agent_title([*(one.agent for one in reports), *(one.known_agent for one in not_graded)])


def _markdown_row(report: TaskReport, name: str) -> list[str]:
    medal, score, chances = medal_word(report), DASH, DASH
    if report.note:
        medal += escape(f" ({report.note})")
    if report.score is not None:
        score = score_text(report.score)
    if report.uncertainty is not None:
        chances = report.uncertainty.medal_words or DASH
    return [
        escape(report.task_id),
        escape(name or DASH),
        medal,
        score,
        report.interval_words or DASH,
        chances,
        number1(report.leaderboard_percentile),
        _yes(report.above_median if report.valid_submission else None),
        _yes(report.beats_human),
        escape(next_words(report)),
    ]


def medals_csv(
    reports: Sequence[TaskReport],
    reviews: Sequence[str] = (),
    not_graded: Sequence[NotGraded] = (),
    options: Sequence[str] = (),
) -> str:
    """Return a row for each submission, `outcome` being `graded`, `invalid` or `not graded`.

    Text that a spreadsheet would read as a formula is prefixed with an apostrophe.
    """
    reviews = reviews or [""] * len(reports)
    rows: list[Sequence[object]] = [COLUMNS]
    for report, review in zip(reports, reviews, strict=True):
        extra = report.extra or ReportExtra()
        values: list[object] = [
            report.task_id, _agent(report), report.medal, _number(report.score),
            report.is_lower_better,
            _number(report.leaderboard_percentile), extra.leaderboard_position,
            report.leaderboard_size, report.above_median, report.beats_human, extra.next_medal,
            _number(extra.score_needed), report.valid_submission,
            extra.error, report.submission_path, report.created_words,
            review, "graded" if report.valid_submission else "invalid", *_sure(report.uncertainty),
            extra.rows_scored, extra.rows_expected, report.doubt_words or None,
        ]  # fmt: skip
        rows.append([csv_cell(value) for value in values])
    for item in not_graded:
        known = {
            "task_id": item.task_id, "agent": item.known_agent, "error": item.reason,
            "submission_path": item.submission_path, "outcome": "not graded",
        }  # fmt: skip
        rows.append([csv_cell(known.get(name)) for name in COLUMNS])
    return csv_text(rows, end="\r\n")


def medals_json(
    reports: Sequence[TaskReport],
    reviews: Sequence[str] = (),
    not_graded: Sequence[NotGraded] = (),
    options: Sequence[str] = (),
) -> str:
    """Return `medals_dicts` as JSON, without reviews."""
    values = medals_dicts(reports, not_graded)
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


class PrintedNotGraded(TypedDict):
    """A submission that could not be graded, in the form of a report."""

    # Five keys are those of a `TaskReport`, for readers of the list; their only values here say
    # that there is no score.

    task_id: str
    score: None
    valid_submission: Literal[False]
    submission_path: str
    not_graded: str
    extra: NotRequired[dict[str, str]]


def medals_dicts(
    reports: Sequence[TaskReport], not_graded: Sequence[NotGraded]
) -> list[dict[str, Any] | PrintedNotGraded]:
    """Return the reports as published, then the submissions that were not graded.

    These have `task_id`, `submission_path`, `score` (None) and `valid_submission` (False) as
    reports do, and `not_graded`, the reason.
    """
    return [*(report.to_dict() for report in reports), *map(_not_graded, not_graded)]


def _not_graded(item: NotGraded) -> PrintedNotGraded:
    printed: PrintedNotGraded = {
        "task_id": item.task_id,
        "score": None,
        "valid_submission": False,
        "submission_path": item.submission_path,
        "not_graded": item.reason,
    }
    if item.agent is not None:
        printed["extra"] = {"agent": item.agent}
    return printed


def _sure(uncertainty: Uncertainty | None) -> list[object]:
    uncertainty = uncertainty or Uncertainty()
    ends = [_number(uncertainty.low), _number(uncertainty.high)]
    return [
        *ends,
        uncertainty.gold,
        uncertainty.silver,
        uncertainty.bronze,
        uncertainty.place_best,
        uncertainty.place_worst,
    ]


def _agent(report: TaskReport) -> str | None:
    if report.agent == UNKNOWN_AGENT:
        return None
    return report.agent


def _yes(value: bool | None) -> str:
    return {None: DASH, True: "✓", False: "✗"}[value]


def _number(value: float | None) -> str | None:
    """Return a score with all its digits: CSV cells of times are rounded, scores never."""
    if value is None:
        return None
    return repr(float(value))
