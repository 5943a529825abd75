"""Keys and passwords, which no text, recording or message may show: which parts of a request they
are, and what hides them.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, unquote_plus, urlsplit

from bioeval_tui.base.errors import UsageError

if TYPE_CHECKING:
    import httpx2


def strip_credentials(url: str) -> str:
    """Return a URL without user, password, query and fragment; of an invalid URL, only what follows
    the last `@`.
    """
    try:
        parts = urlsplit(url)
        return parts._replace(
            netloc=parts.netloc.rpartition("@")[2], query="", fragment=""
        ).geturl()
    except ValueError:
        return url.rpartition("@")[2]


def sendable(name: str, value: str) -> str:
    """Return a value for a header, which a user knows by that name.

    In the first conversation, a wrong one would look like a bug of ours.

    Raises:
        UsageError: it has other characters than a header may.
    """
    if not (value.isascii() and value.isprintable()):
        raise UsageError(
            f"{name} has characters that no header may have: only printable ASCII, in one line"
        )
    return value


HIDDEN = "[key]"

SHORTEST = 8

"""Shorter ones are placeholders such as `none`, or ordinary words."""

PUBLISHED_KEY = "treehorn"

"""The X-API-KEY that the published client sends by default and published agents expect.

It is not a secret.
"""

_NAMED = re.compile(r"auth|cookie|credential|key|passw|secret|sig|token", re.IGNORECASE)
_NAMED_BYTES = re.compile(_NAMED.pattern.encode(), re.IGNORECASE)


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

    def data(self, data: bytes) -> bytes:
        """Return whole bytes without the credentials."""
        for known in self._bytes:
            data = data.replace(known, HIDDEN.encode())
        return data

    def feed(self, piece: bytes) -> bytes:
        """Add a piece; return what can be passed on, without a possible beginning of a credential
        at the end.
        """
        if not self._bytes:
            return piece
        data = self.data(self._tail + piece)
        kept = max(_overlap(data, known) for known in self._bytes)
        self._tail = data[len(data) - kept :]
        return data[: len(data) - kept]

    def rest(self) -> bytes:
        """Return the rest, at the end of the answer."""
        kept, self._tail = self._tail, b""
        return kept


def request_credentials(request: httpx2.Request) -> set[str]:
    """Return the credentials of a request: in headers, before the host, in the query."""
    secrets: set[str] = set()
    # `items` would decode every header of every request, and few of them are credentials.
    for name in {name for name, _ in request.headers.raw if _NAMED_BYTES.search(name)}:
        value = request.headers[name.decode(request.headers.encoding)]
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
    written = {text, text.partition(":")[2]}
    return written | set(map(unquote, written))


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


@lru_cache(maxsize=64)
def _written_forms(credentials: frozenset[str]) -> tuple[list[str], list[bytes]]:
    """Return every form of the credentials, longest first, as text and as bytes."""
    forms: set[str] = set()
    for one in credentials:
        if len(one) >= SHORTEST:
            forms |= _forms(one)
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
