"""The names that events, seams and screens share: conditions, peers and roles.

Imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from bioeval_tui.base.text import clean_line

Condition = str
"""The name of a condition; `record.conditions` says which there are."""
PUBLISHED_TITLES: dict[Condition, str] = {
    "withheld": "without the facts",
    "supplied": "with the facts",
}
"""embabel-agent-eval's conditions, in the order in which they run and are shown, and what they are
called.
"""
PUBLISHED_NAMES: tuple[Condition, ...] = tuple(PUBLISHED_TITLES)
_TAKEN = r"mean|both|all|none|task\d*|timing|assertion|p\d+|random|parallel"
_NAME = rf"(?!(?:{_TAKEN})\b)[a-z][a-z0-9_]{{0,19}}"
_IS_NAME = re.compile(_NAME)
IS_ORDER = rf"random|parallel|{_NAME}-first"
"""What an order of conditions is: as listed but for the one that comes first, drawn at random, or
at the same time.
"""


def is_name(text: str) -> bool:
    """Return whether a condition can have this name.

    It is a key in files and a word in options such as `--fail-under supplied.task2:0.8`, whose
    other words it is not.
    """
    return _IS_NAME.fullmatch(text) is not None


def judge_name(models: Sequence[str], repeats: int) -> str:
    """Return what a judge of these models is called: each one's name, and how often each is
    asked.
    """
    names = ", ".join(clean_line(model, 100) for model in models)
    if repeats > 1:
        names += f" × {repeats}"
    return names


def published_title(condition: Condition) -> str:
    """Return what a condition is called where jobs' own words must not make a difference: `without
    the facts`.
    """
    return PUBLISHED_TITLES.get(condition, condition)


def first_condition(order: str | None) -> Condition | None:
    """Return the condition that comes first in an order; None if none is named."""
    name, _, first = (order or "").rpartition("-")
    if first == "first":
        return name
    return None


Peer = Literal["agent", "evaluator", "judge", "graph", "knowledge"]
Role = Literal["user", "assistant"]
SPEAKERS: dict[Role, str] = {"user": "user", "assistant": "agent"}
"""What readers call the two speakers, whatever a job calls its user."""

CANCELLED_AT_START = "cancelled before it started"
"""Why a run has no result if a person stopped it while its parts were prepared."""


def asked_and_served(asked: str, served: Collection[str]) -> str:
    """Return a model's name, with the names in the server's answers where they differ: `asked for
    X, served Y`.
    """
    if all(name == asked for name in served):
        return asked
    return f"asked for {asked}, served {' and '.join(served)}"


def add_served(identity: str, served: dict[str, list[str]]) -> str:
    """Return the same of an evaluator's or judge's identity, such as `a, b × 3`; `served` is by
    what was asked for.
    """
    if all(names == [asked] for asked, names in served.items()):
        return identity
    models, times, repeats = identity.partition(" × ")
    names = [asked_and_served(model, served.get(model, ())) for model in models.split(", ")]
    return "; ".join(names) + times + repeats


class TurnMark(NamedTuple):
    """A position in a replay: a turn of a conversation, after `given` events and `at_s` recorded
    seconds.

    Turn 0 is the beginning; without a condition, any other turn is the end. `failed` is true if an
    assertion failed since the previous position.
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
