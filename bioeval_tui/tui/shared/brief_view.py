"""What a run is about, as every screen of a run says it: who was tested by whom, with which facts, on which tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.tui.shared.cells_view import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bioeval_tui.record.names import Condition
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


def lost_lines(place: str, losses: Sequence[Loss]) -> list[Line]:
    """Return why a conversation, called `place`, lost points, and what the judge quotes about it; nothing without a loss."""
    from bioeval_tui.report.messages import plain  # the first paint waits for no parser

    lines: list[Line] = [[Cell(f"where it lost points: {place}", "quiet")]] if losses else []
    for lost in losses:
        lines.append([Cell(lost.reason)])
        if lost.quoted:
            lines.append(
                [Cell(f"the judge quotes turn {lost.turn}:", "quiet"), Cell(f" “{plain(lost.quoted)}”")]
            )
    return lines


def asked_lines(brief: Brief, condition: Condition) -> list[Line]:
    """Return the tasks with the criteria of a condition, for the pane of a conversation that has not started."""
    others = tuple(f"{name}: " for name in CONDITIONS if name != condition)
    lines: list[Line] = [[Cell("What the agent is asked for", "quiet")]]
    for number, (title, criteria) in enumerate(brief.tasks, start=1):
        lines.append([Cell(f"{number:>2} ", "busy"), Cell(title)])
        kept = [part for part in criteria.split("\n") if part and not part.startswith(others)]
        lines += [[Cell("   "), Cell(part.removeprefix(f"{condition}: "), "quiet")] for part in kept]
    return lines
