"""Explanations of a score as tables with bars, shared by workers, terminal, screens and reports.

Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

BAR_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NUMBER = re.compile(r"–|-?\d[\d,]*(\.\d+)?(e[-+]\d+)?( ?%)?")


@dataclass(frozen=True, slots=True)
class Section:
    """One view: a table, with a bar from 0 to 1 for each row if `bars` are given."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bars: tuple[float, ...] = ()
    note: str = ""

    def lines(self) -> list[str]:
        """Return the view as lines of text, columns aligned, numbers to the right."""
        cells = [self.columns, *self.rows] if self.columns else []
        widths = [max(len(row[place]) for row in cells) for place in range(len(self.columns))]
        numbers = [
            all(_NUMBER.fullmatch(row[place]) for row in self.rows) for place in range(len(self.columns))
        ]
        shown = []
        for number, row in enumerate(cells):
            parts = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numbers, strict=True)
            ]
            bar = f"  {bar_text(self.bars[number - 1])}" if self.bars and number else ""
            shown.append(("  ".join(parts) + bar).rstrip())
        return [self.title, *(f"  {line}" for line in shown), *([f"  {self.note}"] if self.note else [])]

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Build from `to_dict`'s result.

        Raises:
            ValueError: the data does not have that form.
        """
        try:
            columns = tuple(map(str, data["columns"]))
            rows = tuple(tuple(map(str, row)) for row in data["rows"])
            bars = tuple(min(1.0, max(0.0, float(bar))) for bar in data.get("bars") or ())
            section = cls(str(data["title"]), columns, rows, bars, str(data.get("note") or ""))
        except (KeyError, TypeError, AttributeError):
            raise ValueError("`explanation` must be a list of tables") from None
        if any(len(row) != len(columns) for row in rows) or (bars and len(bars) != len(rows)):
            raise ValueError(f"`explanation`: the table `{section.title[:60]}` has rows of different lengths")
        return section

    def to_dict(self) -> dict[str, Any]:
        """Return the view, ready for JSON."""
        return asdict(self)


PRIVATE = Section(
    "the task keeps its answers private",
    (),
    (),
    note="Made-up predictions could read answers out of error views, so none is shown. --show-answers (on the screen: A) shows "
    "them all, and the ledger records it.",
)
"""What is shown in place of the views of private answers."""


def bar_text(share: float, width: int = BAR_WIDTH) -> str:
    """Return a bar of block characters for 0 to 1; anything above 0 is visible."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    eighths = max(eighths, 1 if share > 0 else 0)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def number_text(value: float | None) -> str:
    """Return a number in five significant digits; a dash for what is not finite."""
    if value is None or value != value or abs(value) == float("inf"):
        return "–"
    return f"{value + 0.0:.5g}"


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    bar: int | None = None,
    note: str = "",
) -> Section:
    """Return a section of numbers and texts; `bar` names the column that is drawn; its largest value is a full bar."""
    bars: tuple[float, ...] = ()
    if bar is not None and rows:
        values = [float(row[bar]) if isinstance(row[bar], int | float) else 0.0 for row in rows]
        values = [0.0 if value != value else abs(value) for value in values]
        most = max(values) or 1.0
        bars = tuple(round(value / most, 4) for value in values)
    texts = tuple(tuple(_text(value) for value in row) for row in rows)
    return Section(title, tuple(columns), texts, bars, note)


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return number_text(value) if isinstance(value, float) else str(value)
