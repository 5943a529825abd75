"""Answers of a local OpenAI-compatible server: a user that follows a script, and a consistent
judge.

    models = StandIns(script, evaluator_first=[say("How can I help you?")], judge_first=[say("Well
    done.")]) async with OpenAIServer(otherwise=models) as server: …

`script` is a job with `evaluator.lines`; which of its facts may be given is read from the
evaluator's prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.offline import ScriptedEvaluator
from bioeval_tui.protocols import EvaluatorView, TranscriptMessage, Utterance
from tests.servers import openai_server as srv

LINE = re.compile(r"^\{.*\}$", re.MULTILINE)


def record_in(prompt: str) -> list[TranscriptMessage]:
    """Return the conversation that stands in a prompt."""
    enclosed = re.search(r"<<<(RECORD-\w+)\n(.*)\1>>>", prompt, re.DOTALL)
    assert enclosed is not None
    lines = [json.loads(line) for line in LINE.findall(enclosed.group(2))]
    return [
        TranscriptMessage(n, line["role"], line["content"]) for n, line in enumerate(lines, start=1)
    ]


def said_in(messages: Sequence[dict[str, Any]]) -> list[TranscriptMessage]:
    """Return the conversation in an evaluator's request, where the simulated user has the role of
    the assistant.
    """
    begin = next(
        n for n, message in enumerate(messages) if "(This is a new chat, with" in message["content"]
    )
    said = [
        ("user", json.loads(message["content"])["message"])
        if message["role"] == "assistant"
        else ("assistant", message["content"])
        for message in messages[begin + 1 :]
    ]
    return [TranscriptMessage(n, role, content) for n, (role, content) in enumerate(said, start=1)]


class StandIns:
    """Answers as evaluator where a stream is asked for, else as judge; keeps the prompts that it
    was given.
    """

    def __init__(
        self,
        script: EvaluationJob,
        *,
        evaluator_first: Sequence[srv.Answer] = (),
        judge_first: Sequence[srv.Answer] = (),
        score: float = 0.5,
    ) -> None:
        """The first answers of each are given as they are; then the evaluator keeps to the script,
        and the judge gives every task `score`, with a quotation.
        """
        self.script = script
        self.score = score
        self.evaluator_prompts: list[str] = []
        self.judge_prompts: list[str] = []
        self._evaluator_first = list(evaluator_first)
        self._judge_first = list(judge_first)

    def __call__(self, body: dict[str, Any]) -> srv.Answer:
        """Return the answer to one request."""
        prompt = body["messages"][0]["content"]
        if body.get("stream"):
            self.evaluator_prompts.append(prompt)
            return (
                self._evaluator_first.pop(0)
                if self._evaluator_first
                else self._speak(body["messages"])
            )
        self.judge_prompts.append(prompt)
        return self._judge_first.pop(0) if self._judge_first else self._judge(prompt)

    def _speak(self, messages: Sequence[dict[str, Any]]) -> srv.Answer:
        told = messages[0]["content"]
        facts = self.script.facts if self.script.facts and self.script.facts[0] in told else ()
        view = EvaluatorView(
            self.script, "supplied" if facts else "withheld", 1, facts, said_in(messages)
        )
        pieces = ScriptedEvaluator(self.script).speak(view)

        async def answer(
            server: srv.OpenAIServer, request: web.Request, body: dict[str, Any]
        ) -> web.StreamResponse:
            last = [piece async for piece in pieces][-1]
            assert isinstance(last, Utterance)
            return await srv.say_json({"message": last.content})(server, request, body)

        return answer

    def _judge(self, prompt: str) -> srv.Answer:
        said = next(m.content for m in reversed(record_in(prompt)) if m.role == "assistant")
        tasks = [
            {
                "task": n,
                "scored": task.task,
                "score": self.score,
                "reason": "Seen.",
                "evidence": [said[:40]],
            }
            for n, task in enumerate(self.script.tasks, start=1)
        ]
        return srv.say_json({"tone": 0.75, "tasks": tasks})
