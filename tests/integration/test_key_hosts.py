"""A job that names hosts and variables of keys: nothing is sent to a host that the user did not
name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.program import run_job
from tests.servers import openai_server as srv
from tests.servers.rest_agent import RestAgentServer

VERDICT = {
    "tone": 1,
    "tasks": [
        {
            "task": 1,
            "scored": "Ask",
            "score": 1,
            "reason": "Done.",
            "evidence": ["I made a note of it."],
        }
    ],
}


def job(agent: str, **scorer: Any) -> dict[str, Any]:
    return {
        "target": {"user": "u", "chatbot": "b", "url": agent},
        "evaluator": {"kind": "scripted", "lines": [{"say": "Please note it."}]},
        "scorer": scorer or {"kind": "rules"},
        "tasks": [{"task": "Ask", "rules": [{"pattern": "note"}]}],
        "facts": [],
        "aspirationalAverage": 1000,
    }


async def test_a_judge_url_in_a_job_needs_the_users_consent(tmp_path: Path) -> None:
    judges = srv.OpenAIServer(otherwise=lambda body: srv.say_json(VERDICT))
    async with judges, RestAgentServer() as agent:
        what = job(agent.url, model="large", url=judges.url, apiKeyEnv="OTHER_API_KEY")
        keys = {"OPENAI_API_KEY": "sk-users", "OTHER_API_KEY": "sk-other"}
        refused = await run_job(tmp_path, what, **keys)
        assert refused.returncode == 2
        assert "pass --allow-host 127.0.0.1:" in refused.stderr
        assert (judges.received, agent.sessions) == ([], 0), "nothing was sent to anybody"
        done = await run_job(tmp_path, what, "--allow-host", "127.0.0.1", **keys)
        assert done.returncode == 0, done.stderr
    (asked,) = judges.received
    assert (asked.headers["Authorization"], asked.body["model"]) == ("Bearer sk-other", "large")
    assert "sk-" not in done.stdout + done.stderr + refused.stderr
    recording = next((tmp_path / "data" / "runs").glob("*.jsonl")).read_text()
    assert "sk-" not in recording


async def test_a_judge_of_another_provider_takes_one_setting(tmp_path: Path) -> None:
    judges = srv.OpenAIServer(otherwise=lambda body: srv.say_json(VERDICT))
    async with judges, RestAgentServer() as agent:
        done = await run_job(
            tmp_path, job(agent.url, kind="llm"), OPENAI_API_KEY="sk-users",
            BIOEVAL_JUDGE_BASE_URL=judges.url, BIOEVAL_JUDGE_API_KEY="sk-judge",
            BIOEVAL_JUDGE_MODEL="large",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    (asked,) = judges.received
    assert (asked.headers["Authorization"], asked.body["model"]) == ("Bearer sk-judge", "large")


async def test_a_job_cannot_redirect_the_agents_key(tmp_path: Path) -> None:
    mine = {"BIOEVAL_AGENT_URL": "https://agent.example", "BIOEVAL_AGENT_API_KEY": "k-agent"}
    async with RestAgentServer() as agent:
        refused = await run_job(tmp_path, job(agent.url), **mine)
        assert refused.returncode == 2
        assert "BIOEVAL_AGENT_API_KEY belongs to agent.example" in refused.stderr
        assert agent.sessions == 0
        done = await run_job(tmp_path, job(agent.url), "--agent-url", agent.url, **mine)
        assert done.returncode == 0, done.stderr
