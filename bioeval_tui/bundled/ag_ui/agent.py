"""An agent that speaks AG-UI 1.0 (`target.protocol: ag-ui`): one POST for each message, server-sent
events back.

The agent is stateless: the whole conversation, its latest state and the job's tools are sent with
every message. Calls of these tools are answered here, and another run continues with the results.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from bioeval_tui.bundled.ag_ui.json_patch import AgentState
from bioeval_tui.http_agents import (
    EVENT_STREAM,
    INJECTED,
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
    result_event,
    stream_of,
    timeouts_of,
    told_history,
    words_of_error,
)
from bioeval_tui.protocols import AgentTerms, Delta, Generation, PeerError, Reply, Role

VERSION = "1.0"
MAX_DEPTH = 6
"""How deep in a framework's own event the reason is looked for why its model stopped."""
_FRAME_ONLY = frozenset({"TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "REASONING_START",
        "REASONING_END",
                         "REASONING_MESSAGE_START"})  # fmt: skip
"""Events that only mark the start and end of others."""


def make_agent(terms: AgentTerms) -> AGUIAgent:
    """Return an agent for one conversation."""
    return AGUIAgent(terms)


@dataclass(slots=True)
class _ToolCall:
    """A tool call being received."""

    id: str
    name: str
    written: list[str] = field(default_factory=list)
    """The pieces of its arguments as they came."""
    event: dict[str, Any] | None = None
    """Its event, once it was given out."""
    answered: bool = False
    """Whether the event of its result was given out, too."""

    @property
    def arguments(self) -> Any:
        return parse_arguments("".join(self.written))

    @property
    def sendable(self) -> str:
        """Its arguments as text for the next request: servers reject a history in which they are no
        object.
        """
        return ("".join(self.written) if isinstance(self.arguments, Mapping) else "") or "{}"


@dataclass(slots=True)
class _SideMessage:
    """A message that is not part of the agent's answer: of a subagent, of another role;
    reasoning.
    """

    key: str
    about: dict[str, Any] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)

    def event(self) -> Generation:
        return Generation({**self.about, self.key: "".join(self.pieces)})


@dataclass(slots=True)
class _ReceivedRun:
    """What was received of one run so far.

    `spoken`: whether the answer has text yet, in this run or an earlier one.
    """

    state: AgentState
    spoken: bool
    first_token: float | None
    started: float = 0.0
    ended: float = 0.0
    closed: float = 0.0
    """When its body ended, or was no longer waited for."""
    ours_s: float = 0.0
    """Time between the runs of the answer until now, which is not the agent's."""
    shown: list[Delta | Generation] = field(default_factory=list)
    pieces: dict[str, list[str]] = field(default_factory=dict)
    """The text of each message that is part of the answer, as it came."""
    side_messages: dict[str, _SideMessage] = field(default_factory=dict)
    calls: dict[str, _ToolCall] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    snapshot: list[dict[str, Any]] | None = None
    last_text: str = ""
    last_call: str = ""
    finished: Mapping[str, Any] | None = None
    cut_off: bool = False
    """Whether its last text ended at the model's length limit."""
    thread: str = ""
    """The id of the thread as the agent names it."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """The messages that the next request has, once the run's calls are answered."""

    @property
    def texts(self) -> list[str]:
        """The texts of the answer that are not empty."""
        return [text for pieces in self.pieces.values() if (text := "".join(pieces))]

    @property
    def pending(self) -> list[_ToolCall]:
        """The calls that have no result yet."""
        return [call for call in self.calls.values() if not call.answered]

    @property
    def usage(self) -> list[Mapping[str, Any]]:
        return list(objects((self.finished or {}).get("usage")))

    @property
    def interrupts(self) -> list[Mapping[str, Any]]:
        """What the agent asks the user before it continues."""
        outcome = (self.finished or {}).get("outcome")
        if isinstance(outcome, Mapping):
            return list(objects(outcome.get("interrupts")))
        return []


@dataclass(slots=True)
class _PendingAnswer:
    """The answer to one message: the runs that have finished, whose calls are answered, and what is
    sent next.
    """

    content: str
    messages: list[dict[str, Any]]
    state: Any
    resume: list[dict[str, Any]]
    runs: list[_ReceivedRun] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    """What the agent asks the user before it continues."""

    def next_run(self) -> _ReceivedRun:
        """Return the run that comes next, with nothing received yet."""
        first_token = self.runs[-1].first_token if self.runs else None
        return _ReceivedRun(AgentState(self.state), bool(self.texts), first_token)

    def add(self, run: _ReceivedRun) -> None:
        """Add a finished run, whose calls are answered."""
        self.messages, self.state, self.resume = run.history, run.state.value, []
        self.runs.append(run)

    @property
    def pieces(self) -> list[Delta | Generation]:
        """Everything that was given out."""
        return list(chain.from_iterable(run.shown for run in self.runs))

    @property
    def events(self) -> tuple[dict[str, Any], ...]:
        """Everything that was given out, except text."""
        return tuple(dict(piece.data) for piece in self.pieces if isinstance(piece, Generation))

    @property
    def texts(self) -> list[str]:
        """The texts of the answer that are not empty, then its questions."""
        return [*chain.from_iterable(run.texts for run in self.runs), *self.questions]

    @property
    def thread(self) -> str:
        """The id of the thread as the agent named it last; empty if it did not."""
        return next((run.thread for run in reversed(self.runs) if run.thread), "")

    def reply(self, thread: str) -> Reply:
        """Return the whole answer, of the thread that the agent is in."""
        first, last = self.runs[0], self.runs[-1]
        usage = list(chain.from_iterable(run.usage for run in self.runs))
        snapshots = [run.snapshot for run in self.runs if run.snapshot]
        return Reply(
            "\n\n".join(self.texts),
            first.started,
            last.ended - last.ours_s,
            last.first_token,
            self.events,
            _tokens(usage, "inputTokens"),
            _tokens(usage, "outputTokens"),
            cut_off=last.cut_off,
            session=thread,
            history=told_history(next(reversed(snapshots), None)),
        )


class AGUIAgent:
    """An `Agent` for one conversation."""

    def __init__(self, terms: AgentTerms) -> None:
        target = terms.target
        timeouts = timeouts_of(terms.timeout_s)
        headers = dict(terms.headers)
        if terms.key and not any(name.lower() == "authorization" for name in headers):
            headers["Authorization"] = f"Bearer {terms.key}"
        self._url = terms.url
        self._host = host_of_url(terms.url)
        self._connection = Connection(
            (terms.url,),
            timeouts,
            headers=headers,
            secrets=(terms.key or "", *terms.secrets),
            stateless=target.keeps_nothing,
        )
        self._state_url = StateUrl(target.object_context_url, timeouts)
        self._tools = DeclaredTools(target.tools, terms.code, terms.drawn_by)
        self._thread = str(uuid.uuid4())
        self._remembers = not target.keeps_nothing
        self._state: Any = {}
        self._messages: list[dict[str, Any]] = []
        self._first_events: list[dict[str, Any]] = []
        """The events of the first answer: the system prompt, as other agents report it."""
        self._interrupts: list[str] = []
        self._turn: _PendingAnswer | None = None
        """The message that is being answered: its tools are never run again if a request is
        retried.
        """
        if target.system_prompt:
            self._messages.append(_message("system", content=target.system_prompt))
            self._first_events.append({"systemPrompt": target.system_prompt})

    async def open(self) -> str:
        """Return the id of the thread, which is sent with every message."""
        return self._thread

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send one message; yield pieces as they arrive and, last, the `Reply`. Raises `PeerError`.

        A failed answer does not affect what is sent next time. If the same message is sent again
        after a failure, the runs that were complete are not repeated.
        """
        turn = self._turn
        if turn is None or turn.content != content:
            turn = self._turn = self._begin(content)
        # A retry starts an answer anew for whoever listens, so what its complete runs told is told
        # again.
        for known in turn.pieces:
            yield known
        for _ in range(MAX_ROUNDS - len(turn.runs)):
            run = turn.next_run()
            for part in (self._receive, self._answer_calls):
                async with aclosing(part(turn, run)) as pieces:
                    async for piece in pieces:
                        run.shown.append(piece)
                        yield piece
            turn.add(run)
            if not self._goes_on(run):
                break
        else:
            self._turn = None
            raise PeerError(
                "agent", f"the agent called tools {MAX_ROUNDS} times without answering in text"
            )
        self._turn = None
        for interrupt in run.interrupts:
            if question := clean(str(interrupt.get("message") or "")):
                yield Delta(("\n\n" if turn.texts else "") + question)
                turn.questions.append(question)
        if not turn.texts and not turn.events:
            raise PeerError("agent", "the agent's answer was empty", unusable=True)
        run.state.check()
        self._messages, self._state, self._first_events = turn.messages, turn.state, []
        self._interrupts = [str(interrupt.get("id")) for interrupt in run.interrupts]
        # An agent that is sent everything keeps nothing by its own id: some always name the same.
        yield turn.reply(turn.thread if self._remembers else "")

    def _begin(self, content: str) -> _PendingAnswer:
        """Return the turn of a new message, which also answers what the agent had asked."""
        messages = [*self._messages, _message("user", content=content)]
        resume = [
            {"interruptId": one, "status": "resolved", "payload": content}
            for one in self._interrupts
        ]
        return _PendingAnswer(content, messages, self._state, resume)

    def _goes_on(self, run: _ReceivedRun) -> bool:
        """Return whether another run follows, with the results of the job's tools."""
        return bool(run.pending and self._tools and not run.interrupts)

    async def _receive(
        self, turn: _PendingAnswer, run: _ReceivedRun
    ) -> AsyncGenerator[Delta | Generation, None]:
        """Start a run and receive it until it has finished; yield its pieces as they arrive."""
        asked: dict[str, Any] = {
            "threadId": self._thread,
            "runId": str(uuid.uuid4()),
            "protocolVersion": VERSION,
            "state": run.state.value,
            "messages": turn.messages,
            "tools": self._tools.described(),
            "context": [],
            "forwardedProps": {},
        }
        if turn.resume:
            asked["resume"] = turn.resume
        before = [] if turn.runs else [*map(Generation, self._first_events)]
        async with self._connection.asked(
            "POST", self._url, asked, accept=EVENT_STREAM
        ) as response:
            run.started = response.extensions["exchange"].started
            # Between two runs we answered the agent's tool calls: that time is not its latency, but
            # the time until the body of the first had ended is.
            if turn.runs:
                last = turn.runs[-1]
                run.ours_s = last.ours_s + (run.started - last.closed)
            if not is_stream(response):
                raise PeerError(
                    "agent",
                    f"{self._host} answered without server-sent events",
                    received=received_text(await response.aread()),
                    unusable=True,
                )
            failed = ""
            frames = stream_of(response)
            async for frame in frames:
                if not frame.data.strip():
                    continue
                if frame.event == "error":
                    failed = words_of_error(frame)
                for piece in [*before, *_take(parse_object("agent", self._host, frame), run)]:
                    if isinstance(piece, Delta) and run.first_token is None:
                        run.first_token = self._connection.arrivals.last() - run.ours_s
                    yield piece
                before = []
                if run.finished is not None:
                    # some servers leave the stream open; what follows is no part of the answer
                    break
            run.ended = self._connection.arrivals.last()
            run.closed = run.ended
            if run.finished is not None:
                is_over = await drain(frames)
                run.closed = self._connection.arrivals.last() if is_over else time.monotonic()
        if run.finished is None:
            what = f"{self._host} ended its stream before the run was finished"
            if failed:
                what += f", with the error: {failed}"
            raise PeerError("agent", what)
        _complete(run)
        for piece in _unclosed(run, turn.messages):
            yield piece

    async def _answer_calls(
        self, turn: _PendingAnswer, run: _ReceivedRun
    ) -> AsyncGenerator[Delta | Generation, None]:
        """Answer the run's calls, so that its history is complete; yield the results of the job's
        tools.
        """
        if run.snapshot is None:
            run.history = [*turn.messages, *_history_messages(run)]
        else:
            run.history = list(run.snapshot)
        goes_on = self._goes_on(run)
        for call in run.pending:
            if not goes_on:  # models refuse a history with a call that has no result
                run.history.append(_message("tool", toolCallId=call.id, content=NO_RESULT))
                continue
            result = await self._tools.answer(call.name, call.arguments)
            yield Generation(result.result(call.id))
            message = _message("tool", toolCallId=call.id, content=result.content)
            if result.error:
                message["error"] = result.error
            run.history.append(message)

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
    """Return why a model stopped, which AG-UI does not define: as a key of the event, or in the
    framework's own event.

    None if it is in neither.
    """
    places: list[Any] = [
        event,
        *(event.get(name) for name in ("metadata", "result", "rawEvent", "event")),
    ]
    for _ in range(MAX_DEPTH):
        inside = [place for place in places if isinstance(place, Mapping)]
        for place in inside:
            for name in ("finishReason", "finish_reason"):
                if isinstance(reason := place.get(name), str):
                    return reason
        places = [*chain.from_iterable(place.values() for place in inside if place is not event)]
    return None


def _take(event: Mapping[str, Any], run: _ReceivedRun) -> list[Delta | Generation]:
    """Add an event's content to the run; return the pieces to show."""
    kind = str(event.get("type"))
    message = str(event.get("messageId") or "")
    text = clean(event["delta"]) if isinstance(event.get("delta"), str) else ""
    if (ending := _finish_reason(event)) is not None:
        run.cut_off = ending in LENGTH_LIMIT
    match kind:
        case "RUN_STARTED":
            run.thread = clean_line(str(event.get("threadId") or ""))
        case "RUN_FINISHED":
            run.finished = event
        case "RUN_ERROR":
            raise _failure(event)
        case "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CHUNK" | "TEXT_MESSAGE_CONTENT":
            return _take_text(event, run, message, text)
        case "TEXT_MESSAGE_END" | "REASONING_MESSAGE_END" if message in run.side_messages:
            return [run.side_messages.pop(message).event()]
        case "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_CHUNK":
            run.side_messages.setdefault(message, _SideMessage("reasoning")).pieces.append(text)
        case "TOOL_CALL_START" | "TOOL_CALL_CHUNK" | "TOOL_CALL_ARGS" | "TOOL_CALL_END":
            return _take_call(event, run, kind)
        case "TOOL_CALL_RESULT":
            return _take_result(event, run)
        case "MESSAGES_SNAPSHOT":
            if isinstance(event.get("messages"), list):
                run.snapshot = objects(event["messages"])
        case "STATE_SNAPSHOT" | "STATE_DELTA":
            return [_recorded(_take_state(event, run.state))]
        case _ if kind not in _FRAME_ONLY:
            return [_recorded(event)]
    return []


def _recorded(event: Mapping[str, Any]) -> Generation:
    # Only this program says of a result that it was made to fail.
    told = {key: value for key, value in event.items() if key != INJECTED}
    return Generation(clean_value(told))


def _failure(event: Mapping[str, Any]) -> PeerError:
    code = f" ({clean_line(str(event['code']), 60)})" if event.get("code") else ""
    message = clean_line(str(event.get("message") or ""), 300)
    received = received_text(json.dumps(event))
    return PeerError("agent", f"the agent's run failed{code}: {message}", received=received)


def _take_state(event: Mapping[str, Any], state: AgentState) -> Mapping[str, Any]:
    """Update the state; return the event.

    A patch that does not fit is noted in the event and not applied.
    """
    if event["type"] == "STATE_SNAPSHOT":
        state.count(event.get("snapshot"))
        state.value = event.get("snapshot")
        return event
    state.count(event.get("delta"))
    try:
        state.patch(objects(event.get("delta")))
    except ValueError as error:
        return {**event, "error": clean_line(str(error), 300)}
    return event


def _take_text(
    event: Mapping[str, Any], run: _ReceivedRun, message: str, text: str
) -> list[Delta | Generation]:
    message = run.last_text = message or run.last_text
    if message not in run.side_messages and message not in run.pieces:
        role = event.get("role") or "assistant"
        if subagent := event.get("subagentRunId"):
            about = {"subagent": clean_line(str(subagent), 200)}
            run.side_messages[message] = _SideMessage("message", about)
        elif role != "assistant":
            run.side_messages[message] = _SideMessage(
                "message", {"role": clean_line(str(role), 40)}
            )
    if message in run.side_messages:
        run.side_messages[message].pieces.append(text)
        return []
    pieces = run.pieces.setdefault(message, [])
    if not text:
        return []
    gap = "\n\n" if run.spoken and not pieces else ""
    pieces.append(text)
    run.spoken = True
    return [Delta(gap + text)]


def _take_call(event: Mapping[str, Any], run: _ReceivedRun, kind: str) -> list[Delta | Generation]:
    call_id = str(event.get("toolCallId") or run.last_call)
    pieces: list[Delta | Generation] = []
    if run.last_call and call_id != run.last_call and kind == "TOOL_CALL_CHUNK":
        pieces += _show_call(run.calls[run.last_call])
    call = run.calls.setdefault(
        call_id, _ToolCall(call_id, clean_line(str(event.get("toolCallName") or ""), 200))
    )
    run.last_call = call_id
    if isinstance(delta := event.get("delta"), str):
        call.written.append(delta)
    if kind == "TOOL_CALL_END":
        pieces += _show_call(call)
    return pieces


def _show_call(call: _ToolCall) -> list[Delta | Generation]:
    """Return the call, unless it was given out before."""
    if call.event is not None:
        return []
    call.event = call_event(call.name, call.arguments, call.id)
    return [Generation(call.event)]


def _take_result(event: Mapping[str, Any], run: _ReceivedRun) -> list[Delta | Generation]:
    call_id = str(event.get("toolCallId") or "")
    content = event.get("content")
    shown = content if isinstance(content, str) else clean_value(content)
    run.results.append(_message("tool", toolCallId=call_id, content=content))
    pieces: list[Delta | Generation] = []
    if (call := run.calls.get(call_id)) is not None:
        pieces += _show_call(call)
        call.answered = True
    failed = bool(event.get("error"))
    return [*pieces, Generation(result_event(shown, call_id, failed=failed))]


def _complete(run: _ReceivedRun) -> None:
    """Add the arguments that are only in the snapshot of the messages, as LangGraph sends them, to
    calls given out before.
    """
    listed = {}
    for message in run.snapshot or ():
        for made in objects(message.get("toolCalls")):
            listed[str(made.get("id"))] = made.get("function")
    for call in run.calls.values():
        function = listed.get(call.id)
        if call.event is not None and not call.written and isinstance(function, dict):
            call.written.append(str(function.get("arguments") or ""))
            call.event.update(call_event(call.name, call.arguments, call.id))


def _unclosed(run: _ReceivedRun, before: list[dict[str, Any]]) -> list[Generation]:
    """Return what is left at the end of a run: calls and messages that were not closed, and those
    that are only in the snapshot of the messages.
    """
    pieces: list[Any] = [*chain.from_iterable(map(_show_call, run.calls.values()))]
    pieces += [side.event() for side in run.side_messages.values()]
    known = {str(message.get("id")) for message in before}
    new = [message for message in run.snapshot or () if str(message.get("id")) not in known]
    results = {
        str(message.get("toolCallId")): message for message in new if message.get("role") == "tool"
    }
    has_text = bool(run.texts)
    for message in new:
        if message.get("role") != "assistant":
            continue
        for made in objects(message.get("toolCalls")):
            function = made.get("function")
            if not isinstance(function, dict) or str(made.get("id")) in run.calls:
                continue
            written = str(function.get("arguments") or "")
            call = _ToolCall(str(made.get("id")), str(function.get("name")), [written])
            run.calls[call.id] = call
            pieces += _show_call(call)
        text, number = message.get("content"), str(message.get("id"))
        if isinstance(text, str) and text and not has_text:
            run.pieces[number], has_text = [clean(text)], True
    for call_id, message in results.items():
        called = run.calls.get(call_id)
        if called is None or called.answered:
            continue
        called.answered = True
        error = message.get("error")
        output = error or message.get("content")
        pieces.append(Generation(result_event(output, call_id, failed=bool(error))))
    return pieces


def _history_messages(run: _ReceivedRun) -> list[dict[str, Any]]:
    """Return a run's messages in the form of the next request."""
    text = "\n\n".join(run.texts)
    made = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.sendable},
        }
        for call in run.calls.values()
    ]
    said = []
    if text:
        said = [_message("assistant", content=text)]
    if not made:
        return [*said, *run.results]
    called = _message("assistant", toolCalls=made)
    if run.results:
        # The agent called its own tools before it answered, which is the order in which its model
        # saw it.
        return [called, *run.results, *said]
    if text:
        called["content"] = text
    return [called]


def _tokens(usage: list[Mapping[str, Any]], key: str) -> int | None:
    counts = [count for one in usage if isinstance(count := one.get(key), int) and count >= 0]
    if counts:
        return sum(counts)
    return None
