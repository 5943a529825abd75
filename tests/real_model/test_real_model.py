"""The model as agent, as user and as judge; a full context, a dead server, an engine that is
stopped, one slot.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from tests.integration.program import events_of, of_kind, recording_in, run, started, wait_for
from tests.servers.real_model import NAME, RealModel, wait_until
from tests.servers.whole_runs import WholeRun, hold, with_models

LINES = [
    "Does warfarin interact with ibuprofen?",
    "If I forget a dose, should I double the next one?",
]
MODEL = {"kind": "llm", "model": NAME}
SHORT = {"max_tokens": 40, "temperature": 0}
JSON = {"Content-Type": "application/json"}
LONGEST = 1_500
"""Characters of a user's message, unless the job says otherwise."""
BESIDE_MS = 5_000
"""More than any connection takes, and less than another answer that was counted as well."""


def job(*, agent: str = "", **parts: Any) -> dict[str, Any]:
    """Return a job of one task, with a script and rules where `parts` name no model; `agent` is the
    model's address.
    """
    target = {
        "user": "ada",
        "chatbot": "bot",
        "protocol": "openai",
        "url": agent or None,
        "model": NAME,
    }
    return {
        "target": {**target, "extraBody": SHORT, **parts.pop("target", {})},
        "aspirationalAverage": 60_000,
        "maxTurns": parts.pop("maxTurns", 8),
        "evaluator": {"kind": "scripted", "lines": [{"say": line} for line in LINES]},
        "scorer": {"kind": "rules"},
        "facts": ["The user takes 5 mg of warfarin"],
        "tasks": [
            {"task": "Learn about warfarin", "rules": [{"pattern": "warfarin", "who": "agent"}]}
        ],
        **parts,
    }


def by_model(url: str) -> dict[str, Any]:
    """Return the settings under which the server plays the user and judges."""
    return with_models(f"{url}/v1")


def says(message: str) -> str:
    """Answer as an agent that knows what it is asked for, whatever it is told."""
    return (
        "Ibuprofen raises the risk of bleeding with warfarin. Which dose of warfarin do you take?"
    )


async def held(folder: Path, what: dict[str, Any], **options: Any) -> WholeRun:
    """Run a job with the facts withheld, and let no message or failure pass unseen: pytest
    prints them if a test fails.
    """
    found = await hold(
        json.dumps(what), folder, **{"conditions": ("withheld",), "graph": "none", **options}
    )
    print(*in_words(found.events), sep="\n")
    return found


def in_words(events: list[Any]) -> list[str]:
    """Return what everybody said, and what went wrong, for a person to read."""
    wanted = {
        "message_completed": lambda e: (
            f"{e.role}: {e.content!r} ({e.latency_ms} ms, first {e.first_token_ms} ms)"
        ),
        "request_failed": lambda e: f"  {e.peer} failed: {e.error}",
        "evaluator_violated": lambda e: f"  {e.rule}: {e.detail} in {e.content!r}",
        "transcript_scored": lambda e: (
            f"judge: {[(t.score, t.reason, [q.quote for q in t.evidence]) for t in e.tasks]}"
            f" {e.error or ''}"
        ),
        "conversation_ended": lambda e: f"  {e.reason} · {e.fault}: {e.detail}",
        "conversation_scored": lambda e: f"  score {e.score} {e.reason}",
        "warned": lambda e: f"  {e.message}",
    }
    return [wanted[event.kind](event) for event in events if event.kind in wanted]


def users(found: WholeRun) -> list[str]:
    return [said.content for said in found.of("message_completed") if said.role == "user"]


def faults(found: WholeRun) -> list[tuple[str, str]]:
    return [(end.reason, end.fault) for end in found.of("conversation_ended")]


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_an_agent_is_measured_as_its_server_measures_it(
    tmp_path: Path, model: RealModel, api: str, streaming: bool
) -> None:
    before = len(model.served())
    limit = {"max_output_tokens" if api == "responses" else "max_tokens": 40, "temperature": 0}
    target = {"api": api, "streaming": streaming, "extraBody": limit}
    found = await held(tmp_path, job(agent=model.url, target=target))
    assert faults(found) == [("signed_off", "none")]
    assert not found.of("request_failed")
    said = [message for message in found.of("message_completed") if message.role == "assistant"]
    assert len(said) == 1 + len(LINES)
    # The server may send an answer before it logs it.
    wait_until(
        lambda: sum(one.total_ms > 0 for one in model.served()[before:]) >= len(said), model.log
    )
    served = model.served()[before:]
    assert len(said) == len(served)
    for message, own in zip(said, served, strict=True):
        assert message.content
        assert message.tokens_out == own.tokens_out
        beside = message.latency_ms - own.total_ms
        assert 0 <= beside < BESIDE_MS, f"{message.latency_ms} ms here, {own.total_ms} ms there"
        if streaming:
            assert own.first_ms <= message.first_token_ms <= message.latency_ms
            assert message.first_token_ms - own.first_ms < BESIDE_MS


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_user_who_asks_nothing_gives_the_agent_no_score(
    tmp_path: Path, model: RealModel, api: str
) -> None:
    what = job(evaluator={**MODEL, "api": api, "temperature": 0}, maxTurns=5)
    found = await held(tmp_path, what, settings=by_model(model.url), agent_function=says)
    assert_measured_or_the_users_fault(found)
    assert all(len(said) <= LONGEST for said in users(found))


def assert_measured_or_the_users_fault(found: WholeRun) -> None:
    """Hold that only the user's own words failed, and that an agent has a score only where the user
    spoke of the job.
    """
    for failed in found.of("request_failed"):
        assert (failed.peer, failed.status, failed.unreachable) == (
            "evaluator",
            None,
            False,
        ), failed.error
    for (_, fault), scored in zip(faults(found), found.of("conversation_scored"), strict=True):
        assert fault in ("none", "evaluator")
        if scored.score is not None:
            assert fault == "none"
            assert any("warfarin" in said.lower() for said in users(found)), (
                "a score, and nothing was asked"
            )


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_judges_verdict_is_whole_or_the_judges_fault(
    tmp_path: Path, model: RealModel, api: str
) -> None:
    tasks = [
        {"task": "Learn whether warfarin interacts with ibuprofen"},
        {"task": "Learn of a missed dose"},
    ]
    what = job(scorer={**MODEL, "api": api}, tasks=tasks)
    found = await held(tmp_path, what, settings=by_model(model.url), agent_function=says)
    assert faults(found) == [("signed_off", "none")]
    assert not found.of("request_failed")
    (read,) = found.of("transcript_scored")
    if read.error is None:
        assert [verdict.task for verdict in read.tasks] == [1, 2]
        said = {
            number: message.content
            for number, message in enumerate(found.of("message_completed"), 1)
        }
        for verdict in read.tasks:
            assert verdict.score is not None
            assert 0 <= verdict.score <= 1
            assert all(quoted.quote in said[quoted.message] for quoted in verdict.evidence)
    else:
        (scored,) = found.of("conversation_scored")
        assert (scored.score, scored.fault) == (None, "judge")


async def test_the_model_can_be_all_three_and_every_token_counts(
    tmp_path: Path, model: RealModel
) -> None:
    before = len(model.served())
    what = job(agent=model.url, maxTurns=5, evaluator=MODEL, scorer=MODEL)
    found = await held(tmp_path, what, settings=by_model(model.url))
    assert_measured_or_the_users_fault(found)
    assert found.result["status"] == "completed"
    peers = found.result["cost"]["peers"].values()
    told = sum(peer["tokens_out"] or 0 for peer in peers)
    # The log, too, is silent of an answer that was stopped at its longest length; it may come after
    # the answer.
    wait_until(lambda: sum(one.tokens_out for one in model.served()[before:]) >= told, model.log)
    assert told == sum(request.tokens_out for request in model.served()[before:])


async def test_a_full_context_is_the_agents_and_named_so(tmp_path: Path) -> None:
    long = " ".join(f"I also take drug number {number}." for number in range(100))
    script = {"kind": "scripted", "lines": [{"say": LINES[0]}, {"say": long}]}
    with RealModel(tmp_path / "server.log", context=512, slots=1) as small:
        found = await held(tmp_path, job(agent=small.url, evaluator=script))
    assert faults(found) == [("agent_failed", "agent")]
    (end,) = found.of("conversation_ended")
    assert "no longer fits the context of the model" in end.detail


@asynccontextmanager
async def one_slot(model: RealModel, crowd: int) -> AsyncIterator[str]:
    """Hold requests until a crowd waits; let the model answer the first, and the others only once
    they have been given up.

    From then on, one request after another is answered.
    """
    waits: list[web.Request] = []
    full, slot = asyncio.Event(), asyncio.Lock()

    async def answer(request: web.Request) -> web.Response:
        waits.append(request)
        place, body = len(waits), await request.read()
        if place == crowd:
            full.set()
        await full.wait()
        if 1 < place <= crowd:
            await asyncio.Event().wait()  # ends with the connection
        async with slot, httpx.AsyncClient(timeout=None) as client:
            told = await client.post(f"{model.url}{request.path}", content=body, headers=JSON)
        return web.Response(body=told.content, status=told.status_code, headers=JSON)

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_eight_conversations_on_one_slot_are_no_fault_of_the_agent(
    model: RealModel, tmp_path: Path
) -> None:
    script = {"kind": "scripted", "lines": [{"say": LINES[1]}]}
    # Its length decides nothing but how long the test takes: those that wait are never answered
    # before it is over.
    target = {"extraBody": {**SHORT, "max_tokens": 15}, "streaming": False, "timeoutMs": 8_000}
    async with one_slot(model, 8) as url:
        what = job(agent=url, evaluator=script, target=target)
        found = await held(tmp_path, what, concurrency=8, trials=8)
    gave_up = [
        failure
        for failure in found.of("request_failed")
        if "other requests of this program" in failure.error
    ]
    assert len(gave_up) >= 7
    assert "agent" not in {fault for _, fault in faults(found)}
    assert not any(failure.counted for failure in found.of("request_failed"))
    assert {scored.failures for scored in found.of("conversation_scored")} == {0}
    assert found.result["status"] == "completed"


async def test_a_users_server_that_dies_is_not_the_agents_fault(tmp_path: Path) -> None:
    with RealModel(tmp_path / "server.log") as model:

        def dies(message: str) -> str:
            model.kill()
            return says(message)

        what = job(evaluator=MODEL)
        found = await held(tmp_path, what, settings=by_model(model.url), agent_function=dies)
    assert faults(found) == [("evaluator_failed", "infrastructure")]
    (scored,) = found.of("conversation_scored")
    assert (scored.score, scored.failures) == (None, 0)


KILLS = """
import os, pathlib, signal

def answer(message):
    kill = pathlib.Path(__file__).with_name("kill")
    if kill.exists():
        os.kill(int(kill.read_text()), signal.SIGKILL)
        kill.unlink()
    return "Ibuprofen raises the risk of bleeding. Which dose of warfarin do you take?"
"""


def test_a_judges_server_that_dies_measures_nothing_and_a_rerun_does(tmp_path: Path) -> None:
    (tmp_path / "kills.py").write_text(KILLS)
    target = {
        "protocol": "python",
        "function": "kills:answer",
        "url": None,
        "model": None,
        "extraBody": {},
    }
    what = job(target=target, scorer=MODEL)
    (tmp_path / "job.yml").write_text(json.dumps(what))
    data = tmp_path / "data"
    with RealModel(tmp_path / "server.log") as model:
        (tmp_path / "kill").write_text(str(model.pid))
        more = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none"}
        options = ("--condition", "withheld", "--graph", "none", "--code", str(tmp_path))
        first = run("run", str(tmp_path / "job.yml"), "--headless", *options, data_dir=data, **more)
        print(first.stdout, first.stderr)
        assert first.returncode == 3
        recording = recording_in(data)
        assert recording is not None
        (scored,) = of_kind(events_of(recording), "conversation_scored")
        assert scored.get("score") is None
        model.kill()
        model.start()
        again = run(
            "runs",
            "resume",
            recording.stem,
            "--rerun",
            "--code",
            str(tmp_path),
            data_dir=data,
            **more,
        )
        print(again.stdout, again.stderr)
        events = events_of(recording)
    assert len(of_kind(events, "conversation_scored")) == 2
    assert {end["fault"] for end in of_kind(events, "conversation_ended")} == {"none"}
    died, answered = of_kind(events, "transcript_scored")
    # The port is closed already, or it still took the connection that died with the server.
    assert any(
        words in died["error"]
        for words in ("refused the connection", "closed the connection before")
    )
    # This judge's reasons often only repeat what it reads, which is its own fault and no longer the
    # server's.
    assert not (error := answered.get("error")) or "gave no usable verdict" in error
    # 3: the trial of before still counts as one of two that was not measured.
    assert again.returncode in (0, 3)
    assert "Traceback" not in first.stderr + again.stderr


def test_sigterm_while_the_model_writes_cancels_its_request(tmp_path: Path) -> None:
    endless = {"extraBody": {"ignore_eos": True, "max_tokens": -1}}
    with RealModel(tmp_path / "server.log", context=8192, limit=-1, slots=1) as model:
        (tmp_path / "job.yml").write_text(json.dumps(job(agent=model.url, target=endless)))
        command = (
            "run",
            str(tmp_path / "job.yml"),
            "--headless",
            "--condition",
            "withheld",
            "--graph",
            "none",
        )
        with started(*command, data_dir=tmp_path / "data") as engine:
            wait_for(
                lambda: (
                    (found := recording_in(tmp_path / "data"))
                    and of_kind(events_of(found), "message_delta")
                ),
                "the first words of the model",
                engine,
            )
            assert model.is_writing
            engine.send_signal(signal.SIGTERM)
            out, err = engine.communicate()
            print(out, err)
            assert engine.returncode == 130
        wait_until(lambda: not model.is_writing, model.log)
        print(model.log()[-1500:])
        assert "cancel" in model.log()
    assert "Traceback" not in err
