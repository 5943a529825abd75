"""Baselines of CSV tasks: from train.csv and test.csv to a table like sample_submission.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bioeval_tui.errors import InputError
from bioeval_tui.grade.baselines.folds import predict_folds
from bioeval_tui.grade.baselines.learners import constant, fit, matrices, public_file
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.grade.tasks.task import Task


def predict_csv(task: Task, kind: str, generator: np.random.Generator) -> pd.DataFrame:
    """Return the baseline `kind` as a table with the columns and rows of the sample submission.

    Raises:
        InputError: the training data lacks the target, or is not there.
    """
    sample = pd.read_csv(task.sample_submission)
    spec = task.grader.spec
    id_column = spec.id if spec is not None and spec.id in sample else str(sample.columns[0])
    folds = task.public_dir / "data.csv"
    if folds.is_file() and not (task.public_dir / "train.csv").is_file():
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


def _target(task: Task, train: pd.DataFrame, prediction: str, predictions: list[str]) -> str:
    spec = task.grader.spec
    if spec is not None and prediction in spec.predictions:
        name = spec.targets[spec.predictions.index(prediction)]
    elif prediction in train or len(predictions) > 1:
        name = prediction
    else:
        name = str(train.columns[-1])  # the published tasks' custom
    if name not in train:
        columns = ", ".join(clean_line(str(column), 40) for column in train.columns[:8])
        raise InputError(
            f"train.csv of {task.id} has no column {clean_line(name, 60)} to learn from; it has {columns}"
        )
    return name


def _guess_kind(outcome: pd.Series) -> str:
    if not pd.api.types.is_numeric_dtype(outcome):
        return "label"
    return "probability" if set(outcome.unique()) <= {0, 1} else "number"


def _test_rows(task: Task, sample: pd.DataFrame, id_column: str) -> pd.DataFrame:
    published = task.public_dir / "test_features.csv"  # what most published tasks call it
    test = pd.read_csv(published if published.is_file() else public_file(task, "test.csv"))
    if id_column in test and test[id_column].is_unique and sample[id_column].isin(test[id_column]).all():
        return test.set_index(id_column).loc[sample[id_column]].reset_index(drop=True)
    if len(test) == len(sample):
        return test
    raise InputError(
        f"test.csv of {task.id} cannot be matched to its sample submission by {clean_line(id_column, 60)}"
    )
