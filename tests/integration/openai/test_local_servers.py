"""Model servers as people run them on their own machines, at the program's doors: which model
answers, and what is wrong.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.forked import completed
from tests.integration.program import environment, events_of, run_job
from tests.servers import openai_server as srv

AGENT: dict[str, Any] = {"user": "ada", "chatbot": "bot", "protocol": "openai"}
SCRIPTED = {"kind": "scripted", "lines": [{"say": "One"}, {"say": "Two"}]}
TASKS = [{"task": "Get help", "rules": [{"pattern": "help", "who": "agent"}]}]
SCORED = {
    "tasks": [{"task": 1, "score": 0.9, "reason": "It helped.", "evidence": [2]}],
    "tone": 0.8,
}


def job(url: str, *, judge: str | None = None, **target: Any) -> dict[str, Any]:
    """Return a job whose agent is at `url`; a model judges it if one is named."""
    return {
        "target": {**AGENT, "url": url, **target},
        "aspirationalAverage": 60000,
        "evaluator": SCRIPTED,
        "scorer": {"kind": "llm", "model": judge} if judge else {"kind": "rules"},
        "facts": [],
        "tasks": TASKS,
    }


async def program(
    folder: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of the program on the data of `run_job`."""
    return await asyncio.to_thread(
        completed, *arguments, cwd=folder, env={**environment(folder / "data"), **variables}
    )


def named(model: str) -> srv.Answer:
    """Answer whole as agent or judge, in the name of `model`."""

    async def answer(
        server: srv.OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        text = json.dumps(SCORED) if "response_format" in body else "I help you."
        return web.json_response(
            {**srv.completion({"role": "assistant", "content": text}), "model": model}
        )

    return answer


def models(url: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url}


@pytest.mark.long
async def test_the_model_that_answered_stands_beside_the_one_that_was_asked_for(
    tmp_path: Path,
) -> None:
    async with srv.OpenAIServer(otherwise=lambda body: named("smollm2-135m")) as server:
        asked = job(server.url, judge="gpt-99-nope", model="a")
        done = await run_job(tmp_path, asked, "--model", "a", "--model", "b", **models(server.url))
        both = json.loads(done.stdout)
        ids = [one["run_id"] for one in both]
        again = await program(
            tmp_path, "runs", "rescore", ids[1], "--judge-model", "gpt-98", **models(server.url)
        )
    assert again.returncode == 0, again.stderr
    assert [one["served"] for one in both] == [
        {"agent": {"a": ["smollm2-135m"]}, "judge": {"gpt-99-nope": ["smollm2-135m"]}},
        {"agent": {"b": ["smollm2-135m"]}, "judge": {"gpt-99-nope": ["smollm2-135m"]}},
    ]
    assert both[0]["judge"] == "asked for gpt-99-nope, served smollm2-135m"
    assert both[0]["versions"]["model"] == "asked for a, served smollm2-135m"
    rescored = json.loads((await program(tmp_path, "runs", "show", ids[1], "--json")).stdout)
    assert rescored["judge"] == "asked for gpt-98, served smollm2-135m"
    shown = await program(tmp_path, "runs", "show", ids[0])
    assert "judge: asked for gpt-99-nope, served smollm2-135m" in shown.stdout, shown
    assert "asked for a, served smollm2-135m" in shown.stdout
    written = await program(tmp_path, "runs", "report", *ids, "--format", "json")
    (summary,) = json.loads(written.stdout)["summary"]  # two names on one server are one model
    assert summary["agent"].endswith(" · asked for a and b, served smollm2-135m")
    assert json.loads(written.stdout)["ranks"] == []


async def test_a_dated_name_is_the_model_that_was_asked_for(tmp_path: Path) -> None:
    async with srv.OpenAIServer(
        otherwise=lambda body: named(f"{body['model']}-2024-08-06")
    ) as server:
        done = await run_job(
            tmp_path, job(server.url, judge="gpt-4o", model="gpt-4o"), **models(server.url)
        )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["judge"] == "asked for gpt-4o, served gpt-4o-2024-08-06"
    assert not [line for line in result["warnings"] if "2024" in line]


async def test_a_server_that_answers_in_the_name_that_was_asked_for_changes_no_words(
    tmp_path: Path,
) -> None:
    async with srv.OpenAIServer(otherwise=lambda body: named(body["model"])) as server:
        done = await run_job(tmp_path, job(server.url, judge="j", model="a"), **models(server.url))
    result = json.loads(done.stdout)
    assert (result["judge"], result["versions"]["model"]) == ("j", "a")
    assert result["served"] == {"agent": {"a": ["a"]}, "judge": {"j": ["j"]}}
    (recording,) = (tmp_path / "data" / "runs").glob("*.jsonl")
    assert [event["peer"] for event in events_of(recording) if event["kind"] == "model_served"] == [
        "agent",
        "judge",
    ]


@pytest.mark.long
async def test_resuming_after_a_servers_death_names_the_command_that_makes_up_for_it(
    tmp_path: Path,
) -> None:
    async with srv.OpenAIServer() as gone:
        url = gone.url
    died = await run_job(tmp_path, job(url, model="a"), **models(url))
    assert died.returncode == 3, died.stderr
    run_id = json.loads(died.stdout)["run_id"]
    told = await program(tmp_path, "runs", "resume", run_id, "--headless")
    assert "already complete" not in told.stderr
    command = f"runs resume {run_id} --rerun"
    assert (
        f"1 trial could not be measured; `bioeval-tui {command}` runs as many new ones"
        in told.stderr
    )
    async with srv.OpenAIServer(otherwise=lambda body: named("a")) as back:
        done = await program(
            tmp_path, *command.split(), "--json", "--agent-url", back.url, **models(back.url)
        )
    trials = json.loads(done.stdout)["conditions"]["withheld"]["trials"]
    assert [trial["score"] is None for trial in trials] == [True, False], done.stderr
    assert "already complete" in (await program(tmp_path, "runs", "resume", run_id)).stderr


async def doctor(folder: Path, *arguments: str, **variables: str) -> dict[str, dict[str, str]]:
    """Return the doctor's findings by their parts; it looks for servers at a port where there is
    none.
    """
    done = await program(
        folder, "doctor", "--json", *arguments, **{"BIOEVAL_LOCAL_PORTS": "9", **variables}
    )
    assert done.returncode in (0, 3), done.stderr
    return {found["part"]: found for found in json.loads(done.stdout)}


@pytest.mark.parametrize(
    ("models", "state", "said", "to_do"),
    [
        (["a", "j"], "works", "{host} serves j", ""),
        (["a", "j:latest"], "works", "{host} serves j", ""),
        (["a", "b"], "broken", "{host} does not serve j; it serves a, b",
            "scorer.model in the job"),
        ([], "broken", "{host} does not serve j; it serves none", "load a model there"),
        (401, "broken", "{host} asks for a key (401)", "set BIOEVAL_JUDGE_API_KEY"),
        (404, "absent", "{host} answers, but has no list of models at /v1/models (404)",
            "scorer.url in the job"),
        (500, "broken", "{host} answers /v1/models with 500", "scorer.url in the job"),
    ],
)  # fmt: skip
async def test_doctor_asks_a_jobs_servers_for_its_models(
    tmp_path: Path, models: list[str] | int, state: str, said: str, to_do: str
) -> None:
    async with srv.OpenAIServer(models=models) as judge, srv.OpenAIServer(models=["a"]) as agent:
        asked = job(agent.url.removesuffix("/v1"), judge="j", model="a")
        asked["scorer"]["url"] = judge.url
        (tmp_path / "job.yml").write_text(json.dumps(asked))
        found = await doctor(tmp_path, "job.yml", OPENAI_API_KEY="sk-openai")
        host = judge.url.split("/")[2]
    assert found["job: agent"]["state"] == "works", found["job: agent"]
    told = found["job: judge"]
    assert (told["state"], told["said"].startswith(said.format(host=host))) == (state, True), told
    assert to_do in told["to_do"]
    assert set(judge.keys) == set(agent.keys) == {None}, "the key is OpenAI's"


async def test_doctor_names_a_dead_port_a_refused_key_and_an_address_without_v1(
    tmp_path: Path,
) -> None:
    async with srv.OpenAIServer(models=401) as server:
        found = await doctor(tmp_path, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-wrong")
        assert found["openai endpoint"]["said"].endswith(" refuses the key (401)")
        assert found["openai endpoint"]["to_do"] == "check OPENAI_API_KEY"
        server.models = ["a"]
        bare = server.url.removesuffix("/v1")
        found = await doctor(tmp_path, OPENAI_BASE_URL=bare, OPENAI_API_KEY="k")
        assert found["openai endpoint"]["state"] == "broken"
        assert found["openai endpoint"]["to_do"] == "add /v1 to the address (OPENAI_BASE_URL)"
        found = await doctor(tmp_path, OPENAI_BASE_URL=server.url, BIOEVAL_JUDGE_MODEL="nope")
        assert (
            found["openai endpoint"]["to_do"] == "name a model that it serves (BIOEVAL_JUDGE_MODEL)"
        )
    found = await doctor(tmp_path, OPENAI_BASE_URL=server.url)
    assert "cannot be reached: nothing listens there" in found["openai endpoint"]["said"]
    assert "OPENAI_BASE_URL" in found["openai endpoint"]["to_do"]


@pytest.mark.long
async def test_doctor_finds_a_model_server_on_this_machine_and_gives_the_line_that_uses_it(
    tmp_path: Path,
) -> None:
    async with (
        srv.OpenAIServer(models=["big; rm -rf", "small"]) as server,
        srv.OpenAIServer() as other,
    ):
        ports = ",".join(one.url.split(":")[2].split("/")[0] for one in (other, server))
        found = (await doctor(tmp_path, BIOEVAL_LOCAL_PORTS=ports))["local models"]
        said, to_do = found["said"], found["to_do"]
        again = await doctor(tmp_path, BIOEVAL_LOCAL_PORTS=ports, OPENAI_BASE_URL=server.url)
    address = server.url.replace("localhost", "127.0.0.1")
    assert said == f"{address} serves big; rm -rf, small"
    line = (
        f"export OPENAI_BASE_URL={address} BIOEVAL_EVALUATOR_MODEL='big; rm -rf'"
        " BIOEVAL_JUDGE_MODEL='big; rm -rf'"
    )
    assert line in to_do
    assert again["local models"]["to_do"] == "", "it is in use already"
    nowhere = (await doctor(tmp_path))["local models"]
    assert (nowhere["state"], nowhere["said"]) == ("absent", "no model server at port 9")


async def test_servers_on_this_machine_need_no_key_and_get_none(tmp_path: Path) -> None:
    async with srv.OpenAIServer(otherwise=lambda body: named(body["model"])) as server:
        by_environment = await run_job(
            tmp_path, job(server.url, judge="j", model="a"), OPENAI_BASE_URL=server.url
        )
        asked = job(server.url, judge="j", model="a")
        asked["scorer"]["url"] = server.url
        foreign = {
            "OPENAI_API_KEY": "sk-openai", "OPENAI_ORG_ID": "org-1",
            "OPENAI_CUSTOM_HEADERS": "X-Key: sk-openai",
            "BIOEVAL_EVALUATOR_API_KEY": "sk-openai",
        }  # fmt: skip
        by_job = await run_job(tmp_path, asked, **foreign)
    for done in (by_environment, by_job):
        assert done.returncode == 0, done.stderr
    assert [one for one in server.received if "response_format" in one.body]
    for one in server.received:
        assert "Authorization" not in one.headers
        assert not [
            value for value in one.headers.values() if "sk-openai" in value or "org-1" in value
        ]


async def test_another_machine_without_a_key_is_told_what_to_set(tmp_path: Path) -> None:
    asked = job("http://127.0.0.1:9/v1", judge="j", model="a")
    done = await run_job(tmp_path, asked, OPENAI_BASE_URL="http://models.invalid/v1")
    assert done.returncode == 2
    assert "OPENAI_API_KEY is not set" in done.stderr
    assert "any value if that server needs none" in done.stderr
    assert "Traceback" not in done.stderr


def counting(tokens: int, cached: int | None = None) -> srv.Answer:
    """Answer as agent or judge, and report so many tokens of the prompt."""
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    usage = {"prompt_tokens": tokens, "completion_tokens": 7, **details}

    async def answer(
        server: srv.OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        text = json.dumps(SCORED) if "response_format" in body else "I help you."
        return web.json_response(
            {**srv.completion({"role": "assistant", "content": text}), "usage": usage}
        )

    return answer


LONG = " ".join(["Take one tablet each morning with a glass of water."] * 60)


@pytest.mark.parametrize(
    ("usage", "is_scored"),
    [((512,), False), ((4096,), True), ((512, 4096), True), ((11,), True)],
    ids=["truncated", "whole", "counted without what was cached", "made up"],
)
async def test_a_judge_that_saw_only_part_of_the_prompt_is_not_blamed(
    tmp_path: Path, usage: tuple[int, ...], is_scored: bool
) -> None:
    asked = job("", judge="j", model="a")
    asked["tasks"] = [{**TASKS[0], "acceptanceCriteria": LONG}]
    async with srv.OpenAIServer(otherwise=lambda body: counting(*usage)) as server:
        asked["target"]["url"] = server.url
        done = await run_job(tmp_path, asked, **models(server.url))
    held = json.loads(done.stdout)["conditions"]["withheld"]
    assert held["score"] is not None if is_scored else held["fault"] == "unclear", held["reason"]
    if not is_scored:
        assert "not measured: the server read only part of the prompt" in held["reason"]
        assert "num_ctx" in held["reason"]
        assert done.returncode == 3
