"""The number of verdicts that one transcript needs. `evaluation.conversation.scoring` combines them."""

from __future__ import annotations


def enough(given: int, wanted: int) -> bool:
    """Return whether at least two thirds of the verdicts exist."""
    return given > 0 and given * 3 >= wanted * 2
