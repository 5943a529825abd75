"""The chance of a medal beside the truth: real models on scikit-learn's data, boards of 19 of them,
new test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bioeval_tui.grade.chances import medal_chances
from bioeval_tui.grade.rivals import DRAWS
from bioeval_tui.grading import medal_places
from bioeval_tui.statistics.p_values import holm, t_test_p

Scores = Callable[[np.ndarray], np.ndarray]
"""Counts of rows, shape (draws, rows), to the models' scores, shape (draws, models), higher is
better.
"""


class Shown(NamedTuple):
    """What is shown for one submission on one board, and the truth."""

    fit: int
    """The models, and so the true values, that several boards share."""
    medal: str
    paired: bool
    earned: bool
    chance: float
    truth: float


def _classifiers() -> list[Any]:
    return [
        *[LogisticRegression(C=c, max_iter=300) for c in (0.001, 0.003, 0.01, 0.03, 0.1, 1, 10)],
        *[KNeighborsClassifier(k) for k in (5, 15, 30)],
        GaussianNB(),
        *[
            RandomForestClassifier(40, random_state=s, max_depth=d)
            for s in (0, 1)
            for d in (3, None)
        ],
        *[ExtraTreesClassifier(40, random_state=s) for s in (0, 1, 2, 3, 4)],
    ]


def _regressors() -> list[Any]:
    return [
        *[Ridge(a) for a in (0.001, 0.01, 0.1, 1, 10, 100, 300, 1000, 10_000)],
        *[KNeighborsRegressor(k) for k in (5, 10, 15, 20, 40)],
        *[
            RandomForestRegressor(30, random_state=s, max_depth=d)
            for s in (0, 1)
            for d in (3, 5, None)
        ],
    ]


def _areas(true: np.ndarray, guesses: list[np.ndarray]) -> Scores:
    positive, negative = np.flatnonzero(true == 1), np.flatnonzero(true == 0)
    won = [
        ((p := guess[positive][:, None]) > (n := guess[negative])) + 0.5 * (p == n)
        for guess in guesses
    ]
    tables = [each.astype(np.float32) for each in won]

    def scores(counts: np.ndarray) -> np.ndarray:
        of, to = counts[:, positive].astype(np.float32), counts[:, negative].astype(np.float32)
        pairs = of.sum(axis=1) * to.sum(axis=1)
        return np.column_stack(
            [((of @ table) * to).sum(axis=1) / pairs for table in tables]
        ).astype(float)

    return scores


def _errors(true: np.ndarray, guesses: list[np.ndarray]) -> Scores:
    errors = np.column_stack([-np.abs(guess - true) for guess in guesses])
    return lambda counts: counts @ errors / counts.sum(axis=1, keepdims=True)


def _fits(
    random: np.random.Generator,
) -> Iterator[tuple[np.ndarray, list[np.ndarray], Scores, int]]:
    """Yield ten kinds of board, fitted anew: the truth and each model's predictions of rows held
    out, and a test set's size.
    """
    cancer, is_benign = load_breast_cancer(return_X_y=True)
    digits, digit = load_digits(return_X_y=True)
    diabetes, progress = load_diabetes(return_X_y=True)

    def noisy(inputs: np.ndarray, noise: float) -> np.ndarray:
        return inputs + random.normal(size=inputs.shape) * inputs.std(axis=0) * noise

    def blurred(inputs: np.ndarray, noise: float) -> np.ndarray:
        return inputs + random.normal(size=inputs.shape) * noise

    for inputs, true, models, scored, rows in (
        (cancer, is_benign, _classifiers(), _areas, 171),
        (noisy(cancer, 1), is_benign, _classifiers(), _areas, 171),
        (noisy(cancer, 3), is_benign, _classifiers(), _areas, 171),
        (noisy(cancer[:, :5], 1), is_benign, _classifiers(), _areas, 100),
        (blurred(digits[:900], 10), digit[:900] % 2, _classifiers(), _areas, 250),
        (blurred(digits[900:], 5), digit[900:] > 4, _classifiers(), _areas, 250),
        (blurred(digits[:900], 8), np.isin(digit[:900], (3, 8)), _classifiers(), _areas, 200),
        (diabetes, progress, _regressors(), _errors, 133),
        (noisy(diabetes, 1), progress, _regressors(), _errors, 133),
        (blurred(digits[:900], 3), digit[:900], _regressors(), _errors, 200),
    ):
        order = random.permutation(len(true))
        known, held = order[:150], order[150:]
        guesses = []
        for model in models:
            fitted = make_pipeline(StandardScaler(), model).fit(inputs[known], true[known])
            proba = hasattr(model, "predict_proba")
            guesses.append(
                fitted.predict_proba(inputs[held])[:, 1] if proba else fitted.predict(inputs[held])
            )
        yield true[held].astype(float), guesses, scored, rows


def shown_chances(boards: int, seed: int, each: int = 4) -> Iterator[Shown]:
    """Yield the chances of gold, and of any medal, of `each` models on so many boards, with and
    without their rivals' files.

    The truth is the share of 1,500 new test sets on which the model has the medal: with all models
    scored on them, or with the board as it is. Six boards share fitted models.
    """
    random = np.random.default_rng(seed)
    fits = (fit for _ in range(-(-boards // 60)) for fit in _fits(random))
    for number, (true, guesses, scored, rows) in enumerate(fits):
        everyone, count = np.full(len(true), 1 / len(true)), len(guesses)
        fresh = scored(true, guesses)(random.multinomial(rows, everyone, 1500))
        for _ in range(6):
            rows_of_board = random.integers(0, len(true), rows)
            score = scored(true[rows_of_board], [guess[rows_of_board] for guess in guesses])
            seen = score(np.ones((1, rows), dtype=np.int64))[0]
            drawn = score(random.multinomial(rows, np.full(rows, 1 / rows), DRAWS))
            for model in random.choice(count, each, replace=False):
                order = [model, *[other for other in range(count) if other != model]]
                for paired in (True, False):
                    yield from _shown(number, seen[order], drawn[:, order], fresh[:, order], paired)


def _shown(
    number: int, seen: np.ndarray, drawn: np.ndarray, fresh: np.ndarray, paired: bool
) -> Iterator[Shown]:
    """Yield the chances of the first model."""
    entries = len(seen) - 1
    places = medal_places(entries)
    gold, silver, bronze = medal_chances(seen, drawn if paired else drawn[:, :1], entries)
    rivals = fresh[:, 1:] if paired else seen[None, 1:]
    better = (rivals > fresh[:, :1]).sum(axis=1)
    place = int((seen[1:] > seen[0]).sum())
    for medal, chance, last in (
        ("gold", gold, places.gold),
        ("any", gold + silver + bronze, places.bronze),
    ):
        yield Shown(number, medal, paired, place < last, chance, float((better < last).mean()))


class Bin(NamedTuple):
    """Chances of about the same size: how many of how many fits, their mean, the truth's mean, and
    a test of the difference.
    """

    count: int
    fits: int
    chance: float
    truth: float
    error: float
    """The standard error of the difference.

    Boards of one fit share their models, so fits are the independent units.
    """
    p: float
    """That of a t test with fits − 1 degrees of freedom, corrected for all bins (Holm)."""


def in_bins(found: list[Shown], bins: int = 5) -> list[Bin]:
    """Return equal bins of the chances, from 0 to 1, without empty ones and those of a single
    fit.
    """
    made = []
    for number in range(bins):
        those = [each for each in found if int(each.chance * bins) == number]
        fits = np.unique([each.fit for each in those])
        if len(fits) < 2:
            continue
        off = np.array([each.truth - each.chance for each in those])
        away = off - off.mean()
        sums = np.array([away[[each.fit == fit for each in those]].sum() for fit in fits])
        error = float(np.sqrt((sums**2).sum() * len(fits) / (len(fits) - 1))) / len(those)
        p = t_test_p(float(off.mean()) / error, len(fits) - 1)
        chance, truth = (
            float(np.mean([getattr(e, side) for e in those])) for side in ("chance", "truth")
        )
        made.append(Bin(len(those), len(fits), chance, truth, error, p))
    adjusted = holm(dict(enumerate(each.p for each in made)))
    return [each._replace(p=adjusted[number]) for number, each in enumerate(made)]
