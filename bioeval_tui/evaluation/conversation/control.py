"""Operator controls of a run: pause, step, take over, say, give back, cancel. `intents.py` serves
viewers, who use them.

Runs pause only between turns, never inside a stream: a paused reader would get a burst afterwards,
and its latency would be wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from bioeval_tui.base.text import clean
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, Condition
from bioeval_tui.record.events import IntentKind

INTENTS: tuple[IntentKind, ...] = get_args(IntentKind)
"""The kinds of intents that a run carries out."""


class RunCancelledError(Exception):
    """Every condition was cancelled before the first conversation began."""


@dataclass
class ConversationControl:
    """The gate of one condition."""

    paused: bool = False
    steps: int = 0
    taken_over: bool = False
    said: list[str] = field(default_factory=list)
    cancelled: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    person: Callable[[str], None] | None = None
    """Receives the messages of a person who plays the user in the job, as the evaluator and not as
    an operator.
    """

    async def gate(self) -> None:
        """Wait until the next turn may begin; a step allows exactly one."""
        while self.paused and not self.cancelled and not self.taken_over:
            if self.steps:
                self.steps -= 1
                return
            self.changed.clear()
            await self.changed.wait()

    async def operator_text(self) -> str | None:
        """Return the message of the person who took over; None after the conversation was given
        back.
        """
        while self.taken_over and not self.cancelled:
            if self.said:
                return self.said.pop(0)
            self.changed.clear()
            await self.changed.wait()
        return None


class Control:
    """The controls of a run, by condition. Not thread-safe: lives in the engine's loop."""

    def __init__(self, conditions: tuple[Condition, ...] = PUBLISHED_NAMES) -> None:
        self._by_condition = {condition: ConversationControl() for condition in conditions}
        self._tasks: dict[Condition, set[asyncio.Task[Any]]] = {
            condition: set() for condition in conditions
        }
        self.on_action: Callable[[str, Condition | None, str, str], None] = lambda *_: None
        self.only_cancels = ""
        """Why the run can only be cancelled, as a whole; empty if it takes every intent."""
        self._beginning: asyncio.Task[Any] | None = None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of the run."""
        return tuple(self._by_condition)

    def conversation(self, condition: Condition) -> ConversationControl:
        """Return the control of a condition."""
        return self._by_condition[condition]

    def register(self, condition: Condition, task: asyncio.Task[Any]) -> None:
        """Set the task that a cancel ends."""
        self._tasks[condition].add(task)
        task.add_done_callback(self._tasks[condition].discard)

    @contextlib.contextmanager
    def beginning(self) -> Iterator[None]:
        """Cancel the block, which may be waiting for a silent graph or agent, once every condition
        is cancelled.

        Raises:
            RunCancelledError: every condition is cancelled.
        """
        task = asyncio.current_task()
        assert task is not None
        # With a name, so that type checkers do not take `all_cancelled` for false from here on.
        cancelled_before = self.all_cancelled
        if cancelled_before:
            raise RunCancelledError
        self._beginning = task
        try:
            yield
        except asyncio.CancelledError:
            if not self.all_cancelled:
                raise  # somebody else cancelled it
            # `act` asked once. `uncancel` takes that back and returns how many others asked, too.
            if task.uncancel() > 0:
                raise
            raise RunCancelledError from None
        finally:
            self._beginning = None

    def act(
        self, kind: str, condition: Condition | None = None, text: str = "", sender: str = ""
    ) -> str | None:
        """Carry out an intent; return None, or one sentence saying why it was refused."""
        if kind not in INTENTS:
            return f"unknown intent; known are {', '.join(INTENTS)}"
        if condition is not None and condition not in self._by_condition:
            return "this run has no such condition"
        if self.only_cancels and (kind != "cancel" or condition is not None):
            return self.only_cancels
        control = None if condition is None else self._by_condition[condition]
        if kind in ("take_over", "say", "give_back") and control is None:
            return f"{kind} needs a condition"
        if kind == "say" and control is not None and not (control.taken_over or control.person):
            return "take over first, then say"
        if kind == "say" and not text.strip():
            return "there is nothing to say"
        if kind == "give_back" and control is not None and control.person:
            return "a person plays the user in this job; say the sign-off to end"
        targets = [condition] if condition else list(self._by_condition)
        for name in targets:
            self._carry_out(name, self._by_condition[name], kind, clean(text, 20_000))
        self.on_action(kind, condition, clean(text, 20_000), sender)
        if kind == "cancel" and self.all_cancelled and self._beginning is not None:
            self._beginning.cancel()
            self._beginning = None
        return None

    @property
    def all_cancelled(self) -> bool:
        """Return whether every condition was cancelled."""
        return all(control.cancelled for control in self._by_condition.values())

    def _carry_out(
        self, name: Condition, control: ConversationControl, kind: str, text: str
    ) -> None:
        match kind:
            case "pause":
                control.paused = True
            case "resume":
                control.paused = False
                control.steps = 0
            case "step":
                control.paused = True
                control.steps += 1
            case "take_over":
                control.taken_over = control.person is None
            case "say" if control.person is not None:
                control.person(text)
            case "say":
                control.said.append(text)
            case "give_back":
                control.taken_over = False
                control.said.clear()
            case "cancel":
                control.cancelled = True
                for task in list(self._tasks[name]):
                    task.cancel()
        control.changed.set()
