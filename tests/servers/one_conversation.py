"""One agent with a tool, served over every protocol; its answers depend only on the user's
messages.

Another function may take the place of `answer`; over A2A it is given the last message alone, and a
Python agent has `answer`.

async with served("a2a") as (target, options):
    …  # the keys of the job's target, and the options of the run
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ag_ui.core import events as ag
from ag_ui.core.types import RunAgentInput
from ag_ui.encoder import EventEncoder
from aiohttp import web

from tests.servers.a2a_agent import Teller, a2a_agent

PROTOCOLS = ("rest", "openai", "responses", "a2a", "a2a over HTTP+JSON", "ag-ui", "python")


@dataclass(frozen=True)
class Step:
    """A tool call with its result."""

    name: str
    arguments: dict[str, Any]
    result: str


def answer(said: Sequence[str]) -> tuple[list[Step], str]:
    """Return what the agent does and says to the last of the user's messages."""
    last = said[-1].lower()
    if "sydney" in last:
        zone = Step("lookUpZone", {"city": "Sydney"}, "Australia/Sydney")
        made = Step("createReminder", {"dose": 5, "zone": "Australia/Sydney"}, "ok")
        return [zone, made], "Done: I'll remind you at nine."
    if "remind me" in last:
        return [
            Step("lookUpDrug", {"drug": "warfarin"}, "found")
        ], "In which time zone do you live?"
    if "rather not" in last:
        return [], "Without your time zone I cannot set a reminder."
    return [], "Hello, how can I help you?"


Answerer = Callable[[Sequence[str]], tuple[list[Step], str]]


@dataclass
class _HttpAgent:
    """The agent over what aiohttp can serve."""

    answer: Answerer = answer
    shows_state: bool = False
    """Whether what `createReminder` made, and `moveReminder` changed, is a resource of the object
    context (REST).
    """
    reports_calls: bool = True
    """Whether its calls are reported (REST)."""
    sessions: dict[str, list[str]] = field(default_factory=dict)

    def routes(self, app: web.Application) -> None:
        app.router.add_put("/api/v1/chat/sessions", self.rest_session)
        app.router.add_put("/api/v1/chat/messages", self.rest_message)
        if self.shows_state:
            app.router.add_get("/api/v1/chat/objectContexts/{session}", self.rest_state)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/v1/responses", self.responses)
        app.router.add_post("/ag-ui", self.ag_ui)

    async def rest_session(self, request: web.Request) -> web.Response:
        session = f"session-{len(self.sessions)}"
        self.sessions[session] = []
        return web.json_response({"sessionId": session})

    async def rest_message(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        said = self.sessions[body["sessionId"]]
        said.append(body["message"]["content"])
        steps, text = self.answer(said)
        events: list[dict[str, Any]] = []
        for step in steps if self.reports_calls else ():
            events += [
                {"request": {"function": {"name": step.name}, "arguments": step.arguments}},
                {"output": step.result},
            ]
        whole = {
            "sessionId": body["sessionId"],
            "message": {"content": text, "role": "assistant"},
            "events": events,
        }
        response = await _stream(request)
        for word in _words(text):
            await _send(response, {"content": word}, "delta")
        await _send(response, whole, "message")
        return response

    async def rest_state(self, request: web.Request) -> web.Response:
        said = self.sessions[request.match_info["session"]]
        steps = [step for turn in range(len(said)) for step in self.answer(said[: turn + 1])[0]]
        made: list[dict[str, Any]] = []
        for number, step in enumerate(steps):
            reminder = {
                "id": f"r{number}",
                "name": "Reminder",
                "labels": ["Reminder"],
                "properties": step.arguments,
            }
            if step.name == "createReminder":
                made.append(reminder)
            elif step.name == "moveReminder":
                made[-1:] = [reminder]
        return web.json_response({"context": "", "resources": made, "functions": []})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        steps, text = self.answer(said)
        done = [message for message in body["messages"] if message["role"] == "tool"]
        todo = steps[
            len(done) - sum(len(self.answer(said[: n + 1])[0]) for n in range(len(said) - 1)) :
        ]
        response = await _stream(request)
        if todo:
            call = {"name": todo[0].name, "arguments": json.dumps(todo[0].arguments)}
            calls = [{"index": 0, "id": f"call-{len(done)}", "type": "function", "function": call}]
            await _send(response, _chunk({"tool_calls": calls}))
        else:
            for word in _words(text):
                await _send(response, _chunk({"content": word}))
        await _send(response, _chunk({}, "tool_calls" if todo else "stop"))
        await response.write(b"data: [DONE]\n\n")
        return response

    async def responses(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        said = [item["content"] for item in body["input"] if item.get("role") == "user"]
        steps, text = self.answer(said)
        done = [item for item in body["input"] if item.get("type") == "function_call_output"]
        todo = steps[
            len(done) - sum(len(self.answer(said[: n + 1])[0]) for n in range(len(said) - 1)) :
        ]
        response = await _stream(request)
        if todo:
            arguments = json.dumps(todo[0].arguments)
            output: dict[str, Any] = {
                "type": "function_call",
                "call_id": f"call-{len(done)}",
                "name": todo[0].name,
                "arguments": arguments,
            }
        else:
            output = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }
            for word in _words(text):
                await _send(response, {"type": "response.output_text.delta", "delta": word})
        whole = {
            "status": "completed",
            "output": [output],
            "usage": {"input_tokens": 9, "output_tokens": 3},
        }
        await _send(response, {"type": "response.completed", "response": whole})
        return response

    async def ag_ui(self, request: web.Request) -> web.StreamResponse:
        asked = RunAgentInput.model_validate(await request.json())
        steps, text = self.answer(
            [message.content for message in asked.messages if message.role == "user"]
        )
        ids = {"thread_id": asked.thread_id, "run_id": asked.run_id}
        events: list[Any] = [ag.RunStartedEvent(**ids)]
        for number, step in enumerate(steps):
            call = f"{asked.run_id}-{number}"
            events += [
                ag.ToolCallStartEvent(tool_call_id=call, tool_call_name=step.name),
                ag.ToolCallArgsEvent(tool_call_id=call, delta=json.dumps(step.arguments)),
                ag.ToolCallEndEvent(tool_call_id=call),
                ag.ToolCallResultEvent(
                    message_id=f"result-{call}", tool_call_id=call, content=step.result
                ),
            ]
        events.append(ag.TextMessageStartEvent(message_id="answer"))
        events += [
            ag.TextMessageContentEvent(message_id="answer", delta=word) for word in _words(text)
        ]
        events += [ag.TextMessageEndEvent(message_id="answer"), ag.RunFinishedEvent(**ids)]
        response = await _stream(request)
        for event in events:
            await response.write(EventEncoder().encode(event).encode())
        return response


PYTHON_AGENT = """
from tests.servers.one_conversation import answer, _words

async def talk(message, conversation):
    said = [one["content"] for one in conversation.messages if one["role"] == "user"]
    steps, text = answer([*said, message])
    for step in steps:
        conversation.tool_called(step.name, step.arguments, step.result)
    for word in _words(text):
        yield word
"""


async def _over_a2a(text: str, agent: Teller, answer: Answerer = answer) -> None:
    steps, said = answer([text])
    await agent.begin()
    for step in steps:
        await agent.call(step.name, step.arguments, step.result)
    if said.endswith("?") and "zone" in said:
        await agent.updates.requires_input(agent.text(said))
    else:
        await agent.artifact(*_words(said))
        await agent.updates.complete()


@asynccontextmanager
async def served(
    protocol: str,
    folder: Path,
    answer: Answerer = answer,
    *,
    shows_state: bool = False,
    reports_calls: bool = True,
) -> AsyncIterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Serve the agent; give the keys of a job's target, and the options of a run.

    Over REST it may show its state, and not report its calls.
    """
    if protocol == "python":
        (folder / "one_conversation_agent.py").write_text(PYTHON_AGENT, encoding="utf-8")
        yield (
            {"protocol": "python", "function": "one_conversation_agent:talk"},
            {"code": (str(folder),)},
        )
        return
    if protocol.startswith("a2a"):
        binding = "HTTP+JSON" if "HTTP" in protocol else "JSONRPC"
        async with a2a_agent(partial(_over_a2a, answer=answer), bindings=(binding,)) as server:
            yield {"protocol": "a2a"}, {"agent_url": server.url}
        return
    app = web.Application()
    _HttpAgent(answer, shows_state, reports_calls).routes(app)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    url = f"http://{host}:{port}"
    try:
        yield _http_target(protocol), {"agent_url": f"{url}/ag-ui" if protocol == "ag-ui" else url}
    finally:
        await runner.cleanup()


def _http_target(protocol: str) -> dict[str, Any]:
    if protocol not in ("openai", "responses"):
        return {"protocol": protocol}
    results = {"lookUpZone": "Australia/Sydney", "createReminder": "ok", "lookUpDrug": "found"}
    tools = [{"name": name, "answer": text} for name, text in results.items()]
    return {
        "protocol": "openai",
        "api": "responses" if protocol == "responses" else "chat",
        "tools": tools,
    }


def _words(text: str) -> list[str]:
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


async def _stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    return response


async def _send(response: web.StreamResponse, data: Any, event: str = "") -> None:
    head = f"event: {event}\n" if event else ""
    await response.write(f"{head}data: {json.dumps(data)}\n\n".encode())
