"""A lower panel of the live screen: a heading, rows, and summary lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.rows_widget import RowList, RowPainter
from bioeval_tui.tui.shared.tones import left, right

LinePainter = Callable[[int], Content]
"""Called with the width in cells; returns the line, or lines."""


class DrawnPanel(Widget):
    """Lines drawn for the available width."""

    DEFAULT_CSS = """
    DrawnPanel { height: 1; }
    """

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._painter: LinePainter | None = None

    def draw(self, painter: LinePainter) -> None:
        """Draw with `painter` from now on."""
        self._painter = painter
        self.refresh()

    def render(self) -> Content:
        """Draw."""
        return self._painter(self.size.width) if self._painter else Content("")


class Panel(Vertical):
    """Heading, rows on demand, summary."""

    DEFAULT_CSS = """
    Panel {
        padding: 0 1;
        & > RowList { height: 1fr; }
    }
    """

    def __init__(self, name: str, *, id: str) -> None:
        super().__init__(id=id)
        self.border_title = name
        self.rows = RowList()
        self._head = DrawnPanel(classes="panel--head")
        self._foot = DrawnPanel(classes="panel--foot")

    def compose(self) -> ComposeResult:
        """Lay out the three parts."""
        yield self._head
        yield self.rows
        yield self._foot

    def lines_for(self, titles: Sequence[str], start: int, cells: int) -> int:
        """Return how many lines a row needs for these titles between `start` and `cells`, as far as all rows stay visible."""
        under = self.size.width - start
        needed = max((len(title_lines(title, under - cells, under)) for title in titles), default=1)
        return max(1, min(needed, (self.size.height - 3) // max(1, len(titles))))

    def set_panel(
        self,
        head: Sequence[Content],
        count: int,
        painter: RowPainter,
        foot: LinePainter,
        foot_lines: int = 1,
        *,
        row_lines: int = 1,
    ) -> None:
        """Show rows of `row_lines` below the lines of `head`, which are aligned at the right."""
        self._head.styles.height = len(head)
        self._head.draw(lambda width: Content("\n").join([right(line, width) for line in head]))
        self._foot.styles.height = foot_lines
        self._foot.draw(foot)
        self.rows.set_rows(count, painter, lines=row_lines)


def column_for(names: Iterable[str]) -> int:
    """Return how wide the columns below these names are: narrow, unless a name needs more than one line."""
    return 9 if all(cell_len(name) < 9 for name in names) else 11


def names_head(names: Sequence[str], columns: Sequence[int]) -> list[Content]:
    """Return a heading with each name at the right of its column, over as many lines as the longest needs."""
    wrapped = [Content(name).wrap(column - 1) for name, column in zip(names, columns, strict=True)]
    height = max(map(len, wrapped), default=1)
    filled = [[Content("")] * (height - len(lines)) + lines for lines in wrapped]
    drawn = (
        Content.assemble(
            *(right(lines[at].rstrip(), column) for lines, column in zip(filled, columns, strict=True))
        )
        for at in range(height)
    )
    return [line.stylize("$quiet") for line in drawn]


def wrapped_row(
    start: Content, label: Cell | str, cells: Sequence[Content], width: int, lines: int
) -> Content:
    """Return a row: `start`, the label over up to so many `lines`, and the cells at the end of the first."""
    title, tone = label if isinstance(label, Cell) else Cell(label)
    under = width - start.cell_length
    room = under - sum(cell.cell_length for cell in cells)
    first, *others = title_lines(title, room, under) if lines > 1 else [title]
    others = [*others[: lines - 2], " ".join(others[lines - 2 :])] if len(others) >= lines else others
    below = [Content.assemble(" " * start.cell_length, left(Cell(part, tone), under)) for part in others]
    return Content("\n").join([Content.assemble(start, left(Cell(first, tone), room), *cells), *below])


def title_lines(title: str, room: int, under: int) -> list[str]:
    """Return the title wrapped: the first line at `room` cells, the lines below it at `under`."""
    first = Content(title).wrap(max(1, room))[0].plain
    rest = title[len(first) :].strip()
    return [first.rstrip(), *(line.plain.rstrip() for line in Content(rest).wrap(max(1, under)) if rest)]
