"""A job file for checks, whether or not it is valid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bioeval_tui.errors import Problem
from bioeval_tui.text import clean_line, clean_value
from bioeval_tui.yaml_positions import Path as FieldPath
from bioeval_tui.yaml_positions import YamlDocument, show_path


class JobSource:
    """The content of a job file, valid or not. Values of the wrong type count as absent."""

    def __init__(self, path: Path, document: YamlDocument, filled: dict[str, Any] | None = None) -> None:
        """`filled` is the file's content, filled in from a case."""
        self.path = path
        self.document = document
        value = clean_value(document.value) if filled is None else filled
        self.data: dict[str, Any] = value if isinstance(value, dict) else {}

    def part(self, name: str) -> dict[str, Any]:
        """Return the mapping of that name."""
        found = self.data.get(name)
        return found if isinstance(found, dict) else {}

    def problem(self, path: FieldPath, message: str, text: str = "", column: int = 0) -> Problem:
        """Return a problem of the field; `column` counts in its `text`, from 1."""
        place = self.document.place(path)
        line, at = place.inside(text, column) if column else (place.line, place.column)
        return Problem(clean_line(message), clean_line(str(self.path)), line, at, show_path(path))

    def warning(self, path: FieldPath, message: str, text: str = "", column: int = 0) -> Problem:
        """Return a problem that does not keep the job from running."""
        return replace(self.problem(path, message, text, column), severity="warning")


def items_of(value: object) -> list[tuple[int, dict[str, Any]]]:
    """Return the mappings of a list, each with its index."""
    listed = value if isinstance(value, list) else []
    return [(index, item) for index, item in enumerate(listed) if isinstance(item, dict)]
