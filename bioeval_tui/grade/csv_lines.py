"""On which line of a CSV file each row begins, and why a reader refuses a file.

A row is no line: readers skip empty lines, and a quoted field may hold line breaks. So whoever says
`line 6` asks here, and an editor shows what is meant there.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.plain_tables import is_plain, unix_lines

_LONGEST_FIELD = 1 << 30
_RAGGED = re.compile(r"Expected (\d+) fields in line \d+, saw \d+")
_PANDAS = "Error tokenizing data. C error: "
"""What pandas says before its reason."""


def lines_of_rows(data: bytes, rows: int) -> tuple[int, ...]:
    """Return the line, counted from 1, on which each row below the header begins; empty if that is
    one line a row from line 2 on, or unknown.

    Args:
        data: the file.
        rows: how many rows a table of it has. If other rows are found here, none are known.
    """
    if is_plain(unix_lines(data)):
        return ()
    try:
        lines = [line for line, _ in _rows(data)][1:]
    except csv.Error:
        return ()
    if len(lines) != rows:
        return ()
    return tuple(lines)


def _rows(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line on which it begins, without those that pandas skips.

    Raises:
        csv.Error: it is no CSV file.
    """
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "latin-1", newline=""))
        begins = 1
        for row in reader:
            # An empty field in quotes is one empty field; an empty line has none.
            if row and (len(row) > 1 or not row[0] or row[0].strip(" \t")):
                yield begins, row
            begins = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)


def why_not_csv(error: ValueError | OverflowError, data: bytes) -> str:
    """Return why pandas refuses a file, with the line: `line 9 has 3 fields where 2 are
    expected`.
    """
    reason = str(error)
    try:
        if found := _RAGGED.search(reason):
            expected = int(found[1])
            line, row = next(each for each in _rows(data) if len(each[1]) > expected)
            return f"line {line:,} has {len(row):,} fields where {expected:,} are expected"
        if "EOF inside string" in reason:
            *_, (line, _) = _rows(data)
            return f"the quote that opens in line {line:,} is never closed"
    except (csv.Error, StopIteration, ValueError):
        pass  # read otherwise than by pandas: then its own words are all there is
    return clean_line(reason.removeprefix(_PANDAS), 200)
