"""h5ad files scored by a declared metric: cells and genes aligned by name, sparse stays sparse.

Only the data that the metric needs is read: the names and one element of `obs`, `obsm`, `layers` or `X`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from bioeval_tui.errors import InvalidSubmissionError, NotMeasuredError, Problem
from bioeval_tui.grade.files import alignment
from bioeval_tui.grade.files.h5ad_reading import Element, read_element, read_submission
from bioeval_tui.grade.metric_spec import MetricSpec
from bioeval_tui.grade.resampling import CannotResampleError, Draws, draws, of_row_losses
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

SUMMED = frozenset({"mean_absolute_error", "mse", "rmse"})
"""Metrics that are a sum over elements: taken in blocks, without a dense copy of a sparse matrix."""

_BLOCK = 1 << 18


class H5adScorer:
    """Scores h5ad files against one h5ad of answers.

    Raises:
        NotMeasuredError: the answers cannot be read or lack what `spec` names.
    """

    suffixes: tuple[str, ...] = (".h5ad",)

    def __init__(self, spec: MetricSpec, answers: Path) -> None:
        assert spec.h5ad is not None
        self.spec = spec
        self.kind, self.key = spec.h5ad
        self.path = answers
        try:
            element, problems = read_element(answers, self.kind, self.key)
        except (InvalidSubmissionError, OSError) as error:
            raise NotMeasuredError(f"the answers cannot be read: {error}") from None
        if element is None:
            raise NotMeasuredError(f"the answers don't match the grader: {problems[0].message}")
        self.true = element

    def coverage(self, path: Path) -> alignment.Coverage:
        """Return that all cells are scored: a file that lacks one has no score."""
        return alignment.Coverage(len(self.true.cells), len(self.true.cells))

    def score(self, path: Path) -> Any:
        """Return the metric over all cells (and genes); InvalidSubmissionError carries all findings.

        Raises:
            InvalidSubmissionError: the file does not match the answers; it lists every finding.
        """
        # A sum over elements is finite only if all of them are.
        summed = self.spec.metric.name in SUMMED
        values, problems = self._aligned(path, look_at_values=not summed)
        if problems:
            raise alignment.invalid(problems)
        score = self._metric(values)
        if summed and not math.isfinite(score):
            problems = self._aligned(path)[1]
            if problems:
                raise alignment.invalid(problems)
        return score

    def examine(self, path: Path) -> list[Problem]:
        """Return every finding about elements, cells, genes and values."""
        try:
            return self._aligned(path)[1]
        except InvalidSubmissionError as error:
            return list(error.problems) or [Problem(str(error))]

    def values(self, path: Path) -> Any:
        """Return the submission's element, cells and genes in the answers' order.

        Raises:
            InvalidSubmissionError: the file is not valid.
        """
        values, problems = self._aligned(path)
        if problems:
            raise InvalidSubmissionError("the file is not valid", tuple(problems))
        return values

    def draws(self, path: Path) -> Draws:
        """Return the distribution of the score over resampled cells.

        Raises:
            CannotResampleError: there is no distribution.
            InvalidSubmissionError: the file is not valid.
        """
        metric = self.spec.metric
        values = self.values(path)
        if self.kind == "obs":
            return draws(metric, [self.pair(values)])
        if metric.name not in SUMMED:
            raise CannotResampleError(
                f"{metric.title or metric.name} over all elements, because the elements of one cell are not independent"
            )
        return of_row_losses(metric.name, [self.cell_losses(values)])

    def pairs(self, path: Path) -> list[tuple[Any, Any]]:
        """Return truth and prediction of an element of `obs`, as `pair`. Raises InvalidSubmissionError."""
        return [self.pair(self.values(path))]

    def pairs_of(self, predictions: pd.DataFrame, name: str) -> tuple[Any, Any]:
        """Return truth and prediction, as `pair`, for a column of a table of predictions whose first column names cells."""
        column = predictions.set_index(predictions.columns[0])[name]
        return self.pair(column.loc[self.true.cells].to_numpy(object))

    def pair(self, values: Any) -> tuple[Any, Any]:
        """Return truth and aligned prediction of an element of `obs`, shape (cells,); classes as codes."""
        if self.spec.metric.kind != "label":
            return np.asarray(self.true.values, np.float64), np.asarray(values, np.float64)
        codes, _ = alignment.labels(self.true.values, self.key)
        assert codes is not None
        return alignment.label_codes(codes.to_numpy(), values)

    def cell_losses(self, values: Any) -> NDArray[np.float64]:
        """Return each cell's mean absolute or squared error over its elements, shape (cells,)."""
        true, absolute = self.true.values, self.spec.metric.name == "mean_absolute_error"
        rows, columns = true.shape
        if sparse.issparse(true) and sparse.issparse(values):
            difference = true - values
            squares = abs(difference) if absolute else difference.multiply(difference)
            means: NDArray[np.float64] = np.asarray(squares.mean(axis=1), np.float64).reshape(-1)
            return means
        step = max(1, _BLOCK // max(columns, 1))
        parts = []
        for start in range(0, rows, step):
            block = _difference(true, values, start, start + step).reshape(-1, columns)
            parts.append((np.abs(block) if absolute else block * block).mean(axis=1))
        return np.concatenate(parts)

    def _metric(self, values: Any) -> Any:
        metric = self.spec.metric
        true = self.true.values
        if metric.kind == "label":
            return metric.function(*self.pair(values))
        if metric.name in SUMMED:
            return _summed_error(true, values, metric.name)
        return metric.function(_flat(true), _flat(values))

    def _aligned(self, path: Path, *, look_at_values: bool = True) -> tuple[Any, list[Problem]]:
        size = math.prod(self.true.values.shape)
        element, problems = read_submission(path, self.kind, self.key, values=size)
        if element is None:
            return None, problems
        cells, faults = _place(element.cells, self.true.cells, "cell")
        problems += faults
        genes: Any = None
        if self.true.genes is not None and element.genes is not None:
            genes, faults = _place(element.genes, self.true.genes, "gene")
            problems += faults
        if self.kind == "obs":
            values, faults = self._column(element.values)
            problems += faults
            return (None if problems else _take(values, cells)), problems
        name = "X" if self.kind == "X" else f"{self.kind} {self.key}"
        problems += _shape_problems(element, self.true.values.shape, name)
        if look_at_values and not problems:
            problems += _value_problems(element.values, name)
        if problems:
            return None, problems
        values = element.values if cells is None else element.values[cells]
        return (values if genes is None else values[:, genes]), []

    def _column(self, column: Any) -> tuple[Any, list[Problem]]:
        if self.spec.metric.kind == "label":
            values, problems = alignment.labels(column, self.key)
            return (None if values is None else values.to_numpy()), problems
        return alignment.numbers(
            column, self.key, in_unit=self.spec.metric.in_unit, line_of=lambda row: row + 1
        )


def _take(values: Any, where: Any) -> Any:
    return values if where is None else np.asarray(values)[where]


def _place(given: pd.Index, expected: pd.Index, noun: str) -> tuple[Any, list[Problem]]:
    # None as the position means that the order is already right.
    if given.equals(expected) and given.is_unique:
        return None, []
    return alignment.compare_names(given, expected, noun)


def _shape_problems(element: Element, shape: tuple[int, ...], name: str) -> list[Problem]:
    values = element.values
    if not (sparse.issparse(values) or isinstance(values, np.ndarray)):
        return [Problem(f"{name} must be a matrix, not {clean_line(type(values).__name__, 40)}")]
    if values.ndim != 2 or (name.startswith("obsm") and values.shape[1] != shape[1]):
        wanted = f"{shape[1]:,} columns" if len(shape) > 1 else "two dimensions"
        return [Problem(f"{name} has shape {values.shape}; {wanted} are expected")]
    named = (len(element.cells), values.shape[1] if element.genes is None else len(element.genes))
    if values.shape != named:
        return [Problem(f"{name} has shape {values.shape}; the file's names make it {named}")]
    data = values.data if sparse.issparse(values) else values
    if data.dtype.kind not in "iufb":
        return [Problem(f"{name} must contain numbers, not {clean_line(str(data.dtype), 40)}")]
    return []


def _value_problems(values: Any, name: str) -> list[Problem]:
    data = values.data if sparse.issparse(values) else values
    # One pass: a sum is finite unless an element is not (or it overflows, which a second pass decides).
    if data.dtype.kind == "f" and data.size and not np.isfinite(data.sum(dtype=np.float64)):
        bad = int(data.size - np.isfinite(data).sum())
        if bad:
            return [Problem(f"{name} has {bad:,} values that are NaN or infinite{_first_bad(values)}")]
    return []


def _first_bad(values: Any) -> str:
    if sparse.issparse(values):
        values = values.tocoo()
        rows = values.row[~np.isfinite(values.data)]
    else:
        rows = np.flatnonzero(~np.isfinite(values).all(axis=1))
    unique = list(dict.fromkeys(int(row) + 1 for row in rows))
    return f", in cells {alignment.examples(unique)} (counted from 1)"


def _flat(values: Any) -> Any:
    dense = values.toarray() if sparse.issparse(values) else np.asarray(values)
    return np.ascontiguousarray(dense).reshape(-1).astype(np.float64, copy=False)


def _summed_error(true: Any, values: Any, name: str) -> float:
    rows, columns = true.shape
    if sparse.issparse(true) and sparse.issparse(values):
        blocks: Iterable[Any] = [(true - values).data.astype(np.float64)]
    else:
        step = max(1, _BLOCK // max(columns, 1))
        blocks = (_difference(true, values, start, start + step) for start in range(0, rows, step))
    absolute = name == "mean_absolute_error"
    total = 0.0
    for block in blocks:
        total += float(np.abs(block).sum() if absolute else np.dot(block, block))
    mean = total / (rows * columns)
    return math.sqrt(mean) if name == "rmse" else mean


def _difference(true: Any, values: Any, start: int, stop: int) -> Any:
    parts = [part[start:stop] for part in (true, values)]
    left, right = (part.toarray() if sparse.issparse(part) else part for part in parts)
    return np.subtract(left, right, dtype=np.float64).reshape(-1)
