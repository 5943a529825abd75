"""What stands in the place of the conversations until the first one begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui.base.text import plural
from bioeval_tui.base.units import duration
from bioeval_tui.tui.shared.cells import Cell

if TYPE_CHECKING:
    from bioeval_tui.tui.live.heads_view import LinkState

SLOW_S = 5.0
"""After this long, waiting is said to take longer than usual, in seconds."""
FIRST_MESSAGE = Cell("The first message appears here.", "quiet")
RUN_IS_OPENED = (Cell("Opening the run…", "strong"), Cell(""), FIRST_MESSAGE)


class Keys(NamedTuple):
    """The keys that an empty live screen mentions; empty for a key that does nothing."""

    jobs: str
    runs: str
    again: str
    quit: str


def waiting(
    link: LinkState, failure: str, waited_s: float, keys: Keys, *, ended: bool = False
) -> list[Cell]:
    """Return the lines of an empty live screen: what is happening, or what went wrong and what to
    press.
    """
    if link == "empty":
        lines = [Cell("No run is open", "strong"), Cell("")]
        if keys.jobs:
            lines.append(Cell(f"{keys.jobs}  jobs: press Enter on one to run it", "quiet"))
        lines.append(Cell(f"{keys.runs}  past runs, and runs in progress elsewhere", "quiet"))
        return lines
    ways = f"{keys.quit}  quit"
    if keys.again:
        ways = f"{keys.again}  try again     {ways}"
    again = Cell(ways, "quiet")
    if link == "failed":
        return [
            Cell("The run could not start", "strong"),
            Cell(""),
            Cell(failure, "bad"),
            Cell(""),
            again,
        ]
    if ended or link == "interrupted":
        return [
            Cell("The run ended before a conversation started", "strong"),
            Cell(""),
            again,
        ]
    if link == "waiting":
        lines = [*RUN_IS_OPENED]
    else:
        lines = [Cell("Preparing the first conversation…", "strong"), Cell(""), FIRST_MESSAGE]
    if waited_s >= SLOW_S:
        slow = f"This is taking longer than usual: {duration(waited_s)}. {keys.quit} quits."
        lines[-1] = Cell(slow, "warn")
    return lines


def reading(read: int, conversations: int) -> list[Cell]:
    """Return the lines of a live screen whose large run is being read."""
    said = f"Reading {plural(conversations, 'conversation')}…"
    if read:
        said = f"Reading {read:,} of {plural(conversations, 'conversation')}…"
    return [Cell(said, "strong")]


def title(link: LinkState) -> Cell:
    """Return the title's status before the run has started."""
    if link == "failed":
        return Cell("! COULD NOT START", "bad")
    if link == "empty":
        return Cell("")
    return Cell("◌ WAITING", "quiet")
