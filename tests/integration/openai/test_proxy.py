"""Models behind a company's proxy: requests go where HTTP_PROXY says, except to this machine and
the hosts of NO_PROXY.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.peers.models.model import ChatModel, ChatRequest
from bioeval_tui.protocols import PeerError
from tests.forked import completed
from tests.integration.program import environment, run_job
from tests.servers import openai_server as srv
from tests.servers.rest_agent import RestAgentServer
from tests.unit.peers.agents.raw_server import http, raw_server

REQUEST = ChatRequest("m", [{"role": "user", "content": "Hi"}])


@pytest.fixture(autouse=True)
def no_proxy_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def answer(url: str) -> str:
    chat = ChatModel("judge", api_key="sk-one", base_url=url)
    try:
        return (await chat.complete(REQUEST)).content
    finally:
        await chat.aclose()


async def test_a_remote_model_is_called_through_the_proxy(
    server: srv.OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
    server.will(srv.say("Hello"))
    assert await answer("http://models.example.org/v1") == "Hello"
    told = server.received[0].headers
    assert (told["Host"], told["Authorization"]) == ("models.example.org", "Bearer sk-one")
    assert "Proxy-Authorization" not in told, "the key is no business of the proxy's"


async def test_a_tunnelling_proxy_never_sees_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    # without a scheme, as many write it
    monkeypatch.setenv("HTTPS_PROXY", f"ann:word@127.0.0.1:{port}")
    async with proxy:
        with pytest.raises(PeerError, match=r"the proxy for .* answered 403") as caught:
            await answer("https://models.example.org/v1")
    assert not caught.value.retryable
    assert b"CONNECT models.example.org:443" in heard[0]
    assert b"Proxy-Authorization: Basic " in heard[0], "its own user and password"
    assert b"sk-one" not in heard[0]


@pytest.mark.parametrize(
    "proxy", ["socks5://ann:word@127.0.0.1:1", "http://", "ann:word@127.0.0.1:many"]
)
async def test_an_unusable_proxy_is_named_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    said = r"models\.example\.org cannot be called through the proxy \S* of HTTP_PROXY"
    with pytest.raises(UsageError, match=said) as caught:
        await answer("http://models.example.org/v1")
    assert "word" not in str(caught.value)


async def test_an_unreachable_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with pytest.raises(
        PeerError, match=r"the proxy for models\.example\.org cannot be reached"
    ) as caught:
        await answer("http://models.example.org/v1")
    assert caught.value.retryable


async def test_a_refusing_proxy_is_named(
    server: srv.OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An https address asks the proxy for a tunnel, which the stand-in does not know."""
    monkeypatch.setenv("HTTPS_PROXY", server.url.removesuffix("/v1"))
    with pytest.raises(PeerError, match=r"the proxy for models\.example\.org answered 40"):
        await answer("https://models.example.org/v1")


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


def judged(agent: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a job that a model judges."""
    return {
        "target": {"user": "u", "chatbot": "b", **agent},
        "evaluator": {"kind": "scripted", "lines": [{"say": "Please note it."}]},
        "scorer": {"kind": "llm", "model": "j"},
        "tasks": [{"task": "Ask"}],
        "facts": [],
        "aspirationalAverage": 1000,
        **more,
    }


def model_server() -> srv.OpenAIServer:
    """Return a server whose model is the agent if it is asked for a stream, and otherwise
    judges.
    """
    return srv.OpenAIServer(
        otherwise=lambda body: (
            srv.say("I made a note of it.") if body["model"] == "a" else srv.say_json(VERDICT)
        ),
        models=["a", "j"],
    )


async def refuse(writer: asyncio.StreamWriter, number: int) -> None:
    writer.write(http(b"no", "502 Bad Gateway"))


@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize("protocol", ["rest", "openai"])
async def test_nothing_that_is_for_this_machine_reaches_a_proxy(
    protocol: str, sensitive: bool, tmp_path: Path
) -> None:
    async with model_server() as models, RestAgentServer() as rest, raw_server(refuse) as proxy:
        agent = {"url": rest.url}
        if protocol == "openai":
            agent = {
                "protocol": "openai",
                "url": models.url.replace("127.0.0.1", "localhost"),
                "model": "a",
            }
        job = judged(agent, sensitive=sensitive)
        variables = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": models.url, "NO_PROXY": ""}
        variables |= dict.fromkeys(
            ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"), proxy.url
        )
        done = await run_job(tmp_path, job, **variables)
        assert done.returncode == 0, done.stderr
        assert "proxy" not in done.stderr
        run_id = json.loads(done.stdout)["run_id"]
        env = {**environment(tmp_path / "data"), **variables}
        for command in (("doctor", "job.yml"), ("runs", "rescore", run_id)):
            again = await asyncio.to_thread(completed, *command, cwd=tmp_path, env=env)
            assert again.returncode == 0, again.stderr
        assert len(models.received) >= 2
    assert proxy.requests == []


async def test_a_proxy_between_is_announced_recorded_and_reported(tmp_path: Path) -> None:
    async with model_server() as proxy, RestAgentServer() as agent:
        at = proxy.url.split("/")[2]
        variables = {
            "OPENAI_API_KEY": "sk-secret",
            "OPENAI_BASE_URL": "http://models.example.org/v1",
        }
        variables |= {"HTTP_PROXY": f"http://ann:s3same@{at}", "NO_PROXY": "127.0.0.0/8"}
        planned = await run_job(tmp_path, judged({"url": agent.url}), "--dry-run", **variables)
        done = await run_job(tmp_path, judged({"url": agent.url}), **variables)
        assert done.returncode == 0, done.stderr
        run_id = json.loads(done.stdout)["run_id"]
        env = {**environment(tmp_path / "data"), **variables}
        again = await asyncio.to_thread(completed, "runs", "rescore", run_id, env=env)
    through = f"the proxy {at} (for models.example.org)"
    hosts = [agent.url.split("/")[2], "models.example.org", through]
    assert json.loads(planned.stdout)[0]["hosts"] == hosts
    assert f"transcripts are sent to: {', '.join(hosts)}\n" in done.stderr
    assert f"transcripts are sent to: models.example.org, {through}\n" in again.stderr
    recording = (tmp_path / "data" / "runs" / f"{run_id}.jsonl").read_text()
    assert json.loads(recording.splitlines()[0])["hosts"] == hosts
    assert "s3same" not in recording + planned.stdout + done.stderr + again.stderr


async def test_a_socks_proxy_stops_a_run_only_if_a_model_is_called_through_it(
    tmp_path: Path,
) -> None:
    variables = {"OPENAI_API_KEY": "sk-secret", "ALL_PROXY": "socks5://127.0.0.1:1", "NO_PROXY": ""}
    async with model_server() as models, RestAgentServer() as agent:
        done = await run_job(
            tmp_path, judged({"url": agent.url}), OPENAI_BASE_URL=models.url, **variables
        )
        assert done.returncode == 0, done.stderr
        remote = {**variables, "OPENAI_BASE_URL": "http://models.example.org/v1"}
        refused = await run_job(tmp_path, judged({"url": agent.url}), **remote)
        assert refused.returncode == 2
        assert "the proxy socks5://127.0.0.1:1 of ALL_PROXY" in refused.stderr
        env = {**environment(tmp_path / "data"), **remote, "BIOEVAL_LOCAL_PORTS": "9"}
        told = await asyncio.to_thread(completed, "doctor", "--json", env=env)
    found = {each["part"]: each for each in json.loads(told.stdout)}
    assert "socks5://127.0.0.1:1 of ALL_PROXY" in found["openai endpoint"]["said"]


async def test_doctor_names_the_proxy_that_it_asks_a_model_server_through(tmp_path: Path) -> None:
    async with model_server() as proxy:
        at = proxy.url.split("/")[2]
        env = {
            **environment(tmp_path),
            "OPENAI_API_KEY": "sk-secret",
            "BIOEVAL_LOCAL_PORTS": "9",
            "NO_PROXY": "",
        }
        env |= {"OPENAI_BASE_URL": "http://models.example.org/v1", "BIOEVAL_AGENT_URL": proxy.url}
        said = {}
        for place in (at, "127.0.0.1:1"):
            told = await asyncio.to_thread(
                completed,
                "doctor",
                "--json",
                env={**env, "HTTP_PROXY": f"http://ann:s3same@{place}"},
            )
            said[place] = {each["part"]: each for each in json.loads(told.stdout)}[
                "openai endpoint"
            ]["said"]
        assert proxy.keys == ["Bearer sk-secret"]
    assert said[at] == f"models.example.org (through the proxy {at}) serves a, j"
    assert said["127.0.0.1:1"].startswith(
        "models.example.org (through the proxy 127.0.0.1:1) cannot be reached"
    )


def test_a_package_that_only_names_its_address_does_not_read_the_proxies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    ChatModel("judge", api_key="k", base_url="http://127.0.0.1:8000", provider="azure")


async def test_googles_tokens_for_vertex_come_directly_from_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("google.auth")
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    answer = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}

    async def google(writer: asyncio.StreamWriter, number: int) -> None:
        token = {"access_token": "token-1", "expires_in": 3600, "token_type": "Bearer"}
        response = {"id": "r", "object": "response", "status": "completed", "output": [answer]}
        writer.write(http(json.dumps(token if number == 1 else response).encode()))

    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    async with raw_server(google) as server, raw_server(refuse) as proxy:
        account = {
            "type": "service_account",
            "project_id": "p",
            "private_key_id": "k",
            "client_id": "1",
        }
        account |= {
            "private_key": key.decode(),
            "client_email": "a@b.org",
            "token_uri": f"{server.url}/token",
        }
        (tmp_path / "account.json").write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        chat = ChatModel(
            "judge", api_key=None, base_url=server.url, provider="vertex", api="responses"
        )
        try:
            assert (await chat.complete(REQUEST)).content == "Hi"
        finally:
            await chat.aclose()
    assert proxy.requests == []
    assert b"POST /token " in server.requests[0]
    assert b"Bearer token-1" in server.requests[1]
