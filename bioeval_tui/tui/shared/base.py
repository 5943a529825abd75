"""The base of every screen: a title bar, a body, a footer with the keys that apply now, and help.

Also of screens that reload their items while they are visible, and of what they draw only once the
cursor rests (`AtRest`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from rich.cells import cell_len
from textual import events, work
from textual.app import ComposeResult
from textual.await_remove import AwaitRemove
from textual.binding import BindingsMap
from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message
from textual.message_pump import MessagePump
from textual.messages import Prune
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.text import plural
from bioeval_tui.tui.keys import SCREENS, KeyOwners, key_name, order
from bioeval_tui.tui.shared.cells import Cell, paint, paint_lines, spread

if TYPE_CHECKING:
    from bioeval_tui.tui.shared.output import Copied
    from bioeval_tui.tui.shared.program import Program


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
        path from its beginning.
        """
        path, notes, state, name = self._shown
        width = self.size.width
        steps = list(path)
        if width >= 70:
            steps.insert(0, "bioeval-tui")
        end = paint(state)
        if name and width >= 100:
            end = paint(state, Cell(f"  {name}", "quiet"))
        while len(steps) > 1 and cell_len(" › ".join(steps)) > width - end.cell_length - 4:
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


_CHARACTERS = {"space": " ", "slash": "/", "question_mark": "?"}
_FIRST_TO_GO = ("share", "command_palette", "leave_app")
"""Keys that a narrow footer leaves out; `? help` lists all."""
MOST_KEYS = 8
"""How many keys a footer shows at most."""
_CHOOSE_SCREEN = "screens"
"""The action of a click on `0…5`."""


class Hint(NamedTuple):
    """A key, what it does, and the action to run on a click."""

    key: str
    words: str
    action: str
    everywhere: bool
    place: int = 0
    tooltip: str = ""
    node: DOMNode | None = None
    moves: bool = False
    """Whether it only moves within the focused widget, as in every program."""


def action_key(node: DOMNode, action: str) -> str:
    """Return the key of an action of a screen, or the application, or empty if it has none."""
    bindings = (binding for _, binding in node._bindings if binding.action == action)
    return next((key_name(binding.key) for binding in bindings), "")


def hints(screen: Screen[Any], *, hidden: bool = False) -> list[Hint]:
    """Return the keys that apply now, the focused widget's first, then in the order of the table.

    By default, only those that the footer shows, with one label for keys that belong together. With
    `hidden`, all of them, each by itself; those that only move come last.
    """
    places = order()
    going = f"{SCREENS[0].key}…{SCREENS[-1].key}"
    by_label: dict[object, Hint] = {}
    seen: set[tuple[DOMNode, str]] = set()
    for key, (node, binding, enabled, tooltip) in screen.active_bindings.items():
        if not enabled or binding.system or not (binding.show or (hidden and tooltip)):
            continue
        if _is_typed(screen.focused, key):
            continue
        everywhere = node is screen.app or binding.action.startswith("app.")
        place = places.get((binding.id, binding.action), -1)
        name, words, action = key_name(binding.key), binding.description, binding.action
        if not hidden:
            if action == f"go('{SCREENS[0].mode}')":
                words, action = "screens", _CHOOSE_SCREEN
                if name == SCREENS[0].key:
                    name = going
            elif binding.group is not None:
                words = binding.group.description
        label = (node, words) if binding.group is not None and not hidden else action
        known = by_label.get(label)
        if known is None:
            moves = binding.id is None and not binding.show
            by_label[label] = Hint(name, words, action, everywhere, place, tooltip, node, moves)
        elif name not in known.key.split() and (hidden or (node, action) not in seen):
            by_label[label] = known._replace(key=f"{known.key} {name}")
        seen.add((node, action))
    below = getattr(screen, "key_owners", ()) if screen.is_modal else ()
    return sorted(
        by_label.values(),
        key=lambda hint: (hint.moves, hint.everywhere, hint.node in below, hint.place),
    )


def _is_typed(focused: Widget | None, key: str) -> bool:
    """Whether the key would be typed into the focused widget instead of doing something."""
    return focused is not None and focused.check_consume_key(
        key, key if len(key) == 1 else _CHARACTERS.get(key)
    )


def fit(all_hints: list[Hint], width: int) -> tuple[list[Hint], list[Hint]]:
    """Return the hints for the left and the right side that fit into `width` cells, first ones
    first.
    """
    ends = [hint for hint in all_hints if hint.everywhere]
    for action in _FIRST_TO_GO:
        if _length(ends) > width // 2:
            ends = [hint for hint in ends if hint.action.removeprefix("app.") != action]
    room = width - _length(ends)
    kept: list[Hint] = []
    for hint in all_hints:
        if hint.everywhere:
            continue
        need = _length([hint])
        if need > room or len(kept) + len(ends) == MOST_KEYS:
            break
        kept.append(hint)
        room -= need
    return kept, ends


def _length(some: list[Hint]) -> int:
    return sum(len(hint.key) + len(hint.words) + 3 for hint in some)


class KeysFooter(Widget):
    """One clickable line with the keys that currently apply."""

    DEFAULT_CSS = """
    KeysFooter { height: 1; dock: bottom; background: $panel; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: list[tuple[int, int, Hint]] = []

    def on_mount(self) -> None:
        """Follow the screen's bindings, and whether they apply at all."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())
        self.app.screen_change_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        """Draw the keys, and remember the position of each. Behind a dialog, none applies."""
        width = self.size.width
        if self.app.screen is not self.screen:
            self._places = []
            return Content("")
        offered = hints(self.screen)
        kept, ends = fit(offered, width)
        if left_out := sum(not hint.everywhere for hint in offered) - len(kept):
            words = f"help, {plural(left_out, 'more key')}"
            offered = [hint._replace(words=words) if hint.key == "?" else hint for hint in offered]
            kept, ends = fit(offered, width)
        self._places = []
        line = self._draw(kept, 0)
        end = self._draw(ends, max(line.cell_length, width - _length(ends) + 2))
        return Content.assemble(line, " " * max(0, width - line.cell_length - end.cell_length), end)

    def _draw(self, some: list[Hint], start: int) -> Content:
        pieces: list[Content] = []
        for hint in some:
            piece = Content.assemble((hint.key, "bold $text-accent"), " ", (hint.words, "$quiet"))
            self._places.append((start, start + piece.cell_length, hint))
            start += piece.cell_length + 2
            pieces.append(piece)
        return Content("  ").join(pieces)

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the key under the mouse."""
        x = event.x - self.gutter.left
        for start, end, hint in self._places:
            if start <= x < end:
                await self.app.run_action(hint.action, hint.node)
                return


REST_S = 0.1
"""How long the cursor must not move to be at rest, in seconds."""


class AtRest:
    """Calls `act` after the cursor's line was painted; while the cursor keeps moving, only once it
    rests: holding down a key stays fast.
    """

    def __init__(self, screen: Screen[Any], act: Callable[[], object]) -> None:
        self._screen = screen
        self._act = act
        self._moved_at = float("-inf")
        self.pending = False

    def moved(self) -> None:
        """Note that the cursor has moved."""
        now = monotonic()
        moves_on = now - self._moved_at < REST_S
        self._moved_at = now
        if self.pending:
            return
        self.pending = True
        if moves_on:
            self._screen.set_timer(REST_S, self._look)
        else:
            self._screen.call_after_refresh(self._now)

    def _look(self) -> None:
        left = self._moved_at + REST_S - monotonic()
        if left > 0.005:
            self._screen.set_timer(left, self._look)
        else:
            self._now()

    def _now(self) -> None:
        self.pending = False
        if self._screen.is_attached:
            self._act()


_LAST = (events.Unmount, events.ScreenSuspend, Prune)
"""What a screen that is closed still handles."""


def is_going(owner: MessagePump) -> bool:
    """Whether a widget or a screen is being removed, with all that is in it."""
    return isinstance(owner, DOMNode) and any(node._pruning for node in owner.ancestors_with_self)


Result = TypeVar("Result")


class AnyScreen(Screen[Result], Generic[Result]):
    """What screens and dialogs share.

    `NAME` is shown in the title, `ABOUT` at the top of its help.
    """

    NAME: ClassVar[str] = ""
    ABOUT: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.key_owners = KeyOwners(self)
        """Widgets whose keys apply here, too; those of a dialog are on the screen below."""

    async def on_event(self, event: events.Event) -> None:
        """Ignore the mount while the application is leaving: it has added no widgets."""
        if self.children or not isinstance(event, events.Mount):
            await super().on_event(event)

    def remove(self) -> AwaitRemove:
        """Stop waiting for answers and for time before the widgets that would show them are gone.

        Textual does it afterwards.
        """
        self.workers.cancel_node(self)
        for timer in [*self._timers]:
            timer.stop()
        return super().remove()

    async def _dispatch_message(self, message: Message) -> None:
        """Once the screen is closed, do nothing more but end: its widgets are going, or were never
        mounted.
        """
        if not is_going(self) or isinstance(message, _LAST):
            await super()._dispatch_message(message)

    async def _invoke_and_clear_callbacks(self) -> None:
        # Callbacks of a box that has closed come to the screen below it.
        self._callbacks = [(call, owner) for call, owner in self._callbacks if not is_going(owner)]
        await super()._invoke_and_clear_callbacks()

    def _on_timer_update(self) -> None:
        """Draw what has changed, once the terminal has accepted what was drawn before.

        Behind a slow line, frames would queue up, and a key's effect would be seen after all of
        them.
        """
        if not getattr(self.app, "behind", False):
            super()._on_timer_update()

    @property
    def _binding_chain(self) -> list[tuple[DOMNode, BindingsMap]]:
        return self.key_owners.chain(super()._binding_chain)

    @property
    def bioeval(self) -> Program:
        """The application, with its services."""
        return cast("Program", self.app)

    def copies(self) -> Sequence[Copied]:
        """Return what can be copied from here, the selected item first."""
        return ()

    def caption(self) -> str:
        """Return the caption of a picture of this screen; empty if its title is enough."""
        return ""

    def compose_body(self) -> Iterable[Widget]:
        """Yield the widgets between the title or heading and the keys."""
        return ()


class BaseScreen(AnyScreen[None]):
    """A screen of the application."""

    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (16, "-normal"),
        (32, "-tall"),
    ]

    at_rest: AtRest | None = None
    """Draws what depends on the cursor, on screens that have such parts."""

    def __init__(self) -> None:
        super().__init__()
        # Textual parses every style sheet anew for a screen that does not know of the last change
        # of the theme.
        self._css_update_count = self.app._css_update_count
        self._applied: tuple[bool, ...] = ()

    def refresh_keys(self) -> None:
        """Update the footer only if the set of keys that apply has changed."""
        own = {binding.action.partition("(")[0] for _, binding in self._bindings}
        applied = (
            *(self.check_action(action, ()) is True for action in sorted(own)),
            *self.key_owners.applying(),
        )
        if applied != self._applied:
            self._applied = applied
            self.refresh_bindings()

    @property
    def title_bar(self) -> TitleBar:
        """The first line."""
        return self.query_one(TitleBar)

    def compose(self) -> ComposeResult:
        """Lay out title, body and footer."""
        yield TitleBar(self.NAME)
        yield from self.compose_body()
        yield KeysFooter()

    @property
    def wide(self) -> bool:
        """Whether there is room for things side by side."""
        return self.app.size.width >= 120

    def key(self, action: str) -> str:
        """Return the current key of an action of the screen or of the application."""
        owned = self.key_owners.binding_of(action)
        if owned:
            return key_name(owned.key)
        return action_key(self, action) or action_key(self.app, action)

    @property
    def is_in_view(self) -> bool:
        """Whether the screen is visible: on top, or behind a dialog."""
        return self.is_active or (self.is_current and self.app.screen.is_modal)

    def show_notice(self, lines: Iterable[Cell]) -> None:
        """Show what stands in the place of an empty screen."""
        self.query_one("#notice", Static).update(paint_lines(lines))

    def show_trouble(self, sentence: str) -> None:
        """Show above the body what is wrong; nothing without a sentence."""
        trouble = self.query_one("#trouble", Static)
        trouble.display = bool(sentence)
        trouble.update(Content(f"! {sentence}"))

    def tell(self, sentence: str, *, bad: bool = False) -> None:
        """Show a short message for a few seconds; foreign text in it stays literal."""
        self.app.notify(sentence, severity="warning" if bad else "information", markup=False)


def unreadable(failure: str) -> list[Cell]:
    """Return the notice of a screen whose items could not be read."""
    return [Cell("! Could not be read", "strong"), Cell(""), Cell(failure, "bad")]


def switch_focus(rows: Widget, beside: Widget) -> None:
    """Go from the rows to what stands beside them, or back."""
    if beside.has_focus:
        rows.focus()
    else:
        beside.focus()


class RefreshedScreen(BaseScreen):
    """A screen that reloads its items while it is visible."""

    _loading = False

    async def load_items(self) -> None:
        """Ask for the items, and show them."""
        raise NotImplementedError

    def refresh_every(self, seconds: float) -> None:
        """Reload the items regularly while the screen is visible."""
        self.set_interval(seconds, self._refresh_seen)

    def _refresh_seen(self) -> None:
        if self.is_in_view:
            self.refresh_items()

    def refresh_items(self) -> None:
        """Load in the background after the next paint, unless that is already in progress."""
        if not self._loading:
            self._loading = True
            self.call_after_paint(self._load_items)

    def call_after_paint(self, work: Callable[[], object]) -> None:
        """Call `work` after the next paint: it imports modules in a thread, which would delay the
        paint.
        """
        # By way of the application, because it paints nothing before it is composed.
        self.app.call_later(self.call_after_refresh, work)

    @work(group="items")
    async def _load_items(self) -> None:
        try:
            await self.load_items()
        finally:
            self._loading = False
