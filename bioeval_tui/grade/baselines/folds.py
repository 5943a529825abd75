"""Baselines of cross-validated tasks: data.csv contains every row with its target and fold columns, as in ProteinGym.

A row is predicted from the rows of the other folds. A column of the sample submission is named after the
target, or after target and fold column: `fitness_score`, `fitness_score_fold_random_5`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bioeval_tui.errors import InputError
from bioeval_tui.grade.baselines.learners import constant, fit, matrices
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from pathlib import Path

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
                predicted[test] = constant(kind, "number", known.to_numpy(), int(test.sum()), generator)
        sample[name] = wanted.map(dict(zip(rows[id_column], predicted, strict=True)))
        if sample[name].isna().any():
            raise InputError(
                f"{path.name} has no rows of the sample submission to learn {clean_line(str(name), 60)} from"
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
        f"data.csv has no target and folds for the column {clean_line(name, 60)} of the sample submission"
    )
