"""Views of h5ad submissions: errors by groups of cells and of genes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np

from bioeval_tui.errors import InputError
from bioeval_tui.grade.explain.groups import MOST_GROUPS, group_names, more_groups, ordered
from bioeval_tui.grade.explain.rows import ExplainedRows
from bioeval_tui.grade.explain.views import VIEWS
from bioeval_tui.grade.explanation import Section, table
from bioeval_tui.text import clean_line, shorten


def of_h5ad(scorer: Any, path: Path, by: str | None) -> list[Section]:
    """Return the views of a column of `obs`, or errors by groups of cells and of genes.

    Raises:
        InputError: there is no column `by`.
    """
    values = scorer.values(path)
    cells = scorer.true.cells.to_numpy()
    kind, metric = scorer.spec.metric.kind, scorer.spec.metric.name
    if scorer.kind == "obs":
        truth = np.asarray(scorer.true.values.astype(str) if kind == "label" else scorer.true.values)
        rows = ExplainedRows(kind, cells, truth, np.asarray(values), scorer.key)
        return VIEWS[kind](rows)
    if metric not in ("mean_absolute_error", "mse", "rmse"):
        return [Section("no error view", (), (), note="errors by cell are shown for sums of errors alone")]
    error = "absolute error" if metric == "mean_absolute_error" else "squared error"
    losses, by_gene = scorer.cell_losses(values), _gene_losses(scorer, values)
    shares = np.quantile(losses, (0.05, 0.25, 0.5, 0.75, 0.95))
    named = zip(("5 %", "25 %", "50 %", "75 %", "95 %"), map(float, shares), strict=True)
    sections = [table(f"mean {error} of cells, quantiles", ("cells", error), list(named), bar=1)]
    answers = anndata.read_h5ad(scorer.path, backed="r")
    columns = [*answers.obs.columns, *answers.var.columns]
    if by is not None and by not in columns:
        known = ", ".join(shorten(clean_line(str(name)), 40) for name in columns) or "none"
        raise InputError(
            f"the answers have no column `{clean_line(by, 60)}` of cells or genes; there are {known}"
        )
    for name in _wanted(answers.obs, by):
        groups = group_names(answers.obs[name].loc[cells])
        sections.append(_means(losses, groups, f"mean {error} by {name}", "cells"))
    if scorer.true.genes is not None:
        for name in _wanted(answers.var, by):
            groups = group_names(answers.var[name].loc[scorer.true.genes])
            sections.append(_means(by_gene, groups, f"mean {error} by {name}", "genes"))
    return sections


def _has_groups(column: Any) -> bool:
    return bool(column.dtype.kind != "f" and 1 < column.nunique() <= MOST_GROUPS)


def _wanted(frame: Any, by: str | None) -> list[Any]:
    if by is not None:
        return [by] * (by in frame.columns)
    return [name for name in frame.columns if _has_groups(frame[name])]


def _gene_losses(scorer: Any, values: Any) -> Any:
    difference = scorer.true.values - values
    if scorer.spec.metric.name == "mean_absolute_error":
        return np.asarray(abs(difference).mean(axis=0)).reshape(-1)
    # A dense matrix minus a sparse one is an np.matrix, whose ** is not elementwise.
    squares = difference.multiply(difference) if hasattr(difference, "multiply") else np.square(difference)
    return np.asarray(squares.mean(axis=0)).reshape(-1)


def _means(losses: Any, groups: Any, title: str, unit: str) -> Section:
    names = ordered(groups)
    listed = [
        (shorten(clean_line(name), 40), int((groups == name).sum()), float(losses[groups == name].mean()))
        for name in names[:MOST_GROUPS]
    ]
    note = more_groups(names)
    return table(shorten(clean_line(title), 80), ("group", unit, "error"), listed, bar=2, note=note)
