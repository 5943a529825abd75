"""A whole run of an agent that is nothing but an OpenAI-compatible chat endpoint (`target.protocol:
openai`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.servers import openai_server as srv
from tests.servers.whole_runs import hold, with_models

JOB = """
target:
  {user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL", \
systemPrompt: You keep reminders.}
aspirationalAverage: 60000
evaluator: {kind: scripted, lines: [{say: Remind me at 9}]}
scorer: {kind: rules}
facts: []
tasks: [{task: Get a reminder, rules: [{pattern: I set it}]}]
seeds:
  - conversation: [{content: My name is Ada}, {role: assistant, content: Nice to meet you}]
assertions:
  - expression: 'evaluation.functionCalls.any { it.function == "createReminder" && \
it.args["at"] == 9 }'
  - {expression: objectContext == null, invariant: true}
"""


async def test_a_chat_agents_tool_calls_seeds_and_system_prompt_are_recorded(
    tmp_path: Path,
) -> None:
    def answer(body: dict[str, Any]) -> srv.Answer:
        if "Remind" in body["messages"][-1]["content"]:
            return srv.call_tool("createReminder", {"at": 9}, text="I set it.")
        return srv.say("Hello.")

    async with srv.OpenAIServer(otherwise=answer) as agent:
        run = await hold(JOB.replace("URL", agent.url), tmp_path, settings=with_models(agent.url))
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    assert [(seed.what, seed.applied) for seed in run.of("seed_applied", "withheld")] == [
        ("conversation", True)
    ]
    last = agent.received[-1].body
    assert last["model"] == "agent-1"
    said = [(message["role"], message["content"]) for message in last["messages"]]
    assert said[0] == ("system", "You keep reminders.")
    assert ("user", "My name is Ada") in said
    assert ("assistant", "Nice to meet you") in said
    assert said[-1] == ("user", "Remind me at 9")
    told = [
        e.message
        for e in run.of("message_completed", "withheld")
        if {"systemPrompt": "You keep reminders."} in e.generation
    ]
    assert told == [2], "once, with the first answer"
    for held in run.result["conditions"].values():
        assert [message["role"] for message in held["messages"]] == ["user", "assistant"] * 2 + [
            "user"
        ]
        assert all(latency["first_token_ms"] is not None for latency in held["latencies"])
