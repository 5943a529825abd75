"""The live screen: the conditions of a run as they are written, side by side or in tabs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.live import heads_view, notices_view
from bioeval_tui.tui.live.feed import StateChanged
from bioeval_tui.tui.live.live_keys import LIVE_KEYS, LiveKeys
from bioeval_tui.tui.live.live_panels_widget import Look
from bioeval_tui.tui.live.panel_deck_widget import PanelDeck
from bioeval_tui.tui.live.run_link import Opener, RunLink
from bioeval_tui.tui.live.scrubber_widget import Scrubber
from bioeval_tui.tui.live.stage_widget import STAGE_CSS, Stage
from bioeval_tui.tui.shared.ask_line_widget import AskLine
from bioeval_tui.tui.shared.base import BaseScreen
from bioeval_tui.tui.shared.tab_line_widget import TabLine
from bioeval_tui.tui.shared.tones import paint

if TYPE_CHECKING:
    from bioeval_tui.record.events import ConditionName
    from bioeval_tui.record.state import ConversationKey, RunState
    from bioeval_tui.tui.live.feed import TalkChange
    from bioeval_tui.tui.live.talk_widget import Talk

TICK_S = 0.1


class LiveScreen(LiveKeys, BaseScreen):
    """One run: conversations above, tasks, latencies and assertions below."""

    NAME = "Live"
    AUTO_FOCUS = ""
    ABOUT = (
        "Both conversations of a run as they happen. Withheld: the evaluator knows no facts. "
        "Supplied: it may give them when asked."
    )
    BINDINGS = LIVE_KEYS
    DEFAULT_CSS = (
        """
    LiveScreen {
        & #notice { height: 1fr; content-align: center middle; text-align: center; padding: 0 2; }
        & #banner { height: auto; max-height: 3; padding: 0 2; color: $text-warning; background: $warning-muted; display: none; }
        & #talks { height: 1fr; display: none; }
        & #talk-tabs, & PanelDeck { display: none; }
        & #talk-supplied { border-left: solid $line; }
        &.-running #talks, &.-running PanelDeck { display: block; }
        &.-running #notice { display: none; }
        &.-single {
            & #talk-supplied { border-left: none; }
            & Talk { display: none; }
            & Talk.-active { display: block; }
        }
        &.-narrow {
            & #talk-supplied { border-left: none; }
            & TalkHead { display: none; }
            & Talk { display: none; }
            & Talk.-active { display: block; }
            & PanelDeck { height: 7; }
            & PanelDeck > TabLine { display: block; }
            & PanelDeck > Horizontal { border-top: none; }
            & PanelDeck Panel { display: none; border-right: none; }
            & PanelDeck Panel.-shown { display: block; }
            & .panel--name { display: none; }
        }
        &.-tall PanelDeck { height: 13; }
        &.-narrow.-running #talk-tabs { display: block; }
        &.-short PanelDeck { display: none; }
    }
    """
        + STAGE_CSS
    )

    def __init__(self, opener: Opener | None, *, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self.opener = opener
        self.link = RunLink(opener, self.post_message, clock)
        self.active: ConditionName = "withheld"
        self.trial = 1
        self.steered = False
        """Whether somebody has chosen a condition; until then the screen shows the one that goes on."""
        self.talks: dict[ConditionName, Talk] = {}
        self.taken: set[ConditionName] = set()
        """The conditions that this viewer has taken over."""
        self.typing = False
        """Whether the line for the user's words was opened for whoever plays the user now."""
        self._card_shown = False
        self._banner = ""
        self._keys: tuple[bool, ...] = ()

    def compose_body(self) -> Iterable[Widget]:
        """Conversations, panels, and the lines for typing."""
        yield Static(id="banner", markup=False)
        yield TabLine(id="talk-tabs")
        yield Static(id="notice", markup=False)
        yield Horizontal(id="talks")
        yield Stage()
        yield PanelDeck()
        yield Scrubber()
        yield AskLine("find", "text in this conversation", id="find", enter="next", escape="close")
        yield AskLine(
            "you, as the user", "the user's next message", id="say", enter="send", escape="leave the line"
        )

    async def on_unmount(self) -> None:
        """Let go of the run; it goes on without this screen."""
        await self.link.close()

    def on_mount(self) -> None:
        """Show that something is coming, then open the run."""
        self._show_all()
        self.set_interval(TICK_S, self._tick)
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        if self.opener is None:
            return
        if not self.talks:
            self.run_worker(self._mount_talks(), group="talks")
        self.run_worker(self._follow(self.link), group="feed", exit_on_error=False)

    async def open(self, opener: Opener | None) -> None:
        """Let go of the run that is shown, and show another."""
        old = self.link
        self.workers.cancel_group(self, "feed")
        self.opener = opener
        self.link = RunLink(opener, self.post_message, self._clock)
        self.active, self.trial, self.steered, self._card_shown = "withheld", 1, False, False
        self.from_grid, self.batch_id, self.taken = False, None, set()
        for talk in self.talks.values():
            talk.show_talk(None, None)
        self._show_all()
        self._start()
        await old.close()

    async def _mount_talks(self) -> None:
        """Add the conversations. What they need is loaded beside the first paint, not before it."""
        module = await asyncio.to_thread(import_module, "bioeval_tui.tui.live.talk_widget")
        self.talks = {condition: module.Talk(condition) for condition in heads_view.CONDITIONS}
        await self.query_one("#talks").mount_all(self.talks.values())
        self.restore_reading()
        self._show_conversations({})
        self._show_all()
        self.focus_talk()
        self._show_end()
        self.bioeval.spare_collector()

    async def _follow(self, link: RunLink) -> None:
        try:
            await link.follow()
        finally:
            if self.is_attached and link is self.link:
                self._show_all()

    @property
    def state(self) -> RunState | None:
        """The run so far; None until the engine has answered."""
        return self.link.state

    @property
    def look(self) -> Look:
        """What the panels draw: both conditions where there is room, else the active one."""
        both = heads_view.conditions(self.state) if self.state else heads_view.CONDITIONS
        return Look(self.trial, both if self.wide else (self.active,), self.link.now)

    # What comes in

    @on(StateChanged)
    def _state_changed(self, event: StateChanged) -> None:
        state = self.state
        if state is None:
            return
        changes = event.changes
        if state.only_condition:
            self.active = state.only_condition
        for key, change in changes.talks.items():
            if "conversation_started" in change.kinds and not self.steered:
                self.show_talks_of(max(self.trial, key.trial), key.condition)
        running = self.has_class("-running")
        self._show_conversations(changes.talks)
        if not changes.only_text or not running:
            self._show_all()
        if "run_started" in changes.run:
            self.show_batch()
        self._show_end()

    def show_talks_of(self, trial: int, condition: ConditionName) -> None:
        """Look at this conversation; whether somebody chose it is left as it is."""
        self.active = condition
        if trial != self.trial:
            self.trial = trial
            for name, talk in self.talks.items():
                talk.show_talk(self.state.conversation(name, trial) if self.state else None, None)

    def _show_end(self) -> None:
        """Show the score card, once, when there is something to lay it over."""
        if self.talks and self.state is not None and self.state.ended is not None and not self._card_shown:
            self._card_shown = True
            self.call_after_refresh(self.run_has_ended)

    def _show_conversations(self, changed: Mapping[ConversationKey, TalkChange]) -> None:
        for key, conversation in (self.state.conversations if self.state else {}).items():
            if key.trial == self.trial and key.condition in self.talks:
                talk, change = self.talks[key.condition], changed.get(key)
                talk.show_talk(conversation, change)
                if self.link.now is not None and change is not None and not change.only_text:
                    talk.transcript.tick(self.link.now)

    def _tick(self) -> None:
        """Move what moves by itself: clocks, and the bar of the answer that is awaited."""
        state = self.state
        if not self.in_view or self.link.status in ("failed", "interrupted"):
            return
        self._show_title()
        self.show_scrubber()
        if state is None or not state.conversations:
            self._show_notice()
        elif state.ended is None:
            self._show_heads(state)
            now = self.link.now
            for talk in self.talks.values():
                if now is not None:
                    talk.transcript.tick(now)
            if any(conversation.phase == "agent" for conversation in state.conversations.values()):
                self.query_one(PanelDeck).show_latency(state, self.look)
                self.show_stage()
        self.refresh_keys()

    # Drawing

    def _show_all(self) -> None:
        """Bring everything but the transcripts into step with the state."""
        state = self.state
        begun = state is not None and bool(state.conversations) and bool(self.talks)
        self.set_class(begun, "-running")
        self.set_class(state is not None and state.only_condition is not None, "-single")
        self._show_title()
        self._show_notice()
        self.show_scrubber()
        self.show_stage()
        if state is not None:
            self._show_heads(state)
            self.query_one(PanelDeck).show(state, self.look)
            self.show_say_line()
        self.refresh_keys()

    def _show_title(self) -> None:
        state = self.state
        if state is None or state.started is None:
            self.title_bar.say((self.NAME,), (), notices_view.title(self.link.status))
            return
        play = self.playback
        cell = heads_view.title_state(
            state,
            self.link.status,
            self.link.now,
            speed=play.speed if play else 1.0,
            waits=play.paused if play else False,
        )
        path = (self.NAME, state.started.job_name)
        self.title_bar.say(path, heads_view.title_notes(state), cell, f"run {state.started.run_id}")

    def _show_notice(self) -> None:
        state, link = self.state, self.link
        if not self.has_class("-running"):
            ended = state is not None and state.ended is not None
            keys = notices_view.Keys(
                self.key("go('jobs')"), self.key("go('runs')"), self.key("again"), self.key("leave_app")
            )
            lines = notices_view.waiting(link.status, link.failure, link.waited_s, keys, ended=ended)
            self.query_one("#notice", Static).update(Content("\n").join([paint(line) for line in lines]))
        sentence = notices_view.banner(state, link.status, link.failure) if state else ""
        banner = self.query_one("#banner", Static)
        banner.display = bool(sentence) and not self.presenting
        if sentence != self._banner:  # its height may change: the whole screen is laid out anew
            self._banner = sentence
            banner.update(Content(sentence))

    def _show_heads(self, state: RunState) -> None:
        for talk in self.talks.values():
            active = talk.condition == self.active
            talk.show_head(heads_view.head(state, talk.condition, self.trial, self.link.now), active)
        tabs = [
            (condition, paint(f"{condition} ", heads_view.short_state(state, condition, self.trial)))
            for condition in heads_view.conditions(state)
        ]
        self.query_one("#talk-tabs", TabLine).set_tabs(tabs, self.active)

    def on_resize(self) -> None:
        """Redraw the panels for the new width."""
        self.call_after_refresh(self._show_all)
