"""From cells of a view model to styled Content: the only place where a tone becomes a colour."""

from __future__ import annotations

from textual.content import Content

from bioeval_tui.tui.shared.cells_view import Cell, Tone

STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "quiet": "$quiet",
    "good": "$text-success",
    "bad": "$text-error",
    "warn": "$text-warning",
    "busy": "$text-accent",
    "gold": "bold $gold",
    "silver": "bold $silver",
    "bronze": "bold $bronze",
    "entries": "$entries",
    # Backgrounds of a heat map, the lowest fifth first.
    "heat0": "on $error 45%",
    "heat1": "on $error 22%",
    "heat2": "on $warning 25%",
    "heat3": "on $success 22%",
    "heat4": "on $success 45%",
}


def paint(*cells: Cell | Content | str) -> Content:
    """Return the cells one after another; foreign text stays literal, never markup."""
    return Content.assemble(
        *((cell.text, STYLES[cell.tone]) if isinstance(cell, Cell) else cell for cell in cells)
    )


def left(cell: Cell | Content | str, width: int) -> Content:
    """Return the cell cut or padded to `width`, text on the left."""
    return paint(cell).truncate(max(0, width), ellipsis=True, pad=True)


def right(cell: Cell | Content | str, width: int) -> Content:
    """Return the cell cut or padded to `width`, text on the right."""
    content = paint(cell)
    missing = width - content.cell_length
    return content.pad_left(missing) if missing > 0 else content.truncate(max(0, width), ellipsis=True)


def spread(start: Content, end: Content, width: int) -> Content:
    """Return `start` on the left and `end` on the right of a line of `width`; `start` is cut first."""
    room = width - end.cell_length
    if room < 2:
        return end.truncate(max(0, width), ellipsis=True, pad=True)
    return Content.assemble(left(start, room - 2), "  ", end)
