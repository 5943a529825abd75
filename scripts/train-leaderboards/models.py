"""The models that earn a place on a leaderboard: ordinary scikit-learn estimators over a spread of settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


@dataclass(frozen=True)
class Recipe:
    """A named way to make an estimator: the label says model and settings, the seed is given to `make`."""

    label: str
    estimator: Any

    def make(self, seed: int) -> Any:
        """Return a fresh pipeline: medians for missing values, standard scores, then the model."""
        model = clone(self.estimator)
        seeds = {name: seed for name in model.get_params() if name.endswith("random_state")}
        model.set_params(**seeds)
        return make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler(), model
        )


def _grid(label: str, make: Callable[..., Any], **choices: list[Any]) -> list[Recipe]:
    """One recipe for each value of each single setting (a list of one value is fixed for all)."""
    fixed = {name: values[0] for name, values in choices.items() if len(values) == 1}
    varied = {name: values for name, values in choices.items() if len(values) > 1}
    if not varied:
        return [Recipe(label, make(**fixed))]
    [(name, values)] = varied.items()
    return [Recipe(f"{label} {name}={value}", make(**fixed, **{name: value})) for value in values]


def classifiers() -> list[Recipe]:
    """Classifiers that can rank cases by a score."""
    return [
        *_grid("dummy", DummyClassifier, strategy=["prior"]),
        *_grid("logistic", LogisticRegression, C=[0.001, 0.01, 0.1, 1.0, 10.0], max_iter=[2000]),
        *_grid("lda", LinearDiscriminantAnalysis, solver=["lsqr"], shrinkage=[0.01, 0.1, 0.5]),
        *_grid("qda", QuadraticDiscriminantAnalysis, solver=["eigen"], shrinkage=[0.1, 0.5]),
        *_grid("naive bayes", GaussianNB),
        *_grid("nearest neighbours", KNeighborsClassifier, n_neighbors=[1, 3, 7, 15, 31]),
        *_grid("tree", DecisionTreeClassifier, max_depth=[1, 2, 4, 8]),
        *_grid("random forest", RandomForestClassifier, n_estimators=[60], max_depth=[2, 5, 12]),
        *_grid("extra trees", ExtraTreesClassifier, n_estimators=[60], max_depth=[3, 8, 16]),
        *_grid("boosting", GradientBoostingClassifier, n_estimators=[30], learning_rate=[0.03, 0.1, 0.3]),
        *_grid("svm rbf", SVC, C=[0.1, 1.0, 10.0]),
        *_grid("svm linear", SVC, kernel=["linear"], C=[0.01, 0.1]),
    ]


def regressors() -> list[Recipe]:
    """Regressors of one target."""
    return [
        *_grid("mean", DummyRegressor, strategy=["mean"]),
        *_grid("median", DummyRegressor, strategy=["median"]),
        *_grid("ridge", Ridge, alpha=[0.1, 1.0, 10.0, 100.0, 1000.0]),
        *_grid("lasso", Lasso, alpha=[0.03, 0.3, 3.0], max_iter=[5000]),
        *_grid("elastic net", ElasticNet, alpha=[0.1, 1.0], max_iter=[5000]),
        *_grid("bayesian ridge", BayesianRidge),
        *_grid("huber", HuberRegressor, alpha=[0.01, 10.0], max_iter=[1000]),
        *_grid("quantile", QuantileRegressor, alpha=[0.001, 0.1], solver=["highs"]),
        *_grid("kernel ridge", KernelRidge, kernel=["rbf"], gamma=[0.001, 0.01, 0.1]),
        *_grid("partial least squares", PLSRegression, n_components=[1, 2]),
        *_grid("nearest neighbours", KNeighborsRegressor, n_neighbors=[1, 3, 7, 15, 31]),
        *_grid("tree", DecisionTreeRegressor, max_depth=[1, 2, 3, 5, 9]),
        *_grid("random forest", RandomForestRegressor, n_estimators=[40], max_depth=[2, 4, 8]),
        *_grid("extra trees", ExtraTreesRegressor, n_estimators=[40], max_depth=[3, 6, 12]),
        *_grid("boosting", GradientBoostingRegressor, n_estimators=[40], learning_rate=[0.03, 0.1, 0.3]),
        *_grid("svm rbf", SVR, C=[1.0, 10.0, 100.0]),
    ]


def many_target_regressors() -> list[Recipe]:
    """Regressors of several hundred targets at once."""
    return [
        *_grid("mean", DummyRegressor, strategy=["mean"]),
        *_grid("ridge", Ridge, alpha=[1.0, 30.0, 300.0, 1000.0, 3000.0]),
        *_grid("partial least squares", PLSRegression, n_components=[1, 3, 6, 12]),
        *_grid("nearest neighbours", KNeighborsRegressor, n_neighbors=[1, 5, 15, 40]),
        *_grid("kernel ridge", KernelRidge, kernel=["rbf"], gamma=[0.0003, 0.001, 0.003], alpha=[1.0]),
        *_grid("tree", DecisionTreeRegressor, max_depth=[2, 5]),
        *_grid("extra trees", ExtraTreesRegressor, n_estimators=[30], max_depth=[4, 10]),
        *_grid("network", MLPRegressor, hidden_layer_sizes=[(32,)], max_iter=[150], alpha=[1.0, 10.0]),
    ]


def label_classifiers() -> list[Recipe]:
    """Classifiers of several classes, for predicted labels."""
    return [*classifiers(), *_grid("nearest centroid", NearestCentroid)]


def with_components(recipes: list[Recipe], count: int) -> list[Recipe]:
    """The same recipes after a principal component analysis to `count` components."""
    return [
        Recipe(
            f"{recipe.label} on {count} components",
            make_pipeline(PCA(count, random_state=0), recipe.estimator),
        )
        for recipe in recipes
    ]
