"""A section: one table of an explanation, with bars, as lines of text and as JSON.

The views of a submission are made by `table`; a report keeps them, and the command line, the medals
screen and the pages of a report show their `lines`. Importing it loads no numpy: whoever only shows
a report does not wait for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from rich.cells import cell_len

from bioeval_tui.base.widths import fitted

BAR_WIDTH = 24

_EIGHTHS: tuple[str, ...] = ("", *"▏▎▍▌▋▊▉")

_NUMBER = re.compile(r"–|-?\d[\d,]*(\.\d+)?(e[-+]\d+)?( ?%)?")


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    bar: int | None = None,
    note: str = "",
) -> Section:
    """Return a section of numbers and texts; `bar` names the column that is drawn; its largest
    value is a full bar.
    """
    bars: tuple[float, ...] = ()
    if bar is not None and rows:
        values = [_length(row[bar]) for row in rows]
        most = max(values) or 1.0
        bars = tuple(round(value / most, 4) for value in values)
    texts = tuple(tuple(_cell_text(value) for value in row) for row in rows)
    return Section(title, tuple(columns), texts, bars, note)


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
        cells = []
        if self.columns:
            cells = [self.columns, *self.rows]
        widths = [max(cell_len(row[place]) for row in cells) for place in range(len(self.columns))]
        sides = [self._side(place) for place in range(len(self.columns))]
        shown = [self.title]
        for number, row in enumerate(cells):
            parts = list(map(fitted, row, widths, sides))
            if self.bars and number:
                parts.append(bar_text(self.bars[number - 1]))
            shown.append(f"  {'  '.join(parts).rstrip()}")
        if self.note:
            shown.append(f"  {self.note}")
        return shown

    def _side(self, place: int) -> Literal["left", "right"]:
        """Return the side to which a column is aligned."""
        if all(_NUMBER.fullmatch(row[place]) for row in self.rows):
            return "right"
        return "left"

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
            raise ValueError(
                f"`explanation`: the table `{section.title[:60]}` has rows of different lengths"
            )
        return section

    def to_dict(self) -> dict[str, Any]:
        """Return the view, ready for JSON."""
        return asdict(self)


PRIVATE = Section(
    "the task keeps its answers private",
    (),
    (),
    note=(
        "Made-up predictions could read answers out of error views, so none is shown."
        " --show-answers (on the screen: A) shows them all, and the ledger records it."
    ),
)
"""What is shown in place of the views of private answers."""


def bar_text(share: float) -> str:
    """Return a bar of block characters for 0 to 1; anything above 0 is visible."""
    eighths = max(round(min(1.0, max(0.0, share)) * BAR_WIDTH * 8), int(share > 0))
    whole, rest = divmod(eighths, 8)
    return "█" * whole + _EIGHTHS[rest]


def number_text(value: float | None) -> str:
    """Return a number in five significant digits; a dash for what is not finite."""
    if value is None or value != value or abs(value) == float("inf"):
        return "–"
    return f"{value + 0.0:.5g}"


def _length(value: Any) -> float:
    """Return how long the bar of a value is, before it is scaled; 0 for what is no number."""
    if not isinstance(value, int | float) or math.isnan(value):
        return 0.0
    return abs(float(value))


def _cell_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number_text(value)
    return str(value)
