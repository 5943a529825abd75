"""The fast path for a submission in the expected form: same ids in the same order, finite numbers.

It never reports problems: a file with anything unusual is left to `read_frame` and the checks after
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from bioeval_tui.grade.answers import MetricSpec
from bioeval_tui.grade.plain_tables import is_plain, unix_lines

SPLIT_BELOW = 1 << 16
"""Below this many bytes splitting text into known columns is faster than setting up Arrow's reader.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """The expected form of a file: the first column's cells, and the required columns."""

    id: str
    predictions: tuple[str, ...]
    cells: list[str]
    arrow_ids: Any
    unit: bool


def expectation(spec: MetricSpec, answers: pd.DataFrame) -> Expectation | None:
    """Return the expected form of submissions for these answers; None if the fast path is not
    safe.
    """
    ids = answers[spec.id]
    if spec.metric.kind == "label" or ids.isna().any():
        return None
    if ids.dtype.kind == "i":
        cells, arrow = [str(item) for item in ids.tolist()], pa.array(ids.to_numpy(), pa.int64())
    elif ids.dtype.kind == "O" and all(_plain_text(item) for item in ids):
        cells, arrow = ids.tolist(), pa.array(ids.tolist(), pa.string())
    else:
        return None
    # Each cell but the first starts with its line's break, so equal cells mean equal lines.
    cells = [cells[0], *("\n" + cell for cell in cells[1:])]
    return Expectation(spec.id, spec.predictions, cells, arrow, spec.metric.in_unit)


def _plain_text(item: Any) -> bool:
    return (
        isinstance(item, str)
        and item.isascii()
        and item.isprintable()
        and not set(item) & set(' ",_')
    )


def read_expected(data: bytes, expected: Expectation) -> list[Any] | None:
    """Return the required columns as float arrays of shape (rows,), or None if the file does not
    have the expected form.
    """
    data = unix_lines(data)
    if not is_plain(data):
        return None
    header = data[:4096].partition(b"\n")[0]
    try:
        names = header.decode("ascii").split(",")
    except UnicodeDecodeError:
        return None
    if len(names) < 2 or names[0] != expected.id or len(set(names)) != len(names):
        return None
    if any(name not in names for name in expected.predictions):
        return None
    numbers = _numbers_by_text if len(data) < SPLIT_BELOW else _numbers_by_arrow
    columns = numbers(data, names, expected)
    if columns is None:
        return None
    for column in columns:
        if not np.isfinite(column).all():
            return None
        if expected.unit and ((column < 0) | (column > 1)).any():
            return None
    return columns


def _numbers_by_text(data: bytes, names: list[str], expected: Expectation) -> list[Any] | None:
    body = data[data.index(b"\n") + 1 :] if b"\n" in data else b""
    # float() accepts digits of any script, and underscores, which no CSV reader does.
    if not data.isascii() or b"_" in body or b" " in body:
        return None
    text = body.decode("ascii").removesuffix("\n")
    if text.count("\n") != len(expected.cells) - 1:
        return None
    cells = text.replace("\n", ",\n").split(",")
    width = len(names)
    if len(cells) != width * len(expected.cells) or cells[::width] != expected.cells:
        return None
    try:
        return [
            np.array(list(map(float, cells[names.index(name) :: width])))
            for name in expected.predictions
        ]
    except ValueError:
        return None


def _numbers_by_arrow(data: bytes, names: list[str], expected: Expectation) -> list[Any] | None:
    types = {expected.id: expected.arrow_ids.type} | dict.fromkeys(
        expected.predictions, pa.float64()
    )
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(use_threads=False, block_size=len(data)),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    ids = table.column(0).combine_chunks()
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.chunk(0)
    if not ids.equals(expected.arrow_ids):
        return None
    return [table.column(name).to_numpy() for name in expected.predictions]
