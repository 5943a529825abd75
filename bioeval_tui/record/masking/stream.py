"""Masks streamed messages: the end is delayed, so that a name split over two pieces is found."""

from __future__ import annotations

from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.masking.rules import HIDDEN, Rules, replaced
from bioeval_tui.text import clean

CONTEXT = 1000
"""Number of already emitted characters that are searched again, for patterns with look-behind."""

Key = tuple[str | None, int | None, int | None, int]


class Pieces:
    """Receives a run's events in order and returns the part of each piece that may be shown."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._open: dict[Key, _Growing] = {}
        self._count = -1

    def take(self, event: RunEvent) -> str | None:
        """Return the masked text of a piece; None for every other event."""
        self._count += 1
        match event:
            case events.MessageDelta():
                growing = self._open.setdefault(_key(event, event.message), _Growing())
                growing.number, growing.last = self._count, event
                return growing.add(clean(event.text), self._rules)
            case events.MessageStarted() | events.MessageCompleted():
                self._open.pop(_key(event, event.message), None)
        return None

    def rests(self) -> dict[int, str]:
        """Return the delayed text of messages that never ended, by the number of their last piece."""
        rests = {growing.number: growing.rest(self._rules) for growing in self._open.values()}
        return {number: rest for number, rest in rests.items() if rest}

    def last_pieces(self) -> list[RunEvent]:
        """Return the same as events without sequence numbers, because they are not in the recording."""
        return [
            growing.last.model_copy(update={"seq": 0, "text": rest, "generation": ()})
            for growing in self._open.values()
            if growing.last is not None and (rest := growing.rest(self._rules))
        ]


def _key(event: RunEvent, message: int) -> Key:
    return event.condition, event.trial, event.attempt, message


class _Growing:
    """A message so far: the end of its text, and the position up to which it was emitted."""

    def __init__(self) -> None:
        self.number = 0
        self.last: events.MessageDelta | None = None
        self._text = ""
        self._given = 0
        self._hidden = False

    def add(self, text: str, rules: Rules) -> str:
        """Add a piece; return the text that may be emitted now."""
        self._text += text
        return self._give(rules.settled(self._text), rules)

    def rest(self, rules: Rules) -> str:
        """Return the text that was not emitted yet."""
        return self._give(len(self._text), rules)

    def _give(self, end: int, rules: Rules) -> str:
        if end <= self._given or self._hidden:
            return ""
        spans = rules.spans(self._text)
        if any(span.instead == HIDDEN for span in spans):
            self._hidden = True
            return HIDDEN
        # A match that starts in text already emitted: at least the rest of it is not shown.
        spans = [s._replace(start=max(s.start, self._given)) for s in spans if s.end > self._given]
        given = replaced(self._text, spans, self._given, end)
        passed = max(0, end - CONTEXT)
        self._text, self._given = self._text[passed:], end - passed
        return given
