"""The first line of every screen: where you are, and the status."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.tones import paint, spread


class TitleBar(Widget):
    """One line: a path on the left, notes, and the state on the right."""

    DEFAULT_CSS = """
    TitleBar { height: 1; dock: top; background: $panel; padding: 0 1; }
    """

    def __init__(self, *path: str) -> None:
        super().__init__()
        self._shown: tuple[tuple[str, ...], tuple[Cell, ...], Cell, str] = (path, (), Cell(""), "")

    def say(
        self,
        path: Sequence[str],
        notes: Sequence[Cell] = (),
        state: Cell = Cell(""),  # noqa: B008 - an immutable value
        name: str = "",
    ) -> None:
        """Show the path, notes, status and a name (such as a run's id)."""
        shown = (tuple(path), tuple(notes), state, name)
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    def render(self) -> Content:
        """Draw the line; when it is narrow, the program's name goes first, then notes."""
        path, notes, state, name = self._shown
        width = self.size.width
        steps = list(path)
        if width >= 70:
            steps.insert(0, "bioeval-tui")
        trail = Content.styled(" › ", "$quiet").join(
            [Content.assemble((step, "bold" if step is path[-1] else "")) for step in steps]
        )
        end = paint(state, Cell(f"  {name}", "quiet")) if name and width >= 100 else paint(state)
        room = width - trail.cell_length - end.cell_length - 6
        kept = list(notes)
        while kept and (listed := Content.styled(" · ", "$quiet").join(map(paint, kept))).cell_length > room:
            # The last one goes first, and what is not worth a colour before what is.
            kept.remove(next((note for note in reversed(kept) if note.tone == "quiet"), kept[-1]))
        if kept:
            trail = Content.assemble(trail, "    ", listed)
        return spread(trail, end, width)
