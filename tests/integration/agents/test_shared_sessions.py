"""Agents that do not keep conversations apart: one session for all, or a history with what another
one said.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from bioeval_tui.base.files import private_dir
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.batch import run_batch
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.prepare import prepare_run
from bioeval_tui.evaluation.wiring.resuming import resume_spec
from bioeval_tui.evaluation.wiring.start import prepare_batch
from bioeval_tui.record.runs import new_run_ids, recording_path
from bioeval_tui.report.result import load_run
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import WholeRun, hold

JOB: dict[str, Any] = {
    "target": {"user": "ada", "chatbot": "bot"},
    "aspirationalAverage": 60_000,
    "greetings": ["Hello"],
    "tasks": [{"task": "Get a reminder", "rules": [{"pattern": "Sydney time"}]}],
    "facts": ["The user lives in Sydney"],
    "evaluator": {
        "kind": "scripted",
        "lines": [
            {"say": "Please set a reminder for nine.", "task": 1},
            {"say": "I live in Sydney.", "when": "Where do you", "fact": 1},
            {"say": "I do not know.", "when": "Where do you"},
        ],
    },
    "scorer": {"kind": "rules"},
}


def words(text: str, history: list[dict[str, Any]]) -> str:
    """Return the agent's answer: it remembers where the user lives."""
    if text == "Hello":
        return "Hello!"
    knows = any("Sydney" in message["content"] for message in [*history, {"content": text}])
    return "Done: nine, Sydney time." if knows else "Where do you live?"


class Agent(RestAgentServer):
    """Keeps a history for each `key` of a session's number; `id_of` gives the session's id, `shown`
    what is repeated of it.
    """

    def __init__(
        self,
        id_of: Callable[[int], str] = lambda n: f"s{n}",
        key: Callable[[str], str] = lambda session: session,
        shown: Callable[[list[dict[str, Any]]], Any] = lambda history: history,
        fails: int = 0,
    ) -> None:
        super().__init__()
        self.id_of, self.key, self.shown, self.fails = id_of, key, shown, fails
        self.histories: dict[str, list[dict[str, Any]]] = {}

    async def _session(self, request: web.Request) -> web.Response:
        self.sessions += 1
        return web.json_response({"sessionId": self.id_of(self.sessions)})

    async def _message(self, request: web.Request) -> web.Response:
        body = await request.json()
        session, text = body["sessionId"], body["message"]["content"]
        history = self.histories.setdefault(self.key(session), [])
        said = words(text, history)
        history.append({"role": "user", "content": text})
        if self.fails:
            self.fails -= 1
            return web.Response(status=503)
        history.append({"role": "assistant", "content": said})
        message = {"role": "assistant", "content": said}
        return web.json_response(
            {"sessionId": session, "message": message, "history": self.shown(history), "events": []}
        )


async def held(
    agent: RestAgentServer, folder: Path, job: dict[str, Any] = JOB, **spec: Any
) -> WholeRun:
    return await hold(yaml.safe_dump(job), folder, graph="none", agent_url=agent.url, **spec)


def told(run: WholeRun) -> list[str]:
    return [warning.message for warning in run.of("warned") if warning.code == "not_clean"]


async def test_one_session_for_all_conversations_is_not_clean_and_its_id_is_said(
    tmp_path: Path,
) -> None:
    async with Agent(lambda n: "user-ada") as agent:
        run = await held(agent, tmp_path, trials=2)
    assert run.result["clean"] is False
    assert (
        told(run)[0]
        == "the agent has one session, “user-ada”, for several conversations: without the facts,"
        " trial 1, and with the facts, trial 1"
    )
    assert len(told(run)) == 2, "each kind is said once, however many conversations there are"
    assert "“user-ada”" in run.result["answer"]["sure"]
    assert "cannot be attributed to the facts" in run.result["answer"]["sure"]


async def test_a_session_of_its_own_for_each_conversation_is_clean(tmp_path: Path) -> None:
    async with Agent() as agent:
        run = await held(agent, tmp_path, trials=2, parallel=True)
    assert (run.result["clean"], told(run)) == (True, [])


async def test_one_session_is_said_of_several_trials_of_one_condition_too(tmp_path: Path) -> None:
    async with Agent(lambda n: "one", shown=lambda history: None) as agent:
        run = await held(agent, tmp_path, trials=2, conditions=("withheld",))
    assert "without the facts, trial 1, and without the facts, trial 2" in told(run)[0]
    assert run.result["clean"] is False


async def test_a_session_in_which_two_conversations_are_held_at_once_ends_the_run(
    tmp_path: Path,
) -> None:
    async with Agent(lambda n: "user-ada") as agent:
        run = await held(agent, tmp_path, trials=3, parallel=True)
    assert run.state.scores() == {"withheld": None, "supplied": None}
    ends = run.of("conversation_ended")
    assert 1 <= len(ends) <= 2, "no other trial begins"
    assert {(end.reason, end.fault) for end in ends} == {("cancelled", "infrastructure")}
    assert "“user-ada”" in ends[0].detail
    assert any("without --concurrency" in way for way in ends[0].ways)
    assert "“user-ada”" in run.of("run_ended")[0].detail


async def test_a_history_with_another_conversations_words_is_not_clean_though_the_ids_differ(
    tmp_path: Path,
) -> None:
    async with Agent(key=lambda session: "ada") as agent:
        run = await held(agent, tmp_path, order="supplied-first")
    (message,) = told(run)
    assert message.startswith(
        "the agent's history holds “Please set a reminder for nine.”, which was not said"
    )
    assert message.endswith(
        "in without the facts, trial 1 (session “s2”), but in with the facts, trial 1"
    )


async def test_a_history_that_two_conversations_share_at_once_ends_the_run(tmp_path: Path) -> None:
    async with Agent(key=lambda session: "ada") as agent:
        run = await held(agent, tmp_path, parallel=True)
    assert run.state.scores() == {"withheld": None, "supplied": None}


async def test_what_was_said_before_the_run_is_found_in_the_history(tmp_path: Path) -> None:
    before = [{"role": "USER", "content": [{"type": "text", "text": "I am allergic to nuts."}]}]
    async with Agent(shown=lambda history: [*before, *history]) as agent:
        run = await held(agent, tmp_path)
    assert "“I am allergic to nuts.”" in told(run)[0]


def augmented(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        (
            {**one, "content": f"[ada, 9:00] {one['content']}  (answer briefly)"}
            if one["role"] == "user"
            else one
        )
        for one in history
    ]


def noted(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The agent's own notes: a welcome, results of tools as a user's message, texts between
    calls.
    """
    note = [
        {"role": "user", "content": "tool result: 3 rows"},
        {"role": "assistant", "content": "Let me see."},
    ]
    welcome = {"role": "assistant", "content": "Welcome to the clinic, what can I do for you?"}
    return [
        {"role": "system", "content": "Be kind."},
        welcome,
        history[0],
        *note,
        *history[1:],
        {"calls": []},
    ]


@pytest.mark.parametrize(
    "shown",
    [
        lambda history: history[-2:],
        lambda history: history[:-2],
        lambda history: history[::-1],
        augmented,
        noted,
        lambda history: [
            {**one, "content": one["content"].upper().replace("SYDNEY", "[CITY]")}
            for one in history
        ],
        lambda history: [one for at, one in enumerate(history) if one not in history[:at]],
        lambda history: [one for one in history if one["role"] == "user"],
        lambda history: {"messages": history},
        lambda history: [None, 5, {"role": "user"}, {"role": "user", "content": None}],
    ],
    ids=[
        "cut",
        "without-this-turn",
        "newest-first",
        "augmented",
        "noted",
        "masked",
        "repeats-left-out",
        "own-words-left-out",
        "no-list",
        "nonsense",
    ],
)
async def test_a_history_of_this_conversation_alone_is_clean_however_it_is_told(
    tmp_path: Path, shown: Callable[[list[dict[str, Any]]], Any]
) -> None:
    async with Agent(shown=shown) as agent:
        run = await held(agent, tmp_path, trials=2)
    assert (run.result["clean"], told(run)) == (True, [])


async def test_failed_attempts_and_seeds_in_a_history_belong_to_the_conversation(
    tmp_path: Path,
) -> None:
    seeded = {**JOB, "seeds": [{"conversation": [{"role": "user", "content": "I take warfarin."}]}]}
    async with Agent(fails=2) as agent:
        run = await held(agent, tmp_path, seeded)
    assert (run.result["clean"], told(run)) == (True, [])


async def test_an_agent_that_keeps_nothing_may_give_any_id_but_not_tell_of_others(
    tmp_path: Path,
) -> None:
    stateless = {**JOB, "target": {**JOB["target"], "remembers": False}}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with Agent(lambda n: "none", shown=lambda history: None) as agent:
        run = await held(agent, tmp_path / "a", stateless, parallel=True)
    assert (run.result["clean"], told(run)) == (True, [])
    async with Agent(lambda n: "none") as agent:
        run = await held(agent, tmp_path / "b", stateless)
    assert [message[:27] for message in told(run)] == ["the agent's history holds “"]


async def test_a_session_of_another_run_of_the_batch_is_found(tmp_path: Path) -> None:
    settings = Settings(data_dir_override=str(tmp_path / "data"))
    private_dir(settings.runs_dir)
    (tmp_path / "job.yml").write_text(yaml.safe_dump(JOB))
    # Numbered, and from the first again: the second run has the sessions of the first.
    async with Agent(lambda n: f"s{(n - 1) % 2}") as agent:
        ids = new_run_ids(2, settings.runs_dir)
        whats = tuple(RunSpec(run_id, str(tmp_path / "job.yml")) for run_id in ids)
        spec = EngineSpec(runs=whats, agent_url=agent.url, graph="none", seed=7)
        await run_batch([prepare_run(spec, what, settings) for what in whats], settings.runs_dir)
    first, second = (load_run(recording_path(settings.runs_dir, what.run_id)) for what in whats)
    assert first.clean
    assert not second.clean
    assert (
        f"without the facts, trial 1 of run {first.run_id}, and without the facts, trial 1"
        in second.why_not_clean
    )


async def test_a_resumed_run_knows_the_sessions_of_its_first_part(tmp_path: Path) -> None:
    async with Agent(lambda n: "user-ada", shown=lambda history: None) as agent:
        run = await held(agent, tmp_path, max_calls=3)
        assert len(run.of("conversation_ended")) == 1
        assert run.state.clean
        settings = Settings(data_dir_override=str(tmp_path / "data"))
        spec = resume_spec(run.path, agent_url=agent.url)
        assert spec is not None
        await run_batch(prepare_batch(spec, settings), settings.runs_dir)
    after = load_run(run.path)
    assert "without the facts, trial 1, and with the facts, trial 1" in after.why_not_clean


async def test_a_long_id_is_compared_to_its_end(tmp_path: Path) -> None:
    async with Agent(lambda n: "x" * 900 + str(n)) as agent:
        run = await held(agent, tmp_path)
    assert (run.result["clean"], told(run)) == (True, [])


class A2A(RestAgentServer):
    """Speaks A2A, and answers in a context of its own choice with the task's history."""

    def __init__(self, context: Callable[[int, str], str], history: bool) -> None:
        super().__init__()
        self.context, self.tells = context, history
        self.said: list[dict[str, Any]] = []

    def routes(self, app: web.Application) -> None:
        app.router.add_get("/.well-known/agent-card.json", self.card)
        app.router.add_post("/", self.rpc)

    async def card(self, request: web.Request) -> web.Response:
        one = {"url": f"{self.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return web.json_response({"name": "a", "version": "1", "supportedInterfaces": [one]})

    async def rpc(self, request: web.Request) -> web.Response:
        body = await request.json()
        message = body["params"]["message"]
        self.messages += 1
        context = self.context(self.messages, message.get("contextId", ""))
        self.said.append(message)
        task = {
            "id": f"t{self.messages}",
            "contextId": context,
            "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [
                {"artifactId": f"a{self.messages}", "parts": [{"text": "Where do you live?"}]}
            ],
            "history": self.said if self.tells else [],
        }
        return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": {"task": task}})


@pytest.mark.parametrize(
    ("context", "history", "clean"),
    [
        (lambda n, known: known or f"c{n}", False, True),
        (lambda n, known: "the-context", False, False),
        (lambda n, known: known or f"c{n}", True, False),
    ],
    ids=["its-own", "one-for-all", "history-of-all"],
)
async def test_a2a_contexts_and_histories_are_compared(
    tmp_path: Path, context: Any, history: bool, clean: bool
) -> None:
    job = {**JOB, "target": {**JOB["target"], "protocol": "a2a"}}
    async with A2A(context, history) as agent:
        run = await held(agent, tmp_path, job)
    assert (told(run) == []) is clean
    talk = run.state.conversation("withheld")
    assert talk is not None
    assert talk.session_id == context(1, "")
    if not clean:
        assert talk.session_id in told(run)[0] or "session “c" in told(run)[0]


class AgUi(RestAgentServer):
    """Speaks AG-UI, and tells the messages of all threads in its snapshots."""

    def __init__(self, *, snapshots: bool, thread: str = "") -> None:
        super().__init__()
        self.snapshots, self.thread = snapshots, thread
        self.known: dict[str, dict[str, Any]] = {}

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/", self.run)

    async def run(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.known |= {message["id"]: message for message in body["messages"]}
        answer = {"id": body["runId"], "role": "assistant", "content": "Where do you live?"}
        self.known[answer["id"]] = answer
        thread = self.thread or body["threadId"]
        events: list[dict[str, Any]] = [
            {"type": "RUN_STARTED", "threadId": thread, "runId": body["runId"]},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": answer["id"], "delta": answer["content"]},
        ]
        if self.snapshots:
            events.append({"type": "MESSAGES_SNAPSHOT", "messages": list(self.known.values())})
        events.append({"type": "RUN_FINISHED", "threadId": thread, "runId": body["runId"]})
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        return web.Response(text=text, content_type="text/event-stream")


@pytest.mark.parametrize(
    ("snapshots", "thread", "remembers", "clean"),
    [
        (False, "", None, True),
        (False, "thread-1", None, True),
        (False, "thread-1", True, False),
        (True, "", None, False),
    ],
    ids=["ours", "sends-everything", "remembers", "snapshot-of-all"],
)
async def test_ag_ui_threads_and_snapshots_are_compared(
    tmp_path: Path, snapshots: bool, thread: str, remembers: bool | None, clean: bool
) -> None:
    job = {**JOB, "target": {**JOB["target"], "protocol": "ag-ui", "remembers": remembers}}
    async with AgUi(snapshots=snapshots, thread=thread) as agent:
        run = await held(agent, tmp_path, job)
    assert (told(run) == []) is clean
