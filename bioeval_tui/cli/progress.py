"""Progress of a batch without a screen: every message of a single conversation, or one line for each conversation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from bioeval_tui.consoles import plain_console
from bioeval_tui.evaluation.wiring.start import Show
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.names import SPEAKERS
from bioeval_tui.record.state import Change, RunState
from bioeval_tui.report.formats.console import ProgressLines, say
from bioeval_tui.text import clean_line, compact_json, shorten


class BatchProgress:
    """Prints progress. With `verbose`, also the agent's tool calls and events."""

    def __init__(self, console: Console, *, conversations: int, several: bool, verbose: bool = False) -> None:
        """`conversations` is the planned number in total; `several` prints one line for each of them."""
        self._console = console
        self._total = conversations
        self._several = several
        self._verbose = verbose
        self._done = 0
        self._whole = ProgressLines(console)

    def show(self, state: RunState, event: RunEvent, change: Change) -> None:
        """Print an event if it is one of those that are shown."""
        if isinstance(event, events.ConversationScored):
            self._done += 1
        if not self._several:
            self._whole.show(state, event, change)
        elif (line := self._line(state, event)) is not None:
            say(self._console, line)
        if self._verbose:
            for piece in _generation(event):
                say(self._console, f"{_condition(state, event):<9}   {piece}")

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
    parts = [started.job_name, state.asked_model or ""] if started else [event.run_id]
    if event.condition:
        parts.append(_condition(state, event))
    if event.trial and started and started.trials > 1:
        parts.append(state.trial_words(event.trial))
    return " · ".join(part for part in parts if part)


def _condition(state: RunState, event: RunEvent) -> str:
    return state.condition_name(event.condition) if event.condition else ""


def _generation(event: RunEvent) -> list[str]:
    """Return the agent's tool calls and events for an answer, one per line."""
    if not isinstance(event, events.MessageCompleted | events.CallsTraced):
        return []
    return [clean_line(shorten(compact_json(item), 400)) for item in event.generation]


def open_progress(wanted: bool, hosts: Sequence[str], conversations: int) -> Show:
    """Return a function that shows the events of a batch; first, it prints the `hosts` that receive transcripts."""
    if not wanted:
        return lambda state, event, change: None
    first = f"transcripts are sent to: {', '.join(hosts)}"
    if _in_a_notebook():
        return NotebookProgress(first, conversations).show
    console = plain_console(stderr=True)
    console.print(first, soft_wrap=True)
    return BatchProgress(console, conversations=conversations, several=True).show


def _in_a_notebook() -> bool:
    """Return whether this runs in a Jupyter kernel, so that IPython's display is visible in a notebook."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


class NotebookProgress:
    """One line below the cell, which is updated with each message."""

    def __init__(self, first: str, conversations: int) -> None:
        self._total, self._done = conversations, 0
        display: Any = sys.modules["IPython"].display  # a notebook has it; this program does not need it
        self._line = display.display(_plain(first), raw=True, display_id=True)

    def show(self, state: RunState, event: RunEvent, change: Change) -> None:
        """Receive one event."""
        self._done += isinstance(event, events.ConversationScored)
        if (
            not isinstance(event, events.ConversationScored | events.MessageCompleted)
            or state.started is None
        ):
            return
        where = [state.started.job_name, state.asked_model, state.condition_title(event.condition or "")]
        where += [f"trial {event.trial}"] if state.started.trials > 1 else []
        said = (
            f": {SPEAKERS[event.role]}: {event.content}" if isinstance(event, events.MessageCompleted) else ""
        )
        now = f"{self._done} of {self._total} conversations · {' · '.join(filter(None, where))}{said}"
        self._line.update(_plain(now), raw=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": shorten(clean_line(text, 300), 160)}
