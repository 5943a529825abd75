"""What error views may disclose of private answers, by the rules of statistical disclosure control.

The views of one submission must not reveal the answer of a row, even for predictions made up for that purpose: rows are not named, no figure is
about fewer than `FEWEST` rows, counts are in steps of `STEP`, other figures have three digits, and none is the value of
a single row (a quantile, a median, an extreme). Many looks reveal more, as the score itself does: the ledger counts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

FEWEST, STEP = 10, 5
NOTE = (
    f"Counts are rounded to the nearest {STEP}, so they need not add up. No row, and no score or mean of fewer than {FEWEST} rows, "
    "is shown. --show-answers shows everything, and the ledger records it."
)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """How much may be shown: all, if answers are `open`."""

    open: bool

    def enough(self, rows: Any) -> bool:
        """Return whether a figure about that many rows may be shown; elementwise for an array."""
        return self.open or bool(np.min(rows) >= FEWEST)

    def groups(self, rows: int, most: int) -> int:
        """Return the number of nearly equal groups of that many rows for which each group is large enough."""
        return most if self.open else max(1, min(most, rows // (FEWEST + 2)))

    def count(self, rows: Any) -> int:
        """Return a count of rows that depends on answers, rounded."""
        return int(rows) if self.open else STEP * round(int(rows) / STEP)

    def figure(self, value: Any) -> float:
        """Return a mean or the like of rows."""
        return float(value) if self.open else float(f"{value:.3g}")

    def share(self, part: Any, whole: Any, *, known: bool = False) -> float:
        """Return the share `part` of `whole` rows, rounded for disclosure; NaN for none.

        Args:
            part: a count that depends on answers.
            whole: another one, unless it is `known`, such as the number of rows predicted as a class.
        """
        if not whole:
            return float("nan")
        if self.open or whole - part > STEP / 2:
            return min(1.0, self.count(part) / (whole if known else max(STEP, self.count(whole))))
        return 1.0

    def score(self, value: Any, rows: int, *, of_classes: bool) -> float:
        """Return the score of that many rows, in steps of `STEP` rows for metrics on classes."""
        if self.open or not of_classes or not np.isfinite(value):
            return self.figure(value)
        return float(np.clip(STEP / rows * round(value * rows / STEP), -1, 1))
