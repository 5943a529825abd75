"""The models that earn a place on a leaderboard: ordinary scikit-learn estimators over a spread of
settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    MultiTaskElasticNet,
    QuantileRegressor,
    Ridge,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


@dataclass(frozen=True)
class Recipe:
    """A named way to make an estimator: the label says model and settings, the seed is given to
    `make`.
    """

    label: str
    estimator: Any
    scaled: bool = True

    def make(self, seed: int) -> Any:
        """Return a fresh pipeline: medians for missing values, standard scores if `scaled`, then
        the model.
        """
        model = clone(self.estimator)
        seeds = {name: seed for name in model.get_params() if name.endswith("random_state")}
        model.set_params(**seeds)
        imputer = SimpleImputer(strategy="median", keep_empty_features=True)
        return (
            make_pipeline(imputer, StandardScaler(), model)
            if self.scaled
            else make_pipeline(imputer, model)
        )


def family(recipe: Recipe) -> str:
    """Return a recipe's label without its setting: `svm rbf by event` of `svm rbf C=1.0 by
    event`.
    """
    return " ".join(word for word in recipe.label.split() if "=" not in word)


def _grid(label: str, make: Callable[..., Any], **choices: list[Any]) -> list[Recipe]:
    """One recipe for each value of each single setting (a list of one value is fixed for all)."""
    fixed = {name: values[0] for name, values in choices.items() if len(values) == 1}
    varied = {name: values for name, values in choices.items() if len(values) > 1}
    if not varied:
        return [Recipe(label, make(**fixed))]
    [(name, values)] = varied.items()
    return [Recipe(f"{label} {name}={value}", make(**fixed, **{name: value})) for value in values]


def _mixed(linear: Any, forest: Any, boosting: Any, svm: Any) -> list[tuple[str, Any]]:
    """The members of a vote or a stack."""
    return [("linear", linear), ("forest", forest), ("boosting", boosting), ("svm", svm)]


def classifiers() -> list[Recipe]:
    """Classifiers that can rank cases by a score."""
    logistic = partial(LogisticRegression, max_iter=2000)
    mixed = _mixed(
        logistic(C=0.1),
        RandomForestClassifier(50, max_depth=8),
        GradientBoostingClassifier(n_estimators=60, max_depth=2),
        make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)),
    )
    return [
        *_grid("logistic", logistic, C=[0.001, 0.01, 0.1, 1.0, 10.0]),
        *_grid(
            "lasso logistic",
            partial(logistic, penalty="l1", solver="liblinear"),
            C=[0.03, 0.1, 0.3, 1.0],
        ),
        *_grid("lda", LinearDiscriminantAnalysis, solver=["lsqr"], shrinkage=[0.01, 0.1, 0.5]),
        *_grid("qda", QuadraticDiscriminantAnalysis, reg_param=[0.1, 0.5]),
        *_grid("naive bayes", GaussianNB),
        *_grid("nearest neighbours", KNeighborsClassifier, n_neighbors=[7, 15, 31, 61]),
        *_grid("bagged neighbours", _bagged_neighbours_classifier, n_neighbors=[7, 15, 31]),
        *_grid("tree", DecisionTreeClassifier, max_depth=[1, 2, 4, 8]),
        *_grid("random forest", RandomForestClassifier, n_estimators=[60], max_depth=[4, 12]),
        *_grid("extra trees", ExtraTreesClassifier, n_estimators=[60], max_depth=[8, 16]),
        *_grid("boosting", GradientBoostingClassifier, n_estimators=[80], max_depth=[1, 2]),
        *_grid(
            "histogram boosting",
            HistGradientBoostingClassifier,
            max_iter=[60],
            learning_rate=[0.05, 0.1],
        ),
        *_grid("adaboost", AdaBoostClassifier, n_estimators=[50]),
        *_grid("svm rbf", SVC, C=[0.1, 1.0, 10.0]),
        *_grid("svm linear", SVC, kernel=["linear"], C=[0.01, 0.1]),
        *_grid("svm cubic", SVC, kernel=["poly"], coef0=[1.0], C=[0.03, 0.3]),
        *_grid(
            "network",
            MLPClassifier,
            hidden_layer_sizes=[(32,)],
            max_iter=[150],
            alpha=[0.1, 1.0, 10.0],
        ),
        *_grid("gaussian process", _gaussian_process_classifier, length_scale=[5.0, 15.0]),
        *_grid("splines", _spline_classifier, C=[0.003, 0.03, 0.3]),
        *_grid("products", _product_classifier, C=[0.0003, 0.003, 0.03]),
        *_grid("nystroem", _nystroem_classifier, gamma=[0.003, 0.01, 0.03]),
        *_grid("vote", partial(VotingClassifier, mixed, voting="soft")),
        *_grid("stack", partial(StackingClassifier, mixed, cv=3)),
    ]


def regressors() -> list[Recipe]:
    """Regressors of one target."""
    mixed = _mixed(
        Ridge(10.0),
        RandomForestRegressor(50, max_depth=8),
        GradientBoostingRegressor(n_estimators=60, max_depth=2),
        make_pipeline(StandardScaler(), _Scaled(SVR())),
    )
    return [
        *_grid("ridge", Ridge, alpha=[0.1, 1.0, 10.0, 100.0, 1000.0]),
        *_grid("lasso", Lasso, alpha=[0.03, 0.3, 3.0], max_iter=[5000]),
        *_grid("elastic net", ElasticNet, alpha=[0.03, 0.1, 1.0], max_iter=[5000]),
        *_grid("bayesian ridge", BayesianRidge),
        *_grid("huber", HuberRegressor, alpha=[0.01, 10.0], max_iter=[1000]),
        *_grid("quantile", QuantileRegressor, alpha=[0.003], solver=["highs"]),
        *_grid("kernel ridge", _kernel_ridge, gamma=[0.001, 0.01, 0.1]),
        *_grid("partial least squares", PLSRegression, n_components=[1, 2, 4]),
        *_grid("nearest neighbours", KNeighborsRegressor, n_neighbors=[7, 15, 31]),
        *_grid("bagged neighbours", _bagged_neighbours_regressor, n_neighbors=[7, 15, 31]),
        *_grid("tree", DecisionTreeRegressor, max_depth=[1, 2, 3, 5, 9]),
        *_grid("random forest", RandomForestRegressor, n_estimators=[60], max_depth=[4, 8]),
        *_grid("extra trees", ExtraTreesRegressor, n_estimators=[60], max_depth=[4, 8]),
        *_grid("boosting", GradientBoostingRegressor, n_estimators=[80], max_depth=[1, 2]),
        *_grid(
            "absolute boosting",
            partial(GradientBoostingRegressor, loss="absolute_error"),
            n_estimators=[80],
            max_depth=[1, 2],
        ),
        *_grid(
            "histogram boosting",
            HistGradientBoostingRegressor,
            max_iter=[60],
            learning_rate=[0.05, 0.1],
        ),
        *_grid("adaboost", AdaBoostRegressor, n_estimators=[50]),
        *_grid("svm rbf", _Scaled.of(SVR), C=[0.3, 1.0, 3.0]),
        *_grid("svm linear", _Scaled.of(SVR), kernel=["linear"], C=[0.01, 0.1]),
        *_grid(
            "network",
            _Scaled.of(MLPRegressor),
            hidden_layer_sizes=[(32,)],
            max_iter=[150],
            alpha=[0.1, 1.0, 10.0],
        ),
        *_grid("gaussian process", _gaussian_process_regressor, length_scale=[3.0, 10.0, 30.0]),
        *_grid("splines", _spline_regressor, alpha=[1.0, 10.0, 100.0]),
        *_grid("products", _product_regressor, alpha=[10.0, 100.0, 1000.0]),
        *_grid("nystroem", _nystroem_regressor, gamma=[0.001, 0.003, 0.01]),
        *_grid("vote", partial(VotingRegressor, mixed)),
        *_grid("stack", partial(StackingRegressor, mixed, cv=3)),
    ]


def many_target_regressors() -> list[Recipe]:
    """Regressors of several hundred targets at once."""
    return [
        *_grid("ridge", Ridge, alpha=[1.0, 30.0, 300.0, 1000.0, 3000.0]),
        *_grid("partial least squares", PLSRegression, n_components=[1, 3, 6, 12]),
        *_grid("principal components", _principal_components, n_components=[2, 5, 10, 20, 40]),
        *_grid("nearest neighbours", KNeighborsRegressor, n_neighbors=[5, 15, 40]),
        *_grid("bagged neighbours", _bagged_neighbours_regressor, n_neighbors=[7, 15, 31]),
        *_grid("kernel ridge", _kernel_ridge, gamma=[0.0003, 0.001, 0.003]),
        *_grid("gaussian process", _gaussian_process_regressor, length_scale=[10.0, 20.0, 40.0]),
        *_grid("nystroem", _nystroem_regressor, gamma=[0.0003, 0.001, 0.003]),
        *_grid("elastic net", partial(MultiTaskElasticNet, l1_ratio=0.2), alpha=[0.1, 0.3, 1.0]),
        *_grid("tree", DecisionTreeRegressor, max_depth=[2, 3, 5]),
        *_grid(
            "random forest",
            partial(RandomForestRegressor, max_features=0.1),
            n_estimators=[60],
            max_depth=[4, 8],
        ),
        *_grid(
            "extra trees",
            partial(ExtraTreesRegressor, max_features=0.2),
            n_estimators=[60],
            max_depth=[4, 10],
        ),
        *_grid(
            "network",
            MLPRegressor,
            hidden_layer_sizes=[(32,)],
            max_iter=[150],
            alpha=[1.0, 10.0, 100.0],
        ),
    ]


def label_classifiers() -> list[Recipe]:
    """Classifiers of several classes, for predicted labels of cells."""
    balanced = {"class_weight": ["balanced"], "max_iter": [2000]}
    on_components = {
        "lda": LinearDiscriminantAnalysis(),
        "naive bayes": GaussianNB(),
        "centroid": NearestCentroid(),
        "svm": SVC(C=3.0, class_weight="balanced"),
        "network": MLPClassifier((64,), alpha=3.0),
        "neighbours": KNeighborsClassifier(10),
    }
    return [
        *classifiers(),
        *_grid("balanced logistic", LogisticRegression, C=[0.001, 0.01, 0.1], **balanced),
        *_grid("nearest centroid", NearestCentroid),
        *(
            Recipe(f"components {name} n={count}", make_pipeline(PCA(count), model), scaled=False)
            for name, model in on_components.items()
            for count in (10, 15, 25)
        ),
    ]


class _Scaled(TransformedTargetRegressor):
    """A regressor of standard scores, in the target's unit."""

    def __init__(self, regressor: Any = None) -> None:
        super().__init__(regressor, transformer=StandardScaler())

    @staticmethod
    def of(kind: Callable[..., Any]) -> Callable[..., Any]:
        """The same kind of estimator, of standard scores."""
        return lambda **settings: _Scaled(kind(**settings))


def _kernel_ridge(gamma: float) -> Any:
    return _Scaled(KernelRidge(kernel="rbf", gamma=gamma, alpha=1.0))


def _bagged_neighbours_classifier(n_neighbors: int) -> Any:
    return BaggingClassifier(KNeighborsClassifier(n_neighbors), 20, max_features=0.5)


def _bagged_neighbours_regressor(n_neighbors: int) -> Any:
    return BaggingRegressor(KNeighborsRegressor(n_neighbors), 20, max_features=0.5)


def _gaussian_process_classifier(length_scale: float) -> Any:
    return GaussianProcessClassifier(RBF(length_scale), optimizer=None)


def _gaussian_process_regressor(length_scale: float) -> Any:
    return _Scaled(GaussianProcessRegressor(RBF(length_scale), alpha=0.5, optimizer=None))


def _spline_classifier(C: float) -> Any:
    return make_pipeline(
        SplineTransformer(5, degree=2), StandardScaler(), LogisticRegression(C=C, max_iter=2000)
    )


def _spline_regressor(alpha: float) -> Any:
    return make_pipeline(SplineTransformer(5, degree=2), StandardScaler(), Ridge(alpha))


def _product_classifier(C: float) -> Any:
    return make_pipeline(
        PolynomialFeatures(), StandardScaler(), LogisticRegression(C=C, max_iter=2000)
    )


def _product_regressor(alpha: float) -> Any:
    return make_pipeline(PolynomialFeatures(), StandardScaler(), Ridge(alpha))


def _nystroem_classifier(gamma: float) -> Any:
    return make_pipeline(
        Nystroem(gamma=gamma, n_components=150), LogisticRegression(C=3.0, max_iter=2000)
    )


def _nystroem_regressor(gamma: float) -> Any:
    return make_pipeline(Nystroem(gamma=gamma, n_components=150), Ridge(0.1))


def _principal_components(n_components: int) -> Any:
    return make_pipeline(PCA(n_components), Ridge(1.0))
