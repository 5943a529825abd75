"""What the conditions are called: the two published ones, and what a name of another may be.

Imports nothing heavy; `conditions` says which facts and criteria a condition has.
"""

from __future__ import annotations

import re

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
