"""The names that events, seams and screens share: conditions, peers and roles. Imports nothing heavy."""

from collections.abc import Collection
from typing import Literal

Condition = Literal["withheld", "supplied"]
CONDITIONS: tuple[Condition, ...] = ("withheld", "supplied")
"""Both, in the order in which they run and are shown."""
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
    told = [asked_and_served(model, served.get(model, ())) for model in models.split(", ")]
    return "; ".join(told) + times + repeats
