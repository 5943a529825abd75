"""An agent that speaks A2A (`target.protocol: a2a`), as its agent card says: 1.0 over JSON-RPC or
HTTP+JSON, or 0.3 over JSON-RPC.

A turn is one message; it ends with a message of the agent's, or with a task that is completed or
needs input. The agent's answer is the text of its artifacts and of the status that ends the turn.
The context is the agent's own (`contextId`), and a task that needs input continues with the next
message (`taskId`). Everything here is written for 1.0; `version_0_3` translates.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx2

from bioeval_tui.bundled.a2a import version_0_3
from bioeval_tui.http_agents import (
    EVENT_STREAM,
    TAIL_S,
    Connection,
    StateUrl,
    bytes_of,
    call_event,
    clean,
    clean_line,
    clean_value,
    drain,
    host_of_url,
    is_stream,
    may_be_set,
    objects,
    parse_arguments,
    parse_object,
    received_text,
    request_of,
    result_event,
    result_of,
    shorten,
    stream_of,
    timeouts_of,
)
from bioeval_tui.protocols import AgentTerms, Delta, Generation, PeerError, Reply, Role

CARD = "/.well-known/agent-card.json"
OLDER_CARD = "/.well-known/agent.json"
"""Where the agent card was before 0.3."""
VERSION = "1.0"
_STATE = "TASK_STATE_"
_GOES_ON = ("SUBMITTED", "WORKING")
_ENDS_THE_TURN = ("COMPLETED", "INPUT_REQUIRED")
_FAILS = {
    "FAILED": "the agent's task failed",
    "REJECTED": "the agent rejected the task",
    "CANCELED": "the agent cancelled the task",
    "AUTH_REQUIRED": "the agent asks for authentication",
}
_ROLES: Mapping[Any, Role] = {"ROLE_USER": "user", "ROLE_AGENT": "assistant"}
_POLL_S = 0.2
_LONGEST_POLL_S = 2.0
_MAX_RAW = 200
"""Maximum number of bytes of a file that are recorded, as base64."""


def make_agent(terms: AgentTerms) -> A2AAgent:
    """Return an agent for one conversation."""
    return A2AAgent(terms)


@dataclass(frozen=True, slots=True)
class _Interface:
    """The address and the protocol of the agent, as stated in its card."""

    url: str
    is_rpc: bool
    tenant: str
    streams: bool
    is_old: bool
    """Whether it speaks 0.3."""


@dataclass(slots=True)
class _ReceivedTurn:
    """What was received of one turn so far."""

    asked: str
    """The id of the user's message."""
    known: set[str] = field(default_factory=set)
    """The ids of the agent's messages that were taken, because a task repeats them in its history.
    """
    artifacts: dict[str, list[str]] = field(default_factory=dict)
    """The text of each artifact in pieces, as it came."""
    contents: dict[str, str] = field(default_factory=dict)
    """What each of them holds, files and data too, to know it if it comes again in a later turn."""
    repeated: dict[str, Any] | None = None
    """The last artifact that an earlier turn had: it is the answer only if nothing else comes."""
    history: list[tuple[Role, str]] = field(default_factory=list)
    """The conversation as the agent repeats it."""
    events: list[dict[str, Any]] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)
    state: str = ""
    task: str = ""
    message: str = ""
    """The text of the agent's message, or of the status that ended the turn."""
    last: str = ""
    """The text of the agent's last message in the task's history: some agents have their answer
    only there.
    """
    is_message: bool = False
    more: bool = False
    """Whether the agent sends more after a completed task, as `final: false` in A2A 0.3 says."""

    @property
    def is_over(self) -> bool:
        ended = bool(self.state) and self.state not in _GOES_ON
        return self.is_message or (ended and not (self.more and self.state == "COMPLETED"))

    @property
    def text(self) -> str:
        """The whole answer."""
        parts = [text for pieces in self.artifacts.values() if (text := "".join(pieces))]
        if self.message and self.message not in parts:
            parts.append(self.message)
        return "\n\n".join(parts) or self.last


class A2AAgent:
    """An `Agent` for one conversation."""

    def __init__(self, terms: AgentTerms) -> None:
        self._terms = terms
        self._base = terms.url.rstrip("/")
        self._timeouts = timeouts_of(terms.timeout_s)
        self._state_url = StateUrl(terms.target.object_context_url, self._timeouts)
        self._connection = self._connected("Authorization", VERSION)
        self._interface: _Interface | None = None
        self.identity = ""
        """The name and version in its card."""
        # Not every agent accepts an id from us; it must if its state is read by that id.
        self._context = str(uuid.uuid4()) if self._state_url.names_session else ""
        self._open_task = ""
        self._earlier: dict[str, str] = {}
        """What each artifact of earlier turns holds, by its name, to know it if it comes again:
        some servers list all of a context, and a task has those of all its turns.
        """
        self._unfinished = ""
        """The task that was still at work when its answer was no longer waited for."""

    def _connected(self, header: str, version: str) -> Connection:
        """Return connections that send the key in a header, as a bearer token or unchanged."""
        key = self._terms.key
        own = dict(self._terms.headers)
        if key and not any(name.lower() == header.lower() for name in own):
            own[header] = f"Bearer {key}" if header == "Authorization" else key
        headers = {"A2A-Version": version, **own}
        return Connection(
            (self._base,),
            self._timeouts,
            headers=headers,
            secrets=(key or "", *self._terms.secrets),
        )

    async def open(self) -> str:
        """Read the agent's card; return the id of the context, empty until the agent has given one.

        Raises:
            PeerError: there is no card, or what it says cannot be done.
        """
        url = self._base if self._base.endswith(".json") else self._base + CARD
        card = await self._card(url)
        values = (card.get(name) for name in ("name", "version"))
        self.identity = " ".join(text.strip() for text in values if isinstance(text, str))
        self._interface = self._chosen(card, host_of_url(url))
        header = _key_header(card)
        if header is not None and not may_be_set(header):
            raise PeerError(
                "agent",
                f"the agent card of {host_of_url(url)} wants the key in the header"
                f" {clean_line(header, 80)!r}, in which no key can be sent",
            )
        if header is not None or self._interface.is_old:
            await self._connection.aclose()
            version = version_0_3.VERSION if self._interface.is_old else VERSION
            self._connection = self._connected(header or "Authorization", version)
        return self._context

    async def _card(self, url: str) -> dict[str, Any]:
        """Return the agent card at `url`; if nothing is there, the one where older agents have it,
        unless the job gives the card's own URL.

        Raises:
            PeerError: there is no card; of two that are missing, the one at `url` is named.
        """
        is_given = url == self._base
        try:
            return await self._connection.object("GET", url)
        except PeerError as error:
            if error.status != 404 or is_given:
                raise
            missing = error
        try:
            return await self._connection.object("GET", self._base + OLDER_CARD)
        except PeerError:
            raise missing from None

    def _chosen(self, card: Mapping[str, Any], host: str) -> _Interface:
        """Return the first supported interface of the agent card, of 1.0 if there is one.

        Raises `PeerError`.
        """

        def wrong(what: str) -> PeerError:
            return PeerError(
                "agent", f"{host}: {what}", received=received_text(json.dumps(card)), unusable=True
            )

        listed = objects(card.get("supportedInterfaces")) + version_0_3.interfaces(card)
        usable = [one for one in listed if isinstance(one.get("url"), str)]
        if not usable:
            raise wrong(
                "its agent card lists no supportedInterfaces, and has no url as A2A 0.3 has"
            )
        spoken = [
            *(one for one in usable if _speaks(one, "1", ("JSONRPC", "HTTP+JSON"))),
            *(one for one in usable if _speaks(one, "0", ("JSONRPC",))),
        ]
        if not spoken:
            has = ", ".join(
                clean_line(f"{one.get('protocolBinding')} {one.get('protocolVersion')}", 40)
                for one in usable[:5]
            )
            raise wrong(
                "its agent card has no interface for JSONRPC or HTTP+JSON of A2A 1.0, or JSONRPC"
                f" of 0.3; it has {has}"
            )
        chosen = next((one for one in spoken if self._terms.may_call(one["url"])), None)
        if chosen is None:
            other = host_of_url(spoken[0]["url"])
            raise PeerError(
                "agent",
                f"the agent card of {host} names another host, {other}; "
                f"pass --allow-host {other} to send transcripts and keys there",
            )
        capabilities = card.get("capabilities")
        streams = bool(isinstance(capabilities, dict) and capabilities.get("streaming"))
        url, is_rpc = chosen["url"], chosen["protocolBinding"] == "JSONRPC"
        if not is_rpc:  # a path is added to it
            url = url.rstrip("/")
        return _Interface(
            url,
            is_rpc,
            str(chosen.get("tenant") or ""),
            streams and self._terms.target.streaming,
            _speaks(chosen, "0", ("JSONRPC",)),
        )

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send one message; yield pieces as they arrive and, last, the `Reply`.

        Raises `PeerError`.
        """
        assert self._interface is not None
        interface, turn = self._interface, _ReceivedTurn(str(uuid.uuid4()))
        message: dict[str, Any] = {
            "messageId": turn.asked,
            "role": "ROLE_USER",
            "parts": [{"text": content}],
        }
        if self._context:
            message["contextId"] = self._context
        if self._open_task:
            message["taskId"] = self._open_task
        asked: dict[str, Any] = {"message": message, "configuration": {}}
        method, path = "SendMessage", "send"
        if interface.streams:
            method, path = "SendStreamingMessage", "stream"
            # Without a stream, the history is all that tells what the agent said and called while
            # it worked.
            asked["configuration"] = {"historyLength": 0}
        self._unfinished = ""
        try:
            async for piece in self._exchange(method, path, asked, turn):
                yield piece
        finally:
            # If nobody waits for the answer any more, `aclose` cancels the task.
            self._unfinished = "" if turn.is_over else turn.task

    async def _exchange(
        self, method: str, path: str, asked: dict[str, Any], turn: _ReceivedTurn
    ) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send the message, and take what comes back into the turn. Raises `PeerError`."""
        assert self._interface is not None
        interface = self._interface
        first_token: float | None = None
        arrivals = self._connection.arrivals
        accept = "application/json"
        if interface.streams:
            accept = f"{EVENT_STREAM}, {accept}"
        async with self._call(method, f"/message:{path}", asked, accept) as (response, frames):
            started = response.extensions["exchange"].started
            ended = started
            async for frame in frames:
                ended = arrivals.last()
                for piece in self._take(frame, turn):
                    if first_token is None and isinstance(piece, Delta) and is_stream(response):
                        first_token = ended
                    yield piece
                if turn.is_over:
                    break
            await drain(frames)
        turn.more = False
        if not turn.is_over and turn.task:
            async for piece in self._polled(turn, started + self._timeouts.whole):
                yield piece
            ended = arrivals.last()
        for piece in self._repeated(turn):
            yield piece
        self._require_answer(turn)
        self._earlier |= turn.contents
        text, streamed = turn.text, "".join(turn.streamed)
        if streamed and text.startswith(streamed) and text != streamed:
            yield Delta(text[len(streamed) :])
        self._open_task = turn.task if turn.state == "INPUT_REQUIRED" else ""
        events = tuple(turn.events)
        yield Reply(
            text, started, ended, first_token, events, session=self._context, history=turn.history
        )

    def _require_answer(self, turn: _ReceivedTurn) -> None:
        """Raise `PeerError` unless the turn ended with an answer."""
        if turn.is_message or turn.state in _ENDS_THE_TURN:
            if not turn.text.strip() and not turn.events:
                raise PeerError("agent", "the agent's answer was empty", unusable=True)
            return
        if turn.state in _FAILS:
            message = turn.message or turn.last
            what = f"{_FAILS[turn.state]} ({_STATE}{turn.state})"
            if message:
                what += f": {shorten(clean_line(message, 400), 300)}"
            status = 401 if turn.state == "AUTH_REQUIRED" else None
            self._open_task = ""
            raise PeerError(
                "agent",
                what,
                status=status,
                received=message[:500],
            )
        if turn.state and turn.state not in _GOES_ON:
            shown = clean_line(turn.state, 60)
            raise PeerError(
                "agent", f"the agent's task ended in the state {shown}, which A2A does not have"
            )
        raise PeerError("agent", "the agent's answer ended before its task was finished")

    def _call(
        self, method: str, path: str, params: dict[str, Any], accept: str = "application/json"
    ) -> _A2ACall:
        assert self._interface is not None
        interface = self._interface
        if interface.is_rpc:
            if interface.is_old:
                method, params = version_0_3.METHODS[method], version_0_3.params(params)
            if interface.tenant:
                params = {"tenant": interface.tenant, **params}
            body = {
                "jsonrpc": "2.0",
                "id": str(uuid.uuid4()),
                "method": method,
                "params": params,
            }
            return _A2ACall(
                self._connection,
                "POST",
                interface.url,
                body,
                accept,
                is_rpc=True,
                is_old=interface.is_old,
            )
        url = interface.url
        if interface.tenant:
            url += f"/{quote(interface.tenant, safe='')}"
        url += path
        if ":" in path.rpartition("/")[2]:
            return _A2ACall(self._connection, "POST", url, params, accept, is_rpc=False)
        return _A2ACall(self._connection, "GET", url, None, accept, is_rpc=False)

    async def _polled(
        self, turn: _ReceivedTurn, until: float
    ) -> AsyncGenerator[Delta | Generation, None]:
        """Poll a task until it ends: an agent may answer before the task is finished."""
        wait_s = _POLL_S
        while not turn.is_over:
            if time.monotonic() + wait_s > until:
                what = f"did not finish its task within {self._timeouts.whole:g} s"
                raise PeerError("agent", f"{host_of_url(self._base)} {what}")
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 1.5, _LONGEST_POLL_S)
            params = {"id": turn.task}
            path = f"/tasks/{quote(turn.task, safe='')}"
            async with self._call("GetTask", path, params) as (_, frames):
                async for frame in frames:
                    if "task" not in frame:
                        frame = {"task": frame}
                    for piece in self._take(frame, turn):
                        yield piece

    def _take(self, frame: Mapping[str, Any], turn: _ReceivedTurn) -> list[Delta | Generation]:
        """Add a frame's content to the turn; return the pieces to show."""
        pieces: list[Delta | Generation] = []
        tell = partial(_tell, turn, pieces)
        match frame:
            case {"message": dict(message)} if message.get("taskId") and turn.state in _GOES_ON:
                self._while_working(message, turn, tell, pieces)
            case {"message": dict(message)}:
                self._learn(message)
                turn.is_message, turn.message = True, self._parts(message.get("parts"), tell)
            case {"task": dict(task)}:
                self._learn(task)
                turn.task = str(task.get("id") or turn.task)
                self._history(objects(task.get("history")), turn, tell)
                for made in objects(task.get("artifacts")):
                    if _name(made) not in turn.artifacts:
                        self._artifact(made, turn, tell, pieces, append=False)
                self._status(task.get("status"), turn, tell)
            case {"statusUpdate": dict(update)}:
                self._learn(update)
                turn.task = str(update.get("taskId") or turn.task)
                turn.more = update.get("final") is False
                for event in _agno_call(update.get("metadata")):
                    tell(event)
                self._status(update.get("status"), turn, tell)
            case {"artifactUpdate": {"artifact": dict(artifact)} as update}:
                self._learn(update)
                turn.task = str(update.get("taskId") or turn.task)
                self._artifact(artifact, turn, tell, pieces, append=bool(update.get("append")))
            case _:
                tell(clean_value({"frame": dict(frame)}))
        return pieces

    def _learn(self, source: Mapping[str, Any]) -> None:
        """Use the context's id from the agent."""
        if isinstance(context := source.get("contextId"), str) and context:
            self._context = context

    def _while_working(
        self,
        message: Mapping[str, Any],
        turn: _ReceivedTurn,
        tell: Any,
        pieces: list[Delta | Generation],
    ) -> None:
        """Take a message of a task that is at work: a piece of the answer, which some agents (agno)
        send so.
        """
        self._learn(message)
        metadata = message.get("metadata")
        if isinstance(metadata, dict) and metadata.get("agno_content_category") == "reasoning":
            self._progress(turn.state, message, turn, tell)
            return
        piece = {"artifactId": message.get("messageId"), "parts": message.get("parts")}
        self._artifact(piece, turn, tell, pieces, append=True)

    def _history(self, messages: list[dict[str, Any]], turn: _ReceivedTurn, tell: Any) -> None:
        """Keep the history, and record what the agent said in this turn while it worked."""
        turn.history = [
            (_ROLES[role], _text(one)) for one in messages if (role := one.get("role")) in _ROLES
        ]
        asked = next(
            (at for at, one in enumerate(messages) if one.get("messageId") == turn.asked),
            len(messages),
        )
        for message in messages[asked + 1 :]:
            if message.get("role") == "ROLE_AGENT":
                self._progress("WORKING", message, turn, tell)
        if messages and messages[-1].get("role") == "ROLE_AGENT":
            turn.last = self._parts(messages[-1].get("parts"), lambda event: None)

    def _progress(
        self, state: str, message: Mapping[str, Any], turn: _ReceivedTurn, tell: Any
    ) -> None:
        """Record a message that is not part of the answer, once."""
        name = str(message.get("messageId") or "")
        if name in turn.known:
            return
        if name:
            turn.known.add(name)
        if text := self._parts(message.get("parts"), tell):
            tell(clean_value({"status": state, "message": text}))

    def _status(self, status: Any, turn: _ReceivedTurn, tell: Any) -> None:
        if not isinstance(status, dict):
            return
        turn.state = str(status.get("state") or "").removeprefix(_STATE)
        message = status.get("message")
        if turn.state in _GOES_ON:
            if isinstance(message, dict):
                self._progress(turn.state, message, turn, tell)
            return
        turn.message = ""
        if isinstance(message, dict):
            turn.message = self._parts(message.get("parts"), tell)
        if turn.state != "COMPLETED":
            tell(clean_value({"status": turn.state, "task": turn.task, "context": self._context}))

    def _artifact(
        self,
        artifact: Mapping[str, Any],
        turn: _ReceivedTurn,
        tell: Any,
        pieces: list[Delta | Generation],
        *,
        append: bool,
    ) -> None:
        name, content = _name(artifact), _content(artifact)
        if not append and name not in turn.artifacts and self._earlier.get(name) == content:
            turn.repeated = dict(artifact)
            return
        if append and turn.repeated is not None and _name(turn.repeated) == name:
            self._take_repeated(turn, tell, pieces)
        text = self._parts(artifact.get("parts"), tell)
        is_new = name not in turn.artifacts
        if append:
            turn.artifacts.setdefault(name, []).append(text)
            turn.contents[name] = turn.contents.get(name, "") + content
        else:
            turn.artifacts[name], turn.contents[name] = [text], content
        if not text or not (append or is_new):
            return
        gap = "\n\n" if is_new and turn.streamed else ""
        turn.streamed.append(gap + text)
        pieces.append(Delta(gap + text))

    def _repeated(self, turn: _ReceivedTurn) -> list[Delta | Generation]:
        """Take the artifact that an earlier turn had, too, if the turn has nothing else: the agent
        says the same again.
        """
        pieces: list[Delta | Generation] = []
        if (
            turn.is_over
            and turn.state in _ENDS_THE_TURN
            and not turn.text.strip()
            and not turn.artifacts
        ):
            self._take_repeated(turn, partial(_tell, turn, pieces), pieces)
        return pieces

    def _take_repeated(
        self, turn: _ReceivedTurn, tell: Any, pieces: list[Delta | Generation]
    ) -> None:
        artifact, turn.repeated = turn.repeated, None
        if artifact is not None:
            del self._earlier[_name(artifact)]
            self._artifact(artifact, turn, tell, pieces, append=False)

    def _parts(self, parts: Any, tell: Any) -> str:
        """Return the text of some parts, and record the others as events."""
        if not isinstance(parts, list):
            return ""
        texts = []
        for part in parts:
            if not isinstance(part, dict):
                tell(clean_value({"part": part}))
            elif isinstance(part.get("text"), str):
                texts.append(clean(part["text"]))
            else:
                for event in _part_events(part):
                    tell(event)
        return "".join(texts)

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context from the job's URL; None without one. Raises `PeerError`."""
        return await self._state_url.read(self._context)

    async def seed_text(self, text: str) -> None:
        """Raise `PeerError`: the protocol has no knowledge service."""
        raise PeerError("knowledge", "an A2A agent does not accept texts", status=404)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Return False: the protocol cannot transmit a message without an answer."""
        return False

    async def aclose(self) -> None:
        """Cancel the task that is still at work, if there is one, and close every connection."""
        task, self._unfinished = self._unfinished, ""
        if task:
            with contextlib.suppress(TimeoutError, PeerError):
                async with asyncio.timeout(TAIL_S):
                    path = f"/tasks/{quote(task, safe='')}:cancel"
                    async with self._call("CancelTask", path, {"id": task}) as (_, frames):
                        await drain(frames)
        await self._connection.aclose()


class _A2ACall:
    """One call: its answer, and the frames in it."""

    def __init__(
        self,
        connection: Connection,
        verb: str,
        url: str,
        body: Any,
        accept: str,
        *,
        is_rpc: bool,
        is_old: bool = False,
    ) -> None:
        self._host = host_of_url(url)
        self._asked = connection.asked(verb, url, body, accept=accept)
        self._is_rpc = is_rpc
        self._is_old = is_old

    async def __aenter__(self) -> tuple[httpx2.Response, AsyncIterator[dict[str, Any]]]:
        response = await self._asked.__aenter__()
        return response, self._frames(response)

    async def __aexit__(self, *raised: Any) -> None:
        await self._asked.__aexit__(*raised)

    async def _frames(self, response: httpx2.Response) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the agent's results without their JSON-RPC envelope: one from a whole answer, one
        from each event of a stream.

        Raises:
            PeerError: one is no object, or an error of the agent.
        """
        if not is_stream(response):
            data = await response.aread()
            content_type = response.headers.get("Content-Type", "")
            yield self._result(parse_object("agent", self._host, data, content_type))
            return
        async for event in stream_of(response):
            if not event.data.strip():
                continue
            frame = self._result(parse_object("agent", self._host, event))
            if event.event == "error":
                raise self._failed(frame)
            yield frame

    def _result(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the result in a JSON-RPC answer, in the form of 1.0; without JSON-RPC, the answer.

        Raises:
            PeerError: it is an error, or has no result.
        """
        if isinstance(error := value.get("error"), dict):
            raise self._failed(error)
        if not self._is_rpc:
            return value
        result = value.get("result")
        if not isinstance(result, dict):
            raise PeerError(
                "agent",
                f"{self._host} answered with neither result nor error",
                received=received_text(json.dumps(value)),
                unusable=True,
            )
        if self._is_old:
            return version_0_3.frame(result)
        return result

    def _failed(self, error: Mapping[str, Any]) -> PeerError:
        code, message = error.get("code"), clean_line(str(error.get("message") or ""), 300)
        shown = f" {code}" if code is not None else ""
        return PeerError(
            "agent",
            f"{self._host} answered with the error{shown}: {message}",
            received=received_text(json.dumps(error)),
        )


def _tell(turn: _ReceivedTurn, pieces: list[Delta | Generation], event: dict[str, Any]) -> None:
    turn.events.append(event)
    pieces.append(Generation(event))


def _name(artifact: Mapping[str, Any]) -> str:
    return str(artifact.get("artifactId") or artifact.get("name") or "")


def _text(holder: Mapping[str, Any]) -> str:
    """Return the text of a message's or an artifact's parts."""
    texts = (part.get("text") for part in objects(holder.get("parts")))
    return "".join(text for text in texts if isinstance(text, str))


def _content(artifact: Mapping[str, Any]) -> str:
    """Return what an artifact holds: its text, and a digest of its other parts."""
    others = [
        part for part in objects(artifact.get("parts")) if not isinstance(part.get("text"), str)
    ]
    content = _text(artifact)
    if others:
        content += hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()
    return content


def _speaks(interface: Mapping[str, Any], major: str, bindings: tuple[str, ...]) -> bool:
    """Return whether an interface of a card has one of the bindings in this major version."""
    version = str(interface.get("protocolVersion") or VERSION)
    return interface.get("protocolBinding") in bindings and version.partition(".")[0] == major


def _key_header(card: Mapping[str, Any]) -> str | None:
    """Return the header in which a card wants the agent's key; None for a bearer token."""
    schemes = card.get("securitySchemes")
    if not isinstance(schemes, dict):
        return None
    for scheme in objects([*schemes.values()]):
        inner = scheme.get("apiKeySecurityScheme", scheme)
        if not isinstance(inner, dict) or not inner.get("name"):
            continue
        if inner.get("location") == "header" or (inner.get("type"), inner.get("in")) == (
            "apiKey",
            "header",
        ):
            return str(inner["name"])
    return None


def _whole(value: Any) -> Any:
    """Return JSON with 5 for 5.0, because protobuf turns every number into a floating-point
    number.
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


def _agno_call(metadata: Any) -> list[dict[str, Any]]:
    """Return the tool call that agno tells in a status update's metadata; its result is not
    told.
    """
    if not isinstance(metadata, dict) or metadata.get("agno_event_type") != "tool_call_started":
        return []
    arguments = metadata.get("tool_args")
    given = parse_arguments(arguments) if isinstance(arguments, str) else {}
    return [
        call_event(str(metadata.get("tool_name")), given, str(metadata.get("tool_call_id") or ""))
    ]


def _part_events(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a part without text as an event: a tool call, its result, or the part unchanged.

    A2A does not define tool calls. Recognised are the events of the REST API, and those of Google's
    Agent Development Kit (`adk_type: function_call` and `function_response` in the part's
    metadata).
    """
    data, metadata = _whole(part.get("data")), part.get("metadata")
    if isinstance(data, dict):
        kind = metadata.get("adk_type") if isinstance(metadata, dict) else None
        call_id = str(data.get("id") or "")
        if kind == "function_call":
            return [call_event(str(data.get("name")), data.get("args") or {}, call_id)]
        if kind == "function_response":
            response = data.get("response")
            failed = isinstance(response, dict) and bool(response.get("error"))
            return [result_event(response, call_id, failed=failed)]
        if request_of(data) is not None or result_of(data) is not None:
            return [clean_value(data)]
    shown = dict(part)
    if "data" in part:
        shown["data"] = data
    if isinstance(raw := shown.get("raw"), str):
        shown |= {"raw": raw[:_MAX_RAW], "bytes": bytes_of(raw)}
    return [clean_value({"part": shown})]
