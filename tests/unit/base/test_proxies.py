"""Which proxy a URL is called through: none for this machine and the hosts of NO_PROXY."""

from __future__ import annotations

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.proxies import is_loopback, proxy_for, proxy_phrases

PROXY = "http://proxy.example.org:3128"
HERE = [
    *(
        "127.0.0.1",
        "127.1.2.3",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
    ),
    *("localhost", "LocalHost", "0.0.0.0", "[::]"),
]
OTHER_SPELLINGS = [
    *(
        "127.1",
        "0x7f.1",
        "0x7F000001",
        "2130706433",
        "0177.0.0.1",
        "017700000001",
        "127.000.000.001",
        "127.0.0.1.",
    ),
    *(
        "127.0.0x1",
        "0",
        "127。0。0。1",
        "１２７.0.0.1",
        "①27.0.0.1",
        "localhost。",
        "ⓛocalhost",
        "l%6Fcalhost",
    ),
    *(
        "loc\u00adalhost",
        "127.0.0.%31",
        "127.0.0.1%00.example.org",
        "localhost..",
        "[::1%25lo]",
        "[::1%lo]",
    ),
    *(
        " 127.0.0.1",
        "127.0.0.1 ",
        "127.0.0.1\t",
        "127.0.0.1\0",
        "example.org\\@127.0.0.1",
        "a@b@127.0.0.1",
    ),
]


@pytest.fixture(autouse=True)
def all_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_PROXY".upper(), raising=False)
    monkeypatch.setenv("ALL_PROXY", PROXY)


@pytest.mark.parametrize("host", HERE)
def test_this_machine_is_called_directly_however_it_is_spelled(host: str) -> None:
    assert is_loopback(f"{host}:8081")
    assert proxy_for(f"http://{host}:8081/v1") is None
    assert proxy_for(f"https://ann:word@{host}/v1") is None


@pytest.mark.parametrize("host", OTHER_SPELLINGS)
def test_what_programs_could_read_differently_is_not_called_at_all(host: str) -> None:
    assert not is_loopback(f"{host}:8081")
    with pytest.raises(UsageError, match="not an http or https URL"):
        proxy_for(f"http://{host}:8081/v1")


@pytest.mark.parametrize("host", ["models.localhost", "localhost.", "Models.localhost."])
def test_what_a_name_server_says_of_localhost_is_called_directly_but_may_be_another_machine(
    host: str,
) -> None:
    assert proxy_for(f"http://{host}:8000/v1") is None
    assert not is_loopback(f"{host}:8000")


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1.example.org", "localhost.example.org", "notlocalhost", "10.0.0.1", "128.0.0.1",
            "[::2]", "[::127.0.0.1]"),
        *("models.example.org", "[fe80::1]", "127.0.0.1@example.org"),
    ],
)  # fmt: skip
def test_any_other_host_is_called_through_the_proxy(host: str) -> None:
    assert not is_loopback(host.rpartition("@")[2])
    assert proxy_for(f"http://{host}:8081/v1") == PROXY


@pytest.mark.parametrize(
    "nonsense", ["", "wherever the plug-in [x] sends them", "127.0.0.1 and others", "[", ":80"]
)
def test_what_is_no_host_is_not_this_machine(nonsense: str) -> None:
    assert not is_loopback(nonsense)


@pytest.mark.parametrize(
    ("listed", "host"),
    [
        ("models.example.org", "models.example.org"),
        ("example.org", "models.example.org"),
        (".example.org", "models.example.org"),
        ("*.example.org", "models.example.org"),
        ("MODELS.Example.org", "models.example.org."),
        ("a.org , models.example.org", "models.example.org"),
        ("a.org models.example.org", "models.example.org"),
        ("models.example.org:443", "models.example.org"),
        ("models.example.org:8000", "models.example.org:8000"),
        ("10.0.0.0/8", "10.255.0.1"),
        ("10.0.0.1/8", "10.255.0.1:8000"),
        ("10.0.0.0/255.0.0.0", "10.255.0.1"),
        ("10.*", "10.255.0.1"),
        ("10.255.0.1", "10.255.0.1"),
        ("10.0.0.0/8", "[::ffff:10.0.0.1]"),
        ("fd00::/8", "[fd12::1]:8000"),
        ("[fd12::1]", "[fd12::1]"),
        ("[fd12::1]:8000", "[fd12:0::1]:8000"),
        ("fd12:0:0:0:0:0:0:1", "[fd12::1]"),
        ("*", "models.example.org"),
        ("a.org,*", "models.example.org"),
    ],
)
def test_a_host_in_no_proxy_is_called_directly(
    listed: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", listed)
    assert proxy_for(f"https://{host}/v1") is None


@pytest.mark.parametrize(
    ("listed", "host"),
    [
        ("ample.org", "models.example.org"),
        ("models.example.org:8000", "models.example.org"),
        ("10.0.0.0/8", "11.0.0.1"),
        ("10.0.0.0/8", "10.example.org"),
        ("10.0.0.0/33", "10.0.0.1"),
        ("fd00::/8", "10.0.0.1"),
        ("models.example.org/8, ,:,[", "models.example.org"),
    ],
)
def test_a_host_that_no_proxy_does_not_list_is_called_through_the_proxy(
    listed: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", listed)
    assert proxy_for(f"https://{host}/v1") == PROXY


@pytest.mark.parametrize("variable", ["ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"])
def test_a_socks_proxy_stops_only_what_is_called_through_it(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALL_PROXY")
    monkeypatch.setenv(variable, "socks5://ann:word@127.0.0.1:1080")
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")
    assert proxy_for("https://models.example.org/v1") == PROXY
    assert proxy_for("http://127.0.0.1:8000/v1") is None
    assert proxy_for("http://10.0.0.1/v1") is None
    with pytest.raises(UsageError) as caught:
        proxy_for("http://models.example.org/v1")
    assert (
        str(caught.value)
        == "models.example.org cannot be called through the proxy socks5://127.0.0.1:1080 of"
        f" {variable}, which is not an http or https URL; change that, or add the host to"
        " NO_PROXY"
    )


def test_hosts_behind_a_proxy_are_told_with_it_and_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "ann:word@gate.example.org:8080/")
    called = [
        "https://a.example.org/v1",
        "http://127.0.0.1/v1",
        "https://b.example.org:8443/v1",
        "http://c.org",
    ]
    assert list(proxy_phrases([*called, called[0]])) == [
        "the proxy gate.example.org:8080 (for a.example.org and b.example.org)",
        "the proxy proxy.example.org:3128 (for c.org)",
    ]
