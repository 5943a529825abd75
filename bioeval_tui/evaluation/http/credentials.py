"""Removes a request's credentials from its answer, because some peers quote the request."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, unquote_plus

import httpx2

HIDDEN = "[key]"
SHORTEST = 8
"""Shorter ones are placeholders such as `none`, or ordinary words."""
PUBLISHED_KEY = "treehorn"
"""The X-API-KEY that the published client sends by default and published agents expect. It is not a secret."""
_NAMED = re.compile(r"auth|cookie|credential|key|passw|secret|sig|token", re.IGNORECASE)


class Hider:
    """Removes credentials from texts, and from bytes that arrive in pieces."""

    def __init__(self, credentials: Iterable[str]) -> None:
        self._texts, self._bytes = _written(frozenset(credentials))
        self._held = b""

    def text(self, text: str) -> str:
        """Return a text without the credentials."""
        for known in self._texts:
            text = text.replace(known, HIDDEN)
        return text

    def feed(self, piece: bytes) -> bytes:
        """Add a piece; return what can be passed on, without a possible beginning of a credential at the end."""
        if not self._bytes:
            return piece
        data = self._held + piece
        for known in self._bytes:
            data = data.replace(known, HIDDEN.encode())
        kept = max(_begun(data, known) for known in self._bytes)
        self._held = data[len(data) - kept :]
        return data[: len(data) - kept]

    def rest(self) -> bytes:
        """Return the rest, at the end of the answer."""
        held, self._held = self._held, b""
        return held


def credentials_of(request: httpx2.Request) -> set[str]:
    """Return the credentials of a request: in headers, before the host, in the query."""
    found: set[str] = set()
    for name, value in request.headers.items():
        if _NAMED.search(name):
            scheme, _, parameter = value.partition(" ")
            found |= {value, parameter or scheme}
            if scheme.lower() == "basic":
                found |= _userinfo(_decoded(parameter))
    found |= _userinfo(request.url.userinfo.decode("latin-1"))
    if query := request.url.query.decode("latin-1"):
        found |= {query, unquote_plus(query)}
        found |= {value for name, value in parse_qsl(query) if _NAMED.search(name)}
    return found - {"", PUBLISHED_KEY}


def _userinfo(text: str) -> set[str]:
    """Return `user:password` and the password, both as written and decoded."""
    return {form for part in (text, text.partition(":")[2]) for form in (part, unquote(part))}


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


@lru_cache(maxsize=64)
def _written(credentials: frozenset[str]) -> tuple[list[str], list[bytes]]:
    """Return every form of the credentials, longest first, as text and as bytes."""
    forms = {form for one in credentials if len(one) >= SHORTEST for form in _forms(one)}
    texts = sorted(forms, key=len, reverse=True)
    return texts, [text.encode("utf-8", "replace") for text in texts]


def _forms(text: str) -> set[str]:
    """Return the forms in which a text may occur in an answer: unchanged, and in JSON."""
    in_json = json.dumps(text)[1:-1]
    return {text, in_json, in_json.replace("/", "\\/"), json.dumps(text, ensure_ascii=False)[1:-1]}


def _begun(data: bytes, known: bytes) -> int:
    """Return how many bytes at the end of `data` are the beginning of `known`."""
    tail = data[-(len(known) - 1) :]
    at = tail.find(known[:1])
    while at >= 0:
        if known.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(known[:1], at + 1)
    return 0
