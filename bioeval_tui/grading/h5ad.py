"""h5ad files scored by a declared metric: cells and genes aligned by name, sparse stays sparse.

Only what the metric needs is read: the names and one element of `obs`, `obsm`, `layers` or `X`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bioeval_tui.errors import InvalidSubmissionError, NotMeasuredError, Problem
from bioeval_tui.grading import alignment
from bioeval_tui.grading.grader import MetricSpec
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    import pandas as pd

SUMMED = frozenset({"mean_absolute_error", "mse", "rmse"})
"""Metrics that are a sum over elements: taken in blocks, without a dense copy of a sparse matrix."""

_BLOCK = 1 << 18
_SPARE = 64_000_000
_EACH = 32
"""One element of a submission may unpack to `_SPARE` bytes and `_EACH` more for each value of the answers."""
_MOST_OBJECTS = 5_000
"""Most groups and datasets in a submission."""


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """One element of an h5ad file with the names along its axes; `genes` is None for `obs` and `obsm`."""

    cells: pd.Index
    genes: pd.Index | None
    values: Any


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
        try:
            element, problems = read_element(answers, self.kind, self.key)
        except (InvalidSubmissionError, OSError) as error:
            raise NotMeasuredError(f"the answers cannot be read: {error}") from None
        if element is None:
            raise NotMeasuredError(f"the answers do not fit the grader: {problems[0].message}")
        self.true = element

    def score(self, path: Path) -> Any:
        """Return the metric over all cells (and genes); InvalidSubmissionError carries all findings."""
        from bioeval_tui.grading.scorers import invalid

        # A sum over elements shows by itself whether all of them are finite.
        summed = self.spec.metric.name in SUMMED
        values, problems = self._aligned(path, look_at_values=not summed)
        if problems:
            raise invalid(problems)
        score = self._metric(values)
        if summed and not math.isfinite(score):
            problems = self._aligned(path)[1]
            if problems:
                raise invalid(problems)
        return score

    def examine(self, path: Path) -> list[Problem]:
        """Return every finding about elements, cells, genes and values."""
        try:
            return self._aligned(path)[1]
        except InvalidSubmissionError as error:
            return list(error.problems) or [Problem(str(error))]

    def _metric(self, values: Any) -> Any:
        metric = self.spec.metric
        true = self.true.values
        if metric.kind == "label":
            codes, _ = alignment.labels(true, self.key)
            assert codes is not None
            return metric.function(*alignment.label_codes(codes.to_numpy(), values))
        if metric.name in SUMMED:
            return _summed_error(true, values, metric.name)
        return metric.function(_flat(true), _flat(values))

    def _aligned(self, path: Path, *, look_at_values: bool = True) -> tuple[Any, list[Problem]]:
        size = math.prod(self.true.values.shape)
        element, problems = read_element(path, self.kind, self.key, most_bytes=_SPARE + _EACH * size)
        if element is None:
            return None, problems
        cells, found = _place(element.cells, self.true.cells, "cell")
        problems += found
        genes: Any = None
        if self.true.genes is not None and element.genes is not None:
            genes, found = _place(element.genes, self.true.genes, "gene")
            problems += found
        if self.kind == "obs":
            values, found = self._column(element.values)
            problems += found
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


def _place(found: pd.Index, expected: pd.Index, noun: str) -> tuple[Any, list[Problem]]:
    # None as the place means: already in order, nothing to move.
    if found.equals(expected) and found.is_unique:
        return None, []
    return alignment.compare_names(found, expected, noun)


def _shape_problems(element: Element, shape: tuple[int, ...], name: str) -> list[Problem]:
    from scipy import sparse

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
        return [Problem(f"{name} must hold numbers, not {clean_line(str(data.dtype), 40)}")]
    return []


def _value_problems(values: Any, name: str) -> list[Problem]:
    from scipy import sparse

    data = values.data if sparse.issparse(values) else values
    # One pass: a sum is finite unless something in it is not (or it overflows, which the second look settles).
    if data.dtype.kind == "f" and data.size and not np.isfinite(data.sum(dtype=np.float64)):
        bad = int(data.size - np.isfinite(data).sum())
        if bad:
            return [Problem(f"{name} has {bad:,} values that are NaN or infinite{_first_bad(values)}")]
    return []


def _first_bad(values: Any) -> str:
    from scipy import sparse

    if sparse.issparse(values):
        values = values.tocoo()
        rows = values.row[~np.isfinite(values.data)]
    else:
        rows = np.flatnonzero(~np.isfinite(values).all(axis=1))
    unique = list(dict.fromkeys(int(row) + 1 for row in rows))
    return f", in cells {alignment.examples(unique)} (counted from 1)"


def _flat(values: Any) -> Any:
    from scipy import sparse

    dense = values.toarray() if sparse.issparse(values) else np.asarray(values)
    return np.ascontiguousarray(dense).reshape(-1).astype(np.float64, copy=False)


def _summed_error(true: Any, values: Any, name: str) -> float:
    from scipy import sparse

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
    from scipy import sparse

    parts = [part[start:stop] for part in (true, values)]
    left, right = (part.toarray() if sparse.issparse(part) else part for part in parts)
    return np.subtract(left, right, dtype=np.float64).reshape(-1)


def read_element(
    path: Path, kind: str, key: str, *, most_bytes: int | None = None
) -> tuple[Element | None, list[Problem]]:
    """Read the names and one element of an h5ad file; None and a problem if the element is not there.

    A few kB can unpack to gigabytes: what would be larger than `most_bytes` is refused before it is read.

    Raises:
        InvalidSubmissionError: the file is no h5ad file, is damaged, links to other files or is too large.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            refuse_links(file)
            return _element(file, kind, key, most_bytes)
    except (InvalidSubmissionError, MemoryError):
        raise
    except Exception as error:  # anndata and HDF5 raise what they like on a damaged file
        reason = clean_line(str(error) or type(error).__name__, 160)
        raise InvalidSubmissionError(f"{path.name} is not a readable h5ad file: {reason}") from None


def refuse_links_in(path: Path) -> None:
    """Refuse an h5ad file that points at other files, before a grader's code opens it. Other faults are the code's to find.

    Raises:
        InvalidSubmissionError: it does.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            refuse_links(file)
    except (InvalidSubmissionError, MemoryError):
        raise
    except Exception:  # HDF5 raises what it likes on a damaged file
        return


def _element(file: Any, kind: str, key: str, most_bytes: int | None) -> tuple[Element | None, list[Problem]]:
    for axis in ("obs", "var") if kind in ("X", "layers") else ("obs",):
        if axis not in file:
            return None, [Problem(f"the file has no `{axis}`: it is not an AnnData file")]
    cells = _names(file["obs"], most_bytes)
    genes = _names(file["var"], most_bytes) if kind in ("X", "layers") else None
    holder = file if kind == "X" else file.get(kind, {})
    name = "X" if kind == "X" else key
    if name not in holder:
        has = ", ".join(clean_line(item, 40) for item in list(holder)[:10]) or "nothing"
        what = "`X`" if kind == "X" else f"`{kind}` key `{clean_line(key, 60)}`"
        return None, [Problem(f"{what} is missing; the file has {has}", field=key)]
    values = _read(holder[name], most_bytes)
    if hasattr(values, "to_numpy") and kind != "obs":
        values = values.to_numpy()
    if kind == "obs":
        import pandas as pd

        values = pd.Series(values)
        if len(values) != len(cells):
            return None, [Problem(f"`{name}` has {len(values):,} values for {len(cells):,} cells", field=key)]
    return Element(cells, genes, values), []


def refuse_links(file: Any) -> None:
    """Refuse links and data kept in other files (the answers could be one), without following any.

    Raises:
        InvalidSubmissionError: one was found, or the file has too many parts to look at.
    """
    import h5py

    waiting, seen = [file], {h5py.h5o.get_info(file.id).addr}
    found = 0
    while waiting:
        group = waiting.pop()
        for name in group:
            found += 1
            if found > _MOST_OBJECTS:
                raise InvalidSubmissionError(f"the file has more than {_MOST_OBJECTS:,} parts")
            shown = clean_line(name, 60)
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise InvalidSubmissionError(f"the file's `{shown}` is a link; links are not followed")
            place = h5py.h5o.get_info(group.id, name.encode("utf-8", "surrogateescape")).addr
            if place in seen:
                continue
            seen.add(place)
            item = group[name]
            if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
                raise InvalidSubmissionError(f"the file's `{shown}` keeps its data in another file")
            if isinstance(item, h5py.Group):
                waiting.append(item)


def _names(axis: Any, most_bytes: int | None) -> pd.Index:
    import pandas as pd

    name = axis.attrs.get("_index", "_index")
    if not isinstance(name, str) or "/" in name or name not in axis:
        raise InvalidSubmissionError("the names of cells or genes are not where `_index` says")
    return pd.Index(_read(axis[name], most_bytes)).astype(str)


def _read(item: Any, most_bytes: int | None) -> Any:
    import h5py
    from scipy import sparse

    size = _unpacked(item)
    if most_bytes is not None and size > most_bytes:
        name = clean_line(item.name.rpartition("/")[2], 60)
        raise InvalidSubmissionError(
            f"`{name}` would unpack to {size / 1e6:,.0f} MB; {most_bytes / 1e6:,.0f} MB is the most for this task"
        )
    if isinstance(item, h5py.Dataset) and item.ndim == 2 and item.dtype.kind in "iuf":
        return _mapped(item)
    if isinstance(item, h5py.Dataset) and item.ndim == 1 and h5py.check_string_dtype(item.dtype) is not None:
        return item.asstr()[()]
    from anndata.io import read_elem

    values = read_elem(item)
    if sparse.issparse(values):
        values.check_format(full_check=True)  # positions outside the matrix are written to without a look
    return values


def _unpacked(item: Any) -> int:
    """Return the bytes that a dataset, or all below a group, takes when it is read."""
    import h5py

    waiting, seen = [item], set()
    # A sparse matrix declares its shape beside its values.
    total = math.prod(int(side) for side in np.atleast_1d(item.attrs.get("shape", 0)))
    while waiting:
        part = waiting.pop()
        place = h5py.h5o.get_info(part.id).addr
        if isinstance(part, h5py.Dataset) and part.shape is not None:
            chunk = math.prod(part.chunks) if part.chunks else 0
            total += max(int(part.size or 0), chunk) * max(part.dtype.itemsize, 1)
        elif isinstance(part, h5py.Group) and place not in seen:
            seen.add(place)
            waiting.extend(part.values())
    return total


def _mapped(dataset: Any) -> Any:
    """Return a matrix that lies in the file in one piece as a view of the file, others as an array."""
    offset = dataset.id.get_offset()
    path = Path(dataset.file.filename)
    if offset is None or dataset.chunks is not None or not dataset.size:
        return dataset[()]
    if offset + dataset.nbytes > path.stat().st_size:
        return dataset[()]
    return np.memmap(path, mode="r", dtype=dataset.dtype, shape=dataset.shape, offset=offset)
