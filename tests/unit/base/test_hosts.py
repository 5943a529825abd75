"""How hosts are shown."""

from __future__ import annotations

import pytest

from bioeval_tui.base.credentials import strip_credentials
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.hosts import host_of


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1:8081/x", "127.0.0.1:8081"),
        ("https://user:secret@api.example.org/v1?key=secret", "api.example.org"),
        ("http://[::1]:80/", "[::1]:80"),
    ],
)
def test_only_host_and_port_of_a_url_are_shown(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize("url", ["", "localhost:8081", "ftp://x", "http://", "user:secret@host"])
def test_an_invalid_url_is_reported_without_its_secrets(url: str) -> None:
    with pytest.raises(UsageError, match="not an http or https URL") as caught:
        host_of(url)
    assert "secret" not in str(caught.value)


def test_a_plugins_agent_may_have_another_url_scheme() -> None:
    assert host_of("tcp://u:secret@127.0.0.1:9000", any_scheme=True) == "127.0.0.1:9000"
    with pytest.raises(UsageError, match="not a URL with a host: socket"):
        host_of("socket", any_scheme=True)


def test_a_recorded_url_has_no_credentials() -> None:
    assert strip_credentials("https://u:p@h:1/path?key=x#y") == "https://h:1/path"
