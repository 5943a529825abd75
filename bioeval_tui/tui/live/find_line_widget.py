"""The line for finding text in all conversations of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on

from bioeval_tui.report.messages import pattern_of
from bioeval_tui.text import plural
from bioeval_tui.tui.shared.line_widgets import AskLine

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.tui.live.conversations_widget import Conversations


class FindLine(AskLine):
    """Marks every match; enter goes from one to the next."""

    KEYS: ClassVar[str] = "live/find"

    def __init__(self, conversations: Conversations) -> None:
        super().__init__("find", "text in all conversations", id="find", enter="next", escape="close")
        self._conversations = conversations

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
        return {name: frame.transcript.find(text) for name, frame in self._conversations.frames.items()}

    def _in_trials(self, text: str) -> dict[int, int]:
        """Return the number of matches in each trial of the run."""
        state, pattern = self._conversations.watched.state, pattern_of(text)
        counts: dict[int, int] = {}
        for key, frame in sorted(state.conversations.items()) if state and pattern else ():
            count = sum(len(pattern.findall(message.text)) for message in frame.messages) if pattern else 0
            if count:
                counts[key.trial] = counts.get(key.trial, 0) + count
        return counts

    @on(AskLine.Typed)
    def _look_for(self, event: AskLine.Typed) -> None:
        if not isinstance(event, AskLine.Entered):
            watched = self._conversations.watched
            counts = self._mark(event.text)
            there = sum(counts.values()) - counts.get(watched.condition, 0)
            said = [f"{counts.get(watched.condition, 0)} found"]
            said += [f"{there} in the other conversation"] if there else []
            rest = {
                trial: count for trial, count in self._in_trials(event.text).items() if trial != watched.trial
            }
            said += [f"{sum(rest.values())} in {plural(len(rest), 'other trial')}"] if rest else []
            self.remark(", ".join(said) if event.text else "")

    @on(AskLine.Entered)
    def _next(self, event: AskLine.Entered) -> None:
        """Go to the next match: in this conversation, then in the other, then in the next trial that has any."""
        frames, watched = self._conversations.frames, self._conversations.watched
        if not event.text or watched.condition not in frames:
            return
        if self._is_through(watched.condition):
            others = [name for name in frames if name != watched.condition and not self._is_through(name)]
            trials = (
                []
                if others
                else [trial for trial in sorted(self._in_trials(event.text)) if trial != watched.trial]
            )
            if others:
                self._conversations.show(others[0], watched.trial)
            elif trials:
                self._conversations.show(
                    watched.condition, next((trial for trial in trials if trial > watched.trial), trials[0])
                )
                counts = self._mark(event.text)
                first = next((name for name, count in counts.items() if count), watched.condition)
                self._conversations.show(first, watched.trial)
            else:
                self._mark(event.text)  # from the beginning again, in both conversations
                first = next(
                    (name for name, frame in frames.items() if frame.transcript.matches[1]), watched.condition
                )
                self._conversations.show(first, watched.trial)
            self._conversations.show_heads()
        at, count = frames[watched.condition].transcript.find_next(1)
        state = watched.state
        if state is not None and state.started is not None:
            trial = f", trial {watched.trial}" if state.started.trials > 1 else ""
            whole = sum(self._in_trials(event.text).values())
            more = f"; {whole} in all conversations" if whole > count else ""
            self.remark(f"{at} of {count} in {state.condition_title(watched.condition)}{trial}{more}")

    def _is_through(self, condition: Condition) -> bool:
        """Whether the last match of a conversation has been reached."""
        at, count = self._conversations.frames[condition].transcript.matches
        return at >= count

    @on(AskLine.Closed)
    def _forget(self) -> None:
        for frame in self._conversations.frames.values():
            frame.transcript.find("")
