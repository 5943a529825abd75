"""Baseline submissions: guesses and very simple models to compare scores with.

| kind | numbers | probabilities | labels | survival |
|---|---|---|---|---|
| simple | mean of the training targets | share of positives | most frequent label | median time |
| majority | median | 1 or 0, whichever is more frequent | most frequent label | median time |
| random | drawn from the training targets | from 0–1 | from the labels | from the times |
| ridge | ridge regression | logistic regression | ridge classifier | ridge on log time [1] |

[1] Censoring is ignored.

The same task, kind and seed give the same file.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.files import Target, below, folder_below, folder_file, write_whole
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.report_fields import time_stamp
from bioeval_tui.grade.tasks.task import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray


KINDS = ("simple", "majority", "random", "ridge")


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """One baseline submission that was written, as `baseline --json` prints it."""

    kind: str
    seed: int
    submission_path: str


def run_baselines(
    task: Task, kinds: Iterable[str], *, seed: int, output_dir: Path
) -> tuple[list[BaselineFile], Path]:
    """Write a submission of each kind and a JSONL list of them; return the files and the list's
    path.

    Each file is in a folder `<time>_run-group_baseline-<kind>`, so that reports show the kind as
    the agent.

    Raises:
        InputError: the task is not prepared, or has no training data to learn from.
    """
    # first all, so that a failure leaves no folder
    predicted = {kind: predict(task, kind, seed) for kind in kinds}
    stamp = time_stamp(datetime.now(UTC))
    name = task.id.replace("/", "-")
    written = []
    for kind, prediction in predicted.items():
        folder = folder_below(output_dir, f"{stamp}_run-group_baseline-{kind}")
        target = folder_file(folder, f"{name}{task.sample_submission.suffix}")
        write_prediction(prediction, target)
        written.append(BaselineFile(kind, seed, str(target)))
    listing = below(output_dir, f"{name}_baselines.jsonl")
    lines = []
    for item in written:
        relative = Path(item.submission_path).relative_to(output_dir).as_posix()
        lines.append(json.dumps({"task_id": task.id, "submission_path": relative}))
    write_whole(listing, "".join(line + "\n" for line in lines))
    return written, listing


def predict(task: Task, kind: str, seed: int) -> Any:
    """Return one baseline submission: a DataFrame, or an AnnData for tasks on h5ad files.

    Raises:
        InputError: as for `run_baselines`.
    """
    if not task.sample_submission.is_file():
        raise InputError(f"task {task.id} is not prepared: run `{task.prepare_command}`")
    generator = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    if task.sample_submission.suffix == ".h5ad":
        return predict_h5ad(task, kind, generator)
    return predict_csv(task, kind, generator)


def write_prediction(prediction: Any, path: Target) -> None:
    """Write what `predict` returned."""
    if isinstance(prediction, pd.DataFrame):
        write_whole(path, prediction.to_csv(index=False, lineterminator="\n"))
        return
    from bioeval_tui.grade.h5ad import write_h5ad  # for single-cell tasks alone

    write_h5ad(prediction, path)


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
    hidden = {id_column, *targets.values()}
    if spec is not None and spec.event:
        hidden.add(spec.event)
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
            f"train.csv of {task.id} has no column {clean_line(name, 60)} to learn from; it has"
            f" {columns}"
        )
    return name


def _guess_kind(outcome: pd.Series) -> str:
    if not pd.api.types.is_numeric_dtype(outcome):
        return "label"
    if set(outcome.unique()) <= {0, 1}:
        return "probability"
    return "number"


def _test_rows(task: Task, sample: pd.DataFrame, id_column: str) -> pd.DataFrame:
    path = task.public_dir / "test_features.csv"  # what most published tasks call it
    if not path.is_file():
        path = public_file(task, "test.csv")
    test = pd.read_csv(path)
    if (
        id_column in test
        and test[id_column].is_unique
        and sample[id_column].isin(test[id_column]).all()
    ):
        return test.set_index(id_column).loc[sample[id_column]].reset_index(drop=True)
    if len(test) == len(sample):
        return test
    raise InputError(
        f"test.csv of {task.id} cannot be matched to its sample submission by"
        f" {clean_line(id_column, 60)}"
    )


FOLD = "fold_"


def predict_folds(
    path: Path, sample: pd.DataFrame, id_column: str, kind: str, generator: np.random.Generator
) -> pd.DataFrame:
    """Return the baseline `kind` as a table like `sample`, learning from the data.csv at `path`.

    Raises:
        InputError: a column has no target or no fold, or a row of the sample has no data.
    """
    data = pd.read_csv(path, dtype={id_column: str})
    folds = [name for name in data.columns if name.startswith(FOLD)]
    wanted = sample[id_column].astype(str)
    for name in [column for column in sample.columns if column != id_column]:
        fold, target = _meant(str(name), folds, list(data.columns))
        rows = data[data[target].notna() & data[id_column].isin(set(wanted))].reset_index(drop=True)
        hidden = [column for column in (id_column, target, *folds) if column in rows]
        inputs = rows.drop(columns=hidden)
        predicted = np.full(len(rows), np.nan)
        for part in rows[fold].unique():
            test = (rows[fold] == part).to_numpy()
            known = rows[target][~test]
            if kind == "ridge":
                predicted[test] = fit("number", *matrices(inputs[~test], inputs[test]), known)
            else:
                predicted[test] = constant(
                    kind, "number", known.to_numpy(), int(test.sum()), generator
                )
        sample[name] = wanted.map(dict(zip(rows[id_column], predicted, strict=True)))
        if sample[name].isna().any():
            raise InputError(
                f"{path.name} has no rows of the sample submission to learn"
                f" {clean_line(str(name), 60)} from"
            )
    return sample


def _meant(name: str, folds: list[str], columns: list[str]) -> tuple[str, str]:
    """Return the fold column and the target of a column of the sample submission."""
    for fold in folds:
        if name.endswith(f"_{fold}") and name.removesuffix(f"_{fold}") in columns:
            return fold, name.removesuffix(f"_{fold}")
    if folds and name in columns:
        return folds[0], name
    raise InputError(
        f"data.csv has no target and folds for the column {clean_line(name, 60)} of the sample"
        " submission"
    )


def predict_h5ad(task: Task, kind: str, generator: np.random.Generator) -> Any:
    """Return the baseline `kind` as an AnnData with the cells and genes of the sample submission.

    Raises:
        InputError: there is no training data, or the grader reads neither a column of obs nor X.
    """
    import anndata  # for single-cell tasks alone

    spec = task.grader.spec
    if spec is None or spec.h5ad is None or spec.h5ad[0] not in ("obs", "X"):
        raise InputError(
            f"there are no baselines for {task.id}, because its grader reads neither a column of"
            " obs nor X"
        )
    sample = anndata.read_h5ad(task.sample_submission)
    train = anndata.read_h5ad(public_file(task, "train.h5ad"))
    test = anndata.read_h5ad(public_file(task, "test.h5ad"))[sample.obs_names]
    panel = [name for name in test.var_names if name in set(train.var_names)]
    element, column = spec.h5ad
    if element == "X":
        sample.X = _matrix(kind, train, test, panel, list(sample.var_names), generator).astype(
            np.float32
        )
        return sample
    outcome = train.obs[column].to_numpy()
    if kind == "ridge":
        sample.obs[column] = (
            _ridge(spec.metric.kind, FOR_GENES)
            .fit(_dense(train, panel), outcome)
            .predict(_dense(test, panel))
        )
    else:
        sample.obs[column] = constant(
            kind, spec.metric.kind, np.asarray(outcome), sample.n_obs, generator
        )
    return sample


def _matrix(
    kind: str,
    train: Any,
    test: Any,
    panel: list[str],
    genes: list[str],
    generator: np.random.Generator,
) -> NDArray[Any]:
    known = _dense(train, genes)
    if kind == "ridge":
        predicted: NDArray[Any] = (
            _ridge("number", FOR_GENES)
            .fit(_dense(train, panel), known)
            .predict(_dense(test, panel))
        )
        return predicted
    if kind == "random":  # whole cells, so that genes keep going together
        drawn: NDArray[Any] = known[generator.integers(len(known), size=test.n_obs)]
        return drawn
    middle = np.mean if kind == "simple" else np.median
    return np.repeat(middle(known, axis=0)[None, :], test.n_obs, axis=0)


def _dense(data: Any, genes: list[str]) -> NDArray[Any]:
    part = data[:, genes].X
    matrix: NDArray[Any] = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
    return matrix


FOR_GENES = 1000.0
"""Many genes and few cells: a strong penalty."""


def _ridge(what: str, penalty: float) -> Any:
    # the simple baselines wait for no scikit-learn
    from sklearn.linear_model import (
        Ridge,
        RidgeClassifier,
    )
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = RidgeClassifier if what == "label" else Ridge
    return make_pipeline(StandardScaler(), model(penalty))


MAX_CATEGORIES = 30
"""A text column with more values, or few repeated ones, is read as a sequence: SMILES, residues,
words.
"""


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
    """Return `rows` predictions that look at no feature; `what` is a metric's kind (number, label,
    …).
    """
    if kind == "random":
        if what == "probability":
            return generator.random(rows)
        return generator.choice(outcome, size=rows)
    if what == "label":
        values, counts = np.unique(outcome, return_counts=True)
        return np.repeat(values[counts.argmax()], rows)
    if what == "probability":
        share = float(np.mean(outcome > 0))
        if kind != "simple":
            share = float(share > 0.5)
        return np.repeat(share, rows)
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
    """Return one or more columns of numbers: unchanged, by category, or counts of characters and
    pairs.
    """
    if pd.api.types.is_numeric_dtype(values):
        middle = values.iloc[:known].median()
        # without any known value the median is NaN, too
        numbers: NDArray[Any] = values.fillna(middle).fillna(0.0).to_numpy(float)
        return numbers[:, None]
    texts = values.fillna("").astype(str)
    if texts.iloc[:known].nunique() <= min(MAX_CATEGORIES, known // 2):
        categories: NDArray[Any] = pd.get_dummies(texts).to_numpy(float)
        return categories
    # Here and below: the simple baselines wait for no scikit-learn.
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(
        analyzer="char", ngram_range=(1, 2), lowercase=False, max_features=400
    )
    counter.fit(texts.iloc[:known])
    counts: NDArray[Any] = counter.transform(texts).toarray().astype(float)
    return counts


def fit(what: str, train: NDArray[Any], test: NDArray[Any], outcome: pd.Series) -> NDArray[Any]:
    """Fit the plain linear model for `what` (a metric's kind) and return its predictions for
    `test`.
    """
    target = outcome.to_numpy()
    if what == "probability":
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if len(np.unique(target)) < 2:
            return np.repeat(float(target[0]), len(test))
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=5000))
        chances: NDArray[Any] = model.fit(train, target > 0).predict_proba(test)[:, 1]
        return chances
    if what == "survival":
        target = np.log1p(target.clip(min=0))
    predicted: NDArray[Any] = _ridge(what, 10.0).fit(train, target).predict(test)
    return predicted
