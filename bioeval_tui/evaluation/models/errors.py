"""Describes a chat endpoint's error in one sentence, without the key."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

import openai

from bioeval_tui.evaluation.retry import may_retry, retry_after
from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.record.names import Peer
from bioeval_tui.text import clean_line, without_secret

_REFUSING_STATUS = frozenset({400, 422, 501})
_MEANINGS = {
    400: "did not understand the request",
    401: "rejected the API key",
    402: "asks for payment",
    403: "does not allow this request",
    404: "does not know this URL or model",
    413: "found the request too large",
    422: "did not understand the request",
    429: "is rate-limiting",
}
_KEY_LIKE = re.compile(r"\b(?:sk|key|bearer)[-_ ][\w*.-]{4,}", re.IGNORECASE)
_LONGEST_RECEIVED = 300


class Refused(PeerError):
    """The server rejected the request, but may accept it without one of the options."""

    @property
    def error(self) -> PeerError:
        """The same failure, as a `PeerError` for the caller."""
        return PeerError(self.peer, str(self), status=self.status, received=self.received)


def refusal(peer: Peer, host: str, error: openai.APIStatusError, key: str | None) -> PeerError:
    """Convert an error status: `Refused` if leaving out an option may help."""
    status, told = error.status_code, error.body
    if 300 <= status < 400:
        return PeerError(peer, f"{host} answered {status}, a redirect, which is not followed", status=status)
    said = told.get("message") if isinstance(told, dict) else told if isinstance(told, str) else None
    shown = hidden(str(said or error.response.text), key)
    meaning = _MEANINGS.get(status, "failed" if status >= 500 else "rejected the request")
    message = f"{host} {meaning} ({status})" + (f": {shown}" if shown else "")
    code = str(error.code or "")
    if status in _REFUSING_STATUS and code not in ("context_length_exceeded", "model_not_found"):
        return Refused(peer, message, status=status, received=shown)
    retryable = may_retry(status) and code != "insufficient_quota"
    after = retry_after(error.response.headers.get("Retry-After"), time.time()) if retryable else None
    return PeerError(peer, message, retryable=retryable, status=status, retry_after_s=after, received=shown)


def refused_options(problem: Refused, sent: Mapping[str, Any]) -> set[str]:
    """Return which option to leave out: the one that the server names first."""
    said = f"{problem} {problem.received}".lower()
    shape = (sent.get("response_format") or {}).get("type")
    for option in ("temperature", "stream_options"):
        if option in sent and option in said:
            return {option}
    if shape:
        return {str(shape)}
    return {"stream_options"} & set(sent) if problem.status in (400, 422) else set()


def hidden(text: str, key: str | None) -> str:
    """Return `text` on one line, without the key and anything that looks like a key."""
    return clean_line(_KEY_LIKE.sub("[key]", without_secret(text, key or "")), _LONGEST_RECEIVED)
