"""Views of h5ad submissions: errors by groups of cells and of genes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np

from bioeval_tui.errors import InputError
from bioeval_tui.grade.explain.disclosure import Disclosure
from bioeval_tui.grade.explain.groups import MOST_GROUPS, group_names
from bioeval_tui.grade.explain.rows import ExplainedRows
from bioeval_tui.grade.explain.views import VIEWS
from bioeval_tui.grade.explanation import Section, table
from bioeval_tui.text import clean_line, shorten


def of_h5ad(scorer: Any, path: Path, by: str | None, disclosure: Disclosure) -> list[Section]:
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
        return VIEWS[kind](rows, disclosure)
    if metric not in ("mean_absolute_error", "mse", "rmse"):
        return [Section("no error view", (), (), note="errors by cell are shown for sums of errors alone")]
    error = "absolute error" if metric == "mean_absolute_error" else "squared error"
    losses, by_gene = scorer.cell_losses(values), _gene_losses(scorer, values)
    sections = []
    if disclosure.enough(len(by_gene)):  # each is a mean over genes
        shares = np.quantile(losses, (0.05, 0.25, 0.5, 0.75, 0.95))
        named = zip(("5 %", "25 %", "50 %", "75 %", "95 %"), map(disclosure.figure, shares), strict=True)
        sections.append(table(f"mean {error} of cells, quantiles", ("cells", error), list(named), bar=1))
    answers = anndata.read_h5ad(scorer.path, backed="r")
    obs, var = (_columns(frame, disclosure) for frame in (answers.obs, answers.var))
    if by is not None and by not in [*obs, *var]:
        known = ", ".join(shorten(clean_line(str(name)), 40) for name in [*obs, *var]) or "none"
        raise InputError(
            f"the answers have no column `{clean_line(by, 60)}` of cells or genes; there are {known}"
        )
    for name in _wanted(answers.obs, obs, by):
        groups = group_names(answers.obs[name].loc[cells])
        sections.append(_means(losses, groups, f"mean {error} by {name}", "cells", disclosure))
    if scorer.true.genes is not None:
        for name in _wanted(answers.var, var, by):
            groups = group_names(answers.var[name].loc[scorer.true.genes])
            sections.append(_means(by_gene, groups, f"mean {error} by {name}", "genes", disclosure))
    return sections


def _columns(frame: Any, disclosure: Disclosure) -> list[Any]:
    """Return the available columns; for private answers, only those with few values that each cover many rows."""
    return [name for name in frame.columns if disclosure.open or _has_groups(frame[name])]


def _has_groups(column: Any) -> bool:
    return bool(column.dtype.kind != "f" and 1 < column.nunique() <= MOST_GROUPS)


def _wanted(frame: Any, columns: list[Any], by: str | None) -> list[Any]:
    return [name for name in columns if _has_groups(frame[name])] if by is None else [by] * (by in columns)


def _gene_losses(scorer: Any, values: Any) -> Any:
    difference = scorer.true.values - values
    if scorer.spec.metric.name == "mean_absolute_error":
        return np.asarray(abs(difference).mean(axis=0)).reshape(-1)
    # A dense matrix minus a sparse one is an np.matrix, whose ** is not elementwise.
    squares = difference.multiply(difference) if hasattr(difference, "multiply") else np.square(difference)
    return np.asarray(squares.mean(axis=0)).reshape(-1)


def _means(losses: Any, groups: Any, title: str, unit: str, disclosure: Disclosure) -> Section:
    sizes = {name: int((groups == name).sum()) for name in dict.fromkeys(sorted(map(str, groups)))}
    listed = [
        (
            shorten(clean_line(str(name)), 40), disclosure.count(size), disclosure.figure(losses[groups == name].mean()),
        )
        for name, size in sizes.items()
        if disclosure.enough(size)
    ]  # fmt: skip
    return table(shorten(clean_line(title), 80), ("group", unit, "error"), listed, bar=2)
