"""Plain CSV files as DataFrames, faster than pandas reads them and certain to be the same.

`is_plain` and `_same_as_pandas` are the proof: files without quotes, control characters, blanks
beside a comma and empty lines, with finite numbers below 2**53 or text that cannot be read as a
number. Small files are split here, larger ones are read by Arrow.
"""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from bioeval_tui.grade.published_tables import pandas_version

# Texts that pandas reads as missing values.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
# Blanks beside a comma or the end of a line; signed and hexadecimal numbers, which Arrow reads in
# other types than pandas does. Each is looked for only where its rarer character is: pairs with a
# comma or a line's end are found slowly.
_NOT_PLAIN = {
    b" ": (b" ,", b", ", b" \n", b"\n "),
    b"+": (b",+", b"\n+"),
    b"x": (b"0x",),
    b"X": (b"0X",),
}
_WINDOW = 1 << 17
"""How many bytes are looked at together: the memory of larger tables would be new to the process
each time.
"""

SPLIT_BELOW = 1 << 15
"""Below this many bytes splitting text into a frame is faster than setting up Arrow's reader."""
_EXACT_INTEGER = 2**53
_ONE_CHUNK = 1 << 19
"""Number of cells that pandas certainly reads together to infer a column's type; it reads longer
files in pieces.
"""


def _column_pattern(cell: str) -> re.Pattern[str]:
    """Return the pattern of one or more such cells, a line each, which never goes back into a cell
    that matched.
    """
    return re.compile(f"(?>{cell})(?:\\n(?>{cell}))*+")


_WHOLE_CELLS = _column_pattern(r"-?[0-9]{1,15}")
_NUMBER_CELLS = _column_pattern(
    r"-?(?:[0-9]{1,15}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?"
)
_NAME_CELLS = _column_pattern(r"[A-Za-z][A-Za-z.:-]*[0-9_][A-Za-z0-9_.:-]*")
"""Text that no reader takes for a number, a boolean or a missing value: a letter first and a digit
later.
"""


def read_plain(data: bytes) -> pd.DataFrame | None:
    """Return a plain CSV as the frame that pandas would read; None if it is not certain to be the
    same.
    """
    data = unix_lines(data)
    if len(data) < SPLIT_BELOW and (small := _read_split(data)) is not None:
        return small
    names = io.BytesIO(data).readline().removesuffix(b"\n").split(b",")
    if (
        not is_plain(data)
        or b"" in names
        or len(set(names)) != len(names)
        or data[:3] == b"\xef\xbb\xbf"
    ):
        return None
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(use_threads=False, block_size=max(1 << 20, len(data))),
            convert_options=csv.ConvertOptions(
                null_values=list(_MISSING), strings_can_be_null=True
            ),
        )
        names_are_text = bool(table.column_names)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, UnicodeDecodeError):
        return None
    in_one_chunk = table.num_rows * table.num_columns < _ONE_CHUNK
    if (
        not names_are_text
        or not table.num_rows
        or not all(_same_as_pandas(column, in_one_chunk) for column in table.itercolumns())
    ):
        return None
    frame: pd.DataFrame = table.to_pandas()
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        if column.null_count and pa.types.is_string(column.type):
            frame[name] = frame[name].where(frame[name].notna(), float("nan"))
    return frame


def _same_as_pandas(column: pa.ChunkedArray, in_one_chunk: bool) -> bool:
    """Whether pandas would infer the same type and the same values for this column."""
    kind = column.type
    if pa.types.is_int64(kind):
        if not column.null_count:
            return True
        # In a column with missing values, pandas reads integers as floats.
        ends = pc.min_max(column).as_py()
        return bool(ends["min"] > -_EXACT_INTEGER and ends["max"] < _EXACT_INTEGER)
    if pa.types.is_float64(kind):
        # Arrow and pandas read integers beyond int64, and some spellings of NaN, differently.
        largest = pc.max(pc.abs(column)).as_py()
        return largest is None or bool(
            largest < _EXACT_INTEGER and pc.all(pc.is_finite(column)).as_py()
        )
    if not pa.types.is_string(kind) or not in_one_chunk:
        return False
    first = column.drop_null()
    if not len(first):
        return False
    text = first[0].as_py()
    if text.strip().lower() in {"true", "false"}:
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def unix_lines(data: bytes) -> bytes:
    """Return a text with `\\n` line endings."""
    if b"\r" not in data:  # one byte is found ten times as fast as two
        return data
    return data.replace(b"\r\n", b"\n")


def is_plain(data: bytes) -> bool:
    """Whether the cells of a CSV are unambiguous: no quotes, no spaces beside a comma, no empty
    lines.

    Lines must end in a bare newline.
    """
    return (
        data[:1] not in (b" ", b"\n", b"+")
        and data[-1:] != b" "
        and b'"' not in data
        and b"\x7f" not in data
        and not any(
            token in data for rare, tokens in _NOT_PLAIN.items() if rare in data for token in tokens
        )
        and _breaks_are_plain(data)
    )


def _breaks_are_plain(data: bytes) -> bool:
    """Whether line breaks are the only control characters, and no two are side by side."""
    for start in range(0, len(data), _WINDOW):
        codes = np.frombuffer(data, np.uint8, min(_WINDOW + 1, len(data) - start), start)
        is_break = (codes == ord("\n")).view(np.uint8)
        if (
            np.count_nonzero(codes < ord(" ")) != np.count_nonzero(is_break)
            or (is_break[1:] & is_break[:-1]).any()
        ):
            return False
    return True


def _read_split(data: bytes) -> pd.DataFrame | None:
    """Return a small plain CSV of whole numbers, other numbers and names as a frame; None if it
    contains anything else.

    It accepts a subset of the numbers that pandas accepts, and rounds them as correctly.
    """
    if not data.isascii() or not is_plain(data):
        return None
    header, _, body = data.decode("ascii").removesuffix("\n").partition("\n")
    names = header.split(",")
    width, rows = len(names), body.count("\n") + 1
    if not body or "" in names or len(set(names)) != width:
        return None
    # Each first cell but the very first begins with its line's break: as many breaks as rows mean
    # lines of equal width.
    cells = body.replace("\n", ",\n").split(",")
    if len(cells) != width * rows or "".join(cells[::width]).count("\n") != rows - 1:
        return None
    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        own = cells[place::width]
        lines = "\n".join(own) if place else "".join(own)
        # One match of a whole column takes a fifth of the time of a match for each cell.
        if _WHOLE_CELLS.fullmatch(lines):
            columns[name] = np.array(list(map(int, own)), np.int64)
        elif _NUMBER_CELLS.fullmatch(lines):
            columns[name] = np.array(list(map(float, own)), np.float64)
        elif pandas_version() < (3,) and _NAME_CELLS.fullmatch(lines):
            columns[name] = np.array(lines.split("\n"), object)
        else:
            return None
    return pd.DataFrame(columns)
