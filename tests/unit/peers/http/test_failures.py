"""What a failed request means."""

from __future__ import annotations

import errno
import ssl
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx2
import pytest
from aiohttp import ClientConnectorError
from aiohttp.client_reqrep import ConnectionKey

from bioeval_tui.base.peer_limits import MAX_HEADER_BYTES, MAX_HEADERS
from bioeval_tui.peers.failures import (
    RECEIVED_LIMIT,
    connection_error,
    received_text,
    status_error,
)

ASKED: Any = SimpleNamespace(real_url="https://agent.example")
KEY = ConnectionKey("agent.example", 443, True, True, None, None, None)


def untrusted(code: int) -> Exception:
    """Return what aiohttp raises for a certificate that OpenSSL rejects with this code."""
    error = ssl.SSLCertVerificationError(1, "x")
    error.verify_code, error.verify_message = code, "no good."
    return aiohttp.ClientConnectorCertificateError(KEY, error)


def no_tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "x")
    error.reason = reason
    return error


def refusing_proxy(status: int) -> Exception:
    return aiohttp.ClientHttpProxyError(ASKED, (), status=status)


def unreadable(message: str) -> Exception:
    return aiohttp.ClientResponseError(ASKED, (), status=400, message=message)


AGAIN = {"retryable", "unreachable"}


@pytest.mark.parametrize(
    ("error", "flags", "says"),
    [
        # never sent: it may be sent again
        (aiohttp.ConnectionTimeoutError(), AGAIN, "the connection to HOST timed out"),
        (aiohttp.ClientProxyConnectionError(KEY, OSError(1, "x")), AGAIN,
            "the proxy for HOST cannot be reached"),
        (aiohttp.ClientConnectorDNSError(KEY, OSError(1, "x")), AGAIN,
            "the host name agent.example is unknown"),
        (ClientConnectorError(KEY, OSError(1, "x")), AGAIN, "HOST cannot be reached"),
        (ClientConnectorError(KEY, ConnectionRefusedError(111, "x")), AGAIN,
            "HOST refused the connection"),
        (refusing_proxy(503), AGAIN, "the proxy for HOST answered 503"),
        (OSError(errno.EMFILE, "x"), {*AGAIN, "exhausted"},
            "this machine has no resources left to connect to HOST"),
        # never sent, but it would be no better the second time
        (refusing_proxy(407), {"unreachable"}, "the proxy for HOST answered 407"),
        (no_tls("HTTP_REQUEST"), {"unreachable"},
            "no TLS connection to HOST: it answers without TLS; should its URL start with http://?"),
        (aiohttp.ClientConnectorSSLError(KEY, no_tls("WRONG_VERSION_NUMBER")), {"unreachable"},
            "no TLS connection to HOST: it answers without TLS"),
        (no_tls("BAD_THING"), {"unreachable"}, "no TLS connection to HOST: bad thing"),
        (httpx2.InvalidURL("x"), {"unreachable"}, "HOST is not a valid URL: x"),
        (aiohttp.InvalidURL("x"), {"unreachable"}, "HOST is not a valid URL: x"),
        (UnicodeError("x"), {"unreachable"}, "HOST is not a valid URL: x"),
        # it may have been sent
        (aiohttp.ClientPayloadError("x"), {"broken"},
            "HOST closed the connection in the middle of its answer"),
        (aiohttp.ServerDisconnectedError("x"), {"broken"},
            "HOST closed the connection before its answer was complete"),
        (OSError(errno.ECONNRESET, "x"), {"broken"},
            "HOST closed the connection before its answer was complete"),
        (unreadable("Got more than 1 bytes"), set(),
            f"HOST sent a header of more than {MAX_HEADER_BYTES:,} bytes"),
        (unreadable("Too many headers received"), set(),
            f"HOST sent more than {MAX_HEADERS:,} headers"),
        (unreadable("Bad line:\n  b'x'"), set(), "HOST does not speak HTTP as expected: Bad line"),
    ],
)  # fmt: skip
def test_what_a_failed_exchange_means(error: Exception, flags: set[str], says: str) -> None:
    found = connection_error("agent", "HOST", error)
    known = ("retryable", "unreachable", "broken", "exhausted")
    assert {name for name in known if getattr(found, name)} == flags
    assert str(found).startswith(says)
    assert found.peer == "agent"


@pytest.mark.parametrize(
    ("code", "unknown_issuer"), [(17, False), (18, True), (21, True), (22, False)]
)
def test_a_certificate_of_an_own_authority_can_be_named(code: int, unknown_issuer: bool) -> None:
    found = connection_error("agent", "HOST", untrusted(code))
    assert found.unreachable
    assert not found.retryable
    assert str(found).startswith("the TLS certificate of HOST is not trusted: no good")
    assert ("SSL_CERT_FILE" in str(found)) == unknown_issuer


def test_the_cause_of_a_failure_is_told_rather_than_what_wraps_it() -> None:
    wrapped = httpx2.ConnectError("outer")
    assert "as expected: outer" in str(connection_error("agent", "HOST", wrapped))
    wrapped.__cause__ = ClientConnectorError(KEY, ConnectionRefusedError(111, "x"))
    assert str(connection_error("agent", "HOST", wrapped)) == "HOST refused the connection"


@pytest.mark.parametrize(
    ("status", "retryable", "redirects"),
    [(299, False, False), (300, False, True), (399, False, True), (400, False, False),
        (408, True, False), (425, True, False), (429, True, False), (499, False, False),
        (500, True, False), (503, True, False), (599, True, False)],
)  # fmt: skip
def test_what_a_status_means(status: int, retryable: bool, redirects: bool) -> None:
    response = httpx2.Response(status, content=b"why", headers={"Retry-After": "7"})
    found = status_error("agent", "HOST", response)
    assert (found.status, found.retryable, found.retry_after_s) == (status, retryable, 7.0)
    assert (found.peer, found.received) == ("agent", "why")
    assert str(found).startswith(f"HOST answered {status}")
    assert str(found).endswith("a redirect, which is not followed") == redirects


def test_only_the_beginning_of_an_unusable_response_is_kept() -> None:
    whole = "x" * RECEIVED_LIMIT
    assert received_text(whole.encode()) == received_text(whole) == whole
    assert received_text(whole + "y") == f"{whole}\n… cut after {RECEIVED_LIMIT} characters"
    assert received_text(b"\xff") == "\ufffd"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS])
def test_running_out_of_file_descriptors_is_not_the_agents_fault(number: int) -> None:
    key = ConnectionKey("127.0.0.1", 1, False, True, None, None, None)
    for error in (OSError(number, "x"), ClientConnectorError(key, OSError(number, "x"))):
        found = connection_error("agent", "agent.example", error)
        assert (found.exhausted, found.retryable) == (True, True)
        assert "this machine" in str(found)
    refused = ClientConnectorError(key, ConnectionRefusedError(errno.ECONNREFUSED, "x"))
    assert not connection_error("agent", "agent.example", refused).exhausted
