"""What the conditions are called: the two published ones, and what a name of another may be.

Imports nothing heavy; `conditions` says which facts and criteria a condition has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bioeval_tui.base.text import both_or_all

Condition = str
"""The name of a condition; `conditions` says which a job has."""
PUBLISHED_TITLES: dict[Condition, str] = {
    "withheld": "without the facts",
    "supplied": "with the facts",
}
"""embabel-agent-eval's conditions, in the order in which they run and are shown, and what they are
called.
"""
PUBLISHED_NAMES: tuple[Condition, ...] = tuple(PUBLISHED_TITLES)
PLACEBO_NAME = "placebo"
PLACEBO_TITLE = "with a placebo"
"""The control of a job with `controls: true`, in which the user tells as much as with the facts,
and nothing to the point. It is no use of the agent to be scored: no mean and no threshold has it,
unless it is named.
"""
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


def without_placebo(names: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the names of conditions, in their order, without the placebo's."""
    return tuple(name for name in names if name != PLACEBO_NAME)


def of_mean_words(names: Iterable[Condition]) -> str:
    """Return of how many of these conditions a mean is: `both`, or `all 3`, without the placebo."""
    return both_or_all(len(without_placebo(names)))


def counts_in(only: Condition | None, condition: Condition) -> bool:
    """Return whether what is meant for one condition (None: for all) counts in a condition."""
    return only in (None, condition, without_control(condition))


def without_control(condition: Condition) -> Condition:
    """Return the condition whose criteria hold, and as which a prompt knows it: of the placebo,
    that without the facts, because its user knows as little.
    """
    if condition == PLACEBO_NAME:
        return PUBLISHED_NAMES[0]
    return condition


def published_title(condition: Condition) -> str:
    """Return what a condition is called where jobs' own words must not make a difference: `without
    the facts`.
    """
    if condition == PLACEBO_NAME:
        return PLACEBO_TITLE
    return PUBLISHED_TITLES.get(condition, condition)


def first_condition(order: str | None) -> Condition | None:
    """Return the condition that comes first in an order; None if none is named."""
    name, _, first = (order or "").rpartition("-")
    if first == "first":
        return name
    return None
