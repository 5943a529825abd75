"""Agents that speak A2A, behind the published server of a2a-sdk, over real HTTP: this package's,
and a stranger's.

The stranger's (`stranger/strange_a2a.py`) is another package's plug-in, which knows only what
docs/plugins.md tells.
"""

from __future__ import annotations

import ast
import asyncio
import io
import re
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types import AgentCard, APIKeySecurityScheme, Part, SecurityScheme
from rich.console import Console

from bioeval_tui import plugins
from bioeval_tui.evaluation.wiring.endpoints import may_call
from bioeval_tui.jobs.models import TargetConfig
from bioeval_tui.protocols import Agent, AgentTerms, Delta, Generation, PeerError, Reply
from bioeval_tui.record.attachments import file_words
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.formats.console import print_comparison, print_score_card
from bioeval_tui.report.result import load_run
from tests.servers.a2a_agent import Teller, a2a_agent
from tests.servers.whole_runs import hold

OURS, STRANGE = "a2a", "strange-a2a"
STRANGER = Path(__file__).parent / "stranger"
BOTH = pytest.mark.parametrize("protocol", [OURS, STRANGE])
VERSIONED = [(OURS, "1.0"), (OURS, "0.3"), (STRANGE, "1.0")]
EVERY = pytest.mark.parametrize(
    ("protocol", "binding", "version"),
    [
        (OURS, "JSONRPC", "1.0"),
        (OURS, "HTTP+JSON", "1.0"),
        (OURS, "JSONRPC", "0.3"),
        (STRANGE, "JSONRPC", "1.0"),
        (STRANGE, "HTTP+JSON", "1.0"),
    ],
)
STREAMS = pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])


@pytest.fixture(autouse=True)
def strangers_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the stranger's package where an installer would."""
    site = tmp_path / "site"
    info = site / "strange_a2a-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-a2a\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[bioeval_tui.agents]\nstrange-a2a = strange_a2a:protocol\n"
    )
    shutil.copy(STRANGER / "strange_a2a.py", site)
    monkeypatch.syspath_prepend(site)
    yield
    sys.modules.pop("strange_a2a", None)


def connect(
    url: str,
    *,
    protocol: str = OURS,
    allowed: tuple[str, ...] = (),
    key: str | None = None,
    **target: Any,
) -> Agent:
    config = TargetConfig(user="ada", chatbot="bot", protocol=protocol, **target)
    found = plugins.agent_protocol(protocol)
    assert found is not None
    agent: Agent = found.load()(
        AgentTerms(
            target=config, url=url, model="m", key=key, headers=config.headers,
            may_call=lambda other: may_call(url, other, allowed),
        )
    )  # fmt: skip
    return agent


async def say(agent: Agent, text: str) -> tuple[list[Delta | Generation], Reply]:
    pieces: list[Any] = [piece async for piece in agent.send(text)]
    assert isinstance(pieces[-1], Reply)
    return pieces[:-1], pieces[-1]


def text_of(pieces: list[Delta | Generation]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Delta))


async def answers_with_a_message(text: str, agent: Teller) -> None:
    await agent.say(f"You said {text}.")


async def streams_an_artifact(text: str, agent: Teller) -> None:
    await agent.begin()
    await agent.tell(new_text_part("Looking…"))
    await agent.call("lookUp", {"drug": "warfarin"}, {"found": True})
    await agent.artifact("Aspirin ", "interacts ", "with it.")
    await agent.updates.complete(agent.text("Ask me more."))


async def asks_back(text: str, agent: Teller) -> None:
    await agent.begin()
    if "Sydney" in text:
        await agent.artifact("Done: I'll remind you.")
        await agent.updates.complete()
    else:
        await agent.updates.requires_input(agent.text("Which time zone?"))


@EVERY
@STREAMS
async def test_a_message_object_is_the_answer(
    protocol: str, binding: str, version: str, streaming: bool
) -> None:
    async with a2a_agent(
        answers_with_a_message, bindings=(binding,), streaming=streaming, version=version
    ) as server:
        agent = connect(server.url, protocol=protocol)
        assert await agent.open() == ""
        _, reply = await say(agent, "hello")
        assert reply.content == "You said hello."
        assert 0 < reply.started < reply.ended
        await agent.aclose()
    assert all(
        path.startswith("/rpc" if binding == "JSONRPC" else "/rest") for path in server.paths[1:]
    )
    assert all(headers["a2a-version"] == version for headers in server.headers[1:])


@EVERY
@STREAMS
async def test_artifacts_and_the_final_status_are_the_answer_and_updates_are_not(
    protocol: str, binding: str, version: str, streaming: bool
) -> None:
    async with a2a_agent(
        streams_an_artifact, bindings=(binding,), streaming=streaming, version=version
    ) as server:
        agent = connect(server.url, protocol=protocol)
        await agent.open()
        pieces, reply = await say(agent, "What about warfarin?")
        await agent.aclose()
    assert reply.content == "Aspirin interacts with it.\n\nAsk me more."
    if streaming:
        assert [piece.text for piece in pieces if isinstance(piece, Delta)][:3] == [
            "Aspirin ",
            "interacts ",
            "with it.",
        ]
        assert text_of(pieces) == reply.content
        assert reply.first_token is not None
    assert list(reply.generation) == [
        {"status": "WORKING", "message": "Looking…"},
        {"request": {"function": {"name": "lookUp"}, "arguments": {"drug": "warfarin"},
                "id": "call-lookUp"}},
        {"output": {"found": True}, "id": "call-lookUp"},
    ]  # fmt: skip
    assert list(reply.generation) == [
        piece.data for piece in pieces if isinstance(piece, Generation)
    ]


@EVERY
@STREAMS
async def test_input_required_ends_a_turn_and_the_next_message_continues_the_task(
    protocol: str, binding: str, version: str, streaming: bool
) -> None:
    async with a2a_agent(
        asks_back, bindings=(binding,), streaming=streaming, version=version
    ) as server:
        agent = connect(server.url, protocol=protocol)
        await agent.open()
        assert (await say(agent, "Remind me"))[1].content == "Which time zone?"
        assert (await say(agent, "I live in Sydney"))[1].content == "Done: I'll remind you."
        assert (await say(agent, "Remind me again"))[1].content == "Which time zone?"
        await agent.aclose()
    first, second, third = server.asked
    assert "contextId" in first, "the server gave one, and the others keep to it"
    assert first["contextId"] == second["contextId"] == third["contextId"]
    assert first["taskId"] == second["taskId"] != third["taskId"], (
        "a task that is completed takes no more"
    )


def pairs(*names: str, of: Sequence[tuple[Any, ...]], ways: Sequence[tuple[Any, ...]]) -> Any:
    """Try each of `of` in each way, streamed and whole in turn: each meets both, and so does each
    way.
    """
    cases = []
    for number, one in enumerate(of):
        for place, way in enumerate(ways):
            is_whole = (number + place) % 2
            words = (one[0], *way, "whole" if is_whole else "streamed")
            cases.append(pytest.param(*one[1:], *way, not is_whole, id="-".join(words)))
    return pytest.mark.parametrize((*names, "streaming"), cases)


@pairs(
    "state",
    "says",
    "protocol",
    "version",
    of=[
        (state, state, says)
        for state, says in {
            "failed": r"the agent's task failed \(TASK_STATE_FAILED\): No luck",
            "reject": r"the agent rejected the task \(TASK_STATE_REJECTED\): No luck",
            "cancel": r"the agent cancelled the task \(TASK_STATE_CANCELED\): No luck",
            "requires_auth": r"asks for authentication \(TASK_STATE_AUTH_REQUIRED\): No luck",
        }.items()
    ],
    ways=VERSIONED,
)
async def test_a_failed_task_is_the_agents_failure(
    protocol: str, state: str, says: str, streaming: bool, version: str
) -> None:
    async def ends_badly(text: str, agent: Teller) -> None:
        await agent.begin()
        await getattr(agent.updates, state)(agent.text("No luck"))

    async with a2a_agent(ends_badly, streaming=streaming, version=version) as server:
        agent = connect(server.url, protocol=protocol)
        await agent.open()
        with pytest.raises(PeerError, match=says if protocol == OURS else "No luck") as caught:
            await say(agent, "Hello")
        await agent.aclose()
    assert (caught.value.peer, caught.value.retryable) == ("agent", False)
    assert caught.value.status == (401 if state == "requires_auth" else None)


@BOTH
async def test_an_agent_that_raises_is_the_agents_failure(
    protocol: str,
) -> None:
    async def raises(text: str, agent: Teller) -> None:
        raise ValueError("out of order")

    async with a2a_agent(raises) as server:
        agent = connect(server.url, protocol=protocol)
        await agent.open()
        with pytest.raises(PeerError) as caught:
            await say(agent, "Hello")
        await agent.aclose()
    assert caught.value.peer == "agent"


@BOTH
async def test_parts_without_text_are_recorded_as_events(
    protocol: str,
) -> None:
    async def sends_data(text: str, agent: Teller) -> None:
        await agent.begin()
        await agent.tell(new_data_part({"dose": 5}))
        await agent.artifact("See the table.")
        await agent.updates.complete()

    async with a2a_agent(sends_data) as server:
        agent = connect(server.url, protocol=protocol)
        await agent.open()
        _, reply = await say(agent, "Hello")
        await agent.aclose()
    assert reply.content == "See the table."
    (event,) = reply.generation
    assert event["part"]["data"] == {"dose": 5}


def lists_everything() -> Callable[[str, Teller], Awaitable[None]]:
    """Answer with an artifact of each message's own, and with those of all messages before."""
    artifacts: list[str] = []

    async def answers(text: str, agent: Teller) -> None:
        artifacts.append(f"You said {text}.")
        await agent.begin()
        for number, words in enumerate(artifacts):
            await agent.artifact(words, name=f"artifact-{number}")
        await agent.updates.complete()

    return answers


async def goes_on_with_its_task(text: str, agent: Teller) -> None:
    await agent.begin()
    if text == "begin":
        await agent.artifact("A draft.", name="draft")
        await agent.updates.requires_input()
    else:
        await agent.artifact("The letter.", name="letter")
        await agent.updates.complete()


async def draws_what_it_said(text: str, agent: Teller) -> None:
    await agent.begin()
    await agent.artifact("I can draw it.", name="words")
    if text != "begin":
        await agent.updates.add_artifact(
            [Part(raw=text.encode(), media_type="image/png")], artifact_id="drawing"
        )
    await agent.updates.complete()


async def always_agrees(text: str, agent: Teller) -> None:
    await agent.begin()
    await agent.artifact("Yes.")
    await agent.updates.complete()


@pairs(
    "script",
    "answers",
    "binding",
    "version",
    of=[
        (
            "of earlier tasks",
            lists_everything,
            ["You said begin.", "You said more.", "You said end."],
        ),
        (
            "of the task's earlier turn",
            lambda: goes_on_with_its_task,
            ["A draft.", "The letter.", "The letter."],
        ),
        ("beside a file", lambda: draws_what_it_said, ["I can draw it.", "", ""]),
        ("with one id and the same words", lambda: always_agrees, ["Yes.", "Yes.", "Yes."]),
    ],
    ways=[("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3")],
)
async def test_artifacts_of_earlier_turns_are_no_part_of_an_answer(
    binding: str, version: str, streaming: bool, script: Any, answers: list[str]
) -> None:
    async with a2a_agent(
        script(), bindings=(binding,), streaming=streaming, version=version
    ) as server:
        agent = connect(server.url)
        await agent.open()
        heard = [await say(agent, text) for text in ("begin", "more", "end")]
        await agent.aclose()
    assert [reply.content for _, reply in heard] == answers
    if streaming:
        assert [text_of(pieces) for pieces, _ in heard] == answers


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@STREAMS
async def test_a_file_is_recorded_by_its_name_type_and_size(version: str, streaming: bool) -> None:
    async def draws(text: str, agent: Teller) -> None:
        await agent.begin()
        await agent.updates.add_artifact(
            [Part(raw=bytes(12_000), filename="scan.png", media_type="image/png")],
            artifact_id="scan",
        )
        await agent.updates.complete()

    async with a2a_agent(draws, streaming=streaming, version=version) as server:
        agent = connect(server.url)
        await agent.open()
        _, reply = await say(agent, "Draw it")
        await agent.aclose()
    assert reply.content == ""
    assert file_words(reply.generation) == ["[picture: scan.png, image/png, 12 kB]"]
    assert len(str(reply.generation)) < 1_000


@BOTH
async def test_the_first_supported_interface_is_used(
    protocol: str,
) -> None:
    def with_grpc_first(card: Any) -> None:
        card.supported_interfaces.insert(
            0,
            type(card.supported_interfaces[0])(
                url="http://127.0.0.1:9", protocol_binding="GRPC", protocol_version="1.0"
            ),
        )

    async with a2a_agent(
        answers_with_a_message, bindings=("HTTP+JSON", "JSONRPC"), change=with_grpc_first
    ) as server:
        agent = connect(server.url, protocol=protocol)
        await agent.open()
        await say(agent, "Hello")
        await agent.aclose()
    assert server.paths[1] == "/rest/message:stream"


@BOTH
@pytest.mark.parametrize(
    ("header", "expected"),
    [("", ("authorization", "Bearer s3cret")), ("X-Agent-Key", ("x-agent-key", "s3cret"))],
)
async def test_the_key_is_sent_in_the_header_that_the_card_names(
    protocol: str, header: str, expected: tuple[str, str]
) -> None:
    def wants(card: Any) -> None:
        if header:
            scheme = SecurityScheme(
                api_key_security_scheme=APIKeySecurityScheme(location="header", name=header)
            )
            card.security_schemes["key"].CopyFrom(scheme)

    async with a2a_agent(answers_with_a_message, change=wants) as server:
        agent = connect(server.url, protocol=protocol, key="s3cret", headers={"X-Tenant": "t1"})
        await agent.open()
        await say(agent, "Hello")
        await agent.aclose()
    name, value = expected
    assert server.headers[-1][name] == value
    assert server.headers[-1]["x-tenant"] == "t1"


@BOTH
@pytest.mark.parametrize("allowed", [(), ("elsewhere.example",)])
async def test_a_card_that_names_another_host_needs_the_users_consent(
    protocol: str, allowed: tuple[str, ...]
) -> None:
    def elsewhere(card: Any) -> None:
        card.supported_interfaces[0].url = "http://elsewhere.example/rpc"

    async with a2a_agent(answers_with_a_message, change=elsewhere) as server:
        agent = connect(server.url, protocol=protocol, allowed=allowed)
        if allowed:
            await agent.open()
        else:
            with pytest.raises(
                PeerError, match=r"names another host, elsewhere\.example; pass --allow-host"
            ):
                await agent.open()
        await agent.aclose()


@pytest.mark.parametrize("spoken", ["2.0", "0.3"])
async def test_where_no_interface_is_understood_the_sentence_names_what_there_is(
    spoken: str,
) -> None:
    def other(card: Any) -> None:
        card.supported_interfaces[0].protocol_version = spoken

    async with a2a_agent(answers_with_a_message, bindings=("HTTP+JSON",), change=other) as server:
        agent = connect(server.url)
        with pytest.raises(PeerError, match=rf"JSONRPC of 0\.3; it has HTTP\+JSON {spoken}"):
            await agent.open()
        await agent.aclose()


@BOTH
async def test_an_agent_that_speaks_both_versions_is_asked_in_the_newer_one(
    protocol: str,
) -> None:
    def both(card: Any) -> None:
        card.supported_interfaces.insert(
            0,
            type(card.supported_interfaces[0])(
                url=card.supported_interfaces[0].url,
                protocol_binding="JSONRPC",
                protocol_version="0.3",
            ),
        )

    async with a2a_agent(answers_with_a_message, change=both) as server:
        agent = connect(server.url, protocol=protocol)
        await agent.open()
        assert (await say(agent, "Hello"))[1].content == "You said Hello."
        await agent.aclose()
    assert server.headers[-1]["a2a-version"] == "1.0"


@EVERY
async def test_a_task_that_nobody_waits_for_any_more_is_cancelled(
    protocol: str, binding: str, version: str
) -> None:
    async def never_ends(text: str, agent: Teller) -> None:
        await agent.begin()
        await agent.artifact("One moment")
        await asyncio.Event().wait()

    async with a2a_agent(never_ends, bindings=(binding,), version=version) as server:
        agent = connect(server.url, protocol=protocol)
        await agent.open()
        pieces = agent.send("Hello")
        async for piece in pieces:
            if isinstance(piece, Delta):
                break
        await pieces.aclose()
        await agent.aclose()
    assert len(server.cancelled) == 1


@BOTH
async def test_streaming_can_be_switched_off(
    protocol: str,
) -> None:
    async with a2a_agent(streams_an_artifact, bindings=("HTTP+JSON",)) as server:
        agent = connect(server.url, protocol=protocol, streaming=False)
        await agent.open()
        _, reply = await say(agent, "Hello")
        await agent.aclose()
    assert server.paths[-1] == "/rest/message:send"
    assert reply.first_token is None
    assert reply.content == "Aspirin interacts with it.\n\nAsk me more."


@BOTH
async def test_where_the_state_is_read_by_session_the_program_chooses_the_session_id(
    protocol: str,
) -> None:
    async with a2a_agent(answers_with_a_message) as server:
        agent = connect(
            server.url, protocol=protocol, object_context_url=f"{server.url}/state/{{sessionId}}"
        )
        session = await agent.open()
        await say(agent, "Hello")
        assert await agent.observe() is None
        await agent.aclose()
    assert session
    assert server.asked[0]["contextId"] == session
    assert f"/state/{session}" in server.paths


JOB = """
target:
  {user: ada, chatbot: bot, protocol: strange-a2a, apiKeyEnv: STRANGE_KEY, headers: {X-Tenant: t1}}
aspirationalAverage: 60000
evaluator: {kind: scripted, lines: [{say: What about warfarin?}]}
scorer: {kind: rules}
facts: []
tasks: [{task: Learn it, rules: [{pattern: interacts with it}]}]
assertions: [{toolCalls: {mustCall: [lookUp]}}]
"""


async def test_a_job_runs_with_the_strangers_agent_its_key_and_its_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRANGE_KEY", "s3cret")
    async with a2a_agent(streams_an_artifact) as server:
        host = server.url.partition("//")[2]
        run = await hold(JOB, tmp_path, agent_url=server.url, graph="none", allow_hosts=(host,))
    assert run.state.scores() == {"withheld": 1.0, "supplied": 1.0}
    assert server.headers[-1]["authorization"] == "Bearer s3cret"
    assert server.headers[-1]["x-tenant"] == "t1"
    assert "s3cret" not in run.path.read_text(encoding="utf-8")


async def test_a_comparison_says_that_the_agents_card_has_another_version(tmp_path: Path) -> None:
    def newer(card: AgentCard) -> None:
        card.name, card.version = "Test\x1b[2J agent", "1.1"

    job = JOB.replace("strange-a2a, apiKeyEnv: STRANGE_KEY", "a2a").replace(
        ", headers: {X-Tenant: t1}", ""
    )
    runs = []
    for change in (lambda card: None, newer):
        async with a2a_agent(streams_an_artifact, change=change) as server:
            runs.append(await hold(job, tmp_path, agent_url=server.url, graph="none"))
    assert [run.state.agent_identity for run in runs] == ["Test agent 1.0", "Test␛ agent 1.1"]
    first, second = (load_run(run.path) for run in runs)
    found = compare(first, second)
    assert "agent's own name: A “Test agent 1.0”, B “Test␛ agent 1.1”" in " ".join(found.notes)
    said = io.StringIO()
    print_comparison(found, Console(file=said, width=200))
    print_score_card(found.b, Console(file=said, width=200))
    # the answer, what is compared, the card
    assert said.getvalue().count(" · Test␛ agent 1.1 · ") == 3
    assert dict(found.a.versions)["agent's own name"] == "Test agent 1.0"


def test_the_stranger_imports_only_what_the_documentation_names() -> None:
    page = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
    used = {
        (node.module, name.name)
        for node in ast.walk(ast.parse((STRANGER / "strange_a2a.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.startswith("bioeval_tui")
        for name in node.names
    }
    assert {module for module, _ in used} == {"bioeval_tui.http_agents", "bioeval_tui.protocols"}
    assert [name for _, name in used if not re.search(rf"`[^`]*\b{name}\b[^`]*`", page)] == []
