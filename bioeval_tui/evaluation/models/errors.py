"""Describes a chat endpoint's error in one sentence, without the key."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from bioeval_tui.evaluation.models.openai_package import openai
from bioeval_tui.evaluation.retry import may_retry, retry_after
from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.record.names import Peer
from bioeval_tui.text import clean_line, without_secret

_REFUSING_STATUS = frozenset({400, 422, 500, 501})
"""Statuses of servers that do not know an option; llama-cpp-python answers 500."""
_DISAGREEING_STATUS = frozenset({400, 404, 405, 415, 422, 501})
"""Statuses that say that this program asked for something that the endpoint does not have or understand."""
_OPTIONS = {
    "temperature": "temperature",
    "stream_options": "stream_options|include_usage",
    "max_tokens": "max_completion_tokens",
    "response_format": r"response_?format|json_?schema|json_object|text\.format|structured[ _]outputs?|grammar",
}
"""The words with which servers name an option that a request may do without, or the other name of `max_tokens`."""
_NAMED = (
    r"""(?<!\w)['"`](?:[\w.]{{1,40}}\.)?(?:{0})(?:[.\[][\w.\[\]]{{1,40}})?['"`](?!\s*[:=])"""
    r"|\b(?:unsupported|unknown|unrecogni[sz]ed|invalid|unexpected|extra|bad|wrong|support\w*|accept\w*|allow\w*"
    r"|permit\w*|understand|recogni[sz]e|implement\w*|fail\w*|use|remove|without|disabled?|parameters?|arguments?|field|option"
    r""")\b[^.;?!]{{0,60}}?\b(?:{0})\b"""
    r"|\b(?:{0})\b[^.;?!]{{0,60}}?(?:\bnot\b|n't\b|\b(?:unsupported|unknown|unrecogni[sz]ed|invalid|only|must|cannot"
    r"|unavailable|forbidden|disabled|fail\w*)\b)"
)
"""How servers name a parameter: in quotes of its own, or beside what is wrong with it."""
_NAMING = {option: re.compile(_NAMED.format(names)) for option, names in _OPTIONS.items()}
_ECHOED = re.compile(r"""(?<!\w)(['"`])[^'"`]*\s[^'"`]*\1(?!\w)""")
"""Several words in quotes: they may be anybody's."""
_CONTEXT_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"}
)
_CONTEXT_FULL = re.compile(
    r"context[ _-]?(?:length|size|window|limit)|maximum context|prompt is too long|exceeds? .{0,40}\bn_ctx\b"
    r"|token count .{0,40}exceeds|tokens \+ `?max_new_tokens|reduce the length of (?:the|your) (?:messages|prompt)",
    re.IGNORECASE,
)
"""The words of vLLM, llama.cpp, LM Studio, Anthropic, Google, TGI and Groq for a request that is too long for a model."""
_MEANINGS = {
    400: "did not understand the request",
    401: "rejected the API key",
    403: "does not allow this request",
    404: "does not know this URL or model",
    413: "found the request too large",
    422: "did not understand the request",
    429: "is rate-limiting",
}
_KEY_LIKE = re.compile(r"\b(?:sk|key|bearer)[-_ ][\w*.-]{4,}", re.IGNORECASE)
_LONGEST_RECEIVED = 300


class QuotaUsedUp(PeerError):
    """The account has no quota or money left for the model, so that no later request is answered, either."""


class Refused(PeerError):
    """The server rejected the request, but may accept it without one of the options that it names."""

    def __init__(
        self, peer: Peer, message: str, named: Collection[str], *, status: int, received: str
    ) -> None:
        super().__init__(peer, message, status=status, received=received, disagrees=True)
        self._named = named

    def options(self, sent: Mapping[str, Any]) -> set[str]:
        """Return what to leave out of a request that was sent with these options: one thing that the server names."""
        for option in ("temperature", "stream_options", "max_tokens"):
            if option in sent and option in self._named:
                return {option}
        shape = (sent.get("response_format") or {}).get("type")
        return {str(shape)} if shape and "response_format" in self._named else set()


def refusal(
    peer: Peer,
    host: str,
    error: openai.APIStatusError,
    key: str | None,
    job_keys: Mapping[str, str] = MappingProxyType({}),
) -> PeerError:
    """Convert an error status: `Refused` if the server names an option that can be left out, or `QuotaUsedUp`.

    `job_keys` are the parameters that the job asks for, with the job's key of each, which is named where the server
    names the parameter.
    """
    status, told = error.status_code, error.body
    if 300 <= status < 400:
        return PeerError(peer, f"{host} answered {status}, a redirect, which is not followed", status=status)
    said = told.get("message") if isinstance(told, dict) else told if isinstance(told, str) else None
    shown = hidden(str(said or error.response.text), key)
    codes = {str(error.code or ""), str(error.type or "")}
    if status == 402 or "insufficient_quota" in codes:
        message = f"the quota of the {peer}'s model at {host} is used up ({status}): {shown}"
        return QuotaUsedUp(peer, message.removesuffix(": "), status=status, received=shown)
    meaning = _MEANINGS.get(status, "failed" if status >= 500 else "rejected the request")
    message = f"{host} {meaning} ({status})" + (f": {shown}" if shown else "")
    words = f"{error.param} {shown}".lower()
    named_keys = {job_keys[name] for name in job_keys if re.search(rf"\b{re.escape(name.lower())}\b", words)}
    if named_keys:
        message += f" (the job sets {', '.join(sorted(named_keys))})"
    if status in (400, 413, 422, 500) and is_context_full(codes, shown):
        return context_full(peer, host, shown, status)
    if status in _REFUSING_STATUS and "model_not_found" not in codes:
        own = _ECHOED.sub("…", shown.lower())
        parameter = f"'{error.param}'".lower()
        named = {
            option for option, naming in _NAMING.items() if naming.search(own) or naming.search(parameter)
        }
        if named:
            return Refused(peer, message, named, status=status, received=shown)
    if status in _DISAGREEING_STATUS:
        return PeerError(peer, message, status=status, received=shown, disagrees=True)
    retryable = may_retry(status)
    after = retry_after(error.response.headers.get("Retry-After"), time.time()) if retryable else None
    return PeerError(peer, message, retryable=retryable, status=status, retry_after_s=after, received=shown)


def is_context_full(codes: Collection[str], said: str) -> bool:
    """Return whether an error with these codes and words says that a request is too long for its model."""
    return bool(_CONTEXT_CODES & set(codes) or _CONTEXT_FULL.search(said))


def context_full(peer: Peer, host: str, said: str, status: int | None = None) -> PeerError:
    """Return the error for a request that is too long for its model, which is the model's limit and no disagreement."""
    message = f"the conversation no longer fits the context of the model at {host}: {said}"
    return PeerError(peer, message, status=status, received=said, unusable=True)


def hidden(text: str, key: str | None) -> str:
    """Return `text` on one line, without the key and anything that looks like a key."""
    return clean_line(_KEY_LIKE.sub("[key]", without_secret(text, key or "")), _LONGEST_RECEIVED)
