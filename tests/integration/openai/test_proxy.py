"""Models behind a company's proxy: requests go where HTTP_PROXY says, except to the hosts of NO_PROXY."""

from __future__ import annotations

import asyncio

import pytest

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.http import proxy_for
from bioeval_tui.evaluation.models.model import ChatModel, ChatRequest
from bioeval_tui.protocols import PeerError
from tests.servers import openai_server as srv

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
    monkeypatch.setenv("HTTPS_PROXY", f"ann:word@127.0.0.1:{port}")  # without a scheme, as many write it
    async with proxy:
        with pytest.raises(PeerError, match=r"the proxy for .* answered 403") as caught:
            await answer("https://models.example.org/v1")
    assert not caught.value.retryable
    assert b"CONNECT models.example.org:443" in heard[0]
    assert b"Proxy-Authorization: Basic " in heard[0], "its own user and password"
    assert b"sk-one" not in heard[0]


@pytest.mark.parametrize("proxy", ["socks5://ann:word@127.0.0.1:1", "http://", "ann:word@127.0.0.1:many"])
async def test_an_unusable_proxy_is_named_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(UsageError, match=r"the environment's proxy for models\.example\.org") as caught:
        await answer("http://models.example.org/v1")
    assert "word" not in str(caught.value)


async def test_no_proxy_applies_to_ipv6_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "::1")
    assert proxy_for("http://[::1]:8000/v1") is None


async def test_a_host_in_no_proxy_is_called_directly(
    server: srv.OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server.will(srv.say("Hello"))
    assert await answer(server.url) == "Hello"


async def test_an_unreachable_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with pytest.raises(PeerError, match=r"the proxy for models\.example\.org cannot be reached") as caught:
        await answer("http://models.example.org/v1")
    assert caught.value.retryable


async def test_a_refusing_proxy_is_named(server: srv.OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An https address asks the proxy for a tunnel, which the stand-in does not know."""
    monkeypatch.setenv("HTTPS_PROXY", server.url.removesuffix("/v1"))
    with pytest.raises(PeerError, match=r"the proxy for models\.example\.org answered 40"):
        await answer("https://models.example.org/v1")
