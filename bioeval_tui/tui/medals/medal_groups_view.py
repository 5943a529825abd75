"""Medals by agent: totals and medal counts, for each agent as a whole and for each domain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bioeval_tui.report import agents
from bioeval_tui.report.sentences import rank_words
from bioeval_tui.tui.medals.medal_table_view import Entry, Tally
from bioeval_tui.tui.medals.medals_view import MEDALS, Totals, next_medal
from bioeval_tui.tui.shared.cells_view import Cell, Tone
from bioeval_tui.tui.shared.listing_view import Column

GROUP_COLUMNS: tuple[Column, ...] = (
    Column("agent, domain", 0),
    Column("reports", 8, True),
    Column("● gold", 7, True),
    Column("◐ silver", 9, True),
    Column("◔ bronze", 9, True),
    Column("– none", 7, True, 2),
    Column("invalid", 8, True, 1),
    Column("not graded", 11, True, 4),
    Column("> median", 9, True, 3),
    Column("pctl valid", 10, True),
    Column("pctl all", 8, True),
    Column("any medal", 14, True, 5),
    Column("rank", 10, False, 6),
)
MIN_NAME = 14


class Group(NamedTuple):
    """An agent's totals, in one domain or, without one, in all."""

    agent: str
    domain: str | None
    totals: Totals

    @property
    def words(self) -> str:
        """The filter that shows only these rows."""
        return self.agent if self.domain is None else f"{self.agent} {self.domain}"


def groups(entries: Iterable[Entry]) -> list[Group]:
    """Return every agent, most gold first, then silver, bronze and percentile of all; its domains by name, if there are several."""
    whole: dict[str, Tally] = {}
    parts: dict[str, dict[str, Tally]] = {}
    for entry in entries:
        agent = entry.row.agent
        whole.setdefault(agent, Tally()).add(entry)
        parts.setdefault(agent, {}).setdefault(entry.domain, Tally()).add(entry)
    found: list[Group] = []
    for agent, totals in sorted(
        ((agent, tally.totals()) for agent, tally in whole.items()), key=lambda pair: _rank(*pair)
    ):
        found.append(Group(agent, None, totals))
        domains = parts[agent] if len(parts[agent]) > 1 else {}
        found += [Group(agent, domain, domains[domain].totals()) for domain in sorted(domains)]
    return found


def _rank(agent: str, totals: Totals) -> tuple[float, ...] | tuple[float | str, ...]:
    by = totals.by
    # With invalid and not graded ones as 0: a file that cannot be scored must not lift its agent above another.
    zeros = totals.average_with_zeros or 0.0
    return (-by["gold"], -by["silver"], -by["bronze"], -zeros, -totals.valid, agent.lower())


def entries(table: Iterable[Entry]) -> list[agents.AgentEntry]:
    """Return the submissions in the form that the statistics of agents need."""
    found = []
    for entry in table:
        report = entry.row.report
        valid = report is not None and entry.standing != "invalid"
        percentile = report.leaderboard_percentile if report is not None and valid else None
        won = entry.standing in ("gold", "silver", "bronze")
        found.append(agents.AgentEntry(entry.row.agent, entry.row.task_id, percentile, won))
    return found


def submission_lines(group: Group, submissions: Iterable[Entry]) -> list[list[Cell]]:
    """Return a line for each of a group's submissions: medal, task, score and place, or why it has none."""
    lines: list[list[Cell]] = [[Cell(f"submissions of {group.words}", "quiet")]]
    for entry in submissions:
        row, report = entry.row, entry.row.report
        if row.agent != group.agent or group.domain not in (None, entry.domain):
            continue
        medal = MEDALS[entry.standing]
        line = [Cell(f"{medal.text:<13}", medal.tone), Cell(f"{row.task_id:<28} ")]
        if report is not None and entry.standing != "invalid":
            place = f"place {report.place_words} " if report.place_words else ""
            line += [Cell(f"{report.score_words:<20} ", "strong"), Cell(f"{place:<22}")]
        lines.append([*line, next_medal(row)])
    return lines


def group_cells(group: Group, standing: agents.Standing | None = None) -> dict[str, Cell]:
    """Return a group's cells by the names of the columns; `standing` is the agent's, once it is known."""
    waiting = "…" if group.domain is None else ""
    totals, by = group.totals, group.totals.by
    whole = group.domain is None
    name = Cell(group.agent, "strong") if group.domain is None else Cell(f"   {group.domain or '–'}")

    def count(number: int, tone: Tone) -> Cell:
        return Cell(f"{number:,}", tone) if number else Cell("·", "quiet")

    average = "–" if totals.average is None else f"{totals.average:.1f}"
    zeros = "–" if totals.average_with_zeros is None else f"{totals.average_with_zeros:.1f}"
    return {
        "agent, domain": name,
        "reports": Cell(f"{totals.rows:,}", "strong" if whole else "plain"),
        "● gold": count(by["gold"], "gold"),
        "◐ silver": count(by["silver"], "silver"),
        "◔ bronze": count(by["bronze"], "bronze"),
        "– none": count(by["none"], "plain"),
        "invalid": count(by["invalid"], "bad"),
        "not graded": count(by["not_graded"], "warn"),
        "> median": count(totals.above_median, "plain"),
        "pctl valid": Cell(average, "plain"),
        "pctl all": Cell(zeros, "strong" if whole else "plain"),
        "any medal": Cell(standing.medal_words if standing and whole else waiting),
        "rank": Cell(rank_words(standing.rank).removeprefix("rank ") if standing and whole else waiting),
    }
