"""Who may connect, tested without a server."""

from __future__ import annotations

import pytest

from bioeval_tui.serve.access import TICKET_S, Access, Hosts, is_loopback, same_origin


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000"]
)
def test_a_loopback_server_answers_to_its_own_names(host: str) -> None:
    assert Hosts.of("127.0.0.1", 8000).allows(host)


@pytest.mark.parametrize(
    "host",
    ["evil.example:8000", "127.0.0.1", "127.0.0.1:8001", "localhost.evil.example:8000",
        "127.0.0.1:8000@evil.example",
     "192.168.1.4:8000", "127.0.0.1.:8000", "", "[::1]", "[::1]:8000:1",
     "localhost:8000, evil.example"],
)  # fmt: skip
def test_a_loopback_server_refuses_any_other_host_name(host: str) -> None:
    assert not Hosts.of("127.0.0.1", 8000).allows(host)


def test_a_public_server_accepts_addresses_and_configured_names_only() -> None:
    hosts = Hosts.of("0.0.0.0", 8000, ["eval.example.org", "eval.example.org:8443"])
    for host in ("192.168.1.4:8000", "[fe80::1]:8000", "eval.example.org", "eval.example.org:8443"):
        assert hosts.allows(host), host
    for host in (
        "rebound.example:8000",
        "192.168.1.4",
        "eval.example.org:9",
        "evil-eval.example.org",
    ):
        assert not hosts.allows(host), host


def test_only_loopback_addresses_count_as_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "localhost", "::1", "127.9.9.9")))
    assert not any(
        map(is_loopback, ("0.0.0.0", "192.168.1.4", "::", "evil.example", "127.0.0.1.evil"))
    )


def test_only_the_servers_own_origin_is_accepted() -> None:
    assert same_origin("http://127.0.0.1:8000", "127.0.0.1:8000")
    assert same_origin("https://eval.example.org", "eval.example.org")
    for origin in (
        "null",
        "",
        "http://127.0.0.1:8001",
        "http://localhost:8000",
        "http://evil.example",
    ):
        assert not same_origin(origin, "127.0.0.1:8000"), origin


def test_only_the_token_is_right() -> None:
    access = Access(Hosts.of("127.0.0.1", 1))
    assert access.is_token(access.token)
    assert not any(map(access.is_token, ("", "guess", access.token[:-1], f"{access.token}x", "ä")))


def test_a_ticket_can_be_used_once_and_expires() -> None:
    clock = Clock()
    access = Access(Hosts.of("127.0.0.1", 1), clock)
    ticket, other = access.new_ticket(), access.new_ticket()
    assert access.redeem(ticket)
    assert not access.redeem(ticket)
    clock.now += TICKET_S
    assert not access.redeem(other)
