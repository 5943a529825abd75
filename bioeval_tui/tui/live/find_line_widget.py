"""The line for a text to find in the conversation that is looked at."""

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
        super().__init__("find", "text in this conversation", id="find", enter="next", escape="close")
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
        transcript = self._conversations.transcript
        if transcript is not None and not isinstance(event, AskLine.Entered):
            count = transcript.find(event.text)
            self.remark(f"{count} found" if event.text else "")

    @on(AskLine.Entered)
    def _next(self, event: AskLine.Entered) -> None:
        transcript = self._conversations.transcript
        if transcript is not None and event.text:
            at, count = transcript.find_next(1)
            self.remark(f"{at} of {count}")

    @on(AskLine.Closed)
    def _forget(self) -> None:
        if self._conversations.transcript is not None:
            self._conversations.transcript.find("")
