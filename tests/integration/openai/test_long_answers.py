"""Answers that are no short text: files, pictures within a text, and answers that are longer than a
model's context.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bioeval_tui.evaluation.conversation.scoring import judge_transcript
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.models.evaluator import LLMEvaluator
from bioeval_tui.peers.models.judge import LLMJudge
from bioeval_tui.peers.models.model import ChatModel
from bioeval_tui.peers.retry import RetryRule
from bioeval_tui.protocols import EvaluatorView, JudgeView, TranscriptMessage, Utterance
from bioeval_tui.report.result import load_run
from tests.documents import document_of
from tests.servers import openai_server as srv
from tests.servers.whole_runs import WholeRun, hold, with_models

FULL = {"code": "context_length_exceeded"}
PICTURE = "Here it is: ![scan](data:image/png;base64," + "iVBORw0K" * 110_000 + ") Anything else?"
LONG = (
    "The dose is 5 mg. " + "All work and no play makes Jack a dull boy. " * 4_000 + "Ask me more."
)
SCAN = {
    "part": {"url": "https://files.test/scan.png", "filename": "scan.png", "mediaType": "image/png"}
}
JOB: dict[str, Any] = {
    "target": {
        "user": "ada",
        "chatbot": "bot",
        "protocol": "openai",
        "model": "agent-1",
        "streaming": False,
    },
    "aspirationalAverage": 60000,
    "evaluator": {"model": "user-1", "signoff": "So long"},
    "scorer": {"model": "judge-1"},
    "facts": [],
    "tasks": [{"task": "Learn the dose"}],
    "maxTurns": 4,
}


def asked(body: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


def verdicts(*messages: int, tasks: int = 1) -> srv.Answer:
    given = {"score": 1, "reason": "It says so.", "messages": list(messages), "asked": 0}
    return srv.say_json(
        {"tone": 1, "tasks": [{"task": task, **given} for task in range(1, tasks + 1)]}
    )


def with_context(most: int, answer: srv.Answer) -> Callable[[dict[str, Any]], srv.Answer]:
    """Answer requests of at most so many characters."""
    return lambda body: (
        answer if len(asked(body)) <= most else srv.status(400, "too long", error=FULL)
    )


def served(answer: str, *, most: int) -> Callable[[dict[str, Any]], srv.Answer]:
    """Answer as the agent, and as the models of the simulated user and the judge, whose context is
    so long.
    """

    def by_model(body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "agent-1":
            return srv.say(answer)
        own = (
            srv.say_json({"message": "And the dose?"}) if body["model"] == "user-1" else verdicts(2)
        )
        return with_context(most, own)(body)

    return by_model


async def run_with(
    answer: str, folder: Path, *, most: int = 10**6
) -> tuple[WholeRun, srv.OpenAIServer]:
    async with srv.OpenAIServer(otherwise=served(answer, most=most)) as server:
        job = {**JOB, "target": {**JOB["target"], "url": server.url}}
        run = await hold(json.dumps(job), folder, settings=with_models(server.url))
    return run, server


def prompts(server: srv.OpenAIServer, model: str) -> list[str]:
    return [one.text for one in server.received if one.body["model"] == model]


@pytest.fixture
async def judge(server: srv.OpenAIServer) -> Any:
    chat = ChatModel("judge", api_key="k", base_url=server.url)
    one = LLMJudge(
        models=("judge-1",),
        job_dir=None,
        chat=chat,
        retries=RetryRule(attempts=1, first_wait_s=0.0),
    )
    yield one
    await one.aclose()


def said(*answers: TranscriptMessage | str) -> tuple[TranscriptMessage, ...]:
    def talk() -> Iterator[TranscriptMessage]:
        for place, answer in enumerate(answers):
            yield TranscriptMessage(2 * place + 1, "user", "Show me")
            whole = TranscriptMessage(0, "assistant", answer) if isinstance(answer, str) else answer
            yield replace(whole, message=2 * place + 2)

    return tuple(talk())


async def test_the_judge_is_told_of_a_file_and_may_rest_its_verdict_on_it(
    judge: LLMJudge, server: srv.OpenAIServer, job: EvaluationJob
) -> None:
    view = JudgeView(
        job, "withheld", said(TranscriptMessage(0, "assistant", "", generation=(SCAN,)))
    )
    server.will(verdicts(2, tasks=2))
    judged = await judge_transcript(judge, view, 10)
    words = "[picture: scan.png, image/png, https://files.test/scan.png]"
    assert words in server.received[0].text
    assert judged.tasks is not None
    assert [(e.quote, e.message) for task in judged.tasks for e in task.evidence] == [
        (words, 2)
    ] * 2
    assert not any(task.unproved for task in judged.tasks)
    assert not judged.warnings


async def test_data_in_a_text_is_shown_as_what_it_is_and_recorded_whole(tmp_path: Path) -> None:
    run, server = await run_with(PICTURE, tmp_path)
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    shown = "Here it is: ![scan]([picture: image/png, 660 kB; its data is left out]) Anything else?"
    for model in ("user-1", "judge-1"):
        assert shown in prompts(server, model)[-1]
        assert max(map(len, prompts(server, model))) < 20_000
    assert PICTURE in {message.content for message in run.of("message_completed")}
    assert not run.of("warned")


async def test_an_answer_longer_than_a_models_context_is_shortened_for_it_and_that_is_said(
    tmp_path: Path,
) -> None:
    run, server = await run_with(LONG, tmp_path, most=10_000)
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    whole, *_, fits = prompts(server, "judge-1")
    assert len(whole) > 2 * len(LONG) > 10_000 > len(fits)
    assert "characters left out …" in fits
    assert "The dose is 5 mg." in fits
    told = {warned.code: warned.message for warned in run.of("warned")}
    assert told["record_shortened"] == (
        "judge-1 was shown the conversation shortened to 2,000 characters a message, "
        "because more of it does not fit its context"
    )
    assert told["options"].startswith(
        "the conversation does not fit the simulated user's context: it is shown"
    )
    assert LONG.strip() in {message.content.strip() for message in run.of("message_completed")}
    assert "shortened to 2,000 characters a message" in document_of("md", load_run(run.path))


async def test_what_is_too_long_even_when_it_is_shortened_is_nobodys_fault(
    judge: LLMJudge, server: srv.OpenAIServer, job: EvaluationJob
) -> None:
    server.otherwise = with_context(500, verdicts(2, tasks=2))
    judged = await judge_transcript(judge, JudgeView(job, "withheld", said(LONG, "Yes.")), 10)
    assert judged.tasks is None
    assert judged.fault == "unclear"
    assert "no longer fits the context of the model" in judged.error
    assert len(server.received) == 5, "each size once"


async def test_a_simulated_user_whose_context_is_full_is_nobodys_fault(tmp_path: Path) -> None:
    run, _ = await run_with("Yes.", tmp_path, most=500)
    ended = run.of("conversation_ended")[0]
    assert (ended.reason, ended.fault) == ("evaluator_failed", "unclear")
    assert "no longer fits the context of the model" in ended.detail


async def test_a_server_that_cuts_a_prompt_silently_is_sent_less(
    judge: LLMJudge, server: srv.OpenAIServer, job: EvaluationJob
) -> None:
    async def counts(
        server: srv.OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.Response:
        given = {"score": 1, "reason": "It says so.", "messages": [2], "asked": 0}
        tone = {"tone": 1, "tasks": [{"task": task, **given} for task in (1, 2)]}
        said = srv.completion({"role": "assistant", "content": json.dumps(tone)})
        tokens = min(4096, len(asked(body)) // 4)
        return web.json_response(
            {**said, "usage": {"prompt_tokens": tokens, "completion_tokens": 7}}
        )

    server.otherwise = lambda body: counts
    (verdict,) = await judge.score(JudgeView(job, "withheld", said(LONG)))
    assert verdict.shortened
    assert len(server.received[-1].text) < 4 * 4096 < len(server.received[0].text)


async def test_a_long_answer_that_fits_is_shown_as_it_is(
    judge: LLMJudge, server: srv.OpenAIServer, job: EvaluationJob
) -> None:
    server.will(verdicts(2, tasks=2))
    (verdict,) = await judge.score(JudgeView(job, "withheld", said(LONG)))
    assert not verdict.shortened
    assert "left out" not in server.received[0].text


async def test_the_simulated_user_is_shown_less_of_a_long_answer_and_the_names_of_files(
    server: srv.OpenAIServer, job: EvaluationJob
) -> None:
    chat = ChatModel("evaluator", api_key="k", base_url=server.url)
    user = LLMEvaluator(job, model="user-1", job_dir=None, chat=chat)
    answers = said(LONG, TranscriptMessage(0, "assistant", "See:", generation=(SCAN,)))
    *_, last = [piece async for piece in user.speak(EvaluatorView(job, "withheld", 1, (), answers))]
    await chat.aclose()
    assert isinstance(last, Utterance)
    (request,) = server.received
    assert "See:\n[picture: scan.png, image/png, https://files.test/scan.png]" in request.text
    assert 8_000 < len(request.text) < 20_000
