"""Which models are trained for which task, and how: every family tuned on the training data, then
fitted to all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
from features import molecule_features, peptide_features
from models import (
    Recipe,
    classifiers,
    family,
    label_classifiers,
    many_target_regressors,
    regressors,
)
from scoring import METRICS, concordance_index
from sklearn.model_selection import KFold
from survival import survival_models

FOLDS = 3
SEED = 0

REFERENCE = ("ridge", "logistic", "cox")
"""The plain linear family of a task is its reference line and no entry."""

LOWER_IS_BETTER = ("mean_absolute_error", "rmse")


def is_reference(name: str, families: list[str]) -> bool:
    """Whether a family is the reference: the first of `REFERENCE` that the task has."""
    return name == next((one for one in reversed(REFERENCE) if one in families), None)


@dataclass(frozen=True)
class Tuned:
    """A family with the setting that was best in cross-validation on the training rows, and how
    good it was.
    """

    family: str
    recipe: Recipe
    goodness: float

    @property
    def team(self) -> str:
        """The name on the board: it says how to train the same model again."""
        return f"{self.recipe.label} / seed {SEED}"


def tuned(
    recipes: list[Recipe],
    matrix: np.ndarray,
    outcome: np.ndarray,
    goodness: Callable[[Any, Any], float],
) -> Iterator[Tuned]:
    """Yield every family with its best setting: the reference first, then those that beat it on the
    training rows.

    Args:
        recipes: all settings of all families.
        matrix, outcome: the training rows.
        goodness: of outcome and prediction, higher is better; its mean over `FOLDS` folds chooses
            the setting, and whether the family is worth a place. The test rows play no part.
    """
    families = list(dict.fromkeys(family(recipe) for recipe in recipes))
    least = None
    for name in sorted(families, key=lambda name: not is_reference(name, families)):
        settings = [recipe for recipe in recipes if family(recipe) == name]
        found = [(_in_folds(recipe, matrix, outcome, goodness), recipe) for recipe in settings]
        best = max(
            (pair for pair in found if np.isfinite(pair[0])), key=lambda pair: pair[0], default=None
        )
        if best is None:
            print(f"{name} cannot be fitted and is left out", file=sys.stderr)
            continue
        if least is not None and best[0] <= least:
            print(
                f"{name} ({best[0]:.5f}) is no better than the reference ({least:.5f})",
                file=sys.stderr,
            )
            continue
        least = best[0] if least is None else least
        yield Tuned(name, best[1], best[0])


def _in_folds(
    recipe: Recipe, matrix: np.ndarray, outcome: np.ndarray, goodness: Callable[[Any, Any], float]
) -> float:
    found = []
    for known, held in KFold(FOLDS, shuffle=True, random_state=0).split(matrix):
        try:
            model = recipe.make(0).fit(matrix[known], outcome[known])
            found.append(goodness(outcome[held], scores(model, matrix[held])))
        except (
            ValueError,
            np.linalg.LinAlgError,
        ):  # more components than columns, or one class in a fold
            return float("nan")
    return float(np.mean(found))


def better(metric: str) -> Callable[[Any, Any], float]:
    """Return a metric so that higher is better; for survival the outcome holds time and event."""
    if metric == "concordance_index":
        return lambda outcome, guess: concordance_index(outcome[:, 0], outcome[:, 1], guess)
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    return lambda outcome, guess: sign * METRICS[metric](outcome, guess)


@dataclass(frozen=True)
class CsvPlan:
    """How the board of one CSV task is earned: `features` turns train and test frame into numeric
    matrices.
    """

    task: str
    target: str
    metric: str
    recipes: list[Recipe]
    features: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    hidden: tuple[str, ...] = ()

    def submissions(self, public: Path) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Tune and train on `public`/train.csv; yield each family, its entry's name and its
        submission.
        """
        train, test = pd.read_csv(public / "train.csv"), pd.read_csv(public / "test.csv")
        sample = pd.read_csv(public / "sample_submission.csv")
        secret = ["id", self.target, *self.hidden]
        inputs = pd.concat([train.drop(columns=secret), test.drop(columns="id")], ignore_index=True)
        matrix = self.features(inputs).astype(float).to_numpy()
        known, unknown = matrix[: len(train)], matrix[len(train) :]
        outcome = self.outcome(train)
        for entry in tuned(self.recipes, known, outcome, better(self.metric)):
            predicted = scores(entry.recipe.make(SEED).fit(known, outcome), unknown)
            yield entry.family, entry.team, sample.assign(**{sample.columns[1]: predicted})

    def answers(self, private: Path) -> pd.DataFrame:
        """Return the answers that the submissions are scored against."""
        return pd.read_csv(private / "answers.csv")

    def outcome(self, train: pd.DataFrame) -> np.ndarray:
        """Return what models are fitted to."""
        return train[self.target].to_numpy()


@dataclass(frozen=True)
class SurvivalPlan(CsvPlan):
    """A CSV plan whose models are fitted to time (`target`) and event (the first hidden column)."""

    def outcome(self, train: pd.DataFrame) -> np.ndarray:
        """Return time and event, shape (rows, 2)."""
        return train[[self.target, self.hidden[0]]].to_numpy(dtype=float)


@dataclass(frozen=True)
class CellPlan:
    """How the board of a single-cell task is earned: on the 400 genes with the highest variance,
    log expression.

    With `label` set, models predict that column of obs; without, the genes that test.h5ad lacks.
    """

    task: str
    metric: str
    recipes: list[Recipe]
    label: str | None = None
    genes: int = 400

    def submissions(self, public: Path) -> Iterator[tuple[str, str, np.ndarray]]:
        """Tune and train; yield each family, its entry's name and its predictions for the cells of
        test.h5ad, in order.
        """
        train, test = (
            anndata.read_h5ad(public / "train.h5ad"),
            anndata.read_h5ad(public / "test.h5ad"),
        )
        hidden = [gene for gene in train.var_names if gene not in set(test.var_names)]
        known, unknown = train[:, test.var_names].X.toarray(), test.X.toarray()
        outcome = (
            train.obs[self.label].astype(str).to_numpy()
            if self.label
            else train[:, hidden].X.toarray()
        )
        columns = np.argsort(-known.var(axis=0), kind="stable")[: self.genes]
        known, unknown = known[:, columns], unknown[:, columns]
        goodness = better(self.metric)
        for entry in tuned([Labelled(recipe) for recipe in self.recipes], known, outcome, goodness):
            yield (
                entry.family,
                entry.team,
                entry.recipe.make(SEED).fit(known, outcome).predict(unknown),
            )

    def ids(self, private: Path) -> list[str]:
        """Return the names of the cells, in the order of the submissions."""
        return list(anndata.read_h5ad(private / "answers.h5ad").obs_names)

    def answers(self, private: Path) -> np.ndarray:
        """Return the labels, or the matrix of hidden genes, in the order of the submissions."""
        answers = anndata.read_h5ad(private / "answers.h5ad")
        return answers.obs[self.label].astype(str).to_numpy() if self.label else answers.X.toarray()


class Labelled:
    """A recipe whose models offer nothing but `predict`: labels, or many targets at once."""

    def __init__(self, recipe: Recipe) -> None:
        self.label = recipe.label
        self._recipe = recipe

    def make(self, seed: int) -> Any:
        """Return the recipe's pipeline behind its `fit` and `predict`."""
        return _Predicting(self._recipe.make(seed))


class _Predicting:
    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, matrix: np.ndarray, outcome: np.ndarray) -> _Predicting:
        self._model.fit(matrix, outcome)
        return self

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        found: np.ndarray = self._model.predict(matrix)
        return found


def scores(model: Any, matrix: np.ndarray) -> np.ndarray:
    """Return a probability, a decision value or a prediction per row, whatever the model offers
    first.
    """
    if hasattr(model, "predict_proba"):
        return model.predict_proba(matrix)[:, 1]
    if hasattr(model, "decision_function"):
        return model.decision_function(matrix)
    found: np.ndarray = model.predict(matrix)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def _without(recipes: list[Recipe], *families: str) -> list[Recipe]:
    """The recipes without families that would take minutes on a task's rows or columns."""
    return [recipe for recipe in recipes if family(recipe) not in families]


_MANY_ROWS = ("gaussian process", "vote", "stack", "products", "splines", "svm rbf", "svm cubic")
_MANY_COLUMNS = (
    "gaussian process",
    "vote",
    "stack",
    "products",
    "splines",
    "histogram boosting",
    "adaboost",
)

PLANS: list[CsvPlan | CellPlan] = [
    CsvPlan("oncology/breast-cancer", "malignant", "roc_auc", classifiers()),
    CsvPlan(
        "chemistry/solubility",
        "log_solubility",
        "mean_absolute_error",
        _without(regressors(), "products", "quantile", "stack", "splines"),
        features=molecule_features,
    ),
    CsvPlan(
        "obstetrics/fetal-heart", "abnormal", "roc_auc", _without(classifiers(), "gaussian process")
    ),
    SurvivalPlan(
        "oncology/recurrence", "months", "concordance_index", survival_models(), hidden=("event",)
    ),
    CsvPlan(
        "proteins/antimicrobial-peptides",
        "antimicrobial",
        "average_precision",
        _without(classifiers(), *_MANY_ROWS),
        features=peptide_features,
    ),
    CellPlan(
        "single-cell/pbmc-cell-types",
        "f1_macro",
        _without(label_classifiers(), *_MANY_COLUMNS),
        "cell_type",
    ),
    CellPlan("single-cell/pbmc-gene-panel", "rmse", many_target_regressors()),
]
