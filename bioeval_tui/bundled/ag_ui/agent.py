"""An agent that speaks AG-UI 1.0 (`target.protocol: ag-ui`): one POST for each message, server-sent events back.

The agent is stateless: the whole conversation, its latest state and the job's tools are sent with
every message. Calls of these tools are answered here, and another run continues with the results.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bioeval_tui.bundled.ag_ui.json_patch import AgentState
from bioeval_tui.http_agents import (
    EVENT_STREAM,
    LENGTH_LIMIT,
    MAX_ROUNDS,
    NO_RESULT,
    Connection,
    DeclaredTools,
    StateUrl,
    call_event,
    clean,
    clean_line,
    clean_value,
    drain,
    host_of_url,
    is_stream,
    objects,
    parse_arguments,
    parse_object,
    received_text,
    request_of,
    result_event,
    stream_of,
    timeouts_of,
)
from bioeval_tui.protocols import AgentTerms, Delta, Generation, PeerError, Reply, Role

VERSION = "1.0"
MAX_DEPTH = 6
"""How deep in a framework's own event the reason is looked for why its model stopped."""
_FRAME_ONLY = frozenset({"RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "REASONING_START", "REASONING_END",
                         "REASONING_MESSAGE_START"})  # fmt: skip
"""Events that only mark the start and end of others."""


def make_agent(terms: AgentTerms) -> AGUIAgent:
    """Return an agent for one conversation."""
    return AGUIAgent(terms)


@dataclass(slots=True)
class _Call:
    """A tool call being received. `told`: it was added to the events. `answered`: its result was, too."""

    id: str
    name: str
    written: list[str] = field(default_factory=list)
    """The pieces of its arguments as they came."""
    told: bool = False
    answered: bool = False

    @property
    def arguments(self) -> Any:
        return parse_arguments("".join(self.written))


@dataclass(slots=True)
class _Apart:
    """A message that is not part of the agent's answer: of a subagent, of another role; reasoning."""

    key: str
    told: dict[str, Any] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)

    def event(self) -> Generation:
        return Generation({**self.told, self.key: "".join(self.pieces)})


@dataclass(slots=True)
class _Run:
    """What was received of one run so far."""

    pieces: dict[str, list[str]] = field(default_factory=dict)
    """The text of each message that is part of the answer, as it came."""
    spoken: bool = False
    """Whether this answer has text yet, in this run or an earlier one."""
    apart: dict[str, _Apart] = field(default_factory=dict)
    calls: dict[str, _Call] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    snapshot: list[dict[str, Any]] | None = None
    last_text: str = ""
    last_call: str = ""
    finished: Mapping[str, Any] | None = None
    cut_off: bool = False
    """Whether its last text ended at the model's length limit."""

    @property
    def texts(self) -> list[str]:
        """The texts of the answer that are not empty."""
        return [text for pieces in self.pieces.values() if (text := "".join(pieces))]


@dataclass(slots=True)
class _Turn:
    """The finished runs before an answer, and what is sent next. `ours_s`: time between runs, which is not the agent's."""

    content: str
    messages: list[dict[str, Any]]
    state: Any
    resume: list[dict[str, Any]]
    pieces: list[Delta | Generation] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    usage: list[Mapping[str, Any]] = field(default_factory=list)
    runs: int = 0
    started: float | None = None
    ended: float = 0.0
    first_token: float | None = None
    ours_s: float = 0.0
    cut_off: bool = False


class AGUIAgent:
    """An `Agent` for one conversation."""

    def __init__(self, terms: AgentTerms) -> None:
        target = terms.target
        timeouts = timeouts_of(terms.timeout_s)
        headers = dict(terms.headers)
        if terms.key and not any(name.lower() == "authorization" for name in headers):
            headers["Authorization"] = f"Bearer {terms.key}"
        self._url = terms.url
        self._connection = Connection(
            (terms.url,),
            timeouts,
            headers=headers,
            secrets=(terms.key or "", *terms.secrets),
            stateless=target.keeps_nothing,
        )
        self._state_url = StateUrl(target.object_context_url, timeouts)
        self._tools = DeclaredTools(target.tools, terms.code)
        self._thread = str(uuid.uuid4())
        self._state: Any = {}
        self._messages: list[dict[str, Any]] = []
        self._untold: list[dict[str, Any]] = []
        self._interrupts: list[str] = []
        self._turn: _Turn | None = None
        """The message that is being answered: its tools are never run again if a request is retried."""
        if target.system_prompt:
            self._messages.append(_message("system", content=target.system_prompt))
            self._untold.append({"systemPrompt": target.system_prompt})

    async def open(self) -> str:
        """Return the id of the thread, which is sent with every message."""
        return self._thread

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send one message; yield pieces as they arrive and, last, the `Reply`. Raises `PeerError`.

        A failed answer does not affect what is sent next time. If the same message is sent again after a failure, the
        runs that were complete are not repeated.
        """
        turn = self._turn
        if turn is None or turn.content != content:
            resolved = [
                {"interruptId": one, "status": "resolved", "payload": content} for one in self._interrupts
            ]
            messages = [*self._messages, _message("user", content=content)]
            turn = self._turn = _Turn(content, messages, self._state, resolved)
        # A retry starts an answer anew for whoever listens, so what its complete runs told is told again.
        for known in turn.pieces:
            yield known
        for _ in range(MAX_ROUNDS - turn.runs):
            run = _Run(spoken=bool(turn.texts))
            state = AgentState(turn.state)
            untold = [] if turn.runs else list(self._untold)
            shown: list[Delta | Generation] = []
            events: list[dict[str, Any]] = []
            first_token = turn.first_token
            asked = {
                "threadId": self._thread,
                "runId": str(uuid.uuid4()),
                "protocolVersion": VERSION,
                "state": state.value,
                "messages": turn.messages,
                "tools": self._tools.described(),
                "context": [],
                "forwardedProps": {},
                **({"resume": turn.resume} if turn.resume else {}),
            }
            async with self._connection.asked("POST", self._url, asked, accept=EVENT_STREAM) as response:
                began = response.extensions["exchange"].started
                # Between two runs we answered the agent's tool calls: that time is not its latency.
                ours_s = turn.ours_s + (began - turn.ended if turn.runs else 0.0)
                if not is_stream(response):
                    raise PeerError(
                        "agent",
                        f"{host_of_url(self._url)} answered without server-sent events",
                        received=received_text(await response.aread()),
                        unusable=True,
                    )
                frames = stream_of(response)
                async for frame in frames:
                    if not frame.data.strip():
                        continue
                    event = parse_object("agent", host_of_url(self._url), frame.data)
                    kind = event.get("type")
                    if kind == "STATE_SNAPSHOT":
                        state.told(event.get("snapshot"))
                        state.value = event.get("snapshot")
                    elif kind == "STATE_DELTA":
                        state.told(event.get("delta"))
                        event = _patched(state, event)
                    for piece in [*map(Generation, untold), *_take(event, run)]:
                        if isinstance(piece, Delta):
                            first_token = first_token or self._connection.arrivals.last() - ours_s
                        else:
                            # Shared with the piece that was given out: `_complete` adds arguments that come later.
                            events.append(dict(piece.data))
                            piece = Generation(events[-1])
                        shown.append(piece)
                        yield piece
                    untold.clear()
                    if run.finished is not None:
                        break  # some servers leave the stream open; what follows is no part of the answer
                ended = self._connection.arrivals.last()
                await drain(frames)
            if run.finished is None:
                raise PeerError(
                    "agent", f"{host_of_url(self._url)} ended its stream before the run was finished"
                )
            _complete(run, events)
            for piece in _left_over(run, turn.messages):
                shown.append(piece)
                yield piece
            messages = run.snapshot if run.snapshot is not None else [*turn.messages, *_as_history(run)]
            pending = [call for call in run.calls.values() if not call.answered]
            interrupts = _interrupts(run.finished)
            for call in pending:
                if not self._tools or interrupts:  # models refuse a history with a call that has no result
                    messages = [*messages, _message("tool", toolCallId=call.id, content=NO_RESULT)]
                    continue
                result = await self._tools.answer(call.name, call.arguments)
                told = result_event(result.error or result.content, call.id, failed=bool(result.error))
                shown.append(Generation(told))
                yield shown[-1]
                failed = {"error": result.error} if result.error else {}
                messages = [*messages, _message("tool", toolCallId=call.id, content=result.content, **failed)]
            turn.messages, turn.state, turn.resume = messages, state.value, []
            turn.pieces += shown
            turn.texts += run.texts
            turn.cut_off = run.cut_off
            turn.usage += objects(run.finished.get("usage"))
            turn.runs += 1
            turn.started, turn.ended = turn.started or began, ended
            turn.first_token, turn.ours_s = first_token, ours_s
            if not pending or not self._tools or interrupts:
                break
        else:
            self._turn = None
            raise PeerError("agent", f"the agent called tools {MAX_ROUNDS} times without answering in text")
        asks = [text for one in interrupts if (text := clean(str(one.get("message") or "")))]
        self._turn = None
        for text in asks:
            yield Delta(("\n\n" if turn.texts else "") + text)
            turn.texts.append(text)
        told_events = tuple(dict(piece.data) for piece in turn.pieces if isinstance(piece, Generation))
        if not turn.texts and not told_events:
            raise PeerError("agent", "the agent's answer was empty", unusable=True)
        state.check()
        self._messages, self._state, self._untold = turn.messages, turn.state, []
        self._interrupts = [str(one.get("id")) for one in interrupts]
        yield Reply(
            "\n\n".join(turn.texts),
            turn.started or turn.ended,
            turn.ended - turn.ours_s,
            turn.first_token,
            told_events,
            _tokens(turn.usage, "inputTokens"),
            _tokens(turn.usage, "outputTokens"),
            cut_off=turn.cut_off,
        )

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context from the job's URL; None without one. Raises `PeerError`."""
        return await self._state_url.read(self._thread)

    async def seed_text(self, text: str) -> None:
        """Raise `PeerError`: the protocol has no knowledge service."""
        raise PeerError("knowledge", "an AG-UI agent does not accept texts", status=404)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Add a seed message to the conversation that is sent with every message."""
        self._messages.append(_message(role, content=content))
        return True

    async def aclose(self) -> None:
        """Close every connection."""
        await self._tools.aclose()
        await self._connection.aclose()


def _message(role: str, **fields: Any) -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "role": role, **fields}


def _finish_reason(event: Mapping[str, Any]) -> str | None:
    """Return why a model stopped, which AG-UI does not define: as a key of the event, or in the framework's own event.

    None if it is in neither.
    """
    places: list[Any] = [event, *(event.get(name) for name in ("metadata", "result", "rawEvent", "event"))]
    for _ in range(MAX_DEPTH):
        inside = [place for place in places if isinstance(place, Mapping)]
        for place in inside:
            for name in ("finishReason", "finish_reason"):
                if isinstance(reason := place.get(name), str):
                    return reason
        places = [value for place in inside if place is not event for value in place.values()]
    return None


def _take(event: Mapping[str, Any], run: _Run) -> list[Delta | Generation]:
    """Add an event's content to the run; return the pieces to show."""
    kind = str(event.get("type"))
    message = str(event.get("messageId") or "")
    text = clean(event["delta"]) if isinstance(event.get("delta"), str) else ""
    if (ending := _finish_reason(event)) is not None:
        run.cut_off = ending in LENGTH_LIMIT
    match kind:
        case "RUN_FINISHED":
            run.finished = event
        case "RUN_ERROR":
            code = f" ({clean_line(str(event['code']), 60)})" if event.get("code") else ""
            said = clean_line(str(event.get("message") or ""), 300)
            raise PeerError(
                "agent", f"the agent's run failed{code}: {said}", received=received_text(json.dumps(event))
            )
        case "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CHUNK" | "TEXT_MESSAGE_CONTENT":
            return _take_text(event, run, message, text)
        case "TEXT_MESSAGE_END" | "REASONING_MESSAGE_END" if message in run.apart:
            return [run.apart.pop(message).event()]
        case "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_CHUNK":
            run.apart.setdefault(message, _Apart("reasoning")).pieces.append(text)
        case "TOOL_CALL_START" | "TOOL_CALL_CHUNK" | "TOOL_CALL_ARGS" | "TOOL_CALL_END":
            return _take_call(event, run, kind)
        case "TOOL_CALL_RESULT":
            return _take_result(event, run)
        case "MESSAGES_SNAPSHOT":
            if isinstance(event.get("messages"), list):
                run.snapshot = objects(event["messages"])
        case _ if kind not in _FRAME_ONLY:
            return [Generation(clean_value(dict(event), 100_000))]
    return []


def _take_text(event: Mapping[str, Any], run: _Run, message: str, text: str) -> list[Delta | Generation]:
    message = message or run.last_text
    role = event.get("role") or "assistant"
    if message not in run.apart and message not in run.pieces:
        if event.get("subagentRunId"):
            run.apart[message] = _Apart("message", {"subagent": clean_line(str(event["subagentRunId"]), 200)})
        elif role != "assistant":
            run.apart[message] = _Apart("message", {"role": clean_line(str(role), 40)})
    run.last_text = message
    if message in run.apart:
        run.apart[message].pieces.append(text)
        return []
    pieces = run.pieces.setdefault(message, [])
    if not text:
        return []
    gap = "\n\n" if run.spoken and not pieces else ""
    pieces.append(text)
    run.spoken = True
    return [Delta(gap + text)]


def _take_call(event: Mapping[str, Any], run: _Run, kind: str) -> list[Delta | Generation]:
    call_id = str(event.get("toolCallId") or run.last_call)
    pieces: list[Delta | Generation] = []
    if run.last_call and call_id != run.last_call and kind == "TOOL_CALL_CHUNK":
        pieces += _tell_call(run.calls[run.last_call])
    call = run.calls.setdefault(
        call_id, _Call(call_id, clean_line(str(event.get("toolCallName") or ""), 200))
    )
    run.last_call = call_id
    if isinstance(delta := event.get("delta"), str):
        call.written.append(delta)
    if kind == "TOOL_CALL_END":
        pieces += _tell_call(call)
    return pieces


def _tell_call(call: _Call) -> list[Delta | Generation]:
    if call.told:
        return []
    call.told = True
    return [Generation(call_event(call.name, call.arguments, call.id))]


def _take_result(event: Mapping[str, Any], run: _Run) -> list[Delta | Generation]:
    call_id = str(event.get("toolCallId") or "")
    content = event.get("content")
    shown = content if isinstance(content, str) else clean_value(content, 100_000)
    run.results.append(_message("tool", toolCallId=call_id, content=content))
    call = run.calls.get(call_id)
    before = _tell_call(call) if call is not None else []
    if call is not None:
        call.answered = True
    failed = bool(event.get("error"))
    return [*before, Generation(result_event(shown, call_id, failed=failed))]


def _complete(run: _Run, events: list[dict[str, Any]]) -> None:
    """Add the arguments that are only in the snapshot of the messages, as LangGraph sends them, to the calls in `events`."""
    listed = {
        str(made.get("id")): made.get("function")
        for message in run.snapshot or ()
        for made in objects(message.get("toolCalls"))
    }
    for event in events:
        call = run.calls.get(str((request_of(event) or {}).get("id") or ""))
        function = listed.get(call.id) if call is not None else None
        if call is not None and not call.written and isinstance(function, dict):
            call.written.append(str(function.get("arguments") or ""))
            event.update(call_event(call.name, call.arguments, call.id))


def _left_over(run: _Run, before: list[dict[str, Any]]) -> list[Generation]:
    """Return what is left at the end of a run: calls and messages that were not closed, and those that are only in the
    snapshot of the messages."""
    pieces: list[Any] = [piece for call in run.calls.values() for piece in _tell_call(call)]
    pieces += [apart.event() for apart in run.apart.values()]
    known = {str(message.get("id")) for message in before}
    new = [message for message in run.snapshot or () if str(message.get("id")) not in known]
    answered = {str(message.get("toolCallId")): message for message in new if message.get("role") == "tool"}
    has_text = bool(run.texts)
    for message in new:
        if message.get("role") != "assistant":
            continue
        for made in objects(message.get("toolCalls")):
            function = made.get("function")
            if not isinstance(function, dict) or str(made.get("id")) in run.calls:
                continue
            written = str(function.get("arguments") or "")
            call = _Call(str(made.get("id")), str(function.get("name")), [written])
            run.calls[call.id] = call
            pieces += _tell_call(call)
        text, number = message.get("content"), str(message.get("id"))
        if isinstance(text, str) and text and not has_text:
            run.pieces[number], has_text = [clean(text)], True
    for call_id, message in answered.items():
        found = run.calls.get(call_id)
        if found is not None and not found.answered:
            found.answered = True
            failed = bool(message.get("error"))
            output = message.get("error") if failed else message.get("content")
            pieces.append(Generation(result_event(output, call_id, failed=failed)))
    return pieces


def _as_history(run: _Run) -> list[dict[str, Any]]:
    """Return a run's messages in the form of the next request."""
    text = "\n\n".join(run.texts)
    made = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": "".join(call.written) or "{}" if isinstance(call.arguments, Mapping) else "{}",
            },
        }
        for call in run.calls.values()
    ]
    if not made:
        return [_message("assistant", content=text), *run.results] if text else run.results
    called = _message("assistant", toolCalls=made)
    if not run.results:
        return [{**called, "content": text} if text else called]
    # The agent called its own tools before it answered, which is the order in which its model saw it.
    return [called, *run.results, *([_message("assistant", content=text)] if text else [])]


def _patched(state: AgentState, event: dict[str, Any]) -> dict[str, Any]:
    """Patch the state; return the event. A patch that does not fit is noted in the event and not applied."""
    try:
        state.patch(objects(event.get("delta")))
    except ValueError as error:
        return {**event, "error": clean_line(str(error), 300)}
    return event


def _interrupts(finished: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    outcome = finished.get("outcome")
    return list(objects(outcome.get("interrupts"))) if isinstance(outcome, Mapping) else []


def _tokens(usage: list[Mapping[str, Any]], key: str) -> int | None:
    counts = [count for one in usage if isinstance(count := one.get(key), int) and count >= 0]
    return sum(counts) if counts else None
