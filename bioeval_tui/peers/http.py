"""The HTTP client of agents and models: httpx2 over aiohttp's transport, with limits on time and
size, and the kernel's time of arrival; and a failed request in one sentence, which says whether it
may be retried.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import errno
import math
import os
import platform
import socket
import ssl
import struct
import sys
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from http.cookiejar import CookieJar
from typing import Any
from weakref import WeakSet

import aiohttp
import httpx2
import truststore
from httpx_aiohttp.httpx2 import AiohttpTransport

from bioeval_tui import __version__
from bioeval_tui.base.hosts import Hider, request_credentials
from bioeval_tui.base.peer_limits import (
    MAX_ANSWER_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_REFUSAL_BYTES,
)
from bioeval_tui.base.text import clean, clean_line
from bioeval_tui.peers import traces
from bioeval_tui.peers.retry import may_retry, retry_after
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.record.names import Peer

# asm-generic/socket.h, which Python does not name; other architectures have other numbers.
_SO_TIMESTAMPNS = 35
STAMPED = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
"""Whether the kernel provides timestamps."""
_SPACE = 64
"""Bytes for what the kernel says beside the data: its timestamp, with a header."""
_MOST_S = 0.5
"""Older timestamps are ignored: the clock was set, or this process was suspended,
which is reported elsewhere."""


class Arrivals:
    """Creates the sockets of one client, whose answers arrive one after the other, and records when
    bytes arrive.
    """

    def __init__(self) -> None:
        self._at: float | None = None

    def make_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """Return a socket for an address from `getaddrinfo`."""
        family, kind, protocol = address[:3]
        if not STAMPED:
            return socket.socket(family, kind, protocol)
        made = _Stamped(family, kind, protocol)
        made.arrivals = self
        with contextlib.suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        return made

    def last(self) -> float:
        """Return when the latest bytes that were read arrived, in monotonic seconds; never later
        than now.
        """
        if self._at is None:
            return time.monotonic()
        return self._at

    def note(self, ancillary: list[tuple[int, int, bytes]]) -> None:
        """Store the kernel's timestamp of received bytes."""
        now = time.monotonic()
        late_s = 0.0
        for _, kind, data in ancillary:
            if kind == _SO_TIMESTAMPNS and len(data) >= struct.calcsize("ll"):
                seconds, nanoseconds = struct.unpack_from("ll", data)
                late_s = time.time() - seconds - nanoseconds / 1e9
        self._at = now
        if 0 <= late_s < _MOST_S:
            self._at -= late_s


class _Stamped(socket.socket):
    """A socket that requests a timestamp with every read."""

    arrivals: Arrivals

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        data, ancillary, _, _ = self.recvmsg(bufsize, _SPACE, flags)
        self.arrivals.note(ancillary)
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        room = memoryview(buffer)[: nbytes or None]
        count, ancillary, _, _ = self.recvmsg_into([room], _SPACE, flags)
        self.arrivals.note(ancillary)
        return count


KEEPALIVE_S = 4.0
"""Shorter than the 5 s after which common servers close idle connections, so that no message meets
a closing one.
"""
STOOD_STILL_S = 0.5
"""If a timer fires later than this, in seconds, this process was suspended."""
_HEAD_BYTES = 2000
_under_way: dict[str, WeakSet[Exchange]] = {}
"""The exchanges of this process with each host that are not finished."""
_given_up: dict[str, tuple[float, float]] = {}
"""When a crowded exchange with a host last timed out, and until when the host may still work on all
that did.
"""
_reused: ContextVar[bool] = ContextVar("reused", default=False)
"""Whether this task's request went out on a connection that had been used before."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds: to connect, and for the complete answer (no separate limit for its first
    byte).
    """

    connect: float = 5.0
    whole: float = 180.0


def timeouts_of(whole_s: float | None) -> Timeouts:
    """Return the default timeouts, or with another one for the whole answer."""
    if whole_s is None:
        return Timeouts()
    return Timeouts(whole=whole_s)


class Exchange:
    """One request and its answer while it is read; it is in `response.extensions["exchange"]`.

    Time in which this process did not run (stopped, or the machine was asleep) does not count as
    the peer's. A timeout is `crowded` if this process had other exchanges with the host meanwhile,
    which may have waited for each other there, or if the host may still work on such ones, because
    many servers do not notice that nobody waits any more; only a `stateless` peer may be asked
    again then.
    """

    def __init__(
        self, peer: Peer, host: str, whole_s: float, hider: Hider, *, stateless: bool = False
    ) -> None:
        self.host = host
        self.hider = hider
        self.lost = False
        """Whether a connection that had been used before was closed under the request, without any
        answer.
        """
        self._stateless = stateless
        others = _under_way.setdefault(host, WeakSet())
        self._crowded = len(others) > 0
        for other in others:
            other._crowded = True
        others.add(self)
        self.started = time.monotonic()
        self.head = b""
        """The first bytes of the answer, for error messages."""
        self._peer = peer
        self._whole_s = whole_s
        self._ends = self.started + whole_s

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        """Limit one step to the remaining time; any failure in it is a `PeerError`.

        Raises:
            PeerError: the step failed, or the time is used up.
        """
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def expire() -> None:
            nonlocal timer
            if self._is_expired():
                limit.reschedule(loop.time())
            else:
                timer = loop.call_later(self._ends - time.monotonic(), expire)

        timer = loop.call_later(self._ends - time.monotonic(), expire)
        try:
            async with asyncio.timeout(None) as limit:
                try:
                    yield
                finally:
                    timer.cancel()
            # Steps that never wait, as those of an endless stream, meet no timeout.
            if self._is_expired():
                raise TimeoutError
        except TimeoutError:
            raise self._too_late() from None
        except TRANSPORT_ERRORS as error:
            self.lost = isinstance(error.__cause__, _LostError) and error.__cause__.reused
            failure = connection_error(self._peer, self.host, error)
            failure.args = tuple(self.hider.text(str(part)) for part in failure.args)
            failure.received = received_text(self.head)
            raise failure from None

    def _is_expired(self) -> bool:
        late_s = time.monotonic() - self._ends
        if late_s > STOOD_STILL_S:
            self._ends = time.monotonic() + min(late_s, self._whole_s)
            return False
        return late_s >= 0

    def finish(self) -> None:
        """Note that nothing more is expected of the peer."""
        _under_way.get(self.host, WeakSet()).discard(self)

    def answered(self) -> None:
        """Note that the peer has answered, so that it no longer works on what was sent before this
        request.
        """
        since, _ = _given_up.get(self.host, (math.inf, 0.0))
        if self.started > since:
            _given_up.pop(self.host, None)

    def _too_late(self) -> PeerError:
        error = self.error(f"did not finish its answer within {self._whole_s:g} s")
        _, until = _given_up.get(self.host, (0.0, 0.0))
        if self._crowded:
            now = time.monotonic()
            _given_up[self.host] = now, max(now, until) + self._whole_s
        if self._crowded or self.started < until:
            error.args = (
                (
                    f"{error} while other requests of this program waited for it: use a lower"
                    " --concurrency, or allow more time"
                ),
            )
            error.crowded, error.retryable = True, self._stateless
        return error

    def error(self, what: str, *, disagrees: bool = False) -> PeerError:
        """Return the error for an unusable answer; with `disagrees`, it is not the peer's
        failure.
        """
        received = received_text(self.head)
        return PeerError(self._peer, f"{self.host} {what}", received=received, disagrees=disagrees)


class _Body(httpx2.AsyncByteStream):
    """The bytes of one answer; with an error status, only the beginning."""

    def __init__(self, response: httpx2.Response, exchange: Exchange, most: int) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._exchange = exchange
        self._refuses = not response.is_success
        self._most = MAX_REFUSAL_BYTES if self._refuses else most
        self._total = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = aiter(self._stream)
        while True:
            try:
                async with self._exchange.step():
                    piece = await anext(pieces, b"")
            except PeerError:
                if self._refuses:
                    return
                raise
            is_last = not piece
            self._total += len(piece)
            if is_last:
                piece = self._exchange.hider.rest()
            else:
                piece = self._exchange.hider.feed(piece)
            if len(self._exchange.head) < _HEAD_BYTES:
                self._exchange.head += piece[:_HEAD_BYTES]
            if self._total > self._most:
                if self._refuses:
                    return
                raise self._exchange.error(f"sent more than {self._most:,} bytes as one answer")
            if piece:
                yield piece
            if is_last:
                self._exchange.answered()
                break

    async def aclose(self) -> None:
        self._exchange.finish()
        await self._stream.aclose()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Wraps another transport: limits the time of answers, and converts failures to `PeerError`s of
    `peer`.
    """

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        peer: Peer,
        timeouts: Timeouts,
        most: int = MAX_ANSWER_BYTES,
        secrets: Collection[str] = (),
        stateless: bool = False,
        proxy: str | None = None,
    ) -> None:
        self._inner = inner
        self.proxy = proxy
        """The proxy that requests go through, which may change answers or give them in the peer's
        place.
        """
        self._stateless = stateless
        self._secrets = frozenset(filter(None, secrets))
        self._peer = peer
        self._timeouts = timeouts
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; return its answer, unread and limited to that many bytes.

        Raises `PeerError`.
        """
        url = request.url
        host = f"{url.host}:{url.port}" if url.port else url.host
        hider = Hider(request_credentials(request) | self._secrets)
        if url.userinfo:  # a header says it already
            request.url = url.copy_with(username=None, password=None)
        if self._peer == "agent" and (traceparent := traces.traceparent()):
            request.headers["traceparent"] = traceparent
        while True:
            exchange = Exchange(
                self._peer,
                clean_line(host, 200),
                self._timeouts.whole,
                hider,
                stateless=self._stateless,
            )
            try:
                async with exchange.step():
                    response = await self._inner.handle_async_request(request)
                break
            except BaseException as error:  # cancelled, too: the exchange is over whatever ended it
                exchange.finish()
                # A library's own message may quote the header that it refuses, with the key in it.
                error.args = tuple(
                    hider.text(arg) if isinstance(arg, str) else arg for arg in error.args
                )
                if not (exchange.lost and self._stateless):
                    raise
        response.headers = _readable_headers(response.headers, hider)
        if codings := _codings(response.headers):
            exchange.finish()
            await response.stream.aclose()  # type: ignore[union-attr]
            what = (
                f"sent Content-Encoding: {clean_line(', '.join(codings), 40)}, although it was"
                " asked for none"
            )
            # A proxy between the two may have done that; without one, it was the peer.
            raise exchange.error(what, disagrees=self.proxy is not None)
        response.extensions["reason_phrase"] = hider.text(response.reason_phrase).encode(
            "ascii", "replace"
        )
        response.stream = _Body(response, exchange, self._most)
        response.extensions["exchange"] = exchange
        return response

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()


def _readable_headers(headers: httpx2.Headers, hider: Hider) -> httpx2.Headers:
    """Return an answer's headers as bytes of Latin-1 (RFC 9110), without credentials and without a
    charset.

    JSON and event streams are UTF-8 whatever charset is declared, which may be the name of any of
    Python's codecs.
    """
    readable = []
    for name, value in headers.raw:
        if name.lower() == b"content-type":
            value = value.partition(b";")[0].strip()
        readable.append((name, hider.data(value)))
    return httpx2.Headers(readable, encoding="iso-8859-1")


def _codings(headers: httpx2.Headers) -> list[str]:
    """Return how a body is coded: the elements of all `Content-Encoding` headers, of which empty
    ones do not count (RFC 9110).
    """
    listed = headers.get("Content-Encoding", "").lower().split(",")
    return [coding for part in listed if (coding := part.strip()) not in ("", "identity")]


class _LostError(aiohttp.ClientConnectionError):
    """The connection broke.

    Of this type, because aiohttp then does not silently send the request again.
    """

    reused = False
    """Whether it had been used before, and was closed before any byte of an answer."""


class _Answer(aiohttp.ClientResponse):
    """An answer with a reason phrase in ASCII: any byte may stand there (RFC 9112), and the
    transport cannot encode each.
    """

    async def start(self, connection: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        await super().start(connection)
        self.reason = (self.reason or "").encode("ascii", "replace").decode()
        return self


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    # aiohttp itself repeats a PUT if the connection breaks. Here each attempt is counted, and a
    # message must not reach the agent twice without anybody knowing.
    _reused.set(False)
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        lost = _LostError(str(error))
        lost.reused = _reused.get()
        raise lost from error


async def _note_reuse(*_: object) -> None:
    _reused.set(True)


class _NoCookies(CookieJar):
    """Keeps and sends none: to read a peer's cookie can fail, and the library then prints a
    traceback.
    """

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Read nothing."""


def make_client(
    urls: Sequence[str],
    timeouts: Timeouts,
    *,
    peer: Peer = "agent",
    headers: Mapping[str, str] | None = None,
    arrivals: Arrivals | None = None,
    connections: int = 10,
    proxy: str | None = None,
    most: int = MAX_ANSWER_BYTES,
    secrets: Collection[str] = (),
    stateless: bool = False,
) -> httpx2.AsyncClient:
    """Return a client with its own connections to call `urls`. Raises `PeerError`.

    `arrivals` records when the bytes of answers arrive. `secrets` are masked in answers, like the
    credentials in the usual places of a request. `stateless`: the peer keeps nothing between
    requests, so one that was lost, or timed out among others of this process, may be sent again.
    `proxy` is what `proxy_for` returns for the URLs.
    """
    needs_tls = any(url.lower().startswith("https:") for url in (*urls, proxy or ""))
    context = _tls_context(peer) if needs_tls else _no_tls_context()

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=connections,
            keepalive_timeout=KEEPALIVE_S,
            ssl=context,
            socket_factory=arrivals.make_socket if arrivals else None,
        )
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_reuseconn.append(_note_reuse)
        return aiohttp.ClientSession(
            connector=connector,
            middlewares=(_send_once,),
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=_Answer,
            trace_configs=[tracing],
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            max_headers=MAX_HEADERS,
        )

    transport = AiohttpTransport(
        verify=context, trust_env=False, proxy=_proxy(proxy) if proxy else None, client=session
    )
    return httpx2.AsyncClient(
        transport=BoundedTransport(transport, peer, timeouts, most, secrets, stateless, proxy),
        headers={
            "User-Agent": f"bioeval-tui/{__version__}",
            "Accept-Encoding": "identity",
            **(headers or {}),
        },
        timeout=httpx2.Timeout(None, connect=timeouts.connect),
        cookies=_NoCookies(),
        trust_env=False,  # It would read passwords from ~/.netrc as well.
    )


def _tls_context(peer: Peer) -> ssl.SSLContext:
    """Return the context that all connections share, because creating one reads hundreds of
    certificates.

    Raises:
        PeerError: SSL_CERT_FILE or SSL_CERT_DIR cannot be used.
    """
    try:
        return _verifying_context()
    except OSError as error:
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        why = clean_line(error.strerror or str(error), 100)
        shown = clean_line(os.environ.get(name, ""), 200)
        raise PeerError(peer, f"{name} ({shown}) cannot be used: {why}", unreachable=True) from None


@cache
def _no_tls_context() -> ssl.SSLContext:
    """Return a context that trusts nobody, for connections without TLS, because it is cheap to
    create.
    """
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _verifying_context() -> ssl.SSLContext:
    if file := os.environ.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=file)
    if folder := os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context(capath=folder)
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _proxy(url: str) -> httpx2.Proxy:
    """Return a proxy with its user and password in a header, as aiohttp requires."""
    proxy = httpx2.Proxy(url)
    if proxy.auth is None:
        return proxy
    user_and_password = base64.b64encode(":".join(proxy.auth).encode()).decode()
    return httpx2.Proxy(proxy.url, headers={"Authorization": f"Basic {user_and_password}"})


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

TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError, OSError, UnicodeError)
"""What a failed exchange raises; a `UnicodeError` is of a host's name that cannot be looked up.

Anything else is a defect.
"""


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
