"""The names that events, seams and screens share: conditions, peers and roles. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

Condition = str
"""The name of a condition; `record.conditions` says which there are."""
Peer = Literal["agent", "evaluator", "judge", "graph", "knowledge"]
Role = Literal["user", "assistant"]
SPEAKERS: dict[Role, str] = {"user": "user", "assistant": "agent"}
"""What readers call the two speakers, whatever a job calls its user."""

CANCELLED_AT_START = "cancelled before it started"
"""Why a run has no result if a person stopped it while its parts were prepared."""


def asked_and_served(asked: str, served: Collection[str]) -> str:
    """Return a model's name, with the names in the server's answers where they differ: `asked for X, served Y`."""
    if all(name == asked for name in served):
        return asked
    return f"asked for {asked}, served {' and '.join(served)}"


def with_served(identity: str, served: dict[str, list[str]]) -> str:
    """Return the same of an evaluator's or judge's identity, such as `a, b × 3`; `served` is by what was asked for."""
    if all(names == [asked] for asked, names in served.items()):
        return identity
    models, times, repeats = identity.partition(" × ")
    names = [asked_and_served(model, served.get(model, ())) for model in models.split(", ")]
    return "; ".join(names) + times + repeats


class TurnMark(NamedTuple):
    """A position in a replay: a turn of a conversation, after `given` events and `at_s` recorded seconds.

    Turn 0 is the beginning; without a condition, any other turn is the end. `failed` is true if an assertion failed
    since the previous position.
    """

    condition: Condition | None
    trial: int
    turn: int
    given: int
    at_s: float
    failed: bool = False
    passed: float | None = None
    """The share of the conversation's assertions, by weight, that held by then; None if none was measured."""
