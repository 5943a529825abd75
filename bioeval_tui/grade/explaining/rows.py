"""The rows of one target of a submission, beside their truth, which every view is made of.

`explain.explain` calls `declared_rows` or `rows_of_code`; `cells.py` makes its own rows of a column
of `obs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bioeval_tui.grade.alignment import label_codes
from bioeval_tui.grade.metrics import accuracy, roc_auc, spearman
from bioeval_tui.grade.scorers import CodeScorer, CsvScorer

_MOST_COLUMNS = 6


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedRows:
    """One target's rows: ids, truth and prediction, shape (rows,), aligned.

    `kind` and `metric` are those of a metric.
    """

    kind: str
    ids: Any
    true: Any
    guess: Any
    name: str
    metric: Callable[..., Any]
    event: Any = None

    def score(self, at: Any) -> float:
        """Return the score of the rows at these positions."""
        true, guess = self.true[at], self.guess[at]
        if self.kind == "label":
            true, guess = label_codes(true, guess)
        if self.event is None:
            return float(self.metric(true, guess))
        return float(self.metric(true, guess, self.event[at]))


def declared_rows(scorer: CsvScorer, path: Path) -> list[ExplainedRows]:
    """Return the rows of each target of a declared metric."""
    spec, ids, guesses = scorer.spec, scorer.ids.to_numpy(), scorer.predictions(path)
    kind, metric = spec.metric.kind, spec.metric.function
    event = scorer.event if kind == "survival" else None
    return [
        ExplainedRows(kind, ids, truth, np.asarray(guess), name, metric, event)
        for name, truth, guess in zip(spec.targets, scorer.truths, guesses, strict=True)
    ]


def rows_of_code(scorer: CodeScorer, path: Path) -> list[ExplainedRows]:
    """Pair the columns of a grader with code by their names: the ids, then every column that both
    tables have.
    """
    submission, answers = scorer.frames(path)
    if not hasattr(answers, "columns"):
        return []
    ids = next(
        (
            name
            for name in answers.columns
            if name in submission.columns and answers[name].is_unique
        ),
        None,
    )
    if (
        ids is None
        or not set(answers[ids]) <= set(submission[ids])
        or not submission[ids].is_unique
    ):
        return []
    aligned = submission.set_index(ids).loc[answers[ids]]
    names = [name for name in answers.columns if name != ids and name in aligned.columns]
    pairs = [(str(name), answers[name], aligned[name]) for name in names]
    left = [name for name in answers.columns if name != ids]
    if not pairs and len(left) == 1:  # ProteinGym: several predictions of one truth
        pairs = [(str(name), answers[left[0]], aligned[name]) for name in aligned.columns]
    explained = []
    metric: Callable[..., float]
    for name, truth, predicted in pairs[:_MOST_COLUMNS]:
        if truth.isna().any() or predicted.isna().any():
            continue
        if truth.dtype.kind in "iufb" and predicted.dtype.kind in "iufb":
            is_float = predicted.dtype.kind == "f"
            true, guess = truth.to_numpy(np.float64), predicted.to_numpy(np.float64)
            kind, metric = "number", spearman
            if is_float and set(np.unique(true)) == {0.0, 1.0}:
                kind, metric = "probability", roc_auc
        else:
            true, guess = (each.astype(str).to_numpy(object) for each in (truth, predicted))
            kind, metric = "label", accuracy
        explained.append(ExplainedRows(kind, answers[ids].to_numpy(), true, guess, name, metric))
    return explained
