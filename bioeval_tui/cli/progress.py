"""What a headless batch says on stderr: everything of a single run, a line a conversation of many."""

from __future__ import annotations

from rich.console import Console

from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.state import Change, RunState
from bioeval_tui.report.formats.console import ProgressLines, say
from bioeval_tui.text import clean_line, compact_json, shorten


class BatchProgress:
    """Prints what happened. With `verbose`, what the agent did between the lines as well."""

    def __init__(
        self, console: Console, *, conversations: int, several: bool, alone: bool, verbose: bool
    ) -> None:
        """`conversations` is how many there are to be in all; `several` when they go on side by side;
        `alone` when there is one run."""
        self.alone = alone
        self._console = console
        self.single = conversations <= 2
        self._total = conversations
        self._several = several
        self._verbose = verbose
        self._done = 0
        self._whole = ProgressLines(console)

    def show(self, state: RunState, event: RunEvent, change: Change) -> None:
        """Print one event, if it is worth a line."""
        if isinstance(event, events.ConversationScored):
            self._done += 1
        if not self._several:
            self._whole.show(state, event, change)
        elif (line := self._line(state, event)) is not None:
            say(self._console, line)
        if self._verbose:
            for piece in _generation(event):
                say(self._console, f"{event.condition:<9}   {piece}")

    def _line(self, state: RunState, event: RunEvent) -> str | None:
        name = _name(state, event)
        match event:
            case events.ConversationScored():
                score = "not scored" if event.score is None else f"{event.score:.2f}"
                why = f" ({shorten(event.reason, 100)})" if event.reason else ""
                return f"[{self._done} of {self._total}] {name}: {score}{why}"
            case events.Warned():
                return f"{name}: note: {event.message}"
            case events.RunEnded(detail=detail) if detail:
                return f"{name}: run {event.status}: {detail}"
            case _:
                return None


def _name(state: RunState, event: RunEvent) -> str:
    started = state.started
    parts = [started.job_name, started.model or ""] if started else [event.run_id]
    if event.condition:
        parts.append(event.condition)
    if event.trial and started and started.trials > 1:
        parts.append(f"trial {event.trial}")
    return " · ".join(part for part in parts if part)


def _generation(event: RunEvent) -> list[str]:
    """Return what the agent did for an answer, one line each."""
    if not isinstance(event, events.MessageCompleted):
        return []
    return [clean_line(shorten(compact_json(item), 400)) for item in event.generation]
