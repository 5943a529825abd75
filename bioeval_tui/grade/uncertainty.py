"""How sure a score is, as a report has it and in words: its interval, places and chances of medals.

`intervals.py` works it out; a `TaskReport` carries it to whoever shows it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from bioeval_tui.base import units

NO_MEDAL = "no medal"


NOT_ASKED = (
    "its grader is code, which is called on resampled rows only if you ask for it (--intervals all)"
)
"""Why there is no interval where an option would give one."""


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The uncertainty from the finite number of test rows; or `why_not`, the reason if it is
    unknown.

    `low` and `high` are the 95 % interval of the score. `gold`, `silver` and `bronze` are the
    chances of that medal on other test rows: of all entries if the `board_scored_anew`, else of
    this file alone. `place_best` and `place_worst` are the places of the interval's ends, counting
    from 1.
    """

    low: float | None = None
    high: float | None = None
    gold: float | None = None
    silver: float | None = None
    bronze: float | None = None
    place_best: int | None = None
    place_worst: int | None = None
    rows: int | None = None
    method: str = ""
    why_not: str = ""
    board_scored_anew: bool = False

    @property
    def chance_words(self) -> str:
        """What the chances of medals suppose, in words: `with the whole board scored on 171 other
        rows like these`, or `if only this file had 171 other rows like these`.
        """
        others = f"{self.rows or 0:,} other rows like these"
        if self.board_scored_anew:
            return f"with the whole board scored on {others}"
        return f"if only this file had {others}"

    @property
    def interval_words(self) -> str:
        """Such as `0.9906 to 1.0000`, or `no interval` with the reason."""
        if self.low is None or self.high is None:
            if self.why_not:
                return f"no interval: {self.why_not}"
            return "no interval"
        return f"{self.low + 0.0:.4f} to {self.high + 0.0:.4f}"

    @property
    def medal_words(self) -> str:
        """Such as `gold 70 %, silver 27 %, bronze 2 %`; empty without an interval."""
        return ", ".join(f"{name} {percent(share)}" for name, share in self.medals[:-1])

    @property
    def medals(self) -> tuple[tuple[str, float], ...]:
        """The share of resampled scores for each medal, and for none; empty without an interval."""
        shares = {"gold": self.gold, "silver": self.silver, "bronze": self.bronze}
        known = [(name, share) for name, share in shares.items() if share is not None]
        if known:
            return (*known, (NO_MEDAL, max(0.0, 1 - sum(share for _, share in known))))
        return ()

    @property
    def place_words(self) -> str:
        """Such as `1 to 4`, or `3`; empty without an interval."""
        if self.place_best is None or self.place_worst is None:
            return ""
        best, worst = f"{self.place_best:,}", f"{self.place_worst:,}"
        if best == worst:
            return best
        return f"{best} to {worst}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, ready for JSON."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value not in (None, "") and value is not False
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from `to_dict`'s result; unknown keys are ignored.

        Raises:
            ValueError: a value is of the wrong type; the field is named.
        """
        values: dict[str, Any] = {}
        for name in (
            "low",
            "high",
            "gold",
            "silver",
            "bronze",
            "place_best",
            "place_worst",
            "rows",
        ):
            value = data.get(name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float)
            ):
                raise ValueError(f"`uncertainty.{name}` must be a number, found {value!r:.60}")
            whole = name in ("place_best", "place_worst", "rows")
            values[name] = int(value) if whole and value is not None else value
        for name in ("method", "why_not"):
            values[name] = data.get(name) or ""
            if not isinstance(values[name], str):
                raise ValueError(f"`uncertainty.{name}` must be text")
        return cls(**values, board_scored_anew=data.get("board_scored_anew") is True)


def percent(share: float) -> str:
    """Return a share such as `70 %`; if it only rounds to 100 % or 0 %, `> 99 %` or `< 1 %`."""
    if 0 < share <= 0.005:
        return "< 1 %"
    if 0.995 <= share < 1:
        return "> 99 %"
    return units.share(share)
