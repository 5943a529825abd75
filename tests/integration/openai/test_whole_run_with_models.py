"""A whole run of the real program: the sample agent, and models on a local OpenAI-compatible
server.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bioeval_tui.jobs.loading import load_job
from bioeval_tui.report.result import load_run, reviewed
from tests.documents import document_of
from tests.forked import completed
from tests.integration.program import environment, events_of, of_kind, recording_in
from tests.servers import openai_server as srv
from tests.servers.models import StandIns

JOB = Path(__file__).resolve().parents[3] / "sample_jobs" / "medication_reminder.yml"
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    text = (
        JOB.read_text(encoding="utf-8")
        .replace("kind: scripted", "kind: llm")
        .replace("kind: rules", "kind: llm")
    )
    (folder / "job.yml").write_text(text, encoding="utf-8")
    models = StandIns(
        load_job(JOB).job,
        evaluator_first=[
            srv.status(429, "slow down", retry_after="0"),
            srv.say("How can I help you today?"),
        ],
        judge_first=[srv.say("They did well, I would say.")],
    )
    done = asyncio.run(_run(folder, models))
    recording = recording_in(folder)
    assert recording is not None, done.stderr
    return done, events_of(recording), models, recording.read_text(encoding="utf-8")


async def _run(folder: Path, models: StandIns) -> subprocess.CompletedProcess[str]:
    async with srv.OpenAIServer(otherwise=models) as server:
        variables = {**environment(folder), "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        agent = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bioeval_tui", "agent", "--port", "0", "--tokens-per-second", "0",
            stdout=asyncio.subprocess.PIPE, env=variables,
        )  # fmt: skip
        try:
            assert agent.stdout is not None
            url = json.loads(await agent.stdout.readline())["url"]
            command = ("run", str(folder / "job.yml"), "--agent-url", url, "--headless", "--json")
            options = ("--model", "gpt-4.1-nano")
            return await asyncio.to_thread(completed, *command, *options, env=variables)
        finally:
            agent.kill()
            await agent.wait()


def test_a_run_with_models_scores_both_conditions(whole_run):
    done, events, _, _ = whole_run
    assert done.returncode == 0, done.stderr
    scored = of_kind(events, "conversation_scored")
    assert [event["condition"] for event in scored] == ["withheld", "supplied"]
    assert all(event["score"] is not None for event in scored)
    assert [event["reason"] for event in of_kind(events, "conversation_ended")] == [
        "signed_off",
        "signed_off",
    ]


def test_the_evaluators_429_is_retried_and_does_not_affect_the_agent(whole_run):
    _, events, _, _ = whole_run
    (failed,) = of_kind(events, "request_failed")
    assert (failed["peer"], failed["status"], failed["counted"]) == ("evaluator", 429, False)
    assert [event["failures"] for event in of_kind(events, "conversation_scored")] == [0, 0]


def test_a_role_swap_is_repaired_and_noted(whole_run):
    _, events, models, _ = whole_run
    (violated,) = of_kind(events, "evaluator_violated")
    assert (violated["rule"], violated["mended"]) == ("role_swap", True)
    assert violated["content"] == "How can I help you today?"
    assert "You spoke as the chatbot." in models.evaluator_prompts[2]


def test_a_malformed_verdict_is_requested_again(whole_run):
    _, events, models, _ = whole_run
    assert len(models.judge_prompts) == 3
    for event in of_kind(events, "transcript_scored"):
        assert [(task["task"], task["score"]) for task in event["tasks"]] == [
            (1, 0.5),
            (2, 0.5),
            (3, 0.5),
        ]
        assert all(task["evidence"][0]["message"] for task in event["tasks"])


def test_facts_reach_the_evaluator_only_where_supplied_and_their_disclosure_is_recorded(whole_run):
    _, events, models, _ = whole_run
    told = ["Sydney" in prompt for prompt in models.evaluator_prompts]
    assert told == sorted(told)
    assert {True, False} == set(told)
    assert not [prompt for prompt in models.evaluator_prompts if "asks for the time zone" in prompt]
    assert all(
        "asks for the time zone" in prompt and "Sydney" in prompt for prompt in models.judge_prompts
    )
    given = of_kind(events, "fact_disclosed")
    assert [(event["condition"], event["fact"], event["asked"]) for event in given] == [
        ("supplied", 1, True),
        ("supplied", 2, True),
    ]


def test_prompts_are_recorded_by_hash_and_the_key_is_nowhere(whole_run):
    done, events, _, recording = whole_run
    assert set(of_kind(events, "run_started")[0]["prompts"]) == {"eval/socrates", "eval/score"}
    assert KEY not in recording + done.stdout + done.stderr


def test_a_judge_of_the_agents_and_the_users_family_is_noted_before_and_in_every_view(
    whole_run, tmp_path
):
    done, events, _, recording = whole_run
    told = (
        "the judge gpt-4.1-mini is of the same model family as the agent (gpt-4.1-nano) and the"
        " simulated user (gpt-4.1-mini): models tend to favour what their own family writes"
    )
    assert done.stderr.count(told) == 1
    printed = json.loads(done.stdout)
    assert printed["people_say"].count(told) == 1
    assert not any("family" in e["message"] for e in of_kind(events, "warned")), "said once"
    path = tmp_path / "run.jsonl"
    path.write_text(recording, encoding="utf-8")
    run = load_run(path)
    _, card = reviewed(run)
    assert told in card
    for kind in ("md", "html"):
        assert document_of(kind, run).count(told.removeprefix("the judge")) == 1
