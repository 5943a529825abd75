"""The base of every screen, in three steps: what dialogs are, too (`AnyScreen`), what has a title
bar, a body and a footer (`BaseScreen`), and what reloads its items while it is visible
(`RefreshedScreen`).

`AnyScreen` has what keeps a screen correct while it closes, or behind a slow line. A screen that
draws something for the row under its cursor does it once the cursor rests (`AtRest`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

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

from bioeval_tui.tui.keys import KeyOwners, key_name
from bioeval_tui.tui.shared.cells import Cell, paint_lines
from bioeval_tui.tui.shared.keys_footer import KeysFooter, action_key
from bioeval_tui.tui.shared.line_widgets import TitleBar

if TYPE_CHECKING:
    from bioeval_tui.tui.shared.output import Copied
    from bioeval_tui.tui.shared.program import Program

WIDE = 120
"""Cells of a terminal that has room for things side by side."""
REST_S = 0.1
"""How long the cursor must not move to be at rest, in seconds."""
_LAST = (events.Unmount, events.ScreenSuspend, Prune)
"""What a screen that is closed still handles."""

Result = TypeVar("Result")


class AnyScreen(Screen[Result], Generic[Result]):
    """What screens and dialogs share.

    `NAME` is shown in the title, `ABOUT` at the top of its help.
    """

    NAME: ClassVar[str] = ""
    ABOUT: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self._note_room()
        self.key_owners = KeyOwners(self)
        """Widgets whose keys apply here, too; those of a dialog are on the screen below."""

    def _note_room(self) -> None:
        """Set the classes that say how much room there is.

        Textual does so only after the first paint, and then lays the screen out again.
        """
        width, height = self.app.size
        for room, steps in (
            (width, self.HORIZONTAL_BREAKPOINTS),
            (height, self.VERTICAL_BREAKPOINTS),
        ):
            reached = [step for step in steps or () if step[0] <= room]
            if reached:
                self.add_class(max(reached)[1])

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


def is_going(owner: MessagePump) -> bool:
    """Whether a widget or a screen is being removed, with all that is in it."""
    return isinstance(owner, DOMNode) and any(node._pruning for node in owner.ancestors_with_self)


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
        return self.app.size.width >= WIDE

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

    def call_after_paint(self, call: Callable[[], object]) -> None:
        """Make a `call` after the next paint: it imports modules in a thread, which would delay the
        paint.
        """
        # By way of the application, because it paints nothing before it is composed.
        self.app.call_later(self.call_after_refresh, call)

    @work(group="items")
    async def _load_items(self) -> None:
        try:
            await self.load_items()
        finally:
            self._loading = False


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


def unreadable(failure: str) -> list[Cell]:
    """Return the notice of a screen whose items could not be read."""
    return [Cell("! Could not be read", "strong"), Cell(""), Cell(failure, "bad")]


def switch_focus(rows: Widget, beside: Widget) -> None:
    """Go from the rows to what stands beside them, or back."""
    if beside.has_focus:
        rows.focus()
    else:
        beside.focus()
