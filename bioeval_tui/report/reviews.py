"""Later scores and reviews, read from the overlay beside a recording. The recording itself never changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bioeval_tui.errors import Problem, RecordingError
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.paths import overlay_path

MAX_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Review:
    """One entry: a person's review of a conversation or task. `before` and `after` are scores in [0, 1]."""

    kind: str
    author: str
    at: str
    condition: str | None = None
    trial: int | None = None
    task: int | None = None
    before: float | None = None
    after: float | None = None
    why: str = ""

    @property
    def about(self) -> str:
        """Such as `withheld, trial 1, task 2`."""
        parts = [
            self.condition or "",
            f"trial {self.trial}" if self.trial else "",
            f"task {self.task}" if self.task else "",
        ]
        return ", ".join(part for part in parts if part) or "the run"


def read_reviews(recording: Path, mask: Mask) -> tuple[tuple[Review, ...], tuple[Problem, ...]]:
    """Return the entries of a recording's overlay in order, and the lines that could not be read.

    Raises:
        RecordingError: the overlay cannot be read.
    """
    path = overlay_path(recording)
    if not path.is_file():
        return (), ()
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
    found, problems = [], []
    for number, line in enumerate(lines[:MAX_ROWS], start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            found.append(_review(row, mask))
        else:
            problems.append(Problem("damaged line, left out", path.name, number))
    return tuple(found), tuple(problems)


def _review(row: dict[str, Any], mask: Mask) -> Review:
    def text(*names: str) -> str:
        value = next((row[name] for name in names if isinstance(row.get(name), str)), "")
        return mask.text(value)

    def whole(name: str) -> int | None:
        value = row.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def number(*names: str) -> float | None:
        for name in names:
            value = row.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
        return None

    said = text("kind").replace("_", " ")
    if row.get("action"):
        left = [text(name) for name in ("fault", "mark") if row.get(name)]
        said = " ".join([text("action"), *left])
    return Review(
        kind=f"{said}, blind" if row.get("blind") is True else said or "entry",
        author=text("author", "judge") or "unknown",
        at=text("at"),
        condition=text("condition") or None,
        trial=whole("trial"),
        task=whole("task"),
        before=number("before"),
        after=number("after", "score"),
        why=text("why", "reason", "note"),
    )
