"""What can be taken from a screen: text for the clipboard, a picture with its caption, or a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.text import home_relative
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.copying import Copied, Picture
from bioeval_tui.tui.shared.dialogs import FormDialog, FormField
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import paint


class ShareRows(RowList):
    """What can be copied; enter copies it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~share-rows")


class ShareField(FormField):
    """A line to type in; enter writes the picture."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~share-field")


class ShareDialog(FormDialog[Copied | Picture]):
    """Returns what to copy, or the picture's path; None if it was closed."""

    NAME: ClassVar[str] = "Copy or share"
    HEADING: ClassVar[str] = "Copy to the clipboard"
    ABOUT: ClassVar[str] = (
        "Enter copies the selected row; y again copies the first. Below, save a picture of the screen, with "
        "its caption in a text file beside it."
    )
    LABEL_WIDTH: ClassVar[int] = 10
    BINDINGS: ClassVar[list[BindingType]] = bindings("share")
    DEFAULT_CSS = """
    ShareDialog > .dialog--box { width: 84; }
    ShareDialog RowList { height: auto; max-height: 8; margin-bottom: 1; }
    """

    def __init__(self, copies: Sequence[Copied], picture: Picture | None) -> None:
        """Offer to copy `copies`, and to write `picture` unless it is None."""
        super().__init__()
        self._copies = copies
        self._picture = picture
        self._rows = ShareRows()

    def compose_body(self) -> Iterable[Widget]:
        """What can be copied, then file and caption of the picture."""
        yield self._rows
        if self._picture is not None:
            yield self.row("picture", ShareField(home_relative(self._picture.path), id="path", compact=True))
            yield self.row("caption", ShareField(self._picture.caption, id="caption", compact=True))
        yield Static(id="hint", markup=False)

    def first_field(self) -> Widget:
        """Start at the list of what can be copied."""
        self._rows.set_rows(len(self._copies), lambda at, _: paint(Cell(self._copies[at].what)))
        return self._rows

    def hint(self, *, trying: bool) -> Cell:
        """Show the caption's path, or what is wrong with the file name."""
        if self._picture is None:
            return Cell("")
        path = Path(self.query_one("#path", Input).value).expanduser()
        if path.suffix.lower() != ".svg":
            return Cell("picture: give a file name that ends in .svg", "bad" if trying else "warn")
        if not path.absolute().parent.is_dir():
            return Cell(
                f"picture: there is no folder {home_relative(path.absolute().parent)}",
                "bad" if trying else "warn",
            )
        return Cell(f"enter here saves both, the caption as {path.with_suffix('.txt').name}", "quiet")

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        self.dismiss(self._copies[event.index])

    def action_first(self) -> None:
        """Copy the selected row."""
        self.dismiss(self._copies[0])

    def action_give(self) -> None:
        """Write the picture, unless its name is wrong."""
        if self.hint(trying=True).tone == "bad":
            self.tell(trying=True)
            return
        path, caption = (self.query_one(f"#{name}", Input).value for name in ("path", "caption"))
        self.dismiss(Picture(Path(path).expanduser(), caption.strip()))
