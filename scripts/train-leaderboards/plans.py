"""Which models are trained for which task: the crossing of recipes, feature sets, sample sizes and seeds."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
from features import peptide_features, smiles_features
from models import Recipe, classifiers, label_classifiers, many_target_regressors, regressors
from survival import survival_models

Views = dict[str, list[str]]


@dataclass(frozen=True)
class Entry:
    """One leaderboard entry to be: a recipe on some columns and the first `rows` training rows."""

    recipe: Recipe
    view: str
    rows: int | None
    seed: int

    @property
    def team(self) -> str:
        """The name on the board: it says how to train the same model again."""
        size = "all rows" if self.rows is None else f"{self.rows} rows"
        return " / ".join([self.recipe.label, self.view, size, f"seed {self.seed}"])


@dataclass(frozen=True)
class CsvPlan:
    """How the board of one CSV task is earned.

    `features` turns train and test frame into numeric matrices with the same columns; `views` names
    subsets of them, the first one of all. Every recipe enters with all columns and rows; the rest, up to
    `limit` entries, are drawn from the full crossing in an order that depends on nothing but their names.
    """

    task: str
    target: str
    recipes: list[Recipe]
    views: Callable[[list[str]], Views]
    rows: list[int | None]
    limit: int
    seeds: list[int] = field(default_factory=lambda: [0])
    features: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    hidden: tuple[str, ...] = ()

    def entries(self, columns: list[str]) -> list[Entry]:
        """Return the entries to train."""
        views = self.views(columns)
        crossing = [Entry(*parts) for parts in product(self.recipes, views, self.rows, self.seeds)]
        return shuffled(crossing, next(iter(views)))[: self.limit]

    def submissions(self, public: Path) -> Iterator[tuple[str, pd.DataFrame]]:
        """Train every entry on `public`/train.csv and yield its name and submission."""
        train, test = pd.read_csv(public / "train.csv"), pd.read_csv(public / "test.csv")
        sample = pd.read_csv(public / "sample_submission.csv")
        secret = ["id", self.target, *self.hidden]
        inputs = pd.concat([train.drop(columns=secret), test.drop(columns="id")], ignore_index=True)
        matrix = self.features(inputs).astype(float)
        views = self.views(list(matrix.columns))
        known, unknown = matrix.iloc[: len(train)], matrix.iloc[len(train) :]
        entries, left_out = self.entries(list(matrix.columns)), 0
        for entry in entries:
            kept = slice(None, entry.rows)
            columns = views[entry.view]
            model = entry.recipe.make(entry.seed)
            try:
                model.fit(known[columns].to_numpy()[kept], self.outcome(train)[kept])
                predicted = scores(model, unknown[columns].to_numpy())
            except (
                ValueError,
                np.linalg.LinAlgError,
            ):  # more components than columns, or neighbours than rows
                left_out += 1
                continue
            yield entry.team, sample.assign(**{sample.columns[1]: predicted})
        if left_out:
            print(
                f"{self.task}: {left_out} of {len(entries)} cannot be fitted and are left out",
                file=sys.stderr,
            )

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
    """How the board of a single-cell task is earned: on the genes with the highest variance, log expression.

    With `label` set, models predict that column of obs; without, the genes that test.h5ad lacks.
    """

    task: str
    recipes: list[Recipe]
    genes: list[int]
    rows: list[int | None]
    limit: int
    label: str | None = None
    seeds: list[int] = field(default_factory=lambda: [0])

    def submissions(self, public: Path) -> Iterator[tuple[str, np.ndarray]]:
        """Train every entry and yield its name and the predictions for the cells of test.h5ad, in order."""
        train, test = anndata.read_h5ad(public / "train.h5ad"), anndata.read_h5ad(public / "test.h5ad")
        hidden = [gene for gene in train.var_names if gene not in set(test.var_names)]
        known, unknown = train[:, test.var_names].X.toarray(), test.X.toarray()
        outcome = train.obs[self.label].astype(str).to_numpy() if self.label else train[:, hidden].X.toarray()
        ranked = np.argsort(-known.var(axis=0), kind="stable")
        crossing = [
            Entry(recipe, f"{count} genes", rows, seed)
            for recipe, count, rows, seed in product(self.recipes, self.genes, self.rows, self.seeds)
        ]
        for entry in shuffled(crossing, f"{max(self.genes)} genes")[: self.limit]:
            kept, columns = slice(None, entry.rows), ranked[: int(entry.view.split()[0])]
            model = entry.recipe.make(entry.seed).fit(known[kept][:, columns], outcome[kept])
            yield entry.team, model.predict(unknown[:, columns])

    def answers(self, private: Path) -> np.ndarray:
        """Return the labels, or the matrix of hidden genes, in the order of the submissions."""
        answers = anndata.read_h5ad(private / "answers.h5ad")
        return answers.obs[self.label].astype(str).to_numpy() if self.label else answers.X.toarray()


def shuffled(entries: list[Entry], full_view: str) -> list[Entry]:
    """Return the entries on all data first, then the others; each part in an order of names alone."""

    def place(entry: Entry) -> tuple[bool, bytes]:
        full = entry.view == full_view and entry.rows is None
        return not full, hashlib.sha256(entry.team.encode()).digest()

    return sorted(entries, key=place)


def scores(model: Any, matrix: np.ndarray) -> np.ndarray:
    """Return a probability, a decision value or a prediction per row, whatever the model offers first."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(matrix)[:, 1]
    if hasattr(model, "decision_function"):
        return model.decision_function(matrix)
    return np.ravel(model.predict(matrix))


def prefixes(*named: str) -> Callable[[list[str]], Views]:
    """Return a function giving the view of all columns and one of the columns with each prefix."""

    def views(columns: list[str]) -> Views:
        subsets = {
            f"{name.rstrip('_')} features": [c for c in columns if c.startswith(name)] for name in named
        }
        return {"all features": columns, **subsets}

    return views


def _nuclei(columns: list[str]) -> Views:
    errors = [name for name in columns if name.endswith("_error")]
    return {
        **prefixes("mean_", "worst_")(columns),
        "error features": errors,
        "texture": [name for name in columns if "texture" in name],
        "symmetry and smoothness": [name for name in columns if "symm" in name or "smooth" in name],
    }


def _blood(columns: list[str]) -> Views:
    return {
        "all features": columns,
        "bmi": ["bmi"],
        "bmi and blood pressure": ["bmi", "blood_pressure"],
        "blood tests": [name for name in columns if name not in ("age", "sex", "bmi", "blood_pressure")],
        "no blood tests": ["age", "sex", "bmi", "blood_pressure"],
        "strongest four": ["bmi", "blood_pressure", "log_triglycerides", "hdl"],
    }


def _smokers(columns: list[str]) -> Views:
    smoking = [name for name in columns if name.startswith("smoke") or name == "qsmk"]
    return {
        "all features": columns,
        "smoking": smoking,
        "body and age": ["age", "sex", "ht", "wt71"],
        "body, age and smoking": ["age", "sex", "ht", "wt71", *smoking],
    }


def _hiv(columns: list[str]) -> Views:
    immune = ["cd40", "cd80"]
    return {
        "all features": columns,
        "immune cells": immune,
        "immune cells and treatment": [*immune, "treat", "arms", "symptom", "preanti"],
        "demography": ["age", "wtkg", "race", "gender"],
    }


FAST = ("ridge", "mean", "nearest", "tree", "partial", "lasso", "bayesian")
_fast = [recipe for recipe in regressors() if recipe.label.startswith(FAST)]
_linear = ("logistic", "lda", "naive", "nearest", "tree", "random", "extra", "dummy")
_peptide = [recipe for recipe in classifiers() if recipe.label.startswith(_linear)]

PLANS: list[CsvPlan | CellPlan] = [
    CsvPlan("oncology/breast-cancer", "malignant", classifiers(), _nuclei, [30, 100, None], limit=120),
    CsvPlan(
        "metabolism/diabetes-progression",
        "progression",
        regressors(),
        _blood,
        [25, 50, 100, 200, None],
        limit=1100,
    ),
    CsvPlan(
        "epidemiology/nhefs-weight-change", "weight_change", regressors(), _smokers, [200, None], limit=160
    ),
    SurvivalPlan(
        "epidemiology/nhefs-mortality",
        "months",
        survival_models(),
        _smokers,
        [200, None],
        limit=150,
        hidden=("death",),
    ),
    SurvivalPlan(
        "infectious-disease/actg175",
        "days",
        survival_models(),
        _hiv,
        [150, 500, None],
        limit=90,
        hidden=("event",),
    ),
    CsvPlan(
        "molecules/nci-tpsa",
        "tpsa",
        _fast,
        prefixes("length", "token", "pair", "triple"),
        [100, 500, None],
        limit=280,
        features=smiles_features,
    ),
    CsvPlan(
        "proteins/antimicrobial-peptides",
        "antimicrobial",
        _peptide,
        prefixes("residue", "pair", "bulk"),
        [100, 500, None],
        limit=140,
        features=peptide_features,
    ),
    CellPlan(
        "single-cell/pbmc-cell-types", label_classifiers(), [20, 100, 400], [100, None], 70, "cell_type"
    ),
    CellPlan("single-cell/pbmc-gene-panel", many_target_regressors(), [20, 100, 400], [60, 200, None], 64),
]
