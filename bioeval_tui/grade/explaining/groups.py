"""Scores of groups of rows: by a column that the user names, and by ProteinGym's folds.

`explain.explain` calls `row_groups`, `group_scores` and `fold_scores`; `cells.py` forms groups of
cells and of genes in the same way.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.base.errors import InputError, InvalidSubmissionError
from bioeval_tui.base.text import clean_line, plural, shorten
from bioeval_tui.grade.explaining.rows import ExplainedRows
from bioeval_tui.grade.explaining.sections import Section, table
from bioeval_tui.grade.metrics import spearman
from bioeval_tui.grade.tables import read_frame

if TYPE_CHECKING:
    import pandas as pd

    from bioeval_tui.grade.grade import TaskGrading


MOST_GROUPS = 30

_FOLDS = ("fold_random_5", "fold_modulo_5", "fold_contiguous_5")


def row_groups(ready: TaskGrading, ids: Any, by: str) -> Any:
    """Return the group of each row as text, from a column of the answers or of a public CSV of the
    task.

    Raises:
        InputError: there is no such column.
    """
    tables = []
    if ready.task.answers.suffix == ".csv":
        tables.append(ready.task.answers)
    if ready.task.public_dir.is_dir():
        tables += sorted(ready.task.public_dir.glob("*.csv"))
    known: list[str] = []
    spec = ready.task.grader.spec
    for path in tables:
        try:
            frame = read_frame(path, None if spec is None else spec.id)
        except (InvalidSubmissionError, OSError):
            continue
        named = [
            name
            for name in frame.columns
            if frame[name].is_unique and set(map(str, ids)) <= set(map(str, frame[name]))
        ]
        if not named:
            continue
        known += [str(name) for name in frame.columns if name != named[0]]
        if by in frame.columns:
            column = frame.set_index(frame[named[0]].astype(str))[by].loc[[str(one) for one in ids]]
            return group_names(column)
    listed = ", ".join(clean_line(name, 40) for name in dict.fromkeys(known)) or "none"
    raise InputError(
        f"no table of {ready.task.id} has a column `{clean_line(by, 60)}` for these rows; there are"
        f" {listed}"
    )


def group_scores(rows: ExplainedRows, groups: Any, by: str) -> Section:
    """Return the score of each group of rows."""
    names, listed = ordered_names(groups), []
    for name in names[:MOST_GROUPS]:
        at = np.flatnonzero(groups == name)
        try:
            score = rows.score(at)
        except (ValueError, ZeroDivisionError, FloatingPointError):
            score = float("nan")
        listed.append((shorten(clean_line(name), 40), len(at), score))
    title = f"score of {rows.name} by {clean_line(by, 40)}"
    return table(title, ("group", "rows", "score"), listed, bar=2, note=more_groups_note(names))


def fold_scores(ready: TaskGrading, targets: Sequence[ExplainedRows]) -> list[Section]:
    """Return Spearman's rho of ProteinGym's splits and of the folds of each, where the public data
    says which they are.
    """
    splits = [
        (rows.name, len(rows.true), float(spearman(rows.true, rows.guess))) for rows in targets
    ]
    sections = [table("Spearman's rho of each split", ("split", "rows", "score"), splits, bar=2)]
    for rows in targets:
        for column in _FOLDS:
            if len(targets) > 1 and not rows.name.endswith(column):
                continue  # predictions of another split
            with contextlib.suppress(InputError):
                sections.append(group_scores(rows, row_groups(ready, rows.ids, column), column))
    return sections


def group_names(column: pd.Series) -> Any:
    """Return a column's values as groups: numbers of many values in quarters."""
    if column.dtype.kind == "f" or (column.dtype.kind in "iu" and column.nunique() > MOST_GROUPS):
        values = column.to_numpy(np.float64)
        names = np.full(len(values), "no value", dtype=object)
        known = np.flatnonzero(np.isfinite(values))
        parts = [known[at] for at in quantile_groups(values[known], 4)]
        for digits in (4, 7, 11, 17):  # with 17, different numbers have different names
            ranges = [
                f"{values[at].min():.{digits}g} to {values[at].max():.{digits}g}" for at in parts
            ]
            if len(set(ranges)) == len(parts):
                break
        for at, name in zip(parts, ranges, strict=True):
            names[at] = name
        return names
    return column.astype(str).to_numpy(object)


def quantile_groups(values: Any, count: int) -> list[Any]:
    """Return the positions of the rows in up to `count` groups of nearly equal size, by value,
    equal values together.
    """
    edges = np.unique(np.quantile(values, np.linspace(0, 1, count + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="left")
    return [np.flatnonzero(place == number) for number in np.unique(place)]


def ordered_names(names: Iterable[Any]) -> list[str]:
    """Return the different names in order: numbers and ranges of numbers by value, then text."""

    def place(name: str) -> tuple[float, str]:
        with contextlib.suppress(ValueError):
            value = float(name.split(" to ")[0])
            if math.isfinite(value):
                return (value, name)
            return (math.inf, name)
        return math.inf, name

    return sorted(set(map(str, names)), key=place)


def more_groups_note(names: Sequence[str]) -> str:
    """Return how many groups a table leaves out; empty for none."""
    if len(names) > MOST_GROUPS:
        return plural(len(names) - MOST_GROUPS, "more group")
    return ""
