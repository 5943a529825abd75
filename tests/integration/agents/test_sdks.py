"""The agents of docs/agents.md and docs/traces.md, on the published packages: LangGraph, the OpenAI
Agents SDK, pydantic-ai.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bioeval_tui.evaluation.engine.span_receiver import receive_spans
from bioeval_tui.formats import paired
from bioeval_tui.peers.traces import Traces
from tests.integration.agents.test_same_conversation import JOB
from tests.servers.one_conversation import answer
from tests.servers.openai_server import OpenAIServer, call_tool, say
from tests.servers.whole_runs import hold

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLES = dict(
    re.findall(
        r"<!-- file: (\S+)\.py -->\n```python\n(.*?)```",
        (DOCS / "agents.md").read_text("utf-8") + (DOCS / "traces.md").read_text("utf-8"),
        re.DOTALL,
    )
)

GRAPH = """
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from tests.servers.one_conversation import answer

def model(state):
    said = [one.content for one in state["messages"] if one.type == "human"]
    steps, text = answer(said)
    done = 0
    for one in reversed(state["messages"]):
        if one.type == "human":
            break
        done += one.type == "tool"
    if done < len(steps):
        step = steps[done]
        return {"messages": AIMessage("", tool_calls=[\
{"name": step.name, "args": step.arguments, "id": f"{len(said)}-{done}"}])}
    return {"messages": AIMessage(text)}

def tools(state):
    (call,) = state["messages"][-1].tool_calls
    said = [one.content for one in state["messages"] if one.type == "human"]
    step = next(one for one in answer(said)[0] if one.name == call["name"])
    return {"messages": ToolMessage(step.result, tool_call_id=call["id"], name=call["name"])}

made = StateGraph(MessagesState)
made.add_node("model", model)
made.add_node("tools", tools)
made.add_edge(START, "model")
made.add_conditional_edges("model", lambda state: \
"tools" if state["messages"][-1].tool_calls else "__end__")
made.add_edge("tools", "model")
graph = made.compile(checkpointer=InMemorySaver())
"""

TOOLS = '''
from tests.servers.one_conversation import answer

def lookUpDrug(drug: str) -> str:
    """Looks up a drug."""
    return "found"

def lookUpZone(city: str) -> str:
    """Looks up a time zone."""
    return "Australia/Sydney"

def createReminder(dose: int, zone: str) -> str:
    """Makes a reminder."""
    return "ok"
'''

PYDANTIC = (
    TOOLS
    + """
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

def model(messages, info):
    said = [part.content for one in messages for part in one.parts \
if part.part_kind == "user-prompt"]
    steps, text = answer(said)
    done = 0
    for part in (part for one in reversed(messages) for part in reversed(one.parts)):
        if part.part_kind == "user-prompt":
            break
        done += part.part_kind == "tool-return"
    if done < len(steps):
        return ModelResponse(parts=[ToolCallPart(steps[done].name, steps[done].arguments)])
    return ModelResponse(parts=[TextPart(text)])

agent = Agent(FunctionModel(model), tools=[lookUpDrug, lookUpZone, createReminder])
"""
)

AGENTS_SDK = (
    TOOLS
    + """
from agents import Agent, OpenAIChatCompletionsModel, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
client = AsyncOpenAI(api_key="k", base_url={url!r})
tools = [function_tool(one) for one in (lookUpDrug, lookUpZone, createReminder)]
agent = Agent(name="bot", instructions="Be kind.", tools=tools, \
model=OpenAIChatCompletionsModel("m", client))
"""
)


def as_a_model(body: dict[str, Any]) -> Any:
    """Answer as the model of the agent."""
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    steps, text = answer(said)
    done = 0
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            break
        done += message["role"] == "tool"
    if done == len(steps):
        return say(text)
    return call_tool(steps[done].name, steps[done].arguments, call_id=f"call-{len(said)}-{done}")


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[Path]:
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("example", ["langgraph_agent", "pydantic_agent", "openai_agent"])
@pytest.mark.long
async def test_an_agent_built_with_a_published_sdk_can_be_evaluated(
    example: str, folder: Path
) -> None:
    code = folder / "code"
    code.mkdir()
    async with OpenAIServer(otherwise=as_a_model) as server:
        (code / f"{example}.py").write_text(EXAMPLES[example], encoding="utf-8")
        (code / "my_graph.py").write_text(GRAPH, encoding="utf-8")
        mine = (
            PYDANTIC
            if example == "pydantic_agent"
            else AGENTS_SDK.replace("{url!r}", repr(server.url))
        )
        (code / "my_agent.py").write_text(mine, encoding="utf-8")
        target = {**JOB["target"], "protocol": "python", "function": f"{example}:answer"}
        run = await hold(
            yaml.safe_dump({**JOB, "target": target}), folder, graph="none", code=(str(code),)
        )
        if example == "openai_agent":
            await sys.modules["my_agent"].client.close()
    supplied = next(
        talk for key, talk in run.state.conversations.items() if key.condition == "supplied"
    )
    assert [check.status for check in supplied.final_checks.values()] == ["passed"] * 3, (
        supplied.final_checks
    )
    assert supplied.score is not None
    assert supplied.score.score == 1.0
    results = [
        (request["function"]["name"], result)
        for message in supplied.messages
        for request, result in paired(message.generation)
        if request is not None
    ]
    assert results == [
        ("lookUpDrug", ("found", False)),
        ("lookUpZone", ("Australia/Sydney", False)),
        ("createReminder", ("ok", False)),
    ]


def test_each_example_agent_is_about_ten_lines() -> None:
    assert len(EXAMPLES) == 4
    for text in EXAMPLES.values():
        assert len([line for line in text.splitlines() if line.strip()]) <= 14


async def test_an_agent_that_reports_no_tool_calls_is_known_by_its_spans(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = folder / "code"
    code.mkdir()
    (code / "traced_agent.py").write_text(EXAMPLES["traced_agent"], encoding="utf-8")
    (code / "my_agent.py").write_text(PYDANTIC, encoding="utf-8")
    target = {**JOB["target"], "protocol": "python", "function": "traced_agent:answer"}
    traces = Traces()
    async with receive_spans(0, traces) as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "my-agent")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        job = yaml.safe_dump({**JOB, "target": target})
        run = await hold(job, folder, graph="none", code=(str(code),), otlp=0, traces=traces)
        await asyncio.to_thread(sys.modules["traced_agent"].provider.shutdown)
    supplied = next(
        talk for key, talk in run.state.conversations.items() if key.condition == "supplied"
    )
    assert [check.status for check in supplied.final_checks.values()] == ["passed"] * 3, (
        supplied.final_checks
    )
    assert {span.service for message in supplied.messages for span in message.spans} == {"my-agent"}
