"""The live screen's keys for reading: both conversations turn by turn, density, and copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on
from textual.binding import Binding, BindingType

from bioeval_tui.tui.live.live_replay import LiveReplay
from bioeval_tui.tui.live.panel_deck_widget import PanelDeck
from bioeval_tui.tui.live.transcript import Transcript

if TYPE_CHECKING:
    from bioeval_tui.tui.live.live import LiveScreen

READING_KEYS: list[BindingType] = [
    Binding("l", "link", "link", tooltip="Scrolling one conversation shows the same turn in the other"),
    Binding("l", "unlink", "unlink", tooltip="Each conversation scrolls by itself"),
    Binding(
        "y", "copy", "copy", tooltip="Copy what is selected, the row of a panel, or the message looked at"
    ),
    Binding("d", "density", "density", show=False, tooltip="With or without empty lines between turns"),
]
READING_ACTIONS = frozenset({"link", "unlink", "copy", "density"})


class LiveReading(LiveReplay):
    """Actions of a reader."""

    linked = True

    @property
    def _read(self) -> LiveScreen:
        return cast("LiveScreen", self)

    def reading_applies(self, action: str) -> bool:
        """Return whether a key for reading makes sense now."""
        live = self._read
        if action in ("link", "unlink"):
            both = sum(bool(talk.transcript.chosen_message) for talk in live.talks.values()) > 1
            return live.wide and both and self.linked == (action == "unlink")
        return bool(live.talks)

    def restore_reading(self) -> None:
        """Read as at the last time: linked, dense, following or not, with events or without."""
        kept = self.bioeval.services.preferences
        self.linked = kept.get("live.linked") is not False
        for talk in self._read.talks.values():
            if kept.get("live.follow") is False:
                talk.transcript.stay()
            talk.transcript.set_choices(
                dense=kept.get("live.dense") is True, show_events=kept.get("live.events") is not False
            )

    # Turn by turn

    def action_link(self) -> None:
        """Scroll both conversations together from now on."""
        self._link(True)
        focused = self.focused
        active = self._read.talks[self._read.active].transcript
        self._align(focused if isinstance(focused, Transcript) else active)

    def action_unlink(self) -> None:
        """Scroll each conversation by itself."""
        self._link(False)

    def _link(self, linked: bool) -> None:
        self.linked = linked
        self.bioeval.services.keep("live.linked", linked)
        self._read.refresh_keys()

    @on(Transcript.Scrolled)
    def _scrolled(self, event: Transcript.Scrolled) -> None:
        if self.linked and self._read.wide:
            self._align(event.transcript)

    def _align(self, transcript: Transcript) -> None:
        """Show in the other conversation the turn that is on top in this one; at its end, the other's end."""
        live = self._read
        if live.state is None:
            return
        here = next((name for name, talk in live.talks.items() if talk.transcript is transcript), None)
        talk = live.state.conversation(here, live.trial) if here else None
        number = transcript.top_message
        message = talk.message(number) if talk is not None and number is not None else None
        for name, other in live.talks.items():
            if name == here:
                continue
            beside = live.state.conversation(name, live.trial)
            if transcript.following:
                other.transcript.follow()
            elif message is None:
                other.transcript.scroll_home()
            elif beside is not None:
                same = next((m for m in beside.messages if m.turn >= message.turn), None)
                same = next(
                    (m for m in beside.messages if (m.turn, m.role) == (message.turn, message.role)), same
                )
                if same is not None:
                    other.transcript.put_on_top(same.message)
                else:
                    other.transcript.follow()

    def action_density(self) -> None:
        """Leave out the empty lines between turns, or show them again."""
        dense = self.bioeval.services.preferences.get("live.dense") is not True
        self.bioeval.services.keep("live.dense", dense)
        for talk in self._read.talks.values():
            talk.transcript.set_choices(dense=dense)

    # Taking away

    def action_copy(self) -> None:
        """Copy what is selected; else the row of the panel that has the focus; else the message looked at."""
        live = self._read
        selected = self.get_selected_text()
        if selected:
            self.bioeval.copy_text(selected, "what is selected")
            return
        row = self.query_one(PanelDeck).focused_row()
        if row:
            self.bioeval.copy_text(row, "this row")
            return
        talk = live.talks.get(live.active)
        number = talk.transcript.chosen_message if talk else None
        said = live.state.conversation(live.active, live.trial) if live.state else None
        message = said.message(number) if said and number is not None else None
        if message is None:
            self.tell("There is no message to copy yet.")
        else:
            self.bioeval.copy_text(message.text, f"message {message.message}, {message.speaker}")
