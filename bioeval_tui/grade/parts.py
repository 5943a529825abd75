"""A part of a task's answers, as `tasks split` writes it: `part.json` beside the answers of the part."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bioeval_tui.errors import InputError
from bioeval_tui.text import clean_line

PART_FILE = "part.json"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a task's answers: its name, the column of ids, the ids of all answers, and how many are of this part."""

    name: str
    id: str
    ids: tuple[Any, ...]
    rows: int

    @property
    def words(self) -> str:
        """What every report on this part says."""
        other = "; the final board uses the private part" if self.name == "public" else ""
        return (
            f"scored on the {self.name} part of the answers ({self.rows:,} of {len(self.ids):,} rows){other}"
        )


def read_part(private: Path) -> Part | None:
    """Return the part that a task's private folder has; None if it has all answers.

    Raises:
        InputError: `part.json` is damaged.
    """
    path = private / PART_FILE
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_bytes())
        return Part(str(value["part"]), str(value["id"]), tuple(value["ids"]), int(value["rows"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read: {clean_line(str(error), 120)}") from None
