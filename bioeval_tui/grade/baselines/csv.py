"""Baselines of CSV tasks: from train.csv and test.csv to a table like sample_submission.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.errors import InputError
from bioeval_tui.grade.baselines.run import public_file
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bioeval_tui.grade.tasks.task import Task

MAX_CATEGORIES = 30
"""A text column with more values, or few repeated ones, is read as a sequence: SMILES, residues, words."""


def predict_csv(task: Task, kind: str, generator: np.random.Generator) -> pd.DataFrame:
    """Return the baseline `kind` as a table with the columns and rows of the sample submission.

    Raises:
        InputError: the training data lacks the target, or is not there.
    """
    import pandas as pd

    sample = pd.read_csv(task.sample_submission)
    spec = task.grader.spec
    id_column = spec.id if spec is not None and spec.id in sample else str(sample.columns[0])
    folds = task.public_dir / "data.csv"
    if folds.is_file() and not (task.public_dir / "train.csv").is_file():
        from bioeval_tui.grade.baselines.folds import predict_folds

        return predict_folds(folds, sample, id_column, kind, generator)
    train = pd.read_csv(public_file(task, "train.csv"))
    predictions = [str(name) for name in sample.columns if name != id_column]
    targets = {name: _target(task, train, name, predictions) for name in predictions}
    hidden = {id_column, *targets.values(), *([spec.event] if spec is not None and spec.event else [])}
    for name in predictions:
        known = train[train[targets[name]].notna()]
        outcome = known[targets[name]]
        what = spec.metric.kind if spec is not None else _guess_kind(outcome)
        if kind == "ridge":
            test = _test_rows(task, sample, id_column)
            pair = matrices(known.drop(columns=list(hidden & set(known))), test)
            sample[name] = fit(what, *pair, outcome)
        else:
            sample[name] = constant(kind, what, outcome.to_numpy(), len(sample), generator)
    return sample


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


def _target(task: Task, train: pd.DataFrame, prediction: str, predictions: list[str]) -> str:
    spec = task.grader.spec
    if spec is not None and prediction in spec.predictions:
        name = spec.targets[spec.predictions.index(prediction)]
    elif prediction in train or len(predictions) > 1:
        name = prediction
    else:
        name = str(train.columns[-1])  # the published tasks' custom
    if name not in train:
        found = ", ".join(clean_line(str(column), 40) for column in train.columns[:8])
        raise InputError(
            f"train.csv of {task.id} has no column {clean_line(name, 60)} to learn from; it has {found}"
        )
    return name


def _guess_kind(outcome: pd.Series) -> str:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(outcome):
        return "label"
    return "probability" if set(outcome.unique()) <= {0, 1} else "number"


def _test_rows(task: Task, sample: pd.DataFrame, id_column: str) -> pd.DataFrame:
    import pandas as pd

    published = task.public_dir / "test_features.csv"  # what most published tasks call it
    test = pd.read_csv(published if published.is_file() else public_file(task, "test.csv"))
    if id_column in test and test[id_column].is_unique and sample[id_column].isin(test[id_column]).all():
        return test.set_index(id_column).loc[sample[id_column]].reset_index(drop=True)
    if len(test) == len(sample):
        return test
    raise InputError(
        f"test.csv of {task.id} cannot be matched to its sample submission by {clean_line(id_column, 60)}"
    )


def matrices(train: pd.DataFrame, test: pd.DataFrame) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the columns that both have as numbers: two matrices with the same columns.

    Raises:
        InputError: they share no column.
    """
    import pandas as pd

    shared = [name for name in train.columns if name in test]
    both = pd.concat([train[shared], test[shared]], ignore_index=True)
    parts = [_column(both[name], len(train)) for name in shared]
    if not parts:
        raise InputError("train.csv and test.csv share no column to learn from")
    matrix = np.column_stack(parts)
    return matrix[: len(train)], matrix[len(train) :]


def _column(values: pd.Series, known: int) -> NDArray[Any]:
    """Return one or more columns of numbers: as they are, by category, or counts of characters and pairs."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values):
        middle = values.iloc[:known].median()
        numbers: NDArray[Any] = values.fillna(0.0 if pd.isna(middle) else middle).to_numpy(float)[:, None]
        return numbers
    texts = values.fillna("").astype(str)
    if texts.iloc[:known].nunique() <= min(MAX_CATEGORIES, known // 2):
        categories: NDArray[Any] = pd.get_dummies(texts).to_numpy(float)
        return categories
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
