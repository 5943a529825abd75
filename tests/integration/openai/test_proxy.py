"""Models behind a company's proxy: requests go where HTTP_PROXY says, except to the hosts of NO_PROXY."""

from __future__ import annotations

import pytest

from bioeval_tui.chat.model import ChatModel, ChatRequest
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


async def test_a_model_elsewhere_is_asked_through_the_proxy(
    server: srv.OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
    server.will(srv.say("Hello"))
    assert await answer("http://models.example.org/v1") == "Hello"
    assert server.received[0].headers["Host"] == "models.example.org"


async def test_a_host_that_needs_no_proxy_is_asked_itself(
    server: srv.OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server.will(srv.say("Hello"))
    assert await answer(server.url) == "Hello"


async def test_a_proxy_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with pytest.raises(
        PeerError, match=r"the proxy on the way to models\.example\.org cannot be reached"
    ) as caught:
        await answer("http://models.example.org/v1")
    assert caught.value.retryable


async def test_a_proxy_that_refuses_is_named(
    server: srv.OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An https address asks the proxy for a tunnel, which the stand-in does not know."""
    monkeypatch.setenv("HTTPS_PROXY", server.url.removesuffix("/v1"))
    with pytest.raises(PeerError, match=r"the proxy on the way to models\.example\.org answered 40"):
        await answer("https://models.example.org/v1")
