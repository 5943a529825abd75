"""The rows of error views: truth and prediction, from a declared metric or a grader's two tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bioeval_tui.grade.metrics import roc_auc, spearman
from bioeval_tui.grade.scorers import CodeScorer, CsvScorer

_MOST_COLUMNS = 6


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedRows:
    """One target's rows: ids, truth and prediction, shape (rows,), aligned. `kind` is that of a metric."""

    kind: str
    ids: Any
    true: Any
    guess: Any
    name: str
    event: Any = None
    score: Callable[[Any], float] | None = None
    """The score of the rows at these positions."""


def declared_rows(scorer: CsvScorer, path: Path) -> list[ExplainedRows]:
    """Return the rows of each target of a declared metric."""
    spec, found = scorer.spec, []
    guesses = scorer.predictions(path)
    for name, truth, guess in zip(spec.targets, scorer.truths, guesses, strict=True):
        kind = spec.metric.kind
        event = scorer.event if kind == "survival" else None

        def score(at: Any, truth: Any = truth, guess: Any = guess, event: Any = event) -> float:
            more = () if event is None else (event[at],)
            if spec.metric.kind == "label":
                codes = np.unique(np.concatenate([truth, np.asarray(guess, object)]), return_inverse=True)[1]
                return float(spec.metric.function(codes[: len(truth)][at], codes[len(truth) :][at]))
            return float(spec.metric.function(truth[at], guess[at], *more))

        found.append(ExplainedRows(kind, scorer.ids.to_numpy(), truth, np.asarray(guess), name, event, score))
    return found


def rows_of_code(scorer: CodeScorer, path: Path) -> list[ExplainedRows]:
    """Pair the columns of a grader with code by their names: the ids, then every column that both tables have."""
    submission, answers = scorer.frames(path)
    if not hasattr(answers, "columns"):
        return []
    ids = next(
        (name for name in answers.columns if name in submission.columns and answers[name].is_unique), None
    )
    if ids is None or not set(answers[ids]) <= set(submission[ids]) or not submission[ids].is_unique:
        return []
    aligned = submission.set_index(ids).loc[answers[ids]]
    names = [name for name in answers.columns if name != ids and name in aligned.columns]
    pairs = [(str(name), answers[name], aligned[name]) for name in names]
    left = [name for name in answers.columns if name != ids]
    if not pairs and len(left) == 1:  # ProteinGym: several predictions of one truth
        pairs = [(str(name), answers[left[0]], aligned[name]) for name in aligned.columns]
    found = []
    for name, truth, guess in pairs[:_MOST_COLUMNS]:
        if truth.isna().any() or guess.isna().any():
            continue
        if truth.dtype.kind in "iufb" and guess.dtype.kind in "iufb":
            values, guesses = truth.to_numpy(np.float64), guess.to_numpy(np.float64)
            kind = (
                "probability"
                if set(np.unique(values)) == {0.0, 1.0} and guess.dtype.kind == "f"
                else "number"
            )
            function: Any = roc_auc if kind == "probability" else spearman

            def score(
                at: Any, values: Any = values, guesses: Any = guesses, function: Any = function
            ) -> float:
                return float(function(values[at], guesses[at]))

            found.append(ExplainedRows(kind, answers[ids].to_numpy(), values, guesses, name, score=score))
        else:
            texts, others = truth.astype(str).to_numpy(object), guess.astype(str).to_numpy(object)

            def share(at: Any, texts: Any = texts, others: Any = others) -> float:
                return float(np.mean(texts[at] == others[at]))

            found.append(ExplainedRows("label", answers[ids].to_numpy(), texts, others, name, score=share))
    return found
