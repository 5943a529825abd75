"""What a run is about, as every screen of a run says it: who was tested by whom, with which facts, on which tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.tui.shared.cells_view import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bioeval_tui.report.brief import Brief
    from bioeval_tui.report.run import Loss

Line = list[Cell]


def brief_head(brief: Brief, *, job: bool = False) -> list[Line]:
    """Return what it is about, who was tested by whom, and the facts: a line each. `job` begins with the job's name."""
    about: Line = [Cell(f"{brief.job}: ", "strong")] if job else []
    return [[*about, Cell(brief.about_words, "strong")], *who_and_what(brief)]


def who_and_what(brief: Brief) -> list[Line]:
    """Return who was tested by whom, and the facts in words."""
    return [
        [Cell("agent  ", "quiet"), Cell(brief.agent_words), Cell(f"   {brief.others_words}", "quiet")],
        [Cell("facts  ", "quiet"), Cell(brief.facts_words)],
    ]


def facts_lines(brief: Brief) -> list[Line]:
    """Return the facts, a line each."""
    if not brief.facts:
        return [[Cell("facts  ", "quiet"), Cell(brief.facts_words)]]
    lines = [[Cell("What the user knows where the facts are supplied", "quiet")]]
    return lines + [[Cell(f"{number:>2} ", "busy"), Cell(fact)] for number, fact in enumerate(brief.facts, 1)]


def lost_lines(place: str, losses: Sequence[Loss]) -> list[Line]:
    """Return why a conversation, called `place`, lost points, and what the judge quotes about it; nothing without a loss."""
    lines: list[Line] = [[Cell(f"where it lost points: {place}", "quiet")]] if losses else []
    for lost in losses:
        lines.append([Cell(lost.reason)])
        if lost.quoted:
            lines.append([Cell(f"the judge quotes turn {lost.turn}: ", "quiet"), Cell(f"“{lost.quoted}”")])
    return lines


def brief_lines(brief: Brief) -> list[Line]:
    """Return everything that is known before a conversation starts, for a pane that has none yet."""
    lines = [[Cell(brief.about, "strong")], []] if brief.about else []
    lines += [
        [Cell("agent  ", "quiet"), Cell(brief.agent_words)],
        [Cell("user   ", "quiet"), Cell(brief.user_words)],
        [Cell("judge  ", "quiet"), Cell(brief.judge_words)],
        [],
        *facts_lines(brief),
    ]
    lines += [[], [Cell("What the agent is asked for", "quiet")]]
    for number, (title, criteria) in enumerate(brief.tasks, start=1):
        lines.append([Cell(f"{number:>2} ", "busy"), Cell(title)])
        lines += [[Cell("   "), Cell(part, "quiet")] for part in filter(None, criteria.split("\n"))]
    return lines
