"""Scores computed straight from scikit-learn, apart from the program's own metrics, so that the
boards test those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn import metrics


def rmse(truth: np.ndarray, guess: np.ndarray) -> float:
    """Root mean squared error."""
    return float(np.sqrt(metrics.mean_squared_error(truth, guess)))


def concordance_index(time: np.ndarray, event: np.ndarray, survival: np.ndarray) -> float:
    """Harrell's C: share of comparable pairs in which who lives longer has the higher score; ties
    count half.

    A pair is comparable when the shorter time ended with the event; at equal times, when exactly
    one did (that one is the shorter).
    """
    right = ties = pairs = 0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event.astype(bool))
        pairs += int(later.sum())
        right += int((survival[later] > survival[i]).sum())
        ties += int((survival[later] == survival[i]).sum())
    return (right + 0.5 * ties) / pairs


METRICS: dict[str, Callable[[Any, Any], float]] = {
    "roc_auc": metrics.roc_auc_score,
    "average_precision": metrics.average_precision_score,
    "mean_absolute_error": metrics.mean_absolute_error,
    "rmse": rmse,
    "r2": metrics.r2_score,
    "f1_macro": lambda truth, guess: metrics.f1_score(truth, guess, average="macro"),
}


def score(grader: dict[str, Any], submission: Any, answers: Any) -> float:
    """Return the score of a submission: two frames aligned by id, or two arrays in the same
    order.
    """
    metric = grader["metric"]
    if not isinstance(answers, pd.DataFrame):
        return float(METRICS[metric](answers, submission))
    merged = answers.merge(submission, on="id", suffixes=("", "_guess"), validate="one_to_one")
    target = grader["target"]
    column = grader.get("prediction", target)
    guess = merged[f"{column}_guess" if f"{column}_guess" in merged else column].to_numpy()
    if metric == "concordance_index":
        return concordance_index(
            merged[target].to_numpy(), merged[grader["event"]].to_numpy(), guess
        )
    return float(METRICS[metric](merged[target].to_numpy(), guess))
