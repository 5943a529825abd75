"""An endpoint's error is converted into a `PeerError`: in one sentence, without the key, and with
what could be left out of the request (`Refused`).

`model.py` asks for it whenever an endpoint answers with an error status, and sends again without
the option; an error inside of a stream is read in `answer.py` with the same words.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from bioeval_tui.base.text import (
    clean_line,
    mask_secret,
)
from bioeval_tui.peers.retry import may_retry, retry_after
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.record.participants import Peer

if TYPE_CHECKING:  # `doctor` asks here without a client
    import openai

_MEANINGS = {
    400: "did not understand the request",
    401: "rejected the API key",
    403: "does not allow this request",
    404: "does not know this URL or model",
    413: "found the request too large",
    422: "did not understand the request",
    429: "is rate-limiting",
}

_REFUSING_STATUS = frozenset({400, 422, 500, 501})
"""Statuses of servers that do not know an option; llama-cpp-python answers 500."""
_DISAGREEING_STATUS = frozenset({400, 404, 405, 415, 422, 501})
"""Statuses that say that this program asked for something that the endpoint does not have or
understand.
"""
_OPTIONS = {
    "temperature": "temperature",
    "stream_options": "stream_options|include_usage",
    "max_tokens": "max_completion_tokens",
    "stream": r"stream(?:ing)?",
    "system": (
        r"system[ _](?:role|message|prompt|instruction)s?|role ['\"]?system|developer instructions?"
    ),
    "response_format": (
        r"response_?format|json_?schema|json_object|text\.format|structured[ _]outputs?|grammar"
    ),
}
"""The words with which servers name an option that a request may do without, or the other name of
`max_tokens`.
"""
_NAMED = (
    r"""(?<!\w)['"`](?:[\w.]{{1,40}}\.)?(?:{0})(?:[.\[][\w.\[\]]{{1,40}})?['"`](?!\s*[:=])"""
    r"|\b(?:unsupported|unknown|unrecogni[sz]ed|invalid|unexpected|extra|bad|wrong"
    r"|support\w*|accept\w*|allow\w*|permit\w*|understand|recogni[sz]e|implement\w*|fail\w*"
    r"|verified|use|remove|without|disabled?|parameters?|arguments?|field|option"
    r""")\b[^.;?!]{{0,60}}?\b(?:{0})\b"""
    r"|\b(?:{0})\b[^.;?!]{{0,60}}?(?:\bnot\b|n't\b"
    r"|\b(?:unsupported|unknown|unrecogni[sz]ed|invalid|only|must|cannot"
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
    r"context[ _-]?(?:length|size|window|limit)|maximum context|prompt is too long|exceeds?"
    r" .{0,40}\bn_ctx\b"
    r"|token count .{0,40}exceeds|tokens \+ `?max_new_tokens|reduce the length of (?:the|your)"
    r" (?:messages|prompt)",
    re.IGNORECASE,
)
"""The words of vLLM, llama.cpp, LM Studio, Anthropic, Google, TGI and Groq for a request that is
too long for a model.
"""
_CONTENT_CODES = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "invalid_prompt",
        "data_inspection_failed",
        "datainspectionfailed",
        "guardrail_intervened",
        "1301",
    }
)
"""The codes with which OpenAI, Azure, Alibaba, Bedrock and Zhipu refuse a request over what is said
in it.
"""
_CONTENT_WORDS = re.compile(
    r"content (?:management|filter|policy|moderation|safety)|content_?filter|safety"
    r" (?:system|filter|policy|guidelines)|usage guidelines"
    r"|(?:usage|safety|content) polic(?:y|ies)|content exists risk|inappropriate content|unsafe or"
    r" sensitive|requires moderation|was flagged"
    r"|block_?reason|prohibited_content",
    re.IGNORECASE,
)
"""The words of Azure, OpenAI, DeepSeek, Alibaba, Zhipu, xAI, OpenRouter and Google for the same."""
_KEY_LIKE = re.compile(r"\b(?:sk|key|bearer)[-_ ][\w*.-]{4,}", re.IGNORECASE)
_LONGEST_RECEIVED = 300


def refusal(
    peer: Peer,
    host: str,
    error: openai.APIStatusError,
    key: str | None,
    job_keys: Mapping[str, str],
) -> PeerError:
    """Convert an error status: `Refused` if the server names an option that can be left out, or
    `QuotaUsedUp`.

    The more specific an error is, the earlier it is looked for, because several have the same
    status: a used-up quota also comes as 429, like a limit that a retry waits for, and a full
    context or the content filter as 400, like an unknown option.

    `job_keys` are the parameters that the job asks for, with the job's key of each, which is named
    where the server names the parameter.
    """
    status, body = error.status_code, error.body
    if 300 <= status < 400:
        return PeerError(
            peer, f"{host} answered {status}, a redirect, which is not followed", status=status
        )
    said = body if isinstance(body, str) else None
    if isinstance(body, dict):
        said = body.get("message")
    shown = hide_keys(str(said or error.response.text), key)
    codes = {str(error.code or ""), str(error.type or "")}
    if status == 402 or "insufficient_quota" in codes:
        message = f"the quota of the {peer}'s model at {host} is used up ({status}): {shown}"
        return QuotaUsedUp(peer, message.removesuffix(": "), status=status, received=shown)
    meaning = _MEANINGS.get(status, "rejected the request")
    if status >= 500:
        meaning = _MEANINGS.get(status, "failed")
    message = f"{host} {meaning} ({status})"
    if shown:
        message += f": {shown}"
    words = f"{error.param} {shown}".lower()
    named_keys = {
        job_keys[name] for name in job_keys if re.search(rf"\b{re.escape(name.lower())}\b", words)
    }
    if named_keys:
        message += f" (the job sets {', '.join(sorted(named_keys))})"
    if status in (400, 413, 422, 500) and is_context_full(codes, shown):
        return context_full(peer, host, shown, status)
    if peer != "agent" and status in (400, 403, 422, 451) and is_over_content(codes, shown):
        return content_refused(peer, host, shown, status)
    if status in _REFUSING_STATUS and "model_not_found" not in codes:
        own = _ECHOED.sub("…", shown.lower())
        parameter = f"'{error.param}'".lower()
        named = {
            option
            for option, naming in _NAMING.items()
            if naming.search(own) or naming.search(parameter)
        }
        if named:
            return Refused(peer, message, named, status=status, received=shown)
    if status in _DISAGREEING_STATUS:
        return PeerError(peer, message, status=status, received=shown, disagrees=True)
    if not may_retry(status):
        return PeerError(peer, message, status=status, received=shown)
    after = retry_after(error.response.headers.get("Retry-After"), time.time())
    return PeerError(
        peer, message, retryable=True, status=status, retry_after_s=after, received=shown
    )


class Refused(PeerError):
    """The server rejected the request, but may accept it without one of the options that it
    names.
    """

    def __init__(
        self, peer: Peer, message: str, named: Collection[str], *, status: int, received: str
    ) -> None:
        super().__init__(peer, message, status=status, received=received, disagrees=True)
        self._named = named

    def options(self, sent: Mapping[str, Any]) -> set[str]:
        """Return what to leave out of a request with this body: one thing that the server names."""
        for option in ("temperature", "stream_options", "max_tokens"):
            if option in sent and option in self._named:
                return {option}
        if "stream" in self._named and sent.get("stream"):
            return {"stream"}
        messages = sent.get("messages") or ()
        if "system" in self._named and any(message["role"] == "system" for message in messages):
            return {"system"}
        shape = (sent.get("response_format") or {}).get("type")
        if shape and "response_format" in self._named:
            return {str(shape)}
        return set()


class QuotaUsedUp(PeerError):
    """The account has no quota or money left for the model, so that no later request is answered,
    either.
    """


def is_context_full(codes: Collection[str], message: str) -> bool:
    """Return whether an error with these codes and words says that a request is too long for its
    model.
    """
    return bool(_CONTEXT_CODES & set(codes) or _CONTEXT_FULL.search(message))


def context_full(peer: Peer, host: str, reason: str, status: int | None = None) -> PeerError:
    """Return the error for a request that is too long for its model, which is the model's limit and
    no disagreement.
    """
    message = f"the conversation no longer fits the context of the model at {host}: {reason}"
    return PeerError(peer, message, status=status, received=reason, unusable=True, too_long=True)


def is_over_content(codes: Collection[str], message: str) -> bool:
    """Return whether an error with these codes and words says that a provider objects to what is
    said in a request.
    """
    return bool(_CONTENT_CODES & {code.lower() for code in codes} or _CONTENT_WORDS.search(message))


def content_refused(peer: Peer, host: str, reason: str, status: int | None = None) -> PeerError:
    """Return the error for a request that a provider's content filter stopped."""
    message = f"the content filter at {host} stopped the request: {reason}"
    return PeerError(
        peer, message, status=status, received=reason, unusable=True, over_content=True
    )


def hide_keys(text: str, key: str | None) -> str:
    """Return `text` on one line, without the key and anything that looks like a key."""
    return clean_line(_KEY_LIKE.sub("[key]", mask_secret(text, key or "")), _LONGEST_RECEIVED)
