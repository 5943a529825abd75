"""Requests to Azure OpenAI, Bedrock and Vertex by the openai package, as a server receives them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai import providers

from bioeval_tui.base.errors import UsageError
from bioeval_tui.peers.models.model import ChatModel, ChatRequest, provider_url
from tests.servers import openai_server as srv
from tests.unit.peers.agents.raw_server import http, raw_server

ANSWER = json.dumps(srv.completion({"role": "assistant", "content": "Hello."})).encode()
REQUEST = ChatRequest("my-deployment", [{"role": "user", "content": "Hi"}])
VARIABLES = (
    *(
        "AZURE_OPENAI_ENDPOINT",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_AD_TOKEN",
        "OPENAI_API_VERSION",
    ),
    *(
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "OPENAI_CUSTOM_HEADERS",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK", "AWS_BEDROCK_BASE_URL"),
    *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return


async def asked(**options: Any) -> bytes:
    """Return the request that a model with these options makes."""

    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(http(ANSWER))

    async with raw_server(handler) as seen:
        options["base_url"] = seen.url + options.pop("path", "")
        model = ChatModel("judge", **options)
        assert (await model.complete(REQUEST)).content == "Hello."
        await model.aclose()
    return seen.requests[0]


async def test_azure_gets_its_deployment_and_its_own_key_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_VERSION", "2026-01-01")
    head = await asked(provider="azure", api_key="k-azure")
    path = b"POST /openai/deployments/my-deployment/chat/completions?api-version=2026-01-01 "
    assert head.startswith(path)
    assert b"api-key: k-azure" in head.lower()


async def test_azure_without_a_version_says_what_is_missing() -> None:
    with pytest.raises(UsageError, match=r"azure: .*OPENAI_API_VERSION"):
        await asked(provider="azure", api_key="k")


async def test_bedrock_gets_its_bearer_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert provider_url("bedrock").startswith("https://bedrock-mantle.eu-west-1.api.aws/")
    head = await asked(provider="bedrock", api_key="k-bedrock", path="/openai/v1")
    assert head.startswith(b"POST /openai/v1/chat/completions ")
    assert b"authorization: bearer k-bedrock" in head.lower()


def test_an_openai_package_without_vertex_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(providers, "vertex", raising=False)
    with pytest.raises(
        UsageError, match=r"vertex: needs openai 3\.36 or newer; openai \S+ is installed"
    ):
        provider_url("vertex")


@pytest.mark.skipif(not hasattr(providers, "vertex"), reason="Vertex came with openai 3.36")
def test_the_vertex_url_is_derived_from_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"vertex: .*project"):
        provider_url("vertex")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    assert provider_url("vertex").startswith(
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/my-project/"
    )


@pytest.mark.parametrize("account", [True, False])
async def test_organisation_project_and_headers_are_sent_only_to_the_users_own_endpoint(
    account: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: pass-1")
    head = (await asked(api_key="k", path="/v1", account=account)).lower()
    for given in (b"openai-organization: org-1", b"openai-project: proj-1", b"x-gateway: pass-1"):
        assert (given in head) is account


async def test_an_endpoint_without_a_key_gets_none_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-users")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
    head = (await asked(api_key=None, path="/v1")).lower()
    assert b"authorization" not in head
    assert b"sk-" not in head
