"""The conversations of a run, side by side or in tabs, the active one, the reading keys, and the
line that finds text in all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget

from bioeval_tui.base.text import plural
from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.report import rows
from bioeval_tui.report.brief import Brief, make_brief
from bioeval_tui.report.messages import passage_pattern
from bioeval_tui.tui.live import heads_view, spans
from bioeval_tui.tui.live.feed import MANY_CONVERSATIONS
from bioeval_tui.tui.live.heads_view import Head
from bioeval_tui.tui.live.spans import Waterfall
from bioeval_tui.tui.live.transcript import Transcript
from bioeval_tui.tui.shared.base import REST_S
from bioeval_tui.tui.shared.cells import Cell, asked_lines, paint, spread, who_and_what
from bioeval_tui.tui.shared.line_widgets import AskLine, TabLine
from bioeval_tui.tui.shared.wrapped_lines import Labelled

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.state import ConversationKey, ConversationState, MessageState
    from bioeval_tui.tui.live.feed import ConversationChange, Watched
    from bioeval_tui.tui.shared.program import Program


WHOLE = frozenset({"conversation_ended", "seed_applied", "setup_applied"})
"""Kinds of events that concern the transcript but no single message."""


class LiveTranscript(Transcript):
    """A transcript without its own keys `e` and `f`, because the screen handles them for both
    transcripts.
    """

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the actions that the screen handles for both transcripts."""
        return action not in ("toggle_events", "follow")


class ConversationFrame(Vertical):
    """A frame around a transcript. The upper edge has the condition, its state and its score."""

    DEFAULT_CSS = """
    ConversationFrame {
        width: 1fr;
        border: round $line;
        border-title-color: $foreground;
        border-title-background: $background;
        &.-active { border: round $primary; }
        & > Transcript { height: 1fr; }
        & > .frame--brief { height: 1fr; padding: 0 1; display: none; }
        &.-waiting > Transcript { height: 0; }
        &.-waiting > .frame--brief { display: block; }
    }
    """

    def __init__(self, condition: Condition) -> None:
        super().__init__(id=f"frame-{condition}")
        self.condition = condition
        self.transcript = LiveTranscript()
        self.brief = Labelled()
        """What is tested, shown until the conversation starts."""
        self._conversation: ConversationState | None = None
        self._head: Head | None = None

    def compose(self) -> ComposeResult:
        """Lay out the transcript, and the brief in its place."""
        yield self.transcript
        with VerticalScroll(classes="frame--brief", can_focus=False):
            yield self.brief

    def on_click(self) -> None:
        """The frame belongs to its conversation."""
        self.transcript.focus()

    def show_head(self, head: Head, active: bool) -> None:
        """Show the frame's upper edge; `active` marks the conversation that keys act on."""
        self._head = head
        self.set_class(active, "-active")
        title = framed_head(head, active, self.outer_size.width - 6)
        if title != self._border_title:
            # Assigned to `border_title`, each second would repaint the frame with its transcript.
            self._border_title = title
            edge = Region(0, 0, self.outer_size.width, 1)
            self.refresh(edge.translate(-self.content_offset))

    def on_resize(self) -> None:
        """Fit the upper edge to the new width."""
        if self._head is not None:
            self.show_head(self._head, self.has_class("-active"))

    @property
    def is_empty(self) -> bool:
        """Whether it shows no conversation: the brief stands in its place."""
        return self._conversation is None

    def show_brief(self, brief: Brief) -> None:
        """Show what the agent is asked for, as long as there is no conversation; the screen says
        the rest where it can.
        """
        lines = asked_lines(brief, self.condition)
        if self.screen.has_class("-short"):
            lines = [*who_and_what(brief), [], *lines]
        self.brief.show(lines)
        self.add_class("-waiting")

    def show_conversation(
        self, conversation: ConversationState | None, change: ConversationChange | None
    ) -> None:
        """Show a conversation, or what changed in the one that is shown."""
        if conversation is not self._conversation:
            self._conversation = conversation
            self.remove_class("-waiting")
            self.transcript.show(conversation)
        elif change is not None:
            if change.kinds & WHOLE:
                self.transcript.update(None)
                return
            messages = set(change.messages)
            if conversation is not None and "assertion_checked" in change.kinds:
                answers = (one for one in reversed(conversation.messages) if one.role != "user")
                messages.update(one.message for one in islice(answers, 1))
            if messages:
                self.transcript.update(messages, can_wait=change.kinds == {"spans_received"})


def framed_head(head: Head, active: bool, width: int) -> Content:
    """Return the upper edge of a frame of this width: condition, what it means, state and score, as
    far as they fit.

    What the condition means goes first, then what the state has after its first part, such as
    `· agent answers`, and after its turn, such as `of at most 10`.
    """
    name = Cell(head.title, "strong" if active else "plain")
    meaning, nothing = Cell(f" · {head.means}", "quiet"), Cell("")
    whole = head.state.text
    shorter = (whole, whole.partition(" · ")[0], whole.partition(" of ")[0])
    states = [head.state._replace(text=text) for text in shorter]
    for after_name, state in ((meaning, states[0]), *((nothing, state) for state in states)):
        start, end = paint(name, after_name, "  ", state, " "), paint(" ", head.score)
        room = width - start.cell_length - end.cell_length
        if room >= 0:
            return Content.assemble(start, ("─" * room, "$line"), end)
    return spread(paint(name), paint(" ", head.score), width)


class Conversations(Vertical):
    """Both conditions of a trial. Posts `Switched` when another conversation becomes active."""

    KEYS: ClassVar[str] = "live/conversations"
    DEFAULT_CSS = """
    Conversations {
        height: 1fr;
        display: none;
        & > #tabs { display: none; }
        /* The frames cover it: Textual would draw each of its lines below them. */
        & > #frames { height: 1fr; visibility: hidden; }
        & ConversationFrame { visibility: visible; }
    }
    """

    class Switched(Message):
        """A different conversation has become active."""

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched
        self.frames: dict[Condition, ConversationFrame] = {}
        self.user_moved = False
        """Whether the user has chosen a condition; until then, the one that started last is shown.
        """
        self.linked = True
        """Whether scrolling one conversation scrolls the other."""
        self._focusing: set[Widget] = set()
        """The transcripts that get the focus without the user's choice."""
        self._waterfall: Waterfall | None = None

    def compose(self) -> ComposeResult:
        """Tabs where there is no room for both, then the conversations."""
        yield TabLine(id="tabs")
        yield Horizontal(id="frames")

    @property
    def has_frames(self) -> bool:
        """Whether each of the job's conditions has a frame."""
        return tuple(self.frames) == self._conditions

    @property
    def _conditions(self) -> tuple[Condition, ...]:
        state = self.watched.state
        if state is not None:
            return state.all_conditions
        return PUBLISHED_NAMES

    async def mount_frames(self) -> None:
        """Add the conversations, in place of those of a job with other conditions."""
        room = self.query_one("#frames")
        while not self.has_frames:
            self.frames = {}  # those that are not mounted yet have no screen to ask
            await room.remove_children()
            frames = {condition: ConversationFrame(condition) for condition in self._conditions}
            await room.mount_all(frames.values())
            self.frames = frames
        self.apply_preferences()
        self.show_changes({})

    def apply_preferences(self) -> None:
        """Apply the saved display settings."""
        kept = self._program.services.preferences
        self.linked = kept.get("live.linked") is not False
        for frame in self.frames.values():
            follows = kept.get("live.follow") is not False
            if not follows:
                frame.transcript.stay()
            frame.transcript.may_follow = follows
            frame.transcript.set_choices(
                dense=kept.get("live.dense") is True,
                show_events=kept.get("live.events") is not False,
            )

    @property
    def _program(self) -> Program:
        return cast("Program", self.app)

    @property
    def transcript(self) -> Transcript | None:
        """The active conversation's transcript; None until it exists."""
        frame = self.frames.get(self.watched.condition)
        if frame:
            return frame.transcript
        return None

    @property
    def message(self) -> MessageState | None:
        """The selected message."""
        transcript, frame = self.transcript, self.watched.conversation
        if frame and transcript and (number := transcript.chosen_message) is not None:
            return frame.message(number)
        return None

    # What is shown

    def clear(self) -> None:
        """Show nothing, and follow the next conversation that starts."""
        self.watched.condition, self.watched.trial, self.user_moved = PUBLISHED_NAMES[0], 1, False
        for frame in self.frames.values():
            frame.show_conversation(None, None)

    def show_started(self, changed: Mapping[ConversationKey, ConversationChange]) -> None:
        """Show the conversation that starts, unless the user has chosen one."""
        state = self.watched.state
        if state is not None and self.watched.condition not in state.conditions:
            self.show(state.conditions[0], self.watched.trial)
        for key, change in changed.items():
            if "conversation_started" in change.kinds and not self.user_moved:
                self.show(key.condition, max(self.watched.trial, key.trial))

    def show_changes(self, changed: Mapping[ConversationKey, ConversationChange]) -> None:
        """Show the changes in the conversations of the trial."""
        state, now = self.watched.state, self.watched.link.now
        if state is None:
            return
        for condition, frame in self.frames.items():
            conversation = state.conversation(condition, self.watched.trial)
            if conversation is None:
                continue
            change = changed.get(conversation.key)
            frame.show_conversation(conversation, change)
            if now is not None and change is not None and not change.only_text:
                frame.transcript.tick(now)

    def show_new_spans(self) -> None:
        """Show spans that arrive while the waterfall is open."""
        if self._waterfall is not None and self._waterfall.is_attached:
            self._waterfall.show_new()

    def tick(self) -> None:
        """Update clocks and the timer of a pending answer."""
        self.show_heads()
        now = self.watched.link.now
        for frame in self.frames.values():
            if now is not None:
                frame.transcript.tick(now)

    def show_heads(self) -> None:
        """Refresh the lines above the conversations."""
        state, trial = self.watched.state, self.watched.trial
        if state is None:
            return
        for frame in self.frames.values():
            active = frame.condition == self.watched.condition
            frame.show_head(
                heads_view.head(state, frame.condition, trial, self.watched.link.now), active
            )
            # One that is not mounted yet is shown once it is.
            if state.started is not None and frame.is_empty and frame.is_attached:
                frame.show_brief(make_brief(state, state.started, trial))
        parting = rows.parting(state, trial) if len(state.conditions) > 1 else None
        for frame in self.frames.values():
            frame.transcript.mark_parting(parting)
        tabs = [
            (
                condition,
                paint(
                    f"{state.condition_title(condition)} ",
                    heads_view.short_state(state, condition, trial),
                ),
            )
            for condition in state.conditions
        ]
        self.query_one("#tabs", TabLine).set_tabs(tabs, self.watched.condition)

    def show(self, condition: Condition, trial: int) -> None:
        """Show a conversation without marking it as the user's choice."""
        if condition != self.watched.condition and self._has_focus:
            self.call_after_refresh(self.focus_conversation)
        self.watched.condition = condition
        if trial != self.watched.trial:
            self.watched.trial = trial
            for name, frame in self.frames.items():
                state = self.watched.state
                frame.show_conversation(state.conversation(name, trial) if state else None, None)

    def choose(self, condition: Condition, trial: int) -> None:
        """Show a conversation and keep it in view when others start."""
        self.user_moved = True
        self.show(condition, trial)
        self.show_heads()
        self.post_message(self.Switched())
        self.call_after_refresh(self.focus_conversation)

    def jump(self, condition: Condition, message: int, quote: str | None = None) -> None:
        """Show a message in its conversation, and the same turn in the other one."""
        self.choose(condition, self.watched.trial)
        for name, frame in self.frames.items():
            frame.transcript.show_message(message, quote if name == condition else None)

    def focus_conversation(self) -> None:
        """Focus the active conversation."""
        if self.transcript is not None and self.screen.focused is not self.transcript:
            self._focusing.add(self.transcript)
            self.transcript.focus()

    @property
    def _has_focus(self) -> bool:
        """Whether one of the conversations has the focus."""
        return any(frame.transcript is self.screen.focused for frame in self.frames.values())

    def present(self, presenting: bool) -> None:
        """Add or remove space around the text."""
        shown = (
            not presenting and self._program.services.preferences.get("live.events") is not False
        )
        for frame in self.frames.values():
            frame.transcript.set_choices(show_events=shown, roomy=presenting)

    @on(events.DescendantFocus)
    def _focused(self, event: events.DescendantFocus) -> None:
        """Make the conversation that the user focused the active one.

        Focus that this widget moved is not a choice.
        """
        if event.widget in self._focusing:
            self._focusing.remove(event.widget)
            return
        here = next(
            (name for name, frame in self.frames.items() if frame.transcript is event.widget), None
        )
        if here is not None and here != self.watched.condition:
            self.choose(here, self.watched.trial)

    @on(TabLine.Picked)
    def _tab_picked(self, event: TabLine.Picked) -> None:
        event.stop()
        self.choose(event.name, self.watched.trial)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide actions that do not apply now."""
        state = self.watched.state
        if state is None or self.watched.waits_for_presentation(action):
            return False
        transcripts = [frame.transcript for frame in self.frames.values()]
        match action:
            case "switch_condition":
                return state.only_condition is None and self.watched.has_begun
            case "other_trial":
                return bool(state.started and state.started.trials > 1)
            case "follow" | "stay":
                followed = all(transcript.following for transcript in transcripts)
                return bool(transcripts) and followed == (action == "stay")
            case "events":
                return self.watched.conversation is not None and bool(
                    self.watched.conversation.messages
                )
            case "waterfall":
                return bool(spans.turns_with_spans(self.watched.conversation))
            case "link" | "unlink":
                both = sum(bool(transcript.chosen_message) for transcript in transcripts) > 1
                return self.app.size.width >= 120 and both and self.linked == (action == "unlink")
        return bool(self.frames)

    def action_switch_condition(self) -> None:
        """Go to the other condition."""
        state, active = self.watched.state, self.watched.condition
        both = state.conditions if state else (active,)
        self.choose(heads_view.other_condition(both, active), self.watched.trial)

    def action_other_trial(self, by: int) -> None:
        """Switch to another trial of the run."""
        state, trial = self.watched.state, self.watched.trial
        if state is not None:
            trials = sorted({key.trial for key in state.conversations}) or [1]
            at = trials.index(trial) if trial in trials else 0
            self.choose(self.watched.condition, trials[max(0, min(len(trials) - 1, at + by))])

    def action_follow(self) -> None:
        """Follow the newest message in both conversations, and in those of the next run."""
        self._keep_following(True)

    def action_stay(self) -> None:
        """Stop following until it is switched on again."""
        self._keep_following(False)

    def _keep_following(self, follows: bool) -> None:
        self._program.services.preferences.keep("live.follow", follows)
        for frame in self.frames.values():
            frame.transcript.may_follow = follows
            if follows:
                frame.transcript.follow()
            else:
                frame.transcript.stay()
        self.refresh_bindings()

    def action_events(self) -> None:
        """Fold or unfold generation events in both conversations."""
        shown = any(frame.transcript.shows_events for frame in self.frames.values())
        self._program.services.preferences.keep("live.events", not shown)
        for frame in self.frames.values():
            frame.transcript.set_choices(show_events=not shown)

    def action_waterfall(self) -> None:
        """Open the waterfall of the selected turn, or of the newest turn with spans."""
        state, frame = self.watched.state, self.watched.conversation
        turns = spans.turns_with_spans(frame)
        if state is not None and turns:
            turn = turns[-1]
            if self.message is not None and self.message.turn in turns:
                turn = self.message.turn
            self._waterfall = Waterfall(state, self.watched.trial, self.watched.condition, turn)
            self.app.push_screen(self._waterfall)

    def action_density(self) -> None:
        """Show or hide the empty lines between turns."""
        dense = self._program.services.preferences.get("live.dense") is not True
        self._program.services.preferences.keep("live.dense", dense)
        for frame in self.frames.values():
            frame.transcript.set_choices(dense=dense)

    # Turn by turn

    def action_link(self) -> None:
        """Scroll both conversations together from now on."""
        self._link(True)
        transcript = self.screen.focused
        if not isinstance(transcript, Transcript):
            transcript = self.transcript
        if transcript is not None:
            self._align(transcript)

    def action_unlink(self) -> None:
        """Scroll each conversation by itself."""
        self._link(False)

    def _link(self, linked: bool) -> None:
        self.linked = linked
        self._program.services.preferences.keep("live.linked", linked)
        self.refresh_bindings()

    @on(Transcript.Scrolled)
    def _scrolled(self, event: Transcript.Scrolled) -> None:
        if self.linked and self.app.size.width >= 120:
            self._align(event.transcript)

    def _align(self, transcript: Transcript) -> None:
        """Scroll the other conversation to the top turn of this one; at the end, to its end."""
        state, trial = self.watched.state, self.watched.trial
        here = next(
            (name for name, frame in self.frames.items() if frame.transcript is transcript), None
        )
        if state is None or here is None:
            return
        frame = state.conversation(here, trial)
        number = transcript.top_message
        message = frame.message(number) if frame is not None and number is not None else None
        for name, other in self.frames.items():
            if name == here:
                continue
            beside = state.conversation(name, trial)
            if transcript.following:
                other.transcript.follow()
            elif message is None:
                other.transcript.scroll_home()
            elif beside is not None:
                same = next((m for m in beside.messages if m.turn >= message.turn), None)
                same = next(
                    (
                        m
                        for m in beside.messages
                        if (m.turn, m.role) == (message.turn, message.role)
                    ),
                    same,
                )
                if same is not None:
                    other.transcript.put_on_top(same.message)
                else:
                    other.transcript.follow()


class FindLine(AskLine):
    """Marks every match; enter goes from one to the next."""

    KEYS: ClassVar[str] = "live/find"

    def __init__(self, conversations: Conversations) -> None:
        super().__init__(
            "find", "text in all conversations", id="find", enter="next", escape="close"
        )
        self._conversations = conversations
        self._counted: tuple[str, dict[int, int]] = ("", {})
        """The text that was last looked for in many conversations, and how often each trial has it.
        """

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Finding needs conversations."""
        watched = self._conversations.watched
        if action != "find":
            return True
        return bool(
            watched.conversation and watched.conversation.messages
        ) and not watched.waits_for_presentation(action)

    def action_find(self) -> None:
        """Open the line, and close what covers it."""
        while self.app.screen is not self.screen:
            self.app.pop_screen()
        self.open()

    def _mark(self, text: str) -> dict[Condition, int]:
        """Mark the matches in the visible conversations; return the number in each."""
        return {
            name: frame.transcript.find(text) for name, frame in self._conversations.frames.items()
        }

    def _counts(self, text: str) -> dict[int, int]:
        """Return the number of matches in each trial of the run; of many conversations, none before
        a thread has counted them.
        """
        if not self._has_many:
            return self._count_matches(text)
        counted, counts = self._counted
        return counts if counted == text else {}

    @property
    def _has_many(self) -> bool:
        """Whether a key cannot wait for all conversations to be looked through."""
        state = self._conversations.watched.state
        return (
            state is not None
            and state.ended is not None
            and len(state.conversations) >= MANY_CONVERSATIONS
        )

    @work(group="count", exclusive=True)
    async def _count_in_thread(self, text: str) -> None:
        await asyncio.sleep(REST_S)  # another letter may follow
        in_thread = self._conversations._program.services.in_thread
        self._counted = text, await in_thread(lambda: self._count_matches(text))
        if self.is_open:
            self._say_found(text)

    def _count_matches(self, text: str) -> dict[int, int]:
        state, pattern = self._conversations.watched.state, passage_pattern(text)
        counts: dict[int, int] = {}
        if state is None or pattern is None:
            return counts
        for key, frame in sorted(state.conversations.items()):
            count = sum(len(pattern.findall(message.text)) for message in frame.messages)
            if count:
                counts[key.trial] = counts.get(key.trial, 0) + count
        return counts

    @on(AskLine.Typed)
    def _search(self, event: AskLine.Typed) -> None:
        if not isinstance(event, AskLine.Entered):
            self._mark(event.text)
            self._say_found(event.text)
            if self._has_many and event.text:
                self._count_in_thread(event.text)

    def _say_found(self, text: str) -> None:
        """Say how many matches there are in the conversation, in the other one and in the run."""
        watched, frames = self._conversations.watched, self._conversations.frames
        counts = {name: frame.transcript.matches[1] for name, frame in frames.items()}
        there = sum(counts.values()) - counts.get(watched.condition, 0)
        said = [f"{counts.get(watched.condition, 0):,} found"]
        if there:
            said.append(f"{there:,} in the other conversation")
        rest = {
            trial: count for trial, count in self._counts(text).items() if trial != watched.trial
        }
        if rest:
            said.append(f"{sum(rest.values()):,} in {plural(len(rest), 'other trial')}")
        if not text:
            said = []
        self.remark(", ".join(said))

    @on(AskLine.Entered)
    def _next(self, event: AskLine.Entered) -> None:
        """Go to the next match: in this conversation, then in the other, then in the next trial
        that has any.
        """
        frames, watched = self._conversations.frames, self._conversations.watched
        if not event.text or watched.condition not in frames:
            return
        if self._is_through(watched.condition):
            others = [
                name for name in frames if name != watched.condition and not self._is_through(name)
            ]
            if others:
                self._conversations.show(others[0], watched.trial)
            elif trials := sorted(self._counts(event.text).keys() - {watched.trial}):
                self._conversations.show(
                    watched.condition,
                    next((trial for trial in trials if trial > watched.trial), trials[0]),
                )
                counts = self._mark(event.text)
                first = next((name for name, count in counts.items() if count), watched.condition)
                self._conversations.show(first, watched.trial)
            else:
                self._mark(event.text)  # from the beginning again, in both conversations
                first = next(
                    (name for name, frame in frames.items() if frame.transcript.matches[1]),
                    watched.condition,
                )
                self._conversations.show(first, watched.trial)
            self._conversations.show_heads()
        at, count = frames[watched.condition].transcript.find_next(1)
        state = watched.state
        if state is not None and state.started is not None:
            said = f"{at} of {count}, {state.condition_title(watched.condition)}"
            if state.started.trials > 1:
                said += f", trial {watched.trial}"
            whole = sum(self._counts(event.text).values())
            if whole > count:
                said += f"; {whole:,} in all conversations"
            self.remark(said)

    def _is_through(self, condition: Condition) -> bool:
        """Whether the last match of a conversation has been reached."""
        at, count = self._conversations.frames[condition].transcript.matches
        return at >= count

    @on(AskLine.Closed)
    def _forget(self) -> None:
        for frame in self._conversations.frames.values():
            frame.transcript.find("")
