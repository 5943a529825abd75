"""The line for a text to find in the conversations of the trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on

from bioeval_tui.tui.shared.ask_line_widget import AskLine

if TYPE_CHECKING:
    from bioeval_tui.tui.live.conversations_widget import Conversations


class FindLine(AskLine):
    """Marks every match; enter goes from one to the next."""

    KEYS: ClassVar[str] = "live/find"

    def __init__(self, conversations: Conversations) -> None:
        super().__init__("find", "text in both conversations", id="find", enter="next", escape="close")
        self._conversations = conversations

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There must be something to look through."""
        watched = self._conversations.watched
        if action != "find":
            return True
        return bool(watched.talk and watched.talk.messages) and not watched.waits_for_presentation(action)

    def action_find(self) -> None:
        """Open the line."""
        self.open()

    @on(AskLine.Typed)
    def _look_for(self, event: AskLine.Typed) -> None:
        if not isinstance(event, AskLine.Entered):
            here = self._conversations.watched.condition
            counts = {
                name: talk.transcript.find(event.text) for name, talk in self._conversations.talks.items()
            }
            there = sum(counts.values()) - counts.get(here, 0)
            beside = f", {there} in the other conversation" if there else ""
            self.remark(f"{counts.get(here, 0)} found{beside}" if event.text else "")

    @on(AskLine.Entered)
    def _next(self, event: AskLine.Entered) -> None:
        """Go to the next match; after the last one of a conversation, to the first of the other."""
        talks, watched = self._conversations.talks, self._conversations.watched
        if not event.text or watched.condition not in talks:
            return
        at, count = talks[watched.condition].transcript.matches
        others = [
            name for name, talk in talks.items() if name != watched.condition and talk.transcript.matches[1]
        ]
        if others and at >= count:
            self._conversations.show(others[0], watched.trial)
            self._conversations.show_heads()
        at, count = talks[watched.condition].transcript.find_next(1)
        self.remark(f"{at} of {count}, facts {watched.condition}")

    @on(AskLine.Closed)
    def _forget(self) -> None:
        for talk in self._conversations.talks.values():
            talk.transcript.find("")
