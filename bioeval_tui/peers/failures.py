"""A failed request in one sentence, which says whether it may be retried, and what was received."""

from __future__ import annotations

import errno
import os
import ssl
import time

import aiohttp
import httpx2

from bioeval_tui.base.peer_limits import (
    MAX_HEADER_BYTES,
    MAX_HEADERS,
)
from bioeval_tui.base.text import clean, clean_line
from bioeval_tui.peers.retry import may_retry, retry_after
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.record.participants import Peer

RECEIVED_LIMIT = 500
"""Maximum number of characters kept of an unusable response."""

_EXHAUSTED = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}
)
"""Errors of this machine's own limits, which are not the peer's fault."""

_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for untrusted certificates, including self-signed ones."""

_NO_TLS = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"}
)
"""OpenSSL's reasons if the server does not speak TLS."""

REDIRECTED = ", a redirect, which is not followed"
"""Said after a status of 300 to 399."""

TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError, OSError, UnicodeError)
"""What a failed exchange raises; a `UnicodeError` is of a host's name that cannot be looked up.

Anything else is a defect.
"""


class LostConnectionError(aiohttp.ClientConnectionError):
    """The connection broke.

    Of this type, because aiohttp then does not silently send the request again.
    """

    reused = False
    """Whether it had been used before, and was closed before any byte of an answer."""


def connection_error(peer: Peer, host: str, error: Exception) -> PeerError:
    """Convert a failed exchange to a `PeerError`.

    Only a request that was never sent may be sent again.
    """
    cause = error.__cause__ if isinstance(error, httpx2.HTTPError) and error.__cause__ else error
    detail = clean_line(str(cause) or type(cause).__name__, 200)
    if (number := _errno(cause)) in _EXHAUSTED:
        message = f"this machine has no resources left to connect to {host}: {os.strerror(number)}"
        return PeerError(peer, message, retryable=True, unreachable=True, exhausted=True)
    match cause:
        case aiohttp.ClientConnectorCertificateError(
            certificate_error=ssl.SSLCertVerificationError() as untrusted
        ):
            return PeerError(peer, _not_trusted(host, untrusted), unreachable=True)
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return PeerError(peer, _no_tls(host, cause), unreachable=True)
        case aiohttp.ConnectionTimeoutError():
            message = f"the connection to {host} timed out"
        case aiohttp.ClientProxyConnectionError():
            message = f"the proxy for {host} cannot be reached"
        case aiohttp.ClientHttpProxyError():
            message = f"the proxy for {host} answered {cause.status}"
            return PeerError(peer, message, retryable=may_retry(cause.status), unreachable=True)
        case aiohttp.ClientConnectorDNSError():
            message = f"the host name {clean_line(cause.host, 200)} is unknown"
        case aiohttp.ClientConnectorError():
            message = f"{host} cannot be reached"
            if isinstance(cause.os_error, ConnectionRefusedError):
                message = f"{host} refused the connection"
        case aiohttp.ClientPayloadError():
            return PeerError(
                peer, f"{host} closed the connection in the middle of its answer", broken=True
            )
        case aiohttp.ClientConnectionError() | OSError():
            return PeerError(
                peer, f"{host} closed the connection before its answer was complete", broken=True
            )
        case (
            httpx2.UnsupportedProtocol()
            | httpx2.InvalidURL()
            | aiohttp.InvalidURL()
            | UnicodeError()
        ):
            message = f"{host} is not a valid URL: {detail}"
            return PeerError(peer, message, unreachable=True)
        case _:
            return PeerError(peer, f"{host} {_not_http(cause, detail)}")
    return PeerError(peer, message, retryable=True, unreachable=True)


def _not_http(error: BaseException | None, detail: str) -> str:
    """Return what is wrong with an answer's head, as the rest of a sentence."""
    # aiohttp adds lines with what it read, and a status 400 that the peer never sent.
    reason = clean_line(str(getattr(error, "message", "")).partition("\n")[0].rstrip(":"), 200)
    if reason.startswith("Got more than"):
        return f"sent a header of more than {MAX_HEADER_BYTES:,} bytes"
    if reason.startswith("Too many headers"):
        return f"sent more than {MAX_HEADERS:,} headers"
    return f"does not speak HTTP as expected: {reason or detail}"


def _not_trusted(host: str, error: ssl.SSLCertVerificationError) -> str:
    """Return one sentence about a rejected certificate."""
    reason = (
        f"the TLS certificate of {host} is not trusted:"
        f" {clean_line(error.verify_message, 150).rstrip('.')}"
    )
    own = error.verify_code in _UNKNOWN_ISSUER
    if own:
        return f"{reason}; SSL_CERT_FILE can name the file of a CA of your own"
    return reason


def _no_tls(host: str, error: BaseException) -> str:
    """Return why TLS failed, and a hint if the port speaks only plain HTTP."""
    inner = getattr(error, "os_error", None) or error
    reason = str(getattr(inner, "reason", None) or inner)
    if reason in _NO_TLS:
        return (
            f"no TLS connection to {host}: it answers without TLS; should its URL start with"
            " http://?"
        )
    return f"no TLS connection to {host}: {clean_line(reason.replace('_', ' ').lower(), 200)}"


def _errno(error: BaseException) -> int:
    """Return the system's error number, or 0."""
    cause = getattr(error, "os_error", None) or error
    if isinstance(cause, OSError):
        return cause.errno or 0
    return 0


def status_error(peer: Peer, host: str, response: httpx2.Response) -> PeerError:
    """Convert a status other than success to a `PeerError`; 408, 425, 429 and 5xx may be
    retried.
    """
    status = response.status_code
    message = f"{host} answered {status} {clean_line(response.reason_phrase, 80)}".rstrip()
    if 300 <= status < 400:
        message += REDIRECTED
    return PeerError(
        peer,
        message,
        retryable=may_retry(status),
        status=status,
        retry_after_s=retry_after(response.headers.get("Retry-After"), time.time()),
        received=received_text(response.content),
    )


def received_text(data: bytes | str) -> str:
    """Return what was received, shortened and cleaned for messages."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    return clean(text, RECEIVED_LIMIT)
