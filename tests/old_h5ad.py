"""h5ad files in the layouts that anndata wrote before 0.8, made with h5py.

No anndata of today writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from scipy import sparse

TEXT = h5py.string_dtype()
LAYOUTS = ("0.5", "0.6", "0.7")


def write_old(
    path: Path,
    layout: str,
    obs: pd.DataFrame,
    genes: list[str],
    *,
    x: Any = None,
    layers: Mapping[str, Any] | None = None,
    obsm: Mapping[str, Any] | None = None,
    var: Mapping[str, Any] | None = None,
) -> Path:
    """Write a file as that anndata did.

    0.5 and 0.6: `obs`, `var` and `obsm` are structured arrays with texts of fixed length, and the
    labels of a categorical are in `uns`; those of `var` are written last. 0.7: codes refer to
    labels in the group `__categories`.
    """
    genes_frame = pd.DataFrame(dict(var or {}), index=genes)
    with h5py.File(path, "w") as file:
        for name, values in (
            ("X", x),
            *((f"layers/{key}", value) for key, value in (layers or {}).items()),
        ):
            if values is not None:
                _write_matrix(file, name, values, layout)
        if layout == "0.7":
            _write_group(file.create_group("obs"), obs)
            _write_group(file.create_group("var"), genes_frame)
            for key, values in (obsm or {}).items():
                file[f"obsm/{key}"] = values
            return path
        _write_table(file, "obs", obs, layout)
        _write_table(file, "var", genes_frame, layout)
        if obsm:
            columns = [(key, values.dtype, values.shape[1:]) for key, values in obsm.items()]
            table = np.zeros(len(obs), columns)
            for key, values in obsm.items():
                table[key] = values
            file["obsm"] = table
    return path


def _write_matrix(file: h5py.File, name: str, values: Any, layout: str) -> None:
    if not sparse.issparse(values):
        file[name] = values
        return
    group = file.create_group(name)
    if layout == "0.7":
        form = {
            "encoding-type": f"{values.format}_matrix",
            "encoding-version": "0.1.0",
            "shape": values.shape,
        }
    else:
        form = {"h5sparse_format": values.format, "h5sparse_shape": values.shape}
    group.attrs.update(form)
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(values, part)


def _write_group(group: h5py.Group, frame: pd.DataFrame) -> None:
    group.attrs.update(
        {"_index": "_index", "encoding-type": "dataframe", "encoding-version": "0.1.0"}
    )
    group.attrs["column-order"] = np.array(list(frame), dtype=TEXT if len(frame.columns) else float)
    group["_index"] = np.array(list(frame.index), dtype=TEXT)
    for name, column in frame.items():
        if not isinstance(column.dtype, pd.CategoricalDtype):
            group[name] = _stored(column)
            continue
        labels = group.create_dataset(f"__categories/{name}", data=_stored(column.cat.categories))
        labels.attrs["ordered"] = bool(column.cat.ordered)
        group[name] = column.cat.codes.to_numpy()
        group[name].attrs["categories"] = labels.ref


def _stored(column: Any) -> Any:
    values = column.to_numpy()
    return values if values.dtype.kind in "iufb" else np.array(list(values), dtype=TEXT)


def _write_table(file: h5py.File, name: str, frame: pd.DataFrame, layout: str) -> None:
    columns = {"index": _bytes(frame.index)}
    for key, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            columns[str(key)] = column.cat.codes.to_numpy()
            labels = column.cat.categories
            place = f"uns/{key}_categories"
            if place in file:
                del file[place]
            file[place] = (
                _bytes(labels) if layout == "0.5" and labels.dtype.kind == "O" else _stored(labels)
            )
        else:
            values = column.to_numpy()
            columns[str(key)] = values if values.dtype.kind in "iufb" else _bytes(values)
    table = np.zeros(len(frame), [(key, values.dtype) for key, values in columns.items()])
    for key, values in columns.items():
        table[key] = values
    file[name] = table


def _bytes(values: Any) -> Any:
    return np.array([str(value).encode() for value in values])
