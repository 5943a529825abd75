"""A run of several trials as a grid of small cells: state, turn, latencies, score so far; what needs attention first."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui.text import shorten
from bioeval_tui.tui.view import heads, panels
from bioeval_tui.tui.view.cells import Cell
from bioeval_tui.tui.view.sparks import spark

if TYPE_CHECKING:
    from bioeval_tui.run_state import ConversationKey, ConversationState, RunState

CELL_WIDTH, CELL_HEIGHT = 38, 4
_SPOILT = frozenset({"evaluator_failed", "timed_out", "cancelled"})


class Tile(NamedTuple):
    """One conversation in three lines; `rank` is lower the more it needs attention."""

    key: ConversationKey
    rank: int
    lines: tuple[tuple[Cell, ...], ...]


def tiles(state: RunState, now: datetime | None, width: int = CELL_WIDTH) -> list[Tile]:
    """Return a tile for every conversation: failed ones, then those that wait for a person, then those going on, then the rest."""
    found = [_tile(state, talk, now, width - 2) for talk in state.conversations.values()]
    order = {name: at for at, name in enumerate(heads.conditions(state))}
    return sorted(found, key=lambda tile: (tile.rank, tile.key.trial, order.get(tile.key.condition, 9)))


def _tile(state: RunState, talk: ConversationState, now: datetime | None, width: int) -> Tile:
    key = talk.key
    head = heads.head(state, key.condition, key.trial, now)
    name = Cell(f"{key.condition} · trial {key.trial}", "strong")
    room = width - len(name.text) - len(head.score.text)
    slow = max([panels.target_ms(state) * 2, *talk.latencies_ms, 1.0])
    bars = spark(talk.latencies_ms, max(1, width - 9), 0.0, slow)
    newest = f"{talk.latencies_ms[-1] / 1000:.1f} s" if talk.latencies_ms else "–"
    return Tile(
        key,
        _rank(state, talk),
        (
            (name, Cell(" " * max(1, room)), head.score),
            (Cell(shorten(head.state.text, width), head.state.tone),),
            (Cell(f"{bars:<{max(1, width - 9)}} ", "busy"), Cell(f"{newest:>8}", "quiet")),
        ),
    )


def _rank(state: RunState, talk: ConversationState) -> int:
    if talk.ended is not None:
        if talk.ended.reason in _SPOILT or (talk.phase == "ended" and talk.score is None):
            return 0
        return 1 if talk.ended.reason == "agent_failed" else 5
    if state.ended is not None:
        return 0
    if heads.operator_has(state, talk.key.condition):
        return 2
    return 3 if talk.messages else 4
