"""Tables of other tools: CSV with a header, whatever its separator; mistakes are named by line.

`file_look.py` alone calls this: for the first two rows, which say whether a file is a table, and
for all of them as its entries.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import join_names, plural
from bioeval_tui.record.importing.json_pieces import LARGEST


def rows(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table by column, each with its place; blank lines are left out.

    Raises:
        InputError: it is not UTF-8, or a row has another number of cells than the header.
    """
    read = 0
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            table = cells(text)
            _, columns = next(table, (1, []))
            for begins, row in table:
                read = begins
                if not any(cell.strip() for cell in row):
                    continue
                if len(row) != len(columns):
                    raise InputError(
                        f"line {begins} has {plural(len(row), 'cell')} for"
                        f" {plural(len(columns), 'column')} ({join_names(columns, most=8)}); quote"
                        " cells that have the separator in them"
                    )
                yield f"line {begins}", dict(zip(columns, row, strict=True))
    except UnicodeDecodeError:
        raise InputError(f"not UTF-8 after line {read}; save it as UTF-8") from None


def cells(text: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table with the lines at which they begin, the column names first.

    The separator is the one that parts these best.

    Raises:
        InputError: a quote is not closed, or a cell is too long; the message has the line.
    """
    lines_of_text = iter(text)
    header = next(lines_of_text, "")
    separator = max(",;\t|", key=header.count)
    csv.field_size_limit(LARGEST)
    reader = csv.reader(chain([header], lines_of_text), delimiter=separator, strict=True)
    begins = 1
    try:
        for row in reader:
            if begins == 1:
                row = [cell.strip() for cell in row]
            yield begins, row
            begins = reader.line_num + 1
    except csv.Error as problem:
        raise InputError(f"line {begins}: {problem}") from None
