"""CSV files as DataFrames, as pandas reads them; in a faster way (`plain_tables.py`) if the result
is certain to be the same.

`expected_tables.py` reads submissions in the expected form without a frame, `published_tables.py`
a task's own tables as pandas 2 read them.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from bioeval_tui.base.errors import InvalidSubmissionError
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.csv_lines import why_not_csv
from bioeval_tui.grade.formats import other_format
from bioeval_tui.grade.plain_tables import read_plain
from bioeval_tui.grade.published_tables import pandas_version

MAX_COLUMNS = 30_000
"""Maximum number of columns of a CSV file."""

MAX_REPEATED = 1_000
"""Maximum number of columns that repeat a name: pandas looks through all names for each of them."""

MAX_SURPLUS = 100
"""Maximum number of fields by which the first row may be longer than the header; pandas reads them
as row names.
"""


def read_frame(path: Path, id_column: str | None = None) -> pd.DataFrame:
    """Read a submission or answers CSV with correctly rounded numbers; an empty file gives an empty
    frame.

    In `id_column`, texts such as `NA` or `null` are ids; elsewhere they are missing values, as in
    pandas.

    Raises:
        InvalidSubmissionError: the file is not a CSV file (ragged, binary, not UTF-8); the message
            says where.
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    if (other := other_format(data)) is not None:
        raise InvalidSubmissionError(
            f"{clean_line(path.name, 200)} is not a CSV file: it is {other}"
        )
    _refuse_columns(path, data)
    frame = _read(path, data)
    if id_column is None:
        return frame
    return _keep_text_ids(frame, data, id_column)


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


def _keep_text_ids(frame: pd.DataFrame, data: bytes, name: str) -> pd.DataFrame:
    """Return the frame with the ids as texts if one of them is a text that pandas reads as
    missing.
    """
    is_shifted = not isinstance(frame.index, pd.RangeIndex)  # by a first row longer than the header
    if is_shifted or name not in frame.columns or not frame[name].isna().any():
        return frame
    texts = read_exactly(
        io.BytesIO(data), usecols=[name], dtype=str, keep_default_na=False, na_values=[""]
    )[name]
    # A line of a single column that is empty is skipped; of one with "NA", it is not.
    if len(texts) != len(frame) or texts.isna().sum() == frame[name].isna().sum():
        return frame
    return frame.assign(**{name: texts.astype(object)})


def _read(path: Path, data: bytes) -> pd.DataFrame:
    frame = read_plain(data)
    if frame is not None:
        return frame
    try:
        return read_exactly(io.BytesIO(data))
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except UnicodeDecodeError:
        raise InvalidSubmissionError(
            f"{path.name} is not UTF-8 text{_where_not_utf8(data)}"
        ) from None
    except (pd.errors.ParserError, ValueError, OverflowError) as error:
        raise InvalidSubmissionError(
            f"{path.name} is not a CSV file: {why_not_csv(error, data)}"
        ) from None


def _where_not_utf8(data: bytes) -> str:
    # The error of pandas 3 counts from the cell's beginning.
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f": byte {error.start + 1:,}, line {line:,}"
    return ""


def read_exactly(source: Any, **options: Any) -> pd.DataFrame:
    """Call `pandas.read_csv` with the option that makes the installed version round numbers
    correctly.
    """
    if pandas_version() < (3, 1):  # later ones know no other way, and warn of the option
        options = {"float_precision": "round_trip", **options}
    return pd.read_csv(source, **options)


def _refuse_columns(path: Path, data: bytes) -> None:
    # pandas takes milliseconds for a column of the header, or of a first row that is longer than
    # the header.
    limit = csv.field_size_limit(1 << 30)
    try:
        text = io.TextIOWrapper(io.BytesIO(data), "latin-1", newline="")
        rows = filter(None, csv.reader(text))
        header = next(rows, [])
        _refuse_row(path, header, MAX_COLUMNS)
        repeated = len(header) - len({name or place for place, name in enumerate(header)})
        if repeated > MAX_REPEATED:
            raise InvalidSubmissionError(
                f"{path.name} has {repeated:,} columns that repeat the name of another; the limit"
                f" is {MAX_REPEATED:,}"
            )
        _refuse_row(path, next(rows, []), len(header) + MAX_SURPLUS)
    except csv.Error:
        return  # what is wrong, pandas says
    finally:
        csv.field_size_limit(limit)


def _refuse_row(path: Path, row: list[str], most: int) -> None:
    if len(row) > most:
        raise InvalidSubmissionError(
            f"{path.name} has a row of {len(row):,} columns; the limit is {most:,}"
        )


def repeated_columns(path: Path) -> list[str]:
    """Return a sentence for each column name that a CSV's header has more than once."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        try:
            header = next(csv.reader(lines), [])
        except csv.Error:
            return []
    counts = Counter(name for name in header if name)
    return [
        f"the header has the column `{clean_line(name, 60)}` {count:,} times: the first is used"
        for name, count in counts.items()
        if count > 1
    ]
