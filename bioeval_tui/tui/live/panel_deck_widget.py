"""The lower panels of the live screen: side by side, or one at a time behind tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content

from bioeval_tui.tui.live.live_panels_widget import AssertionsPanel, LatencyPanel, Look, TasksPanel
from bioeval_tui.tui.live.panel_widget import Panel
from bioeval_tui.tui.shared.tab_line_widget import TabLine

if TYPE_CHECKING:
    from bioeval_tui.record.state import RunState

NAMES = ("tasks", "latency", "assertions")


class PanelDeck(Vertical):
    """Tasks, latency and assertions of the run."""

    DEFAULT_CSS = """
    PanelDeck {
        height: 11;
        & > TabLine { display: none; }
        & > Horizontal { height: 1fr; border-top: solid $line; }
        & Panel { width: 1fr; border-right: solid $line; }
        & #assertions { border-right: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
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

    @property
    def latency(self) -> LatencyPanel:
        """The panel of response times."""
        panel = self._panels["latency"]
        assert isinstance(panel, LatencyPanel)
        return panel

    def show(self, state: RunState, look: Look) -> None:
        """Draw every panel."""
        for panel in self._panels.values():
            panel.show(state, look)

    def show_latency(self, state: RunState, look: Look) -> None:
        """Draw the panel that moves by itself."""
        self.latency.show(state, look)

    def next_panel(self) -> None:
        """Give the focus to the next panel; the first time, to the one that is shown."""
        if self.has_focus_within:
            self.shown = NAMES[(NAMES.index(self.shown) + 1) % len(NAMES)]
        self._mark()
        self._panels[self.shown].rows.focus()

    def focused_row(self) -> str:
        """Return the text of the row under the cursor of the panel that has the focus; empty without one."""
        return next((panel.rows.row_text() for panel in self._panels.values() if panel.has_focus_within), "")

    def panel_of(self, name: str) -> Panel:
        """Return a panel by its name."""
        return self._panels[name]

    def _mark(self) -> None:
        for name, panel in self._panels.items():
            panel.set_class(name == self.shown, "-shown")
        self._tabs.set_tabs([(name, Content(name.capitalize())) for name in NAMES], self.shown)

    @on(TabLine.Picked)
    def _picked(self, event: TabLine.Picked) -> None:
        event.stop()
        self.shown = event.name
        self._mark()
        self._panels[self.shown].rows.focus()

    def on_descendant_focus(self) -> None:
        """Keep the tab in step with the focus."""
        for name, panel in self._panels.items():
            if panel.has_focus_within and name != self.shown:
                self.shown = name
                self._mark()
