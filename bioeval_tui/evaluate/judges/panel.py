"""Several verdicts on one transcript: how many are enough. What they come to: `evaluate.conversation.verdicts`."""

from __future__ import annotations


def enough(given: int, wanted: int) -> bool:
    """Say whether at least two thirds of the verdicts are there."""
    return given > 0 and given * 3 >= wanted * 2
