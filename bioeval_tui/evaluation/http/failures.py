"""Describes a failed request in one sentence, without the request's credentials, and decides whether it may be
retried."""

from __future__ import annotations

import base64
import binascii
import errno
import json
import os
import re
import ssl
import time
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, unquote_plus

import aiohttp
import httpx2

from bioeval_tui.evaluation.retry import may_retry, retry_after
from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.record.names import Peer
from bioeval_tui.text import clean, clean_line

HIDDEN = "[key]"
SHORTEST = 8
"""Shorter ones are placeholders such as `none`, or ordinary words."""
PUBLISHED_KEY = "treehorn"
"""The X-API-KEY that the published client sends by default and published agents expect. It is not a secret."""
_NAMED = re.compile(r"auth|cookie|credential|key|passw|secret|sig|token", re.IGNORECASE)


class Hider:
    """Removes credentials from texts, and from bytes that arrive in pieces."""

    def __init__(self, credentials: Iterable[str]) -> None:
        self._texts, self._bytes = _written_forms(frozenset(credentials))
        self._tail = b""

    def text(self, text: str) -> str:
        """Return a text without the credentials."""
        for known in self._texts:
            text = text.replace(known, HIDDEN)
        return text

    def feed(self, piece: bytes) -> bytes:
        """Add a piece; return what can be passed on, without a possible beginning of a credential at the end."""
        if not self._bytes:
            return piece
        data = self._tail + piece
        for known in self._bytes:
            data = data.replace(known, HIDDEN.encode())
        kept = max(_overlap(data, known) for known in self._bytes)
        self._tail = data[len(data) - kept :]
        return data[: len(data) - kept]

    def rest(self) -> bytes:
        """Return the rest, at the end of the answer."""
        kept, self._tail = self._tail, b""
        return kept


def credentials_of(request: httpx2.Request) -> set[str]:
    """Return the credentials of a request: in headers, before the host, in the query."""
    secrets: set[str] = set()
    for name, value in request.headers.items():
        if _NAMED.search(name):
            scheme, _, parameter = value.partition(" ")
            secrets |= {value, parameter or scheme}
            if scheme.lower() == "basic":
                secrets |= _userinfo(_decoded(parameter))
    secrets |= _userinfo(request.url.userinfo.decode("latin-1"))
    if query := request.url.query.decode("latin-1"):
        secrets |= {query, unquote_plus(query)}
        secrets |= {value for name, value in parse_qsl(query) if _NAMED.search(name)}
    return secrets - {"", PUBLISHED_KEY}


def _userinfo(text: str) -> set[str]:
    """Return `user:password` and the password, both as written and decoded."""
    return {form for part in (text, text.partition(":")[2]) for form in (part, unquote(part))}


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


@lru_cache(maxsize=64)
def _written_forms(credentials: frozenset[str]) -> tuple[list[str], list[bytes]]:
    """Return every form of the credentials, longest first, as text and as bytes."""
    forms = {form for one in credentials if len(one) >= SHORTEST for form in _forms(one)}
    texts = sorted(forms, key=len, reverse=True)
    return texts, [text.encode("utf-8", "replace") for text in texts]


def _forms(text: str) -> set[str]:
    """Return the forms in which a text may occur in an answer: unchanged, and in JSON."""
    in_json = json.dumps(text)[1:-1]
    return {text, in_json, in_json.replace("/", "\\/"), json.dumps(text, ensure_ascii=False)[1:-1]}


def _overlap(data: bytes, known: bytes) -> int:
    """Return how many bytes at the end of `data` are the beginning of `known`."""
    tail = data[-(len(known) - 1) :]
    at = tail.find(known[:1])
    while at >= 0:
        if known.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(known[:1], at + 1)
    return 0


RECEIVED_LIMIT = 500
"""Maximum number of characters kept of an unusable response."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
"""Errors of this machine's own limits, which are not the peer's fault."""

_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for untrusted certificates, including self-signed ones."""

_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"})
"""OpenSSL's reasons if the server does not speak TLS."""

TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError, OSError, ValueError)


def connection_error(peer: Peer, host: str, error: Exception) -> PeerError:
    """Convert a failed exchange to a `PeerError`. Only a request that was never sent may be sent again."""
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
            refuses = isinstance(cause.os_error, ConnectionRefusedError)
            message = f"{host} refused the connection" if refuses else f"{host} cannot be reached"
        case aiohttp.ClientPayloadError():
            return PeerError(peer, f"{host} closed the connection in the middle of its answer", broken=True)
        case aiohttp.ClientConnectionError() | OSError():
            return PeerError(
                peer, f"{host} closed the connection before its answer was complete", broken=True
            )
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL() | aiohttp.InvalidURL() | ValueError():
            message = f"{host} is not a valid URL: {detail}"
            return PeerError(peer, message, unreachable=True)
        case _:
            # aiohttp adds lines with what it read, and a status 400 that the peer never sent.
            reason = clean_line(str(getattr(cause, "message", "")).partition("\n")[0].rstrip(":"), 200)
            return PeerError(peer, f"{host} does not speak HTTP as expected: {reason or detail}")
    return PeerError(peer, message, retryable=True, unreachable=True)


def _not_trusted(host: str, error: ssl.SSLCertVerificationError) -> str:
    """Return one sentence about a rejected certificate."""
    reason = (
        f"the TLS certificate of {host} is not trusted: {clean_line(error.verify_message, 150).rstrip('.')}"
    )
    own = error.verify_code in _UNKNOWN_ISSUER
    return f"{reason}; SSL_CERT_FILE can name the file of a CA of your own" if own else reason


def _no_tls(host: str, error: BaseException) -> str:
    """Return why TLS failed, and a hint if the port speaks only plain HTTP."""
    inner = getattr(error, "os_error", None) or error
    reason = str(getattr(inner, "reason", None) or inner)
    if reason in _NO_TLS:
        return f"no TLS connection to {host}: it answers without TLS; should its URL start with http://?"
    return f"no TLS connection to {host}: {clean_line(reason.replace('_', ' ').lower(), 200)}"


def _errno(error: BaseException) -> int:
    """Return the system's error number, or 0."""
    cause = getattr(error, "os_error", None) or error
    return (cause.errno or 0) if isinstance(cause, OSError) else 0


def status_error(peer: Peer, host: str, response: httpx2.Response) -> PeerError:
    """Convert a status other than success to a `PeerError`; 408, 425, 429 and 5xx may be retried."""
    status = response.status_code
    message = f"{host} answered {status} {clean_line(response.reason_phrase, 80)}".rstrip()
    if 300 <= status < 400:
        message += ", a redirect, which is not followed"
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
    return clean(text[: RECEIVED_LIMIT * 2], RECEIVED_LIMIT)
