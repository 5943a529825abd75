"""Notices of the live screen: waiting, could not start, interrupted, not clean, not measured."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui.record.state import NOT_CLEAN
from bioeval_tui.report.findings import NoUplift
from bioeval_tui.report.sentences import sentence
from bioeval_tui.text import plural, upper_first
from bioeval_tui.tui.live.heads_view import LinkState
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.units import duration

if TYPE_CHECKING:
    from bioeval_tui.record.events import Warned
    from bioeval_tui.record.state import RunState

SLOW_S = 5.0
NEWS_S = 15.0
"""How long, in the run's time, a warning that does not affect the result is shown above the conversations."""


class Keys(NamedTuple):
    """The keys that an empty live screen mentions; empty for a key that does nothing."""

    jobs: str
    runs: str
    again: str
    quit: str


def waiting(link: LinkState, failure: str, waited_s: float, keys: Keys, *, ended: bool = False) -> list[Cell]:
    """Return the lines of an empty live screen: what is happening, or what went wrong and what to press."""
    if link == "empty":
        return [
            Cell("No run is open", "strong"),
            Cell(""),
            *([Cell(f"{keys.jobs}  jobs: press Enter on one to run it", "quiet")] if keys.jobs else []),
            Cell(f"{keys.runs}  past runs, and runs in progress elsewhere", "quiet"),
        ]
    again = Cell(
        f"{keys.again}  try again     {keys.quit}  quit" if keys.again else f"{keys.quit}  quit", "quiet"
    )
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
        lines = [Cell("Starting the engine…", "strong"), Cell("")]
    else:
        lines = [Cell("Preparing the first conversation…", "strong"), Cell("")]
    if waited_s < SLOW_S:
        lines.append(Cell("The first message appears here.", "quiet"))
    else:
        lines.append(
            Cell(f"This is taking longer than usual: {duration(waited_s)}. {keys.quit} quits.", "warn")
        )
    return lines


def title(link: LinkState) -> Cell:
    """Return the title's status before the run has started."""
    if link == "failed":
        return Cell("! COULD NOT START", "bad")
    return Cell("") if link == "empty" else Cell("◌ WAITING", "quiet")


def banner(state: RunState, link: LinkState, failure: str, now: datetime | None) -> str:
    """Return the warning to show above the conversations, or an empty string."""
    if link == "interrupted":
        kept = sum(
            1
            for conversation in state.conversations.values()
            for message in conversation.messages
            if message.done
        )
        why = failure.rstrip(".") or "the engine stopped before the run ended"
        run = state.started.run_id if state.started else ""
        return (
            f"! {why[0].upper()}{why[1:]}. {plural(kept, 'message')} kept; "
            f"bioeval-tui runs resume {run} continues from there."
        )
    if state.ended is not None and state.ended.status == "failed":
        return f"! Could not be measured: {state.ended.detail or 'the run failed'}"
    unclean = next((w for w in _warnings(state) if w.code in NOT_CLEAN), None)
    if unclean is not None:
        found = NoUplift(state.cleanness, unclean.message, not state.only_condition)
        return f"! {upper_first(sentence(found))}."
    if state.ended is None and state.warnings and now is not None:
        newest = state.warnings[-1]
        if (now - newest.at).total_seconds() < NEWS_S:
            return f"! {newest.message}"
    return ""


def _warnings(state: RunState) -> list[Warned]:
    return [
        *state.warnings,
        *(w for conversation in state.conversations.values() for w in conversation.warnings),
    ]
