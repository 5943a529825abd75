"""CSV files as DataFrames, as pandas reads them; with Arrow's reader if the result is certain to be
the same.

`is_plain` and `_same_as_pandas` are the proof: files without quotes, control characters, blanks
beside a comma and empty lines, with finite numbers below 2**53 or text that cannot be read as a
number.

`read_expected` is a faster path for a submission in the expected form: same ids in the same order,
finite numbers. It never reports problems: a file with anything unusual is left to `read_frame` and
the checks after it.
"""

from __future__ import annotations

import csv as csv_module
import io
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from bioeval_tui.base.errors import InvalidSubmissionError
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.answers import MetricSpec
from bioeval_tui.grade.formats import other_format

# Texts that pandas reads as missing values.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
MAX_COLUMNS = 30_000
"""Maximum number of columns of a CSV file."""

MAX_REPEATED = 1_000
"""Maximum number of columns that repeat a name: pandas looks through all names for each of them."""

MAX_SURPLUS = 100
"""Maximum number of fields by which the first row may be longer than the header; pandas reads them
as row names.
"""

HUGE_EXPONENT = r"[eE][+-]?[0-9]{6,}"
"""No float has an exponent of six digits; one of eleven crashes pandas' own parser, and some are
read wrongly.
"""

_EXACT_INTEGER = 2**53
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_DIGITS = 17
_GREATEST = 308
"""How many digits the parser of pandas 2 reads, and the greatest exponent by which it scales."""
# Blanks beside a comma or the end of a line; signed and hexadecimal numbers, which Arrow reads in
# other types than pandas does. Each is looked for only where its rarer character is: pairs with a
# comma or a line's end are found slowly.
_NOT_PLAIN = {
    b" ": (b" ,", b", ", b" \n", b"\n "),
    b"+": (b",+", b"\n+"),
    b"x": (b"0x",),
    b"X": (b"0X",),
}
_SMALL = 1 << 15
"""Below this many bytes splitting text is faster than setting up Arrow's reader."""


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

_ONE_CHUNK = 1 << 19
"""Number of cells that pandas certainly reads together to infer a column's type; it reads longer
files in pieces.
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
    frame = _read_arrow(data)
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
            f"{path.name} is not a CSV file: {clean_line(str(error), 200)}"
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
    if _pandas_version() < (3, 1):  # later ones know no other way, and warn of the option
        options = {"float_precision": "round_trip", **options}
    return pd.read_csv(source, **options)


def read_as_published(path: Path) -> pd.DataFrame:
    """Read a task's table with the default parser of pandas 2, because the published thresholds
    depend on its last digit.

    Raises:
        ValueError: it is not a CSV file, as pandas reports (`EmptyDataError`, `ParserError`,
            `UnicodeDecodeError`).
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    frame = pd.read_csv(io.BytesIO(data), dtype=_texts_like_numbers(data))
    if _pandas_version() < (3,) or not any(kind.kind == "f" for kind in frame.dtypes):
        return frame
    texts = pd.read_csv(io.BytesIO(data), dtype=str)
    columns = {}
    for place, kind in enumerate(frame.dtypes):
        columns[place] = frame.iloc[:, place]
        if kind.kind == "f":
            columns[place] = _column_of_pandas_2(texts.iloc[:, place])
    return pd.DataFrame(columns, index=frame.index).set_axis(frame.columns, axis=1)


def _texts_like_numbers(data: bytes) -> dict[Any, type[str]]:
    """Return the columns of texts in which one looks like a huge exponent, such as
    `callme21800000`.

    Read as texts, as they would be in the end, they never come to the parser of numbers.

    Raises:
        ParserError: a column of numbers has one with a huge exponent.
    """
    if not re.search(HUGE_EXPONENT.encode(), data):
        return {}
    texts = pd.read_csv(io.BytesIO(data), dtype=str)
    found: dict[Any, type[str]] = {}
    # Fields beyond the header are row names, which have no column.
    for name, column in texts.reset_index(drop=isinstance(texts.index, pd.RangeIndex)).items():
        cells = column.dropna()
        huge = cells[cells.str.contains(HUGE_EXPONENT)]
        if not len(huge):
            continue
        if name not in texts.columns or _are_numbers(cells):
            line = data.count(b"\n", 0, data.index(huge.iloc[0].encode())) + 1
            raise pd.errors.ParserError(
                f"line {line:,} has a number with an exponent of six digits or more"
            )
        found[name] = str
    return found


def _are_numbers(cells: pd.Series) -> bool:
    try:
        for cell in cells:
            float(cell)  # not by pandas, whose parser the number may crash
    except ValueError:
        return False
    return True


def _column_of_pandas_2(texts: pd.Series) -> list[Any]:
    numbers = [float_of_pandas_2(text) if isinstance(text, str) else text for text in texts]
    overflown = any(
        math.isinf(number) and "n" not in str(text).lower()  # "inf" is meant
        for number, text in zip(numbers, texts, strict=True)
    )
    return texts.tolist() if overflown else numbers


def float_of_pandas_2(text: str) -> float:
    """Return the number that the default parser of pandas 2 made of `text`: up to 17 digits, scaled
    by one power of ten.

    Source: `precise_xstrtod` in pandas 2.3, pandas/_libs/src/parser/tokenizer.c.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return float(text)  # inf and its kin
    sign, whole, decimals, power = match.groups(default="")
    digits = whole + decimals
    number = 0.0
    for digit in digits[:_DIGITS]:
        number = number * 10.0 + int(digit)
    exponent = (
        int(power or 0)
        + max(0, len(whole) - _DIGITS)
        - min(len(decimals), max(0, _DIGITS - len(whole)))
    )
    if exponent > _GREATEST:
        number = math.inf
    elif exponent > 0:
        number *= float(f"1e{exponent}")
    elif exponent < -_GREATEST:
        smaller = -exponent - _GREATEST
        if smaller <= _GREATEST:
            number = number / float(f"1e{smaller}") / float(f"1e{_GREATEST}")
        else:
            number = 0.0
    else:
        number /= float(f"1e{-exponent}")
    if sign == "-":
        return -number
    return number


def _pandas_version() -> tuple[int, ...]:
    return tuple(int(part) for part in pd.__version__.split(".")[:2])


def _refuse_columns(path: Path, data: bytes) -> None:
    # pandas takes milliseconds for a column of the header, or of a first row that is longer than
    # the header.
    limit = csv_module.field_size_limit(1 << 30)
    try:
        text = io.TextIOWrapper(io.BytesIO(data), "latin-1", newline="")
        rows = filter(None, csv_module.reader(text))
        header = next(rows, [])
        _refuse_row(path, header, MAX_COLUMNS)
        repeated = len(header) - len({name or place for place, name in enumerate(header)})
        if repeated > MAX_REPEATED:
            raise InvalidSubmissionError(
                f"{path.name} has {repeated:,} columns that repeat the name of another; the limit"
                f" is {MAX_REPEATED:,}"
            )
        _refuse_row(path, next(rows, []), len(header) + MAX_SURPLUS)
    except csv_module.Error:
        return  # what is wrong, pandas says
    finally:
        csv_module.field_size_limit(limit)


def _refuse_row(path: Path, row: list[str], most: int) -> None:
    if len(row) > most:
        raise InvalidSubmissionError(
            f"{path.name} has a row of {len(row):,} columns; the limit is {most:,}"
        )


def repeated_columns(path: Path) -> list[str]:
    """Return a sentence for each column name that a CSV's header has more than once."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        try:
            header = next(csv_module.reader(lines), [])
        except csv_module.Error:
            return []
    counts = Counter(name for name in header if name)
    return [
        f"the header has the column `{clean_line(name, 60)}` {count:,} times: the first is used"
        for name, count in counts.items()
        if count > 1
    ]


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


_WINDOW = 1 << 17
"""How many bytes are looked at together: the memory of larger tables would be new to the process
each time.
"""


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
        elif _pandas_version() < (3,) and _NAME_CELLS.fullmatch(lines):
            columns[name] = np.array(lines.split("\n"), object)
        else:
            return None
    return pd.DataFrame(columns)


def _read_arrow(data: bytes) -> pd.DataFrame | None:
    data = unix_lines(data)
    if len(data) < _SMALL and (small := _read_split(data)) is not None:
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


SMALL = 1 << 16
"""Below this many bytes splitting text is faster than setting up Arrow's reader."""


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
    numbers = _numbers_by_text if len(data) < SMALL else _numbers_by_arrow
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
