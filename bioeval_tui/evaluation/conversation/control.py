"""Operator controls of a run (pause, step, take over, say, give back, cancel), and the intents by
which viewers use them.

Runs pause only between turns, never inside a stream: a paused reader would get a burst afterwards,
and its latency would be wrong. Intents come over 127.0.0.1: JSON Lines with a token first, and one
answer each.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bioeval_tui.base.admission import BACKLOG, Admission, AdmissionLimits
from bioeval_tui.base.errors import RecordingError
from bioeval_tui.base.peer_limits import MAX_HELLO, MAX_INTENT
from bioeval_tui.base.text import clean, clean_line, listed
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, Condition
from bioeval_tui.record.recorder import Recorder
from bioeval_tui.record.runs import LiveInfo

INTENTS = ("pause", "resume", "step", "take_over", "say", "give_back", "cancel")


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


ANSWER_S = 5.0
MOVED_S = 40.0
HOW_IS_IT, RECORD_TO = "how_is_it", "record_to"
_PATIENCE_S = {RECORD_TO: MOVED_S}
"""How long an engine may take over an intent, where that is longer than `ANSWER_S`."""
"""Intents about the recording itself: ask whether it can be written, and move it to another folder.
"""
NO_ANSWER = "the engine does not answer; the run may have ended"


def what_helps(run_id: str) -> str:
    """Return a hint for a recording that cannot be written."""
    return (
        "the run is waiting. Free some space, or move it to another folder: bioeval-tui runs"
        f" record-to {run_id} FOLDER"
    )


@contextlib.asynccontextmanager
async def listen(
    control: Control, recording: Recorder | None = None
) -> AsyncIterator[tuple[int, str]]:
    """Serve a run's intents until the context ends; yields the port and the token."""
    token = secrets.token_urlsafe(24)

    talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks[task] = writer
        try:
            vouch = partial(admission.keep, writer.transport)
            await _serve(reader, writer, control, token, recording, vouch)
        except (OSError, ValueError, TimeoutError):
            pass  # a viewer that breaks off or talks nonsense costs only itself
        finally:
            writer.close()
            del talks[task]

    def talk() -> asyncio.Protocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(limit=MAX_INTENT), serve)

    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    admission = Admission(talk, b"\n", AdmissionLimits(ANSWER_S, MAX_HELLO))
    server = await admission.listen(listener)
    try:
        yield listener.getsockname()[1], token
    finally:
        server.close()
        admission.close()
        for writer in talks.values():
            writer.close()
        if talks:
            await asyncio.wait(talks, timeout=ANSWER_S)


async def _serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    control: Control,
    token: str,
    recording: Recorder | None,
    vouch: Callable[[], None],
) -> None:
    hello = _parse(await asyncio.wait_for(reader.readline(), ANSWER_S))
    if not hmac.compare_digest(str(hello.get("token", "")).encode(), token.encode()):
        await _answer(writer, None, "wrong token")
        return
    vouch()
    sender = clean_line(str(hello.get("sender", "viewer")), 80)
    while line := await reader.readline():
        intent = _parse(line)
        if recording is not None and intent.get("kind") in (HOW_IS_IT, RECORD_TO):
            error = await _handle_recording(recording, control, intent, sender)
        else:
            error = _act(control, intent, sender)
        await _answer(writer, intent.get("id"), error)


async def _handle_recording(
    recording: Recorder, control: Control, intent: dict[str, Any], sender: str
) -> str | None:
    """Return why the recording cannot be written, or move it to another folder."""
    if intent["kind"] == HOW_IS_IT:
        return recording.trouble
    folder = str(intent.get("text") or "")
    if not Path(folder).is_absolute():
        return "an absolute path of a folder is required"
    try:
        await asyncio.to_thread(recording.move, Path(folder))
    except RecordingError as error:
        return clean_line(str(error))
    control.on_action(RECORD_TO, None, clean_line(folder), sender)
    return None


def _act(control: Control, intent: dict[str, Any], sender: str) -> str | None:
    named = intent.get("condition")
    condition = next((known for known in control.conditions if known == named), None)
    if named is not None and condition is None:
        return f"unknown condition; known are {listed(control.conditions)}"
    return control.act(
        str(intent.get("kind", "")), condition, str(intent.get("text") or ""), sender
    )


def _parse(line: bytes) -> dict[str, Any]:
    data = json.loads(line)
    if not isinstance(data, dict):
        raise ValueError("an intent must be a JSON object")
    return data


async def _answer(writer: asyncio.StreamWriter, identity: object, error: str | None) -> None:
    answer = {"id": identity, "ok": error is None}
    if error:
        answer["error"] = error
    writer.write(json.dumps(answer).encode() + b"\n")
    await writer.drain()


async def send_intent(
    info: LiveInfo, kind: str, condition: str | None = None, text: str = "", sender: str = "viewer"
) -> str | None:
    """Send one intent to an engine; return None if it was accepted, otherwise one sentence."""
    lines = [
        {"token": info.token, "sender": sender},
        {"id": 1, "kind": kind, "condition": condition, "text": text},
    ]
    try:
        async with asyncio.timeout(_PATIENCE_S.get(kind, ANSWER_S)):
            reader, writer = await asyncio.open_connection("127.0.0.1", info.port)
            try:
                writer.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
                await writer.drain()
                answer = _parse(await reader.readline())
            finally:
                writer.close()
    except (OSError, ValueError, TimeoutError):
        return NO_ANSWER
    if answer.get("ok"):
        return None
    return str(answer.get("error", "refused"))
