"""The base of every screen: a title bar, a body, a footer with the keys that apply now, and help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingsMap
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.tui.shared.at_rest import AtRest
from bioeval_tui.tui.shared.keymap import KeyOwners, use_keys
from bioeval_tui.tui.shared.keys_footer_widget import KeysFooter, key_for, key_name
from bioeval_tui.tui.shared.title_bar_widget import TitleBar

if TYPE_CHECKING:
    from bioeval_tui.tui.shared.copying import Copied
    from bioeval_tui.tui.shared.program import Program


class BaseScreen(Screen[None]):
    """A screen of the application. `NAME` is shown in the title, `ABOUT` at the top of its help."""

    NAME: ClassVar[str] = ""
    ABOUT: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (16, "-normal"),
        (32, "-tall"),
    ]

    at_rest: AtRest | None = None
    """Draws what depends on the cursor, on screens that have such parts."""

    def __init__(self) -> None:
        super().__init__()
        # Textual parses every style sheet anew for a screen that does not know of the last change of the theme.
        self._css_update_count = self.app._css_update_count
        self.key_owners = KeyOwners(self)
        self._applied: tuple[bool, ...] = ()

    async def on_event(self, event: events.Event) -> None:
        """Ignore the mount while the application is leaving: it has added no widgets."""
        if self.children or not isinstance(event, events.Mount):
            await super().on_event(event)

    def on_mount(self) -> None:
        """Apply the user's keys."""
        self.take_keys()

    def take_keys(self) -> None:
        """Apply the chosen keys; screens that name keys redraw them."""
        use_keys(self, self.bioeval.keys)
        self.key_owners.use_keys(self.bioeval.keys)

    @property
    def _binding_chain(self) -> list[tuple[DOMNode, BindingsMap]]:
        return self.key_owners.chain(super()._binding_chain)

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
    def bioeval(self) -> Program:
        """The application, with its services."""
        return cast("Program", self.app)

    @property
    def title_bar(self) -> TitleBar:
        """The first line."""
        return self.query_one(TitleBar)

    def copies(self) -> Sequence[Copied]:
        """Return what can be copied from here, the selected item first."""
        return ()

    def caption(self) -> str:
        """Return the caption of a picture of this screen; empty if its title is enough."""
        return ""

    def compose(self) -> ComposeResult:
        """Lay out title, body and footer."""
        yield TitleBar(self.NAME)
        yield from self.compose_body()
        yield KeysFooter()

    def compose_body(self) -> Iterable[Widget]:
        """Yield the widgets between title and footer."""
        return ()

    @property
    def wide(self) -> bool:
        """Whether there is room for things side by side."""
        return self.app.size.width >= 120

    def key(self, action: str) -> str:
        """Return the current key of an action of the screen or of the application."""
        owned = self.key_owners.binding_of(action)
        return key_name(owned.key) if owned else key_for(self, action) or key_for(self.app, action)

    @property
    def in_view(self) -> bool:
        """Whether the screen is visible: on top, or behind a dialog."""
        return self.is_active or (self.is_current and self.app.screen.is_modal)

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
        if self.in_view:
            self.refresh_items()

    def refresh_items(self) -> None:
        """Load in the background after the next paint, unless that is already in progress."""
        if not self._loading:
            self._loading = True
            self.after_paint(lambda: self.run_worker(self._load_items(), group="items"))

    def after_paint(self, work: Callable[[], object]) -> None:
        """Call `work` after the next paint: it imports modules in a thread, which would delay the paint."""
        # By way of the application, because it paints nothing before it is composed.
        self.app.call_later(self.call_after_refresh, work)

    async def _load_items(self) -> None:
        try:
            await self.load_items()
        finally:
            self._loading = False
