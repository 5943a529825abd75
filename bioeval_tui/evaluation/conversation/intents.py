"""The intents by which viewers control a run, and look after its recording: the engine's socket,
and what a viewer sends there.

Intents come over 127.0.0.1: JSON Lines with a token first, and one answer each.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from bioeval_tui.base.admission import BACKLOG, Admission, AdmissionLimits
from bioeval_tui.base.errors import RecordingError
from bioeval_tui.base.peer_limits import MAX_HELLO, MAX_INTENT
from bioeval_tui.base.text import clean_line, listed
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.record.recorder import Recorder
from bioeval_tui.record.runs import LiveInfo

HOW_IS_IT, RECORD_TO = "how_is_it", "record_to"
"""Intents about the recording itself: ask whether it can be written, and move it to another folder.
"""
ANSWER_S = 5.0
"""How long each side waits for the other, in seconds."""
_PATIENCE_S = {RECORD_TO: 40.0}
"""How long an engine may take over an intent, where that is longer than `ANSWER_S`."""
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
        except (OSError, ValueError, RecursionError, TimeoutError):
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
    except (OSError, ValueError, RecursionError, TimeoutError):
        return NO_ANSWER
    if answer.get("ok"):
        return None
    return str(answer.get("error", "refused"))
