"""Comparison with human baselines, from `public/human_baselines.csv`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bioeval_tui.grade.files.tables import read_as_published
from bioeval_tui.grade.rounding import numpy_round

if TYPE_CHECKING:
    from numpy.typing import NDArray


def calculate_human_performance_metrics(
    agent_score: float, human_df: pd.DataFrame, is_lower_better: bool
) -> tuple[bool | None, float | None]:
    """Return `(beats_human, human_percentile)` of a score against a table with a `score` column.

    beats_human: strictly better than the median human. human_percentile: share of humans that the score
    equals or beats × 100, one decimal; rows without a score count as not beaten. Both None for no rows.
    """
    return compare_with_humans(agent_score, human_df["score"].to_numpy(dtype=np.float64), is_lower_better)


def compare_with_humans(
    score: float, humans: NDArray[np.float64], is_lower_better: bool
) -> tuple[bool | None, float | None]:
    """Compare with human scores of shape (people,); see `calculate_human_performance_metrics`."""
    if not len(humans):
        return None, None
    known = humans[~np.isnan(humans)]
    median = float(np.median(known)) if len(known) else float("nan")
    if is_lower_better:
        beats, reached = score < median, humans >= score
    else:
        beats, reached = score > median, humans <= score
    return bool(beats), numpy_round(float(reached.mean()) * 100, 1)


def load_humans(path: Path) -> NDArray[np.float64]:
    """Read the `score` column, shape (people,); empty if there is no such file or column.

    Raises:
        ValueError, OSError: the file exists but cannot be used.
    """
    if not path.is_file():
        return np.empty(0)

    try:
        frame = read_as_published(path)
    except pd.errors.EmptyDataError:
        return np.empty(0)
    if "score" not in frame.columns:
        return np.empty(0)
    values: NDArray[np.float64] = frame["score"].to_numpy(dtype=np.float64)
    return values
