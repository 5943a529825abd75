"""A file's text with line numbers, and each problem below its line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from rich.cells import cell_len
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from bioeval_tui.errors import Problem
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell, paint
from bioeval_tui.tui.shared.rows_widget import title_lines

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
        shown = [row for problem in by_line.pop(0, []) for row in _problem_rows(problem, width)]
        lines = self.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        for number, (line, block) in enumerate(_blocks(lines[:MAX_LINES]), 1):
            shown += _text_rows(number, line, width, block)
            for problem in by_line.pop(number, ()):
                shown += _problem_rows(problem, width)
        if len(lines) > MAX_LINES:
            shown.append(SourceRow(None, (Cell(f"… {len(lines) - MAX_LINES:,} more lines", "quiet"),)))
        for number in sorted(by_line):
            shown += [row for problem in by_line[number] for row in _problem_rows(problem, width)]
        return shown

    @property
    def first_problem(self) -> Problem | None:
        """The problem to show first: the first error, otherwise the first warning."""
        errors = [problem for problem in self.problems if problem.severity == "error"]
        return min(errors or self.problems, key=lambda problem: problem.line, default=None)


def _blocks(lines: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each line with whether it is text of a block scalar, in which a colon is only a colon."""
    blocks = []
    inside: int | None = None
    for line in lines:
        spaces = len(_SPACES.match(line).group())  # type: ignore[union-attr]
        if inside is not None and line.strip() and spaces <= inside:
            inside = None
        blocks.append((line, inside is not None))
        if inside is None and _BLOCK.search(line):
            inside = spaces
    return blocks


def _text_rows(number: int, line: str, width: int, block: bool) -> list[SourceRow]:
    line = line.replace("\t", "    ")
    if cell_len(line) <= width:
        return [SourceRow(number, _coloured(line, block))]
    spaces = len(_SPACES.match(line).group())  # type: ignore[union-attr]
    indent = min(spaces + 2, width // 2)
    first, *rest = title_lines(line, width, width - indent)
    return [
        SourceRow(number, _coloured(first, block)),
        *(SourceRow(None, (Cell(" " * indent + part),)) for part in rest),
    ]


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
    first, *rest = title_lines(f"{sign} {at}{said}", max(8, width), max(8, width) - 2)
    rows = [SourceRow(None, (Cell(first, tone),), kind)]  # type: ignore[arg-type]
    return rows + [SourceRow(None, (Cell(f"  {part}", tone),), kind) for part in rest]  # type: ignore[arg-type]


class SourceView(ScrollView, can_focus=True):
    """Shows one text at a time and keeps its position when the file changes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"source--error", "source--warning"}
    DEFAULT_CSS = """
    SourceView {
        background: transparent;
        overflow-x: hidden;
        padding: 0 1;
        scrollbar-gutter: stable;
        & > .source--error { background: $error-muted; }
        & > .source--warning { background: $warning-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~source")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: object = None
        self._source = Source("")
        self._lines: list[SourceRow] = []
        self._for_width = -1
        self._gutter = 3

    def show(self, name: object, text: str, problems: Sequence[Problem]) -> None:
        """Show a text; another `name` begins at its top, or at its first problem."""
        source = Source(text, tuple(problems))
        if source == self._source and name == self._shown:
            return
        other = name != self._shown
        self._source, self._shown = source, name
        self._for_width = -1
        self._lay_out()
        if other:
            self.scroll_to(y=self._first_place(), animate=False, immediate=True)

    def _first_place(self) -> int:
        """Return the row to start at: a few above the first problem, else the top."""
        problem = self._source.first_problem
        if problem is None or not problem.line:
            return 0
        at = next((y for y, row in enumerate(self._lines) if row.number == problem.line), 0)
        return max(0, at - 3) if at >= self.size.height - 2 else 0

    def on_resize(self) -> None:
        """Wrap the lines again."""
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0 or width == self._for_width:
            return
        self._for_width = width
        self._gutter = len(str(self._source.text.count("\n") + 1)) + 2
        self._lines = self._source.rows(max(8, width - self._gutter))
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one visible line."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        row = self._lines[at]
        number = "" if row.number is None else str(row.number)
        line = Content.assemble(paint(Cell(f"{number:>{self._gutter - 2}}  ", "quiet")), paint(*row.cells))
        style = self.visual_style
        if row.kind != "text":
            style = style + self.get_visual_style(f"source--{row.kind}")
        return Visual.to_strips(self, line.truncate(width, pad=True), width, 1, style, pad=True)[0]
