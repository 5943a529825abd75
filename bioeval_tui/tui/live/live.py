"""The live screen: the conditions of a run as they are written, side by side or in tabs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.text import plural
from bioeval_tui.record.participants import SPEAKERS
from bioeval_tui.report.brief import make_brief
from bioeval_tui.report.findings import StillUnfinished
from bioeval_tui.report.sentences import sure
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live import heads_view, operator, waiting_view
from bioeval_tui.tui.live.conversations_widget import Conversations, FindLine
from bioeval_tui.tui.live.feed import (
    MANY_CONVERSATIONS,
    Changes,
    ReadingBegins,
    RunLink,
    StateChanged,
    Watched,
)
from bioeval_tui.tui.live.operator import Operator
from bioeval_tui.tui.live.panels import PanelDeck
from bioeval_tui.tui.live.replay_bar import ReplayControls
from bioeval_tui.tui.live.stage_widget import STAGE_CSS, Stage
from bioeval_tui.tui.shared.base import BaseScreen
from bioeval_tui.tui.shared.cells import Cell, brief_head, who_and_what
from bioeval_tui.tui.shared.line_widgets import AskLine
from bioeval_tui.tui.shared.output import Copied
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.interface import Opener
    from bioeval_tui.record.state import RunState
    from bioeval_tui.tui.data.large_runs import LargeRun
    from bioeval_tui.tui.live.score_card import CardFigures, ScoreCard, Selection
    from bioeval_tui.tui.live.score_card_view import CardEvidence
    from bioeval_tui.tui.runs.batch_view import Glance
    from bioeval_tui.tui.runs.grid import GridScreen

TICK_S = 1.0
"""How often clocks are drawn, in seconds: each time costs a repaint, which may go over a slow line.
"""


class LiveScreen(BaseScreen):
    """One run: conversations above, a line or panels of tasks, assertions and response times below.

    Each widget owns its keys, wherever the focus is: the conversations, the operator's line, the
    replay's bar, the stage of a presentation, the panels, the line to find a text. All read
    `watched`, and report their actions as messages.
    """

    NAME = "Live"
    AUTO_FOCUS = ""
    ABOUT = (
        "Both conversations of a run, live: one without the facts, whose simulated user knows none,"
        " and one with the facts, whose user shares them when asked."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("live")
    DEFAULT_CSS = (
        """
    LiveScreen {
        layers: default above;
        /* Over the last line above the keys: were it among them, it would take a line of the
        conversations, which would be laid out and drawn anew for a key that only opens it. */
        & #find { layer: above; dock: bottom; margin-bottom: 1; }
        & #brief { height: auto; max-height: 4; padding: 0 2; display: none; }
        &.-tall #brief { max-height: 5; }
        &.-running #brief { display: block; }
        &.-presenting.-wide #brief, &.-short #brief { display: none; }
        & #caption {
            height: auto; min-height: 3; max-height: 4; padding: 1 2 0 2; display: none;
            text-align: center; text-style: bold; background: $panel;
        }
        &.-captions.-running #caption { display: block; }
        &.-captions.-running #caption.-over { display: none; }
        &.-captions.-presenting.-wide #caption { display: none; }
        &.-narrow #caption { min-height: 2; max-height: 3; padding: 0 1; }
        & PanelDeck { display: none; }
        &.-running Conversations, &.-running PanelDeck { display: block; }
        &.-single {
            & ConversationFrame { display: none; }
            & ConversationFrame.-active { display: block; }
        }
        &.-narrow {
            & ConversationFrame { display: none; border: none; }
            & ConversationFrame.-active { display: block; border: none; }
            & PanelDeck.-open { height: 7; }
            & PanelDeck.-open > TabLine { display: block; }
            & PanelDeck Panel { display: none; border: none; }
            & PanelDeck Panel.-shown { display: block; }
        }
        &.-tall PanelDeck.-open { height: 14; }
        &.-tall ReplayControls { height: auto; }
        &.-narrow.-running #tabs { display: block; }
        &.-short PanelDeck { display: none; }
    }
    """
        + STAGE_CSS
    )

    def __init__(self) -> None:
        super().__init__()
        self.opener: Opener | None = self.bioeval.opener
        self.batch_id: str | None = None
        """The run's batch, if known."""
        self.from_grid = False
        """Whether the conversation was opened from the grid; `esc` then goes back there."""
        self.watched = Watched(self._make_link(self.opener))
        self.conversations = Conversations(self.watched)
        self.stage = Stage(self.watched)
        self.panels = PanelDeck(self.watched)
        self.replay = ReplayControls(self.watched)
        self.find = FindLine(self.conversations)
        self.operator = Operator(self.watched)
        self._card_shown = False
        self._left_card: Selection | None = None
        """The row of the score card from which the evidence was opened; `esc` returns there."""
        self._figures: CardFigures | None = None
        """What the card of many conversations needs, once it is worked out."""
        self._banner = self._caption = ""
        self._undrawn = Changes()
        self._ticked: datetime | None = None
        """The run's time when its clocks were drawn last."""
        for owner in (
            self.operator,
            self.replay,
            self.conversations,
            self.panels,
            self.stage,
            self.find,
        ):
            self.key_owners.add(owner, owner.KEYS)

    def compose_body(self) -> Iterable[Widget]:
        """Conversations, panels, and the lines for typing."""
        yield Static(id="banner", markup=False)
        yield Labelled(id="brief")
        yield Static(id="notice", markup=False)
        yield self.conversations
        yield self.stage
        yield self.panels
        yield Static(id="caption", markup=False)
        yield self.replay
        yield self.find
        yield self.operator

    # The run

    @property
    def link(self) -> RunLink:
        """The link to the run."""
        return self.watched.link

    @property
    def state(self) -> RunState | None:
        """The run so far; None until the engine has answered."""
        return self.link.state

    def _make_link(self, opener: Opener | None) -> RunLink:
        return RunLink(opener, self.post_message, self.bioeval.clock)

    async def on_unmount(self) -> None:
        """Detach from the run, which continues without this screen."""
        await self.link.close()

    def on_mount(self) -> None:
        """Show that the run is loading, then open it."""
        self.set_class(self.bioeval.captions, "-captions")
        self._show_all()
        self.set_interval(TICK_S, self._tick)
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        if self.opener is None:
            return
        if not self.conversations.frames:
            self._mount_frames()
        self.run_worker(self._follow(self.link), group="feed")

    async def open(self, opener: Opener | None) -> None:
        """Detach from the current run and show another."""
        self.opener = opener
        self.from_grid, self.batch_id = False, None
        self._left_card = self._figures = None
        self.operator.forget()
        self.conversations.clear()
        await self._replace_link(self._make_link(opener))

    async def _go_back(self) -> None:
        """Show the replay again, from its start to the requested place."""
        old = self.link
        if old.view is not None:
            for conversation in self.conversations.frames.values():
                conversation.show_conversation(None, None)
            await self._replace_link(old.reopened(), keep=True)

    async def _replace_link(self, link: RunLink, *, keep: bool = False) -> None:
        old, self.watched.link, self._caption = self.link, link, ""
        self.workers.cancel_group(self, "feed")
        self._card_shown = False
        self._show_all()
        self._start()
        if not keep:
            await old.close()

    @work(group="frames")
    async def _mount_frames(self) -> None:
        await self.conversations.mount_frames()
        self._show_all()
        self.conversations.focus_conversation()
        self._show_end()
        self.bioeval.spare_collector()

    async def _follow(self, link: RunLink) -> None:
        await link.follow()
        if self.is_attached and link is self.link:
            self._show_all()

    @on(StateChanged)
    def _state_changed(self, event: StateChanged) -> None:
        if self.state is None:
            return
        changes = event.changes
        self._undrawn.add(changes)
        self.conversations.show_started(changes.conversations)
        if self.conversations.frames and not self.conversations.has_frames:
            self._mount_frames()
        if self.is_active:
            self._draw()
        self.conversations.show_new_spans()
        if "run_started" in changes.run:
            self.bioeval.spare_collector()  # the models of events were loaded for it
            self._show_batch()
        self._show_end()

    def on_screen_resume(self) -> None:
        """Draw what happened behind a box or another screen, once this screen is back."""
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        """Draw what has changed. Behind a box nothing is drawn: the box's own keys come first."""
        changes, self._undrawn = self._undrawn, Changes()
        running = self.has_class("-running")
        self.conversations.show_changes(changes.conversations)
        if not changes.only_text or not running:
            self._show_all()

    def _tick(self) -> None:
        """Update clocks and the bar of a pending answer; while the run or its replay is paused,
        they stand still.
        """
        state, now = self.state, self.link.now
        if not self.is_active or self.link.status in ("failed", "interrupted"):
            return
        if state is not None and state.conversations and (state.paused or now == self._ticked):
            return
        self._ticked = now
        self._show_title()
        self.replay.show()
        if state is None or not state.conversations:
            self._show_notice()
        elif state.ended is None:
            self.conversations.tick()
            if any(conversation.phase == "agent" for conversation in state.conversations.values()):
                self.panels.show_latency()
                self.stage.show()
        self.refresh_keys()

    # Messages from widgets

    @on(Conversations.Switched)
    def _switched(self) -> None:
        self.operator.put_away()
        self._show_all()

    @on(AskLine.Closed)
    @on(Operator.Done)
    def _line_closed(self) -> None:
        self.conversations.focus_conversation()

    @on(Stage.Changed)
    def _presentation_changed(self) -> None:
        self.set_class(self.watched.presenting, "-presenting")
        self.conversations.present(self.watched.presenting)
        self._show_all()
        self.call_after_refresh(self.conversations.focus_conversation)

    @on(Stage.Concluded)
    def _presentation_concluded(self, event: Stage.Concluded) -> None:
        condition, trial, message = event.passage
        self.conversations.choose(condition, trial)
        self.conversations.jump(condition, message)

    @on(ReplayControls.Moved)
    async def _replay_moved(self, event: ReplayControls.Moved) -> None:
        while self.app.screen is not self and self in self.app.screen_stack:
            self.app.pop_screen()  # an open dialog would show outdated values
        if event.mark is not None and event.mark.condition is not None:
            self.conversations.show(event.mark.condition, event.mark.trial)
        if event.back:
            await self._go_back()
        self._show_all()
        self.refresh_bindings()

    @on(PanelDeck.MessageChosen)
    def _message_chosen(self, event: PanelDeck.MessageChosen) -> None:
        self.conversations.jump(self.watched.condition, event.number)

    @on(PanelDeck.AssertionChosen)
    def _assertion_chosen(self, event: PanelDeck.AssertionChosen) -> None:
        if self.state is not None:
            # Here and below: a box is loaded when it is opened, after the first paint.
            from bioeval_tui.tui.live.details import AssertionDetail

            shown = AssertionDetail(
                self.state, self.watched.trial, event.index, self.watched.condition
            )
            self.app.push_screen(shown)

    @on(PanelDeck.TaskChosen)
    def _task_chosen(self) -> None:
        self.action_score_card()

    def on_resize(self) -> None:
        """Redraw the panels for the new width."""
        self.call_after_refresh(self._show_all)

    # Drawing

    def _show_all(self) -> None:
        """Refresh everything except the transcripts."""
        state = self.state
        begun = self.watched.has_begun and bool(self.conversations.frames)
        self.set_class(begun, "-running")
        self.set_class(state is not None and state.only_condition is not None, "-single")
        self._show_title()
        self._show_notice()
        self.replay.show()
        self.stage.show()
        self._show_caption()
        if state is not None:
            self._show_brief(state)
            self.conversations.tick()
            self.panels.show()
            self.operator.show()
        self.refresh_keys()

    def _show_brief(self, state: RunState) -> None:
        """Show what is tested: it stays while conversations fill the screen."""
        if state.started is not None:
            brief = make_brief(state, state.started, self.watched.trial)
            if not self.has_class("-tall"):
                self.query_one("#brief", Labelled).show(who_and_what(brief))
                return
            lines = brief_head(brief)
            if state.ended is None:
                is_replayed = self.watched.playback is not None and not self.bioeval.captions
                how = sure(
                    StillUnfinished(0, 0, is_replayed),
                    rehearsal=brief.rehearsal,
                    judged_by_rules=brief.judged_by_rules,
                )
                lines.append([Cell("SURE   ", "quiet"), Cell(how, "warn")])
            self.query_one("#brief", Labelled).show(lines)

    def show_pause(self) -> None:
        """Show at once that the demo is paused, or continues: no event and no tick says so."""
        self._show_title()
        self._show_caption()

    def _show_caption(self) -> None:
        """Show the caption if captions are on, and whether the demo is paused."""
        state, play = self.state, self.watched.playback
        if not self.bioeval.captions or state is None:
            return
        # A turn that brings nothing new leaves the caption as it is.
        words = self._caption = self.bioeval.caption(state, self.watched.trial) or self._caption
        line = Content(words)
        self.query_one("#caption").set_class(state.ended is not None, "-over")
        if play is not None and play.paused and state.ended is None:
            line = Content.assemble(("‖ paused, space continues   ", "$text-warning"), words)
        self.query_one("#caption", Static).update(line)

    def _show_title(self) -> None:
        state, play = self.state, self.watched.playback
        if state is None or state.started is None:
            self.title_bar.say((self.NAME,), (), waiting_view.title(self.link.status))
            return
        speed: float | None = 1.0
        waits = False
        if play is not None:
            speed, waits = play.speed, play.paused
        cell = heads_view.title_state(
            state,
            self.link.status,
            self.link.now,
            speed=speed,
            waits=waits,
            demo=self.bioeval.captions,
        )
        which = heads_view.which_trial(state, self.watched.trial)
        path = tuple(filter(None, (self.NAME, state.started.job_name, which)))
        self.title_bar.say(path, heads_view.title_notes(state), cell, f"run {state.started.run_id}")

    def _show_notice(self) -> None:
        state, link = self.state, self.link
        if not self.has_class("-running"):
            ended = state is not None and state.ended is not None
            jobs = again = ""
            if not self.bioeval.READ_ONLY:
                jobs, again = self.key("go('jobs')"), self.key("again")
            keys = waiting_view.Keys(jobs, self.key("go('runs')"), again, self.key("leave_app"))
            lines = waiting_view.waiting(
                link.status, link.failure, link.waited_s, keys, ended=ended
            )
            if link.reading is not None and not ended and not link.failure:
                read, all_of_it = link.reading.conversations_read, link.reading.conversations
                lines = waiting_view.reading(read, all_of_it)
            if self.bioeval.captions and link.status in ("waiting", "replay"):
                lines = self.bioeval.introduction()
            self.show_notice(lines)
        sentence = heads_view.banner(state, link.status, link.failure, link.now) if state else ""
        banner = self.query_one("#banner", Static)
        banner.display = bool(sentence) and not self.watched.presenting
        if sentence != self._banner:  # its height may change: the whole screen is laid out anew
            self._banner = sentence
            banner.update(Content(sentence))

    # Keys of the whole run

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide actions that do not apply now."""
        state, watched = self.state, self.watched
        match action:
            case "score_card" | "again" | "grid" if watched.waits_for_presentation(action):
                return False
            case "again" if state is None:
                return self.link.status == "failed"
            case "score_card" | "again":
                return state is not None and operator.applies(
                    action, state, self.link.status, watched.condition, watched.trial
                )
            case "no_spans":
                waterfall = self.conversations.check_action("waterfall", ())
                return bool(self.watched.has_begun and not waterfall and not watched.presenting)
            case "manner":
                return state is not None and watched.has_begun and not watched.presenting
            case "grid":
                several = (
                    state is not None and state.started is not None and state.started.trials > 1
                )
                return several or (state is not None and self.known_batch is not None)
            case "to_card":
                return self._left_card is not None and not watched.presenting
            case "to_grid" | "leave" if self._left_card is not None and not watched.presenting:
                return False
            case "to_grid" | "leave":
                return (self.panels.has_focus_within or not self.from_grid) == (action == "leave")
        return True

    async def action_leave(self) -> None:
        """Return from the presentation to the full screen, from a panel to the conversation, or to
        the screen before.
        """
        if self.watched.presenting:
            self.stage.action_stop_presenting()
        elif not self.panels.has_focus_within and not self.replay.has_focus:
            await self.bioeval.action_go_back()
            return
        elif self.panels.has_focus_within:
            self.panels.close()
        self.conversations.focus_conversation()

    def copies(self) -> Sequence[Copied]:
        """The selected message and its conversation; nothing while a panel has the focus, as the
        selected item is then the panel's row.
        """
        if self.panels.has_focus_within:
            return ()
        message, conversation = self.conversations.message, self.watched.conversation
        if message is None or conversation is None:
            return ()
        return (
            Copied(f"message {message.message}, {SPEAKERS[message.role]}", lambda: message.text),
            Copied(
                f"this conversation, {plural(len(conversation.messages), 'message')}",
                lambda: "\n\n".join(
                    f"{SPEAKERS[one.role]}: {one.text}" for one in conversation.messages
                ),
            ),
        )

    def caption(self) -> str:
        """The run's conclusion; before it, the run and what it shows at the moment."""
        state = self.state
        if state is None or state.started is None:
            return ""
        said = self.bioeval.caption(state, self.watched.trial)
        if state.ended:
            return said
        return f"{state.started.job_name}, run {state.started.run_id}. {said}".strip()

    def action_again(self) -> None:
        """Start the same run, or replay, once more."""
        self.bioeval.run_again()

    def action_no_spans(self) -> None:
        """Say why there is no waterfall."""
        self.tell(
            "This conversation has no spans. With --otlp, a run receives those of your agent."
        )

    def action_manner(self) -> None:
        """Show how the user speaks."""
        if self.state is not None:
            from bioeval_tui.report.result import result_of
            from bioeval_tui.tui.live.details import MannerDialog

            self.app.push_screen(MannerDialog(result_of(self.state)))

    # The grid

    @property
    def known_batch(self) -> str | None:
        """The shown run's batch; None if it has none."""
        state = self.state
        if state and state.started and state.started.batch_id:
            return state.started.batch_id
        return self.batch_id

    def _show_batch(self) -> None:
        """Show the grid at once for a batch started from here."""
        batch_id = self.link.view.batch_id if self.link.view is not None else None
        if batch_id is not None and batch_id != self.batch_id:
            self.batch_id = batch_id
            if self.is_active:
                self.action_to_grid()

    def action_grid(self) -> None:
        """Show every conversation."""
        if self.known_batch is not None:
            self.app.push_screen(self.bioeval.batch_grid(self.known_batch))
            return
        from bioeval_tui.tui.runs.grid import GridScreen

        link, opened = self.link, partial(self.bioeval.open_conversation, batch_id=None)
        self.app.push_screen(GridScreen(self._glances, opened, now=lambda: link.now))

    def action_to_grid(self) -> None:
        """Go back to the grid that the conversation was opened from; from there, back to the screen
        before this one.
        """
        self.action_grid()
        cast("GridScreen", self.app.screen).leads_up = True

    async def _glances(self) -> AsyncIterator[Sequence[Glance]]:
        from bioeval_tui.tui.runs.batch_view import run_glances

        async for state, gone in self.link.changes():
            yield run_glances(state, gone=gone)

    # The end

    @on(ReadingBegins)
    def _reading_begins(self, event: ReadingBegins) -> None:
        """Show what is known of a large run, and its card once it is read."""
        if self.link.whole is event.run and self.is_active:
            self._card_shown = True
            self._show_card_to_come(event.run)
        self._show_notice()

    def _show_card_to_come(self, run: LargeRun | RunState) -> None:
        from bioeval_tui.tui.live.score_card import CardToCome

        self.app.push_screen(CardToCome(run), self._figures_known)

    def _figures_known(self, figures: CardFigures | None) -> None:
        if figures is not None:
            self._figures = figures
            self.action_score_card()

    def _show_end(self) -> None:
        """Show the score card once the conversations are drawn."""
        ended = self.state is not None and self.state.ended is not None
        if self.conversations.frames and ended and not self._card_shown:
            self._card_shown = True
            self.call_after_refresh(self.run_has_ended)

    def run_has_ended(self) -> None:
        """Show the score card, unless the user is busy with something else."""
        if self.bioeval.leaving or getattr(self.app.screen, "batch_id", None) is not None:
            # the viewer is leaving, or sees the end of each run in the grid: do not open the card
            return
        typing = any(line.is_open for line in self.query(AskLine))
        has_card = self.check_action("score_card", ()) is True
        if self.is_active and not typing and has_card:
            self.action_score_card()
            return
        # Shown only where the card's key works.
        keys = []
        if has_card:
            keys.append(self.key("score_card"))
        if self.app.current_mode != "live":
            keys.insert(0, self.key("go('live')"))
        elif not self.is_active or typing:
            keys.insert(0, "esc")
        said = "The run has ended"
        if keys:
            said += f": {', then '.join(keys)} opens the score card"
        self.tell(f"{said}.")

    def action_score_card(self) -> None:
        """Open the score card over the conversations."""
        if self.state is None or not self.check_action("score_card", ()):
            return
        card = self._make_card(self.state)
        if card is None:
            return
        self._left_card = None
        card.key_owners.add(self.find, self.find.KEYS)
        if self.watched.playback is not None:
            card.key_owners.add(self.replay, self.replay.KEYS)
        self.app.push_screen(card, partial(self._card_closed, card))

    def _make_card(self, state: RunState) -> ScoreCard | None:
        """Return the card of the run; None if there is none yet: of many conversations, the figures
        are worked out in a thread.
        """
        from bioeval_tui.tui.live import score_card

        if state.ended is None or len(state.conversations) < MANY_CONVERSATIONS:
            is_replayed = self.watched.playback is not None and not self.bioeval.captions
            return score_card.make_card(
                state, self.watched.trial, self._left_card, is_replayed=is_replayed
            )
        if self._figures is not None and self._figures.result.state is state:
            figures = self._figures
            return score_card.RunCard(figures.result, self._left_card, figures.rows)
        self._show_card_to_come(self.link.whole or state)
        return None

    action_to_card = action_score_card
    """The card opens at the row from which this was opened."""

    def _card_closed(self, card: ScoreCard, evidence: CardEvidence | None) -> None:
        if evidence is not None:
            self._left_card = card.looked_at
            self.refresh_keys()
            if evidence.panel is not None:
                self.panels.bring_up(evidence.panel)
            self.conversations.jump(evidence.condition, evidence.message, evidence.quote)
