"""An HTTP client for chat endpoints that reads only so much, and follows no redirect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from bioeval_tui.chat.errors import TooLongError
from bioeval_tui.chat.tls import no_tls_context, tls_context
from bioeval_tui.protocols import Peer

if TYPE_CHECKING:
    from bioeval_tui.chat.model import ChatLimits

MAX_BYTES = 16_000_000
"""Most bytes of one answer; a streamed one carries some 200 bytes for each token."""
MOST_CONNECTIONS = 1000

KEEPALIVE_S = 4.0
"""Shorter than the 5 s after which common servers close: a message must not meet a closing connection."""


def limited_client(openai: Any, limits: ChatLimits, peer: Peer, url: str) -> Any:
    """Return an HTTP client for `openai.AsyncOpenAI` with these time limits, to call `url`. Raises `PeerError`.

    The kind over aiohttp: it holds more requests at once than the usual one, and takes less for each.
    """
    from httpx2 import Limits

    timeout = openai.Timeout(limits.silence_s, connect=limits.connect_s)
    return openai.DefaultAioHttpClient(
        verify=tls_context(peer) if url.lower().startswith("https:") else no_tls_context(),
        timeout=timeout,
        limits=Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=KEEPALIVE_S),
        follow_redirects=False,
        event_hooks={"response": [_limit]},
    )


async def _limit(response: Any) -> None:
    """Count the bytes of a response while they are read, and refuse packed ones: a few kB can hold gigabytes."""
    packing = response.headers.get("content-encoding", "identity")
    if packing != "identity":
        raise TooLongError(f"an answer packed as {packing[:20]}, though it was asked not to")
    if int(response.headers.get("content-length") or 0) > MAX_BYTES:
        raise TooLongError(f"an answer of more than {MAX_BYTES // 1_000_000} MB")
    response.stream = _counted(response.stream)


def _counted(stream: Any) -> Any:
    from httpx2 import AsyncByteStream

    class Counted(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            total = 0
            async for block in stream:
                total += len(block)
                if total > MAX_BYTES:
                    raise TooLongError(f"an answer of more than {MAX_BYTES // 1_000_000} MB")
                yield block

        async def aclose(self) -> None:
            await stream.aclose()

    return Counted()
