"""The live screen's keys: what each does, and when it applies."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.binding import Binding, BindingType

from bioeval_tui.tui.live import control_view, heads_view
from bioeval_tui.tui.live.live_control import CANCEL_KEYS, CONTROL_KEYS, LiveControl
from bioeval_tui.tui.live.live_grid import GRID_ACTIONS, GRID_KEYS, TO_GRID, LiveGrid
from bioeval_tui.tui.live.live_presenting import PRESENT, STOP_PRESENTING, LivePresenting
from bioeval_tui.tui.live.live_reading import READING_ACTIONS, READING_KEYS, LiveReading
from bioeval_tui.tui.live.live_replay import REPLAY_ACTIONS, REPLAY_KEYS
from bioeval_tui.tui.live.panel_deck_widget import PanelDeck
from bioeval_tui.tui.shared.ask_line_widget import AskLine
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tab_line_widget import TabLine

if TYPE_CHECKING:
    from bioeval_tui.record.events import ConditionName
    from bioeval_tui.tui.live.live import LiveScreen
    from bioeval_tui.tui.live.score_card_view import Evidence

LIVE_KEYS: list[BindingType] = [
    TO_GRID,
    STOP_PRESENTING,
    *CONTROL_KEYS,
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
    *CANCEL_KEYS,
    Binding("left_square_bracket", "other_trial(-1)", "trial", key_display="[ ]", tooltip="Another trial"),
    Binding("right_square_bracket", "other_trial(1)", "trial", show=False),
    *GRID_KEYS,
]

CONDITIONAL = control_view.CONTROL | {
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


class LiveKeys(LiveControl, LivePresenting, LiveGrid, LiveReading):
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
        return control_view.applies(action, live.state, live.link.status, live.active, live.trial)

    def refresh_keys(self) -> None:
        """Tell the footer, only when the set of keys that apply has changed."""
        keys = tuple(self.check_action(action, ()) is True for action in sorted(self.CONDITIONAL))
        if keys != self._live._keys:
            self._live._keys = keys
            self.refresh_bindings()

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
        both = heads_view.conditions(live.state) if live.state else heads_view.CONDITIONS
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
            from bioeval_tui.tui.live.assertion_detail import AssertionDetail

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
        from bioeval_tui.tui.live.score_card import ScoreCard

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
