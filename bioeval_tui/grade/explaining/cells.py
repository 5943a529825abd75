"""The error views of an h5ad file: of a column of `obs`, or of the cells and genes of a matrix.

`explain.explain` calls `h5ad_views` for every submission that is an h5ad file and has a declared
metric.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import clean_line, shorten
from bioeval_tui.grade.explaining.groups import (
    MOST_GROUPS,
    group_names,
    more_groups_note,
    ordered_names,
)
from bioeval_tui.grade.explaining.rows import ExplainedRows
from bioeval_tui.grade.explaining.sections import Section, table
from bioeval_tui.grade.explaining.views import VIEWS, no_view

_LOSSES = {"mean_absolute_error": "absolute error", "mse": "squared error", "rmse": "squared error"}
"""What a metric sums up over cells and genes."""


def h5ad_views(scorer: Any, path: Path, by: str | None) -> list[Section]:
    """Return the views of a column of `obs`, or errors by groups of cells and of genes.

    Raises:
        InputError: there is no column `by`.
    """
    values = scorer.values(path)
    cells = scorer.true.cells.to_numpy()
    kind, metric = scorer.spec.metric.kind, scorer.spec.metric.name
    if scorer.kind == "obs":
        truth = np.asarray(scorer.true.values)
        if kind == "label":
            truth = np.asarray(scorer.true.values.astype(str))
        rows = ExplainedRows(
            kind, cells, truth, np.asarray(values), scorer.key, scorer.spec.metric.function
        )
        return VIEWS[kind](rows)
    if metric not in _LOSSES:
        return [no_view("errors by cell are shown for sums of errors alone")]
    error = _LOSSES[metric]
    losses, by_gene = scorer.cell_losses(values), _gene_losses(scorer, values)
    shares = np.quantile(losses, (0.05, 0.25, 0.5, 0.75, 0.95))
    named = zip(("5 %", "25 %", "50 %", "75 %", "95 %"), map(float, shares), strict=True)
    sections = [table(f"mean {error} of cells, quantiles", ("cells", error), list(named), bar=1)]
    # for single-cell tasks alone: a grading worker starts in half the time without it
    import anndata

    answers = anndata.read_h5ad(scorer.path, backed="r")
    columns = [*answers.obs.columns, *answers.var.columns]
    if by is not None and by not in columns:
        known = ", ".join(shorten(clean_line(str(name)), 40) for name in columns) or "none"
        raise InputError(
            f"the answers have no column `{clean_line(by, 60)}` of cells or genes; there are"
            f" {known}"
        )
    for name in _columns_to_group_by(answers.obs, by):
        groups = group_names(answers.obs[name].loc[cells])
        sections.append(_mean_losses(losses, groups, f"mean {error} by {name}", "cells"))
    if scorer.true.genes is not None:
        for name in _columns_to_group_by(answers.var, by):
            groups = group_names(answers.var[name].loc[scorer.true.genes])
            sections.append(_mean_losses(by_gene, groups, f"mean {error} by {name}", "genes"))
    return sections


def _columns_to_group_by(frame: Any, by: str | None) -> list[Any]:
    if by is not None:
        return [by] * (by in frame.columns)
    return [
        name
        for name, column in frame.items()
        if column.dtype.kind != "f" and 1 < column.nunique() <= MOST_GROUPS
    ]


def _gene_losses(scorer: Any, values: Any) -> Any:
    away = scorer.difference(values)
    if scorer.spec.metric.name == "mean_absolute_error":
        return np.asarray(abs(away).mean(axis=0)).reshape(-1)
    # A dense matrix minus a sparse one is an np.matrix, whose ** is not elementwise.
    if hasattr(away, "multiply"):
        squares = away.multiply(away)
    else:
        squares = np.square(away)
    return np.asarray(squares.mean(axis=0)).reshape(-1)


def _mean_losses(losses: Any, groups: Any, title: str, unit: str) -> Section:
    names = ordered_names(groups)
    listed = [
        (
            shorten(clean_line(name), 40),
            int((groups == name).sum()),
            float(losses[groups == name].mean()),
        )
        for name in names[:MOST_GROUPS]
    ]
    note = more_groups_note(names)
    return table(shorten(clean_line(title), 80), ("group", unit, "error"), listed, bar=2, note=note)
