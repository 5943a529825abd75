"""The bar of a replay: its position, its turns and the selected one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bioeval_tui.record.turn_mark import TurnMark
from bioeval_tui.tui.shared.cells_view import Cell, Tone, joined
from bioeval_tui.units import clock

if TYPE_CHECKING:
    from bioeval_tui.record.state import RunState

NARROW, ROOMY = 50, 100
"""Minimum widths for the turn, and for the condition."""
PLAYED, AHEAD, TURN_PLAYED, TURN_AHEAD, FAILED = "━", "─", "●", "○", "✗"


def at_mark(marks: Sequence[TurnMark], given: int) -> int:
    """Return the index of the last position that was reached; -1 before the first."""
    return bisect_right([mark.given for mark in marks], given) - 1


def step(marks: Sequence[TurnMark], given: int, by: int) -> TurnMark | None:
    """Return the position before or after the shown one; None at the ends.

    In the middle of a turn, going back leads to the end of the previous turn.
    """
    at = at_mark(marks, given)
    exactly = at >= 0 and marks[at].given == given
    wanted = at + 1 if by > 0 else at - exactly
    return marks[wanted] if 0 <= wanted < len(marks) else None


def nearest(marks: Sequence[TurnMark], share: float) -> TurnMark | None:
    """Return the place nearest to a share of the recorded time."""
    if not marks:
        return None
    at_s = max(0.0, min(1.0, share)) * marks[-1].at_s
    return min(marks, key=lambda mark: abs(mark.at_s - at_s))


def label(
    marks: Sequence[TurnMark],
    given: int,
    now_s: float,
    width: int,
    state: RunState | None,
    *,
    demo: bool = False,
) -> str:
    """Return the position of the replay, in as many words as fit. A `demo` does not say how many turns follow."""
    if not marks:
        return ""
    at = at_mark(marks, given)
    mark = marks[max(0, at)]
    for following in marks[at + 1 : at + 2]:  # a turn's mark is at its end, and the turn may have begun
        if following.condition and _begun(state, following) >= following.turn:
            mark = following
    trials = len({(m.condition, m.trial) for m in marks if m.condition}) > len(
        {m.condition for m in marks if m.condition}
    )
    if mark.condition is None:
        where = "end" if at == len(marks) - 1 and at else "start"
    else:
        same = [m.turn for m in marks if (m.condition, m.trial) == (mark.condition, mark.trial)]
        turn = min(_begun(state, mark) or mark.turn, max(same))
        which = [state.condition_name(mark.condition)] if state and width >= ROOMY else []
        which += [f"trial {mark.trial}"] if trials else []
        where = ", ".join([*which, f"turn {turn}" if demo else f"turn {turn} of {max(same)}"])
    time = f"{'demo' if demo else 'playback'} {clock(now_s)} / {clock(marks[-1].at_s)}"
    return f"{where}   {time}" if width >= NARROW else time


def _begun(state: RunState | None, mark: TurnMark) -> int:
    """Return how many turns of a position's conversation have begun, as its heading does."""
    talk = state.conversation(mark.condition, mark.trial) if state and mark.condition else None
    return talk.turns if talk else 0


EIGHTHS = " ▁▂▃▄▅▆▇█"


def assertions(
    marks: Sequence[TurnMark], now_s: float, width: int, height: int, *, demo: bool = False
) -> list[list[Cell]]:
    """Return the share of assertions that held over the turns as an area above the bar, `height` lines; empty without assertions.

    A step begins where its turn ends. Turns not yet played are dimmed; a `demo` leaves them out.
    """
    known = [mark for mark in marks if mark.passed is not None]
    if not known or width <= 0:
        return []
    whole = marks[-1].at_s or 1.0
    now = round(min(1.0, now_s / whole) * (width - 1))
    levels: list[tuple[int, Tone]] = [(0, "quiet")] * width
    for place, mark in enumerate(known):
        first = round(mark.at_s / whole * (width - 1))
        follows = known[place + 1] if place + 1 < len(known) else None
        same = follows is not None and (follows.condition, follows.trial) == (mark.condition, mark.trial)
        last = round(follows.at_s / whole * (width - 1)) if follows is not None and same else first + 1
        value = mark.passed or 0.0
        for x in range(first, min(width, max(last, first + 1), now + 1 if demo else width)):
            levels[x] = (max(1, round(value * height * 8)), "busy" if x <= now else "quiet")
    return [
        joined((EIGHTHS[max(0, min(8, level - 8 * row))], tone) for level, tone in levels)
        for row in reversed(range(height))
    ]


def bar(marks: Sequence[TurnMark], given: int, now_s: float, width: int, *, demo: bool = False) -> list[Cell]:
    """Return the bar as cells of one line. A turn is `●` once played, `○` before, `✗` where an assertion failed.

    A `demo` does not say ahead where one will.
    """
    if width <= 0 or not marks:
        return []
    whole = marks[-1].at_s or 1.0
    now = round(min(1.0, now_s / whole) * (width - 1))
    cells: list[tuple[str, Tone]] = [(PLAYED, "busy") if x <= now else (AHEAD, "quiet") for x in range(width)]
    turns = [mark for mark in marks if mark.condition is not None]
    crowded = len(turns) > width // 2
    for mark in turns:
        x = round(mark.at_s / whole * (width - 1))
        played = mark.given <= given
        if mark.failed and (played or not demo):
            cells[x] = (FAILED, "bad" if played else "quiet")
        elif not crowded and cells[x][0] != FAILED:
            cells[x] = (TURN_PLAYED, "busy") if played else (TURN_AHEAD, "quiet")
    return joined(cells)


def legend(drawn: Sequence[Cell]) -> str:
    """Return what the signs in a drawn bar mean: `● turn  ○ ahead  ✗ assertion failed`."""
    signs = {sign for cell in drawn for sign in cell.text}
    ahead = "ahead" if TURN_PLAYED in signs else "turn"
    meanings = {TURN_PLAYED: "turn", TURN_AHEAD: ahead, FAILED: "assertion failed"}
    return "  ".join(f"{sign} {meaning}" for sign, meaning in meanings.items() if sign in signs)
