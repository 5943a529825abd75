"""The dialog of what can be copied or saved from a screen; the application offers it, and carries
out the answer (`output.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.base.text import home_relative
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell, Tone, paint
from bioeval_tui.tui.shared.dialogs import FormDialog
from bioeval_tui.tui.shared.output import Copied, Kept, Picture
from bioeval_tui.tui.shared.rows_widget import RowList


class ShareDialog(FormDialog[Copied | Kept | Picture]):
    """Returns what to copy or to write, or the picture's path; None if it was closed."""

    NAME: ClassVar[str] = "Copy or share"
    HEADING: ClassVar[str] = "Copy to the clipboard"
    ABOUT: ClassVar[str] = (
        "Enter sends the selected row to the terminal, which copies it if it may; y again sends the"
        " first. Whether it did, no program can find out: ctrl+s writes the row to a text file"
        " instead. Below, save a picture of the screen, with its caption in a text file beside it."
    )
    LABEL_WIDTH = 10
    ENTER = "~share-field"
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
        self._rows = RowList("~share-rows")

    def compose_body(self) -> Iterable[Widget]:
        """What can be copied, then file and caption of the picture."""
        yield self._rows
        if self._picture is not None:
            yield self.line("picture", "path", home_relative(self._picture.path))
            yield self.line("caption", "caption", self._picture.caption)
        yield Static(id="hint", markup=False)

    @property
    def draft_name(self) -> str:
        """Only a caption of the same is a draft."""
        if self._picture is None:
            return f"{self.NAME}: "
        return f"{self.NAME}: {self._picture.caption}"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Write no file where nothing may be written."""
        return action != "to_file" or not self.bioeval.READ_ONLY

    def action_to_file(self) -> None:
        """Write the selected row to a file."""
        self.dismiss(Kept(self._copies[self._rows.cursor]))

    def first_field(self) -> Widget:
        """Start at the list of what can be copied."""
        self._rows.set_rows(len(self._copies), lambda at, _: paint(Cell(self._copies[at].what)))
        return self._rows

    def hint(self, *, trying: bool) -> Cell:
        """Show the caption's path, or what is wrong with the file name."""
        if self._picture is None:
            return Cell("")
        path = Path(self.query_one("#path", Input).value).expanduser()
        wrong: Tone = "bad" if trying else "warn"
        if path.suffix.lower() != ".svg":
            return Cell("picture: give a file name that ends in .svg", wrong)
        if not path.absolute().parent.is_dir():
            folder = home_relative(path.absolute().parent)
            return Cell(f"picture: there is no folder {folder}", wrong)
        return Cell(
            f"enter here saves both, the caption as {path.with_suffix('.txt').name}", "quiet"
        )

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
