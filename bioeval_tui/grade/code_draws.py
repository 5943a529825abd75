"""Draws of rows for a grader with code, whose score no formula of ours describes.

`intervals.py` calls `code_draws`. The published ProteinGym grader is the mean of Spearman's
correlations for three ways to split into folds: rows are drawn for all three at once. Any other
grader is called on resampled tables, if the user asks for it, with new row ids, so that a row drawn
twice is two rows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.grade.metrics import METRICS
from bioeval_tui.grade.resampling import (
    RESAMPLES,
    CannotResampleError,
    Draws,
    drawn,
    draws,
    mean_percentiles,
    require_rows,
    resample,
    spearman_influence,
)
from bioeval_tui.grade.score_numbers import to_score
from bioeval_tui.grade.scorers import GRADER_READS_H5AD, H5AD, CodeScorer
from bioeval_tui.grade.uncertainty import NOT_ASKED

if TYPE_CHECKING:
    import pandas as pd

    from bioeval_tui.grade.grade import TaskGrading


CODE_LIMIT_S = 60.0
"""Default time limit for calling a grader with code on resampled rows, in seconds."""

_FEWEST_CALLS = 200
"""Minimum number of calls of a grader with code for an interval."""

_PROTEINGYM_SPLITS = 3


def code_draws(
    ready: TaskGrading, scorer: CodeScorer, path: Path, call_code: bool, time_limit_s: float
) -> Draws:
    """Return the scores of a submission on resampled rows.

    Raises:
        CannotResampleError: the grader reads h5ad files itself, is not to be called, or takes no
            resampled tables.
    """
    if path.suffix.lower() == H5AD:
        raise CannotResampleError(GRADER_READS_H5AD)
    if (ready.task.data_source or {}).get("type") == "proteingym-dms":
        by_folds = _proteingym_draws(scorer, path)
        if by_folds is not None:
            return by_folds
    if not call_code:
        raise CannotResampleError(NOT_ASKED)
    return _called_draws(scorer, path, time_limit_s)


def _proteingym_draws(scorer: CodeScorer, path: Path) -> Draws | None:
    """Draw for Spearman's correlation, or its mean over three splits; None if the grader computes
    something else.
    """
    submission, answers = scorer.frames(path)
    if "id" not in submission.columns or "id" not in answers.columns or len(answers.columns) != 2:
        return None
    target = next(str(name) for name in answers.columns if name != "id")
    # Insertions and deletions have one column, of the target's name; substitutions one for each
    # split.
    splits = 1 if target in submission.columns else _PROTEINGYM_SPLITS
    if len(submission.columns) <= splits:
        return None
    merged = submission[submission.iloc[:, 0] != "WT"].merge(
        answers, on="id", suffixes=("", " of answers")
    )
    columns = (
        [merged[target]] if splits == 1 else [merged.iloc[:, place + 1] for place in range(splits)]
    )
    true = merged.iloc[:, -1].to_numpy(np.float64)
    pairs = [(true, column.to_numpy(np.float64)) for column in columns]
    spearman = METRICS["spearman"]
    score = float(np.mean([spearman.function(*pair) for pair in pairs]))
    if not np.isfinite(score) or to_score(score) != to_score(scorer.score(path)):
        return None
    require_rows(len(true))
    of_splits = f" on the mean over {splits} splits" * (splits > 1)
    if len(true) > RESAMPLES:
        influence = np.mean([spearman_influence(*pair) for pair in pairs], axis=0)
        method = f"bootstrap of the rows' influence{of_splits} (saddlepoint)"
        return drawn(mean_percentiles([influence]) + score, method, len(true))
    found = draws(spearman, pairs)
    return replace(found, method=found.method + f", for {splits} splits at once" * (splits > 1))


def _called_draws(scorer: CodeScorer, path: Path, time_limit_s: float) -> Draws:
    submission, answers = scorer.frames(path)
    if not hasattr(answers, "columns"):
        raise CannotResampleError("its answers are not a table")
    name = _id_column(submission, answers)
    aligned = submission.set_index(name).loc[answers[name]].reset_index()[list(submission.columns)]
    rows = len(answers)
    require_rows(rows)
    whole = answers[name].dtype.kind in "iu"
    ids = (
        np.arange(rows) if whole else np.array([f"r{row:09d}" for row in range(rows)], dtype=object)
    )

    def once(drawn: Any) -> float:
        tables = (
            frame.iloc[drawn].assign(**{name: ids}).reset_index(drop=True)
            for frame in (aligned, answers)
        )
        try:
            return float(scorer.call(*tables))
        except Exception:  # undefined on these rows, such as those of one class
            return float("nan")

    as_handed_in = to_score(scorer.score(path))
    if to_score(once(np.arange(rows))) != as_handed_in:
        raise CannotResampleError("its grader's score depends on the ids of the rows")
    random = np.random.default_rng(0)
    scores = resample([np.arange(rows)], once, random, time_limit_s, fewest=_FEWEST_CALLS)
    return drawn(scores, f"bootstrap, {len(scores):,} calls of the grader on resampled rows", rows)


def _id_column(submission: pd.DataFrame, answers: pd.DataFrame) -> str:
    """Return the column that names the rows: the first with different values, the same in both
    tables.
    """
    for name in answers.columns:
        if (
            name in submission.columns
            and len(submission) == len(answers)
            and answers[name].is_unique
            and set(answers[name]) == set(submission[name])
        ):
            return str(name)
    raise CannotResampleError("the submission and the answers have no column of ids in common")
