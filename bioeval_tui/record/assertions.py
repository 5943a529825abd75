"""Which assertion of a changed job stands for which of the recorded one, both as a job's snapshot
has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bioeval_tui.record.cases import asserted


def same_assertions(
    recorded: Sequence[Mapping[str, Any]], given: Sequence[Mapping[str, Any]]
) -> dict[int, int]:
    """Return the recorded place of each given assertion, by its own place; a new one has none.

    It is the one that asks the same, else the one of the same name, else the one at the same place.
    """
    found: dict[int, int] = {}
    alike: tuple[Callable[[int, int], bool], ...] = (
        lambda new, old: asserted(given[new]) == asserted(recorded[old]),
        lambda new, old: (
            bool(given[new].get("name")) and given[new]["name"] == recorded[old].get("name")
        ),
        lambda new, old: new == old and not recorded[old].get("name"),
    )
    for is_alike in alike:
        for new in range(len(given)):
            free = (old for old in range(len(recorded)) if old not in found.values())
            if (
                new not in found
                and (old := next((old for old in free if is_alike(new, old)), None)) is not None
            ):
                found[new] = old
    return found
