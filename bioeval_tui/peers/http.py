"""The HTTP client of agents and models: httpx2 over aiohttp's transport, with limits on time and
size.
"""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from http.cookiejar import CookieJar
from typing import Any

import aiohttp
import httpx2
import truststore
from httpx_aiohttp.httpx2 import AiohttpTransport

from bioeval_tui import __version__
from bioeval_tui.base.credentials import Hider, request_credentials
from bioeval_tui.base.peer_limits import (
    MAX_ANSWER_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_REFUSAL_BYTES,
)
from bioeval_tui.base.text import clean_line
from bioeval_tui.peers import traces
from bioeval_tui.peers.arrivals import Arrivals
from bioeval_tui.peers.failures import (
    LostConnectionError,
)
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.peers.timeouts import Exchange, Timeouts
from bioeval_tui.record.participants import Peer

KEEPALIVE_S = 4.0


"""Shorter than the 5 s after which common servers close idle connections, so that no message meets
a closing one.
"""


_HEAD_BYTES = 2000


_reused: ContextVar[bool] = ContextVar("reused", default=False)


"""Whether this task's request went out on a connection that had been used before."""


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
                piece = await self._exchange.within_time(anext(pieces, b""))
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
        # A peer that works on a request, closes the connection, and answers when it is sent again
        # took the time of both.
        since: float | None = None
        while True:
            exchange = Exchange(
                self._peer,
                clean_line(host, 200),
                self._timeouts.whole,
                hider,
                stateless=self._stateless,
                since=since,
            )
            since = exchange.started
            try:
                response = await exchange.within_time(self._inner.handle_async_request(request))
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
    if readable != headers.raw:
        headers = httpx2.Headers(readable)
    headers.encoding = "iso-8859-1"
    return headers


def _codings(headers: httpx2.Headers) -> list[str]:
    """Return how a body is coded: the elements of all `Content-Encoding` headers, of which empty
    ones do not count (RFC 9110).
    """
    listed = headers.get("Content-Encoding", "").lower().split(",")
    return [coding for part in listed if (coding := part.strip()) not in ("", "identity")]


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
        lost = LostConnectionError(str(error))
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
