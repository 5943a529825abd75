"""Multiple comparisons: Holm's step-down correction (Holm 1979)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Return each test's p-value adjusted by Holm's method, in the order given.

    Rejecting every test whose adjusted p-value is at most α keeps the chance of even one false rejection
    (the family-wise error rate) at α or below, however the tests depend on each other.

    Raises:
        ValueError: a p-value is not in [0, 1].
    """
    for name, p in p_values.items():
        if not 0 <= p <= 1:
            raise ValueError(f"the p-value of {name} is {p}, not in [0, 1]")
    adjusted: dict[Name, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
