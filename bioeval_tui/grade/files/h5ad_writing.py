"""Writes h5ad files that every supported anndata reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd


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
