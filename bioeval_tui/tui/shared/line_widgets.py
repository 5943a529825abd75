"""Widgets of one line: a screen's title, an input for text to find or to say, a table's filter, and
tabs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult, RenderResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Digits, Input, Static

from bioeval_tui.base.streams import draws_unicode
from bioeval_tui.tui.shared.cells import Cell, cut, paint, spread

SHORTEST_NAME = 12
"""Fewer cells are no room for a name."""


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
        """Draw the line; when it is narrow, the program's name goes first, then notes, then the
        path from its beginning. A long name, such as a job's, is cut and does not go.
        """
        path, notes, state, name = self._shown
        width = self.size.width
        steps = list(path)
        if width >= 70:
            steps.insert(0, "bioeval-tui")
        end = paint(state)
        if name and width >= 100:
            end = paint(state, Cell(f"  {name}", "quiet"))
        loud = sum(4 + cell_len(note.text) for note in notes if note.tone != "quiet")
        while len(steps) > 1:
            over = cell_len(" › ".join(steps)) - (width - end.cell_length - 4)
            if over <= 0:
                break
            left_of_name = cell_len(steps[0]) - over - loud
            if left_of_name >= SHORTEST_NAME:
                steps[0] = cut(steps[0], left_of_name)
                break
            del steps[0]
        trail = Content.styled(" › ", "$quiet").join(
            [Content.assemble((step, "bold" if step is path[-1] else "")) for step in steps]
        )
        room = width - trail.cell_length - end.cell_length - 6
        kept = list(notes)
        while (
            kept
            and (listed := Content.styled(" · ", "$quiet").join(map(paint, kept))).cell_length
            > room
        ):
            # The last one goes first, and what is not worth a colour before what is.
            kept.remove(next((note for note in reversed(kept) if note.tone == "quiet"), kept[-1]))
        if kept:
            trail = Content.assemble(trail, "    ", listed)
        return spread(trail, end, width)


class OneLine(Input):
    """An input line that joins the lines of a paste, and says so; Textual keeps only the first."""

    between = " "
    """What joins pasted lines."""

    def _on_paste(self, event: events.Paste) -> None:
        lines = [line.strip() for line in event.text.splitlines() if line.strip()]
        if len(lines) > 1:
            event.prevent_default()  # else Textual would call its own handler, too
            event.stop()
            super()._on_paste(events.Paste(self.joined(lines)))

    def joined(self, lines: Sequence[str]) -> str:
        """Return the pasted lines as one, and tell the user."""
        self.app.notify(f"{len(lines)} pasted lines were joined into one", markup=False)
        return self.between.join(lines)


class TypedLine(OneLine):
    """The input; the footer shows what enter does."""

    def __init__(self, placeholder: str, enter: str) -> None:
        super().__init__(placeholder=placeholder, compact=True, select_on_focus=False)
        self._bindings.key_to_bindings["enter"] = [Binding("enter", "submit", enter)]


class AskLine(Horizontal):
    """A label, an input and a remark. Hidden until it is opened; `esc` closes it."""

    DEFAULT_CSS = """
    AskLine {
        height: 1;
        background: $surface-lighten-1;
        padding: 0 1;
        display: none;
        & > Static { width: auto; }
        & > .ask--label { color: $text-accent; text-style: bold; padding-right: 1; }
        & > .ask--remark { color: $quiet; padding-left: 1; }
        & > Input { width: 1fr; border: none; height: 1; padding: 0; background: transparent; }
    }
    """

    class Typed(Message):
        """The text changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Entered(Typed):
        """Enter was pressed."""

    class Closed(Message):
        """The line was closed."""

    def __init__(
        self, label: str, placeholder: str, *, id: str, enter: str = "keep", escape: str = "clear"
    ) -> None:
        """`enter` and `escape` are the words for what these keys do."""
        super().__init__(id=id)
        self._bindings.key_to_bindings["escape"] = [Binding("escape", "close", escape)]
        self._label = Static(label, classes="ask--label", markup=False)
        self._input = TypedLine(placeholder, enter)
        self._remark = Static("", classes="ask--remark", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        yield self._label
        yield self._input
        yield self._remark

    @property
    def is_open(self) -> bool:
        """Whether the line is shown."""
        return self.display

    def open(self, text: str | None = None, *, focus: bool = True) -> None:
        """Show the line, with `text` in it if given."""
        # Not by a class: Textual would compute the styles of all that is in it again.
        self.display = True
        if text is not None:
            self._input.value = text
        if focus:
            self._input.focus()

    def close(self) -> None:
        """Hide the line; the owner decides who gets the focus."""
        self.display = False

    def remark(self, text: str) -> None:
        """Show a short remark on the right."""
        self._remark.update(Content(text))

    def clear(self) -> None:
        """Empty the input."""
        self._input.value = ""

    def action_close(self) -> None:
        """Close the line and report it."""
        self.close()
        self.post_message(self.Closed())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Report the typed text."""
        event.stop()
        if self.is_open:
            self.post_message(self.Typed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Pass on that enter was pressed."""
        event.stop()
        self.post_message(self.Entered(event.value))


class FilterLine(AskLine):
    """The line that filters a table while it is typed in."""

    def __init__(
        self, placeholder: str, search: Callable[[str], str], focus_rows: Callable[[], object]
    ) -> None:
        """`search` shows only rows with a text, and returns how many there are, in words."""
        super().__init__("filter", placeholder, id="filter")
        self._search, self._focus_rows = search, focus_rows

    @on(AskLine.Typed)
    def _typed(self, event: AskLine.Typed) -> None:
        self.remark(self._search(event.text))

    @on(AskLine.Entered)
    def _entered(self) -> None:
        self.close()
        self._focus_rows()

    @on(AskLine.Closed)
    def _left(self) -> None:
        self.drop()
        self._focus_rows()

    def drop(self) -> None:
        """Show every row again."""
        self.clear()
        self._search("")


class TabLine(Widget):
    """Tabs on one line; posts `Picked` when one is clicked. The owner decides what that means."""

    DEFAULT_CSS = """
    TabLine { height: 1; background: $surface; }
    """

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tabs: list[tuple[str, Content]] = []
        self._active = ""
        self._places: list[tuple[int, int, str]] = []

    def set_tabs(self, tabs: Sequence[tuple[str, Content]], active: str) -> None:
        """Show tabs as (name, label), the active one marked by more than colour."""
        if (list(tabs), active) != (self._tabs, self._active):
            self._tabs, self._active = list(tabs), active
            self.refresh()

    def render(self) -> Content:
        """Draw the tabs and remember the position of each."""
        self._places = []
        pieces: list[Content] = []
        at = 0
        for name, label in self._tabs:
            if name == self._active:
                piece = Content.assemble(("▌", "$accent"), label.stylize("bold"), " ").stylize(
                    "on $boost"
                )
            else:
                piece = Content.assemble(" ", label.stylize_before("$quiet"), " ")
            self._places.append((at, at + piece.cell_length, name))
            at += piece.cell_length + 1
            pieces.append(piece)
        return Content(" ").join(pieces).truncate(self.size.width, ellipsis=True)

    def on_click(self, event: events.Click) -> None:
        """Report the clicked tab."""
        for start, end, name in self._places:
            if start <= event.x < end:
                self.post_message(self.Picked(name))
                return


class BigNumber(Digits):
    """A number in big digits; a terminal without the signs that they are drawn with shows it in
    small ones.
    """

    def render(self) -> RenderResult:
        """Draw the number."""
        if draws_unicode():
            return super().render()
        return Content(f"\n{self.value}")

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Return the number of cells."""
        if draws_unicode():
            return super().get_content_width(container, viewport)
        return len(self.value)
