"""CSV files as DataFrames, the same as pandas reads them, by Arrow's reader where it gives the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.errors import InvalidSubmissionError
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# What pandas takes for a missing value.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
_EXACT_INTEGER = 2.0**53
# Arrow reads hexadecimal and signed numbers in other types than pandas does.
_ARROW_DIFFERS = (b"0x", b"0X", b",+", b"\n+", b'"+', b" +", b"\t+")


def read_frame(path: Path) -> pd.DataFrame:
    """Read a submission or answers CSV with correctly rounded numbers; an empty file gives an empty frame.

    Raises:
        InvalidSubmissionError: the file is no CSV (ragged, binary, not UTF-8); the sentence says where.
        OSError: it cannot be read.
    """
    import pandas as pd

    data = path.read_bytes()
    frame = _by_arrow(data)
    if frame is not None:
        return frame
    import io

    try:
        return pd.read_csv(io.BytesIO(data), float_precision="round_trip")
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidSubmissionError(
            f"{path.name} is not UTF-8 text: byte {error.start + 1:,}, line {line:,}"
        ) from None
    except (pd.errors.ParserError, ValueError, OverflowError) as error:
        raise InvalidSubmissionError(
            f"{path.name} is not a CSV file: {clean_line(str(error), 200)}"
        ) from None


def _by_arrow(data: bytes) -> pd.DataFrame | None:
    import pyarrow as pa
    from pyarrow import csv

    if any(token in data for token in _ARROW_DIFFERS):
        return None
    header = data.partition(b"\n")[0].rstrip(b"\r")
    names = header.split(b",")
    if b'"' in header or b"" in names or len(set(names)) != len(names) or data[:3] == b"\xef\xbb\xbf":
        return None
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(use_threads=False, block_size=max(1 << 20, len(data))),
            parse_options=csv.ParseOptions(newlines_in_values=b'"' in data),
            convert_options=csv.ConvertOptions(null_values=list(_MISSING), strings_can_be_null=True),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError):
        return None
    if not table.num_rows or not all(_same_as_pandas(column) for column in table.itercolumns()):
        return None
    frame: pd.DataFrame = table.to_pandas()
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        if column.null_count and pa.types.is_string(column.type):
            frame[name] = frame[name].where(frame[name].notna(), float("nan"))
    return frame


def _same_as_pandas(column: pa.ChunkedArray) -> bool:
    """Whether pandas would infer the same type for this column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_int64(kind):
        return True
    if pa.types.is_float64(kind):
        # Whole numbers beyond int64 are floats to Arrow and something else to pandas.
        largest = pc.max(pc.abs(column)).as_py()
        return largest is None or largest < _EXACT_INTEGER
    if not pa.types.is_string(kind):
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


def read_answers(path: Path) -> Any:
    """Read answers for a grader with code: a DataFrame from CSV, a list of objects from JSONL.

    Raises:
        ValueError: the file is of another kind.
        InvalidSubmissionError, OSError: as `read_frame`.
    """
    if path.suffix == ".csv":
        return read_frame(path)
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.strip()]
    raise ValueError(f"answers of this kind are not supported: {path.name} (.csv or .jsonl)")
