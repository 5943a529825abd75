"""How many verdicts on one transcript are enough. `evaluate.conversation.verdicts` combines them."""

from __future__ import annotations


def enough(given: int, wanted: int) -> bool:
    """Return whether at least two thirds of the verdicts are there."""
    return given > 0 and given * 3 >= wanted * 2
