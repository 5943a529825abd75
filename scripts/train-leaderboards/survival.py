"""Survival models out of NumPy and scikit-learn: each predicts a score that is higher for those who
live longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from models import Recipe, classifiers, family, regressors
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler


def _risk_sets(time: np.ndarray, event: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the event times, the number of events at each and the number at risk just before
    each.
    """
    times, deaths = np.unique(time[event > 0], return_counts=True)
    at_risk = len(time) - np.searchsorted(np.sort(time), times, side="left")
    return times, deaths, at_risk


def martingale_residuals(time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Return event − cumulative hazard (Nelson-Aalen) at each time: what a regressor of risk can be
    fitted to.

    T. M. Therneau, P. M. Grambsch, T. R. Fleming. Martingale-based residuals for survival models.
    Biometrika 77, 1990.
    """
    times, deaths, at_risk = _risk_sets(time, event)
    hazard = np.concatenate([[0.0], np.cumsum(deaths / at_risk)])
    return event - hazard[np.searchsorted(times, time, side="right")]


class CoxRidge(BaseEstimator):
    """Cox's proportional hazards with Breslow's ties and an L2 penalty, fitted by Newton's
    method.
    """

    def __init__(self, penalty: float = 1.0) -> None:
        self.penalty = penalty

    def fit(self, matrix: np.ndarray, outcome: np.ndarray) -> CoxRidge:
        """Fit to `outcome`, shape (rows, 2): time and event."""
        time, event = outcome[:, 0], outcome[:, 1]
        order = np.argsort(-time, kind="stable")
        x, time, event = matrix[order], time[order], event[order] > 0
        # The last row of each group of equal times closes its risk set.
        last = np.searchsorted(-time, -time, side="right") - 1
        beta = np.zeros(x.shape[1])
        for _ in range(30):
            weight = np.exp(np.clip(x @ beta, -30, 30))
            total = np.cumsum(weight)[last][event]
            first = np.cumsum(weight[:, None] * x, axis=0)[last][event] / total[:, None]
            share = np.zeros(len(x))
            np.add.at(share, last[event], 1.0 / total)
            share = np.cumsum(share[::-1])[::-1] * weight
            gradient = (x[event] - first).sum(axis=0) - self.penalty * beta
            hessian = (
                (x * share[:, None]).T @ x - first.T @ first + self.penalty * np.eye(len(beta))
            )
            step = np.linalg.solve(hessian, gradient)
            beta += step * min(1.0, 1.0 / (np.abs(step).max() + 1e-12))
            if np.abs(step).max() < 1e-8:
                break
        self.beta_ = beta
        return self

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """Return minus the log hazard ratio, shape (rows,)."""
        return -(matrix @ self.beta_)


class ResidualRegressor(BaseEstimator):
    """Any regressor, fitted to martingale residuals."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, matrix: np.ndarray, outcome: np.ndarray) -> ResidualRegressor:
        """Fit to `outcome`, shape (rows, 2): time and event."""
        self.model_ = clone(self.estimator).fit(
            matrix, martingale_residuals(outcome[:, 0], outcome[:, 1])
        )
        return self

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """Return minus the predicted residual, shape (rows,)."""
        return -np.ravel(self.model_.predict(matrix))


class HorizonClassifier(BaseEstimator):
    """Any classifier of "had the event"; those censored before the median time are left out."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, matrix: np.ndarray, outcome: np.ndarray) -> HorizonClassifier:
        """Fit to `outcome`, shape (rows, 2): time and event."""
        known = (outcome[:, 1] > 0) | (outcome[:, 0] >= np.median(outcome[:, 0]))
        self.model_ = clone(self.estimator).fit(matrix[known], outcome[known, 1].astype(int))
        return self

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """Return minus the probability of the event, shape (rows,)."""
        if hasattr(self.model_, "predict_proba"):
            return -self.model_.predict_proba(matrix)[:, 1]
        return -self.model_.decision_function(matrix)


_ON_RESIDUALS = (
    "random forest", "extra trees", "boosting", "histogram boosting", "svm rbf", "gaussian process",
    "splines",
    "products", "nystroem", "bagged neighbours", "network", "vote", "stack",
)  # fmt: skip
_BY_EVENT = (
    "random forest", "extra trees", "boosting", "svm rbf", "gaussian process", "splines",
    "lasso logistic", "lda",
    "nystroem", "bagged neighbours", "naive bayes", "vote", "stack",
)  # fmt: skip
"""Families that are turned into survival models either way."""


@dataclass(frozen=True)
class _Kind:
    name: str
    wrapper: type
    recipes: list[Recipe]
    families: tuple[str, ...]


def survival_models() -> list[Recipe]:
    """Cox models, and regressors and classifiers turned into survival models."""
    cox = [
        Recipe(f"cox penalty={value:g}", CoxRidge(value))
        for value in (0.1, 1.0, 10.0, 100.0, 1000.0)
    ]
    splines = [
        Recipe(
            f"cox splines penalty={value:g}",
            make_pipeline(SplineTransformer(5, degree=2), StandardScaler(), CoxRidge(value)),
        )
        for value in (3.0, 30.0, 300.0)
    ]
    kinds = [
        _Kind("on residuals", ResidualRegressor, regressors(), _ON_RESIDUALS),
        _Kind("by event", HorizonClassifier, classifiers(), _BY_EVENT),
    ]
    wrapped = [
        Recipe(f"{recipe.label} {kind.name}", kind.wrapper(recipe.estimator))
        for kind in kinds
        for recipe in kind.recipes
        if family(recipe) in kind.families
    ]
    return [*cox, *splines, *wrapped]
