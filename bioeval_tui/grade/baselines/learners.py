"""The models of baselines, and their training data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bioeval_tui.errors import InputError
from bioeval_tui.grade.tasks.task import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_CATEGORIES = 30
"""A text column with more values, or few repeated ones, is read as a sequence: SMILES, residues, words."""


def public_file(task: Task, name: str) -> Path:
    """Return a file of the task's public folder.

    Raises:
        InputError: it is not there.
    """
    path = task.public_dir / name
    if not path.is_file():
        raise InputError(
            f"baselines learn from {name}, which task {task.id} does not have in {task.public_dir}"
        )
    return path


def constant(
    kind: str, what: str, outcome: NDArray[Any], rows: int, generator: np.random.Generator
) -> NDArray[Any]:
    """Return `rows` predictions that look at no feature; `what` is a metric's kind (number, label, …)."""
    if kind == "random":
        if what == "probability":
            return generator.random(rows)
        return generator.choice(outcome, size=rows)
    if what == "label":
        values, counts = np.unique(outcome, return_counts=True)
        return np.repeat(values[counts.argmax()], rows)
    if what == "probability":
        share = float(np.mean(outcome > 0))
        return np.repeat(share if kind == "simple" else float(share > 0.5), rows)
    middle = np.mean if kind == "simple" and what == "number" else np.median
    return np.repeat(float(middle(outcome)), rows)


def matrices(train: pd.DataFrame, test: pd.DataFrame) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the columns that both have as numbers: two matrices with the same columns.

    Raises:
        InputError: they share no column.
    """
    shared = [name for name in train.columns if name in test]
    both = pd.concat([train[shared], test[shared]], ignore_index=True)
    parts = [_column(both[name], len(train)) for name in shared]
    if not parts:
        raise InputError("train.csv and test.csv share no column to learn from")
    matrix = np.column_stack(parts)
    return matrix[: len(train)], matrix[len(train) :]


def _column(values: pd.Series, known: int) -> NDArray[Any]:
    """Return one or more columns of numbers: unchanged, by category, or counts of characters and pairs."""
    if pd.api.types.is_numeric_dtype(values):
        middle = values.iloc[:known].median()
        numbers: NDArray[Any] = values.fillna(0.0 if pd.isna(middle) else middle).to_numpy(float)[:, None]
        return numbers
    texts = values.fillna("").astype(str)
    if texts.iloc[:known].nunique() <= min(MAX_CATEGORIES, known // 2):
        categories: NDArray[Any] = pd.get_dummies(texts).to_numpy(float)
        return categories
    # Here and below: the simple baselines wait for no scikit-learn.
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer="char", ngram_range=(1, 2), lowercase=False, max_features=400)
    counter.fit(texts.iloc[:known])
    counts: NDArray[Any] = counter.transform(texts).toarray().astype(float)
    return counts


def fit(what: str, train: NDArray[Any], test: NDArray[Any], outcome: pd.Series) -> NDArray[Any]:
    """Fit the plain linear model for `what` (a metric's kind) and return its predictions for `test`."""
    from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model: Any
    target = outcome.to_numpy()
    if what == "probability":
        if len(np.unique(target)) < 2:
            return np.repeat(float(target[0]), len(test))
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=5000))
        chances: NDArray[Any] = model.fit(train, target > 0).predict_proba(test)[:, 1]
        return chances
    if what == "label":
        model = make_pipeline(StandardScaler(), RidgeClassifier(10.0))
    else:
        model = make_pipeline(StandardScaler(), Ridge(10.0))
        target = np.log1p(target.clip(min=0)) if what == "survival" else target
    predicted: NDArray[Any] = model.fit(train, target).predict(test)
    return predicted
