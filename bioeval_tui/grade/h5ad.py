"""h5ad files: read without trust, and scored by a declared metric.

No link is followed, and only the data that the answers and the metric need is unpacked: the names
and one element of `obs`, `obsm`, `layers` or `X`. Cells and genes are aligned by name; sparse stays
sparse. What is written here, every supported anndata reads.
"""

from __future__ import annotations

import contextlib
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pandas as pd
from scipy import sparse

from bioeval_tui.base import units
from bioeval_tui.base.errors import InvalidSubmissionError, NotMeasuredError, Problem
from bioeval_tui.base.files import below, written_by_path
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade import alignment
from bioeval_tui.grade.answers import MetricSpec
from bioeval_tui.grade.batch import containment
from bioeval_tui.grade.formats import other_format
from bioeval_tui.grade.resampling import CannotResampleError, Draws, draws, row_loss_draws

if TYPE_CHECKING:
    from numpy.typing import NDArray


_CUT_OFF = re.compile(r"truncated file: .*stored_eof = (\d+)")
_SPARE = 64_000_000
_EACH = 32
"""One element of a submission may unpack to `_SPARE` bytes and `_EACH` more for each value of the
answers.
"""
_MOST_OBJECTS = 5_000
"""Maximum number of groups and datasets in a submission."""
_WHOLE_NUMBERS = 8
"""Bytes of a whole number of pandas; codes of a categorical take fewer."""
_READING_MB = 250
_READING_EACH = 256
"""Memory limit for reading a submission in a worker: a number of MB, plus the file's size, plus
bytes per value of the answers. A damaged length in a file of a few kB makes HDF5 allocate
gigabytes.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """One element of an h5ad file with the names along its axes; `genes` is None for `obs` and
    `obsm`.
    """

    cells: pd.Index
    genes: pd.Index | None
    values: Any


def read_element(
    path: Path, kind: str, key: str, *, most_bytes: int | None = None
) -> tuple[Element | None, list[Problem]]:
    """Read the names and one element of an h5ad file; None and a problem if the element is not
    there.

    A few kB can unpack to gigabytes, so anything larger than `most_bytes` is rejected before it is
    read.

    Raises:
        InvalidSubmissionError: the file is not an h5ad file, is damaged, links to other files or is
            too large.
    """
    with _readable(path), h5py.File(path, "r") as file:
        refuse_links(file)
        return _element(file, kind, key, most_bytes)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise InvalidSubmissionError for whatever anndata and HDF5 raise on a damaged file."""
    try:
        yield
    except (InvalidSubmissionError, MemoryError):
        raise
    except Exception as error:  # anndata and HDF5 may raise anything on a damaged file
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InvalidSubmissionError:
    """Return the error that says why HDF5 cannot read a file: it is empty, cut off, of another
    format, or compressed with a filter that is missing; otherwise in HDF5's own words.
    """
    size = path.stat().st_size
    if not size:
        return InvalidSubmissionError("the file is empty")
    reason = clean_line(str(error) or type(error).__name__, 160)
    if whole := _CUT_OFF.search(reason):
        reason = f"it is cut off, with {size:,} of {int(whole[1]):,} bytes"
    elif not h5py.is_hdf5(path):
        other = other_format(path.read_bytes()) or "not an HDF5 file"
        reason = f"it is {other}"
    elif missing := _missing_filter(path):
        reason = missing
    return InvalidSubmissionError(f"{path.name} is not a readable h5ad file: {reason}")


def _missing_filter(path: Path) -> str | None:
    """Return the first dataset of a file whose compression this HDF5 cannot read; None if it can
    read all.
    """

    def look(name: str, item: Any) -> str | None:
        if not isinstance(item, h5py.Dataset):
            return None
        plan = item.id.get_create_plist()
        for place in range(plan.get_nfilters()):
            number, _, _, label = plan.get_filter(place)
            if not h5py.h5z.filter_avail(number):
                # HDF5's own plug-ins add an address to the name.
                known = (
                    clean_line(label.decode(errors="replace").partition(";")[0], 60)
                    or "without a name"
                )
                return (
                    f"`{clean_line(name, 60)}` is compressed with a filter that is missing here:"
                    f" number {number}, "
                    f'{known}; write it with `compression="gzip"`'
                )
        return None

    try:
        with h5py.File(path, "r") as file:
            found: str | None = file.visititems(look)  # which follows no links
            return found
    except Exception:  # HDF5 may raise anything on a damaged file
        return None


def read_submission(
    path: Path, kind: str, key: str, *, values: int
) -> tuple[Element | None, list[Problem]]:
    """Read one element of a submission, as `read_element` does, within what a submission for
    answers of that many values may take: when it is unpacked, and of memory meanwhile.

    Raises:
        InvalidSubmissionError: as `read_element`, or reading it needs more memory (limited in a
            worker).
    """
    with _bounded(path, values):
        return read_element(path, kind, key, most_bytes=_SPARE + _EACH * values)


@contextlib.contextmanager
def _bounded(path: Path, values: int) -> Iterator[None]:
    with contextlib.suppress(OSError):
        values += path.stat().st_size // _READING_EACH
    most_mb = _READING_MB + _READING_EACH * values / 1e6
    with containment.bound_memory(most_mb) as is_bounded:
        try:
            yield
        except MemoryError:
            if not is_bounded:
                raise
            raise InvalidSubmissionError(
                f"{path.name} is not a readable h5ad file: it needs more than {most_mb:,.0f} MB of"
                " memory"
            ) from None


def refuse_file_links(path: Path) -> None:
    """Refuse an h5ad file that points at other files, before a grader's code opens it.

    Of a file that is no HDF5 file, the grader's code says what is wrong.

    Raises:
        InvalidSubmissionError: it does, or it is damaged: a link may lie behind the damaged part,
            which a grader does not have to read.
    """
    if not h5py.is_hdf5(path):
        return
    with _readable(path), _bounded(path, 0), h5py.File(path, "r") as file:
        refuse_links(file)


def cell_names(path: Path) -> pd.Index | None:
    """Return the names of an h5ad file's cells; None if they cannot be read."""
    try:
        with h5py.File(path, "r") as file:
            return _names(file["obs"], None)
    except Exception:  # HDF5 may raise anything on a damaged file
        return None


def refuse_unreadable(path: Path) -> None:
    """Reject a file that is not an h5ad file: empty, damaged, not HDF5, or without cells or genes.

    Raises:
        InvalidSubmissionError: it is not one; the message says why.
    """
    with _readable(path), _bounded(path, 0), h5py.File(path, "r") as file:
        missing = [axis for axis in ("obs", "var") if axis not in file]
    if missing:
        raise InvalidSubmissionError(
            f"the file has no `{missing[0]}`, so it is not an AnnData file"
        )
    if reason := _missing_filter(path):
        raise InvalidSubmissionError(f"{path.name} is not a readable h5ad file: {reason}")


def _element(
    file: Any, kind: str, key: str, most_bytes: int | None
) -> tuple[Element | None, list[Problem]]:
    axes = _AXES.get(kind, ("obs",))
    for axis in axes:
        if axis not in file:
            return None, [Problem(f"the file has no `{axis}`: it is not an AnnData file")]
    cells = _names(file["obs"], most_bytes)
    genes = _names(file["var"], most_bytes) if "var" in axes else None
    holder, name = (file, "X") if kind == "X" else (file.get(kind, {}), key)
    has_names = _element_names(holder)
    if name not in has_names:
        has = ", ".join(clean_line(item, 40) for item in has_names[:10]) or "nothing"
        what = _element_words(kind, clean_line(key, 60))
        return None, [Problem(f"{what} is missing; the file has {has}", field=key)]
    if kind == "obs":
        values = _column(file, holder, name, most_bytes)
    elif isinstance(holder, h5py.Dataset):
        values = _field(holder, name, most_bytes)
    else:
        values = _read(holder[name], most_bytes)
    if hasattr(values, "to_numpy") and kind != "obs":
        values = values.to_numpy()
    if kind == "obs":
        values = pd.Series(values)
        if len(values) != len(cells):
            return None, [
                Problem(f"`{name}` has {len(values):,} values for {len(cells):,} cells", field=key)
            ]
    return Element(cells, genes, values), []


_AXES = dict.fromkeys(("X", "layers"), ("obs", "var"))
"""The axes that name an element's rows and columns; those of other kinds are cells alone."""


def _element_words(kind: str, key: str) -> str:
    """Return how a sentence names an element of a file."""
    if kind == "X":
        return "`X`"
    return f"`{kind}` key `{key}`"


def _element_names(holder: Any) -> list[str]:
    """Return the names of a group's elements or of a structured array's columns."""
    if isinstance(holder, h5py.Dataset):
        return list(holder.dtype.names or ())
    return [name for name in holder if name != "__categories"]


def _column(file: Any, table: Any, name: str, most_bytes: int | None) -> Any:
    """Read a column of `obs` with its labels, wherever the anndata that wrote it put those of a
    categorical.

    Since 0.8 codes and labels are one element. 0.7 wrote the codes as the column, whose attribute
    `categories` refers to the labels; before, they were in `uns` under the column's name. Codes
    without their labels would be scored as if they were the labels.
    """
    labels: Any = None
    if isinstance(table, h5py.Dataset):
        values = _field(table, name, most_bytes)
        if "uns" in file and values.dtype.kind in "iu":
            labels = file["uns"].get(f"{name}_categories")
    else:
        values = _read(table[name], most_bytes)
        if "categories" in table[name].attrs:
            labels = table[table[name].attrs["categories"]]
    if labels is None:
        return values
    categories = np.atleast_1d(_read(labels, most_bytes))
    if isinstance(table, h5py.Dataset) and not (values < len(categories)).all():
        # One name in `uns` stands for a column of `obs` and of `var`: these labels are of the
        # other.
        if values.dtype.itemsize < _WHOLE_NUMBERS:
            raise InvalidSubmissionError(
                f"the labels of `obs` column `{clean_line(name, 60)}` are not in the file: anndata"
                " before 0.7 kept those of a column of `var` with the same name in their place;"
                " write it with a newer anndata"
            )
        return values
    return pd.Categorical.from_codes(
        values, categories, ordered=bool(labels.attrs.get("ordered", False))
    )


def _chunk_size(table: Any) -> int:
    """Return the number of elements that are read at once; 0 where a table has no chunks."""
    if table.chunks:
        return math.prod(table.chunks)
    return 0


def _field(table: Any, name: str, most_bytes: int | None) -> Any:
    """Read a column of a structured array, as which anndata before 0.7 wrote `obs`, `var` and
    `obsm`.
    """
    kind = table.dtype[name]
    chunk = _chunk_size(table) * table.dtype.itemsize
    _refuse_large(name, max(int(table.size) * kind.itemsize, chunk), most_bytes)
    values = table[name]
    if h5py.check_string_dtype(kind) is None:
        return values
    return np.array([text.decode() for text in values.tolist()], object)


def refuse_links(file: Any) -> None:
    """Refuse links and data kept in other files (the answers could be one), without following any.

    Raises:
        InvalidSubmissionError: one was found, or the file has too many parts to look at.
    """
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
                raise InvalidSubmissionError(
                    f"the file's `{shown}` is a link; links are not followed"
                )
            place = h5py.h5o.get_info(group.id, name.encode("utf-8", "surrogateescape")).addr
            if place in seen:
                continue
            seen.add(place)
            item = group[name]
            if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
                raise InvalidSubmissionError(
                    f"the file's `{shown}` stores its data in another file"
                )
            if isinstance(item, h5py.Group):
                waiting.append(item)


def _names(axis: Any, most_bytes: int | None) -> pd.Index:
    if isinstance(axis, h5py.Dataset):
        return pd.Index(_field(axis, axis.dtype.names[0], most_bytes)).astype(str)
    name = axis.attrs.get("_index", "_index")
    if not isinstance(name, str) or "/" in name or name not in axis:
        raise InvalidSubmissionError("`_index` does not point to the names of cells or genes")
    return pd.Index(_read(axis[name], most_bytes)).astype(str)


def _read(item: Any, most_bytes: int | None) -> Any:
    _refuse_large(item.name.rpartition("/")[2], _unpacked(item), most_bytes)
    if isinstance(item, h5py.Dataset) and item.ndim == 2 and item.dtype.kind in "iuf":
        return _mapped(item)
    if (
        isinstance(item, h5py.Dataset)
        and item.ndim == 1
        and h5py.check_string_dtype(item.dtype) is not None
    ):
        return item.asstr()[()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the format is old
        values = _anndata().io.read_elem(item)
    if sparse.issparse(values):
        # positions outside the matrix are written to without a look
        values.check_format(full_check=True)
    return values


def _refuse_large(name: str, size: int, most_bytes: int | None) -> None:
    if most_bytes is not None and size > most_bytes:
        raise InvalidSubmissionError(
            f"`{clean_line(name, 60)}` would unpack to {units.size(size)}; "
            f"{units.size(most_bytes)} is the limit for this task"
        )


def _anndata() -> Any:
    with containment.not_counted():
        import anndata  # its own memory is not the file's
    return anndata


def _unpacked(item: Any) -> int:
    """Return the bytes that a dataset, or all below a group, takes when it is read."""
    waiting, seen = [item], set()
    # A sparse matrix declares its shape separately from its values, before anndata 0.7 under
    # another name.
    shape = item.attrs.get("shape", item.attrs.get("h5sparse_shape", 0))
    total = math.prod(int(side) for side in np.atleast_1d(shape))
    while waiting:
        part = waiting.pop()
        place = h5py.h5o.get_info(part.id).addr
        if isinstance(part, h5py.Dataset) and part.shape is not None:
            total += max(int(part.size or 0), _chunk_size(part)) * max(part.dtype.itemsize, 1)
        elif isinstance(part, h5py.Group) and place not in seen:
            seen.add(place)
            waiting.extend(part.values())
    return total


def _mapped(dataset: Any) -> Any:
    """Return a contiguous matrix as a memory-mapped view of the file, others as an array."""
    offset = dataset.id.get_offset()
    path = Path(dataset.file.filename)
    if offset is None or dataset.chunks is not None or not dataset.size:
        return dataset[()]
    if offset + dataset.nbytes > path.stat().st_size:
        return dataset[()]
    return np.memmap(path, mode="r", dtype=dataset.dtype, shape=dataset.shape, offset=offset)


def write_h5ad(data: Any, path: Path) -> None:
    """Write an AnnData, compressed.

    Its texts are written as objects: the last anndata for Python 3.11 cannot write the strings of
    pandas 3.
    """
    data.obs, data.var = _texts_as_objects(data.obs), _texts_as_objects(data.var)
    with written_by_path(below(path.parent, path.name)) as partial:
        data.write_h5ad(partial, compression="gzip")


def _texts_as_objects(frame: Any) -> Any:
    frame = frame.set_axis(frame.index.astype(object), axis=0).set_axis(
        frame.columns.astype(object), axis=1
    )
    for name, column in frame.items():
        if isinstance(column.dtype, pd.StringDtype):
            frame[name] = column.astype(object)
        elif isinstance(column.dtype, pd.CategoricalDtype):
            frame[name] = column.cat.rename_categories(column.cat.categories.astype(object))
    return frame


SUMMED = frozenset({"mean_absolute_error", "mse", "rmse"})
"""Metrics that are a sum over elements: taken in blocks, without a dense copy of a sparse matrix.
"""

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
            raise alignment.mismatch(problems[0].message)
        self.true = element
        self._scored: tuple[Path | None, Any] = None, None
        # A column of `obs` is small, and has one dimension: it is scored at once.
        self.summed = spec.metric.name in SUMMED and self.kind != "obs"
        truth = self._truth()
        if not self.summed:
            where = _element_words(self.kind, self.key)
            alignment.refuse_undefined(spec.metric, lambda: self._metric(truth), where)

    def _truth(self) -> Any:
        """Return the answers' own element as a submission's would be.

        Raises:
            NotMeasuredError: it is a column of `obs` with cells that no file can match.
        """
        if self.kind != "obs":
            return self.true.values
        values, problems = self._column(self.true.values)
        if problems:
            raise alignment.mismatch(problems[0].message)
        return values

    def coverage(self, path: Path) -> alignment.Coverage:
        """Return that all cells are scored: a file that lacks one has no score."""
        return alignment.Coverage(len(self.true.cells), len(self.true.cells))

    def score(self, path: Path) -> Any:
        """Return the metric over all cells (and genes); InvalidSubmissionError carries all
        findings.

        Raises:
            InvalidSubmissionError: the file does not match the answers; it lists every finding.
        """
        # A sum over elements is finite only if all of them are.
        self._scored = None, None
        values, problems = self._aligned(path, look_at_values=not self.summed)
        if problems:
            raise alignment.invalid(problems)
        score = self._metric(values)
        if self.spec.metric.kind == "label":
            self._scored = path, values
        if self.summed and not math.isfinite(score):
            problems = self._aligned(path)[1]
            if problems:
                raise alignment.invalid(problems)
        return score

    def hints(self, path: Path) -> list[str]:
        """Return which labels no cell of the answers has."""
        if self.kind != "obs" or self.spec.metric.kind != "label":
            return []
        scored, values = self._scored
        if scored != path:
            values = self.values(path)
        return alignment.unknown_labels(set(self._truth()), values, self.key)

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
                f"{metric.title or metric.name} over all elements, because the elements of one cell"
                " are not independent"
            )
        return row_loss_draws(metric.name, [self.cell_losses(values)])

    def pairs(self, path: Path) -> list[tuple[Any, Any]]:
        """Return truth and prediction of an element of `obs`, as `pair`.

        Raises InvalidSubmissionError.
        """
        return [self.pair(self.values(path))]

    def column_pairs(self, predictions: pd.DataFrame, name: str) -> tuple[Any, Any]:
        """Return truth and prediction, as `pair`, for a column of a table of predictions whose
        first column names cells.
        """
        column = predictions.set_index(predictions.columns[0])[name]
        return self.pair(column.loc[self.true.cells].to_numpy(object))

    def pair(self, values: Any) -> tuple[Any, Any]:
        """Return truth and aligned prediction of an element of `obs`, shape (cells,); classes as
        codes.
        """
        if self.spec.metric.kind != "label":
            return np.asarray(self.true.values, np.float64), np.asarray(values, np.float64)
        codes, _ = alignment.labels(self.true.values, self.key)
        assert codes is not None
        return alignment.label_codes(codes.to_numpy(), values)

    def difference(self, values: Any) -> Any:
        """Return the answers minus a submission's matrix, both dense or sparse, as floats."""
        return _float_difference(self.true.values, values)

    def cell_losses(self, values: Any) -> NDArray[np.float64]:
        """Return each cell's mean absolute or squared error over its elements, shape (cells,)."""
        true, absolute = self.true.values, self.spec.metric.name == "mean_absolute_error"
        rows, columns = true.shape
        if sparse.issparse(true) and sparse.issparse(values):
            losses = _losses(self.difference(values), absolute=absolute)
            means: NDArray[np.float64] = np.asarray(losses.mean(axis=1), np.float64).reshape(-1)
            return means
        step = max(1, _BLOCK // max(columns, 1))
        parts = []
        for start in range(0, rows, step):
            block = _difference(true, values, start, start + step).reshape(-1, columns)
            parts.append(_losses(block, absolute=absolute).mean(axis=1))
        return np.concatenate(parts)

    def _metric(self, values: Any) -> Any:
        metric = self.spec.metric
        true = self.true.values
        if metric.kind == "label":
            return metric.function(*self.pair(values))
        if self.summed:
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
            if problems:
                return None, problems
            return _take(values, cells), []
        name = "X" if self.kind == "X" else f"{self.kind} {self.key}"
        problems += _shape_problems(element, self.true.values.shape, name)
        if look_at_values and not problems:
            problems += _value_problems(element.values, name)
        if problems:
            return None, problems
        values = element.values
        if cells is not None:
            values = values[cells]
        if genes is not None:
            values = values[:, genes]
        return values, []

    def _column(self, column: Any) -> tuple[Any, list[Problem]]:
        if self.spec.metric.kind == "label":
            values, problems = alignment.labels(column, self.key, alignment.CELLS)
            if values is None:
                return None, problems
            return values.to_numpy(), problems
        in_unit = self.spec.metric.in_unit
        return alignment.numbers(column, self.key, in_unit=in_unit, names=alignment.CELLS)


def _take(values: Any, where: Any) -> Any:
    if where is None:
        return values
    return np.asarray(values)[where]


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
        wanted = "two dimensions"
        if len(shape) > 1:
            wanted = f"{shape[1]:,} columns"
        return [Problem(f"{name} has shape {values.shape}; {wanted} are expected")]
    named = (len(element.cells), values.shape[1])
    if element.genes is not None:
        named = (len(element.cells), len(element.genes))
    if values.shape != named:
        return [Problem(f"{name} has shape {values.shape}; the file's names make it {named}")]
    data = _stored(values)
    if data.dtype.kind not in "iufb":
        return [Problem(f"{name} must contain numbers, not {clean_line(str(data.dtype), 40)}")]
    return []


def _stored(values: Any) -> Any:
    """Return the numbers of a matrix that are stored: of a sparse one, those that are not 0."""
    if sparse.issparse(values):
        return values.data
    return values


def _dense(values: Any) -> Any:
    if sparse.issparse(values):
        return values.toarray()
    return values


def _value_problems(values: Any, name: str) -> list[Problem]:
    data = _stored(values)
    # One pass: a sum is finite unless an element is not (or it overflows, which a second pass
    # decides).
    if data.dtype.kind == "f" and data.size and not np.isfinite(data.sum(dtype=np.float64)):
        bad = int(data.size - np.isfinite(data).sum())
        if bad:
            return [
                Problem(f"{name} has {bad:,} values that are NaN or infinite{_first_bad(values)}")
            ]
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
    return np.ascontiguousarray(_dense(values)).reshape(-1).astype(np.float64, copy=False)


def _losses(difference: Any, *, absolute: bool) -> Any:
    if absolute:
        return abs(difference)
    if sparse.issparse(difference):
        return difference.multiply(difference)
    return difference * difference


def _summed_error(true: Any, values: Any, name: str) -> float:
    rows, columns = true.shape
    if sparse.issparse(true) and sparse.issparse(values):
        blocks: Iterable[Any] = [_float_difference(true, values).data.astype(np.float64)]
    else:
        step = max(1, _BLOCK // max(columns, 1))
        blocks = (_difference(true, values, start, start + step) for start in range(0, rows, step))
    absolute = name == "mean_absolute_error"
    total = 0.0
    for block in blocks:
        total += float(np.abs(block).sum() if absolute else np.dot(block, block))
    mean: float = total / (rows * columns)
    if name == "rmse":
        return math.sqrt(mean)
    return mean


def _float_difference(true: Any, values: Any) -> Any:
    # Of unsigned whole numbers, as which counts may be stored, 3 − 5 would be 254.
    left, right = (
        part if part.dtype.kind == "f" else part.astype(np.float64) for part in (true, values)
    )
    return left - right


def _difference(true: Any, values: Any, start: int, stop: int) -> Any:
    left, right = (_dense(part[start:stop]) for part in (true, values))
    return np.subtract(left, right, dtype=np.float64).reshape(-1)
