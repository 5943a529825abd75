"""The live screen's keys: what each does, and when it applies."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.binding import Binding, BindingType

from bioeval_tui.tui.screens.live_grid import GRID_ACTIONS, GRID_KEYS, TO_GRID, LiveGrid
from bioeval_tui.tui.screens.live_presenting import PRESENT, STOP_PRESENTING, LivePresenting
from bioeval_tui.tui.screens.live_reading import READING_ACTIONS, READING_KEYS, LiveReading
from bioeval_tui.tui.screens.live_replay import REPLAY_ACTIONS, REPLAY_KEYS
from bioeval_tui.tui.services import IntentKind
from bioeval_tui.tui.view import control, heads
from bioeval_tui.tui.widgets.ask_line import AskLine
from bioeval_tui.tui.widgets.panel_deck import PanelDeck
from bioeval_tui.tui.widgets.rows import RowList
from bioeval_tui.tui.widgets.tab_line import TabLine

if TYPE_CHECKING:
    from bioeval_tui.events import ConditionName
    from bioeval_tui.tui.screens.live import LiveScreen
    from bioeval_tui.tui.view.score_card import Evidence

LIVE_KEYS: list[BindingType] = [
    TO_GRID,
    STOP_PRESENTING,
    Binding("space", "pause", "pause", tooltip="Both conversations wait before the next message"),
    Binding("space", "resume", "go on", tooltip="Go on after a pause"),
    Binding("n", "step", "step", tooltip="One message, then wait again"),
    Binding("t", "take_over", "take over", tooltip="You type the user's next message; marked as operator"),
    Binding("t", "say", "type", tooltip="To the line for the user's message"),
    Binding("g", "give_back", "give back", tooltip="The evaluator plays the user again"),
    Binding(
        "f", "follow", "follow", tooltip="Go to the newest message and stay with it, in both conversations"
    ),
    *REPLAY_KEYS,
    Binding("tab", "switch_condition", "switch", tooltip="Act on the other condition"),
    Binding("o", "score_card", "score card", tooltip="Scores, their parts, and the judge's reasons"),
    Binding("m", "medals", "medals", tooltip="The medal table"),
    Binding("r", "again", "run again", tooltip="Start the same once more"),
    Binding("i", "next_panel", "panel", tooltip="Tasks, latency, assertions; enter opens a row"),
    PRESENT,
    Binding("f", "stay", "stay", show=False, tooltip="Stay here, whatever comes in; new conversations, too"),
    Binding("slash", "find", "find", key_display="/", tooltip="Find in this conversation"),
    Binding("e", "events", "events", tooltip="Fold or unfold what the agent did between the lines"),
    *READING_KEYS,
    Binding("c", "cancel", "cancel", tooltip="End this conversation"),
    Binding("C", "cancel_all", "cancel all", tooltip="End the whole run"),
    Binding("left_square_bracket", "other_trial(-1)", "trial", key_display="[ ]", tooltip="Another trial"),
    Binding("right_square_bracket", "other_trial(1)", "trial", show=False),
    *GRID_KEYS,
]

CONDITIONAL = control.CONTROL | {
    "score_card",
    "again",
    "find",
    "events",
    "other_trial",
    "follow",
    "stay",
}
CONDITIONAL |= REPLAY_ACTIONS | READING_ACTIONS | GRID_ACTIONS | {"present", "stop_presenting"}
NEEDS_RUN = frozenset({"switch_condition", "next_panel"})


class LiveKeys(LivePresenting, LiveGrid, LiveReading):
    """Actions of the live screen; `LiveScreen` adds what is seen."""

    CONDITIONAL: ClassVar[frozenset[str]] = CONDITIONAL | NEEDS_RUN

    @property
    def _live(self) -> LiveScreen:
        return cast("LiveScreen", self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide what does not apply now."""
        if (presented := self.presenting_applies(action)) is not None:
            return presented
        if action not in self.CONDITIONAL:
            return True
        live = self._live
        if live.state is None:
            return action == "again" and live.link.status == "failed"
        if action in REPLAY_ACTIONS:
            return self.replay_applies(action)
        if action in READING_ACTIONS:
            return self.reading_applies(action)
        if action in GRID_ACTIONS:
            return self.grid_applies(action)
        if action in NEEDS_RUN:
            other = action != "switch_condition" or live.state.only_condition is None
            return other and bool(live.state.conversations)
        if action == "other_trial" and self.playback is not None:
            return False  # the same keys go from turn to turn
        if action in ("follow", "stay"):
            followed = all(talk.transcript.following for talk in live.talks.values())
            return bool(live.talks) and followed == (action == "stay")
        return control.applies(action, live.state, live.link.status, live.active, live.trial)

    def refresh_keys(self) -> None:
        """Tell the footer, only when the set of keys that apply has changed."""
        keys = tuple(self.check_action(action, ()) is True for action in sorted(self.CONDITIONAL))
        if keys != self._live._keys:
            self._live._keys = keys
            self.refresh_bindings()

    # Control: each is an intent, and an event when it was taken

    def _intend(self, kind: IntentKind, condition: ConditionName | None = None, text: str = "") -> None:
        self.run_worker(self._send(kind, condition, text), group="intents", exit_on_error=False)

    async def _send(self, kind: IntentKind, condition: ConditionName | None, text: str) -> None:
        refused = await self._live.link.send(kind, condition, text)
        if refused:
            self.tell(refused, bad=True)

    def action_pause(self) -> None:
        """Ask both conversations to wait."""
        self._intend("pause")

    def action_resume(self) -> None:
        """Go on."""
        self._intend("resume")

    def action_step(self) -> None:
        """Let one message through."""
        self._intend("step")

    def action_take_over(self) -> None:
        """Play the user in the active condition."""
        self._live.taken.add(self._live.active)
        self._intend("take_over", self._live.active)

    def action_say(self) -> None:
        """Get the line for the user's message back."""
        self.query_one("#say", AskLine).open()

    def action_give_back(self) -> None:
        """Let the evaluator play the user again."""
        self._intend("give_back", self._live.active)

    def action_cancel(self) -> None:
        """End the active conversation."""
        self._intend("cancel", self._live.active)

    def action_cancel_all(self) -> None:
        """End the run."""
        self._intend("cancel")

    def show_say_line(self) -> None:
        """Open the line for the user's words when this viewer begins to play the user; close it at the end.

        Where somebody took over in another terminal, whoever only watches is not made to type.
        """
        live = self._live
        line = self.query_one("#say", AskLine)
        wanted = live.state is not None and heads.operator_has(live.state, live.active)
        wanted = wanted and self.check_action("give_back", ()) is True
        mine = live.active in live.taken or (
            live.state is not None and heads.played_by_hand(live.state, live.active)
        )
        if wanted and mine and not live.typing:
            line.open("")
        elif line.is_open and not wanted:
            line.close()
            self.focus_talk()
        live.typing = wanted

    @on(AskLine.Entered, "#say")
    def _said(self, event: AskLine.Entered) -> None:
        if event.text.strip():
            self._intend("say", self._live.active, event.text.strip())
            event.line.clear()

    # Looking around

    def focus_talk(self) -> None:
        """Give the focus to the active conversation."""
        if talk := self._live.talks.get(self._live.active):
            talk.transcript.focus()

    @on(events.DescendantFocus)
    def _looked_into(self, event: events.DescendantFocus) -> None:
        """A conversation that was clicked is the one that keys act on."""
        here = next(
            (name for name, talk in self._live.talks.items() if talk.transcript is event.widget), None
        )
        if here is not None and here != self._live.active:
            self.switch_to(here)

    def switch_to(self, condition: ConditionName) -> None:
        """Make `condition` the one that keys act on."""
        live = self._live
        live.steered = True
        live.active = condition
        self.query_one("#say", AskLine).close()
        live.typing = False
        live._show_all()
        self.call_after_refresh(self.focus_talk)

    def action_switch_condition(self) -> None:
        """Go to the other condition."""
        live = self._live
        both = heads.conditions(live.state) if live.state else heads.CONDITIONS
        at = both.index(live.active) if live.active in both else -1
        self.switch_to(both[(at + 1) % len(both)])

    @on(TabLine.Picked, "#talk-tabs")
    def _tab_picked(self, event: TabLine.Picked) -> None:
        self.switch_to(cast("ConditionName", event.name))

    def action_other_trial(self, by: int) -> None:
        """Look at another trial of the run."""
        live = self._live
        if live.state is None:
            return
        trials = sorted({key.trial for key in live.state.conversations}) or [1]
        at = trials.index(live.trial) if live.trial in trials else 0
        self.show_trial(trials[max(0, min(len(trials) - 1, at + by))])

    def show_trial(self, trial: int) -> None:
        """Look at the conversations of a trial."""
        live = self._live
        live.trial = trial
        live.steered = True
        for condition, talk in live.talks.items():
            shown = live.state.conversation(condition, trial) if live.state else None
            talk.show_talk(shown, None)
        live._show_all()

    def action_next_panel(self) -> None:
        """Go to the lower panels, one after another."""
        self.query_one(PanelDeck).next_panel()

    def action_leave(self) -> None:
        """Go back from a panel to the conversation, or from the presentation to the whole screen."""
        if self.presenting:
            self.action_stop_presenting()
        self.focus_talk()

    def action_follow(self) -> None:
        """Stay at the newest message in both conversations, and in those of the next run."""
        self._keep_following(True)

    def action_stay(self) -> None:
        """Follow no conversation until following is asked for again."""
        self._keep_following(False)

    def _keep_following(self, follows: bool) -> None:
        self.bioeval.services.keep("live.follow", follows)
        for talk in self._live.talks.values():
            talk.transcript.may_follow = follows
            (talk.transcript.follow if follows else talk.transcript.stay)()
        self.refresh_keys()

    def action_events(self) -> None:
        """Fold or unfold generation events in both conversations."""
        shown = any(talk.transcript.shows_events for talk in self._live.talks.values())
        self.bioeval.services.keep("live.events", not shown)
        for talk in self._live.talks.values():
            talk.transcript.set_choices(show_events=not shown)

    def action_find(self) -> None:
        """Open the line for a text to find."""
        self.query_one("#find", AskLine).open()

    @on(AskLine.Typed, "#find")
    def _find_typed(self, event: AskLine.Typed) -> None:
        count = self._live.talks[self._live.active].transcript.find(event.text)
        event.line.remark(f"{count} found" if event.text else "")

    @on(AskLine.Entered, "#find")
    def _find_next(self, event: AskLine.Entered) -> None:
        if event.text:
            at, count = self._live.talks[self._live.active].transcript.find_next(1)
            event.line.remark(f"{at} of {count}")

    @on(AskLine.Closed)
    def _line_closed(self, event: AskLine.Closed) -> None:
        if event.line.id == "find":
            self._live.talks[self._live.active].transcript.find("")
        self.focus_talk()

    @on(RowList.Chosen, "#latency RowList")
    def _latency_chosen(self, event: RowList.Chosen) -> None:
        live = self._live
        if live.state is not None:
            number = self.query_one(PanelDeck).latency.message_at(live.state, live.look, event.index)
            if number is not None:
                self.jump(live.active, number)

    @on(RowList.Chosen, "#tasks RowList")
    def _task_chosen(self, event: RowList.Chosen) -> None:
        self.action_score_card()

    @on(RowList.Chosen, "#assertions RowList")
    def _assertion_chosen(self, event: RowList.Chosen) -> None:
        live = self._live
        if live.state is not None:
            from bioeval_tui.tui.screens.assertion_detail import AssertionDetail

            self.app.push_screen(AssertionDetail(live.state, live.trial, event.index, live.active))

    def jump(self, condition: ConditionName, message: int, quote: str | None = None) -> None:
        """Show a message in its conversation, and the same turn in the other one."""
        self.switch_to(condition)
        for name, talk in self._live.talks.items():
            talk.transcript.jump_to(message, quote if name == condition else None)

    # The end

    def run_has_ended(self) -> None:
        """Show the score card, unless somebody is in the middle of something else."""
        if getattr(self.app, "leaving", False) or getattr(self.app.screen, "batch_id", None) is not None:
            return  # the viewer leaves, or sees the end of each run in the grid: nothing is opened any more
        typing = any(line.is_open for line in self.query(AskLine))
        if self.is_active and not typing and self.check_action("score_card", ()):
            self.action_score_card()
            return
        # Said where it can be done: not every screen has the card's key.
        keys = [self.key("score_card")] if self.check_action("score_card", ()) else []
        if self.app.current_mode != "live":
            keys.insert(0, self.key("go('live')"))
        elif not self.is_active or typing:
            keys.insert(0, "esc")
        self.tell(
            f"The run has ended: {', then '.join(keys)} opens the score card."
            if keys
            else "The run has ended."
        )

    def action_score_card(self) -> None:
        """Open the score card over the conversations."""
        live = self._live
        if live.state is None or not self.check_action("score_card", ()):
            return
        from bioeval_tui.tui.screens.score_card import ScoreCard

        self.app.push_screen(ScoreCard(live.state, live.trial), self._card_closed)

    def _card_closed(self, evidence: Evidence | None) -> None:
        if evidence is not None:
            self.jump(evidence.condition, evidence.message, evidence.quote)

    def action_again(self) -> None:
        """Start the same run, or replay, once more."""
        self.bioeval.open_run(self._live.opener)

    async def action_medals(self) -> None:
        """Go to the medal table."""
        await self.bioeval.action_go("medals")
