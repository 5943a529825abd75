"""What went wrong with a request to a chat endpoint, in one sentence that never holds the key."""

from __future__ import annotations

import math
import re
import ssl
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from bioeval_tui.chat.tls import not_trusted
from bioeval_tui.protocols import Peer, PeerError
from bioeval_tui.text import clean_line

RETRIED_STATUS = frozenset({408, 425, 429})
_REFUSING_STATUS = frozenset({400, 422, 501})
_MEANINGS = {
    400: "did not understand the request",
    401: "refused the API key",
    402: "asks for payment",
    403: "does not allow this request",
    404: "does not know this address or model",
    413: "found the request too large",
    422: "did not understand the request",
    429: "is asked too often",
}
_KEY_LIKE = re.compile(r"\b(?:sk|key|bearer)[-_ ][\w*.-]{4,}", re.IGNORECASE)
_LONGEST_RECEIVED = 300


class Refused(PeerError):
    """The server refused the request as it is; without some option it might take it."""

    @property
    def error(self) -> PeerError:
        """The same failure, for whoever asked."""
        return PeerError(self.peer, str(self), status=self.status, received=self.received)


class TooLongError(Exception):
    """More bytes arrived than an answer may have, or they are packed."""


def as_peer_error(problem: Exception, peer: Peer, host: str, key: str | None) -> PeerError:
    """Turn whatever the client raised into a `PeerError` (`Refused` where leaving out an option may help)."""
    status = getattr(problem, "status_code", None)
    if isinstance(status, int) and hasattr(problem, "response"):
        return _from_status(problem, status, peer, host, key)
    chain = _chain(problem)
    too_long = next((link for link in chain if isinstance(link, TooLongError)), None)
    if too_long is not None:
        return PeerError(peer, f"{host} sent {too_long}")
    # The client's own error is of that type too, but only the one beneath says why.
    untrusted = next((link for link in chain[::-1] if isinstance(link, ssl.SSLCertVerificationError)), None)
    if untrusted is not None:
        return PeerError(peer, not_trusted(host, untrusted))
    if any(isinstance(link, ConnectionRefusedError) for link in chain):
        return PeerError(peer, f"{host} refuses the connection", retryable=True)
    names = {type(link).__name__ for link in chain}
    if "APITimeoutError" in names:
        return PeerError(peer, f"{host} went silent: nothing came in time", retryable=True)
    if "APIConnectionError" in names or names & {"ReadError", "RemoteProtocolError", "ConnectError"}:
        why = hidden(str(chain[-1]) or type(chain[-1]).__name__, key)
        return PeerError(peer, f"{host} could not be reached, or broke the connection: {why}", retryable=True)
    if isinstance(problem, ValueError):
        return PeerError(peer, f"{host} sent something that is not JSON: {hidden(str(problem), key)}")
    if "APIError" in names:
        return PeerError(
            peer, f"{host} ended its answer with an error: {hidden(str(problem), key)}", retryable=True
        )
    return PeerError(peer, f"the answer of {host} could not be read: {hidden(str(problem), key)}")


def refused_options(problem: Refused, sent: Mapping[str, Any]) -> set[str]:
    """Return which of the options that were sent to leave out, the one that the server names first."""
    said = f"{problem} {problem.received}".lower()
    shape = (sent.get("response_format") or {}).get("type")
    for option in ("temperature", "stream_options"):
        if option in sent and option in said:
            return {option}
    if shape:
        return {str(shape)}
    return {"stream_options"} & set(sent) if problem.status in (400, 422) else set()


def hidden(text: str, key: str | None) -> str:
    """Return `text` on one line, with the key and whatever looks like one taken out."""
    if key:
        text = text.replace(key, "[key]")
    return clean_line(_KEY_LIKE.sub("[key]", text), _LONGEST_RECEIVED)


def _from_status(problem: Any, status: int, peer: Peer, host: str, key: str | None) -> PeerError:
    body = problem.body if isinstance(problem.body, Mapping) else {}
    said = hidden(str(body.get("message") or problem.body or problem), key)
    code = str(body.get("code") or "")
    if 300 <= status < 400:
        return PeerError(peer, f"{host} answered {status}, a redirect, which is not followed", status=status)
    meaning = _MEANINGS.get(status, "failed" if status >= 500 else "refused the request")
    message = f"{host} {meaning} ({status}): {said}"
    if status in _REFUSING_STATUS and code not in ("context_length_exceeded", "model_not_found"):
        return Refused(peer, message, status=status, received=said)
    retryable = (status in RETRIED_STATUS or status >= 500) and code != "insufficient_quota"
    after = retry_after_s(problem.response.headers) if retryable else None
    return PeerError(peer, message, retryable=retryable, status=status, retry_after_s=after, received=said)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks for, None without a readable one."""
    return retry_after(headers.get("retry-after", "").strip(), time.time())


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for (a number or a date), None if it says nothing.

    `now` is the time of day in seconds since 1970.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.fromtimestamp(now, UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _chain(problem: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = problem
    while link is not None and len(links) < 10:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links
