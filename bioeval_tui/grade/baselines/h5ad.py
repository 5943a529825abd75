"""Baselines of single-cell tasks: from train.h5ad and test.h5ad to a file like sample_submission.h5ad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anndata
import numpy as np

from bioeval_tui.errors import InputError
from bioeval_tui.grade.baselines.learners import constant, public_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bioeval_tui.grade.tasks.task import Task


def predict_h5ad(task: Task, kind: str, generator: np.random.Generator) -> Any:
    """Return the baseline `kind` as an AnnData with the cells and genes of the sample submission.

    Raises:
        InputError: there is no training data, or the grader reads neither a column of obs nor X.
    """
    spec = task.grader.spec
    element = spec.h5ad if spec is not None else None
    if spec is None or element is None or element[0] not in ("obs", "X"):
        raise InputError(
            f"there are no baselines for {task.id}, because its grader reads neither a column of obs nor X"
        )
    sample = anndata.read_h5ad(task.sample_submission)
    train = anndata.read_h5ad(public_file(task, "train.h5ad"))
    test = anndata.read_h5ad(public_file(task, "test.h5ad"))[sample.obs_names]
    panel = [name for name in test.var_names if name in set(train.var_names)]
    if element[0] == "X":
        sample.X = _matrix(kind, train, test, panel, list(sample.var_names), generator).astype(np.float32)
        return sample
    column = element[1]
    outcome = train.obs[column].to_numpy()
    if kind == "ridge":
        sample.obs[column] = (
            _model(spec.metric.kind).fit(_dense(train, panel), outcome).predict(_dense(test, panel))
        )
    else:
        sample.obs[column] = constant(kind, spec.metric.kind, np.asarray(outcome), sample.n_obs, generator)
    return sample


def _matrix(
    kind: str, train: Any, test: Any, panel: list[str], genes: list[str], generator: np.random.Generator
) -> NDArray[Any]:
    known = _dense(train, genes)
    if kind == "ridge":
        predicted: NDArray[Any] = (
            _model("number").fit(_dense(train, panel), known).predict(_dense(test, panel))
        )
        return predicted
    if kind == "random":  # whole cells, so that genes keep going together
        drawn: NDArray[Any] = known[generator.integers(len(known), size=test.n_obs)]
        return drawn
    middle = known.mean(axis=0) if kind == "simple" else np.median(known, axis=0)
    return np.repeat(middle[None, :], test.n_obs, axis=0)


def _dense(data: Any, genes: list[str]) -> NDArray[Any]:
    part = data[:, genes].X
    matrix: NDArray[Any] = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
    return matrix


def _model(what: str) -> Any:
    from sklearn.linear_model import Ridge, RidgeClassifier  # the simple baselines wait for no scikit-learn
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # Many genes and few cells: a strong penalty.
    return make_pipeline(StandardScaler(), RidgeClassifier(1000.0) if what == "label" else Ridge(1000.0))
