"""Dialogs over a screen: questions one a line, a file path, an export format, and long work with a
way to cancel.
"""

from __future__ import annotations

import re
import shlex
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast
from urllib.parse import unquote, urlsplit

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.worker import Worker

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import duration
from bioeval_tui.tui.keys import bindings, set_keys
from bioeval_tui.tui.shared.base import AnyScreen, Result
from bioeval_tui.tui.shared.cells import Cell, paint
from bioeval_tui.tui.shared.keys_footer import KeysFooter
from bioeval_tui.tui.shared.line_widgets import OneLine
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from typing import Self

    from rich.console import RenderableType
    from textual.color import Color
    from textual.css.styles import RulesMap
    from textual.geometry import Size
    from textual.screen import Screen
    from textual.style import Style as VisualStyle
    from textual.visual import RenderOptions


ROOM_BESIDE = 40
"""A box that leaves fewer cells beside it shows no text there: it would be stubs of words."""


class Behind(Visual):
    """The screen behind a box, dimmed: only lines that changed are drawn again, and none beside a
    wide box.
    """

    def __init__(self) -> None:
        self._shown: tuple[Screen[Any], Size, Color] | None = None
        self._box: Widget | None = None
        self._drawn: dict[int, Strip] = {}

    def changed(self, regions: Iterable[Region]) -> None:
        """Draw these anew: Textual tells a box of a change behind it by refreshing the regions that
        changed.
        """
        for region in regions:
            for y in region.line_range:
                self._drawn.pop(y, None)

    def substitute(self, drawn: RenderableType, box: Widget | None = None) -> RenderableType:
        """Return this for what Textual would draw, or that itself where it is no screen."""
        if not isinstance(drawn, BackgroundScreen):
            return drawn
        self._box = box
        shown = (drawn.screen, drawn.screen.size, drawn.color)
        if shown != self._shown:
            self._drawn, self._shown = {}, shown
        return cast("RenderableType", self)  # Textual draws a `Visual` as it is

    def render_strips(
        self, width: int, height: int | None, style: VisualStyle, options: RenderOptions
    ) -> list[Strip]:
        """Return the lines of the screen, dimmed."""
        assert self._shown
        (screen, size, color), box = self._shown, self._box
        beside = range(0)
        if box is not None and size.width - box.region.width <= ROOM_BESIDE:
            beside = box.region.line_range
        for part in (range(beside.start), range(beside.stop, size.height)):
            if missing := [y for y in part if y not in self._drawn]:
                crop = Region(0, missing[0], size.width, missing[-1] + 1 - missing[0])
                drawn = screen._compositor._render_chops(crop, frozenset(missing).__contains__)
                # it may not have its new height yet
                for y in [y for y in missing if y < len(drawn)]:
                    strip = Strip.join(drawn[y].values())
                    dimmed = [Segment(text, _dimmed(style, color)) for text, style, _ in strip]
                    self._drawn[y] = Strip(dimmed, strip.cell_length)
        empty = Strip([Segment(" " * size.width, _dimmed(screen.rich_style, color))], size.width)
        return [empty if y in beside else self._drawn.get(y, empty) for y in range(size.height)]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """Return all of the width."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """Return the screen's height."""
        if self._shown:
            return self._shown[1].height
        return 0


@lru_cache(maxsize=4096)
def _dimmed(style: Style | None, color: Color) -> Style | None:
    return next(iter(BackgroundScreen.process_segments([Segment("", style)], color))).style


class DialogText(VerticalScroll):
    """A text that scrolls up and down; the left and right arrows are the dialog's."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~text")

    # The line of keys is docked over the last line of a text that fills the box.
    DEFAULT_CSS = """
    DialogText { margin-bottom: 1; & > Labelled { padding-right: 1; } }
    """

    def __init__(self, *children: Widget) -> None:
        super().__init__(*children, classes="dialog--body")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the left and right arrows to the dialog."""
        return action not in ("scroll_left", "scroll_right")


# `ModalScreen` first: Textual takes styles and keys from the first base only.
class Dialog(ModalScreen[Result], AnyScreen[Result], Generic[Result]):
    """Closed by `esc`. `HEADING` is at the top; subclasses yield the body."""

    HEADING: ClassVar[str] = ""
    LABEL_WIDTH: ClassVar[int] = 16
    """Width of what stands before the fields of a form, in cells."""
    BINDINGS: ClassVar[list[BindingType]] = bindings("dialog")
    DEFAULT_CSS = """
    Dialog {
        & > .dialog--box {
            width: 80%;
            max-width: 110;
            height: auto;
            max-height: 90%;
            background: $surface;
            padding: 1 2 0 2;
        }
        & .dialog--heading { text-style: bold; height: 1; margin-bottom: 1; }
        & .dialog--body { height: auto; max-height: 100%; }
        & .form--row { height: 1; }
        & .form--row > .form--label { color: $quiet; }
        & KeysFooter { dock: bottom; background: $surface; padding: 0; margin-top: 1; }
        &.-narrow > .dialog--box { width: 100%; max-height: 100%; padding: 0 1; }
        &.-narrow .dialog--heading { margin-bottom: 0; }
        &.-narrow KeysFooter { margin-top: 0; }
    }
    """

    def __init__(self, heading: str = "") -> None:
        """`heading` is the first line, if it is not always the same one."""
        self._behind = Behind()
        super().__init__()
        self.heading = heading or self.HEADING

    def render(self) -> RenderableType:
        """Draw the screen behind the box."""
        return self._behind.substitute(
            super().render(), next(iter(self.query(".dialog--box")), None)
        )

    def refresh(self, *regions: Region, **more: bool) -> Self:
        """Draw again; with regions, the screen behind, too."""
        self._behind.changed(regions)
        return super().refresh(*regions, **more)

    def forget_behind(self) -> None:
        """Draw all of the screen behind again: the box was closed, and it was told of no change."""
        self._behind = Behind()
        self.refresh()

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical(classes="dialog--box"):
            if self.heading:
                heading = Labelled(classes="dialog--heading")
                heading.show([[Cell(self.heading)]])
                yield heading
            yield from self.compose_body()
            yield KeysFooter()

    def row(self, label: str, field: Widget) -> Horizontal:
        """Return the line of a question."""
        words = Static(label, classes="form--label", markup=False)
        words.styles.width = self.LABEL_WIDTH
        return Horizontal(words, field, classes="form--row", id=f"row-{field.id}")

    def action_close(self) -> None:
        """Close without a result; what was typed stays, as a draft."""
        if self.draft_name in self.bioeval.drafts:
            self.bioeval.notify(f"{self.NAME}: what you typed is kept as a draft", markup=False)
        self.dismiss(None)

    def action_next(self, by: int) -> None:
        """Go to another question; Textual leaves out the hidden ones."""
        if by > 0:
            self.focus_next("Choice, Input, RowList")
        else:
            self.focus_previous("Choice, Input, RowList")

    # Drafts

    _given: Mapping[str, str] | None = None
    """The answers at the beginning, in a dialog that keeps drafts."""

    @property
    def draft_name(self) -> str:
        """What the draft is of; a dialog that asks the same takes it up."""
        return ": ".join(dict.fromkeys(filter(None, (self.NAME, self.heading))))

    def _answers(self) -> dict[str, str]:
        return {field.id or "": field.value for field in self.query(Input)} | {
            field.id or "": field.value for field in self.query(Choice)
        }

    def begin_draft(self) -> None:
        """Keep drafts from now on, and take up the one that was left."""
        self._given = self._answers()
        if draft := self.bioeval.drafts.get(self.draft_name):
            self._fill(draft)
            self.bioeval.notify("This is your draft. ^r starts over", markup=False)

    def keep_draft(self) -> None:
        """Keep what was typed so far, until the dialog has a result."""
        if self._given is None:
            return
        answers = self._answers()
        if answers == self._given:
            self.bioeval.drafts.pop(self.draft_name, None)
        else:
            self.bioeval.drafts[self.draft_name] = answers

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close; with a result, the draft has become it."""
        if result is not None:
            self._given = None
            self.bioeval.drafts.pop(self.draft_name, None)
        return super().dismiss(result)

    def action_start_over(self) -> None:
        """Fill in the answers as they were at the beginning."""
        if self._given is not None:
            self._fill(self._given)

    def _fill(self, answers: Mapping[str, str]) -> None:
        for field in self.query(Input):
            field.value = answers.get(field.id or "", field.value)
        for choice in self.query(Choice):
            choice.value = answers.get(choice.id or "", choice.value)
            choice.refresh()


class Choice(Widget, can_focus=True):
    """Arrows, space or a click go through the values; posts `Changed`."""

    DEFAULT_CSS = """
    Choice {
        height: 1; width: 1fr; padding: 0 1;
        &:focus { background: $block-cursor-blurred-background; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~choice")

    class Changed(Message):
        """Another value was chosen."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> Choice:
            """The widget that posted it."""
            return self.choice

    def __init__(self, options: Mapping[str, str], value: str, *, id: str) -> None:
        super().__init__(id=id)
        self._options = dict(options)
        self.value = value if value in options else next(iter(options))

    def render(self) -> Content:
        """Draw the value between angles."""
        words = self._options[self.value]
        return Content.assemble(("‹ ", "$text-accent"), words, (" ›", "$text-accent"))

    def action_go(self, by: int) -> None:
        """Choose the next or previous value."""
        values = list(self._options)
        self.value = values[(values.index(self.value) + by) % len(values)]
        self.refresh()
        self.post_message(self.Changed(self))

    def on_click(self, event: events.Click) -> None:
        """Choose the next value; a click on `‹` chooses the previous one."""
        self.action_go(-1 if event.x <= 2 else 1)


Form = TypeVar("Form")


class FormField(OneLine):
    """An input line, whose place in the table of keys says what enter does.

    Up and down belong to the dialog.
    """

    def __init__(self, enter: str, value: str, placeholder: str, *, id: str, between: str) -> None:
        """`between` joins pasted lines."""
        super().__init__(value, placeholder=placeholder, id=id, compact=True)
        self.between = between
        set_keys(self, enter)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the arrows to the dialog, and to its line of keys."""
        return action not in ("scroll_up", "scroll_down") and super().check_action(
            action, parameters
        )


class FormChoice(Choice):
    """A choice beside input lines. Text that was meant for one of them is not a command."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Return whether a key is typed; Textual then leaves it out of all bindings but the
        choice's own.
        """
        return character is not None and character.isprintable()


class FormDialog(Dialog[Form]):
    """The result is the complete form; None if the dialog was closed.

    A subclass draws `#told` below its lines.
    """

    ENTER: ClassVar[str] = ""
    """The place in the table of keys that says what enter does in its lines."""
    DEFAULT_CSS = """
    FormDialog {
        & .form--row > Input {
            width: 1fr; height: 1; border: none; padding: 0 1; background: $surface-lighten-1;
        }
        & .form--row > Input:focus { background: $block-cursor-blurred-background; }
        & #hint { height: auto; margin-top: 1; }
    }
    """

    def line(
        self, label: str, name: str, value: str, hint: str = "", between: str = " "
    ) -> Horizontal:
        """Return the line of a question that is answered by typing; the answer is the field's with
        the id `name`.

        `between` joins pasted lines.
        """
        return self.row(label, FormField(self.ENTER, value, hint, id=name, between=between))

    def on_mount(self) -> None:
        """Begin at the first question, with the draft that was left, if any."""
        self.begin_draft()
        self.tell()
        self.first_field().focus()

    def first_field(self) -> Widget:
        """Return the field that has the focus at first."""
        return self.query("Choice, Input").first()

    @abstractmethod
    def hint(self, *, trying: bool) -> Cell:
        """Return the text below the fields; `trying` is true if enter was pressed and something is
        wrong.
        """

    @abstractmethod
    def action_give(self) -> None:
        """Close with the form, unless something in it is wrong."""

    def tell(self, *, trying: bool = False) -> None:
        """Show the form's problem, or a summary of the answers."""
        self.query_one("#hint", Static).update(paint(self.hint(trying=trying)))

    @on(Choice.Changed)
    @on(Input.Changed)
    def _changed(self) -> None:
        self.tell()
        self.keep_draft()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        # Not a binding with priority: that would overtake letters still on their way to the line.
        event.stop()
        self.action_give()


_DRIVE = re.compile(r"^/[A-Za-z]:")


class PathLine(OneLine):
    """An input line for one path: of several that are pasted or dropped, it keeps the first, and
    says so.
    """

    def joined(self, lines: Sequence[str]) -> str:
        """Return the first one, and tell the user."""
        self.app.notify(
            f"{len(lines)} lines were pasted; one file is asked for, so the first is kept",
            severity="warning",
            markup=False,
        )
        return lines[0]


class PathDialog(Dialog[str]):
    """The result is a path, or None if the dialog was closed."""

    NAME: ClassVar[str] = "A file"
    ABOUT: ClassVar[str] = (
        "Type or paste a path. Most terminals paste a file's path when it is dropped on them."
    )
    DEFAULT_CSS = """
    PathDialog Input { height: 1; border: none; padding: 0 1; background: $surface-lighten-2; }
    PathDialog .path--hint { color: $quiet; margin-top: 1; height: auto; }
    PathDialog.-narrow .path--hint { margin-top: 0; }
    """

    def __init__(self, heading: str, hint: str, last: str = "") -> None:
        super().__init__(heading)
        self._hint = hint
        self._last = last

    def compose_body(self) -> Iterable[Widget]:
        """The input line, and a description of the expected path."""
        hint = "path of the file: type it, paste it, or drop the file here"
        field = PathLine(self._last, placeholder=hint, compact=True, id="path")
        set_keys(field, "~path-field")
        yield field
        yield Static(self._hint, classes="path--hint", markup=False)

    def on_mount(self) -> None:
        """Begin with the path that was left, if any."""
        self.begin_draft()

    @on(Input.Changed)
    def _changed(self) -> None:
        self.keep_draft()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        path = pasted_path(event.value)
        if path:
            self.dismiss(path)


def pasted_path(text: str) -> str:
    """Return the path that a terminal pastes when a file is dropped on it.

    Terminals quote names, put a backslash before spaces, or paste a `file://` address; what was
    typed by hand stays as it is.
    """
    text = text.strip()
    if text.startswith("file://"):
        path = unquote(urlsplit(text).path)
        if _DRIVE.match(path):
            return path[1:]
        return path
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("'\\''", "'")
    if "\\ " in text or "\\(" in text:
        try:
            return " ".join(shlex.split(text))
        except ValueError:
            return text
    return text


Tell = Callable[[str], None]
SHOWN = 8
"""Number of the latest messages shown."""


class WorkDialog(Dialog[Result], Generic[Result]):
    """Runs `work`, which may post messages; returns its result, or None if it was cancelled."""

    NAME: ClassVar[str] = "Work"
    ABOUT: ClassVar[str] = "Working. Press Esc to cancel; no partial files are left behind."
    BINDINGS: ClassVar[list[BindingType]] = bindings("work")

    def __init__(self, heading: str, work: Callable[[Tell], Awaitable[Result]]) -> None:
        super().__init__(heading)
        self._work = work
        self._steps: list[str] = []
        self._failure = ""
        self._began = monotonic()
        self._worker: Worker[None] | None = None

    def compose_body(self) -> Iterable[Widget]:
        """The messages, and the elapsed time."""
        yield Static(id="steps", markup=False)

    def on_mount(self) -> None:
        """Begin."""
        self._show()
        self.set_interval(1.0, self._show)
        self._worker = self.run_worker(self._do, group="feed")

    async def _do(self) -> None:
        try:
            result = await self._work(self._tell)
        except (BioevalError, OSError) as error:
            self._failure = clean_line(str(error) or type(error).__name__, 1000)
            self._show()
        else:
            self.dismiss(result)

    def _tell(self, sentence: str) -> None:
        self._steps.append(clean_line(sentence))
        self._show()

    def _show(self) -> None:
        lines = [paint(Cell(f"· {sentence}", "quiet")) for sentence in self._steps[-SHOWN:]]
        if self._failure:
            lines.append(paint(Cell(f"✗ {self._failure}", "bad")))
        else:
            lines.append(paint(Cell(f"◌ {duration(monotonic() - self._began)}", "busy")))
        self.query_one("#steps", Static).update(Content("\n").join(lines))

    def action_close(self) -> None:
        """Stop the work, then close."""
        if self._worker is not None:
            self._worker.cancel()
        self.dismiss(None)
