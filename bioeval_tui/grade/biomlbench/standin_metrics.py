"""`biomlbench.metrics` for graders that import it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["average_precision_at_k", "dice_coefficient", "mean_average_precision_at_k"]


def average_precision_at_k(actual: set[Any], predicted: Sequence[Any], k: int) -> float:
    """Average precision of a ranking's first `k`: a repeated guess counts once; without relevant items it is 0."""
    if not actual:
        return 0.0
    hits, total = 0, 0.0
    seen: set[Any] = set()
    for place, guess in enumerate(predicted[:k], start=1):
        if guess in actual and guess not in seen:
            hits += 1
            total += hits / place
        seen.add(guess)
    return total / min(len(actual), k)


def mean_average_precision_at_k(
    actual: Sequence[set[Any]], predicted: Sequence[Sequence[Any]], k: int
) -> np.float64:
    """Mean of `average_precision_at_k` over queries."""
    pairs = zip(actual, predicted, strict=False)
    return np.float64(np.mean([average_precision_at_k(truth, guesses, k) for truth, guesses in pairs]))


def dice_coefficient(
    predicted_mask: NDArray[Any], true_mask: NDArray[Any], both_empty_value: float = np.nan
) -> Any:
    """Dice's coefficient of two 0/1 masks of the same shape; `both_empty_value` if both are empty.

    Raises:
        AssertionError: the masks differ in shape.
    """
    if predicted_mask.shape != true_mask.shape:
        raise AssertionError(f"masks differ in shape: {predicted_mask.shape} and {true_mask.shape}")
    marked = np.sum(predicted_mask) + np.sum(true_mask)
    if marked == 0:
        return both_empty_value
    return 2 * np.sum(predicted_mask * true_mask) / marked
