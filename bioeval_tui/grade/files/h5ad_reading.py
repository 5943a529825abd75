"""Reads untrusted h5ad files: follows no links, and unpacks only the data that the answers need. Writes ones
that every supported anndata reads."""

from __future__ import annotations

import contextlib
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from scipy import sparse

from bioeval_tui.errors import InvalidSubmissionError, Problem
from bioeval_tui.grade.batch import containment
from bioeval_tui.text import clean_line

_CUT_OFF = re.compile(r"truncated file: .*stored_eof = (\d+)")
_SPARE = 64_000_000
_EACH = 32
"""One element of a submission may unpack to `_SPARE` bytes and `_EACH` more for each value of the answers."""
_MOST_OBJECTS = 5_000
"""Maximum number of groups and datasets in a submission."""
_READING_MB = 250
_READING_EACH = 256
"""Memory limit for reading a submission in a worker: a number of MB, plus the file's size, plus bytes per value of the answers.
A damaged length in a file of a few kB makes HDF5 allocate gigabytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """One element of an h5ad file with the names along its axes; `genes` is None for `obs` and `obsm`."""

    cells: pd.Index
    genes: pd.Index | None
    values: Any


def read_element(
    path: Path, kind: str, key: str, *, most_bytes: int | None = None
) -> tuple[Element | None, list[Problem]]:
    """Read the names and one element of an h5ad file; None and a problem if the element is not there.

    A few kB can unpack to gigabytes, so anything larger than `most_bytes` is rejected before it is read.

    Raises:
        InvalidSubmissionError: the file is not an h5ad file, is damaged, links to other files or is too large.
    """
    try:
        with h5py.File(path, "r") as file:
            refuse_links(file)
            return _element(file, kind, key, most_bytes)
    except (InvalidSubmissionError, MemoryError):
        raise
    except Exception as error:  # anndata and HDF5 may raise anything on a damaged file
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InvalidSubmissionError:
    """Return why HDF5 cannot read a file, in words of the file where possible."""
    size = path.stat().st_size
    if not size:
        return InvalidSubmissionError("the file is empty")
    reason = clean_line(str(error) or type(error).__name__, 160)
    if whole := _CUT_OFF.search(reason):
        reason = f"it is cut off, with {size:,} of {int(whole[1]):,} bytes"
    elif not h5py.is_hdf5(path):
        reason = "it is not an HDF5 file"
    return InvalidSubmissionError(f"{path.name} is not a readable h5ad file: {reason}")


def read_submission(path: Path, kind: str, key: str, *, values: int) -> tuple[Element | None, list[Problem]]:
    """Read a submission for answers of that many values, with a plausible memory limit.

    Raises:
        InvalidSubmissionError: as `read_element`, or reading it needs more memory (limited in a worker).
    """
    with _bounded(path, values):
        return read_element(path, kind, key, most_bytes=_SPARE + _EACH * values)


@contextlib.contextmanager
def _bounded(path: Path, values: int) -> Iterator[None]:
    with contextlib.suppress(OSError):
        values += path.stat().st_size // _READING_EACH
    most_mb = _READING_MB + _READING_EACH * values / 1e6
    with containment.at_most(most_mb) as is_bounded:
        try:
            yield
        except MemoryError:
            if not is_bounded:
                raise
            raise InvalidSubmissionError(
                f"{path.name} is not a readable h5ad file: it needs more than {most_mb:,.0f} MB of memory"
            ) from None


def refuse_links_in(path: Path) -> None:
    """Refuse an h5ad file that points at other files, before a grader's code opens it.

    Other faults are found by the grader's code.

    Raises:
        InvalidSubmissionError: it does.
    """
    try:
        with _bounded(path, 0), h5py.File(path, "r") as file:
            refuse_links(file)
    except (InvalidSubmissionError, MemoryError):
        raise
    except Exception:  # HDF5 may raise anything on a damaged file
        return


def cells_of(path: Path) -> pd.Index | None:
    """Return the names of an h5ad file's cells; None if they cannot be read."""
    try:
        with h5py.File(path, "r") as file:
            obs = file["obs"]
            if isinstance(obs, h5py.Dataset):  # written by an anndata before 0.7
                return pd.Index(obs[obs.dtype.names[0]]).astype(str)
            return _names(obs, None)
    except Exception:  # HDF5 may raise anything on a damaged file
        return None


def refuse_unreadable(path: Path) -> None:
    """Reject a file that is not an h5ad file: empty, damaged, not HDF5, or without cells or genes.

    Raises:
        InvalidSubmissionError: it is not one; the message says why.
    """
    try:
        with _bounded(path, 0), h5py.File(path, "r") as file:
            missing = [axis for axis in ("obs", "var") if axis not in file]
    except (InvalidSubmissionError, MemoryError):
        raise
    except Exception as error:  # HDF5 may raise anything on a damaged file
        raise _unreadable(path, error) from None
    if missing:
        raise InvalidSubmissionError(f"the file has no `{missing[0]}`, so it is not an AnnData file")


def _element(file: Any, kind: str, key: str, most_bytes: int | None) -> tuple[Element | None, list[Problem]]:
    for axis in ("obs", "var") if kind in ("X", "layers") else ("obs",):
        if axis not in file:
            return None, [Problem(f"the file has no `{axis}`: it is not an AnnData file")]
    if isinstance(file["obs"], h5py.Dataset):
        return _element_before_0_7(file, kind, key, most_bytes)
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
        values = pd.Series(values)
        if len(values) != len(cells):
            return None, [Problem(f"`{name}` has {len(values):,} values for {len(cells):,} cells", field=key)]
    return Element(cells, genes, values), []


def _element_before_0_7(
    file: Any, kind: str, key: str, most_bytes: int | None
) -> tuple[Element | None, list[Problem]]:
    """Read an element of a file that an anndata before 0.7 wrote, whose `obs` is one structured array."""
    size = _unpacked(file)
    if most_bytes is not None and size > most_bytes:
        raise InvalidSubmissionError(
            f"the file, in the format of anndata 0.6, would unpack to {size / 1e6:,.0f} MB; {most_bytes / 1e6:,.0f} MB is the limit for this task"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the format is old
        data = _anndata().read_h5ad(file.filename)
    holder = {"X": {"X": data.X}}.get(kind) or getattr(data, kind)
    name = "X" if kind == "X" else key
    if name not in holder:
        return None, [Problem(f"`{kind}` key `{clean_line(key, 60)}` is missing", field=key)]
    values = holder[name]
    cells, genes = data.obs_names.astype(str), data.var_names.astype(str)
    return Element(cells, genes if kind in ("X", "layers") else None, values), []


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
                raise InvalidSubmissionError(f"the file's `{shown}` is a link; links are not followed")
            place = h5py.h5o.get_info(group.id, name.encode("utf-8", "surrogateescape")).addr
            if place in seen:
                continue
            seen.add(place)
            item = group[name]
            if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
                raise InvalidSubmissionError(f"the file's `{shown}` stores its data in another file")
            if isinstance(item, h5py.Group):
                waiting.append(item)


def _names(axis: Any, most_bytes: int | None) -> pd.Index:
    name = axis.attrs.get("_index", "_index")
    if not isinstance(name, str) or "/" in name or name not in axis:
        raise InvalidSubmissionError("`_index` does not point to the names of cells or genes")
    return pd.Index(_read(axis[name], most_bytes)).astype(str)


def _read(item: Any, most_bytes: int | None) -> Any:
    size = _unpacked(item)
    if most_bytes is not None and size > most_bytes:
        name = clean_line(item.name.rpartition("/")[2], 60)
        raise InvalidSubmissionError(
            f"`{name}` would unpack to {size / 1e6:,.0f} MB; {most_bytes / 1e6:,.0f} MB is the limit for this task"
        )
    if isinstance(item, h5py.Dataset) and item.ndim == 2 and item.dtype.kind in "iuf":
        return _mapped(item)
    if isinstance(item, h5py.Dataset) and item.ndim == 1 and h5py.check_string_dtype(item.dtype) is not None:
        return item.asstr()[()]
    values = _anndata().io.read_elem(item)
    if sparse.issparse(values):
        values.check_format(full_check=True)  # positions outside the matrix are written to without a look
    return values


def _anndata() -> Any:
    with containment.not_counted():
        import anndata  # its own memory is not the file's
    return anndata


def _unpacked(item: Any) -> int:
    """Return the bytes that a dataset, or all below a group, takes when it is read."""
    waiting, seen = [item], set()
    # A sparse matrix declares its shape separately from its values.
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

    Its texts are written as objects: the last anndata for Python 3.11 cannot write the strings of pandas 3.
    """
    data.obs, data.var = _texts_as_objects(data.obs), _texts_as_objects(data.var)
    data.write_h5ad(path, compression="gzip")


def _texts_as_objects(frame: Any) -> Any:
    frame = frame.set_axis(frame.index.astype(object), axis=0).set_axis(frame.columns.astype(object), axis=1)
    for name, column in frame.items():
        if isinstance(column.dtype, pd.StringDtype):
            frame[name] = column.astype(object)
        elif isinstance(column.dtype, pd.CategoricalDtype):
            frame[name] = column.cat.rename_categories(column.cat.categories.astype(object))
    return frame
