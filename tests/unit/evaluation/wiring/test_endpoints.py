"""A key is sent only to the host it was given for, whatever a job says."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.wiring.endpoints import Endpoint, agent_key, model_endpoint, model_url
from bioeval_tui.jobs.models import EvaluatorConfig, ScorerConfig, TargetConfig
from bioeval_tui.peers.models.model import ChatModel

OPENAI = {"OPENAI_API_KEY": "sk-openai"}
LOCAL = {**OPENAI, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
JUDGE = {
    **LOCAL,
    "BIOEVAL_JUDGE_BASE_URL": "https://judge.example/v1",
    "BIOEVAL_JUDGE_API_KEY": "sk-judge",
}


def judge_at(environment: dict[str, str], *allowed: str, **asked: Any) -> Endpoint:
    settings = Settings.from_environment(environment)
    return model_endpoint("judge", ScorerConfig(**asked), settings, allowed, "do something else")


def test_models_are_openais_by_default_with_its_key_and_account() -> None:
    assert judge_at(OPENAI) == Endpoint(
        "https://api.openai.com/v1", "sk-openai", "openai", "chat", True
    )


def test_each_role_can_have_its_own_endpoint_key_and_model() -> None:
    assert judge_at(JUDGE) == Endpoint("https://judge.example/v1", "sk-judge")
    settings = Settings.from_environment({**JUDGE, "BIOEVAL_JUDGE_MODEL": "large"})
    assert (settings.judge_model, settings.evaluator_model) == ("large", "gpt-4.1-mini")
    evaluator = model_endpoint("evaluator", EvaluatorConfig(), settings, (), "")
    assert (evaluator.base_url, evaluator.api_key) == ("http://127.0.0.1:9/v1", "sk-openai")
    assert model_url("judge", ScorerConfig(), settings) == "https://judge.example/v1"


def test_a_role_with_only_its_own_key_uses_the_default_endpoint() -> None:
    assert judge_at({**LOCAL, "BIOEVAL_JUDGE_API_KEY": "sk-judge"}).api_key == "sk-judge"


def test_the_openai_key_is_not_sent_to_a_roles_own_endpoint() -> None:
    found = judge_at({**LOCAL, "BIOEVAL_JUDGE_BASE_URL": "http://127.0.0.1:8/v1"})
    assert (found.base_url, found.api_key, found.account) == ("http://127.0.0.1:8/v1", None, False)


def test_a_missing_key_names_the_variable_to_set() -> None:
    with pytest.raises(UsageError, match=r"OPENAI_API_KEY is not set.*or do something else"):
        judge_at({})


def test_a_job_may_name_the_endpoint_that_the_environment_names() -> None:
    assert judge_at(JUDGE, url="https://judge.example/other").api_key == "sk-judge"
    assert judge_at(JUDGE, url="http://127.0.0.1:9/v1").api_key == "sk-openai"


@pytest.mark.parametrize(
    "url", ["https://elsewhere.example/v1", "http://judge.example/v1", "https://judge.example:8443"]
)
def test_a_host_that_only_the_job_names_gets_no_key_and_no_transcript_without_consent(
    url: str,
) -> None:
    with pytest.raises(UsageError, match="no key is set for that host; pass --allow-host"):
        judge_at(JUDGE, url=url)
    host = url.partition("://")[2].partition("/")[0]
    assert judge_at(JUDGE, host, url=url).api_key is None


def test_a_job_names_the_variable_of_a_key_and_the_user_allows_its_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "sk-other")
    asked = {"url": "https://other.example/v1", "api_key_env": "OTHER_API_KEY"}
    with pytest.raises(
        UsageError,
        match=r"the key in OTHER_API_KEY to other\.example, a host that it does not belong to",
    ):
        judge_at(LOCAL, **asked)
    assert judge_at(LOCAL, "other.example", **asked).api_key == "sk-other"
    monkeypatch.setenv("OTHER_BASE_URL", "https://other.example")
    assert judge_at(LOCAL, **asked).api_key == "sk-other", "the variable beside it names the host"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "BIOEVAL_AGENT_API_KEY", "NEO_PASSWORD"])
def test_no_environment_variable_is_sent_to_a_host_that_the_job_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "secret-1")
    with pytest.raises(UsageError, match="does not belong to") as caught:
        judge_at(OPENAI, url="https://elsewhere.example/v1", api_key_env=name)
    assert "secret-1" not in str(caught.value)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(
        UsageError, match=r"scorer\.apiKeyEnv names NOWHERE_API_KEY, which is not set"
    ):
        judge_at(OPENAI, api_key_env="NOWHERE_API_KEY")


def test_azure_uses_its_own_key() -> None:
    azure = {
        "BIOEVAL_JUDGE_API_TYPE": "azure",
        "BIOEVAL_JUDGE_BASE_URL": "https://me.openai.azure.com",
    }
    with pytest.raises(UsageError, match="BIOEVAL_JUDGE_API_KEY is not set"):
        judge_at({**OPENAI, **azure})
    found = judge_at({**azure, "BIOEVAL_JUDGE_API_KEY": "k"})
    assert (found.provider, found.api_key, found.account) == ("azure", "k", False)


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(
        UsageError, match="OPENAI_API_TYPE=anthropic: use one of openai, azure, bedrock, vertex"
    ):
        Settings.from_environment({"OPENAI_API_TYPE": "anthropic"})


def key_for(
    url: str, environment: dict[str, str], *allowed: str, given: bool = False, **asked: Any
) -> str | None:
    target = TargetConfig(user="u", chatbot="c", **asked)
    return agent_key(
        target, url, Settings.from_environment(environment), allowed, url_is_given=given
    )


AGENT = {"BIOEVAL_AGENT_API_KEY": "k-agent"}
THERE = {**AGENT, "BIOEVAL_AGENT_URL": "https://agent.example"}


def test_the_agents_key_is_sent_to_the_agent_that_the_user_named() -> None:
    assert key_for("http://127.0.0.1:9000", AGENT) == "k-agent", (
        "by default the agent is on this machine"
    )
    assert key_for("https://agent.example/base", THERE) == "k-agent"
    assert key_for("https://typed.example", THERE, given=True) == "k-agent"
    assert key_for("https://allowed.example", THERE, "allowed.example") == "k-agent"


@pytest.mark.parametrize(
    "url", ["https://elsewhere.example", "http://agent.example", "http://127.0.0.1:9000"]
)
def test_the_agents_key_is_sent_to_no_agent_that_a_job_or_recording_names(url: str) -> None:
    with pytest.raises(UsageError, match=r"BIOEVAL_AGENT_API_KEY belongs to agent\.example"):
        key_for(url, THERE)


@pytest.mark.parametrize("value", ["k-\tagent", "k-ågent", "k\nagent"])
def test_a_key_that_no_header_can_have_is_refused_before_the_run(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="BIOEVAL_AGENT_API_KEY has characters that no header"):
        key_for("http://127.0.0.1:9000", {"BIOEVAL_AGENT_API_KEY": value})
    with pytest.raises(UsageError, match="OPENAI_API_KEY has characters that no header may have"):
        key_for("http://127.0.0.1:9/v1", {**LOCAL, "OPENAI_API_KEY": value}, protocol="openai")
    monkeypatch.setenv("OTHER_API_KEY", value)
    with pytest.raises(UsageError, match="OTHER_API_KEY has characters that no header may have"):
        key_for("https://a.example", {}, "a.example", api_key_env="OTHER_API_KEY")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("OPENAI_ORG_ID", "ü", "OPENAI_ORG_ID has characters that no header may have"),
        ("OPENAI_PROJECT_ID", "a\tb", "OPENAI_PROJECT_ID has characters that no header may have"),
        ("OPENAI_CUSTOM_HEADERS", "X-A: 1\nX-B: ü", "OPENAI_CUSTOM_HEADERS has characters that no"),
        ("OPENAI_CUSTOM_HEADERS", "X-A", "OPENAI_CUSTOM_HEADERS: each line must be NAME: value"),
    ],
)
def test_an_account_that_no_header_can_have_is_refused_before_the_run(
    name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=says):
        ChatModel("judge", api_key="k", account=True)
    ChatModel("judge", api_key="k", base_url="http://127.0.0.1:9/v1")


def test_ports_of_thousands_of_digits_are_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"BIOEVAL_LOCAL_PORTS=9{30}.*: must be ports, such as"):
        Settings.from_environment({"BIOEVAL_LOCAL_PORTS": "9" * 5000})


@pytest.mark.parametrize("same", [True, False])
def test_the_openai_key_is_used_for_a_chat_agent_only_at_the_openai_url(same: bool) -> None:
    url = "http://127.0.0.1:9/v1" if same else "http://127.0.0.1:8/v1"
    assert key_for(url, LOCAL, protocol="openai") == ("sk-openai" if same else None)
    assert key_for(url, LOCAL) is None, "a REST agent has no business with it"
