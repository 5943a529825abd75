"""A file's text with line numbers, and each problem below its line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rich.cells import cell_len, chop_cells

from bioeval_tui.errors import Problem
from bioeval_tui.tui.shared.cells_view import Cell

MAX_LINES = 5_000
"""Maximum number of lines in a preview; the rest is only counted."""

_KEY = re.compile(r"^(\s*(?:- +)*)([\w.$/-]+|\"[^\"]*\"|'[^']*')(:)(?=\s|$)(.*)$")
_BLOCK = re.compile(r":\s*[|>][-+0-9]*\s*(?:#.*)?$|^\s*-\s+[|>][-+0-9]*\s*$")
_SPACES = re.compile(r"^ *")


class SourceRow(NamedTuple):
    """One line on screen: the number of the file's line where it begins, and its cells."""

    number: int | None
    cells: tuple[Cell, ...]
    kind: Literal["text", "error", "warning"] = "text"


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its problems."""

    text: str
    problems: tuple[Problem, ...] = ()

    def rows(self, width: int) -> list[SourceRow]:
        """Return the rows for `width` cells beside the numbers; long lines continue in the next row."""
        by_line: dict[int, list[Problem]] = defaultdict(list)
        for problem in self.problems:
            by_line[problem.line].append(problem)
        found = [row for problem in by_line.pop(0, []) for row in _problem_rows(problem, width)]
        lines = self.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        for number, (line, block) in enumerate(_blocks(lines[:MAX_LINES]), 1):
            found += _text_rows(number, line, width, block)
            for problem in by_line.pop(number, ()):
                found += _problem_rows(problem, width)
        if len(lines) > MAX_LINES:
            found.append(SourceRow(None, (Cell(f"… {len(lines) - MAX_LINES:,} more lines", "quiet"),)))
        for number in sorted(by_line):
            found += [row for problem in by_line[number] for row in _problem_rows(problem, width)]
        return found

    @property
    def first_problem(self) -> Problem | None:
        """The problem to show first: the first error, otherwise the first warning."""
        errors = [problem for problem in self.problems if problem.severity == "error"]
        return min(errors or self.problems, key=lambda problem: problem.line, default=None)


def _blocks(lines: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each line with whether it is text of a block scalar, in which a colon is only a colon."""
    found = []
    inside: int | None = None
    for line in lines:
        spaces = len(_SPACES.match(line).group())  # type: ignore[union-attr]
        if inside is not None and line.strip() and spaces <= inside:
            inside = None
        found.append((line, inside is not None))
        if inside is None and _BLOCK.search(line):
            inside = spaces
    return found


def _text_rows(number: int, line: str, width: int, block: bool) -> list[SourceRow]:
    line = line.replace("\t", "    ")
    if cell_len(line) <= width:
        return [SourceRow(number, _coloured(line, block))]
    spaces = len(_SPACES.match(line).group())  # type: ignore[union-attr]
    indent = min(spaces + 2, width // 2)
    first, *rest = wrapped(line, width, indent)
    return [
        SourceRow(number, _coloured(first, block)),
        *(SourceRow(None, (Cell(" " * indent + part),)) for part in rest),
    ]


def wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    """Return a text in pieces of at most `width` cells, those after the first `indent` cells shorter.

    Pieces end at a space where there is one; nothing but that space is left out.
    """
    pieces: list[str] = []
    room = max(1, width)
    while cell_len(text) > room:
        piece = chop_cells(text, room)[0]
        space = piece.rfind(" ")
        if text[len(piece)] == " ":
            pieces.append(piece)
            text = text[len(piece) + 1 :]
        elif space > len(piece) // 3 and piece[:space].strip():
            pieces.append(piece[:space])
            text = text[space + 1 :]
        else:
            pieces.append(piece)
            text = text[len(piece) :]
        room = max(1, width - indent)
    return [*pieces, text]


def _coloured(line: str, block: bool) -> tuple[Cell, ...]:
    """Return a YAML line with its key and comment in different tones; unknown syntax stays plain."""
    if block:
        return (Cell(line),)
    if line.lstrip().startswith("#"):
        return (Cell(line, "quiet"),)
    match = _KEY.match(line)
    if match is None:
        return (Cell(line),)
    start, key, colon, rest = match.groups()
    return (Cell(start, "quiet"), Cell(key, "busy"), Cell(colon, "quiet"), Cell(rest))


def _problem_rows(problem: Problem, width: int) -> list[SourceRow]:
    kind: Literal["error", "warning"] = "warning" if problem.severity == "warning" else "error"
    sign, tone = ("!", "warn") if kind == "warning" else ("✗", "bad")
    at = f"{problem.line}:{problem.column}  " if problem.line and problem.column else ""
    said = f"{problem.field}: {problem.message}" if problem.field else problem.message
    first, *rest = wrapped(f"{sign} {at}{said}", max(8, width), 2)
    rows = [SourceRow(None, (Cell(first, tone),), kind)]  # type: ignore[arg-type]
    return rows + [SourceRow(None, (Cell(f"  {part}", tone),), kind) for part in rest]  # type: ignore[arg-type]
