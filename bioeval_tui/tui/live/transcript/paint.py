"""From blocks to lines of the right width: speaker at the left, text, marks at the right."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme
from textual.strip import Strip

from bioeval_tui.base.text import terminal_text
from bioeval_tui.tui.live.transcript.blocks import Block, Line, Mark
from bioeval_tui.tui.live.transcript.markdown import TranscriptMarkdown, close_marks, highlight_code

SPEAKER = 5
"""Width of `user` and `agent`, in cells."""
MARK_CELLS = 9
"""Cells kept free at the right for a latency: a space, then up to `59.9 s…`, then a space."""

MAX_BODY = 110
"""Maximum width of text, because wider text is hard to read; marks follow it, and the rest stays
empty.
"""

NARROW = 46
"""Below this width, marks are on their own lines instead of at the right."""


RULE = "│ "
"""The prefix of lines of code and of expanded details, which is not part of their text."""


class Painter:
    """Paints blocks at one width in one set of colours.

    `styles` maps names to Rich styles: `STYLES` of `styles.py`, and `base` for the rest.
    """

    def __init__(self, width: int, styles: Mapping[str, Style]) -> None:
        self.width = max(12, width)
        self.speaker_cells = max(2, min(SPEAKER, self.width // 4))
        self.left = 1 + self.speaker_cells + 2
        self.right = MARK_CELLS if self.width >= NARROW else 1
        self.body = max(6, min(MAX_BODY, self.width - self.left - self.right))
        self.edge = min(self.width, self.left + self.body + self.right)
        self.styles = styles
        self.base = styles["base"]
        theme = Theme({**styles, **markdown_styles(styles)}, inherit=False)
        self._console = Console(
            file=io.StringIO(),
            width=self.body,
            height=100,
            color_system="truecolor",
            force_terminal=True,
            legacy_windows=False,
            theme=theme,
            highlight=False,
            markup=False,
            emoji=False,
            _environ={},
        )

    def estimate(self, text: str) -> int:
        """Return the approximate number of lines of `text`."""
        return text.count("\n") + len(text) // self.body + 1

    def paint(self, block: Block) -> list[Line]:
        """Return the lines of a block, at least one."""
        if block.kind == "gap":
            return [
                Line(Strip([self._side(block), Segment(" " * (self.width - 1), self.base)]), "", 0)
            ]
        if block.kind == "parting":
            return [self._parting(block.text)]
        rows = self._rows(block)
        if block.live:
            _add_caret(rows, self.body, self.styles["caret"])
        marks = list(block.marks)
        lines: list[Line] = []
        for index, row in enumerate(rows):
            first = index == 0
            timer = first and block.timer
            placed = [] if timer else self._place(row, marks)
            was = block.before[index] if block.before and index < len(block.before) else None
            lines.append(self._line(block, row, placed, first=first, timer=timer, was=was))
            if first and not timer:
                marks = [mark for mark in marks if not mark.optional]
        block.before = None
        while marks:
            lines.append(
                self._line(block, [], self._place([], marks) or [marks.pop(0)], first=False)
            )
        return lines

    def marks_strip(self, marks: Iterable[Mark], cells: int) -> Strip:
        """Return marks as the rightmost `cells` of a line."""
        segments = self._mark_segments(marks)
        used = _cells(segments)
        return Strip([Segment(" " * max(0, cells - used), self.base), *segments]).crop(0, cells)

    def _rows(self, block: Block) -> list[list[Segment]]:
        text = _clean_text(block.text)
        match block.kind:
            case "markdown":
                if block.live:
                    text = close_marks(text)
                return self._render(TranscriptMarkdown(text)) or [[]]
            case "code" | "detail-code":
                return self._ruled(highlight_code(text, block.language))
            case "plain-code":
                return self._ruled(Text(text, style="code", overflow="fold"))
            case "detail":
                return self._ruled(Text(text, style="note", overflow="fold"))
            case "note":
                return self._note(block, text)
            case _:
                return self._render(Text(text, style=block.style or "base", overflow="fold"))

    def _note(self, block: Block, text: str) -> list[list[Segment]]:
        sign = f"{block.sign} " if block.sign else ""
        if block.style == "event" and not block.opened:
            room = self.body - cell_len(sign)
            if cell_len(text) > room:
                text = set_cell_size(text, max(1, room - 1)).rstrip() + "…"
        style = self.styles[block.style or "base"]
        rows = self._render(Text(text, style=style, overflow="fold"), self.body - cell_len(sign))
        for index, row in enumerate(rows):
            row.insert(0, Segment(sign if index == 0 else " " * cell_len(sign), style))
        return rows

    def _ruled(self, text: Text) -> list[list[Segment]]:
        rows = self._render(text, self.body - 2)
        rule = self.styles["rule"]
        return [[Segment(RULE, rule), *row] for row in rows] or [[Segment(RULE, rule)]]

    def _render(self, renderable: RenderableType, width: int | None = None) -> list[list[Segment]]:
        options = self._console.options.update(width=max(4, width or self.body), height=None)
        rows = self._console.render_lines(renderable, options, pad=False)
        rows = [_strip_padding(row) for row in rows]
        while len(rows) > 1 and not any(segment.text.strip() for segment in rows[-1]):
            rows.pop()
        while len(rows) > 1 and not any(segment.text.strip() for segment in rows[0]):
            rows.pop(0)
        return rows

    def _place(self, row: list[Segment], marks: list[Mark]) -> list[Mark]:
        """Take from `marks` those that fit at the right of `row`, the first of them rightmost."""
        used = _cells(row)
        room = self.edge - self.left - used - 2
        placed: list[Mark] = []
        gap = 0
        while marks and cell_len(marks[0].text) + gap <= room:
            room -= cell_len(marks[0].text) + gap
            placed.append(marks.pop(0))
            gap = 2
        return placed

    def _line(
        self,
        block: Block,
        row: list[Segment],
        marks: list[Mark],
        *,
        first: bool,
        timer: bool = False,
        was: Line | None = None,
    ) -> Line:
        """Return a line, or `was` itself if it would be the same, because its strip caches the
        compositor's work.
        """
        side, gutter = self._side(block), self._gutter(block if first else None)
        right = self._mark_segments(marks)
        parts = (side, gutter, tuple(row), tuple(right))
        if was is not None and was.timer == timer and was.parts == parts:
            return was
        used = self.left + _cells(row) + _cells(right)
        fill = max(0, self.edge - used)
        rest = max(0, self.width - used - fill)
        segments = [side, gutter, *row, Segment(" " * fill), *right, Segment(" " * rest)]
        strip = Strip(Segment.apply_style(segments, self.base), max(self.width, used + fill))
        ruled = row[0].text if row and row[0].text == RULE else ""
        text = "".join(segment.text for segment in row)[len(ruled) :]
        if used > self.width:
            strip = strip.crop(0, self.width)
        return Line(strip, text, len(side.text) + len(gutter.text) + len(ruled), timer, parts)

    def _side(self, block: Block) -> Segment:
        """Return the first cell of a line: a bar in the speaker's colour.

        Its shape differs, too, for readers who see no colours.
        """
        if not block.side:
            return Segment(" ", self.base)
        return Segment("┃" if block.side == "assistant" else "▌", self.styles[f"side-{block.side}"])

    def _parting(self, text: str) -> Line:
        label = f"─── {text} "
        line = label + "─" * max(0, self.edge - 1 - cell_len(label))
        strip = Strip(
            [
                Segment(" ", self.base),
                Segment(line, self.styles["parting"] + Style(bgcolor=self.base.bgcolor)),
            ]
        )
        return Line(strip.adjust_cell_length(self.width, self.base), text, 5)

    def _gutter(self, block: Block | None) -> Segment:
        name, style = "", self.base
        if block is not None:
            name = block.speaker
            if block.role:
                style = self.styles[f"speaker-{block.role}"]
        if cell_len(name) > self.speaker_cells:
            name = set_cell_size(name, self.speaker_cells - 1).rstrip() + "…"

        return Segment(set_cell_size(name, self.speaker_cells) + "  ", style)

    def _mark_segments(self, marks: Iterable[Mark]) -> list[Segment]:
        segments: list[Segment] = []
        for mark in marks:
            gap = [Segment("  ", self.base)] if segments else []
            segments = [Segment(mark.text, self.styles[mark.style]), *gap, *segments]
        if segments:
            return [*segments, Segment(" ", self.base)]
        return []


def _cells(row: Iterable[Segment]) -> int:
    return sum(cell_len(segment.text) for segment in row)


def _strip_padding(row: list[Segment]) -> list[Segment]:
    """Return a row without the spaces that Rich fills lines with."""
    row = [segment for segment in row if segment.text and not segment.control]
    while row and not (kept := row[-1].text.rstrip(" ")):
        row.pop()
    if row:
        row[-1] = Segment(kept, row[-1].style)
    return row


def _clean_text(text: str) -> str:
    """Clean the text again in any case, and replace tabs with spaces."""
    if text.isascii() and text.isprintable():
        return text
    return terminal_text(text).expandtabs(4)


def _add_caret(rows: list[list[Segment]], body: int, style: Style) -> None:
    used = _cells(rows[-1])
    if used < body:
        rows[-1].append(Segment("▌", style))


def markdown_styles(styles: Mapping[str, Style]) -> dict[str, Style]:
    """Return Rich's styles of Markdown, made of those named `heading`, `link`, `inline-code`,
    `code`, `note` and `rule`.
    """
    bold, italic = Style(bold=True), Style(italic=True)
    heading = styles["heading"]
    return {
        "markdown.paragraph": Style(),
        "markdown.text": Style(),
        "markdown.em": italic,
        "markdown.strong": bold,
        "markdown.s": Style(strike=True),
        "markdown.a": styles["link"],
        "markdown.code": styles["inline-code"],
        "markdown.code_block": styles["code"],
        "markdown.block_quote": styles["note"],
        "markdown.list": Style(),
        "markdown.item": Style(),
        "markdown.item.bullet": styles["rule"],
        "markdown.item.number": styles["rule"],
        "markdown.hr": styles["rule"],
        "markdown.table.border": styles["rule"],
        "markdown.table.header": bold,
        "rule.line": styles["rule"],
        "table.header": bold,
        "table.footer": bold,
        "table.cell": Style(),
        "table.title": italic,
        "table.caption": italic,
        "none": Style(),
        **{f"markdown.h{level}": heading for level in range(1, 7)},
    }
