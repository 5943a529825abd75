"""The live screen's way to the grid: every conversation of the run, or of the whole batch, and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, cast

from textual.binding import Binding, BindingType

from bioeval_tui.tui.live.panel_deck_widget import PanelDeck
from bioeval_tui.tui.shared.base import BaseScreen

if TYPE_CHECKING:
    from bioeval_tui.record.events import ConditionName
    from bioeval_tui.tui.batch.batch_view import Glance
    from bioeval_tui.tui.live.live import LiveScreen

LOOK_S = 0.25
TO_GRID = Binding("escape", "to_grid", "grid", tooltip="Back to every conversation at a glance")
GRID_KEYS: list[BindingType] = [
    Binding("a", "grid", "all", tooltip="Every conversation at a glance, what needs attention first"),
    Binding("escape", "leave", "back", show=False, tooltip="From a panel back to the conversation"),
]
GRID_ACTIONS = frozenset({"grid", "to_grid", "leave"})


class LiveGrid(BaseScreen):
    """Actions about many conversations."""

    batch_id: str | None = None
    """The batch that the run belongs to, where it is known."""
    from_grid = False
    """Whether the conversation was opened from the grid: then `esc` goes back there."""

    @property
    def _one(self) -> LiveScreen:
        return cast("LiveScreen", self)

    def grid_applies(self, action: str) -> bool:
        """Return whether there is more than one trial to see, or a panel to leave."""
        in_panel = self.focused is not None and self.focused in self.query_one(PanelDeck).walk_children()
        if action in ("leave", "to_grid"):
            return (in_panel or not self.from_grid) == (action == "leave")
        state = self._one.state
        several = state is not None and state.started is not None and state.started.trials > 1
        return several or self.known_batch is not None

    @property
    def known_batch(self) -> str | None:
        """The batch of the run that is shown; None when it was run alone."""
        state = self._one.state
        return (state.started.batch_id if state and state.started else None) or self.batch_id

    def show_batch(self) -> None:
        """Show the grid at once when a batch was started from here: its first run alone says little."""
        view = self._one.link.view
        batch_id = view.batch_id if view is not None else None
        if batch_id is not None and batch_id != self.batch_id:
            self.batch_id = batch_id
            if self.is_active:
                self.action_grid()

    def action_grid(self) -> None:
        """Show every conversation."""
        from bioeval_tui.tui.batch.grid import GridScreen

        batch_id = self.known_batch
        if batch_id is not None:
            self.app.push_screen(self.bioeval.grid_of(batch_id))
        else:
            now = self._one.link
            self.app.push_screen(GridScreen(self._glances, self._open, now=lambda: now.now))

    def action_to_grid(self) -> None:
        """Go back to the grid that the conversation was opened from."""
        self.action_grid()

    async def _glances(self) -> AsyncIterator[Sequence[Glance]]:
        """Yield the conversations of the run that is shown, until it has ended."""
        from bioeval_tui.tui.batch.batch_view import glances_of

        seen = -1
        while (state := self._one.state) is not None:
            gone = self._one.link.status == "interrupted"
            if state.last_seq != seen:
                seen = state.last_seq
                yield glances_of(state, gone=gone)
            if state.ended is not None or gone:
                yield glances_of(state, gone=gone)
                return
            await asyncio.sleep(LOOK_S)

    def _open(self, glance: Glance) -> None:
        self.bioeval.open_conversation(glance, None)

    def look_at(self, condition: ConditionName, trial: int) -> None:
        """Show one conversation, and keep it in view whatever begins meanwhile."""
        live = self._one
        live.show_trial(trial)
        live.switch_to(condition)
