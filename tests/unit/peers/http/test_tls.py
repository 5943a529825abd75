"""Agents and models over TLS: a trusted certificate is accepted, any other is refused in one
sentence.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from bioeval_tui.peers import http
from bioeval_tui.peers.models.model import ChatModel, ChatRequest
from bioeval_tui.protocols import PeerError, Reply
from tests.servers.agents import rest_agent
from tests.servers.openai_server import OpenAIServer
from tests.servers.rest_agent import RestAgentServer

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl makes the certificates"
)


def certificate(folder: Path, names: str) -> Path:
    """Make a key and a certificate that vouches for itself, in one file."""
    made = folder / f"{len(list(folder.iterdir()))}.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout", str(made) + ".key", "-out", str(made), "-days", "2", "-subj", "/CN=test",
            "-addext", f"subjectAltName={names}", "-addext",
            "keyUsage=critical,digitalSignature,keyCertSign",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tls")
    return {
        "this": certificate(folder, "IP:127.0.0.1"),
        "another": certificate(folder, "DNS:agent.example.org"),
    }


@pytest.fixture(autouse=True)
def fresh_context(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The context is made once a process; each test has its own."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    http._verifying_context.cache_clear()
    yield
    http._verifying_context.cache_clear()


@asynccontextmanager
async def served(server: RestAgentServer | OpenAIServer, own: Path) -> AsyncIterator[str]:
    """Serve over TLS as well; give that address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(own, f"{own}.key")
    async with server:
        assert server._runner is not None
        site = web.TCPSite(server._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = server._runner.addresses[-1][1]
        yield f"https://127.0.0.1:{port}"


async def talk(url: str) -> Reply:
    agent = rest_agent(url, user="ada", chatbot="bot", model="m")
    try:
        await agent.open()
        reply = [piece async for piece in agent.send("Hello")][-1]
        assert isinstance(reply, Reply)
        return reply
    finally:
        await agent.aclose()


async def refused(url: str) -> str:
    with pytest.raises(PeerError) as raised:
        await talk(url)
    assert not raised.value.retryable, "trying again cannot help"
    assert "\n" not in str(raised.value)
    return str(raised.value).replace(url.partition("//")[2], "AGENT")


async def test_an_agent_with_a_certificate_that_the_user_trusts_can_be_called(
    certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates["this"]))
    async with served(RestAgentServer(), certificates["this"]) as url:
        assert (await talk(url)).content == "I made a note of it."


async def test_a_self_signed_certificate_is_refused_in_one_sentence(
    certificates: dict[str, Path],
) -> None:
    agent = RestAgentServer()
    async with served(agent, certificates["this"]) as url:
        said = await refused(url)
    assert said.startswith("the TLS certificate of AGENT is not trusted: ")
    assert "self-signed certificate" in said
    assert "SSL_CERT_FILE" in said
    assert agent.sessions == 0


async def test_a_certificate_of_another_host_is_refused(
    certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates["another"]))
    async with served(RestAgentServer(), certificates["another"]) as url:
        said = await refused(url)
    assert "not valid for '127.0.0.1'" in said


async def test_an_unreadable_certificate_file_is_reported(
    certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    async with served(RestAgentServer(), certificates["this"]) as url:
        for path in (wrong, tmp_path / "nowhere.pem"):
            monkeypatch.setenv("SSL_CERT_FILE", str(path))
            assert f"SSL_CERT_FILE ({path}) cannot be used" in await refused(url)


async def test_model_endpoints_need_a_trusted_certificate_too(
    certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ChatRequest("m", [{"role": "user", "content": "Hi"}])
    async with served(OpenAIServer(), certificates["this"]) as url:
        chat = ChatModel("judge", api_key="k", base_url=f"{url}/v1")
        with pytest.raises(
            PeerError, match="is not trusted: self-signed certificate; SSL_CERT_FILE"
        ) as raised:
            await chat.complete(request)
        assert not raised.value.retryable
        await chat.aclose()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates["this"]))
        http._verifying_context.cache_clear()
        chat = ChatModel("judge", api_key="k", base_url=f"{url}/v1")
        assert (await chat.complete(request)).content == "Hello."
        await chat.aclose()


async def test_https_to_an_http_port_is_one_sentence_and_not_retried() -> None:
    async with RestAgentServer() as agent:
        said = await refused(agent.url.replace("http://", "https://"))
    assert (
        said
        == "no TLS connection to AGENT: it answers without TLS; should its URL start with http://?"
    )
