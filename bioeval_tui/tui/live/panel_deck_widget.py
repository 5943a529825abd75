"""The lower panels of the live screen: side by side, or one at a time behind tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message

from bioeval_tui.record.names import CONDITIONS
from bioeval_tui.tui.live import heads_view
from bioeval_tui.tui.live.panels import AssertionsPanel, LatencyPanel, Look, TasksPanel
from bioeval_tui.tui.shared.line_widgets import TabLine
from bioeval_tui.tui.shared.rows_widget import RowList

if TYPE_CHECKING:
    from bioeval_tui.tui.live.feed import Watched

NAMES = ("tasks", "latency", "assertions")


class PanelDeck(Vertical):
    """Tasks, latency and assertions of the run. `enter` on a row posts what to show of it."""

    KEYS: ClassVar[str] = "live/panels"
    DEFAULT_CSS = """
    PanelDeck {
        height: 12;
        & > TabLine { display: none; }
        & > Horizontal { height: 1fr; }
        & Panel { width: 1fr; border: round $line; border-title-color: $quiet; }
        & Panel:focus-within { border: round $primary; border-title-color: $foreground; }
    }
    """

    class TaskChosen(Message):
        """A task was opened."""

    class AssertionChosen(Message):
        """An assertion was opened."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class MessageChosen(Message):
        """A message was opened."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched
        self.shown = NAMES[0]
        self._tabs = TabLine()
        self._panels: dict[str, TasksPanel | LatencyPanel | AssertionsPanel] = {
            "tasks": TasksPanel("Tasks", id="tasks"),
            "latency": LatencyPanel("Latency", id="latency"),
            "assertions": AssertionsPanel("Assertions", id="assertions"),
        }

    def compose(self) -> ComposeResult:
        """Tabs, and the panels."""
        yield self._tabs
        with Horizontal():
            yield from self._panels.values()

    def on_mount(self) -> None:
        """Mark the first panel."""
        self._mark()

    def on_resize(self) -> None:
        """Draw again once the panels have their size: names are wrapped where there is room."""
        self.call_after_refresh(self.show)

    @property
    def latency(self) -> LatencyPanel:
        """The panel of response times."""
        panel = self._panels["latency"]
        assert isinstance(panel, LatencyPanel)
        return panel

    @property
    def look(self) -> Look:
        """The conditions to draw: both if there is room, otherwise the active one."""
        state, watched = self.watched.state, self.watched
        both = heads_view.conditions(state) if state else CONDITIONS
        wide = self.app.size.width >= 120
        return Look(watched.trial, both if wide else (watched.condition,), watched.link.now)

    def show(self) -> None:
        """Draw every panel."""
        if self.watched.state is not None:
            for panel in self._panels.values():
                panel.show(self.watched.state, self.look)

    def show_latency(self) -> None:
        """Redraw the panel with running times."""
        if self.watched.state is not None:
            self.latency.show(self.watched.state, self.look)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Panels are empty before a conversation has started."""
        if action != "next_panel":
            return True
        return self.watched.has_begun and not self.watched.waits_for_presentation(action)

    def action_next_panel(self) -> None:
        """Focus the next panel; the first time, the visible one."""
        if self.has_focus_within:
            self.shown = NAMES[(NAMES.index(self.shown) + 1) % len(NAMES)]
        self._mark()
        self._panels[self.shown].rows.focus()

    def bring_up(self, name: str) -> None:
        """Show a panel where there is room for one, without the focus."""
        self.shown = name
        self._mark()

    def _mark(self) -> None:
        for name, panel in self._panels.items():
            panel.set_class(name == self.shown, "-shown")
        self._tabs.set_tabs([(name, Content(name.capitalize())) for name in NAMES], self.shown)

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        name = next(name for name, panel in self._panels.items() if panel.rows is event.rows)
        if name == "tasks":
            self.post_message(self.TaskChosen())
        elif name == "assertions":
            self.post_message(self.AssertionChosen(event.index))
        elif self.watched.state is not None:
            number = self.latency.message_at(self.watched.state, self.look, event.index)
            if number is not None:
                self.post_message(self.MessageChosen(number))

    @on(TabLine.Picked)
    def _picked(self, event: TabLine.Picked) -> None:
        event.stop()
        self.bring_up(event.name)
        self._panels[self.shown].rows.focus()

    def on_descendant_focus(self) -> None:
        """Select the focused panel's tab."""
        for name, panel in self._panels.items():
            if panel.has_focus_within and name != self.shown:
                self.bring_up(name)
