"""A place to jump to in a replay: `replay.Timeline` lists them, and screens draw them on a bar."""

from __future__ import annotations

from typing import NamedTuple

from bioeval_tui.record.condition_names import Condition


class TurnMark(NamedTuple):
    """A position in a replay: a turn of a conversation, after `given` events and `at_s` recorded
    seconds.

    The beginning and the end have no condition, and turn 0. `failed` is true if an assertion failed
    since the previous position.
    """

    condition: Condition | None
    trial: int
    turn: int
    given: int
    at_s: float
    failed: bool = False
    passed: float | None = None
    """The share of the conversation's assertions, by weight, that held by then; None if none was
    measured.
    """
