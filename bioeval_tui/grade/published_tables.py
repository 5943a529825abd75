"""A task's own CSV files, read as by the default parser of pandas 2, on whose last digit the
published thresholds depend.

With a later pandas, that parser's way to make a number of a text is repeated here.
"""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd

HUGE_EXPONENT = r"[eE][+-]?[0-9]{6,}"
"""No float has an exponent of six digits; one of eleven crashes pandas' own parser, and some are
read wrongly.
"""
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_DIGITS = 17
_GREATEST = 308
"""How many digits the parser of pandas 2 reads, and the greatest exponent by which it scales."""


def pandas_version() -> tuple[int, ...]:
    """Return the first two numbers of the version of pandas, such as (2, 3)."""
    return tuple(int(part) for part in pd.__version__.split(".")[:2])


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
    if pandas_version() < (3,) or not any(kind.kind == "f" for kind in frame.dtypes):
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
