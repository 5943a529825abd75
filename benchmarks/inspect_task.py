"""The conversations of `throughput.py` as an inspect_ai task; run by that script with inspect_ai's
own Python.
"""

import json
import sys
from datetime import datetime

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, Model, get_model
from inspect_ai.scorer import Score, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

conversations, turns, logs = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def model(name: str) -> Model:
    """Return a model of the chat server."""
    return get_model(f"openai/{name}", responses_api=False)


@solver
def talk() -> Solver:
    """Let one model play the user and another the agent."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        user, agent = model("user"), model("agent")
        for _ in range(turns):
            mirrored = [
                ChatMessageAssistant(content=message.text)
                if message.role == "user"
                else ChatMessageUser(content=message.text)
                for message in state.messages
            ]
            said = await user.generate([ChatMessageUser(content="You play a patient."), *mirrored])
            state.messages.append(ChatMessageUser(content=said.completion))
            answer = await agent.generate(state.messages)
            state.messages.append(ChatMessageAssistant(content=answer.completion))
        return state

    return solve


@scorer(metrics=[accuracy()])
def judged():
    """Let a model judge the transcript."""

    async def score(state: TaskState, target: Target) -> Score:
        text = "\n".join(f"{message.role}: {message.text}" for message in state.messages)
        await model("judge").generate("Score this from 0 to 1:\n" + text)
        return Score(value=1.0)

    return score


log = eval(
    Task(
        dataset=[Sample(input="Hello", target="x") for _ in range(conversations)],
        solver=talk(),
        scorer=judged(),
    ),
    model=model("agent"),
    max_samples=conversations,
    max_connections=conversations,
    max_retries=0,
    log_dir=logs,
    display="none",
)[0]
assert log.status == "success", log.error
assert log.results
assert log.results.completed_samples == conversations
began, ended = (
    datetime.fromisoformat(moment) for moment in (log.stats.started_at, log.stats.completed_at)
)
print(json.dumps((ended - began).total_seconds()))
