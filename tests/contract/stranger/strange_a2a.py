"""A2A 1.0 as another package would write it: with what docs/plugins.md tells, and nothing else of
this program.
"""

import asyncio
import uuid
from contextlib import asynccontextmanager, suppress

from bioeval_tui.http_agents import (
    EVENT_STREAM,
    TAIL_S,
    Connection,
    StateUrl,
    call_event,
    clean,
    clean_line,
    clean_value,
    drain,
    host_of_url,
    is_stream,
    objects,
    parse_object,
    result_event,
    stream_of,
    timeouts_of,
)
from bioeval_tui.protocols import AgentProtocol, Delta, Generation, PeerError, Reply

protocol = AgentProtocol(
    "strange-a2a",
    about="A2A 1.0, by somebody else",
    maker="strange_a2a:StrangeAgent",
    tells={
        "pieces": "✓",
        "tool calls": "as data parts",
        "tool results": "as data parts",
        "state": "by URL",
    },
    uses=("objectContextUrl", "headers", "headersEnv", "streaming", "apiKeyEnv"),
    begins="sent its agent card",
)


class Turn:
    """What came of one turn."""

    def __init__(self):
        self.state = self.task = self.said = ""
        self.artifacts, self.events, self.shown, self.seen = {}, [], "", set()

    @property
    def text(self):
        return "\n\n".join(filter(None, [*self.artifacts.values(), self.said]))

    def tell(self, event):
        self.events.append(event)
        return Generation(event)

    def take(self, frame):
        """Yield what a frame has to show."""
        if message := frame.get("message"):
            self.state = "COMPLETED"
            self.said = yield from self.parts(message)
        for task in filter(None, (frame.get("task"), frame.get("statusUpdate"))):
            self.task = task.get("taskId") or task.get("id") or ""
            for message in objects(task.get("history")):
                yield from self.progress(message)
            for artifact in objects(task.get("artifacts")):
                yield from self.artifact(artifact)
            yield from self.status(task["status"])
        if update := frame.get("artifactUpdate"):
            yield from self.artifact(update["artifact"])

    def status(self, status):
        self.state, message = (
            status["state"].removeprefix("TASK_STATE_"),
            status.get("message") or {},
        )
        if self.state in ("SUBMITTED", "WORKING"):
            yield from self.progress(message)
        else:
            self.said = yield from self.parts(message)

    def progress(self, message):
        """Yield, once, what the agent says while it works."""
        if message.get("role") != "ROLE_AGENT" or message["messageId"] in self.seen:
            return
        self.seen.add(message["messageId"])
        if said := (yield from self.parts(message)):
            yield self.tell({"status": "WORKING", "message": said})

    def artifact(self, artifact):
        name, text = artifact["artifactId"], (yield from self.parts(artifact))
        gap = "\n\n" if self.shown and name not in self.artifacts else ""
        self.artifacts[name] = self.artifacts.get(name, "") + text
        self.shown += gap + text
        yield Delta(gap + text)

    def parts(self, holder):
        """Yield the parts that are no text as events; return the text."""
        texts = []
        for part in objects(holder.get("parts")):
            data, kind = part.get("data"), (part.get("metadata") or {}).get("adk_type")
            if "text" in part:
                texts.append(clean(part["text"]))
            elif kind == "function_call":
                yield self.tell(call_event(data["name"], data["args"], data["id"]))
            elif kind == "function_response":
                yield self.tell(result_event(data["response"], data["id"], failed=False))
            else:
                yield self.tell(clean_value({"part": part}))
        return "".join(texts)


class StrangeAgent:
    """An agent of one conversation."""

    def __init__(self, terms):
        self.terms, self.timeouts = terms, timeouts_of(terms.timeout_s)
        self.state_url = StateUrl(terms.target.object_context_url, self.timeouts)
        self.context = str(uuid.uuid4()) if self.state_url.names_session else ""
        self.connection = self.connected("Authorization", f"Bearer {terms.key}")
        self.open_task = self.unfinished = ""

    def connected(self, header, value):
        headers = {
            "A2A-Version": "1.0",
            **({header: value} if self.terms.key else {}),
            **self.terms.headers,
        }
        secrets = (self.terms.key or "", *self.terms.secrets)
        return Connection((self.terms.url,), self.timeouts, headers=headers, secrets=secrets)

    async def open(self):
        host = host_of_url(self.terms.url)
        card = await self.connection.object(
            "GET", f"{self.terms.url.rstrip('/')}/.well-known/agent-card.json"
        )
        spoken = [
            one
            for one in objects(card.get("supportedInterfaces"))
            if one["protocolBinding"] in ("JSONRPC", "HTTP+JSON")
            and one["protocolVersion"].startswith("1.")
        ]
        if not spoken:
            raise PeerError(
                "agent", f"the agent card of {host} has no interface of A2A 1.0", unusable=True
            )
        allowed = [one for one in spoken if self.terms.may_call(one["url"])]
        if not allowed:
            other = host_of_url(spoken[0]["url"])
            raise PeerError(
                "agent", f"{host} names another host, {other}; pass --allow-host {other}"
            )
        self.url, self.is_rpc = allowed[0]["url"], allowed[0]["protocolBinding"] == "JSONRPC"
        self.streams = self.terms.target.streaming and card.get("capabilities", {}).get(
            "streaming", False
        )
        for scheme in card.get("securitySchemes", {}).values():
            if (key := scheme.get("apiKeySecurityScheme", {})).get("location") == "header":
                await self.connection.aclose()
                self.connection = self.connected(key["name"], self.terms.key)
        return self.context

    @asynccontextmanager
    async def call(self, method, path, params):
        """Give the response to one call, and its frames."""
        url, body = (self.url, {"jsonrpc": "2.0", "id": "1", "method": method, "params": params})
        if not self.is_rpc:
            url, body = self.url.rstrip("/") + path, params
        accept = f"{EVENT_STREAM}, application/json"
        async with self.connection.asked("POST", url, body, accept=accept) as response:
            yield response, self.frames(response)

    async def frames(self, response):
        if not is_stream(response):
            yield self.unwrapped(await response.aread())
            return
        async for event in stream_of(response):
            if event.data.strip():
                yield self.unwrapped(event.data)

    def unwrapped(self, data):
        value = parse_object("agent", host_of_url(self.url), data)
        if error := value.get("error") or (value if "code" in value else None):
            raise PeerError(
                "agent", f"the agent answered with an error: {clean_line(str(error), 300)}"
            )
        return value["result"] if self.is_rpc else value

    async def send(self, content):
        turn, first_token = Turn(), None
        ids = {"contextId": self.context, "taskId": self.open_task}
        message = {
            "messageId": str(uuid.uuid4()),
            "role": "ROLE_USER",
            "parts": [{"text": content}],
        }
        message |= {name: value for name, value in ids.items() if value}
        method, path = (
            ("SendStreamingMessage", "stream") if self.streams else ("SendMessage", "send")
        )
        try:
            async with self.call(method, f"/message:{path}", {"message": message}) as (
                response,
                frames,
            ):
                started = response.extensions["exchange"].started
                async for frame in frames:
                    for told in filter(
                        None, (frame.get(name) for name in ("message", "task", "statusUpdate"))
                    ):
                        self.context = told.get("contextId") or self.context
                    for piece in turn.take(frame):
                        if self.streams and isinstance(piece, Delta):
                            first_token = first_token or self.connection.arrivals.last()
                        yield piece
                await drain(frames)
        finally:
            self.unfinished = turn.task if turn.state in ("SUBMITTED", "WORKING") else ""
        if turn.state not in ("COMPLETED", "INPUT_REQUIRED"):
            status = 401 if turn.state == "AUTH_REQUIRED" else None
            raise PeerError("agent", f"the task ended as {turn.state}: {turn.said}", status=status)
        self.open_task = turn.task if turn.state == "INPUT_REQUIRED" else ""
        if turn.text != turn.shown:
            yield Delta(turn.text.removeprefix(turn.shown))
        yield Reply(
            turn.text, started, self.connection.arrivals.last(), first_token, tuple(turn.events)
        )

    async def observe(self):
        return await self.state_url.read(self.context)

    async def seed_text(self, text):
        raise PeerError("knowledge", "an A2A agent does not accept texts", status=404)

    async def seed_history(self, role, content):
        return False

    async def aclose(self):
        if self.unfinished:
            with suppress(TimeoutError, PeerError):
                async with asyncio.timeout(TAIL_S):
                    path, params = f"/tasks/{self.unfinished}:cancel", {"id": self.unfinished}
                    async with self.call("CancelTask", path, params) as (_, frames):
                        await drain(frames)
        await self.connection.aclose()
