"""A view of a text with its problems below the lines that have them, as the jobs screen shows a
file.

`Source` makes rows for a width; `SourceView` scrolls them, and stays where it is when the file
changes.
"""

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

from bioeval_tui.base.errors import Problem
from bioeval_tui.base.text import plural
from bioeval_tui.base.widths import padded
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell, paint
from bioeval_tui.tui.shared.wrapped_lines import title_lines

MAX_LINES = 5_000
"""Maximum number of lines in a preview; the rest is only counted."""
_LEAST_WIDTH = 8
"""Width in cells to which rows are wrapped in a view that is narrower, which then cuts them off."""


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

    def __init__(self, *, id: str | None) -> None:
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
        if at >= self.size.height - 2:
            return max(0, at - 3)
        return 0

    def on_resize(self) -> None:
        """Wrap the lines again."""
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0 or width == self._for_width:
            return
        self._for_width = width
        self._gutter = len(str(self._source.text.count("\n") + 1)) + 2
        self._lines = self._source.rows(max(_LEAST_WIDTH, width - self._gutter))
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
        line = Content.assemble(
            paint(Cell(f"{padded(number, self._gutter - 2, 'right')}  ", "quiet")),
            paint(*row.cells),
        )
        style = self.visual_style
        if row.kind != "text":
            style = style + self.get_visual_style(f"source--{row.kind}")
        return Visual.to_strips(self, line.truncate(width, pad=True), width, 1, style, pad=True)[0]


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its problems."""

    text: str
    problems: tuple[Problem, ...] = ()

    def rows(self, width: int) -> list[SourceRow]:
        """Return the rows for `width` cells beside the numbers; long lines continue in the next
        row.
        """
        by_line: dict[int, list[Problem]] = defaultdict(list)
        for problem in self.problems:
            by_line[problem.line].append(problem)
        shown: list[SourceRow] = []

        def add_problems(at: int) -> None:
            for problem in by_line.pop(at, ()):
                shown.extend(_problem_rows(problem, width))

        add_problems(0)
        lines = self.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        for at, (line, block) in enumerate(_blocks(lines[:MAX_LINES]), 1):
            shown += _text_rows(at, line, width, block)
            add_problems(at)
        if len(lines) > MAX_LINES:
            more = plural(len(lines) - MAX_LINES, "more line")
            shown.append(SourceRow(None, (Cell(f"… {more}", "quiet"),)))
        for at in sorted(by_line):
            add_problems(at)
        return shown

    @property
    def first_problem(self) -> Problem | None:
        """The problem to show first: the first error, otherwise the first warning."""
        errors = [problem for problem in self.problems if problem.severity == "error"]
        return min(errors or self.problems, key=lambda problem: problem.line, default=None)


class SourceRow(NamedTuple):
    """One line on screen: the number of the file's line where it begins, and its cells."""

    number: int | None
    cells: tuple[Cell, ...]
    kind: Literal["text", "error", "warning"] = "text"


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


def _problem_rows(problem: Problem, width: int) -> list[SourceRow]:
    kind, sign, tone = "error", "✗", "bad"
    if problem.severity == "warning":
        kind, sign, tone = "warning", "!", "warn"
    said = problem.message
    if problem.field:
        said = f"{problem.field}: {said}"
    if problem.line and problem.column:
        said = f"{problem.line}:{problem.column}  {said}"
    width = max(_LEAST_WIDTH, width)
    first, *rest = title_lines(f"{sign} {said}", width, width - 2)
    lines = [first, *(f"  {part}" for part in rest)]
    return [SourceRow(None, (Cell(line, tone),), kind) for line in lines]  # type: ignore[arg-type]


def _coloured(line: str, block: bool) -> tuple[Cell, ...]:
    """Return a YAML line with its key and comment in different tones; unknown syntax stays
    plain.
    """
    if block:
        return (Cell(line),)
    if line.lstrip().startswith("#"):
        return (Cell(line, "quiet"),)
    match = _KEY.match(line)
    if match is None:
        return (Cell(line),)
    start, key, colon, rest = match.groups()
    return (Cell(start, "quiet"), Cell(key, "busy"), Cell(colon, "quiet"), Cell(rest))


def _blocks(lines: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each line with whether it is text of a block scalar, in which a colon is only a
    colon.
    """
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


_KEY = re.compile(r"^(\s*(?:- +)*)([\w.$/-]+|\"[^\"]*\"|'[^']*')(:)(?=\s|$)(.*)$")
_BLOCK = re.compile(r":\s*[|>][-+0-9]*\s*(?:#.*)?$|^\s*-\s+[|>][-+0-9]*\s*$")
_SPACES = re.compile(r"^ *")
