"""A table as CSV or Markdown, for other programs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Literal

from bioeval_tui.text import FORMULA_STARTS

Format = Literal["csv", "md"]
_MARKDOWN = str.maketrans(
    {"|": "\\|", "\\": "\\\\", "<": "&lt;", "[": "\\[", "`": "\\`", "*": "\\*", "_": "\\_"}
)


def as_csv(heading: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return CSV. A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([[_harmless(value) for value in row] for row in rows])
    return out.getvalue()


def as_markdown(heading: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return a Markdown table; what a text might mean in Markdown is escaped."""
    lines = [heading, ["---"] * len(heading)]
    body = [["" if value is None else str(value).translate(_MARKDOWN) for value in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in [*lines, *body])


def _harmless(value: str | float | None) -> str | float:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    return "" if value is None else value


def save(text: str, folder: Path, stem: str, suffix: Format, at: datetime) -> Path:
    """Write a file that only its owner may read, under a name that is free; return its path.

    Raises:
        OSError: the folder cannot be written.
    """
    start = f"{stem}-{at:%Y-%m-%d-%H%M%S}"
    path = folder / f"{start}.{suffix}"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{start}~{number}.{suffix}"
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path
