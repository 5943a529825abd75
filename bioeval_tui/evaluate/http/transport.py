"""The HTTP client, and what its failures mean."""

from __future__ import annotations

import errno
import os
import ssl
import time
from collections.abc import Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from bioeval_tui import __version__
from bioeval_tui.errors import UsageError
from bioeval_tui.evaluate.http.arrival import Arrivals
from bioeval_tui.evaluate.http.retrying import may_retry, retry_after
from bioeval_tui.evaluate.http.tls import no_tls_context, not_trusted, tls_context
from bioeval_tui.evaluate.seams import Peer, PeerError
from bioeval_tui.text import clean, clean_line

RECEIVED_LIMIT = 500
"""Most characters kept of what came instead of an answer."""

KEEPALIVE_S = 4.0
"""Shorter than the 5 s after which common servers close: a message must not meet a closing connection."""

_NO_CONNECTION = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""The request never left: TLS and DNS errors are among the first."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
"""This machine's own limits: they say nothing of the peer."""

TRANSPORT_ERRORS = (aiohttp.ClientError, OSError, ValueError)


class _Lost(aiohttp.ClientConnectionError):
    """The connection broke. Of a type that aiohttp does not quietly answer by sending the request again."""


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    # aiohttp repeats a PUT by itself when the connection breaks. Here each attempt is counted, and a
    # message must not reach the agent twice without anybody knowing.
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _Lost(str(error)) from error


def make_client(
    urls: Sequence[str],
    connect_s: float,
    headers: dict[str, str],
    arrivals: Arrivals | None = None,
    *,
    peer: Peer = "agent",
    connections: int = 10,
    proxy: str | None = None,
) -> aiohttp.ClientSession:
    """Return a client of its own connections to call `urls`; no redirect. Needs a running loop. Raises `PeerError`.

    Timeouts other than connecting are the caller's: they bound whole answers, not single reads. `arrivals` notes
    when the bytes of answers come.
    """
    needs_tls = any(url.lower().startswith("https:") for url in urls)
    connector = aiohttp.TCPConnector(
        limit=connections,
        keepalive_timeout=KEEPALIVE_S,
        ssl=tls_context(peer) if needs_tls else no_tls_context(),
        socket_factory=arrivals.make_socket if arrivals else None,
    )
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_s),
        headers={"User-Agent": f"bioeval-tui/{__version__}", "Accept-Encoding": "identity", **headers},
        auto_decompress=False,
        middlewares=(_send_once,),
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=proxy,
        trust_env=False,  # It would read passwords from ~/.netrc as well.
    )


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) or the system names for a URL.

    Raises:
        UsageError: it is no http or https address.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    host = parts.hostname or ""
    if not proxy or proxy_bypass(host) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        place = urlsplit(proxy)
        usable = place.scheme in ("http", "https") and bool(place.hostname) and place.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = clean_line(proxy.rpartition("@")[2], 200)
        raise UsageError(
            f"the proxy that the environment names for {host} is no http or https address: {shown}"
        )
    return proxy


def connection_error(peer: Peer, host: str, error: Exception) -> PeerError:
    """Return what a failed exchange means. Everything but a wrong address or certificate may be tried again."""
    unreachable = isinstance(error, _NO_CONNECTION)
    if _errno(error) in _EXHAUSTED:
        message = f"this machine has nothing left to connect to {host} with: {os.strerror(_errno(error))}"
        return PeerError(peer, message, retryable=True, unreachable=unreachable, exhausted=True)
    match error:
        case aiohttp.ClientConnectorCertificateError(
            certificate_error=ssl.SSLCertVerificationError() as untrusted
        ):
            return PeerError(peer, not_trusted(host, untrusted), unreachable=True)
        case aiohttp.ClientSSLError() | ssl.SSLError():
            message = f"no TLS connection to {host}: {_detail(error)}"
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError() | ValueError():
            message = f"{host} is not an address that can be called: {_detail(error)}"
            return PeerError(peer, message, unreachable=True)
        case TimeoutError():
            message = f"{host} took no connection in time"
        case aiohttp.ClientProxyConnectionError():
            message = f"the proxy on the way to {host} cannot be reached"
        case aiohttp.ClientHttpProxyError():
            message = f"the proxy on the way to {host} answered {error.status}"
            return PeerError(peer, message, retryable=may_retry(error.status), unreachable=True)
        case aiohttp.ClientConnectorDNSError():
            message = f"the name {clean_line(error.host, 200)} is not known"
        case aiohttp.ClientConnectorError():
            message = f"{host} refuses the connection" if _refused(error) else f"{host} cannot be reached"
        case aiohttp.ClientPayloadError():
            message = f"{host} broke the connection in the middle of its answer"
        case aiohttp.ClientConnectionError() | OSError():
            message = f"{host} closed the connection without a whole answer"
        case _:
            return PeerError(peer, f"{host} does not speak HTTP as expected: {_detail(error)}")
    return PeerError(peer, message, retryable=True, unreachable=unreachable)


def status_error(peer: Peer, host: str, response: aiohttp.ClientResponse, received: str) -> PeerError:
    """Return what a status other than success means; 408, 425, 429 and 5xx may be tried again."""
    status = response.status
    reason = clean_line(response.reason or "", 80)
    message = f"{host} answered {status} {reason}".rstrip()
    if 300 <= status < 400:
        message += "; redirects are not followed"
    return PeerError(
        peer,
        message,
        retryable=may_retry(status),
        status=status,
        retry_after_s=retry_after(response.headers.get("Retry-After"), time.time()),
        received=received_text(received),
    )


def received_text(data: bytes | str) -> str:
    """Return what came, cut and cleaned for showing."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    return clean(text[: RECEIVED_LIMIT * 2], RECEIVED_LIMIT)


def _detail(error: BaseException) -> str:
    return clean_line(str(error) or type(error).__name__, 200)


def _errno(error: BaseException) -> int:
    """Return the system's number of what went wrong, 0 where there is none."""
    cause = getattr(error, "os_error", None) or error
    return (cause.errno or 0) if isinstance(cause, OSError) else 0


def _refused(error: BaseException) -> bool:
    return isinstance(getattr(error, "os_error", None), ConnectionRefusedError)
